package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/memory"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
)

// shortfall says in one sentence why a setup does not fit: the fullest rank, by
// how much, its largest term and where that comes from. It is written at every
// evaluation, so it makes no other string on the way.
func shortfall(s *Setup, m *Memory) string {
	rank := &m.Ranks[m.PeakRank]
	var w sentence
	w.text.Grow(256)
	w.say("rank ").count(rank.Rank).say(" needs ").gib(rank.Total).say(" GiB, ").gib(rank.Total - m.Usable).
		say(" more than the ").gib(m.Usable).say(" of ").say(s.Cluster.GPU.Name).say(": ")
	term, bytes := largest(rank)
	w.say(term).say(" alone are ").gib(bytes).say(" GiB, ")
	w.cause(s, rank, term)
	return w.text.String()
}

// The terms that can be the largest.
const (
	termActivations = "activations"
	termWeights     = "weights"
	termGradients   = "gradients"
	termOptimizer   = "optimizer states"
	termLogits      = "logits"
	termBuffers     = "buffers"
)

func largest(rank *memory.Rank) (term string, bytes units.Bytes) {
	term, bytes = termActivations, rank.Activations
	for _, t := range [...]struct {
		name  string
		bytes units.Bytes
	}{
		{termWeights, rank.Weights},
		{termGradients, rank.Gradients},
		{termOptimizer, rank.Optimizer},
		{termLogits, rank.Logits},
		{termBuffers, rank.Buffers},
	} {
		if t.bytes > bytes {
			term, bytes = t.name, t.bytes
		}
	}
	return term, bytes
}

// sentence is text that grows in one piece of memory.
type sentence struct{ text strings.Builder }

func (w *sentence) say(words string) *sentence {
	w.text.WriteString(words)
	return w
}

func (w *sentence) count(n int) *sentence {
	var digits [20]byte
	w.text.Write(strconv.AppendInt(digits[:0], int64(n), 10))
	return w
}

func (w *sentence) gib(b units.Bytes) *sentence { return w.number(b.GiB(), 'f', 1) }

// number writes a number in a format of strconv.
func (w *sentence) number(x float64, format byte, precision int) *sentence {
	var digits [32]byte
	w.text.Write(strconv.AppendFloat(digits[:0], x, format, precision, 64))
	return w
}

// cause says where a term comes from.
func (w *sentence) cause(s *Setup, rank *memory.Rank, term string) {
	switch term {
	case termLogits:
		w.say("of ").count(int(s.MicroBatchTokens())).say(" tokens over a vocabulary of ").count(s.Model.Vocab)
	case termBuffers:
		w.say("temporaries of the software stack")
	case termWeights, termGradients, termOptimizer:
		w.say("for ").number(rank.Parameters/1e9, 'g', 3).say(" B parameters on a GPU under ZeRO-").count(s.ZeRO)
	default:
		flying := " micro-batches in flight at once under "
		if rank.InFlight == 1 {
			flying = " micro-batch in flight under "
		}
		w.say("those of ").number(rank.InFlight, 'g', 4).say(flying).say(string(s.Schedule)).
			say(" over ").count(rank.Layers).say(" layers")
		if s.Recompute.Mode == recipe.RecomputeNone {
			w.say(", nothing recomputed")
		} else {
			w.say(", recompute ").say(s.Recompute.String())
		}
		if rank.WeightInputs > rank.Activations/2 {
			w.say(", ").gib(rank.WeightInputs).say(" GiB of it kept for weight gradients that the schedule puts off")
		}
	}
}

// Remedy is one change of a setup that makes it fit. Its report comes without a
// timeline.
type Remedy struct {
	Text   string // "recompute full", "tp 2", in the words of the command line
	Also   string // what follows from it: "dp 64, microbatches 240"; often empty
	Setup  Setup
	Report Report
}

// remedyWork is up to which work a turn is tried, in operations of the pipeline:
// where the global batch is kept, fewer data-parallel ranks or smaller
// micro-batches make it many times longer. A turn that adds none is always tried.
const remedyWork = 1 << 18

// Remedies turns each knob that can save memory by as little as makes the setup
// fit, and returns those turns, the fastest step first. Once stop (nil: never)
// says true it returns none.
func Remedies(s *Setup, stop func() bool) []Remedy {
	e := Evaluator{Brief: true}
	var list []Remedy
	most := max(remedyWork, s.Spec().Work())
	for _, changes := range memoryTurns(s) {
		for _, c := range changes {
			if c.Setup.Spec().Work() > most {
				continue
			}
			r, done := e.EvaluateUntil(c.Setup, stop)
			if !done || stop != nil && stop() {
				return nil
			}
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
