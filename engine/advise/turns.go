package advise

import (
	"cmp"
	"slices"

	"meshscope/engine"
	"meshscope/engine/compare"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/search/bound"
	"meshscope/engine/units"
)

// adviser computes the advice on one setup.
type adviser struct {
	options   Options
	now       engine.Setup
	report    engine.Report
	step      units.Seconds // its slow end (engine.PessimisticStep), by which moves are ranked
	evaluator engine.Evaluator
	bounds    bound.Bounder
	knobs     []knob.ID // those that are turned
	turns     []turned  // each of them alone, evaluated
	looked    Looked
	found     *Move // the best layout of a search for the same; nil: not known
	none      bool  // such a search finds nothing
	within    *reached
	thirds    []pair // triples of it
}

// turned is one knob at one of its other values.
type turned struct {
	knob knob.ID
	text string
	Move
}

// locks of every move: the same GPUs, the same global batch.
func locks() knob.Locks { return knob.Locks{GPUs: true, Batch: true} }

// values of a knob are its ladder, without another update rule or stored scores; recomputation gets some of
// the layers too.
func values(s *engine.Setup, id knob.ID) []knob.Step {
	steps := knob.Steps(*s, id, locks())
	var more []string
	switch id {
	case knob.Recompute:
		for n := 1; n < (s.Model.Layers+s.PP-1)/s.PP; n *= 2 {
			more = append(more, recipe.Recompute{Mode: recipe.RecomputeFull, Layers: n}.String())
		}
	case knob.Optimizer:
		steps = slices.DeleteFunc(steps,
			func(v knob.Step) bool { return v.Setup.Optimizer.Rule() != s.Optimizer.Rule() })
	case knob.SP: // without TP it does nothing, and such a stack has none
		if s.Stack.Traits().DataParallelOnly && s.TP == 1 {
			return nil
		}
	case knob.Attention: // stored scores are nobody's way out
		steps = slices.DeleteFunc(steps,
			func(v knob.Step) bool { return v.Setup.Attention == recipe.Standard })
	case knob.BaseDtype: // Unsloth alone trains on it
		steps = slices.DeleteFunc(steps, func(v knob.Step) bool {
			return v.Setup.BaseDtype == recipe.BaseFP8 && s.BaseDtype != recipe.BaseFP8
		})
	default:
	}
	for _, text := range more {
		if t, err := knob.Turn(*s, id, text, locks()); err == nil && engine.Legal(t) {
			steps = append(steps, knob.Step{Text: text, Setup: t})
		}
	}
	return steps
}

// stopped reports whether nobody waits any more.
func (a *adviser) stopped() bool { return a.options.Stop != nil && a.options.Stop() }

// slow reports whether evaluating a change takes longer than advice is worth: a change
// may multiply the micro-batches. One that adds no work is always tried.
func (a *adviser) slow(s *engine.Setup) bool {
	const most = 1 << 18
	return s.Spec().Work() > max(most, a.now.Spec().Work())
}

// turnEach evaluates every other value of every knob, those that have a price next to a verdict too.
func (a *adviser) turnEach() {
	a.knobs = knob.Advised()
	for _, id := range a.knobs {
		for _, v := range values(&a.now, id) {
			if v.Current || v.Setup == a.now || a.slow(&v.Setup) {
				continue
			}
			if a.stopped() {
				return
			}
			if m, ok := a.try(v.Setup, 1); ok {
				a.turns = append(a.turns, turned{id, v.Text, m})
			}
		}
	}
	for _, alike := range assumed(&a.now, knob.Set{}) {
		for i := range alike {
			t := &alike[i]
			if a.stopped() {
				return
			}
			if m, ok := a.try(t.setup, 1); ok {
				a.turns = append(a.turns, turned{t.knob, t.word, m})
			}
		}
		if len(alike) > 0 {
			a.knobs = append(a.knobs, alike[0].knob)
		}
	}
	a.looked.Singles = len(a.turns)
}

// try evaluates a setup as a move from the one that is advised on.
func (a *adviser) try(s engine.Setup, turns int) (Move, bool) {
	r, done := a.evaluator.EvaluateUntil(s, a.options.Stop)
	if !done || !r.Legal {
		return Move{}, false
	}
	m := Move{Changes: compare.Changes(&a.now, &s), Turned: turns, Setup: s, Report: r}
	if m.PessimisticStep, m.fuller, done = a.evaluator.PessimisticStep(&s, &r, a.options.Stop); !done {
		return Move{}, false
	}
	m.Speed = float64(a.step / m.PessimisticStep)
	m.Saved = a.report.Memory.Peak - r.Memory.Peak
	m.Fits, m.Roomy = m.fuller.Fits, a.roomy(m.fuller)
	m.Last = a.last(&m)
	m.NowRefused = knob.LauncherRejects(r.Problems) && !knob.LauncherRejects(a.report.Problems)
	if runs := a.options.Accepts; runs != nil {
		m.NowRefused = !runs(&s)
	}
	return m, true
}

