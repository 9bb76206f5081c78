// Package advise answers two questions about a setup: why it does not fit and
// what is the cheapest way out, or, where it fits, what limits it and which
// moves are worth trying. Every move is applied and evaluated before it is
// proposed; GPUs and global batch stay as they are.
package advise

import (
	"cmp"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/compare"
	"meshscope/engine/units"
)

// Advice is what is to be said about one setup.
type Advice struct {
	Setup  engine.Setup
	Report engine.Report
	// PessimisticStep is the step without unproven overlap (engine.Pessimistic). Moves and knobs are
	// ranked by theirs; it is the report's step where all overlap is proven.
	PessimisticStep units.Seconds

	Terms  []Term  // memory of the fullest rank, the largest first
	Limits []Limit // the step by what it is spent on, the largest first
	// Moves, those of the fewest changes first and of these the fastest; after them those that bring
	// another kind of parallelism to sharded data parallelism, then those with a reason to come last. Where
	// the setup does not fit they make it fit, or, where nothing that is known does, lower
	// the peak. Where it fits they make it faster and keep it fitting. Fitting is with the
	// margin (engine.Memory.Margin).
	Moves  []Move
	Looked Looked // what the moves were chosen from
	// Knobs are what each knob alone can do to step and peak.
	Knobs []Knob
	Rules []Rule

	roomy bool // the setup itself fits with the margin
}

// Term is one part of the fullest rank's memory.
type Term struct {
	Name  string      `json:"name"` // as in engine.RankMemory
	Bytes units.Bytes `json:"bytes"`
	Share float64     `json:"share"` // of the total
}

// Limit is one thing that the step is spent on.
type Limit struct {
	// Name is compute, recompute, bubble, optimizer or the dimension of exposed traffic.
	Name    string        `json:"name"`
	Seconds units.Seconds `json:"seconds"`
	Share   float64       `json:"share"` // of the step
}

// Move is one or more knobs turned, and what that gives.
type Move struct {
	Changes []compare.Change // the knobs turned first, then what followed
	Turned  int              // how many of the changes were turned
	Setup   engine.Setup
	Report  engine.Report // without timeline
	// PessimisticStep is the step without unproven overlap, Speed how many times as fast that is as
	// the setup's own, Saved how much less the fullest rank holds; negative: more.
	PessimisticStep units.Seconds
	Speed           float64
	Saved           units.Bytes
	Fits            bool
	Roomy           bool // it fits with the margin
	// Last is why the move comes after the others although it is as fast or faster: it is
	// tight, or the model is least sure of what it does; empty: it does not.
	Last string
	// NowRefused says that some launcher would not run it, though all would run the
	// setup; false too where the setup is refused already. Such turns are no moves;
	// rules and knobs show them.
	NowRefused bool

	// Parallelizes says of a fix (Fixes) that it adds TP, PP or CP to sharded data parallelism alone.
	Parallelizes bool

	fuller *engine.Memory // of the end of the step, as predicted or slow, that needs more: both must fit
}

// Turns returns what to turn, in the words of the command line.
func (m *Move) Turns() string {
	var words []string
	for _, c := range m.Changes {
		if c.Follows == "" {
			words = append(words, c.Field+" "+c.B)
		}
	}
	return strings.Join(words, ", ")
}

// Follows returns what follows from the turns, in the same words; empty where nothing does.
func (m *Move) Follows() string {
	var words []string
	for _, c := range m.Changes {
		if c.Follows != "" {
			words = append(words, c.Field+" "+c.B)
		}
	}
	return strings.Join(words, ", ")
}

// Promise returns what the moves do: they make it fit, save memory, or make it faster.
func (a *Advice) Promise() string {
	words := "that make it fit, fewest changes first"
	switch {
	case a.Report.Memory.Fits && !a.roomy && a.First() != nil:
		words = "that leave a margin of memory, fewest changes first"
		if slices.ContainsFunc(a.Moves, func(m Move) bool { return !m.Roomy }) {
			words += "; then tight ones"
		}
	case a.Report.Memory.Fits:
		words = "that make it faster, fewest changes first"
	case len(a.Moves) > 0 && !a.Moves[0].Fits:
		return "that save memory; none makes it fit"
	}
	if len(a.Moves) > 0 && a.First() == nil {
		words += "; none leaves a margin"
	}
	return words
}

