package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"meshscope/engine/memory"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
)

// shortfall says in one sentence why a setup does not fit: the fullest rank, by
// how much, its largest term and where that comes from.
func shortfall(s *Setup, m *Memory) string {
	rank := &m.Ranks[m.PeakRank]
	term, bytes, cause := largest(s, rank)
	return fmt.Sprintf("rank %d needs %.1f GiB, %.1f more than the %.1f of %s: %s alone are %.1f GiB, %s",
		rank.Rank, rank.Total.GiB(), (rank.Total - m.Usable).GiB(), m.Usable.GiB(), s.Cluster.GPU.Name, term, bytes.GiB(), cause)
}

func largest(s *Setup, rank *memory.Rank) (term string, bytes units.Bytes, cause string) {
	term, bytes = "activations", rank.Activations
	cause = fmt.Sprintf("those of %.4g micro-batches in flight at once under %s over %d layers", rank.InFlight, s.Schedule, rank.Layers)
	switch s.Recompute.Mode {
	case recipe.RecomputeNone:
		cause += ", nothing recomputed"
	case recipe.RecomputeSelective, recipe.RecomputeFull, recipe.RecomputeModules:
		cause += ", recompute " + s.Recompute.String()
	}
	if rank.WeightInputs > rank.Activations/2 {
		cause += fmt.Sprintf(", %.1f GiB of it kept for weight gradients that the schedule puts off", rank.WeightInputs.GiB())
	}
	share := fmt.Sprintf("for %.3g G parameters on a GPU under ZeRO-%d", rank.Parameters/1e9, s.ZeRO)
	for _, t := range [...]struct {
		name  string
		bytes units.Bytes
		cause string
	}{
		{"weights", rank.Weights, share},
		{"gradients", rank.Gradients, share},
		{"optimizer states", rank.Optimizer, share},
		{"logits", rank.Logits, fmt.Sprintf("of %d tokens over a vocabulary of %d", int(s.MicroBatchTokens()), s.Model.Vocab)},
		{"buffers", rank.Buffers, "temporaries of the software stack"},
	} {
		if t.bytes > bytes {
			term, bytes, cause = t.name, t.bytes, t.cause
		}
	}
	return term, bytes, cause
}

// Remedy is one change of a setup that makes it fit.
type Remedy struct {
	Text   string // "recompute full", "tp 2", in the words of the command line
	Also   string // what follows from it: "dp 64, microbatches 240"; often empty
	Setup  Setup
	Report Report
}

// Remedies turns each knob that can save memory by as little as makes the setup
// fit, and returns those turns, the fastest step first.
func Remedies(s *Setup) []Remedy {
	var e Evaluator
	var list []Remedy
	for _, changes := range memoryTurns(s) {
		for _, c := range changes {
			r := e.Evaluate(c.Setup)
			if !r.Legal || !r.Memory.Fits {
				continue
			}
			c.Report = r
			list = append(list, c)
			break
		}
	}
	slices.SortStableFunc(list, func(a, b Remedy) int { return cmp.Compare(a.Report.Time.Step, b.Report.Time.Step) })
	return list
}

// memoryTurns lists, knob by knob, the changes that may save memory, from the
// smallest to the largest.
func memoryTurns(s *Setup) [][]Remedy {
	locks := Locks{GPUs: true, Batch: true}
	var knobs [][]Remedy
	for _, id := range []ParamID{"tp", "pp", "cp", "ep", "zero"} {
		var up []Remedy
		past := false
		for _, step := range Steps(*s, id, locks) {
			if past {
				up = append(up, remedy(s, id, step.Text, step.Setup))
			}
			past = past || step.Current
		}
		knobs = append(knobs, up)
	}
	var smaller []Remedy
	for _, step := range slices.Backward(Steps(*s, "mbs", locks)) {
		if step.Setup.MBS < s.MBS {
			smaller = append(smaller, remedy(s, "mbs", step.Text, step.Setup))
		}
	}
	words := func(id ParamID, texts ...string) []Remedy {
		var list []Remedy
		for _, text := range texts {
			if t, err := Turn(*s, id, text, locks); err == nil && t != *s && legal(&t) {
				list = append(list, remedy(s, id, text, t))
			}
		}
		return list
	}
	again := []string{string(recipe.RecomputeSelective)}
	if s.Recompute.Mode != recipe.RecomputeFull {
		for n := 1; n*s.PP < s.Model.Layers; n *= 2 {
			again = append(again, recipe.Recompute{Mode: recipe.RecomputeFull, Layers: n}.String())
		}
	}
	if s.PP > 1 { // with whole backwards, then in about a half and a third of that
		knobs = append(knobs, words("schedule", string(schedule.OneFOneB), string(schedule.VHalf), string(schedule.VMin)))
	}
	return append(knobs, smaller,
		words("recompute", append(again, string(recipe.RecomputeFull))...),
		words("grad-dtype", string(recipe.GradBF16)))
}

func remedy(s *Setup, id ParamID, text string, t Setup) Remedy {
	var also []string
	for field, value := range difference(s, &t) {
		switch value {
		case true:
			value = "on"
		case false:
			value = "off"
		}
		if field != string(id) {
			also = append(also, fmt.Sprintf("%s %v", field, value))
		}
	}
	slices.Sort(also)
	return Remedy{Text: string(id) + " " + text, Also: strings.Join(also, ", "), Setup: t}
}
