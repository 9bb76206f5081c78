package ledger

import "meshscope/engine/recipe"

// dora writes what DoRA adds to a product y: (m - 1) y + m s BAx, where m is a trained magnitude of each row
// over the norm of that row of W + s BA. The norm is outside of autograd, but BA is made of an identity
// matrix by the adapter's own forward, whose graph lives until the function returns, as do its variables
// (huggingface/peft, tuners/lora/dora.py; torchtune, modules/peft/dora.py).
func (b *lowering) dora(name string, y, w, bias reg, weight size, adapter func() reg) reg {
	e, rank := weight.e, b.way.Rank
	out := b.n(y) / b.way.tokens()
	in := weight.n / out
	magnitude := b.given(size{out, e}, external{name: name + " magnitude", param: true})
	pass := func(bytes int64) float64 { return b.rates.pass(bytes, b.rates.Stream) }
	locals := []reg{
		b.detached(w, "identity of DoRA", pass(in*in*e), size{in * in, e}),
		b.detached(w, "product of DoRA", b.rates.product(in, rank, in, e, false), size{in * rank, e}),
		b.detached(w, "weight of an adapter", b.rates.product(in, out, rank, e, false), weight),
		b.inType(w, weight),
	}
	scaled := b.detached(w, "scaled weight of an adapter", pass(2*weight.bytes()), weight)
	sum := b.detached(w, "sum of weights", pass(3*weight.bytes()), weight)
	b.alive(scaled)
	norm := b.detached(w, "norm of a weight", pass(weight.bytes()), size{out, e})
	b.alive(sum)
	ratio := b.mul(magnitude, norm) // a quotient keeps the divisor, as a product the factor
	product, base := adapter(), y
	if bias != none {
		base = b.add(y, bias)
	}
	less := b.unary(ratio, b.regs[ratio], op{name: "add"})
	b.ops[len(b.ops)-1].grads = []grad{{kind: through}}
	total := b.add(b.mul(less, base), b.scale(b.mul(ratio, product)))
	b.alive(append(locals, norm, ratio, product, base)...)
	return total
}

// detached writes an operation on a frozen weight that autograd does not record.
func (b *lowering) detached(w reg, name string, seconds float64, made size, works ...size) reg {
	return b.emit(op{
		name: name, in: []reg{w}, grads: []grad{{kind: never}}, works: works, cost: [2]cost{{seconds, 1}},
	}, made)
}

// inType writes a frozen weight in another size, by way of the 16 bits that bitsandbytes makes of nf4, and
// the 32 of int8, by two products.
func (b *lowering) inType(w reg, made size) reg {
	stored, copied := b.regs[w].bytes(), w
	switch b.way.Base {
	case recipe.BaseNF4:
		copied = b.detached(w, "16-bit copy of a quantised weight",
			b.rates.pass(stored+2*made.n, b.rates.Stream), size{made.n, 2})
	case recipe.BaseInt8:
		copied = b.detached(w, "fp32 copy of a quantised weight",
			b.rates.pass(stored+12*made.n, b.rates.Stream), size{made.n, 4}, size{made.n, 4})
	default:
	}
	if e := b.e(copied); e != made.e {
		cast := b.detached(w, "cast of a weight", b.rates.pass(made.n*(e+made.e), b.rates.Stream), made)
		b.alive(copied)
		return cast
	}
	return copied
}
