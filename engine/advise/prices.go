package advise

import (
	"cmp"
	"math"
	"slices"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// Price is what a value that nobody chose is worth: the step with another value of its knob.
type Price struct {
	Knob knob.ID
	Now  string // its value in the setup
	Word string
	Step units.Seconds
	Slow bool // the step is longer than that of the setup
}

// mostPrices is how many are worth a place next to a verdict.
const mostPrices = 2

// Prices returns what the software and the precision of a setup with a report are worth where they are not
// among the fixed knobs: of each knob the other value, of those that stack and launcher have, that moves the
// step most; the dearest first. A step that is too close to call has none. Once stop (nil: never) says true
// there are none.
func Prices(s *engine.Setup, r *engine.Report, fixed knob.Set, accepts func(*engine.Setup) bool,
	stop func() bool,
) []Price {
	if !r.Legal || r.Time == nil || s.Slow() {
		return nil
	}
	e := engine.Evaluator{SkipTimeline: true}
	var out []Price
	off := func(p *Price) float64 { return math.Abs(math.Log(float64(p.Step / r.Time.Step))) }
	for _, alike := range assumed(s, fixed) {
		var dearest Price
		for i := range alike {
			t := &alike[i]
			if accepts != nil && !accepts(&t.setup) {
				continue
			}
			other, done := e.EvaluateUntil(t.setup, stop)
			switch {
			case !done:
				return nil
			case !other.Legal || other.Time.Step == r.Time.Step || r.Time.TooClose(other.Time):
				continue
			}
			if p := (Price{
				t.knob, t.now, t.word, other.Time.Step,
				other.Time.Step > r.Time.Step,
			}); dearest.Knob == "" || off(&p) > off(&dearest) {
				dearest = p
			}
		}
		if dearest.Knob != "" {
			out = append(out, dearest)
		}
	}
	slices.SortStableFunc(out, func(a, b Price) int { return cmp.Compare(off(&b), off(&a)) })
	return out[:min(len(out), mostPrices)]
}

// otherwise is a setup with another value of one knob.
type otherwise struct {
	knob      knob.ID
	now, word string
	setup     engine.Setup
}

// assumed returns the other values of each knob that was not chosen, which advice turns too. What overlaps
// (--comm-overlap) is the slow end of the step, which is said apart; of the precision 16 bits alone are what
// one may have meant without a word.
func assumed(s *engine.Setup, fixed knob.Set) (out [][]otherwise) {
	if s.Cluster.Calibration == nil {
		return nil
	}
	run := s.Cluster.Calibration.For(s.Stack).Run(&s.Software)
	for _, f := range recipe.SoftwareFields() {
		k, ok := knob.Find(knob.ID(f.Knob))
		if !ok || f.Knob == recipe.KnobOverlap || fixed.Has(k.ID) {
			continue
		}
		if why := ""; k.Off != nil {
			if why, _ = k.Off(s); why != "" {
				continue
			}
		}
		var words []otherwise
		for _, word := range f.Words {
			if word == recipe.Auto || word == *f.Of(&run) || !s.Stack.Has(f.Knob, word) {
				continue
			}
			t := *s
			*f.Of(&t.Software) = word
			words = append(words, otherwise{k.ID, *f.Of(&run), word, t})
		}
		out = append(out, words)
	}
	if s.Precision.ProductBits() < 16 && !fixed.Has(knob.Precision) {
		t := *s
		t.Precision = recipe.BF16
		out = append(out, []otherwise{{knob.Precision, string(s.Precision), string(recipe.BF16), t}})
	}
	return out
}
