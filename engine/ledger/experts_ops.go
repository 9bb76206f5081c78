package ledger

// Operations of a mixture of experts.

// indices is a tensor of whole numbers, which wants no gradient.
func (b *builder) indices(n, e int64) reg {
	return b.emit(op{name: "indices"}, size{n, e})
}

// gather picks elements: saves which.
func (b *builder) gather(x, at reg) reg {
	s := b.regs[x]
	c := b.rates.pass(s.bytes()+b.regs[at].bytes()+b.n(at)*s.e, b.rates.Stream)
	return b.emit(op{
		name: "gather", in: []reg{x, at}, saves: []save{{1, -1}},
		grads: []grad{{fresh, s}, {kind: never}}, cost: [2]cost{{c, 1}, {c, 1}},
	}, size{b.n(at), s.e})
}

// index is x[at]: its backward sorts the indices and fills a whole gradient.
func (b *builder) index(x, at reg, n int64) reg {
	s, k := b.regs[x], size{b.n(at), 8}
	moved := float64(n * s.e)
	return b.emit(op{
		name: "rows", in: []reg{x, at}, saves: []save{{1, -1}}, grads: []grad{{fresh, s}, {kind: never}},
		temps: []size{k, k, k, k}, tempsFirst: true,
		cost: [2]cost{
			{1.3 * b.rates.pass(2*n*s.e, b.rates.Stream), 1},
			{b.rates.pass(s.bytes(), b.rates.Stream) + 3*moved/b.rates.Stream + b.rates.Sort*.6, 6},
		},
	}, size{n, s.e})
}

// indexAdd adds rows into a copy of a tensor, or into the tensor: saves the indices and what is added, though
// only its shape is read.
func (b *builder) indexAdd(into, at, rows reg, inPlace bool) reg {
	s, add := b.regs[into], b.regs[rows]
	spread := 1.6 * b.rates.pass(3*add.bytes(), b.rates.Stream)
	back := cost{b.rates.pass(2*add.bytes(), b.rates.Stream), 1}
	o := op{
		name: "index-add", in: []reg{into, at, rows}, saves: []save{{1, -1}, {2, -1}}, view: inPlace,
		grads: []grad{{kind: through}, {kind: never}, {fresh, add}}, cost: [2]cost{{spread, 1}, back},
	}
	if !inPlace {
		o.cost[0] = cost{spread + b.rates.pass(2*s.bytes(), b.rates.Stream), 2}
	}
	return b.emit(o, s)
}

// grouped is torch._grouped_mm: a product for each expert, as linear is one.
func (b *builder) grouped(x, w, offsets reg, out, experts int64) reg {
	xs, ws := b.regs[x], b.regs[w]
	rows := xs.n / (ws.n / out / experts)
	forward, backward := b.rates.grouped(rows, ws.n, experts, 2*(xs.n+ws.n+rows*out))
	return b.emit(op{
		name: "experts", in: []reg{x, w, offsets}, saves: []save{{0, -1}, {1, -1}, {2, -1}},
		grads: []grad{{fresh, xs}, {fresh, ws}, {kind: never}}, cost: [2]cost{{forward, 1}, {backward, 2}},
	}, size{rows * out, xs.e})
}