// TooClose reports whether a change's step is too close to that of a setup that fits to call: it is faster or
// slower by less than a quarter of the wider error band.
func (a *Advice) TooClose(m *Move) bool {
	if !a.Report.Memory.Fits || m.Speed <= 0 {
		return false
	}
	return max(m.Speed, 1/m.Speed)-1 <= max(a.Report.Time.CloseMargin(), m.Report.Time.CloseMargin())
}

// Untried says what was not tried where nothing makes it fit; empty where something does.
func (a *Advice) Untried() string {
	if a.Report.Memory.Fits || slices.ContainsFunc(a.Moves, func(m Move) bool { return m.Fits }) {
		return ""
	}
	return "Not tried: shorter sequences (--seq), a smaller global batch (--gbs), number formats of 8 or " +
		"4 bits (--precision), another update rule (--optimizer), another stack (--calibration), " +
		"more GPUs or larger ones ('search --objective fewest-gpus')."
}

// First returns the first move that leaves a margin of memory; nil: none does.
func (a *Advice) First() *Move {
	for i := range a.Moves {
		if a.Moves[i].Roomy {
			return &a.Moves[i]
		}
	}
	return nil
}

// Options of For.
type Options struct {
	// Stop ends the work early; nil: never. What was found by then is returned.
	Stop func() bool
	// Moves is how many are wanted; 0 means 8.
	Moves int
	// Accepts says which layouts the user's launcher runs; nil: all. Others are no moves.
	Accepts func(*engine.Setup) bool
	// Headroom is the share of the usable memory that a move must leave free where Limited says
	// that one is given; else it is the margin (engine.Memory.Margin).
	Headroom float64
	Limited  bool
	// Alone leaves out moves of several knobs, which take longer to find, where
	// one knob will do.
	Alone bool
}

// For advises on a setup. The second value is false for one that is illegal
// (engine.Check has what it needs), or when it is stopped before anything is known.
func For(s engine.Setup, o Options) (Advice, bool) {
	a := adviser{options: o, now: s}
	a.evaluator.SkipTimeline = true
	if a.options.Moves <= 0 {
		a.options.Moves = 8
	}
	var done bool
	if a.report, done = a.evaluator.EvaluateUntil(s, o.Stop); !done || !a.report.Legal {
		return Advice{}, false
	}
	if a.step, _, done = a.evaluator.PessimisticStep(&s, &a.report, o.Stop); !done {
		return Advice{}, false
	}
	out := Advice{
		Setup: s, Report: a.report, PessimisticStep: a.step, Terms: terms(&a.report),
		Limits: limits(&a.report),
	}
	a.turnEach()
	out.roomy = a.roomy(a.report.Memory)
	out.Moves = a.moves()
	for i := range a.turns { // a value of a knob comes last where its move does
		a.mark(&a.turns[i].Move)
	}
	out.Knobs = a.tornado()
	out.Looked = a.looked
	out.Rules = a.rules()
	return out, true
}

// terms of the fullest rank.
func terms(r *engine.Report) []Term {
	full := &r.Memory.Ranks[r.Memory.PeakRank]
	list := []Term{
		{Name: "weights", Bytes: full.Weights},
		{Name: "gradients", Bytes: full.Gradients},
		{Name: "optimizer", Bytes: full.Optimizer},
		{Name: "activations", Bytes: full.Activations},
		{Name: "logits", Bytes: full.Logits},
		{Name: "buffers", Bytes: full.Buffers},
		{Name: "overhead", Bytes: full.Overhead},
	}
	for i := range list {
		list[i].Share = float64(list[i].Bytes / full.Total)
	}
	slices.SortStableFunc(list, func(a, b Term) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return list
}

// limits of the step; exposed communication by dimension. Send/recv between
// stages is part of the bubble.
func limits(r *engine.Report) []Limit {
	t := r.Time
	list := []Limit{
		{Name: "compute", Seconds: t.Compute},
		{Name: "recompute", Seconds: t.Recompute},
		{Name: "bubble", Seconds: t.Bubble},
		{Name: "optimizer", Seconds: t.Optimizer},
	}
	for _, c := range r.Communication {
		if c.Dimension != "pp" {
			list = append(list, Limit{Name: c.Dimension, Seconds: c.Exposed})
		}
	}
	kept := list[:0]
	for _, l := range list {
		if l.Share = float64(l.Seconds / t.Step); l.Seconds > 0 {
			kept = append(kept, l)
		}
	}
	slices.SortStableFunc(kept, func(a, b Limit) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return kept
}
