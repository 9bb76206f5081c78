package ledger

// node is what an operation leaves for the backward.
type node struct {
	op      *op
	in      []size // of the inputs
	wants   []bool
	saved   []saved
	edges   []edge
	grads   []tensor // that have come, by output
	reached bool
	pre     []func(grads []tensor)
	post    []func()
	child   []tensor // what a compiled block saves
}

// edge is where the gradient of an input goes: an output of a node, or a parameter.
type edge struct {
	node *node
	out  int
	leaf *param
}

// saved is a tensor that a node keeps, or how it comes by it.
type saved struct {
	t     tensor // of one in host memory: without its storage
	frame *frame // checkpointed: made again
	slot  int
	host  bool
}

// pack keeps a tensor for the backward in the way that holds at the moment.
func (r *run) pack(t tensor) saved {
	if n := len(r.packers); n > 0 {
		switch f := r.packers[n-1]; {
		case f == nil:
			return r.toHost(t)
		case !f.running:
			f.slots = append(f.slots, tensor{})
			f.alive++
			return saved{frame: f, slot: len(f.slots) - 1}
		default:
			f.slots[f.filled] = t.hold()
			f.filled++
			r.stopped = f.filled == len(f.slots)
		}
	}
	return saved{t: t.hold()}
}

// toHost copies a tensor to host memory for the backward, as torch.autograd.graph.save_on_cpu does: each time
// it is saved, weights too, and the host waits.
func (r *run) toHost(t tensor) saved {
	r.clock.wait(r.hostCopy(t.bytes()))
	r.onHost += t.bytes()
	r.mostOnHost = max(r.mostOnHost, r.onHost)
	t.st = nil
	return saved{t: t, host: true}
}

// fetch brings a tensor back, which the caller holds.
func (r *run) fetch(s *saved) tensor {
	t := s.t
	r.clock.kernel(r.hostCopy(t.bytes()), 1)
	t.st = r.alloc(t.size, "fetched from the host", computing).st
	return t
}

// forget gives up what was saved.
func (r *run) forget(s *saved) {
	if s.host {
		r.onHost -= s.t.bytes()
	}
	r.drop(&s.t)
}

// unpack makes what a node has saved be there; what it fetched or recomputed for that is returned.
func (r *run) unpack(n *node) (fetched []tensor) {
	for i := range n.saved {
		switch s := &n.saved[i]; {
		case s.host:
			fetched = append(fetched, r.fetch(s))
		case s.frame != nil:
			s.frame.recompute(r)
			fetched = append(fetched, s.frame.slots[s.slot])
			s.frame.slots[s.slot] = tensor{}
		}
	}
	return fetched
}

// release drops what a node has saved.
func (r *run) release(n *node) {
	for i := range n.saved {
		s := &n.saved[i]
		r.forget(s)
		if f := s.frame; f != nil {
			r.drop(&f.slots[s.slot])
			if f.alive--; f.alive == 0 {
				f.free(r)
			}
		}
	}
	n.saved = nil
}

// record makes the node of an operation whose inputs are there, if one of them wants a gradient, and keeps
// those that its backward reads.
func (r *run) record(o *op, regs []tensor) *node {
	wanted := false
	for _, in := range o.in {
		wanted = wanted || regs[in].wants
	}
	if !wanted {
		return nil
	}
	n := r.nodes.one()
	*n = node{
		op: o, grads: r.tensors.take(len(o.out)), in: r.sizes.take(len(o.in)),
		wants: r.flags.take(len(o.in)), edges: r.edges.take(len(o.in)),
		saved: r.saves.take(len(o.saves) + len(o.keeps))[:0],
	}
	for i, in := range o.in {
		n.in[i], n.wants[i] = regs[in].size, regs[in].wants
	}
	for _, s := range o.saves {
		if s.when < 0 || n.wants[s.when] {
			n.saved = append(n.saved, r.pack(regs[o.in[s.in]]))
			if r.stopped {
				break
			}
		}
	}
	if r.recomputing {
		r.again = append(r.again, n)
		return n
	}
	for i, in := range o.in {
		n.edges[i] = r.edge(&regs[in])
	}
	r.graph = append(r.graph, n)
	return n
}

// edge returns where the gradient of a tensor goes.
func (r *run) edge(t *tensor) edge {
	switch {
	case !t.wants:
	case t.leaf != nil:
		t.leaf.edges++
		return edge{leaf: t.leaf}
	default:
		return edge{node: t.node, out: t.out}
	}
	return edge{}
}

// identity is a node that a hook hangs on.
func (r *run) identity(t tensor) tensor {
	n := &node{op: hook(), in: []size{t.size}, wants: []bool{true}, grads: make([]tensor, 1)}
	if !r.recomputing {
		n.edges = []edge{r.edge(&t)}
		r.graph = append(r.graph, n)
	}
	o := t.hold()
	o.node, o.out, o.leaf, o.wants = n, 0, nil, true
	return o
}

