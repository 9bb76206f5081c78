package ledger

// binding is a program with the tensors that it is given: of a block its parameters.
type binding struct {
	program *program
	params  []*param // by external tensor; nil: what the caller gives
	shared  []tensor // those in turn, after the input
	group   *group   // of FSDP
	hooked  bool     // a full backward hook holds the block's incoming gradient
	name    string   // of what part of the model it is
	extra   []tensor // results of the last call but the first, for the caller to drop
}

// given returns the external tensors of a call.
func (b *binding) given(x tensor, regs []tensor) {
	shared := b.shared
	for i, r := range b.program.bound {
		switch p := b.params[i]; {
		case p != nil:
			regs[r] = p.t
			regs[r].wants, regs[r].leaf = !p.frozen, p
			if p.frozen {
				regs[r].leaf = nil
			}
		case i == 0:
			regs[r] = x
		default:
			regs[r], shared = shared[0], shared[1:]
		}
	}
}

// execute runs a program as a module's forward. The caller holds the result.
func (r *run) execute(b *binding, x tensor, f *frame) tensor {
	p := b.program
	regs := make([]tensor, len(p.regs))
	b.given(x, regs)
	for i := range p.ops {
		o := &p.ops[i]
		r.step(o, b, regs, f, i)
		if r.stopped {
			r.sweep(p, regs)
			return tensor{}
		}
		for _, d := range o.drops {
			r.drop(&regs[d])
		}
	}
	b.extra = b.extra[:0]
	for _, result := range p.results[1:] {
		b.extra = append(b.extra, regs[result])
	}
	return regs[p.results[0]]
}

// sweep drops every tensor of a program that ends early.
func (r *run) sweep(p *program, regs []tensor) {
	for _, b := range p.bound {
		regs[b].st = nil
	}
	for i := range regs {
		r.drop(&regs[i])
	}
}

// step runs one operation.
func (r *run) step(o *op, b *binding, regs []tensor, f *frame, at int) {
	if o.fused != nil {
		r.fusedForward(o, regs)
		return
	}
	if o.cached {
		for _, c := range r.casts {
			if c.leaf == regs[o.in[0]].leaf {
				regs[o.out[0]] = c.t.hold()
				return
			}
		}
	}
	n := r.record(o, regs)
	if r.stopped {
		return
	}
	remembered := f != nil && f.selective && o.kept
	switch {
	case remembered && r.recomputing:
		for i, t := range f.cache[at] {
			regs[o.out[i]] = t
		}
		delete(f.cache, at)
		r.clock.kernel(0, o.cost[0].kernels)
	default:
		r.outputs(o, b, regs)
		r.clock.kernel(o.cost[0].seconds, o.cost[0].kernels)
	}
	if f != nil && f.selective && !o.view && len(o.in) > 0 {
		r.clock.launch(r.rates.Selective)
	}
	if remembered && !r.recomputing {
		for _, out := range o.out {
			f.cache[at] = append(f.cache[at], regs[out].hold())
		}
	}
	if n == nil {
		return
	}
	for _, k := range o.keeps {
		n.saved = append(n.saved, r.pack(regs[o.out[k]]))
		if r.stopped {
			return
		}
	}
	for i, out := range o.out {
		t := &regs[out]
		t.node, t.out, t.wants, t.leaf = n, i, true, nil
	}
	if o.cached {
		r.casts = append(r.casts, weightCast{regs[o.in[0]].leaf, regs[o.out[0]].hold()})
	}
}

// outputs allocates what an operation makes.
func (r *run) outputs(o *op, b *binding, regs []tensor) {
	for _, out := range o.out {
		s := b.program.regs[out]
		if o.view {
			regs[out] = regs[o.in[0]].hold()
			regs[out].size, regs[out].wants, regs[out].node, regs[out].leaf = s, false, nil, nil
			continue
		}
		regs[out] = r.alloc(s, o.name, computing)
	}
	works := make([]tensor, len(o.works))
	for i, s := range o.works {
		works[i] = r.alloc(s, o.name, computing)
	}
	for i := range works {
		r.drop(&works[i])
	}
}

// weightCast is autocast's copy of a weight, which its cache holds.
type weightCast struct {
	leaf *param
	t    tensor
}

// clearCasts ends an autocast context.
func (r *run) clearCasts() {
	for i := range r.casts {
		r.drop(&r.casts[i].t)
	}
	r.casts = r.casts[:0]
}
