package engine_test

import (
	"slices"
	"testing"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/launch"
	"meshscope/presets"
)

// TestPrices: what nobody chose has the price that its flag gives, where that is more than a quarter of the
// error band; what was given has none.
func TestPrices(t *testing.T) {
	for _, c := range []struct {
		model, cluster string
		given          knob.Given
		fixed          knob.Set
		has            knob.ID
	}{
		{
			"deepseek-v3", "deepseek-h800",
			knob.Given{knob.GPUs: 2048, knob.PP: 16, knob.EP: 64},
			knob.Set{},
			knob.Dispatcher,
		},
		{
			"deepseek-v3", "deepseek-h800",
			knob.Given{knob.GPUs: 2048, knob.PP: 16, knob.EP: 64},
			knob.SetOf(knob.Dispatcher), "",
		},
		{
			"llama3.1-70b", "dgx-h100",
			knob.Given{knob.GPUs: 64, knob.TP: 8, knob.PP: 2},
			knob.Set{},
			"tp-overlap",
		},
		{
			"llama3.1-70b", "dgx-h100",
			knob.Given{knob.GPUs: 64, knob.TP: 8, knob.PP: 2},
			knob.SetOf("tp-overlap"), "",
		},
		{"llama3.1-8b", "dgx-h100", knob.Given{knob.GPUs: 8}, knob.Set{}, ""},
	} {
		cluster, err := presets.Default().Cluster(c.cluster)
		if err != nil {
			t.Fatal(err)
		}
		d := knob.DraftOf(presetModel(t, c.model), cluster, c.given)
		d.FollowPublished()
		s, err := d.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		r := engine.Evaluate(s)
		if !r.Legal {
			t.Fatalf("%s: %v", c.model, r.Problems)
		}
		prices := advise.Prices(&s, &r, c.fixed, launch.AcceptsFrom(&s), nil)
		found := len(prices) == 0 && c.has == ""
		for _, p := range prices {
			found = found || p.Knob == c.has
			d := knob.DraftOf(presetModel(t, c.model), cluster, c.given)
			d.FollowPublished()
			d.With(knob.Given{p.Knob: p.Word})
			other, err := d.Resolve()
			if err != nil {
				t.Fatal(err)
			}
			of := engine.Evaluate(other)
			if !of.Legal || of.Time.Step != p.Step {
				t.Errorf("%s: with %s %s a step takes %v, the price is %v", c.model, p.Knob, p.Word,
					of.Time.Step, p.Step)
			}
			slow, fast := max(p.Step, r.Time.Step), min(p.Step, r.Time.Step)
			if float64(slow/fast)-1 <= r.Time.ErrorBand/4 {
				t.Errorf("%s: %s %s is within a quarter of the band", c.model, p.Knob, p.Word)
			}
			if c.fixed.Has(p.Knob) {
				t.Errorf("%s: %s was given", c.model, p.Knob)
			}
		}
		if !found && c.has != "" || c.has == "" && c.fixed == (knob.Set{}) && len(prices) > 0 {
			t.Errorf("%s: %+v, want %q", c.model, prices, c.has)
		}
	}
}

// TestPricesAreMoves: of what nobody chose, the value that has a price and is faster is a move of the advice
// with that step, and every value that has a price stands among those of its knob.
func TestPricesAreMoves(t *testing.T) {
	cluster, err := presets.Default().Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	d := knob.DraftOf(presetModel(t, "llama3.1-70b"), cluster,
		knob.Given{knob.GPUs: 256, knob.TP: 4, knob.PP: 4, knob.VPP: 10, knob.CP: 2})
	d.FollowPublished()
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	r := engine.Evaluate(s)
	prices := advise.Prices(&s, &r, knob.Set{}, nil, nil)
	a, ok := advise.For(s, advise.Options{Alone: true})
	if !ok || len(prices) == 0 {
		t.Fatalf("%v, prices %+v", ok, prices)
	}
	for _, p := range prices {
		tried, moved := false, p.Slow
		for i := range a.Knobs {
			tried = tried || a.Knobs[i].ID == p.Knob && slices.ContainsFunc(a.Knobs[i].Values,
				func(v advise.Value) bool { return v.Text == p.Word && v.Expected == p.Step })
		}
		for i := range a.Moves {
			m := &a.Moves[i]
			moved = moved || m.Turns() == string(p.Knob)+" "+p.Word && m.Report.Time.Step == p.Step
		}
		if !tried || !moved {
			t.Errorf("%s %s: among the values %v, a move %v", p.Knob, p.Word, tried, moved)
		}
	}
}
