package engine

import (
	"fmt"
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/schedule"
	"meshscope/engine/step"
	"meshscope/engine/units"
)

// stepTime splits the step of the rank with the most work into its parts, and
// lists the traffic of that rank.
func (t *timing) stepTime(line *schedule.Timeline, out *Time) []Communication {
	rank := line.Busiest()
	var links step.Links
	var zero, blocked units.Seconds
	for c := range t.order.Chunks() {
		stage := t.order.StageOf(rank, c)
		k := &t.cost[stage]
		n := t.order.Count(rank, c, schedule.Forward)
		m, split := units.Seconds(n), units.Seconds(t.order.Count(rank, c, schedule.InputGradient))
		out.Compute += m * (k.Forward + k.InputGrad + k.WeightGrad)
		out.Recompute += m * k.Recompute
		links.AddTimes(&k.ForwardLinks, float64(n))
		links.AddTimes(&k.BackwardLinks, float64(n))
		links.TP.Exposed += split * k.SplitBackwardExposedTP
		blocked += m * t.blocked[stage]
		zero += m * (t.zeroForward[stage] + t.zeroBackward[stage])
		zero += split * t.zeroSplitExtra[stage]
	}
	links.EP.Exposed = max(0, links.EP.Exposed-units.Seconds(line.Ranks[rank].Saved))
	length := line.Length(&t.info)
	out.Bubble = units.Seconds(max(0, units.Difference(length, line.Ranks[rank].Busy)))
	boundary := t.boundary(line, length)
	slowest, tail := boundary.Rank, boundary.Scatter+boundary.Gather
	update, _ := t.update()
	out.Optimizer = update.Seconds
	out.Exposed = links.Exposed() - links.Copying() + blocked + zero + tail
	links.AddTimes(&update.Copies, 1)
	out.Offload = links.Copying()
	out.Step = out.Compute + out.Recompute + out.Bubble + out.Exposed + out.Optimizer + out.Offload
	out.Share = out.OfBubble()
	if t.record.On() {
		t.recordStep(out, onRank{rank, slowest}, &links, length, zero+tail)
	}
	if zero > 0 {
		slowest = rank // what is exposed in every micro-batch is this rank's
	}
	data := t.data[slowest]
	data.AddExposed(zero + tail)
	rows := t.communication(onRank{rank, slowest}, links, data, line.Ranks[rank].Saved)
	if blocked > 0 {
		rows = append(rows, t.blockingSendTraffic(rank, blocked))
	}
	return rows
}

// update returns the longest one of all ranks, and whose that is.
func (t *timing) update() (longest step.Update, rank int) {
	for r := range t.params {
		if r > 0 && t.params[r] == t.params[r-1] && !t.record.On() {
			continue
		}
		if u := step.OptimizerTime(&t.step, r, t.params[r]); u.Whole() > longest.Whole() {
			longest, rank = u, r
		}
	}
	return longest, rank
}

// boundary returns the exposed data-parallel traffic of the rank that has most of it.
func (t *timing) boundary(line *schedule.Timeline, length float64) (most StepBoundaryTraffic) {
	for r := range t.data {
		if b := t.exposedData(r, line, length); r == 0 || b.Scatter+b.Gather > most.Scatter+most.Gather {
			most = b
		}
	}
	return most
}

// exposedData returns the data-parallel traffic of a rank outside the pipeline that
// nothing hides: the scatter (or all-reduce) has the last micro-batch's
// backward and the rank's wait after it, the gather the wait before the first
// forward and that forward.
func (t *timing) exposedData(r int, line *schedule.Timeline, length float64) StepBoundaryTraffic {
	d := &t.data[r]
	var forward, backward units.Seconds
	for c := range t.order.Chunks() {
		stage := t.order.StageOf(r, c)
		forward += t.cost[stage].ForwardOverlapBudget() - t.hiddenForward(d, stage)
		backward += t.lastBackward[stage]
	}
	before, after := idleAtBoundaries(&t.info, line, r, length, d.ScatterSeconds-backward)
	soft := &t.step.Machine.Software
	scatter := max(d.ScatterSeconds*units.Seconds(soft.DP), d.ScatterSeconds-backward-after)
	gather := max(d.GatherSeconds*units.Seconds(soft.Gather), d.GatherSeconds-max(0, forward)-before)
	if t.record.On() {
		t.recordExposedData(r, scatter+gather, before, after)
	}
	return StepBoundaryTraffic{Rank: r, Scatter: scatter, Gather: gather}
}

