package step

import (
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// hostForward is the part of a layer's issue time that falls on the forward.
const hostForward = 0.4

// host keeps a layer from being faster than the host can issue it, and adds what a
// layer with experts waits for the host.
func (k *kernels) host(c *Cost, moe bool) {
	soft, zero, shares := &k.m.Software, record.Lit(
		0,
	), [...]record.Num{
		record.Lit(hostForward),
		record.Lit(1 - hostForward),
	}
	if wait := k.rec.Named("wait_per_layer_with_experts", float64(soft.MoELayer)); moe && wait.V > 0 {
		const counts = "the host reads how many tokens each expert has before it continues"
		k.add(
			&c.Forward,
			"forward",
			k.wait(
				"token-counts-forward",
				"waiting for token counts, forward",
				counts,
				wait.Times(shares[0]),
			),
		)
		k.add(
			&c.InputGrad,
			"input-gradient",
			k.wait(
				"token-counts-backward",
				"waiting for token counts, backward",
				counts,
				wait.Times(shares[1]),
			),
		)
	}
	floor := k.floor(moe)
	// Without its expert traffic a pass would wait longer: a pair hides no more than what
	// that traffic adds to it, and of that not what its kernels take from the other pass.
	hides := 1 - units.Seconds(soft.Pair)
	var waits [2]record.Num
	for i, pass := range [...]struct {
		busy, ep units.Seconds
		hides    *units.Seconds
	}{
		{c.ForwardTime(), c.ForwardLinks.EP.Exposed, &c.HideableExpertForward},
		{c.BackwardTime(), c.BackwardLinks.EP.Exposed, &c.HideableExpertBackward},
	} {
		least := floor.Times(shares[i])
		busy := record.Lit(float64(pass.busy))
		if k.rec.On() {
			busy = k.rec.Written(k.busy(i == 0), busy.V)
		}
		waits[i] = zero.AtLeast(least.Minus(busy))
		*pass.hides = hides * (pass.ep + units.Seconds(waits[i].V) - max(0,
			units.Seconds(least.V)-pass.busy+pass.ep))
	}
	if floor.V == 0 {
		return
	}
	const launches = "a layer runs no faster than the host launches it"
	forward, backward := k.wait(
		"host-forward",
		"waiting for the host, forward",
		launches,
		waits[0],
	), k.wait(
		"host-backward",
		"waiting for the host, backward",
		launches,
		waits[1],
	)
	weight := k.wait(
		"host-backward.host-weight",
		"waiting for the host, weight gradient",
		"half of the backward's kernels are those of the weight gradient",
		backward.AtMost(
			zero.AtLeast(
				floor.Times(shares[1]).Over(record.Lit(2)).Minus(k.sum("weight-gradient", c.WeightGrad)),
			),
		),
	)
	k.add(&c.Forward, "forward", forward)
	k.add(&c.InputGrad, "input-gradient", backward.Minus(weight))
	k.add(&c.WeightGrad, "weight-gradient", weight)
}

// busy returns the formula of how long a pass takes without waiting.
func (k *kernels) busy(forward bool) string {
	if forward {
		return record.Sum(append([]string{k.rec.Sum("forward")}, k.exposedOf("forward")...)...)
	}
	return record.Sum(
		append(
			[]string{k.rec.Sum("input-gradient"), k.rec.Sum("weight-gradient")},
			k.exposedOf("backward")...)...)
}

// wait records what a layer waits for the host.
func (k *kernels) wait(id, name, source string, t record.Num) record.Num {
	if !k.rec.On() {
		return t
	}
	return k.rec.Figure(record.Entry{
		ID: id, Name: name, Symbol: "t(" + name + ")", Unit: record.Seconds, Value: t.V, Formula: t.Text(),
		Source: source + "; " + record.From(k.m.Software.From), LeavesOut: "CUDA graphs",
	})
}

// floor returns what the host needs to issue a layer's forward and backward.
func (k *kernels) floor(moe bool) record.Num {
	l, soft := k.in.Layout, &k.m.Software
	least, layer, rank := k.rec.Named(
		"host_time_per_layer",
		float64(soft.HostLayer),
	), soft.HostTP, soft.HostTPRank
	if l.TP > 1 {
		if l.GPUs > k.m.Cluster.Domain() && soft.HostTPFar > 0 {
			layer, rank = soft.HostTPFar, soft.HostTPRankFar
		}
		if k.in.Groups.TP.Crosses() {
			rank = soft.HostTPRankCross
			if soft.HostTPFar > 0 {
				rank = soft.HostTPRankCrossFar
			}
		}
		least = least.AtLeast(
			k.rec.Named("host_time_with_TP", float64(layer)).
				Plus(k.rec.Named("host_time_per_TP_rank", float64(rank)).Times(k.t)),
		)
	}
	if moe && k.in.Precision.Narrow() {
		least = least.AtLeast(k.rec.Named("host_time_per_layer_with_experts_in_fp8", float64(soft.HostMoE8)))
	}
	if k.rec.On() {
		k.rec.Given(
			record.In("host_time_per_layer", soft.HostLayer),
			record.In("host_time_with_TP", layer),
			record.In("host_time_per_TP_rank", rank),
			record.In(
				"host_time_per_layer_with_experts_in_fp8",
				soft.HostMoE8,
			),
			record.In("wait_per_layer_with_experts", soft.MoELayer),
		)
	}
	return least
}
