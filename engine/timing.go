package engine

import (
	"fmt"

	"meshscope/engine/hardware"
	"meshscope/engine/memory"
	"meshscope/engine/record"
	"meshscope/engine/schedule"
	"meshscope/engine/step"
	"meshscope/engine/units"
)

// timing is how long the stages of a plan keep their ranks busy with one micro-batch, and the order
// in which the ranks work.
type timing struct {
	*plan
	cost        []step.Cost         // by stage
	data        []step.DataParallel // by rank
	stageMemory []memory.StageMemory
	order       *schedule.Order
	hop         units.Seconds // of a message between stages

	f, b, i, w []float64
	mean       schedule.ChunkTimes // of the average stage, for closed forms that assume equal stages
	recomputed []float64           // forward that runs again, contained in b and i; empty where nothing does
	// expert traffic contained in f and b (or i), which an overlapped pair hides
	expertForward, expertBackward []float64
	// exposed ZeRO traffic per micro-batch, contained in f and b (or i)
	zeroForward, zeroBackward []units.Seconds
	// what more (or less) is exposed where the backward is split, contained in i and w
	zeroSplitExtra []units.Seconds
	// compute of the last backward that no other traffic overlaps with
	lastBackward              []units.Seconds
	blocked                   []units.Seconds // waiting for messages, contained in f and b
	activations, weightInputs []float64       // bytes of a micro-batch, for automatic schedules
}

// time computes how long each stage of a plan takes, and orders the operations of the ranks.
func (e *Evaluator) time(p *plan, stop func() bool) (*timing, error) {
	t, in := &e.timing, &p.step
	t.plan = p
	in.Known = memory.Times(&p.mem, p.stack)
	t.cost = e.parts.Stages(in, t.cost[:0])
	p.params = e.mem.Parameters(&p.mem, p.stack)
	t.data = t.data[:0]
	for r := range p.params {
		if r > 0 && p.params[r] == p.params[r-1] && !p.record.On() {
			t.data = append(t.data, t.data[r-1])
			continue
		}
		t.data = append(t.data, step.Data(in, r, p.params[r], p.placement.Placement.Copies()))
	}
	_, t.hop = step.SendRecv(in)
	t.set()
	costs := t.costs()
	if p.info.Automatic {
		t.stageMemory = e.mem.Stages(&p.mem, p.stack)
		costs.Held, costs.HeldForW = t.held()
	}
	var err error
	t.order, err = e.ordered(p.spec, costs, stop)
	p.mem.Order = t.order
	if !p.info.Automatic {
		t.stageMemory = e.mem.Stages(&p.mem, p.stack)
	}
	return t, err
}

// arrange is layOut and time of a setup.
func (e *Evaluator) arrange(s *Setup, stop func() bool) (*timing, error) {
	p, err := e.layOut(s)
	if err != nil {
		return nil, err
	}
	return e.time(p, stop)
}

// ordered lays the operations on the ranks. An automatic schedule depends on the
// durations too. An order that an earlier Report points to is left as it is.
func (e *Evaluator) ordered(spec schedule.Spec, costs schedule.Costs, stop func() bool) (_ *schedule.Order,
	err error,
) {
	switch reuse := e.reusable && e.SkipTimeline; {
	case e.order != nil && e.order.Suits(spec, &costs):
		e.reusable = reuse
	case reuse:
		if err = e.order.RebuildFor(spec, costs, stop); err != nil {
			e.order, e.reusable = nil, false
		}
	default:
		var order *schedule.Order
		if order, err = schedule.BuildFor(spec, costs, stop); err == nil {
			e.order, e.reusable = order, e.SkipTimeline
		}
	}
	return e.order, err
}

