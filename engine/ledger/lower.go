package ledger

import "meshscope/engine/model"

// lowering writes the operations of a layer as those of PyTorch that some code runs for them.
type lowering struct {
	*builder
	layer *model.Layer
	model *model.Model
	code  *Code
	at    []reg // by tensor of the layer

	out      reg  // of the last residual
	shared   bool // shared experts are being written
	experts  int  // operation of their first product
	cos, sin reg
	locals   []reg // variables of the function that runs: they live until it returns
}

// attention is what the attention operation needs to know.
type attention struct{ heads, width, valueWidth int64 }

// lowerBlock writes the program of a layer: of its input, whose elements have so many bytes, parameters and,
// in transformers, tables of rotary positions.
func lowerBlock(l *model.Layer, m *model.Model, w *Way, rates *Rates, e int64) *program {
	b := &lowering{
		builder: newBuilder(w, rates), layer: l, model: m, code: w.Code,
		at: make([]reg, len(l.Tensors)),
	}
	x := b.given(size{b.wide(model.Input), e}, external{name: "input"})
	if w.Code.Transformers && m.Position != "learned" {
		table := size{w.part() * b.head(), e}
		b.cos, b.sin = b.given(table, external{name: "cos"}), b.given(table, external{name: "sin"})
	}
	b.at[model.Input] = x
	for i := 0; i < len(l.Ops); {
		i = b.operation(i)
	}
	return b.end(b.out)
}

// wide returns the elements of a tensor of the layer.
func (b *lowering) wide(r model.Ref) int64 {
	t := b.layer.Tensor(r)
	n := b.way.tokens() * int64(t.Width.V)
	if t.Cut == model.Routed || t.Cut == model.RoutedColumns {
		n *= int64(b.layer.TopK.V)
	}
	return n
}

// head returns the width of a head of attention; 0 where the layer has none.
func (b *lowering) head() int64 {
	core, ok := b.layer.Core()
	if !ok {
		return 0
	}
	return int64(b.layer.Tensor(core.In[0]).Head.V)
}

func (b *lowering) width(r model.Ref) int64 { return int64(b.layer.Tensor(r).Width.V) }

// operation writes one operation, or several that the code runs in another order, and returns the next.
func (b *lowering) operation(i int) int {
	o := &b.layer.Ops[i]
	b.of = i
	in := b.at[o.In[0]]
	// counted alone; run last: see ownExperts
	if o.Part == model.PartExtra || o.Part == model.PartShared && !b.shared {
		return i + 1
	}
	switch o.Kind {
	case model.Norm:
		for j, r := range o.In {
			if r != 0 {
				b.at[o.Out[j]] = b.norm(b.at[r], b.normWidth(o, r))
			}
		}
		if o.Part == model.PartNorms {
			b.locals = []reg{b.at[o.Out[0]]}
		} else {
			b.alive(b.at[o.In[0]], b.at[o.In[1]])
		}
	case model.View:
		b.at[o.Out[0]] = in
		if o.Part == model.PartNorms {
			b.locals = nil
		}
	case model.Product:
		return b.product(i)
	case model.Rotary:
		b.rotary(o)
	case model.Core:
		b.core(o)
	case model.Activation:
		b.at[o.Out[0]] = b.activation(o)
	case model.Residual:
		b.alive(b.locals...)
		y := b.at[o.In[1]]
		if b.code.Dropout {
			b.at[o.Out[0]] = b.add(b.dropout(y), in)
		} else {
			b.at[o.Out[0]] = b.add(in, y)
		}
		b.out = b.at[o.Out[0]]
	case model.Gate:
		return b.mixture(i)
	default:
		panic("no rule for this kind of operation")
	}
	return i + 1
}

func (b *lowering) normWidth(o *model.Op, r model.Ref) int64 {
	t := b.layer.Tensor(r)
	if o.Part != model.PartNorms && b.model.QKNorm == model.QKNormPerHead {
		return int64(t.Head.V)
	}
	return int64(t.Width.V)
}

