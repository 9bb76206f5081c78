package report

import (
	"fmt"
	"sort"

	"meshscope/engine"
	"meshscope/engine/memory"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/report/figure"
)

// PeakMoment is when the fullest rank of a setup is fullest: in the first step, whose optimizer has no
// moments yet, and in the later ones.
type PeakMoment struct {
	Rank       int            `json:"rank"`
	Peaks      [2]units.Bytes `json:"peak_bytes"`   // of the first step and of the later ones
	Step       int            `json:"step"`         // the one with the larger peak
	At         units.Seconds  `json:"step_seconds"` // since that step began
	Does       string         `json:"operation"`    // what the rank does then
	FitsFirst  bool           `json:"fits_first_step"`
	FitsSecond bool           `json:"fits_later_steps"`

	since  units.Seconds // the same since the first step began
	ledger string        // the words of a ledger; empty: there is none
	fit    string        // whether the steps fit, where the first differs from the later ones
	late   string        // what the total of MEMORY has beyond the peaks
}

// MomentOfPeak finds when a setup with a report is fullest; nil where it fits with its error band, or
// takes too long to follow.
func MomentOfPeak(s *engine.Setup, r *engine.Report) *PeakMoment {
	if !r.Legal || r.Memory == nil || r.Memory.OnGPU() == engine.Fits || s.Slow() {
		return nil
	}
	of := engine.Evaluate(*s) // the report's own timeline may be read elsewhere meanwhile
	over, ok := engine.EvaluatorFrom(&of).MemoryOverStep(*s, &of, nil)
	if !ok {
		return nil
	}
	rank := &over.Ranks[over.PeakRank]
	out := &PeakMoment{
		Rank: rank.Rank, Peaks: rank.Peaks, Step: 1, FitsFirst: over.Fits[0],
		FitsSecond: over.Fits[1],
	}
	if rank.Peaks[1] > rank.Peaks[0] {
		out.Step = 2
	}
	var most [2]units.Bytes // of all ranks
	for i := range over.Ranks {
		most = [2]units.Bytes{max(most[0], over.Ranks[i].Peaks[0]), max(most[1], over.Ranks[i].Peaks[1])}
	}
	if words, alike := FitOverSteps(most, over.Usable, r.Memory.ErrorBand); !alike {
		out.fit = words + ": "
	}
	out.late, _ = LateGradients(&r.Memory.Ranks[out.Rank], out.Peaks)
	profile := &rank.Profiles[out.Step-1]
	out.At = profile.Peak().At
	out.since = out.At + units.Seconds(out.Step-1)*profile.Length()
	out.Does = Doing(of.Timeline.OpTimes(), rank.Rank, float64(out.At))
	if fullest := &r.Memory.Ranks[out.Rank]; fullest.Moment != "" { // a ledger tells it
		out.Does, out.ledger = fullest.Moment, ledgerWords(fullest)
	}
	return out
}

// Words tell both peaks and the moment, as the Memory screen does.
func (m *PeakMoment) Words() string {
	if m.ledger != "" {
		return m.fit + m.ledger
	}
	return m.fit +
		fmt.Sprintf("rank %d peaks at %s in step 1, %s GiB from step 2 on; fullest at %s, step %d: %s",
			m.Rank, figure.GiB(m.Peaks[0]), figure.GiB(m.Peaks[1]), figure.Seconds(m.since), m.Step, m.Does) +
		m.late
}

// LateGradients says, in full and in brief, how much more the total of a rank has than its peaks: gradients
// that a stack makes only as the first backward ends, while the total counts them with all that is alive.
// What is more than all gradients of the rank, with the allocator's slack of them, is something else: they
// say nothing of it.
func LateGradients(r *memory.Rank, peaks [2]units.Bytes) (long, short string) {
	const shown = units.GiB / 20 // less is not seen in figures with one decimal
	late, most := r.Total-max(peaks[0], peaks[1]), r.Gradients
	if r.Allocated > 0 {
		most += r.Gradients * (r.OverheadParts.Slack / r.Allocated)
	}
	if late < shown || late >= most+shown {
		return "", ""
	}
	return fmt.Sprintf("; its total counts %s GiB more, gradients that come as a backward ends",
			figure.GiB(late)),
		fmt.Sprintf(" (total %s more: late gradients)", figure.GiB(late))
}

// ledgerWords tells what a ledger knows of a rank: allocated, reserved and the driver's memory, and when.
func ledgerWords(r *memory.Rank) string {
	return fmt.Sprintf("rank %d allocates %s in step 1, %s GiB from step 2 on, most in the %s; the "+
		"allocator reserves %s, the driver takes %s",
		r.Rank, figure.GiB(r.FirstStepPeak), figure.GiB(r.Allocated), r.Moment, figure.GiB(r.Reserved),
		figure.GiB(r.Driver))
}

// FitOverSteps says whether the first step and the later ones fit, by their peaks and the error band of
// the memory, and whether that is the same.
func FitOverSteps(peaks [2]units.Bytes, usable units.Bytes, band float64) (words string, alike bool) {
	first, later := engine.FitWithin(peaks[0], usable, band), engine.FitWithin(peaks[1], usable, band)
	switch {
	case first == later && later == engine.Over:
		return "does not fit", true
	case first == later:
		return string(later), true
	case first == engine.Fits && later == engine.Over:
		return "fits step 1 but not step 2", false
	}
	return fmt.Sprintf("%s in step 1, %s from step 2 on", first, later), false
}

// Doing returns what a rank does at a moment of its step.
func Doing(line *schedule.Timeline, rank int, t float64) string {
	if t >= line.Makespan {
		return "the optimizer's update"
	}
	ops, start := line.Order.Rank(rank), line.Order.Start[rank]
	i := sort.Search(len(ops), func(i int) bool { return line.Begin[start+i] > t }) - 1
	if i < 0 || t > line.End[start+i] {
		return "idle"
	}
	name := "forward"
	switch ops[i].Kind() {
	case schedule.Forward:
	case schedule.Backward:
		name = "backward"
	case schedule.InputGradient:
		name = "input gradient"
	case schedule.WeightGradient:
		name = "weight gradient"
	}
	text := fmt.Sprintf("%s of micro-batch %s", name, figure.Comma(ops[i].MicroBatch()))
	if line.Order.Chunks() > 1 {
		text += fmt.Sprintf(", chunk %d", ops[i].Chunk())
	}
	return text
}