// hook is the operation of such a node.
func hook() *op { return &op{name: "hook", grads: []grad{{kind: through}}} }

// backward runs the nodes newest first. A node holds its incoming gradients until it returns and its saved
// tensors until its results are there; sums and casts come before either is freed.
func (r *run) backward(loss tensor) {
	loss.node.grads[loss.out] = r.alloc(size{1, 4}, "gradient of the loss", computing)
	loss.node.reached = true
	for len(r.graph) > 0 {
		n := r.graph[len(r.graph)-1]
		r.graph = r.graph[:len(r.graph)-1]
		if n.reached {
			r.backwardOf(n)
		} else {
			r.release(n)
		}
	}
}

func (r *run) backwardOf(n *node) {
	for _, hook := range n.pre {
		hook(n.grads)
	}
	out := r.results(n)
	for i := range n.grads {
		r.drop(&n.grads[i])
	}
	for _, hook := range n.post {
		hook()
	}
	r.release(n)
	var leaves []*param
	for i, e := range n.edges {
		g := out[i]
		switch {
		case g.st == nil:
		case e.leaf != nil:
			r.join(&e.leaf.buffer, g)
			if e.leaf.edges--; e.leaf.edges == 0 {
				leaves = append(leaves, e.leaf)
			}
		case e.node != nil:
			e.node.reached = true
			r.join(&e.node.grads[e.out], g)
		default:
			r.drop(&g)
		}
	}
	for _, p := range leaves {
		r.accumulate(p)
	}
}

// join adds a gradient to those that have come: in place where nobody else holds the first.
func (r *run) join(into *tensor, g tensor) {
	if into.st == nil {
		*into = g
		return
	}
	r.clock.kernel(r.rates.pass(3*g.bytes(), r.rates.Stream), 1)
	if into.st.refs > 1 {
		sum := r.alloc(g.size, "sum of gradients", computing)
		r.drop(into)
		*into = sum
	}
	r.drop(&g)
}

// accumulate stores the gradient of a parameter: taken over, not copied, where nobody else holds it.
func (r *run) accumulate(p *param) {
	g := p.buffer
	p.buffer = tensor{}
	switch {
	case p.grad.st != nil:
		r.clock.kernel(r.rates.pass(3*g.bytes(), r.rates.Stream), 1)
		r.drop(&g)
	case g.st.refs == 1:
		p.grad = g
	default:
		p.grad = r.alloc(g.size, "gradient", computing)
		r.drop(&g)
	}
	r.count(p.grad.st, Gradients)
	if r.zero != nil {
		r.zero.ready(r, p)
	}
	if r.reached != nil {
		r.reached(p, nil)
	}
}

// results runs a node's backward and returns the gradients of its inputs.
func (r *run) results(n *node) []tensor {
	o := n.op
	fetched := r.unpack(n)
	out := r.tensors.take(len(n.in))
	temps := r.temps[:0]
	next := 0 // of the gradients that the forward made
	scratch := func() {
		for _, s := range o.temps {
			temps = append(temps, r.alloc(s, o.backward, computing))
		}
	}
	if o.fused != nil {
		r.fusedBackward(n, out)
	}
	if o.tempsFirst {
		scratch()
	}
	for i := range n.in {
		if o.fused != nil || i >= len(o.grads) || !n.wants[i] {
			continue
		}
		switch g := o.grads[i]; g.kind {
		case fresh:
			out[i] = r.alloc(g.size, o.gradient, computing)
		case through, part:
			out[i] = n.grads[0].hold()
			if g.kind == part {
				out[i].size = n.in[i]
			}
			out[i].node, out[i].leaf = nil, nil
		case made:
			if s := &n.saved[next]; s.t.st != nil {
				out[i] = s.t.hold()
			} else { // fetched
				out[i] = r.alloc(s.t.size, o.gradient, computing)
			}
			out[i].node, out[i].leaf = nil, nil
			next++
		case never:
		}
	}
	if !o.tempsFirst {
		scratch()
	}
	for i := range temps {
		r.drop(&temps[i])
	}
	r.temps = temps
	for i := range fetched {
		r.drop(&fetched[i])
	}
	r.clock.backwardCost(n)
	r.fit(n, out)
	return out
}

// fit sums gradients over broadcast dimensions and casts them to their inputs' types.
func (r *run) fit(n *node, out []tensor) {
	for i := range out {
		g := &out[i]
		if g.st == nil {
			continue
		}
		if g.n != n.in[i].n {
			r.clock.kernel(r.rates.pass(g.bytes(), r.rates.Stream), 1)
			sum := r.alloc(size{n.in[i].n, g.e}, "sum of a gradient", computing)
			r.drop(g)
			*g = sum
		}
		if g.e != n.in[i].e {
			r.clock.kernel(r.rates.pass(g.n*(g.e+n.in[i].e), r.rates.Stream), 1)
			cast := r.alloc(n.in[i], "cast of a gradient", computing)
			r.drop(g)
			*g = cast
		}
	}
}
