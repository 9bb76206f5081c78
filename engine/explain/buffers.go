package explain

import (
	"fmt"

	"meshscope/engine/recipe"
)

// buffers are what a stack keeps over the step for a rank; nil where they are
// not taken apart.
func (b *Book) buffers(r int) *Expr {
	s := b.w.Setup
	all := func() *Expr {
		p := b.rankParameters(r, false)
		if b.w.Parameters[r].Expert > 0 {
			return add(p, b.rankParameters(r, true))
		}
		return p
	}
	wire, elem := count("bytes of a gathered weight", b.precision().GatherBytes()), b.elem()
	gathered := func() *Expr { // the block at work, its gradient and the buffer to scatter it from, the next block
		return add(
			b.ofLargest(r, "gathered", "gathered weights", "Weights that ZeRO-3 gathers: the layer at work and the next one", mul(lit(2), wire)),
			b.scattered(r, elem),
		)
	}
	shards := s.DenseShards() > 1
	switch stack := s.Stack.Resolve(); {
	case stack == recipe.Textbook || b.megatronOld():
		return lit(0)
	case stack == recipe.Nanotron:
		var sum []*Expr
		if s.TP > 1 {
			sum = append(sum, mul(lit(b.w.Memory.Fitted.Kept.Between), b.hidden(), b.tokens()))
		}
		if s.ZeRO == 0 || s.ZeRO == 1 && !shards {
			sum = append(sum, mul(count("bytes per parameter", b.w.Memory.Fitted.Kept.Plain), all()))
		}
		return add(sum...)
	case stack == recipe.TorchTitan && b.precision() == recipe.FP32 && (s.ZeRO < 2 || !shards):
		return lit(0)
	case stack == recipe.TorchTitan && s.ZeRO == 3:
		return gathered()
	case stack == recipe.TorchTitan && s.ZeRO == 2:
		return add(mul(wire, all()), b.scattered(r, elem))
	case stack == recipe.TorchTitan:
		return mul(wire, all())
	case stack == recipe.MegatronCore && s.ZeRO == 3 && shards:
		return add(b.dummies(r), gathered())
	case stack == recipe.MegatronCore && s.ZeRO == 2 && shards:
		return add(b.dummies(r), b.scattered(r, lit(2)))
	}
	return b.dummies(r)
}

// scattered are the whole gradients that ZeRO-2 and 3 make before they are summed
// over the copies: as the products give them, and in the fp32 buffer that is sent.
func (b *Book) scattered(r int, elem *Expr) *Expr {
	return b.ofLargest(r, "scattered", "whole gradients", "Whole gradients on their way, and the fp32 buffer that they are scattered from", add(elem, lit(4)))
}

// ofLargest are bytes of each parameter of the largest layer, or of the embedding
// or head where that is larger.
func (b *Book) ofLargest(r int, id, symbol, name string, bytes *Expr) *Expr {
	what := "layer"
	m := &b.w.Setup.Model
	table := float64(m.Vocab) * float64(m.Hidden) / float64(b.w.Setup.TP) // a stack pads it a little
	if p := b.w.Parameters[r]; p.Embedding > 0 && p.Largest >= table && p.Largest < 1.02*table {
		what = "matrix (embedding or head)"
	}
	return b.term(fmt.Sprintf("memory.ranks.%d.buffers.%s", r, id), about{
		name: fmt.Sprintf("%s, pipeline rank %d", name, r), symbol: symbol, unit: Memory,
		source: "bytes per parameter, for the largest " + what + " on the rank, since one is handled at a time",
		omits:  "parts of layers that are handled apart",
	}, func() *Expr {
		return mul(bytes, count("parameters of the largest "+what, b.w.Parameters[r].Largest))
	})
}

// dummies are Transformer Engine's dummy weight gradients: one in 16 bits per
// distinct weight shape.
func (b *Book) dummies(r int) *Expr {
	s := b.w.Setup
	m := &s.Model
	seen := map[[2]int]bool{}
	var sum []*Expr
	shape := func(rows, cols int) {
		if rows > 0 && cols > 0 && !seen[[2]int{rows, cols}] {
			seen[[2]int{rows, cols}] = true
			sum = append(sum, mul(count("rows", rows), count("columns", cols)))
		}
	}
	up := 1
	if m.Gated {
		up = 2
	}
	o := b.w.Memory.Order
	for c := range o.Chunks() {
		st := b.w.Stages[o.StageOf(r, c)]
		if st.Layers() == 0 {
			continue
		}
		b.attentionShapes(shape)
		if st.Dense > 0 {
			shape(m.Hidden, up*m.FFN/s.TP)
			shape(m.FFN/s.TP, m.Hidden)
		}
		if st.MoE > 0 && m.SharedFFN > 0 {
			shape(m.Hidden, up*m.SharedFFN/s.TP)
			shape(m.SharedFFN/s.TP, m.Hidden)
		}
	}
	return b.term(fmt.Sprintf("memory.ranks.%d.buffers.dummies", r), about{
		name: fmt.Sprintf("Dummy weight gradients, pipeline rank %d", r), symbol: "dummy gradients", unit: Memory,
		source: "Transformer Engine hands one in 16 bits per distinct weight shape to autograd, since it adds the real ones up itself",
		omits:  "shapes of embedding and head",
	}, func() *Expr { return mul(b.elem(), add(sum...)) })
}

// attentionShapes are the weight matrices of attention on one GPU.
func (b *Book) attentionShapes(shape func(rows, cols int)) {
	m, t := &b.w.Setup.Model, b.w.Setup.TP
	if !m.IsMLA() {
		shape(m.Hidden, (m.Heads+2*m.KVHeads)*m.HeadDim/t)
		shape(m.Heads*m.HeadDim/t, m.Hidden)
		return
	}
	from := m.Hidden
	if m.QLoraRank > 0 {
		shape(m.Hidden, m.QLoraRank)
		from = m.QLoraRank
	}
	shape(from, m.Heads*(m.QKNopeDim+m.QKRopeDim)/t)
	shape(m.Hidden, m.KVLoraRank+m.QKRopeDim)
	shape(m.KVLoraRank, m.Heads*(m.QKNopeDim+m.VHeadDim)/t)
	shape(m.Heads*m.VHeadDim/t, m.Hidden)
}
