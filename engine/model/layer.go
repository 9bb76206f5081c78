package model

import (
	"slices"

	"meshscope/engine/recipe"
	"meshscope/engine/record"
)

// Program is what is trained, laid out once for each model: its kinds of layers as lists of
// operations, and what is read from them for every evaluation.
type Program struct {
	Dense, MoE Layer // MoE is empty where no layer has experts
	Projection Layer // of a multi-token-prediction module: two hidden states to one

	of    Model
	named bool
	sums  sums
}

// sums are the parameters of the model.
type sums struct{ total, active, mtp float64 }

// Lay lays a model out, with the expressions of all widths where formulas are recorded.
func Lay(m *Model, rec *record.Recorder) *Program {
	p := &Program{of: *m, named: rec.On()}
	p.Dense = newLayer(m, rec, false)
	if m.IsMoE() {
		p.MoE = newLayer(m, rec, true)
	}
	p.Projection = newProjection(m, rec)
	p.sums = p.count()
	return p
}

// For returns a program of that model: this one, if it is, else a new one.
func (p *Program) For(m *Model, rec *record.Recorder) *Program {
	if p != nil && p.named == rec.On() && p.of == *m {
		return p
	}
	return Lay(m, rec)
}

// Model returns the model that is laid out.
func (p *Program) Model() *Model { return &p.of }

// Layer returns a kind of layer; a model without experts has dense ones only.
func (p *Program) Layer(moe bool) *Layer {
	if moe && p.of.IsMoE() {
		return &p.MoE
	}
	return &p.Dense
}

// builder writes the operations of a layer down.
type builder struct {
	*Layer
	m    *Model
	size sizes
	part Part
}

// sizes are the widths of a model by the names that formulas use.
type sizes struct{ h, a, kv, d, f, shared, expert, e, k, rq, rkv, nope, rope, v record.Num }

func newBuilder(m *Model, rec *record.Recorder, moe bool) builder {
	n := func(name string, v int) record.Num { return rec.Named(name, float64(v)) }
	b := builder{Layer: &Layer{MoE: moe}, m: m, size: sizes{
		h: n("h", m.Hidden), a: n("a", m.Heads), kv: n("kv_heads", m.KVHeads), d: n("d", m.HeadDim),
		f: n("f", m.FFN), shared: n("f_shared", m.SharedFFN), expert: n("f_expert", m.ExpertFFN), e: n("E", m.Experts), k: n("k", m.TopK),
		rq: n("r_q", m.QLoraRank), rkv: n("r_kv", m.KVLoraRank), nope: n("d_nope", m.QKNopeDim), rope: n("d_rope", m.QKRopeDim), v: n("d_v", m.VHeadDim),
	}}
	b.Heads, b.Experts, b.TopK = b.size.a, b.size.e, b.size.k
	b.Tensors, b.Ops = make([]Tensor, 1, 32), make([]Op, 0, 24)
	return b
}

// newLayer lists the operations of a kind of layer: a mixer and a feed-forward part, each
// behind a norm and added to the residual stream.
func newLayer(m *Model, rec *record.Recorder, moe bool) Layer {
	b := newBuilder(m, rec, moe)
	x := b.tensor(b.size.h, Sequence)
	mixer, feedForward := groupedQuery, denseMLP
	if m.IsMLA() {
		mixer = latent
	}
	if moe {
		feedForward = experts
	}
	x = b.residual(x, mixer(&b, b.norm(x, m.NormsPer >= 1)))
	b.residual(x, feedForward(&b, b.norm(x, m.NormsPer >= 2)))
	for range m.NormsPer - 2 { // of outputs, which keep their inputs too
		b.norm(b.tensor(b.size.h, Sequence), true)
	}
	if m.ExtraParams > 0 {
		width := rec.Written("P_extra / (L * h)", float64(m.ExtraParams)/float64(m.Layers)/float64(m.Hidden))
		b.add(Op{Kind: Product, Part: PartExtra, ID: "extra", Name: "extra parameters"}, refs(b.tensor(width, Columns)), refs(b.tensor(b.size.h, Sequence)))
	}
	b.read()
	return *b.Layer
}

// newProjection lists what a multi-token-prediction module has before its layer.
func newProjection(m *Model, rec *record.Recorder) Layer {
	b := newBuilder(m, rec, false)
	b.add(Op{Kind: Product, ID: "projection", Name: "MTP projection"},
		refs(b.tensor(record.Lit(2).Times(b.size.h), Sequence)), refs(b.tensor(b.size.h, Sequence)))
	return *b.Layer
}

func refs(list ...Ref) (r [3]Ref) {
	copy(r[:], list)
	return r
}

func (b *builder) tensor(width record.Num, cut Cut) Ref {
	b.Tensors = append(b.Tensors, Tensor{Width: width, Cut: cut, By: -1})
	return Ref(len(b.Tensors) - 1)
}

// heads returns a tensor of so many heads.
func (b *builder) heads(n, each record.Num, cut Cut) Ref {
	r := b.tensor(n.Times(each), cut)
	b.Tensors[r].Head, b.Tensors[r].heads = each, n
	return r
}

// add appends an operation of the part at hand.
func (b *builder) add(o Op, in, out [3]Ref) {
	if o.Part == 0 {
		o.Part = b.part
	}
	o.In, o.Out, o.Kernel = in, out, slices.IndexFunc(b.Ops, func(p Op) bool { return p.ID == o.ID })
	if o.Kernel < 0 {
		o.Kernel = len(b.Ops)
	}
	for _, r := range out {
		if r != 0 {
			b.Tensors[r].By = len(b.Ops)
		}
	}
	b.Ops = append(b.Ops, o)
}

// norm returns the input of a sub-layer; without a norm of its own it is the stream itself.
func (b *builder) norm(x Ref, has bool) Ref {
	o := Op{Kind: Norm, Part: PartNorms, ID: "norms", Name: "norms and residuals", Other: b.scale()}
	if !has {
		o = Op{Kind: View, Part: PartNorms, Fused: true}
	}
	out := b.tensor(b.size.h, Sequence)
	b.add(o, refs(x), refs(out))
	return out
}

// scale returns the parameters of a norm over the hidden width: LayerNorm has a bias,
// RMSNorm not.
func (b *builder) scale() record.Num {
	return record.Lit(float64(b.m.norm() / int64(max(b.m.Hidden, 1)))).Times(b.size.h)
}

func (b *builder) residual(x, y Ref) Ref {
	out := b.tensor(b.size.h, Sequence)
	b.add(Op{Kind: Residual, Part: PartNorms, ID: "norms", Name: "norms and residuals"}, refs(x, y), refs(out))
	return out
}

// read marks the norms that are no part of a product, since several operations read them, and
// what the whole dense MLP is; and sums the layer up.
func (b *builder) read() {
	number := 1
	for i := range b.Ops {
		o := &b.Ops[i]
		if o.Kind == Product && o.Part != PartExtra {
			o.Number = number
			if number++; o.Apart {
				for _, r := range o.Out[1:] {
					if r != 0 {
						number++
					}
				}
			}
		}
		if o.Part != PartNorms || o.Kind == Residual {
			continue
		}
		readers := 0
		for j := range b.Ops {
			if b.Ops[j].In[0] == o.Out[0] {
				readers++
				if b.Ops[j].Part == PartMLP {
					o.Module |= recipe.ModuleMLP
				}
			}
		}
		if readers > 1 {
			o.Module |= recipe.ModuleNorm
		}
	}
	b.params, b.flops = b.countParams(), b.countFLOPs()
}