// hiddenForward returns the compute of a stage's forward that hides the traffic of a micro-batch already.
func (t *timing) hiddenForward(d *step.DataParallel, stage int) units.Seconds {
	return d.PerForward/units.Seconds(t.order.Chunks()) - t.zeroForward[stage]
}

// StepBoundaryTraffic is the exposed data-parallel traffic at the start (all-gather) and the end
// (reduce-scatter) of a step, on the pipeline rank that has most of it.
type StepBoundaryTraffic struct {
	Rank            int
	Scatter, Gather units.Seconds
}

// StepParts are what an evaluation adds a step up from, for pictures of one. Its slices belong
// to the Evaluator.
type StepParts struct {
	Rank          int // with the most work: the parts of the step are its
	Line          *schedule.Timeline
	Length        units.Seconds // of the pipeline
	Cost          []step.Cost   // of a micro-batch, by model stage
	Data          []step.DataParallel
	PerMicroBatch []step.MicroBatchTraffic // exposed ZeRO traffic, by model stage
	Software      *hardware.Software       // its shares of traffic are exposed whatever there is to compute
	Hop           units.Seconds            // one message between stages
	Boundary      StepBoundaryTraffic
	Update        step.Update // the longest
}

// StepParts returns those of the last evaluation, whose report is legal.
func (e *Evaluator) StepParts(r *Report) StepParts {
	t, line := &e.timing, e.Summary(r).OpTimes()
	soft, order := &t.step.Machine.Software, line.Order
	p := StepParts{
		Rank: line.Busiest(), Line: line, Length: units.Seconds(line.Length(&t.info)), Cost: t.cost,
		Data:          t.data,
		PerMicroBatch: make([]step.MicroBatchTraffic, len(t.cost)), Software: soft, Hop: t.hop,
		Boundary: t.boundary(line, line.Length(&t.info)),
	}
	p.Update, _ = t.update()
	for rank := range order.Spec.Ranks {
		for c := range order.Chunks() {
			stage := order.StageOf(rank, c)
			p.PerMicroBatch[stage] = t.data[rank].PerMicroBatch(&t.cost[stage], order.Chunks(), soft)
		}
	}
	return p
}

// recordExposedData records what exposedData gave.
func (t *timing) recordExposedData(r int, exposed, before, after units.Seconds) {
	rec, soft := t.record.At("data", "rank", r), &t.step.Machine.Software
	var forward, backward []string
	for c := range t.order.Chunks() {
		n := t.order.StageOf(r, c)
		stage, copied := t.record.At("stage", "stage", n), ""
		if t.cost[n].ForwardCopies > 0 {
			copied = " + " + stage.Ref("forward-copies")
		}
		free := "max(0, " + stage.Ref("forward") + copied + " - " + stage.Ref("forward-overlap") + ")"
		if each := rec.Sum("forward"); each != "0" {
			free += " - ((" + each + ") / chunks - " + stage.Ref("zero-forward") + ")"
		}
		forward = append(forward, free)
		backward = append(backward, stage.Ref("left"))
	}
	var sum []string
	part := func(what, share, hides, wait string) {
		if traffic := rec.Sum(what); traffic != "0" {
			traffic = "(" + traffic + ")"
			sum = append(sum, "max("+traffic+" * "+share+", "+traffic+" - ("+hides+" + "+wait+"))")
		}
	}
	part("scatter", "share_of_gradients_that_compute_never_hides", record.Sum(backward...),
		"simulated_wait_after_the_last_backward")
	part("gather", "share_of_weights_that_compute_never_hides", record.Sum(forward...),
		"simulated_wait_before_the_first_forward")
	rec.Figure(record.Entry{
		ID: "exposed", Name: fmt.Sprintf("exposed data-parallel traffic of rank %d, once per step", r),
		Symbol: fmt.Sprintf("exposed data traffic of rank %d", r),
		Unit:   record.Seconds, Formula: record.Sum(sum...), Value: float64(exposed),
		Source: "gradients overlap with the last backward and the idle time at the end, weights with " +
			"the idle time before the first forward and that forward, where these overlap with nothing " +
			"else, except for a share; " + record.From(soft.From),
		LeavesOut: "when buckets become ready",
	}, record.InUnit(record.Share, "share_of_gradients_that_compute_never_hides", soft.DP),
		record.InUnit(record.Share, "share_of_weights_that_compute_never_hides", soft.Gather),
		record.In("simulated_wait_after_the_last_backward", after),
		record.In("simulated_wait_before_the_first_forward", before))
}

