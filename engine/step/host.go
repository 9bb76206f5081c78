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
	soft := &k.m.Software
	if moe {
		c.Forward += soft.MoELayer * hostForward
		c.InputGrad += soft.MoELayer * (1 - hostForward)
		k.recordTokenCounts()
	}
	floor := k.issue(moe)
	forward := max(0, floor*hostForward-c.ForwardTime())
	backward := max(0, floor*(1-hostForward)-c.BackwardTime())
	// Without its expert traffic a pass would wait longer: a pair hides no more than what
	// that traffic adds to it, and of that not what its kernels take from the other pass.
	hides := 1 - units.Seconds(soft.Pair)
	ep := c.ForwardLinks.EP.Exposed
	c.HideableExpertForward = hides * (ep + forward - max(0, floor*hostForward-c.ForwardTime()+ep))
	ep = c.BackwardLinks.EP.Exposed
	c.HideableExpertBackward = hides * (ep + backward - max(0, floor*(1-hostForward)-c.BackwardTime()+ep))
	// The host launches as many kernels for the weight gradient as for the input gradient.
	weight := min(backward, max(0, floor*(1-hostForward)/2-c.WeightGrad))
	if k.rec.On() && floor > 0 {
		k.recordWait("forward", forward, hostForward)
		k.recordWait("backward", backward, 1-hostForward)
		k.recordWeightWait(weight)
	}
	c.Forward += forward
	c.InputGrad += backward - weight
	c.WeightGrad += weight
}

// issue returns what the host needs to issue a layer's forward and backward.
func (k *kernels) issue(moe bool) units.Seconds {
	l, soft := k.in.Layout, &k.m.Software
	floor, formula := soft.HostLayer, "host_time_per_layer"
	layer, rank := soft.HostTP, soft.HostTPRank
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
		floor, formula = max(floor, layer+rank*units.Seconds(l.TP)), "max(host_time_per_layer, host_time_with_TP + host_time_per_TP_rank * t)"
	}
	fp8 := moe && k.in.Precision.Narrow()
	if fp8 {
		floor = max(floor, soft.HostMoE8)
	}
	if k.rec.On() {
		if fp8 {
			formula = "max(" + formula + ", host_time_per_layer_with_experts_in_fp8)"
		}
		k.rec.Given(record.In("host_time_per_layer", soft.HostLayer), record.In("host_time_with_TP", layer),
			record.In("host_time_per_TP_rank", rank), record.In("host_time_per_layer_with_experts_in_fp8", soft.HostMoE8))
		k.rec.Scope("host-forward", "").Let("floor", formula)
		k.rec.Scope("host-backward", "").Let("floor", formula)
	}
	return floor
}

// recordTokenCounts records what a layer with experts waits for the host.
func (k *kernels) recordTokenCounts() {
	soft := &k.m.Software
	if !k.rec.On() || soft.MoELayer <= 0 {
		return
	}
	for _, w := range [...]struct {
		id, name, pass string
		share          float64
	}{{"token-counts-forward", "forward", "forward", hostForward}, {"token-counts-backward", "backward", "input-gradient", 1 - hostForward}} {
		k.rec.Figure(record.Entry{
			ID: w.id, Name: "waiting for token counts, " + w.name, Symbol: "t(waiting for token counts, " + w.name + ")", Unit: record.Seconds,
			Formula: "wait_per_layer_with_experts * share_of_the_pass", Value: float64(soft.MoELayer) * w.share,
			Source:    "the host reads how many tokens each expert has before it continues; " + record.From(soft.From),
			LeavesOut: "CUDA graphs",
		}, record.In("wait_per_layer_with_experts", soft.MoELayer), record.InUnit(record.Share, "share_of_the_pass", w.share))
		k.rec.Term(w.pass, k.rec.Ref(w.id))
	}
}

// recordWait records what a pass of a layer waits because the host issues it no
// faster, and adds that of a forward to it.
func (k *kernels) recordWait(way string, t units.Seconds, share float64) {
	busy := []string{k.rec.Sum("forward")}
	if way == "backward" {
		busy = []string{k.rec.Sum("input-gradient"), k.rec.Sum("weight-gradient")}
	}
	rec := k.rec.Scope("host-"+way, "")
	rec.Figure(record.Entry{
		Name: "waiting for the host, " + way, Symbol: "t(waiting for the host, " + way + ")", Unit: record.Seconds, Value: float64(t),
		Formula:   "max(0, floor * share_of_the_pass - (" + record.Sum(append(busy, k.exposed(way)...)...) + "))",
		Source:    "a layer runs no faster than the host launches it; " + record.From(k.m.Software.From),
		LeavesOut: "CUDA graphs",
	}, record.InUnit(record.Share, "share_of_the_pass", share))
	if way == "forward" {
		k.rec.Term("forward", rec.Ref(""))
	}
}

// recordWeightWait records the part of the wait of a backward that falls on the weight
// gradient, and adds both parts to it.
func (k *kernels) recordWeightWait(t units.Seconds) {
	backward := k.rec.Scope("host-backward", "")
	rec := backward.Scope("host-weight", "")
	rec.Figure(record.Entry{
		Name: "waiting for the host, weight gradient", Symbol: "t(waiting for the host, weight gradient)", Unit: record.Seconds, Value: float64(t),
		Formula: "min(" + backward.Ref("") + ", max(0, floor * share_of_the_pass / 2 - (" + k.rec.Sum("weight-gradient") + ")))",
		Source:  "half of the backward's kernels are those of the weight gradient; " + record.From(k.m.Software.From),
	}, record.InUnit(record.Share, "share_of_the_pass", 1-hostForward))
	k.rec.Term("input-gradient", "("+backward.Ref("")+" - "+rec.Ref("")+")")
	k.rec.Term("weight-gradient", rec.Ref(""))
}
