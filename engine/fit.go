package engine

import (
	"strconv"
	"strings"

	"meshscope/engine/memory"
	"meshscope/engine/recipe"
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