// idleAtBoundaries returns a rank's idle time before its first operation and after its last one in a
// pipeline of the given length. With a split backward steps follow one another without a barrier: both
// are one wait, the period less the rank's own span, of which gradients take what they need.
func idleAtBoundaries(info *schedule.Info, line *schedule.Timeline, r int, length float64,
	gradients units.Seconds,
) (before, after units.Seconds) {
	first, last := line.Ranks[r].First, line.Ranks[r].Last
	if !info.SplitsBackward {
		return units.Seconds(first), units.Seconds(line.Makespan - last)
	}
	between := units.Seconds(max(0, length-(last-first)))
	after = min(between, max(0, gradients))
	return between - after, after
}

// onChunks returns the sum of a formula over the chunks of a rank, each times its
// micro-batches; of gives it for the scope of a stage, and how often it is counted.
func (t *timing) onChunks(rank int, of func(stage *record.Recorder, id int) string,
	op schedule.OpKind,
) (sum []string, operands []record.Operand) {
	what := "micro_batches_on_stage_"
	if op == schedule.InputGradient {
		what = "split_backwards_on_stage_"
	}
	for c := range t.order.Chunks() {
		stage := t.order.StageOf(rank, c)
		n := t.order.Count(rank, c, op)
		if f := of(t.record.At("stage", "stage", stage), stage); n > 0 && f != "" {
			name := fmt.Sprintf("%s%d", what, stage)
			sum, operands = append(sum, name+" * "+f), append(operands, record.In(name, n))
		}
	}
	return sum, operands
}

// recordWork records how long the operations of each rank are.
func (t *timing) recordWork(line *schedule.Timeline) {
	for r := range line.Ranks {
		sum, operands := t.onChunks(r, func(s *record.Recorder, _ int) string { return s.Ref("time") },
			schedule.Forward)
		split, more := t.onChunks(r, func(s *record.Recorder, _ int) string {
			return "(" + s.Ref("split-backward-exposed-tp") + " + " + s.Ref("zero-split-extra") + ")"
		}, schedule.InputGradient)
		formula := record.Sum(append(sum, split...)...)
		if line.Ranks[r].Saved > 0 {
			formula += " - hidden_in_overlapped_pairs"
		}
		operands = append(append(operands, more...),
			record.InUnit(record.Seconds, "hidden_in_overlapped_pairs", line.Ranks[r].Saved))
		t.record.At("pipeline.work", "rank", r).Figure(record.Entry{
			Name: fmt.Sprintf("busy time of pipeline rank %d", r), Symbol: fmt.Sprintf("busy of rank %d", r),
			Unit: record.Seconds, Formula: formula,
			Value: line.Ranks[r].Busy,
			Source: "operations of the schedule times the stages' times, less the overlap of overlapped " +
				"pairs",
		}, operands...)
	}
}

