package ledger

// A rule for each operation of PyTorch: what it saves (derivatives.yaml) and what its backward allocates.

// cast converts; nothing is saved.
func (b *builder) cast(x reg, e int64) reg { return b.castAt(x, e, "cast", b.rates.Stream) }

func (b *builder) castAt(x reg, e int64, name string, rate float64) reg {
	s := b.regs[x]
	if s.e == e {
		return x
	}
	c := b.rates.pass(s.n*(s.e+e), rate)
	return b.emit(op{name: name, in: []reg{x}, grads: []grad{{fresh, s}}, cost: [2]cost{{c, 1}, {c, 1}}},
		size{s.n, e})
}

// low is autocast's 16-bit copy; of a weight it is made once in a forward.
func (b *builder) low(x reg) reg {
	if !b.way.Autocast || b.e(x) == 2 {
		return x
	}
	y := b.cast(x, 2)
	for i, r := range b.bound {
		if r == x && b.external[i].param && !b.external[i].frozen {
			b.ops[len(b.ops)-1].cached, b.ops[len(b.ops)-1].name = true, "weight cast"
		}
	}
	return y
}

// linear multiplies by a matrix: saves its input if the weight wants a gradient, the weight if the input
// does. The backward makes both gradients at once.
func (b *builder) linear(x, w reg, out int64, bias reg) reg {
	if bias != none {
		bias = b.low(bias)
	}
	given := x
	x, w = b.low(x), b.low(w)
	xs, ws := b.regs[x], b.regs[w]
	inner := ws.n / out
	rows := xs.n / inner
	b.product++
	forward, backward := b.rates.product(rows, out, inner, xs.e, false),
		b.rates.product(rows, out, inner, xs.e, true)
	o := op{
		name: "product", in: []reg{x, w}, saves: []save{{0, 1}, {1, 0}},
		grads: []grad{{fresh, xs}, {fresh, ws}},
		kept:  b.product%2 == 1, each: true, cost: [2]cost{{forward, 1}, {backward, 1}},
	}
	if bias != none {
		o.in, o.grads, o.kept = append(o.in, bias), append(o.grads, grad{fresh, size{out, xs.e}}), false
		b.product--
	}
	y := b.emit(o, size{rows * out, xs.e})
	b.alive(given) // the caller has it
	return y
}

// binary is an element-wise operation of two tensors.
func (b *builder) binary(x, y reg, o op, rate float64) (op, size) {
	s := size{max(b.n(x), b.n(y)), max(b.e(x), b.e(y))}
	o.in = []reg{x, y}
	o.cost[0] = cost{b.rates.pass(s.bytes()+b.regs[x].bytes()+b.regs[y].bytes(), rate), 1}
	return o, s
}

// add saves nothing; both gradients are the incoming one.
func (b *builder) add(x, y reg) reg {
	o, s := b.binary(x, y, op{name: "add", grads: []grad{{kind: through}, {kind: through}}}, b.rates.Stream)
	return b.emit(o, s)
}

// mul saves each factor that the other's gradient needs; both gradients are whole before they are summed.
func (b *builder) mul(x, y reg) reg { return b.mulAt(x, y, b.rates.Stream) }

func (b *builder) mulAt(x, y reg, rate float64) reg {
	o, s := b.binary(x, y, op{name: "mul", saves: []save{{0, 1}, {1, 0}}, each: true}, rate)
	o.grads = []grad{{fresh, s}, {fresh, s}}
	o.cost[1] = cost{b.rates.pass(2*s.bytes()+min(b.n(x), b.n(y))*s.e, rate), 1}
	return b.emit(o, s)
}

// unary is an element-wise operation, or a sum, of one tensor.
func (b *builder) unary(x reg, out size, o op) reg {
	s := b.regs[x]
	o.in, o.grads = []reg{x}, []grad{{fresh, s}}
	if o.cost[0].kernels == 0 {
		o.cost[0] = cost{b.rates.pass(s.bytes()+out.bytes(), b.rates.Stream), 1}
	}
	if o.cost[1].kernels == 0 {
		o.cost[1] = cost{o.cost[0].seconds, 1}
	}
	return b.emit(o, out)
}

func (b *builder) silu(x reg) reg {
	return b.unary(x, b.regs[x],
		op{
			name: "silu", saves: []save{{0, -1}},
			cost: [2]cost{1: {b.rates.pass(3*b.regs[x].bytes(), b.rates.Stream), 1}},
		})
}

