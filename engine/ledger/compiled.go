package ledger

import "meshscope/engine/model"

// What Inductor makes of a dense block: a node forward, a node backward. It saves all that eager code saves
// but the activation of the gate; under selective checkpointing its input, queries, values, attention's
// output and the gate (not the last product); under full its input alone. The backward holds its incoming
// gradient to the end, and the second norm's input and gradient: the sums for the norms' weights come last.

// inductor writes the two programs.
type inductor struct {
	*builder
	way               *Way
	n, h, f, q, k, kr int64
	e                 int64
	heads             int64
	width             int64
}

// buffer allocates so many elements for each token; it reads others.
func (b *inductor) buffer(width int64, reads ...reg) reg {
	return b.emit(op{name: "compiled", in: reads}, size{width * b.n, b.e})
}

func (b *inductor) small(s size) reg { return b.emit(op{name: "compiled"}, s) }

// lowerCompiled writes a compiled block as one operation.
func lowerCompiled(l *model.Layer, w *Way, rates *Rates) *program {
	outer, layer := newBuilder(w, rates), lowering{layer: l}
	core, _ := l.Core()
	in := inductor{
		way: w, n: w.tokens(), h: layer.width(model.Input), f: int64(l.Inner(model.PartMLP).V) / 2,
		q: layer.width(core.In[0]), k: layer.width(core.In[1]),
		e: w.weight(), heads: int64(l.Heads.V), width: layer.head(),
	}
	in.kr = in.k
	if !w.NoRepeat {
		in.kr = in.q
	}
	x := outer.given(size{in.n * in.h, in.e}, external{name: "input"})
	params := []reg{x, outer.param(in.h, "norm"), outer.param(in.h, "norm")}
	for _, p := range [...]struct {
		name          string
		rows, columns int64
	}{
		{"q", in.q, in.h},
		{"k", in.k, in.h},
		{"v", in.k, in.h},
		{"o", in.h, in.q},
		{"gate", in.f, in.h},
		{"up", in.f, in.h},
		{"down", in.h, in.f},
	} {
		params = append(params, outer.matrix(p.rows, p.columns, p.name))
	}
	c := in.node(rates)
	y := outer.emit(op{name: "block", in: params, fused: c}, size{in.n * in.h, in.e})
	return outer.end(y)
}

// node writes forward and backward.
func (b *inductor) node(rates *Rates) *compiled {
	c := &compiled{}
	b.builder = newBuilder(b.way, rates)
	x := b.given(size{b.n * b.h, b.e}, external{name: "input"})
	all := b.buffers(map[string]reg{"x": x})
	y := b.buffer(b.h)
	for _, r := range all {
		b.alive(r)
	}
	keep := map[Checkpoint][]string{
		Keep:      {"x", "r1", "n1", "q2", "k2", "v2", "o", "lse", "rng", "x2", "n2", "r2", "a", "b"},
		Selective: {"x", "r1", "q", "v", "o", "lse", "rng", "r2", "a"},
		Full:      {"x"},
	}[b.way.Checkpoint]
	if b.way.Checkpoint == Keep {
		keep = append(keep, "p")
	}
	for _, name := range keep {
		c.kept = append(c.kept, all[name])
	}
	c.forward = b.end(append([]reg{y}, c.kept...)...)
	forwardRegs := b.regs
	forward, again, backward := b.seconds(rates)
	c.seconds = [3]float64{forward, again, backward}

	b.builder = newBuilder(b.way, rates)
	saved := map[string]reg{}
	for i, name := range keep {
		saved[name] = b.given(forwardRegs[c.kept[i]], external{name: name, owned: true})
	}
	c.backward = b.gradients(saved)
	return c
}

// buffers writes the forward up to the last product, from what is there already.
func (b *inductor) buffers(k map[string]reg) map[string]reg {
	recomputed := len(k) > 1
	get := func(name string, write func() reg) {
		if _, ok := k[name]; !ok {
			k[name] = write()
		}
	}
	row := func() reg { return b.small(size{b.n, 4}) }
	get("r1", row)
	k["n1"] = b.buffer(b.h, k["x"])
	q, ok := k["q"]
	if !ok {
		q = b.buffer(b.q)
	}
	kk := b.buffer(b.k)
	v, ok := k["v"]
	if !ok {
		v = b.buffer(b.k)
	}
	if b.way.Checkpoint == Selective && !recomputed {
		k["q"], k["v"] = q, v
	}
	k["q2"] = b.buffer(b.q, q)
	k["k2"] = b.buffer(b.kr, kk)
	k["v2"] = v
	if b.kr != b.k {
		k["v2"] = b.buffer(b.kr, v)
	}
	get("o", func() reg { return b.buffer(b.q, k["q2"], k["k2"], k["v2"]) })
	get("lse", func() reg { return b.small(size{b.n * b.heads, 4}) })
	get("rng", func() reg { return b.small(size{128, 8}) })
	projected := b.buffer(b.h, k["o"])
	k["x2"] = b.buffer(b.h, projected)
	k["n2"] = b.buffer(b.h, k["x2"])
	get("r2", row)
	get("a", func() reg { return b.buffer(b.f, k["n2"]) })
	k["b"] = b.buffer(b.f, k["n2"])
	k["p"] = b.buffer(b.f, k["a"], k["b"])
	return k
}

// weight is the gradient of one.
func (b *inductor) weight(n int64, reads ...reg) reg {
	return b.emit(op{name: "gradient of a compiled block", in: reads}, size{n, b.e})
}