// Knob is what one knob alone can do: from its best to its worst legal value.
type Knob struct {
	ID      knob.ID `json:"knob"`
	Current string  `json:"current"`
	Now     Value   `json:"-"`      // the current value
	Values  []Value `json:"values"` // in the order of the ladder, the current one left out
	// Fastest and Slowest step, least and most memory over all values, the
	// current one counted: what a tornado chart draws.
	Fastest, Slowest units.Seconds `json:"-"`
	Least, Most      units.Bytes   `json:"-"`
}

// Value is one value of a knob.
type Value struct {
	Text string        `json:"value"`
	Step units.Seconds `json:"pessimistic_step_seconds"` // the slow end (engine.PessimisticStep)
	Peak units.Bytes   `json:"peak_bytes"`
	// Expected is the step of the report, of which Step is the slow end.
	Expected units.Seconds `json:"step_seconds"`

	StepBand float64 `json:"error_band_step"` // relative errors of Step and Peak, see engine.Evidence
	PeakBand float64 `json:"error_band_memory"`

	Fits bool `json:"fits"`
	// Refused says that some launcher would not run it, though all would run the setup
	// that is advised on.
	Refused bool `json:"refused,omitempty"`
	// Last is why other values that fit come before it; see Move.
	Last string `json:"ranked_last_because,omitempty"`
}

// Expected returns the knob with the steps that reports show in place of their slow ends.
func (k *Knob) Expected() Knob {
	out := *k
	out.Values = slices.Clone(k.Values)
	out.Now.Step = k.Now.Expected
	for i := range out.Values {
		out.Values[i].Step = out.Values[i].Expected
	}
	return out
}

// Ends returns the values with the shortest and the longest step, whether they fit or
// not; the current one where no other is shorter or longer.
func (k *Knob) Ends() (fastest, slowest *Value) {
	fastest, slowest = &k.Now, &k.Now
	for i := range k.Values {
		v := &k.Values[i]
		if v.Step < fastest.Step {
			fastest = v
		}
		if v.Step > slowest.Step {
			slowest = v
		}
	}
	return fastest, slowest
}

// Reach returns the shortest and the longest step at values that fit, the current one
// counted; false where none fits.
func (k *Knob) Reach() (shortest, longest units.Seconds, ok bool) {
	note := func(v *Value) {
		switch {
		case !v.Fits:
		case !ok:
			shortest, longest, ok = v.Step, v.Step, true
		default:
			shortest, longest = min(shortest, v.Step), max(longest, v.Step)
		}
	}
	note(&k.Now)
	for i := range k.Values {
		note(&k.Values[i])
	}
	return shortest, longest, ok
}

// Best returns the value with the shortest step of those that fit, those with a reason to come last after
// the others and those that some launcher refuses after all; the current one where it is the best, nil where
// none fits.
func (k *Knob) Best() *Value {
	var best *Value
	if k.Now.Fits {
		best = &k.Now
	}
	for i := range k.Values {
		if v := &k.Values[i]; v.Fits && (best == nil || v.before(best)) {
			best = v
		}
	}
	return best
}

// before reports whether a value comes before another one.
func (v *Value) before(w *Value) bool {
	if v.Refused != w.Refused {
		return w.Refused
	}
	if (v.Last == "") != (w.Last == "") {
		return v.Last == ""
	}
	return v.Step < w.Step
}

// tornado sums up the turns, the knob that can change the step most first.
func (a *adviser) tornado() []Knob {
	var out []Knob
	for _, id := range a.knobs {
		p, ok := knob.Find(id)
		if !ok {
			continue
		}
		step, peak := a.step, a.report.Memory.Peak
		now := Value{
			Text: p.Text(a.now), Step: step, Peak: peak, Fits: a.report.Memory.Fits,
			Last: a.tight(a.report.Memory), StepBand: a.report.Time.ErrorBand,
			PeakBand: a.report.Memory.ErrorBand, Expected: a.report.Time.Step,
		}
		k := Knob{ID: id, Current: now.Text, Now: now, Fastest: step, Slowest: step, Least: peak, Most: peak}
		for i := range a.turns {
			if t := &a.turns[i]; t.knob == id {
				v := Value{
					Text: t.text, Step: t.PessimisticStep, Peak: t.Report.Memory.Peak, Fits: t.Fits,
					Refused: t.NowRefused, Last: t.Last, StepBand: t.Report.Time.ErrorBand,
					PeakBand: t.Report.Memory.ErrorBand, Expected: t.Report.Time.Step,
				}
				k.Values = append(k.Values, v)
				k.Fastest, k.Slowest = min(k.Fastest, v.Step), max(k.Slowest, v.Step)
				k.Least, k.Most = min(k.Least, v.Peak), max(k.Most, v.Peak)
			}
		}
		if len(k.Values) > 0 {
			out = append(out, k)
		}
	}
	slices.SortStableFunc(out,
		func(a, b Knob) int { return cmp.Compare(b.Slowest/b.Fastest, a.Slowest/a.Fastest) })
	return out
}