// norm writes a norm: fused, or as transformers' classes of RMSNorm do it, in fp32 copies.
func (b *lowering) norm(x reg, width int64) reg {
	switch {
	case b.model.Norm != model.NormRMS:
		return b.layerNorm(x, b.param(width, "norm"), b.param(width, "norm bias"), width)
	case !b.code.Transformers:
		return b.rmsNorm(x, b.param(width, "norm"), width)
	}
	w, e, rate := b.param(width, "norm"), b.e(x), b.rates.Wide
	x = b.castAt(x, 4, "fp32 of a norm", rate)
	v := b.mean(b.pow(x, rate), b.n(x)/width, rate)
	x = b.mulAt(x, b.rsqrt(v), rate)
	var y reg
	if b.code.PlusOne {
		y = b.castAt(b.mulAt(x, b.scale(b.cast(w, 4)), rate), e, "normed", rate)
	} else {
		y = b.mulAt(w, b.castAt(x, e, "normed", rate), rate)
	}
	b.alive(v, x)
	return y
}

// product writes the products of an operation: one for each output, or one for all.
func (b *lowering) product(i int) int {
	o, ops := &b.layer.Ops[i], b.layer.Ops
	in := b.at[o.In[0]]
	names := productNames(o.ID)
	gated := i+1 < len(ops) && ops[i+1].Kind == model.Activation && o.Out[1] != 0
	fused := b.code.FusedQKV && o.ID == "qkv" || b.code.FusedUp && gated
	if fused {
		var all int64
		var parts []int64
		for _, r := range o.Out {
			if r != 0 {
				all, parts = all+b.width(r), append(parts, b.wide(r))
			}
		}
		name := "qkv"
		if gated {
			name = "gate_up"
		}
		y := b.adapt(name, in, all, o.Other.V > 0)
		if b.code.Dropout || gated {
			for j, r := range b.split(y, parts...) {
				b.at[o.Out[j]] = r
			}
		} else { // slices, each of which has a gradient as wide as all
			for j, n := range parts {
				b.at[o.Out[j]] = b.half(y, n)
			}
		}
		if gated {
			b.of = i + 1
			b.at[o.Out[0]] = b.silu(b.at[o.Out[0]])
		}
		return i + 1
	}
	for j, r := range o.Out {
		if r == 0 {
			continue
		}
		name := names[j]
		if o.ID == "mlp-up" && !gated {
			name = "up"
		}
		y := b.adapt(name, in, b.width(r), o.Other.V > 0)
		if gated && j == 0 { // of the gate at once, before the other product
			b.of = i + 1
			y = b.silu(y)
			b.of = i
		}
		b.at[r] = y
	}
	return i + 1
}

// productNames are what adapters' targets call the outputs of products.
func productNames(id string) [3]string {
	return map[string][3]string{
		"qkv": {"q", "k", "v"}, "output": {"o"}, "mlp-up": {"gate", "up"}, "mlp-down": {"down"},
		"shared-up": {"shared gate", "shared up"}, "shared-down": {"shared down"},
	}[id]
}

// adapt writes a product with its adapter, if it has one: in the adapter's type, on a copy of its own where
// that is another than the input's, as peft makes it.
func (b *lowering) adapt(name string, x reg, out int64, biased bool) reg {
	in := b.n(x) / b.way.tokens()
	var w reg
	bytes := b.way.quantised(in*out, out)
	if bytes > 0 {
		w = b.given(size{bytes, 1}, external{name: name, param: true, frozen: true, elements: in * out})
	} else {
		w = b.matrix(out, in, name)
	}
	bias := none
	if biased {
		bias = b.param(out, name+" bias")
	}
	var y reg
	if bytes > 0 {
		y = b.quantisedLinear(x, w, in, out, bias)
	} else {
		y = b.linear(x, w, out, bias)
	}
	if !b.way.adapted(name) {
		return y
	}
	products := b.builder.product
	e := b.way.adapter()
	adapter := func(rows, columns int64) reg {
		return b.given(size{rows * columns, e}, external{
			name: name + " adapter", param: true, shape: shape{1, rows, columns},
		})
	}
	low, high := adapter(b.way.Rank, in), adapter(out, b.way.Rank)
	x = b.cast(x, e)
	product := func() reg { return b.linear(b.linear(x, low, b.way.Rank, none), high, out, none) }
	if b.way.DoRA {
		y = b.add(y, b.dora(name, y, w, bias, size{in * out, e}, product))
	} else {
		y = b.add(y, b.scale(product()))
	}
	y = b.cast(y, 2)
	b.alive(x)
	b.builder.product = products
	return y
}

