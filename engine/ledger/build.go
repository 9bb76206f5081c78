package ledger

import (
	"cmp"
	"slices"
	"strconv"

	"meshscope/engine/model"
	"meshscope/engine/recipe"
)

// newTraining allocates what is there before the first step: cuBLAS's workspaces, weights, inputs.
func newTraining(p *model.Program, w *Way, rates *Rates) *training {
	t := &training{run: &run{rates: rates, way: w}, model: p.Model(), hidden: int64(p.Hidden().Width.V)}
	for i := range p.Layers {
		t.headWidth = max(t.headWidth, (&lowering{layer: &p.Layers[i]}).head())
	}
	t.clock.rates = rates
	t.pool.expandable = w.Expandable
	for range 2 { // a thread for the forward, one for autograd's backward
		t.fixed = append(t.fixed, t.alloc(size{32 * mib, 1}, "workspace of cuBLAS", computing))
		t.count(t.fixed[len(t.fixed)-1].st, Temporaries)
	}
	blocks, e := t.blocks(p)
	t.loss = binding{name: "the loss"}
	if !w.headInLoss() {
		t.loss.program = lossProgram(t.model, t.hidden, w, rates, e)
		t.loss.params = make([]*param, len(t.loss.program.bound))
	}
	var root *group
	if !w.Slice {
		root = t.ends()
	}
	for i, program := range blocks {
		b := binding{program: program, name: layerName(i, t.model.Layers), hooked: w.Hooked && !w.Compile}
		b.group = t.parameters(&b, nil)
		t.layers = append(t.layers, b)
		if t.way.Code.masked() {
			n := int64(t.model.MaxSeq)
			t.fixed = append(t.fixed, t.alloc(size{n * n, 1}, "causal mask", computing))
		}
	}
	t.order(root)
	t.inputs()
	if w.ZeRO != nil {
		t.install()
	}
	if w.InBackward {
		t.reached = t.updateNow
	}
	t.countHost()
	// DDP's buckets: a copy of all gradients (gradient_as_bucket_view off)
	if w.ranks() > 1 && !w.FSDP && w.ZeRO == nil {
		for _, p := range t.trained {
			t.fixed = append(t.fixed, t.alloc(size{p.n, p.e}, "bucket", computing))
			t.count(t.fixed[len(t.fixed)-1].st, Temporaries)
		}
	}
	return t
}

// order lists the groups that gather weights: FSDP's root first, ZeRO-3's modules as they run.
func (t *training) order(root *group) {
	if !t.way.gathers() {
		return
	}
	if root != nil {
		t.groups = append(t.groups, root)
	}
	if t.before.group != nil {
		t.groups = append(t.groups, t.before.group)
	}
	for i := range t.layers {
		if g := t.layers[i].group; i > 0 {
			g.below = t.layers[i-1].group
		}
		t.groups = append(t.groups, t.layers[i].group)
	}
	if t.way.ZeRO != nil {
		t.groups = append(t.groups, t.norm.group, t.head.group)
		t.reuse()
	}
}

// blocks writes the programs of all layers: one for each kind and type of the residual stream. It returns the
// bytes of an element of the last one's output.
func (t *training) blocks(p *model.Program) (list []*program, e int64) {
	type variant struct {
		kind int
		e    int64
	}
	written := map[variant]*program{}
	if e = t.way.weight(); t.way.Slice {
		e = 2
	}
	for i := range t.model.Layers {
		v := variant{p.At(i), e}
		b := written[v]
		switch {
		case b != nil:
		case t.way.Compile:
			b = lowerCompiled(&p.Layers[v.kind], t.way, t.rates)
		default:
			b = lowerBlock(&p.Layers[v.kind], t.model, t.way, t.rates, e)
		}
		written[v] = b
		list, e = append(list, b), b.result().e
	}
	return list, e
}

// ends makes embedding, final norm and head, which FSDP has in its root group.
func (t *training) ends() *group {
	t.before = binding{program: embeddingProgram(t.model, t.way, t.rates), name: "the embedding"}
	t.norm = binding{program: normProgram(t.model, t.hidden, t.way, t.rates), name: "the head"}
	t.head = binding{program: headProgram(t.model, t.way, t.rates, t.norm.program.result()), name: "the head"}
	first := t.parameters(&t.before, nil)
	tied := map[string]*param{}
	if t.model.Tied {
		tied["head"] = t.before.params[0]
	}
	second, third := t.parameters(&t.norm, nil), t.parameters(&t.head, tied)
	if t.way.ZeRO != nil {
		t.before.group, t.norm.group, t.head.group = first, second, third
		return nil
	}
	if first == nil {
		return nil
	}
	first.root = true
	first.params = slices.Concat(first.params, second.params, third.params)
	return first
}