func (b *builder) tanh(x reg) reg {
	return b.unary(x, b.regs[x],
		op{name: "tanh", keeps: []int{0}, cost: [2]cost{1: {b.rates.pass(12*b.n(x), b.rates.Stream), 1}}})
}

func (b *builder) scale(x reg) reg { return b.unary(x, b.regs[x], op{name: "scale"}) }

func (b *builder) softmax(x reg) reg {
	return b.unary(x, b.regs[x], op{name: "softmax", keeps: []int{0}})
}

// pow's backward is grad * (2 * x^1): three tensors.
func (b *builder) pow(x reg, rate float64) reg {
	s, back := b.regs[x], rate
	if rate != b.rates.Stream {
		back = 2 * rate
	}
	return b.unary(x, s, op{
		name: "pow", saves: []save{{0, -1}}, temps: []size{s, s}, tempsFirst: true,
		cost: [2]cost{{b.rates.pass(8*s.n, rate), 1}, {b.rates.pass(28*s.n, back), 3}},
	})
}

func (b *builder) mean(x reg, rows int64, rate float64) reg {
	c := cost{b.rates.pass(4*b.n(x), rate), 1}
	return b.unary(x, size{rows, b.e(x)}, op{name: "mean", cost: [2]cost{c, c}})
}

func (b *builder) rsqrt(x reg) reg {
	return b.unary(x, b.regs[x], op{name: "rsqrt", keeps: []int{0}})
}

// repeat copies each head of keys or values for the query heads that share it.
func (b *builder) repeat(x reg, times int64) reg {
	s := b.regs[x]
	c := cost{b.rates.pass(s.bytes()*(times+1), b.rates.Stream), 1}
	return b.unary(x, size{s.n * times, s.e}, op{name: "repeat", cost: [2]cost{c, c}})
}

// rmsNorm is F.rms_norm, fused: saves its input and a number for each row.
func (b *builder) rmsNorm(x, w reg, width int64) reg {
	s, ws := b.regs[x], b.regs[w]
	return b.emit(op{
		name: "norm", in: []reg{x, w}, saves: []save{{0, -1}, {1, -1}}, keeps: []int{1},
		grads: []grad{{fresh, s}, {fresh, ws}},
		cost: [2]cost{
			{float64(s.bytes())*2/b.rates.NormForward + b.rates.NormLaunch, 1},
			{float64(s.bytes())*3/b.rates.NormBackward + 2*b.rates.NormLaunch, 2},
		},
	}, size{s.n, max(s.e, ws.e)}, size{s.n / width, 4})
}

// layerNorm is F.layer_norm: two numbers for each row.
func (b *builder) layerNorm(x, w, bias reg, width int64) reg {
	s, rows := b.regs[x], b.n(x)/width
	return b.emit(op{
		name: "norm", in: []reg{x, w, bias}, saves: []save{{0, -1}, {1, -1}}, keeps: []int{1, 2},
		grads: []grad{{fresh, s}, {fresh, size{width, 4}}, {fresh, size{width, 4}}},
		cost: [2]cost{
			{b.rates.pass(2*s.bytes(), b.rates.Stream), 1},
			{b.rates.pass(4*s.bytes(), b.rates.Stream), 2},
		},
	}, s, size{rows, 4}, size{rows, 4})
}

// sdpa is attention by a fused kernel: saves queries, keys, values, the output, the logarithm of
// each row's sum and two seeds. The backward has queries' gradients in fp32 too, and keys' and values' for
// every query head.
func (b *builder) sdpa(q, k, v reg, a attention) reg {
	q, k, v = b.low(q), b.low(k), b.low(v)
	qs, ks, vs := b.regs[q], b.regs[k], b.regs[v]
	sums := size{a.heads * b.way.tokens(), 4}
	out := size{qs.n / a.width * a.valueWidth, qs.e}
	temps := []size{{qs.n, 4}, sums}
	if ks.n != qs.n {
		temps = append(temps, qs, out)
	}
	forward, backward := b.rates.attention(b.way, a, qs.n, ks.n)
	return b.emit(op{
		name: "attention", in: []reg{q, k, v}, saves: []save{{0, -1}, {1, -1}, {2, -1}},
		keeps: []int{0, 1, 2, 3}, kept: true,
		grads: []grad{{fresh, qs}, {fresh, ks}, {fresh, vs}}, temps: temps,
		cost: [2]cost{{forward, 1}, {backward, 3}},
	}, out, sums, size{64, 8}, size{64, 8})
}

