package engine_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
)

// TestWholeRun works a run out by hand from the step time.
func TestWholeRun(t *testing.T) {
	s := presets.DefaultSetup()
	if r := engine.Evaluate(s); r.Run != nil {
		t.Fatalf("a run without a budget: %+v", r.Run)
	}
	s.RunPlan = knob.RunPlan{Budget: 1e12, Price: 3, Power: 500, PUE: 1.2, Goodput: 80}
	r := engine.Evaluate(s)
	steps := math.Ceil(1e12 / (512 * 8192))
	seconds := steps * float64(r.Time.Step) / 0.8
	gpuHours := 64 * seconds / 3600
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"steps", r.Run.Steps, steps},
		{"training", float64(r.Run.Training), steps * float64(r.Time.Step)},
		{"seconds", float64(r.Run.Seconds), seconds},
		{"days", r.Run.Days, seconds / 86400},
		{"GPU-hours", r.Run.GPUHours, gpuHours},
		{"cost", *r.Run.Cost, 3 * gpuHours},
		{"energy", *r.Run.Energy, gpuHours * 0.5 * 1.2},
	} {
		if math.Abs(c.got-c.want) > 1e-9*c.want {
			t.Errorf("%s is %v, by hand %v", c.name, c.got, c.want)
		}
	}
	if r.Run.ValidatedBy != r.Time.ValidatedBy {
		t.Error("the run has another band than its step")
	}
}

// TestWholeRunInventsNothing: what nobody said and no preset knows is absent and
// named; what a preset knows is taken and its source is said.
func TestWholeRunInventsNothing(t *testing.T) {
	s := presets.DefaultSetup()
	s.Budget = 1e12
	r := engine.Evaluate(s).Run
	if g := &s.Cluster.GPU; *r.Price != g.PriceUSD || *r.Power != g.TDPWatt || r.PUE != 1 || r.Goodput != 1 {
		t.Errorf("not the preset's figures: %+v", r)
	}
	said := strings.Join(r.Assumptions, "\n")
	for _, want := range []string{s.Cluster.GPU.PriceSource, "TDP", "GPUs alone", "nothing is lost"} {
		if !strings.Contains(said, want) {
			t.Errorf("the assumptions do not say %q:\n%s", want, said)
		}
	}
	s.Cluster.GPU.PriceUSD, s.Cluster.GPU.TDPWatt = 0, 0
	r = engine.Evaluate(s).Run
	if r.Cost != nil || r.Energy != nil || r.Price != nil || r.Power != nil {
		t.Errorf("worked out from nothing: %+v", r)
	}
	said = strings.Join(r.Assumptions, "\n")
	for _, want := range []string{"cost: unknown", "energy: unknown", "--price", "--power"} {
		if !strings.Contains(said, want) {
			t.Errorf("the assumptions do not say %q:\n%s", want, said)
		}
	}
	text, err := json.Marshal(r)
	if err != nil || strings.Contains(string(text), "cost_usd") || strings.Contains(string(text), "energy_kwh") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestWholeRunFigures: what can be said, and what is refused by name.
func TestWholeRunFigures(t *testing.T) {
	s := presets.DefaultSetup()
	for _, c := range []struct {
		id, text string
		want     float64
		shown    string
	}{
		{"tokens", "15T", 15e12, "15T"},
		{"tokens", "15.6t", 15.6e12, "15.6T"},
		{"tokens", "300B", 300e9, "300B"},
		{"tokens", "2.5e9", 2.5e9, "2.5B"},
		{"tokens", "123456789", 123456789, "123456789"},
		{"tokens", "none", 0, "none"},
		{"price", "2.49", 2.49, "2.49"},
		{"power", "650", 650, "650"},
		{"pue", "1.08", 1.08, "1.08"},
		{"goodput", "92.5", 92.5, "92.5"},
	} {
		p, _ := knob.Find(knob.ID(c.id))
		got, err := p.Set(s, c.text)
		if err != nil || p.Text(got) != c.shown {
			t.Errorf("%s %s is shown as %q, %v", c.id, c.text, p.Text(got), err)
		}
		if v, err := p.ParseFigure(c.text); err != nil || v != c.want {
			t.Errorf("%s %s is %v, %v", c.id, c.text, v, err)
		}
	}
	for _, c := range [][3]string{
		{"tokens", "many", ""},
		{"tokens", "-5", "1"},
		{"tokens", "0", "1"},
		{"price", "0", "0.001"},
		{"pue", "-0.0", "1"},
		{"tokens", "1e-400", "1"},
		{"tokens", "1e30", "1e+18"},
		{"price", "2k", ""},
		{"price", "0x10", ""},
		{"price", "NaN", ""},
		{"price", "-1", "0.001"},
		{"power", "1e9", "100000"},
		{"pue", "0.9", "1"},
		{"goodput", "120", "100"},
	} {
		p, _ := knob.Find(knob.ID(c[0]))
		_, err := p.Set(s, c[1])
		var bad *knob.ValueError
		if !errors.As(err, &bad) || bad.Field != c[0] || bad.Given != c[1] || bad.Allowed == "" || bad.Nearest != c[2] {
			t.Errorf("%s %s: %v", c[0], c[1], err)
		}
	}
	s.PUE = 0.5
	if problems := engine.Check(s); len(problems) == 0 || problems[0].Field != "pue" {
		t.Errorf("a PUE of 0.5 passes: %v", problems)
	}
}

// TestPlansKeepTheirFigures: every plan reads back as itself from its words, its
// JSON and its TOML, steps along its ladder upwards, and a longer run is never
// cheaper.
func TestPlansKeepTheirFigures(t *testing.T) {
	lib := presets.Default()
	draws.Check(t, func(t *rapid.T) {
		s := presets.DefaultSetup()
		s.RunPlan = drawPlan(t)
		for _, write := range []func(engine.Setup) ([]byte, error){setupdoc.JSON, setupdoc.TOML} {
			text, err := write(s)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := setupdoc.Parse("", text)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := doc.Setup(lib); err != nil || back != s {
				t.Fatalf("reads back as %+v, %v", back.RunPlan, err)
			}
		}
		if flags, ok := setupdoc.Flags(s, lib); !ok {
			t.Fatalf("no flags give %+v: %s", s.RunPlan, flags)
		}
		for _, id := range []knob.ID{"tokens", "price", "power", "pue", "goodput"} {
			p, _ := knob.Find(id)
			last := -1.0
			for _, step := range knob.Steps(s, id, knob.Locks{}) {
				v, err := p.ParseFigure(step.Text)
				if err != nil || v <= last {
					t.Fatalf("%s: %q after %v, %v", id, step.Text, last, err)
				}
				last = v
			}
		}
		longer := s
		longer.Budget = min(2*s.Budget+1, 1e18)
		short, long := engine.Evaluate(s).Run, engine.Evaluate(longer).Run
		if short != nil && (long.Days < short.Days || long.Cost != nil && *long.Cost < *short.Cost) {
			t.Fatalf("%v days for more tokens, %v for fewer", long.Days, short.Days)
		}
	})
}
