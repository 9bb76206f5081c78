package ledger

import "meshscope/engine/recipe"

// quantised returns the bytes of a frozen matrix of so many elements and rows as it is kept; 0: it has 16
// bits. NF4 has 4 bits, blocks of 64 with a scale of 8 bits, and of 256 of these a scale of 32 (double
// quantisation: QLoRA, arXiv 2305.14314, section 3); int8 a byte, and a scale of 32 bits for each row, as
// bitsandbytes has both; fp8 a byte, and such a scale for each block of 128 by 128 (transformers,
// FineGrainedFP8Config: weight_block_size).
func (w *Way) quantised(elements, rows int64) int64 {
	switch w.Base {
	case recipe.BaseNF4:
		blocks := (elements + 63) / 64
		return (elements+1)/2 + blocks + 4*((blocks+255)/256)
	case recipe.BaseInt8:
		return elements + 4*rows
	case recipe.BaseFP8:
		return elements + 4*((rows+127)/128)*((elements/rows+127)/128)
	default:
		return 0
	}
}

// quantisedLinear multiplies by a quantised matrix (bitsandbytes/autograd/_functions.py). MatMul4Bit makes a
// 16-bit copy of it for the product, and another in the backward; MatMul8bitLt quantises its input, and
// makes the copy in the backward alone, as Unsloth does of fp8, with a scale for 128 elements of the input
// (unsloth/kernels/fp8.py, FP8BlockQuantLinear).
func (b *builder) quantisedLinear(x, w reg, in, out int64, bias reg) reg {
	xs, ws, stored := b.regs[x], size{in * out, 2}, b.regs[w]
	rows := xs.n / in
	copying := b.rates.pass(stored.bytes()+ws.bytes(), b.rates.Stream)
	forward, backward := b.rates.product(rows, out, in, 2, false), b.rates.product(rows, out, in, 2, true)
	var operand reg
	copied, kernels, bytes := "int8 copy of an input", 2, xs.n
	if b.way.Base == recipe.BaseFP8 {
		copied, kernels, bytes = "fp8 copy of an input", 1, xs.n+4*((xs.n+127)/128)
	}
	if b.way.Base == recipe.BaseNF4 {
		operand = b.emit(op{
			name: "16-bit copy of a quantised weight", in: []reg{w}, grads: []grad{{kind: never}},
			cost: [2]cost{{copying, 1}},
		}, ws)
	} else {
		operand = b.emit(op{
			name: copied, in: []reg{w}, grads: []grad{{kind: never}},
			cost: [2]cost{{b.rates.pass(3*xs.n, b.rates.Stream), kernels}},
		}, size{bytes, 1})
	}
	o := op{
		name: "product", in: []reg{x, w, operand}, saves: []save{{1, 0}},
		grads: []grad{{fresh, xs}, {kind: never}, {kind: never}}, temps: []size{ws}, tempsFirst: true,
		cost: [2]cost{{forward, 1}, {backward + copying, 2}},
	}
	y := b.emit(o, size{rows * out, xs.e})
	b.alive(x)
	if bias != none {
		y = b.add(y, bias)
	}
	return y
}