// parameters allocates those of a program, and the group that gathers them. Some it has from elsewhere.
func (t *training) parameters(b *binding, there map[string]*param) *group {
	b.params = make([]*param, len(b.program.bound))
	var g *group
	if t.way.gathers() {
		g = &group{offload: t.way.Offload}
	}
	for i, r := range b.program.bound {
		x := b.program.external[i]
		if !x.param {
			continue
		}
		if p := there[x.name]; p != nil {
			b.params[i] = p
			if g != nil && t.way.ZeRO != nil { // a module gathers what it reads, shared or not
				g.params = append(g.params, p)
			}
			continue
		}
		p := &param{name: x.name, frozen: x.frozen}
		s := b.program.regs[r]
		b.params[i] = p
		t.bytes, t.largest = t.bytes+s.bytes(), max(t.largest, s.n)
		gathered := tensor{size: s, st: &storage{
			bytes: s.bytes(), name: "gathered " + x.name, refs: 1, kind: Temporaries,
		}}
		switch {
		case g != nil && x.frozen: // a shard of its own
			if shard := (size{t.way.shard(s.bytes()), 1}); t.way.weightsOnHost() {
				if z := t.way.ZeRO; z == nil || !z.NVMe {
					t.host += shard.n
				}
			} else {
				t.fixed = append(t.fixed, t.alloc(shard, "shard", computing))
			}
			p.t, g.params = gathered, append(g.params, p)
			t.frozen += cmp.Or(x.elements, s.n)
		case t.way.ZeRO != nil && !x.frozen: // a view of the flat weights, or gathered
			p.t = gathered
			if g != nil {
				g.params = append(g.params, p)
			}
			t.trained = append(t.trained, &trainable{n: s.n, e: 2, name: x.name, shape: x.shape})
			t.elements += s.n
		case g != nil:
			if !t.way.Offload {
				t.fixed = append(t.fixed, t.alloc(size{t.way.shard(s.n), t.way.Bytes}, "shard", computing))
			}
			p.t, g.params = gathered, append(g.params, p)
			t.trained = append(t.trained, &trainable{
				n: t.way.shard(s.n), e: t.way.Bytes, name: x.name, shape: x.shape, group: g,
			})
			t.elements += s.n
		case x.frozen:
			p.t = t.alloc(s, x.name, computing)
			t.frozen += cmp.Or(x.elements, s.n)
		default:
			p.t = t.alloc(s, x.name, computing)
			t.trained = append(t.trained, &trainable{n: s.n, e: s.e, name: x.name, shape: x.shape, param: p})
			t.elements += s.n
		}
	}
	return g
}

// inputs are tables of positions, tokens and labels, or the hidden states that a slice is given.
func (t *training) inputs() {
	w, half := t.way, t.headWidth/2
	list := []size{{half, 4}, {w.part() * half, 8}}
	if w.Code.Transformers {
		list = append(list, size{half, 4})
	}
	if w.Slice {
		list = append(list, size{w.tokens() * t.hidden, 2})
	} else {
		list = append(list, size{w.tokens(), 8}, size{w.tokens(), 8})
	}
	t.kind = Activations
	for _, s := range list {
		t.fixed = append(t.fixed, t.alloc(s, "input", computing))
	}
}

// embeddingProgram looks tokens up, and positions where they are learned.
func embeddingProgram(m *model.Model, w *Way, rates *Rates) *program {
	b := newBuilder(w, rates)
	h := int64(m.Hidden)
	x := b.embedding(w.tokens(), b.matrix(int64(m.Vocab), h, "embedding"), h)
	if w.Code.PlusOne {
		return b.end(b.scale(x), x)
	}
	if m.Position != "learned" {
		return b.end(x)
	}
	p := b.embedding(w.part(), b.matrix(int64(m.MaxSeq), h, "positions"), h)
	y := b.add(x, p)
	if w.Code.Dropout {
		y = b.dropout(y)
	}
	return b.end(y, x, p)
}

// normProgram is the final norm.
func normProgram(m *model.Model, h int64, w *Way, rates *Rates) *program {
	b := &lowering{builder: newBuilder(w, rates), model: m, code: w.Code}
	return b.end(b.norm(b.given(size{w.tokens() * h, w.weight()}, external{name: "input"}), h))
}

// headProgram is the product that makes logits of the final norm's output, with the loss where they are one.
func headProgram(m *model.Model, w *Way, rates *Rates, normed size) *program {
	vocab := int64(m.Vocab)
	b := newBuilder(w, rates)
	x := b.given(normed, external{name: "normed"})
	head := b.matrix(vocab, int64(m.Hidden), "head")
	switch {
	case !w.headInLoss():
		return b.end(b.linear(x, head, vocab, none))
	case w.Loss == recipe.LigerLoss:
		return b.end(b.ligerLoss(x, head, vocab))
	default:
		return b.end(b.chunkedLoss(x, head, vocab))
	}
}

// lossProgram is cross entropy over fp32 copies of the logits, or of a slice the mean square of its output,
// whose elements have so many bytes.
func lossProgram(m *model.Model, h int64, w *Way, rates *Rates, e int64) *program {
	b := newBuilder(w, rates)
	if w.Slice {
		y := b.pow(b.cast(b.given(size{w.tokens() * h, e}, external{}), 4), rates.Stream)
		return b.end(b.mean(y, 1, rates.Stream))
	}
	logits := b.given(size{w.tokens() * int64(m.Vocab), 2}, external{})
	if w.Compile || w.Loss == recipe.FusedLoss {
		return b.end(b.compiledLoss(logits))
	}
	wide, labels := b.cast(logits, 4), none
	var shifted reg
	if w.Code.Transformers {
		shifted, labels = b.indices(w.tokens()+w.MicroBatch, 8), b.indices(w.tokens(), 8)
	}
	loss := b.crossEntropy(wide, labels)
	b.alive(wide)
	if labels != none {
		b.alive(shifted, labels)
	}
	return b.end(loss)
}

// layerName says which layer it is.
func layerName(i, layers int) string {
	switch i {
	case layers - 1:
		return "the last layer"
	case 0:
		return "the first layer"
	}
	return "layer " + strconv.Itoa(i)
}
