package engine

import (
	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/record"
	"meshscope/engine/schedule"
	"meshscope/engine/step"
	"meshscope/engine/units"
)

// Workings are the values between a setup and its report, for explaining a
// figure. They belong to one evaluation and are not to be changed.
type Workings struct {
	Setup      *Setup
	Memory     *memory.Input
	Step       *step.Input
	Stack      memory.Stack
	Stages     []layout.Stage
	Costs      []step.Cost         // by stage
	Data       []step.DataParallel // by rank
	Parameters []memory.Parameters // by rank

	// By stage, per micro-batch: exposed ZeRO traffic and waiting for messages.
	ZeROForward, ZeROBackward, Blocked []units.Seconds

	Message      units.Bytes         // of one hand-over between stages
	Latency      units.Seconds       // of the same
	FreeMakespan float64             // of the pipeline if hand-overs took no time
	Mean         schedule.ChunkTimes // of all stages, for closed forms
}

// Work evaluates a setup and gives its workings too. Of a setup without figures
// they are nil.
func Work(s Setup) (Report, *Workings, *record.Record) {
	e := Evaluator{record: record.New()}
	r := e.Evaluate(s)
	if !r.Legal {
		return r, nil, nil
	}
	stack, _ := memory.For(s.Stack)
	w := &Workings{
		Setup: &e.setup, Memory: &e.memInput, Step: &e.timInput, Stack: stack,
		Stages: e.stages, Costs: e.cost, Data: e.data, Parameters: e.mem.Parameters(),
		ZeROForward: e.timing.zeroForward, ZeROBackward: e.timing.zeroBackward, Blocked: e.timing.blocked,
		FreeMakespan: e.free, Mean: e.timing.mean(),
	}
	w.Message, w.Latency = step.HandOver(&e.timInput)
	return r, w, e.record.Record()
}

// Load is the number of routed tokens on the busiest rank over the even share.
func (w *Workings) Load() float64 { return w.Memory.Load }

// Ends are a rank's waits before its first operation and after its last one;
// gradients is what of them no compute hides.
func (w *Workings) Ends(line *schedule.Timeline, rank int, gradients units.Seconds) (before, after units.Seconds) {
	info, _ := w.Setup.Schedule.Info()
	return ends(&info, line, rank, period(&info, line), gradients)
}

// Busiest is the rank whose time the step is.
func (w *Workings) Busiest(line *schedule.Timeline) int { return busiest(line) }
