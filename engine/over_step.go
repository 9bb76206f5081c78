package engine

import (
	"meshscope/engine/memory"
	"meshscope/engine/units"
)

// OverStep is the memory of every pipeline rank while a step runs, for the
// first step and for the later ones: optimizers make their moments in the first
// update, so that what fits the first step may not fit the second.
type OverStep struct {
	Usable     units.Bytes    `json:"usable_bytes"`
	Ranks      []RankOverStep `json:"ranks"`
	Fits       [2]bool        `json:"fits"`      // the first step, the later ones
	PeakRank   int            `json:"peak_rank"` // the fullest in the later steps
	Milestones Milestones     `json:"milestones"`
}

// RankOverStep is the series of one rank. Peaks are totals, overhead included.
type RankOverStep struct {
	Rank  int             `json:"rank"`
	First []memory.Sample `json:"first"`
	Later []memory.Sample `json:"later"`
	Peaks [2]units.Bytes  `json:"peak_bytes"`
}

// Milestones are the allocated memory of the fullest rank as training starts.
type Milestones struct {
	Model       units.Bytes `json:"model_bytes"`        // weights as they are loaded
	States      units.Bytes `json:"states_bytes"`       // with master copy and gradients, before the first forward
	FirstPeak   units.Bytes `json:"first_peak_bytes"`   // of the first forward and backward
	AfterUpdate units.Bytes `json:"after_update_bytes"` // between steps, once the optimizer is complete
	LaterPeak   units.Bytes `json:"later_peak_bytes"`   // of every later forward and backward
	Pass        units.Bytes `json:"pass_bytes"`         // what forward and backward add to the level of a later step
}

// MemoryOverStep works out the memory over a step. It is for a screen that
// shows it, not for every key press. The second value is false for a setup that
// is illegal.
func MemoryOverStep(s Setup) (OverStep, bool) {
	var e Evaluator
	r := e.Evaluate(s)
	if !r.Legal {
		return OverStep{}, false
	}
	stack, _ := memory.For(s.Stack)
	in := &e.memInput
	out := OverStep{Usable: r.Memory.Usable, Fits: [2]bool{true, true}}
	var passes [2]units.Bytes
	for rank := range s.PP {
		ro := RankOverStep{Rank: rank}
		ro.First = memory.Series(in, stack, r.Timeline, rank, true, r.Time.Optimizer)
		ro.Later = memory.Series(in, stack, r.Timeline, rank, false, r.Time.Optimizer)
		var pass [2]units.Bytes
		for i, list := range [2][]memory.Sample{ro.First, ro.Later} {
			most := highest(list)
			pass[i] = highest(list[:len(list)-memory.UpdateSamples])
			ro.Peaks[i] = most + stack.Overhead(in, most).Sum()
			out.Fits[i] = out.Fits[i] && ro.Peaks[i] <= out.Usable
		}
		if out.Ranks = append(out.Ranks, ro); ro.Peaks[1] > out.Ranks[out.PeakRank].Peaks[1] || rank == 0 {
			out.PeakRank, passes = rank, pass
		}
	}
	full := &out.Ranks[out.PeakRank]
	before, after := full.First[0], full.Later[0]
	level := after.Weights + after.Gradients + after.Optimizer
	out.Milestones = Milestones{
		Model: before.Weights, States: before.Weights + before.Gradients + before.Optimizer,
		FirstPeak: passes[0], AfterUpdate: level, LaterPeak: passes[1], Pass: passes[1] - level,
	}
	return out, true
}

// highest is the most that is allocated at once.
func highest(list []memory.Sample) (most units.Bytes) {
	for i := range list {
		most = max(most, list[i].Allocated())
	}
	return most
}