// set fills in the times of the stages.
func (t *timing) set() {
	n, placement := len(t.cost), t.placement
	t.recomputed = t.recomputed[:0]
	for _, list := range [...]*[]float64{&t.f, &t.b, &t.i, &t.w, &t.expertForward, &t.expertBackward} {
		*list = resize(*list, n)
	}
	for _, list := range [...]*[]units.Seconds{
		&t.zeroForward, &t.zeroBackward, &t.zeroSplitExtra,
		&t.lastBackward, &t.blocked,
	} {
		*list = resize(*list, n)
	}
	soft := &t.step.Machine.Software
	for r := range t.setup.PP {
		for c := range placement.Chunks() {
			stage := placement.StageOf(r, c)
			k := &t.cost[stage]
			z := t.data[r].PerMicroBatch(k, placement.Chunks(), soft)
			t.zeroForward[stage], t.zeroBackward[stage] = z.Forward, z.Backward
			t.zeroSplitExtra[stage] = z.Input + z.Weight - z.Backward
			t.lastBackward[stage] = t.data[r].LastBackwardBudget(k, placement.Chunks(), &z,
				t.info.SplitsBackward)
			t.i[stage], t.w[stage] = float64(k.InputGradTime()+z.Input), float64(k.WeightGradTime()+z.Weight)
		}
	}
	for stage := range n {
		k := &t.cost[stage]
		t.f[stage] = float64(k.ForwardTime() + t.zeroForward[stage])
		t.b[stage] = float64(k.BackwardTime() + t.zeroBackward[stage])
		if k.Recompute > 0 {
			t.recomputed = resize(t.recomputed, n)
		}
		t.expertForward[stage] = float64(k.HideableExpertForward)
		t.expertBackward[stage] = float64(k.HideableExpertBackward)
		t.blocked[stage] = 0
		if soft.Blocking && stage < n-1 && placement.Crosses(stage) {
			t.f[stage] += float64(t.hop)
			t.blocked[stage] += t.hop
		}
		if soft.Blocking && stage > 0 && placement.Crosses(stage-1) {
			t.b[stage] += float64(t.hop)
			t.i[stage] += float64(t.hop)
			t.blocked[stage] += t.hop
		}
	}
	for stage := range t.recomputed {
		t.recomputed[stage] = float64(t.cost[stage].Recompute)
	}
	t.mean = schedule.ChunkTimes{F: average(t.f), B: average(t.b), I: average(t.i), W: average(t.w)}
	if t.record.On() {
		t.recordStages(placement, soft, t.info.SplitsBackward)
	}
}

// recordStages records what a micro-batch takes on each stage.
func (t *timing) recordStages(hosts *schedule.Order, soft *hardware.Software, split bool) {
	rec := t.record
	rec.Given(record.InUnit(record.Share, "share_that_compute_never_hides", soft.Shard),
		record.In("chunks", hosts.Chunks()))
	for stage := range t.f {
		r, cost := rec.At("stage", "stage", stage), &t.cost[stage]
		of := r.What()
		data := rec.At("data", "rank", hostOf(hosts, stage))
		gathered, scattered := data.Sum("input"), data.Sum("weight")
		forward, input, weight := r.Ref("forward"), r.Ref("input-gradient"), r.Ref("weight-gradient")
		copied := func(id string, seconds units.Seconds) string {
			if seconds == 0 {
				return ""
			}
			return " + " + r.Ref(id)
		}
		freeForward := "max(0, " + forward + copied("forward-copies", cost.ForwardCopies) + " - " +
			r.Ref("forward-overlap") + ")"
		freeInput := "max(0, " + input + " - " + r.Ref("input-gradient-overlap") + ")"
		freeBackward := "max(0, " + input + " + " + weight +
			copied("backward-copies", cost.BackwardCopies) + " - " + r.Ref("input-gradient-overlap") + " - " +
			r.Ref("split-backward-exposed-tp") + ")"
		r.Figure(record.Entry{
			ID: "zero-forward", Name: "exposed ZeRO traffic of one micro-batch in the forward of " + of + "",
			Symbol: "ZeRO forward of " + of,
			Unit:   record.Seconds, Value: float64(t.zeroForward[stage]),
			Formula: exposedPerMicroBatch(data.Sum("forward"), freeForward),
			Source: "overlapped with the stage's compute that no other traffic overlaps with, except for " +
				"a share; " + record.From(soft.From),
		})
		both := gathered
		switch {
		case gathered == "0":
			both = scattered
		case scattered != "0":
			both += " + " + scattered
		}
		r.Figure(record.Entry{
			ID: "zero-backward", Name: "exposed ZeRO traffic of one micro-batch in the backward of " + of +
				"", Symbol: "ZeRO backward of " + of,
			Unit: record.Seconds, Value: float64(t.zeroBackward[stage]),
			Formula: exposedPerMicroBatch(both, freeBackward),
			Source: "overlapped with the stage's compute that no other traffic overlaps with, except for " +
				"a share; " + record.From(soft.From),
		})
		r.Figure(record.Entry{
			ID: "zero-split-extra", Name: "exposed ZeRO traffic of one micro-batch in a split backward of " +
				of + "", Symbol: "extra ZeRO traffic of a split backward of " + of,
			Unit: record.Seconds, Value: float64(t.zeroSplitExtra[stage]),
			Formula: exposedPerMicroBatch(gathered, freeInput) + " + " + exposedPerMicroBatch(scattered,
				weight) + " - " + r.Ref("zero-backward"),
			Source: "the input gradient needs gathered weights, the weight gradient is scattered; each " +
				"overlaps with its own part, which no TP traffic needs then; " + record.From(soft.From),
		})
		left, within := freeBackward, r.Ref("zero-backward")
		if split {
			left, within = freeInput+" + "+weight,
				"("+r.Ref("zero-backward")+" + "+r.Ref("zero-split-extra")+")"
		}
		if both != "0" {
			left = "max(0, " + left + " - ((" + both + ") / chunks - " + within + "))"
		}
		r.Figure(record.Entry{
			ID:     "left",
			Name:   "compute of the last backward on " + of + " that no other traffic overlaps with",
			Symbol: "left of " + of,
			Unit:   record.Seconds, Value: float64(t.lastBackward[stage]), Formula: left,
			Source: "a second of compute overlaps with one traffic",
		})
		sum := []string{forward, input, weight}
		add := func(id string) {
			if e, ok := rec.Record().Entry(r.ID(id)); ok && e.Value != 0 {
				sum = append(sum, r.Ref(id))
			}
		}
		add("recompute")
		add("zero-forward")
		add("zero-backward")
		if t.blocked[stage] > 0 {
			sum = append(sum, fmt.Sprintf("%d * {pipeline.hand-over}", neighbours(hosts, stage)))
		}
		for _, dimension := range step.LinkDimensions() {
			add(dimension + ".exposed")
		}
		r.Figure(record.Entry{
			ID: "time", Name: "forward and backward of one micro-batch on " + of, Symbol: "time of " + of,
			Unit:    record.Seconds,
			Formula: record.Sum(sum...), Value: t.f[stage] + t.b[stage],
			Source: "compute, recomputation and exposed traffic",
		})
	}
}

