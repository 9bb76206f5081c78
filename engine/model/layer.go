package model

import (
	"slices"

	"meshscope/engine/recipe"
	"meshscope/engine/record"
)

// Program is what is trained, laid out once for each model: its distinct layers as lists of
// operations, and what is read from them for every evaluation.
type Program struct {
	Layers     []Layer // the distinct ones, at most MaxKinds, in the order of their first in the stack
	Projection Layer   // of a multi-token-prediction module: two hidden states to one

	order  []uint8 // which of Layers each layer of the stack is
	period int     // the least number of layers after which the order repeats
	module int     // which one a multi-token-prediction module has

	of    Model
	named bool
	sums  sums
}

// sums are the parameters of the model.
type sums struct{ total, active, mtp float64 }

// Lay lays a model out, with the expressions of all widths where formulas are recorded.
func Lay(m *Model, rec *record.Recorder) *Program {
	p := &Program{of: *m, named: rec.On()}
	p.stack(rec, mixers(), m.feedForwards())
	p.Projection = newProjection(m, rec)
	p.sums = p.count()
	return p
}

// Of reports whether this is the program of that model, with expressions where formulas are recorded.
func (p *Program) Of(m *Model, rec *record.Recorder) bool {
	return p != nil && p.named == rec.On() && p.of == *m
}

// For returns a program of that model: this one, if it is, else a new one.
func (p *Program) For(m *Model, rec *record.Recorder) *Program {
	if p.Of(m, rec) {
		return p
	}
	return Lay(m, rec)
}

// Model returns the model that is laid out.
func (p *Program) Model() *Model { return &p.of }

// At returns which of Layers a layer of the stack is.
func (p *Program) At(layer int) int { return int(p.order[layer]) }

// Period returns the least number of layers after which the kinds repeat: 1 where all layers are alike.
func (p *Program) Period() int { return p.period }

// Module returns the layer of a multi-token-prediction module: the last kind of the stack that has
// experts, or the last one.
func (p *Program) Module() *Layer { return &p.Layers[p.module] }

// Streams returns how many hidden states a token sends from stage to stage: with it goes its embedding where
// layers read that, all streams and inputs of layers, or half of all snapshots, their mean over the stages.
func (p *Program) Streams() float64 {
	if p.of.Has(LetterBlock) {
		return 2
	}
	if n := p.of.HyperStreams; n > 0 {
		return float64(n)
	}
	if m := &p.of; m.AltUpStreams+m.LayerInput > 0 {
		return float64(max(m.AltUpStreams, 1)) + float64(m.Layers*m.LayerInput)/float64(m.Hidden)
	}
	if n := p.of.ResidualBlock; n > 0 {
		return 1 + float64(p.of.Layers/n)/2
	}
	return 1
}

// Carried returns how many copies of the hidden state a layer reads and writes.
func (p *Program) Carried() float64 { return float64(max(p.of.HyperStreams, p.of.AltUpStreams, 1)) }

// Hidden returns what enters every layer, one copy of it.
func (p *Program) Hidden() *Tensor { return p.Layers[0].Tensor(Input) }

// builder writes the operations of a layer down.
type builder struct {
	*Layer
	m      *Model
	rec    *record.Recorder
	size   sizes
	part   Part
	module recipe.Modules // that operations belong to beside their own

	beside bool       // operations are those of a second mixer of the layer
	shared bool       // operations are those of a block that layers share
	hash   bool       // tokens go to experts by a table
	sinks  bool       // the softmax has a learned number for each head
	reuses bool       // keys and values are those of an earlier layer
	unused record.Num // parameters of its own for them
}

// sizes are the widths of a model by the names that formulas use.
type sizes struct {
	h, a, kv, d, f, shared, expert, e, k, rq, rkv, nope, rope, v record.Num

	latent, routes record.Num // of experts: the width they work in, and all that the router knows

	keyHeads, keyDim, valueHeads, valueDim, conv, chunk, scanRank record.Num // of scans
	keys, values                                                  record.Num // all their heads
	indexHeads, indexDim, indexTopK, adapter                      record.Num
	ratio, heavy, outGroups, outRank                              record.Num // of a shared key
}

