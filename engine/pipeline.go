package engine

import (
	"fmt"

	"meshscope/engine/record"
	"meshscope/engine/schedule"
)

// pipeline says what the schedule costs.
func (t *timing) pipeline(line *schedule.Timeline, a *answers) {
	s, p, spec := t.setup, &a.pipeline, &t.order.Spec
	*p = Pipeline{
		Schedule: s.Schedule, Ranks: s.PP, Stages: s.Stages(), MicroBatches: s.MicroBatches,
		BubbleOverIdeal: line.BubbleOverIdeal(), BubbleOverTotal: line.BubbleOverTotal(),
		Makespan: line.Duration(), Disproved: t.info.Disproved(spec, t.mean),
	}
	if form, ok := spec.ClosedFormBubble(t.mean); ok {
		a.closedForm = form
		p.BubbleClosedForm = &a.closedForm
	}
	if t.info.SplitsBackward {
		a.span = line.SpanOverIdeal()
		p.BubbleSpan = &a.span
	}
	if t.record.On() {
		t.recordWork(line)
		t.recordPipeline(line, p)
	}
}

// recordPipeline records the figures of the pipeline.
func (t *timing) recordPipeline(line *schedule.Timeline, p *Pipeline) {
	rank := line.Busiest()
	work := t.record.At("pipeline.work", "rank", rank).Ref("")
	figure := func(f record.Entry, operands ...record.Operand) {
		f.ID = "pipeline." + f.ID
		t.record.Figure(f, operands...)
	}
	idle := fmt.Sprintf("simulated_idle_time_of_rank_%d", rank)
	figure(record.Entry{
		ID: "makespan", Name: "duration of the pipeline", Symbol: "makespan", Unit: record.Seconds,
		Formula: work + " + " + idle, Value: line.Makespan,
		Source: fmt.Sprintf("simulated in the order of %s (%s); exact: busy and idle time of rank %d",
			t.info.Name, t.info.Paper, rank),
		LeavesOut: "jitter between ranks", Simulated: true,
	}, record.InUnit(record.Seconds, idle, line.Ranks[rank].Idle))
	for r := range line.Ranks {
		figure(record.Entry{
			ID: fmt.Sprintf("idle.%d", r), Name: fmt.Sprintf("idle time of pipeline rank %d", r),
			Symbol: fmt.Sprintf("idle of rank %d", r), Unit: record.Seconds, Simulated: true,
			Formula: fmt.Sprintf("max(0, makespan - {pipeline.work.%d})", r), Value: line.Ranks[r].Idle,
			Source: "filling, draining and waiting for other ranks; the makespan is simulated",
		})
	}
	figure(record.Entry{
		ID: "bubble-over-ideal", Name: "bubble over the work of the slowest rank", Symbol: "bubble",
		Unit: record.Share, Simulated: true, Value: p.BubbleOverIdeal,
		Formula: "max(0, (makespan - " + work + ") / " + work + ")",
		Source:  "Narayanan et al. (arXiv 2104.04473) section 2.2; the makespan is simulated",
	})
	all := make([]string, t.setup.PP)
	for r := range all {
		all[r] = fmt.Sprintf("{pipeline.work.%d}", r)
	}
	figure(record.Entry{
		ID: "bubble-over-total", Name: "idle share of all ranks", Symbol: "bubble-over-total",
		Unit: record.Share, Simulated: true, Value: p.BubbleOverTotal,
		Formula: "max(0, 1 - (" + record.Sum(all...) + ") / (p * makespan))",
		Source:  "GPipe (arXiv 1811.06965) section 2.3; the makespan is simulated",
	})
	if p.BubbleSpan != nil {
		figure(record.Entry{
			ID:     "bubble-span-over-ideal",
			Name:   "idle time between first start and last end of the longest rank, over its work",
			Symbol: "bubble-span-over-ideal",
			Unit:   record.Share, Simulated: true, Value: *p.BubbleSpan,
			Formula: "max(0, (simulated_longest_span - " + work + ") / " + work + ")",
			Source:  "what the zero-bubble papers measure (arXiv 2401.10241); the span is simulated",
		}, record.InUnit(record.Seconds, "simulated_longest_span", line.LongestSpan()))
	}
	if p.BubbleClosedForm != nil {
		t.recordClosedForm(*p.BubbleClosedForm)
	}
	figure(record.Entry{
		ID: "ranks", Name: "pipeline ranks", Symbol: "p", Formula: "p",
		Value: float64(p.Ranks), Source: "the layout",
	})
	figure(record.Entry{
		ID: "stages", Name: "stages of the model", Symbol: "stages", Formula: "p * v",
		Value: float64(p.Stages), Source: "the layout",
	})
	figure(record.Entry{
		ID: "microbatches", Name: "micro-batches of a pipeline and step", Symbol: "m",
		Formula: "gbs / (b * dp)", Value: float64(p.MicroBatches), Source: "the layout",
	})
}

// recordClosedForm records the bubble over ideal for equal stages.
func (t *timing) recordClosedForm(value float64) {
	mean := t.mean
	both := t.recordMean("tF+tB", "forward and backward", "{stage.%[1]d.time}", mean.F+mean.B)
	if t.info.SplitsBackward {
		both = t.recordMean("tF+tI+tW", "forward, input and weight gradient",
			"{stage.%[1]d.time} + {stage.%[1]d.split-backward-exposed-tp} + {stage.%[1]d.zero-split-extra}",
			mean.F+mean.I+mean.W)
	}
	formula := t.info.IdlePasses + " * " + both
	if t.info.IdlePasses == "" {
		formula = "{pipeline.closed-form-idle}"
		idle, _ := t.spec.ClosedFormIdle(mean)
		t.record.Figure(record.Entry{
			ID:   "pipeline.closed-form-idle",
			Name: "idle time of the worst rank, for equal stages and no send/recv time", Symbol: "idle",
			Unit:    record.Seconds,
			Formula: "form", Value: idle, Source: t.info.Paper + "; " + t.info.Idle,
			LeavesOut: "which of the passes is longest: the form has cases, evaluated for the mean stage",
		}, record.InUnit(record.Seconds, "form", idle).As(t.info.Idle))
	}
	t.record.Figure(record.Entry{
		ID: "pipeline.bubble-closed-form", Name: "bubble over ideal, for equal stages and no send/recv time",
		Symbol: "bubble-closed-form", Unit: record.Share,
		Formula: formula + " / (" + both + " * v * m)", Value: value,
		Source: t.info.Paper + "; idle time " + t.info.Idle, LeavesOut: "unequal stages, send/recv time",
	})
}

// recordMean records the mean over stages of a formula of one.
func (t *timing) recordMean(id, name, stage string, value float64) string {
	all := make([]string, len(t.stages))
	for n := range all {
		all[n] = fmt.Sprintf(stage, n)
	}
	rec := t.record.Scope("pipeline.mean-"+id, "")
	rec.Figure(record.Entry{
		Name: "mean over stages: " + name + " of one micro-batch", Symbol: id, Unit: record.Seconds,
		Value:   value,
		Formula: "(" + record.Sum(all...) + ") / (p * v)", Source: "the mean stage, for closed forms",
	})
	return rec.Ref("")
}