// exposedPerMicroBatch returns the formula of PerMicroBatch: traffic of a rank that the compute of one of
// its stages does not hide.
func exposedPerMicroBatch(traffic, compute string) string {
	if traffic == "0" {
		return "0"
	}
	traffic = "(" + traffic + ") / chunks"
	return "max(" + traffic + " * share_that_compute_never_hides, " + traffic + " - (" + compute + "))"
}

// hostOf returns a rank that has the stage: the last, where two do.
func hostOf(hosts *schedule.Order, stage int) (rank int) {
	for r := range hosts.Spec.Ranks {
		for c := range hosts.Chunks() {
			if hosts.StageOf(r, c) == stage {
				rank = r
			}
		}
	}
	return rank
}

// neighbours returns how many stages next to one are on other ranks.
func neighbours(hosts *schedule.Order, stage int) (n int) {
	if stage > 0 && hosts.Crosses(stage-1) {
		n++
	}
	if stage < hosts.Spec.Stages()-1 && hosts.Crosses(stage) {
		n++
	}
	return n
}

// costs returns the times of the stages as the simulation of the schedule reads them; a report keeps a copy.
func (t *timing) costs() schedule.Costs {
	c := schedule.Costs{F: t.f, B: t.b, P2P: float64(t.step.Latency(t.hop)), R: t.recompute()}
	if t.info.SplitsBackward {
		c.I, c.W = t.i, t.w
	}
	if t.info.Pairs {
		c.HiddenF, c.HiddenB = t.expertForward, t.expertBackward
	}
	return c
}

// held returns what a micro-batch keeps on each stage, in bytes: until its input
// gradient, and from there until its weight gradient.
func (t *timing) held() (activations, weightInputs []float64) {
	n := len(t.stageMemory)
	t.activations, t.weightInputs = resize(t.activations, n), resize(t.weightInputs, n)
	for stage := range t.stageMemory {
		m := &t.stageMemory[stage]
		t.activations[stage], t.weightInputs[stage] = float64(m.Activations), float64(m.WeightInputs)
	}
	return t.activations, t.weightInputs
}

// recompute is nil where nothing runs again.
func (t *timing) recompute() []float64 {
	if len(t.recomputed) == 0 {
		return nil
	}
	return t.recomputed
}

func average(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(max(len(list), 1))
}

func resize[T any](list []T, n int) []T {
	if cap(list) < n {
		return make([]T, n)
	}
	return list[:n]
}
