package ledger

import "meshscope/engine/model"

// mixture writes a router and its experts as grouped products: all operations from the router to the end of
// the sub-layer. The variables of the function live until it returns.
func (b *lowering) mixture(i int) int {
	ops := b.layer.Ops
	var up, permute *model.Op
	last := i
	for ; last < len(ops) && ops[last].Kind != model.Residual; last++ {
		switch o := &ops[last]; {
		case o.Kind == model.Grouped && up == nil:
			up, b.experts = o, last
		case o.Kind == model.Permute:
			permute = o
		}
	}
	x := b.at[ops[i].In[0]]
	if b.code.Transformers {
		b.at[permute.Out[0]] = b.transformersExperts(x, up)
	} else {
		b.at[permute.Out[0]] = b.ownExperts(x, up, permute)
	}
	return last
}

// ownExperts gathers rows by expert, multiplies them and adds them to their tokens.
func (b *lowering) ownExperts(x reg, up, end *model.Op) reg {
	h, m, experts, top := b.width(model.Input), b.width(up.Out[0]), int64(b.model.Experts),
		int64(b.model.TopK)
	n := b.way.tokens()
	w1, w2, w3 := b.matrices(experts, m, h, "experts gate"), b.matrices(experts, m, h, "experts up"),
		b.matrices(experts, h, m, "experts down")
	p := b.softmax(b.cast(b.linear(x, b.matrix(experts, h, "router"), experts, none), 4))
	chosen := b.indices(n*top, 8)
	w := b.gather(p, chosen)
	order, token := b.indices(n*top, 8), b.indices(n*top, 8)
	b.of = b.experts
	rows := b.index(x, token, n*top*h)
	offsets := b.indices(experts, 4)
	u := b.mul(b.silu(b.grouped(rows, w1, offsets, m, experts)), b.grouped(rows, w2, offsets, m, experts))
	o := b.mul(b.grouped(u, w3, offsets, h, experts), b.cast(b.index(w, order, n*top), b.e(x)))
	var into reg
	if shared := end.In[1]; shared != 0 {
		b.shared = true
		for i := range b.layer.Ops {
			if b.layer.Ops[i].Part == model.PartShared {
				b.operation(i)
			}
		}
		b.shared, into, b.of = false, b.at[shared], b.experts
	} else {
		into = b.indices(n*h, b.e(x))
	}
	y := b.indexAdd(into, token, o, false)
	b.alive(p, chosen, w, order, token, rows, offsets, u, o, into)
	return y
}

// transformersExperts is Qwen3MoeSparseMoeBlock with grouped products: gate and up in one.
func (b *lowering) transformersExperts(x reg, up *model.Op) reg {
	h, m, experts, top := b.width(model.Input), b.width(up.Out[0]), int64(b.model.Experts),
		int64(b.model.TopK)
	n, e := b.way.tokens(), b.e(x)
	p := b.softmax(b.cast(b.linear(x, b.matrix(experts, h, "router"), experts, none), 4))
	w := b.cast(b.mul(b.gather(p, b.indices(n*top, 8)), b.indices(n, 4)), e)
	ids, token, permuted, inverse := b.indices(n*top, 8), b.indices(n*top, 8), b.indices(n*top, 8),
		b.indices(n*top, 8)
	offsets := b.indices(experts, 4)
	b.of = b.experts
	rows := b.index(x, token, n*top*h)
	weights := b.index(w, permuted, n*top)
	sorted := b.index(rows, permuted, n*top*h)
	both := b.grouped(sorted, b.matrices(experts, 2*m, h, "experts up"), offsets, 2*m, experts)
	half := b.n(both) / 2
	o := b.grouped(b.mul(b.silu(b.half(both, half)), b.half(both, half)),
		b.matrices(experts, h, m, "experts down"), offsets, h, experts)
	o2 := b.index(b.mul(o, weights), inverse, n*top*h)
	b.alive(o)
	y := b.indexAdd(b.indices(n*h, e), token, o2, true)
	b.alive(p, w, ids, token, permuted, inverse, offsets, rows, weights, sorted, both, o2)
	return y
}