// embedding looks rows up; over 3,072 tokens its backward adds partial sums up in fp32.
func (b *builder) embedding(tokens int64, w reg, width int64) reg {
	s := b.regs[w]
	o := op{name: "embedding", in: []reg{w}, grads: []grad{{fresh, s}}, cost: [2]cost{
		{b.rates.pass(2*tokens*width*s.e, b.rates.Stream), 1},
		{b.rates.pass(s.bytes(), b.rates.Stream) + float64(tokens*width)*(float64(s.e)+8.8)/b.rates.Stream +
			b.rates.Sort, 8},
	}}
	if tokens > 3072 {
		rows := min(tokens, s.n/width) + tokens/10
		o.temps = []size{{rows * width, 4}, {2*tokens + 3*rows, 8}}
	}
	return b.emit(o, size{tokens * width, s.e})
}

// crossEntropy keeps the probabilities' logarithms in fp32. Its backward fills a gradient with zeros, then
// makes another.
func (b *builder) crossEntropy(logits, labels reg) reg {
	s := b.regs[logits]
	p := b.emit(op{
		name: "log-softmax", in: []reg{logits}, keeps: []int{0}, grads: []grad{{fresh, s}},
		cost: [2]cost{
			{float64(s.n) * b.rates.LogSoftmax[0], 1}, {float64(s.n) * b.rates.LogSoftmax[1], 1},
		},
	}, s)
	o := op{
		name: "loss", in: []reg{p}, saves: []save{{0, -1}}, keeps: []int{1}, grads: []grad{{fresh, s}},
		cost: [2]cost{{2 * b.rates.Launch, 1}, {b.rates.pass(s.bytes(), b.rates.Stream), 2}},
	}
	if labels != none {
		o.in, o.saves, o.grads = append(o.in, labels), append(o.saves, save{1, -1}),
			append(o.grads, grad{kind: never})
	}
	loss := b.emit(o, size{1, 4}, size{1, 4})
	b.alive(p)
	return loss
}

// compiledLoss saves the 16-bit logits and two numbers for each row.
func (b *builder) compiledLoss(logits reg) reg {
	s, rows := b.regs[logits], b.way.tokens()
	c := cost{b.rates.pass(4*s.n, b.rates.Stream), 1}
	return b.emit(op{
		name: "loss", in: []reg{logits}, saves: []save{{0, -1}}, keeps: []int{1, 2},
		grads: []grad{{fresh, s}}, cost: [2]cost{c, c},
	},
		size{1, 4}, size{rows, 4}, size{rows, 4})
}

// dropout keeps a mask of a byte for each element.
func (b *builder) dropout(x reg) reg {
	s := b.regs[x]
	c := cost{b.rates.pass(s.n*(2*s.e+1), b.rates.Stream), 1}
	return b.emit(op{
		name: "dropout", in: []reg{x}, keeps: []int{1}, grads: []grad{{fresh, s}},
		cost: [2]cost{c, c},
	}, s, size{s.n, 1})
}

// half is a view of a part; its gradient is padded to the whole.
func (b *builder) half(x reg, n int64) reg {
	s := b.regs[x]
	return b.emit(op{name: "slice", in: []reg{x}, view: true, grads: []grad{{fresh, s}}}, size{n, s.e})
}

// split views all parts at once: one gradient joins theirs.
func (b *builder) split(x reg, parts ...int64) []reg {
	s := b.regs[x]
	outs := make([]size, len(parts))
	for i, n := range parts {
		outs[i] = size{n, s.e}
	}
	b.emit(op{
		name: "split", in: []reg{x}, view: true, grads: []grad{{fresh, s}},
		cost: [2]cost{1: {b.rates.pass(2*s.bytes(), b.rates.Stream), 1}},
	}, outs...)
	return b.ops[len(b.ops)-1].out
}

func (b *builder) cat(x, y reg) reg {
	s := size{b.n(x) + b.n(y), b.e(x)}
	c := b.rates.pass(2*s.bytes(), b.rates.Stream)
	return b.emit(op{
		name: "cat", in: []reg{x, y}, grads: []grad{{kind: part}, {kind: part}},
		cost: [2]cost{{c, 1}, {c, 1}},
	}, s)
}