// recordStep records the parts of stepTime.
func (t *timing) recordStep(out *Time, on onRank, links *step.Links, length float64, data units.Seconds) {
	rank := on.links
	from := record.From(t.step.Machine.Software.From)
	of := fmt.Sprintf(" on pipeline rank %d, the busiest", rank)
	figure := func(id, name, formula string, value units.Seconds, source, omits string,
		operands ...record.Operand,
	) {
		t.record.Figure(record.Entry{
			ID: "time." + id, Name: name, Symbol: id, Unit: record.Seconds, Formula: formula,
			Value:  float64(value),
			Source: source, LeavesOut: omits, Simulated: id == "bubble",
		}, operands...)
	}
	sum, operands := t.onChunks(rank, func(s *record.Recorder, _ int) string {
		return "(" + s.Ref("forward") + " + " + s.Ref("input-gradient") + " + " + s.Ref("weight-gradient") +
			")"
	}, schedule.Forward)
	figure("compute", "compute"+of, record.Sum(sum...), out.Compute,
		"micro-batches times the stages' passes; "+from, "slowdown by concurrent traffic", operands...)
	sum, operands = t.onChunks(rank, func(s *record.Recorder, stage int) string {
		if t.cost[stage].Recompute == 0 {
			return ""
		}
		return s.Ref("recompute")
	}, schedule.Forward)
	figure("recompute", "forward work recomputed in the backward"+of, record.Sum(sum...), out.Recompute,
		"micro-batches times what --recompute names", "", operands...)
	wait, source := "simulated_makespan", "exact: the pipeline's makespan minus the rank's busy time"
	if t.info.SplitsBackward {
		wait = "simulated_longest_span_of_a_rank"
		source = "exact: the longest rank's span minus the busy time; steps follow one another without a " +
			"barrier (zero bubble, arXiv 2401.10241, section 4)"
	}
	figure("bubble", "waiting"+of, fmt.Sprintf("max(0, %s - {pipeline.work.%d})", wait, rank), out.Bubble,
		source, "jitter between ranks", record.InUnit(record.Seconds, wait, length))
	all := make([]string, t.setup.PP)
	for r := range all {
		all[r] = fmt.Sprintf("{time.optimizer.%d}", r)
	}
	slow := all[0]
	if t.setup.PP > 1 {
		slow = "max(" + strings.Join(all, ", ") + ")"
	}
	if u, r := t.update(); u.Whole() > u.Seconds {
		slow = all[r]
	}
	figure("optimizer", "optimizer step", slow, out.Optimizer, "the slowest rank's", "")
	t.recordDataExposed(on, data)
	exposed, operands := t.waits(rank)
	var offload []string
	for _, d := range step.LinkDimensions() {
		list := &exposed
		if step.Copies(d) {
			list = &offload
		}
		if links.Of(d).Bytes > 0 {
			*list = append(*list, "{communication."+d+".exposed}")
		}
	}
	sum = []string{
		"{time.compute}", "{time.recompute}", "{time.bubble}", "{time.exposed}", "{time.optimizer}",
	}
	if len(offload) > 0 {
		sum = append(sum, "{time.offload}")
		figure("offload", "copies to and from host memory and drives"+of, record.Sum(offload...), out.Offload,
			"those of micro-batches that no compute hides, and those of the slowest rank's update", "")
	}
	figure("exposed", "exposed communication"+of,
		record.Sum(append(exposed, "{time.exposed.data-parallel}")...), out.Exposed,
		"the sum over dimensions; data-parallel traffic after the end of compute is the slowest rank's",
		"send/recv between stages, which is in the bubble", operands...)
	figure("step", "time of one optimizer step",
		record.Sum(sum...), out.Step,
		"the sum of its parts"+of, "stragglers, power limits, data loading, checkpoints, restarts")
	t.record.Figure(record.Entry{
		ID: "time.bubble-share", Name: "bubble: idle share of the step" + of, Symbol: "bubble of the step",
		Unit:    record.Share,
		Formula: "{time.bubble} / {time.step}", Value: out.Share,
		Source: "idle time of the slowest rank over its whole step; simulated", Simulated: true,
	})
}

