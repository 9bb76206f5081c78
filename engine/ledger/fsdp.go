package ledger

// group is a parameter group of FSDP2 (torch/distributed/fsdp/_fully_shard): shards in the weights' type,
// gathered 16-bit parameters, gradients reduced in the shards' type.
type group struct {
	root, offload bool
	kept          bool     // ZeRO-3's: gathered from forward to backward
	params        []*param // gathered
	unsharded     []tensor // gradients that accumulate without reduction, in fp32
	grad          tensor   // reduced
	flat          tensor   // output of the all-gather, before it is copied to the parameters
	below         *group   // whose backward follows

	on, done, inBackward, sync bool
}

// unshard brings the parameters: on one GPU each is cast, a temporary, and copied.
func (r *run) unshard(g *group) {
	if g.on {
		return
	}
	g.on = true
	if r.way.ZeRO != nil {
		r.gatherModule(g)
		return
	}
	if r.way.ranks() > 1 {
		r.gather(g)
		return
	}
	var cast tensor
	for _, p := range g.params {
		var shard tensor
		if g.offload {
			shard = r.shardFromHost(p, computing)
		}
		if r.way.Bytes == p.t.e || p.frozen { // nothing to cast
			r.drop(&shard)
			r.put(p.t.st)
			r.clock.device(float64(p.t.bytes()) * 2 / r.rates.Gather)
			continue
		}
		next := r.alloc(p.t.size, "cast of a shard", computing)
		r.drop(&cast)
		cast = next
		r.drop(&shard)
		r.put(p.t.st)
		r.clock.device(float64(p.t.n) * 10 / r.rates.Gather)
	}
	r.drop(&cast)
	r.clock.launch(r.rates.gatherHost(r.clock.backward))
}

// gather brings the parameters from all ranks. In the forward the output of an all-gather lives until the
// next group's has been copied out, in the backward until its own is; there the next group's is gathered
// ahead.
func (r *run) gather(g *group) {
	r.allGather(g)
	for _, p := range g.params {
		r.put(p.t.st)
		r.clock.device(float64(p.t.bytes()) * 2 / r.rates.Gather)
	}
	r.drop(&r.gathered)
	if !r.clock.backward {
		r.gathered, g.flat = g.flat, tensor{}
	}
	r.drop(&g.flat)
	if b := g.below; r.clock.backward && b != nil && !b.on && b.flat.st == nil {
		r.allGather(b)
	}
	r.clock.launch(r.rates.gatherHost(r.clock.backward))
}

// allGather makes the flat output of an all-gather, from a flat input.
func (r *run) allGather(g *group) {
	if g.flat.st != nil {
		return
	}
	kind := r.kind
	r.kind = Temporaries
	var bytes int64
	for _, p := range g.params {
		bytes += p.t.bytes()
	}
	for _, p := range g.params {
		if g.offload {
			shard := r.shardFromHost(p, gathering)
			r.drop(&shard)
		}
	}
	input := r.alloc(size{r.way.shard(bytes), 1}, "input of all-gather", gathering)
	g.flat = r.alloc(size{bytes, 1}, "output of all-gather", gathering)
	r.drop(&input)
	r.kind = kind
}

// shardFromHost brings a rank's shard of a parameter.
func (r *run) shardFromHost(p *param, on stream) tensor {
	s := size{r.way.shard(p.t.n), r.way.Bytes}
	if p.frozen {
		s = size{r.way.shard(p.t.bytes()), 1}
	}
	r.fromHost(s.bytes())
	return r.alloc(s, "shard from the host", on)
}

// fromHost copies so many bytes over the link to the host, there or back.
func (r *run) fromHost(bytes int64) { r.clock.device(r.hostCopy(bytes)) }

func (r *run) reshard(g *group) {
	g.on = false
	for _, p := range g.params {
		if z := r.way.ZeRO; z == nil || p.t.n > z.Persist {
			r.keepSecond(p)
			r.away(p.t.st)
		}
	}
}

// preForward gathers, and hooks the end of the block's backward onto its input.
func (r *run) preForward(g *group, x tensor) tensor {
	if g.inBackward {
		return x.hold()
	}
	g.done = false
	r.unshard(g)
	if x.st != nil && x.wants {
		x = r.identity(x)
		x.node.post = append(x.node.post, func() { r.postBackward(g) })
	} else if x.st != nil {
		x = x.hold()
	}
	return x
}

// postForward frees the gathered parameters, but the root's, and hooks the gathering for the backward onto
// the output.
func (r *run) postForward(g *group, y tensor) {
	if g.inBackward {
		return
	}
	if !g.root && !g.kept && !r.way.Whole {
		r.reshard(g)
	}
	if y.node != nil {
		y.node.pre = append(y.node.pre, func([]tensor) {
			g.inBackward = true
			r.unshard(g)
		})
	}
}

// postBackward reduces the gradients. The input of the reduce-scatter lives until the next group's.
func (r *run) postBackward(g *group) {
	if g.done {
		return
	}
	g.done, g.inBackward = true, false
	if r.zero != nil { // it has the gradients
		r.reshard(g)
		return
	}
	if g.unsharded == nil {
		g.unsharded = make([]tensor, len(g.params))
	}
	var elements int64
	var reduced []tensor
	for i, p := range g.params {
		if g.unsharded[i].st != nil && p.grad.st != nil {
			r.drop(&p.grad)
			r.clock.kernel(r.rates.pass(p.t.n*10, r.rates.Stream), 1)
		}
		if !g.sync {
			continue
		}
		t := g.unsharded[i]
		if t.st == nil {
			t = p.grad
			p.grad = tensor{}
		}
		g.unsharded[i] = tensor{}
		if t.st != nil {
			elements += t.n
			reduced = append(reduced, t)
		}
	}
	r.reshard(g)
	if !g.sync {
		r.accumulateUnsharded(g)
		return
	}
	r.drop(&r.staged)
	if elements == 0 {
		return
	}
	staged := r.alloc(size{elements, r.way.Bytes}, "input of reduce-scatter", computing)
	r.clock.kernel(float64(elements)*6/r.rates.Stream, 1)
	for i := range reduced {
		r.drop(&reduced[i])
	}
	out := r.alloc(size{r.way.shard(elements), r.way.Bytes}, "gradient shard", reducing)
	r.count(out.st, Gradients)
	r.clock.kernel(float64(elements)*8/r.rates.Stream, 2)
	r.staged = staged
	r.clock.launch(r.rates.Reduce)
	if g.root {
		r.clock.launch(r.rates.Root)
	}
	if g.offload {
		r.fromHost(out.bytes())
		r.drop(&out)
		return
	}
	if g.grad.st != nil { // added to that of the micro-batches before
		r.clock.kernel(r.rates.pass(3*out.bytes(), r.rates.Stream), 1)
		r.drop(&out)
		return
	}
	if g.grad = out; r.reached != nil {
		r.reached(nil, g)
	}
}

// accumulateUnsharded keeps the gradients of a micro-batch that is not reduced: as they are, where their
// type is that of the reduction.
func (r *run) accumulateUnsharded(g *group) {
	if r.way.Bytes == 2 {
		return
	}
	for i, p := range g.params {
		if p.grad.st != nil {
			g.unsharded[i] = r.alloc(size{p.t.n, 4}, "unsharded gradient", computing)
			r.count(g.unsharded[i].st, Gradients)
			r.drop(&p.grad)
			r.clock.kernel(r.rates.pass(p.t.n*6, r.rates.Stream), 1)
		}
	}
}