func newBuilder(m *Model, rec *record.Recorder) builder {
	b := builder{Layer: new(Layer), m: m, rec: rec, sinks: m.AttnSinks}
	n := b.named
	b.size = sizes{
		h: n("h", m.Hidden), a: n("a", m.Heads), kv: n("kv_heads", m.KVHeads), d: n("d", m.HeadDim),
		f: n("f", m.FFN), shared: n("f_shared", m.SharedFFN), expert: n("f_expert", m.ExpertFFN),
		e: n("E", m.Experts), k: n("k", m.TopK),
		rq: n("r_q", m.QLoraRank), rkv: n("r_kv", m.KVLoraRank), nope: n("d_nope", m.QKNopeDim),
		rope: n("d_rope", m.QKRopeDim), v: n("d_v", m.VHeadDim),
		keyHeads: n("key_heads", m.LinearKeyHeads), keyDim: n("d_key", m.LinearKeyDim),
		valueHeads: n("value_heads", m.LinearValueHeads), valueDim: n("d_value", m.LinearValueDim),
		conv:  n("conv_width", m.ConvWidth),
		chunk: n("chunk", max(m.LinearChunk, 1)), scanRank: n("scan_rank", m.LinearRank),
		indexHeads: n("index_heads", m.IndexHeads), indexDim: n("d_index", m.IndexDim),
		indexTopK: n("top_tokens", m.IndexTopK), adapter: n("r_adapter", m.AdapterRank),
		ratio: n("compress_ratio", m.CompressRatio), heavy: n("compress_ratio_heavy", m.CompressHeavy),
		outGroups: n("output_groups", m.OutputGroups), outRank: n("r_o", m.OutputRank),
	}
	s := &b.size
	s.keys, s.values = s.keyHeads.Times(s.keyDim), s.valueHeads.Times(s.valueDim)
	s.latent, s.routes = s.h, s.e
	if m.ExpertLatent > 0 {
		s.latent = n("h_latent", m.ExpertLatent)
	}
	if m.ZeroExperts > 0 {
		s.routes = s.e.Plus(n("E_zero", m.ZeroExperts))
		s.k = s.k.Times(s.e).Over(s.routes)
	}
	if !m.IsMLA() && m.VHeadDim == 0 {
		s.v = s.d
	}
	b.Tensors, b.Ops = make([]Tensor, 1, 32), make([]Op, 0, 24)
	return b
}

// named returns a width by the name that formulas have for it.
func (b *builder) named(name string, width int) record.Num {
	if b.rec.On() {
		b.names = append(b.names, record.In(name, width))
	}
	return b.rec.Named(name, float64(width))
}

// newLayer lists the operations of a kind of layer: a mixer and a feed-forward part, each
// behind a norm and added to the residual stream.
func newLayer(m *Model, rec *record.Recorder, parts [2]*sublayer) Layer {
	b := newBuilder(m, rec)
	x := b.tensor(b.size.h, Sequence)
	norms, each := 0, m.NormsPer
	if m.Flat() && parts[0].add != nil && parts[1].add != nil { // two sub-layers, as in a prediction module
		each *= 2
	}
	if m.HyperStreams > 0 {
		x = b.tensor(record.Lit(float64(m.HyperStreams)).Times(b.size.h), Sequence)
	}
	for _, part := range parts {
		switch {
		case part.add == nil:
		case m.HyperStreams > 0:
			x = b.hyper(x, func(one Ref) Ref { return part.add(&b, b.norm(one, each > norms)) })
			norms++
		default:
			stream := x
			if part.before != nil {
				stream = part.before(&b, x)
			}
			x = b.residual(x, part.add(&b, b.norm(stream, each > norms)))
			if norms++; norms == 1 {
				x = b.narrowPath(x, m.LaurelRank, "laurel", "path beside attention", false)
			}
		}
	}
	for range each - norms { // of outputs, which keep their inputs too
		b.norm(b.tensor(b.size.h, Sequence), true)
	}
	b.streams(x)
	x = b.narrowPath(x, m.LayerInput, "layer-input", "input of the layer", true)
	if m.LayerScalar {
		b.add(Op{
			Kind: Multiply, Part: PartNorms, Fused: true, ID: "scalar", Name: "scalar of the layer",
			Other: record.Lit(1),
		}, refs(x), refs(b.tensor(b.size.h, Sequence)))
	}
	if n := m.ResidualBlock; n > 0 {
		// the mean of what layers read, twice, and a layer's share of what is kept
		read, kept := record.Lit(float64(m.Layers/n)).Times(b.size.h), b.size.h.Over(record.Lit(float64(n)))
		b.add(Op{Kind: View, Part: PartNorms, ID: "snapshots", Name: "mixed snapshots of the stream"},
			refs(b.tensor(read, Sequence)), refs(b.tensor(b.size.h, Sequence)))
		b.add(Op{Kind: Multiply, Part: PartNorms, Fused: true, Other: record.Lit(4).Times(b.size.h)},
			refs(b.tensor(kept, Sequence)), refs(b.tensor(b.size.h, Sequence)))
	}
	if m.ExtraParams > 0 {
		width := rec.Written("P_extra / (L * h)", float64(m.ExtraParams)/float64(m.Layers)/float64(m.Hidden))
		b.add(Op{Kind: Product, Part: PartExtra, ID: "extra", Name: "extra parameters"},
			refs(b.tensor(width, Columns)), refs(b.tensor(b.size.h, Sequence)))
	}
	b.read()
	return *b.Layer
}