// waits returns the formulas of the time in which a rank waits for its own messages.
func (t *timing) waits(rank int) ([]string, []record.Operand) {
	return t.onChunks(rank, func(_ *record.Recorder, stage int) string {
		if t.blocked[stage] == 0 {
			return ""
		}
		return fmt.Sprintf("%d * {pipeline.hand-over}", neighbours(t.order, stage))
	}, schedule.Forward)
}

// recordDataExposed records the exposed data-parallel traffic: of every
// micro-batch on the busiest rank, and once per step on the slowest with it.
func (t *timing) recordDataExposed(on onRank, exposed units.Seconds) {
	sum, operands := t.onChunks(on.links, func(s *record.Recorder, stage int) string {
		if t.zeroForward[stage]+t.zeroBackward[stage] == 0 {
			return ""
		}
		return "(" + s.Ref("zero-forward") + " + " + s.Ref("zero-backward") + ")"
	}, schedule.Forward)
	split, more := t.onChunks(on.links, func(s *record.Recorder, stage int) string {
		if t.zeroSplitExtra[stage] == 0 {
			return ""
		}
		return s.Ref("zero-split-extra")
	}, schedule.InputGradient)
	sum = append(append(sum, split...), fmt.Sprintf("{data.%d.exposed}", on.data))
	t.record.Figure(record.Entry{
		ID: "time.exposed.data-parallel", Name: "exposed data-parallel traffic",
		Symbol: "exposed data traffic", Unit: record.Seconds,
		Formula: record.Sum(sum...), Value: float64(exposed),
		Source: "ZeRO traffic of every micro-batch on the busiest rank, and the slowest rank's exposed " +
			"traffic at both ends of the step",
	}, append(operands, more...)...)
}

// Pessimistic returns a setup with all unproven overlap exposed (recipe.OverlapPessimistic):
// its step is the slow end of the setup's own. The second value is false where the setup says
// itself how much overlap works; it is then returned as it is.
func Pessimistic(s Setup) (Setup, bool) {
	if s.Overlap != "" && s.Overlap != recipe.OverlapAuto {
		return s, false
	}
	s.Overlap = recipe.OverlapPessimistic
	return s, true
}

// UnprovenOverlap reports whether a setup has traffic whose overlap few published runs
// confirm: the all-to-all of experts, and ZeRO traffic of every micro-batch. Where it has
// none, its step is that of Pessimistic.
func UnprovenOverlap(s *Setup) bool {
	return s.Model.IsMoE() && (s.EP > 1 || s.ETP > 1) || s.ZeRO >= 2
}

// SlowEnd returns the longest step that the error band leaves: its upper end, and no less than the step
// without unproven overlap. A deadline is met where this step meets it.
func (t *Time) SlowEnd(pessimistic units.Seconds) units.Seconds {
	return max(pessimistic, t.Step*units.Seconds(1+t.ErrorBand))
}

// PessimisticStep returns the slow end of a step: how long it takes without unproven overlap. It is
// the step of the report where all overlap is proven.
func PessimisticStep(s *Setup, r *Report) units.Seconds {
	e := Evaluator{SkipTimeline: true}
	step, _, _ := e.PessimisticStep(s, r, nil)
	return step
}

// PessimisticStep is the function of that name that can be stopped, as EvaluateUntil can. It
// returns too the memory of the end that needs more: the order of an automatic schedule, and
// so its memory, follows from the times.
func (e *Evaluator) PessimisticStep(s *Setup, r *Report, stop func() bool) (step units.Seconds,
	fuller *Memory, done bool,
) {
	if r.Time == nil {
		return 0, r.Memory, true
	}
	c, open := Pessimistic(*s)
	if !r.Legal || !open || !UnprovenOverlap(s) {
		return r.Time.Step, r.Memory, true
	}
	slow, done := e.EvaluateUntil(c, stop)
	if !done || slow.Time == nil {
		return r.Time.Step, r.Memory, done
	}
	if fuller = r.Memory; slow.Memory.Peak > fuller.Peak {
		fuller = slow.Memory
	}
	return slow.Time.Step, fuller, true
}
