package ledger

// toHeads exchanges queries, keys and values of a part of the sequence for those of a share of the heads, as
// deepspeed/runtime/sequence_parallel/ulysses_sp.py does: a copy that is sent, what is received, and a copy
// of that; of keys and values each head so many times where there are more ranks than heads.
func (b *builder) toHeads(q, k, v reg, times int64) (qh, kh, vh reg) {
	if times > 1 {
		k, v = b.repeat(k, times), b.repeat(v, times)
	}
	q, k, v = b.exchange(b.arrange(q)), b.exchange(b.arrange(k)), b.exchange(b.arrange(v))
	return b.arrange(q), b.arrange(k), b.arrange(v)
}

// toSequence exchanges attention's output back. Of one sequence what is sent needs no copy.
func (b *builder) toSequence(out reg) reg {
	if b.way.MicroBatch > 1 {
		out = b.arrange(out)
	}
	return b.arrange(b.exchange(out))
}

// arrange copies a tensor in another order of its dimensions; its gradient is a view of the incoming one.
func (b *builder) arrange(x reg) reg {
	s := b.regs[x]
	return b.emit(op{
		name: "copy", in: []reg{x}, grads: []grad{{kind: through}},
		cost: [2]cost{{b.rates.pass(2*s.bytes(), b.rates.Stream), 1}},
	}, s)
}

// exchange is an all-to-all, whose time is the links'; in the backward of a copy.
func (b *builder) exchange(x reg) reg {
	s := b.regs[x]
	return b.emit(op{
		name: "all-to-all", in: []reg{x}, grads: []grad{{fresh, s}}, temps: []size{s}, tempsFirst: true,
		cost: [2]cost{{0, 1}, {b.rates.pass(2*s.bytes(), b.rates.Stream), 2}},
	}, s)
}