// newProjection lists what a multi-token-prediction module has before its layer.
func newProjection(m *Model, rec *record.Recorder) Layer {
	b := newBuilder(m, rec)
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
	o.Shared, o.Module = b.shared, o.Module|b.module
	if b.beside && o.ID != "" {
		o.ID, o.Name = "mamba-"+o.ID, o.Name+" (Mamba-2)"
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

// op adds one of a kind and returns the first of what it gives; product is a multiplication by a matrix.
func (b *builder) op(kind Kind, id, name string, in [3]Ref, out ...Ref) Ref {
	b.add(Op{Kind: kind, ID: id, Name: name}, in, refs(out...))
	return out[0]
}

func (b *builder) product(id, name string, x Ref, out ...Ref) Ref {
	return b.op(Product, id, name, refs(x), out...)
}

// output is the product that ends a mixer.
func (b *builder) output(x Ref) Ref {
	return b.product("output", "output projection", x, b.tensor(b.size.h, Sequence))
}

// fusedNorm is a norm in the kernel of another operation, with a scale of so many parameters.
func (b *builder) fusedNorm(id, name string, scale record.Num, in [3]Ref, out ...Ref) Ref {
	b.add(Op{Kind: Norm, ID: id, Name: name, Fused: true, Other: scale}, in, refs(out...))
	return out[0]
}

// like returns a tensor that lies as another.
func (b *builder) like(x Ref) Ref {
	t := b.Tensors[x]
	b.Tensors = append(b.Tensors, Tensor{Width: t.Width, Head: t.Head, Cut: t.Cut, By: -1, heads: t.heads})
	return Ref(len(b.Tensors) - 1)
}

// rotary turns queries and keys.
func (b *builder) rotary(q, k Ref) (turnedQuery, turnedKey Ref) {
	turnedQuery, turnedKey = b.like(q), b.like(k)
	b.op(Rotary, "rotary", "rotary positions", refs(q, k), turnedQuery, turnedKey)
	return turnedQuery, turnedKey
}

// values is a tensor of the heads of a scan's values.
func (b *builder) values() Ref { return b.heads(b.size.valueHeads, b.size.valueDim, Columns) }

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
	b.add(Op{Kind: Residual, Part: PartNorms, ID: "norms", Name: "norms and residuals"}, refs(x, y),
		refs(out))
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
		if o.Part != PartNorms || o.Kind == Residual || o.Kind == Multiply {
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
	b.fewest = MaxHeads
	for _, t := range b.Tensors {
		if t.Cut == KeyValue {
			b.fewest = min(b.fewest, t.heads.V)
		}
	}
	b.params, b.flops = b.countParams(), b.countFLOPs()
}
