package engine

import (
	"meshscope/engine/memory"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// OverStep is the memory of every pipeline rank while a step runs, for the
// first step and for the later ones: optimizers make their moments in the first
// update, so that what fits the first step may not fit the second.
type OverStep struct {
	Usable     units.Bytes    `json:"usable_bytes"`
	Ranks      []RankOverStep `json:"ranks"`
	Fits       [2]bool        `json:"fits"`       // the first step, the later ones
	PeakRank   int            `json:"peak_rank"`  // the fullest in the later steps
	Milestones Milestones     `json:"milestones"` // of that rank
}

// RankOverStep is one rank over the first step and over a later one. Peaks are
// totals, overhead included.
type RankOverStep struct {
	Rank     int               `json:"rank"`
	Profiles [2]memory.Profile `json:"-"`
	Peaks    [2]units.Bytes    `json:"peak_bytes"`

	Milestones Milestones `json:"milestones"`
}

// Milestones are the allocated memory of a rank as training starts, without overhead.
type Milestones struct {
	Model units.Bytes `json:"model_bytes"` // weights as they are loaded
	// with master copy and gradients, before the first forward
	States      units.Bytes `json:"states_bytes"`
	FirstPeak   units.Bytes `json:"first_peak_bytes"`   // of the first forward and backward
	AfterUpdate units.Bytes `json:"after_update_bytes"` // between steps, once the optimizer is complete
	LaterPeak   units.Bytes `json:"later_peak_bytes"`   // of every later forward and backward
	// what forward and backward add to the level of a later step
	Compute units.Bytes `json:"pass_bytes"`
}

// MemoryOverStep computes the memory over a step. It is for a screen that
// shows it, not for every key press. The second value is false for a setup that
// is illegal.
func MemoryOverStep(s Setup) (OverStep, bool) {
	var e Evaluator
	r := e.Evaluate(s)
	return e.MemoryOverStep(s, &r, nil)
}

// MemoryOverStep returns the function of that name for a setup whose report is at
// hand. Its profiles read the report's timeline. Once stop (nil: never) says true
// there is no answer.
func (e *Evaluator) MemoryOverStep(s Setup, r *Report, stop func() bool) (OverStep, bool) {
	if !r.Legal || r.Timeline == nil {
		return OverStep{}, false
	}
	e.setup = s
	t, err := e.arrange(&e.setup, stop)
	if err != nil {
		return OverStep{}, false
	}
	return t.overStep(r, stop)
}

// overStep follows every rank of a setup that is arranged over the first step and a later one.
func (t *timing) overStep(r *Report, stop func() bool) (OverStep, bool) {
	in := &t.mem
	update, _ := t.update()
	out := OverStep{Usable: r.Memory.Usable, Fits: [2]bool{true, true}}
	for rank := range t.setup.PP {
		if stop != nil && stop() {
			return OverStep{}, false
		}
		trace := memory.NewTrace(in, t.stack, r.Timeline.OpTimes(), rank, update.Whole())
		ro := RankOverStep{Rank: rank, Profiles: memory.Profiles(trace)}
		for i := range ro.Profiles {
			most := ro.Profiles[i].Peak().Allocated()
			ro.Peaks[i] = most + in.Overhead(most).Sum()
			out.Fits[i] = out.Fits[i] && ro.Peaks[i] <= out.Usable
		}
		ro.Milestones = milestones(&ro.Profiles)
		if out.Ranks = append(out.Ranks, ro); ro.Peaks[1] > out.Ranks[out.PeakRank].Peaks[1] {
			out.PeakRank = rank
		}
	}
	out.Milestones = out.Ranks[out.PeakRank].Milestones
	return out, true
}

// recordFirstStep records the peak of the first step, of which the report has none.
func (t *timing) recordFirstStep(r *Report) {
	if !t.record.On() || r.Timeline == nil {
		return
	}
	over, ok := t.overStep(r, nil)
	r.Timeline.ForgetOpTimes()
	if !ok {
		return
	}
	fullest := &over.Ranks[0]
	for i := range over.Ranks {
		if over.Ranks[i].Peaks[0] > fullest.Peaks[0] {
			fullest = &over.Ranks[i]
		}
	}
	allocated := fullest.Profiles[0].Peak().Allocated()
	t.record.Figure(record.Entry{
		ID: "memory.peak-first-step", Name: "memory of the fullest rank in the first step",
		Symbol: "first peak", Unit: record.Memory, Simulated: true,
		Formula: "allocated_at_the_peak + overhead", Value: float64(fullest.Peaks[0]),
		Source: "tensors followed through the schedule; the moments of the optimizer are made in the first " +
			"update, after the passes (torch.optim.Adam)",
	}, record.In("allocated_at_the_peak", allocated), record.In("overhead", fullest.Peaks[0]-allocated))
}

// milestones reads them off the first step and a later one.
func milestones(of *[2]memory.Profile) Milestones {
	before, after := of[0].Start(), of[1].Start()
	level := after.Weights + after.Gradients + after.Optimizer
	return Milestones{
		Model: before.Weights, States: before.Weights + before.Gradients + before.Optimizer,
		FirstPeak: of[0].ComputePeak(), AfterUpdate: level, LaterPeak: of[1].ComputePeak(),
		Compute: of[1].ComputePeak() - level,
	}
}

// EvaluatorFrom returns an Evaluator that knows the order of a report's operations: further
// questions about its setup do not lay them on the ranks again, which takes as
// much memory as the report's own timeline.
func EvaluatorFrom(r *Report) *Evaluator {
	e := new(Evaluator)
	if r.Timeline != nil {
		e.order = r.Timeline.Order
	}
	return e
}

// Memory returns the memory part of Evaluate, for a setup known to be legal but for
// its batch; nil when its pipeline cannot be ordered.
func (e *Evaluator) Memory(s Setup) *Memory {
	if _, ok := memory.For(s.Stack); !ok {
		return nil
	}
	e.setup = s
	t, err := e.arrange(&e.setup, nil)
	if err != nil {
		return nil
	}
	m := e.memory(t)
	x := Traits(&e.setup, new(Report), true)
	m.Evidence = e.evidence(&e.setup, &x, true)
	m.Fit = m.fit()
	return &m
}