// gradients writes the backward over what was saved.
func (b *inductor) gradients(k map[string]reg) *program {
	if b.way.Checkpoint != Keep {
		k = b.buffers(k)
	}
	h, f, q, kv := b.h, b.f, b.q, b.k
	product := b.buffer(f)
	down := b.weight(f*h, k["p"])
	gate := b.buffer(f, k["a"], k["b"], product) // the gradient of up takes the product's place
	fromUp := b.buffer(h)
	up := b.weight(h*f, product)
	fromGate := b.buffer(h)
	gateWeight := b.weight(h*f, gate, k["n2"])
	x2 := b.buffer(h)
	norm2 := b.small(size{h, b.e})
	b.alive(fromUp)
	out := b.buffer(q)
	outWeight := b.weight(q*h, out)
	dq, dk, dv := b.buffer(q), b.buffer(b.kr), b.buffer(b.kr)
	temps := []reg{b.small(size{q * b.n, 4}), b.small(size{b.n * b.heads, 4})}
	if b.kr != q {
		temps = append(temps, b.buffer(q), b.buffer(q))
	}
	b.alive(append(temps, out)...)
	for _, name := range []string{"q2", "k2", "v2", "o", "lse", "rng"} {
		b.alive(k[name])
	}
	q2 := b.buffer(q, dq)
	k2 := b.buffer(kv, dk)
	v2 := b.buffer(kv, dv)
	fromV := b.buffer(h)
	vWeight := b.weight(h*kv, v2)
	fromK := b.buffer(h)
	kWeight := b.weight(h*kv, k2)
	fromQ := b.buffer(h)
	qWeight := b.weight(h*q, q2, k["n1"])
	norm1 := b.small(size{h, b.e})
	b.alive(fromGate, fromV, fromK, fromQ, k["x"], k["x2"], k["r1"], k["r2"])
	return b.end(x2, norm1, norm2, qWeight, kWeight, vWeight, outWeight, gateWeight, up, down)
}

// seconds returns the time of the forward, of what runs again and of the backward.
func (b *inductor) seconds(r *Rates) (forward, again, backward float64) {
	type product struct {
		out, in      int64
		kept, undone bool // kept by selective checkpointing; not run again
	}
	products := []product{
		{b.q, b.h, true, false},
		{b.k, b.h, false, false},
		{b.k, b.h, true, false},
		{b.h, b.q, false, false},
		{b.f, b.h, true, false},
		{b.f, b.h, false, false},
		{b.h, b.f, true, true},
	}
	stream := func(width int64) float64 { return r.pass(width*b.n, r.Stream) }
	attention, attentionBackward := r.attention(b.way, attention{b.heads, b.width, b.width}, b.q*b.n,
		b.kr*b.n)
	passes := stream(4*b.h) + stream(4*(b.q+b.k+b.kr)) + stream(8*b.h) + stream(6*b.f)
	forward = passes + stream(6*b.h) + attention
	again = passes
	if b.way.Checkpoint == Full {
		again += attention
	}
	for _, p := range products {
		t := r.product(b.n, p.out, p.in, 2, false)
		forward += t
		if !p.undone && (b.way.Checkpoint == Full || !p.kept) {
			again += t
		}
		backward += 2 * r.product(b.n, p.out, p.in, 2, true)
	}
	if b.way.Checkpoint == Keep {
		again = 0
	}
	backward += stream(10*b.f) + 2*(stream(10*b.h)+stream(6*b.h)) + stream(4*(b.q+b.kr)+2*(b.q+2*b.k)) +
		attentionBackward
	return forward, again, backward
}

// fusedForward runs a compiled block: what its program keeps is saved by one node.
func (r *run) fusedForward(o *op, regs []tensor) {
	c := o.fused
	n := r.record(o, regs)
	inner := make([]tensor, len(c.forward.regs))
	inner[0] = regs[o.in[0]].hold()
	r.straight(c.forward, inner)
	r.clock.launch(r.rates.HostCompiled)
	r.clock.device(c.seconds[0])
	out := o.out[0]
	regs[out] = inner[c.forward.results[0]]
	for _, k := range c.kept {
		n.child = append(n.child, inner[k])
	}
	if c.kept[0] != c.forward.bound[0] {
		r.drop(&inner[0])
	}
	t := &regs[out]
	t.node, t.out, t.wants, t.leaf = n, 0, true, nil
}

// straight runs a program without autograd.
func (r *run) straight(p *program, regs []tensor) {
	for i := range p.ops {
		o := &p.ops[i]
		for _, out := range o.out {
			regs[out] = r.alloc(p.regs[out], o.name, computing)
		}
		for _, d := range o.drops {
			r.drop(&regs[d])
		}
	}
}

// fusedBackward runs the backward of a compiled block.
func (r *run) fusedBackward(n *node, out []tensor) {
	c := n.op.fused
	regs := make([]tensor, len(c.backward.regs))
	for i, b := range c.backward.bound {
		regs[b] = n.child[i]
	}
	n.child = nil
	if c.seconds[1] > 0 {
		r.clock.kernel(c.seconds[1], 13)
		r.recomputed += c.seconds[1]
	}
	r.straight(c.backward, regs)
	r.clock.launch(2 * r.rates.HostCompiled)
	r.clock.device(c.seconds[2])
	for i, result := range c.backward.results {
		t := regs[result]
		if !n.wants[i] {
			r.drop(&t)
		}
		out[i] = t
	}
}