// activation writes what stands between the products of an MLP; of a gate it is written with the products.
func (b *lowering) activation(o *model.Op) reg {
	x := b.at[o.In[0]]
	if o.In[1] != 0 {
		return b.mul(x, b.at[o.In[1]])
	}
	if !b.code.masked() { // one kernel: gelu saves its input, relu its output
		o := op{name: "gelu", saves: []save{{0, -1}}}
		if b.model.Activation == "relu" {
			o = op{name: "relu", keeps: []int{0}}
		}
		return b.unary(x, b.regs[x], o)
	}
	// transformers' gelu_new, operation by operation; its power is in fp32 under autocast.
	low := b.scale(x)
	cube := x
	if b.way.Autocast {
		cube = b.cast(x, 4)
	}
	inner := b.scale(b.add(x, b.scale(b.pow(cube, b.rates.Stream))))
	t := b.tanh(inner)
	one := b.unary(t, b.regs[t], op{name: "add"})
	b.ops[len(b.ops)-1].grads = []grad{{kind: through}}
	y := b.mul(low, one)
	b.alive(x, t)
	return y
}

// rotary writes rotary positions: complex in fp32, or as transformers has them.
func (b *lowering) rotary(o *model.Op) {
	if b.model.Position == "learned" {
		for j, r := range o.In {
			if r != 0 {
				b.at[o.Out[j]] = b.at[r]
			}
		}
		return
	}
	for j, r := range o.In {
		if r == 0 {
			continue
		}
		x := b.at[r]
		if b.code.Transformers {
			turned := b.cat(b.unary(b.half(x, b.n(x)/2), size{b.n(x) / 2, b.e(x)}, op{name: "neg"}),
				b.half(x, b.n(x)/2))
			b.at[o.Out[j]] = b.add(b.mul(x, b.cos), b.mul(turned, b.sin))
			continue
		}
		wide := b.cast(x, 4)
		b.at[o.Out[j]] = b.cast(b.unary(wide, b.regs[wide], op{name: "rotary"}), b.e(x))
	}
	b.alive(b.at[o.In[0]], b.at[o.In[1]])
}

// core writes attention, with keys and values repeated where the code does.
func (b *lowering) core(o *model.Op) {
	q, k, v := b.at[o.In[0]], b.at[o.In[1]], b.at[o.In[2]]
	a := attention{int64(b.layer.Heads.V), b.head(), int64(b.layer.Tensor(o.Out[0]).Head.V)}
	ranks := b.way.Ulysses
	if ranks > 1 {
		kv := b.n(k) / b.way.tokens() / int64(b.layer.Tensor(o.In[1]).Head.V)
		b.alive(q, k, v)
		b.locals = append(b.locals, q, k, v)
		q, k, v = b.toHeads(q, k, v, max(1, ranks/kv))
	}
	if times := b.n(q) / b.n(k); times > 1 && !b.code.Transformers && !b.way.NoRepeat {
		k2 := b.repeat(k, times)
		v2 := b.repeat(v, times)
		b.alive(k, v)
		k, v = k2, v2
	}
	out := b.sdpa(q, k, v, a)
	b.locals = append(b.locals, q, k, v)
	if ranks > 1 {
		out = b.toSequence(out)
	}
	if !b.code.Transformers {
		b.locals = append(b.locals, out)
	}
	b.at[o.Out[0]] = out
}
