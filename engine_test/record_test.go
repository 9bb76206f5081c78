package engine_test

import (
	"math"
	"testing"

	"meshscope/engine"
	"meshscope/engine/record"
	"meshscope/engine_test/draws"

	"pgregory.net/rapid"
)

// The text of every formula that an evaluation records, worked out with its
// operands, gives the number that the engine worked out, and a record does not
// change an evaluation.
func TestRecordedFormulasGiveTheirFigures(t *testing.T) {
	w, whole := newWorld(t), wholeWorld()
	t.Run("any", func(t *testing.T) {
		draws.CheckFew(t, 8, func(t *rapid.T) { holds(t, w.legalSetup(t)) })
	})
	t.Run("likely", func(t *testing.T) {
		draws.CheckFew(t, 8, func(t *rapid.T) {
			for range 20 {
				if s, ok := whole.likely(t); ok {
					holds(t, s)
					return
				}
			}
			t.Skip("no legal setup drawn")
		})
	})
}

// holds fails unless every recorded formula gives its figure.
func holds(t failer, s engine.Setup) {
	_, rec := engine.EvaluateRecorded(s)
	for _, id := range rec.Conflicts() {
		t.Fatalf("%s is recorded twice, not alike\n%+v", id, s)
	}
	for _, id := range rec.IDs() {
		e, _ := rec.Entry(id)
		x, err := rec.Formula(id)
		if err != nil {
			t.Fatalf("%v\n%+v", err, s)
		}
		if result := x.Result(); !(math.Abs(result-e.Value) <= 1e-9*spread(x)) {
			t.Fatalf("%s: the engine says %.17g, its formula %.17g\n%s\n%+v", id, e.Value, result, e.Formula,
				s)
		}
		if e.Name == "" || e.Symbol == "" || e.Source == "" {
			t.Fatalf("%s is incomplete: %+v", id, e)
		}
	}
}

// spread is how large the numbers are that a formula's result is left of: what is
// left of a difference is as exact as they are.
func spread(x *record.Expr) float64 {
	switch x.Op {
	case record.Plus, record.Minus:
		sum := 0.0
		for _, a := range x.Args {
			sum += spread(a)
		}
		return sum
	case record.Times:
		product := 1.0
		for _, a := range x.Args {
			product *= spread(a)
		}
		return product
	case record.Over:
		return spread(x.Args[0]) / math.Abs(x.Args[1].Result())
	case record.Max, record.Min:
		most := 0.0
		for _, a := range x.Args {
			most = max(most, spread(a))
		}
		return most
	default:
		return math.Abs(x.Result())
	}
}
