package engine

import (
	"fmt"

	"meshscope/engine/memory"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// WhyNotFit says in one sentence why a legal setup does not fit: the fullest
// rank, by how much, its largest term and where that comes from. Empty when the
// setup fits or is illegal.
func WhyNotFit(s *Setup, r *Report) string {
	if r.Memory == nil || r.Memory.Fits {
		return ""
	}
	m := r.Memory
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
	Text   string // "recompute full"
	Setup  Setup
	Report Report
}

// Remedies tries single changes that save memory and returns those after which
// the setup fits, the fastest first.
func Remedies(s *Setup) []Remedy {
	var e Evaluator
	var list []Remedy
	try := func(text string, t Setup) {
		if t == *s {
			return
		}
		r := e.Evaluate(t)
		if !r.Legal || !r.Memory.Fits {
			return
		}
		at := len(list)
		for at > 0 && list[at-1].Report.Time.Step > r.Time.Step {
			at--
		}
		list = append(list, Remedy{})
		copy(list[at+1:], list[at:])
		list[at] = Remedy{Text: text, Setup: t, Report: r}
	}
	for _, mode := range []recipe.RecomputeMode{recipe.RecomputeSelective, recipe.RecomputeFull} {
		t := *s
		t.Recompute = recipe.Recompute{Mode: mode}
		try("recompute "+string(mode), t)
	}
	locks := Locks{GPUs: true, Batch: true}
	for _, id := range []ParamID{"tp", "pp", "cp", "ep", "mbs", "zero"} {
		for _, step := range Steps(*s, id, locks) {
			try(string(id)+" "+step.Text, step.Setup)
		}
	}
	return list
}
