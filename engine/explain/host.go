package explain

import "meshscope/engine/hardware"

// tokenCounts is what a layer waits for the host, which waits for the number of
// tokens of each expert.
func (b *Book) tokenCounts(l *layer, soft *hardware.Software) {
	wait := func(id, name string, share float64) *Expr {
		return b.term(l.id+"."+id, about{
			name: name, symbol: "t(" + name + ")", unit: Seconds, omits: "CUDA graphs",
			source: "the host reads how many tokens each expert has before it goes on; " + from(soft.From),
		}, func() *Expr {
			return mul(seconds("wait per layer with experts", soft.MoELayer), num("share of the pass", share, Share))
		})
	}
	l.f = append(l.f, wait("token-counts-forward", "waiting for token counts, forward", 0.4))
	l.i = append(l.i, wait("token-counts-backward", "waiting for token counts, backward", 0.6))
}

// host keeps a layer from being faster than the host can issue it.
func (b *Book) host(l *layer, moe bool) {
	s, soft := b.w.Setup, &b.machine().Software
	if moe && soft.MoELayer > 0 {
		b.tokenCounts(l, soft)
	}
	floor := seconds("host's time per layer", soft.HostLayer)
	if s.TP > 1 {
		each, rank := soft.HostTP, soft.HostTPRank
		far := s.GPUs > b.machine().Cluster.Domain() && soft.HostTPFar > 0
		if far {
			each, rank = soft.HostTPFar, soft.HostTPRankFar
		}
		if b.w.Step.Groups.TP.Crosses() {
			if rank = soft.HostTPRankCross; soft.HostTPFar > 0 {
				rank = soft.HostTPRankCrossFar
			}
		}
		floor = maxOf(floor, add(seconds("host's time with TP", each), mul(seconds("per TP rank", rank), b.tp())))
	}
	if moe && b.precision().IsFP8() && soft.HostMoE8 > 0 {
		floor = maxOf(floor, seconds("host's time per layer with experts in fp8", soft.HostMoE8))
	}
	if floor.Value() <= 0 {
		return
	}
	a := about{
		unit: Seconds, source: "a layer is no faster than the host issues it; " + from(soft.From),
		omits: "CUDA graphs",
	}
	wait := func(id, name string, share float64, busy []*Expr) *Expr {
		a.name, a.symbol = name, "t("+name+")"
		return b.term(l.id+"."+id, a, func() *Expr {
			return maxOf(lit(0), sub(mul(floor, num("share of the pass", share, Share)), add(busy...)))
		})
	}
	forward := wait("host-forward", "waiting for the host, forward", 0.4, append(append([]*Expr{}, l.f...), l.forward.exposed()...))
	busy := append(append(append([]*Expr{}, l.i...), l.w...), l.backward.exposed()...)
	backward := wait("host-backward", "waiting for the host, backward", 0.6, busy)
	l.f, l.i = append(l.f, forward), append(l.i, backward)
}

// issued is a grouped product as the stack runs it: slower than the best kernel,
// and with a start for each local expert.
func (b *Book) issued(t, local *Expr) *Expr {
	soft := &b.machine().Software
	if soft.Experts > 0 {
		t = mul(num("experts of the stack over the best kernels", soft.Experts, Count), t)
	}
	if soft.Expert > 0 {
		t = add(t, mul(local, seconds("start of each expert's product", soft.Expert)))
	}
	return t
}
