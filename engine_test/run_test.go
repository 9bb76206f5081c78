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
	if err != nil || strings.Contains(string(text), "cost_usd") ||
		strings.Contains(string(text), "energy_kwh") {
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
		{"price", "$2.5", 2.5, "2.5"},
		{"power", "650", 650, "650"},
		{"pue", "1.08", 1.08, "1.08"},
		{"facility-pue", "1.2", 1.2, "1.2"},
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
		{"tokens", "-5", "1k"},
		{"tokens", "0", "1k"},
		{"tokens", "2.5", "2.5T"}, // T is forgotten
		{"tokens", "300", "300T"},
		{"tokens", "999", "999T"},
		{"price", "0", "0.001"},
		{"pue", "-0.0", "1"},
		{"tokens", "1e-400", "1k"},
		{"tokens", "1e30", "1e+18"},
		{"price", "2k", ""},
		{"price", "0x10", ""},
		{"price", "NaN", ""},
		{"price", "-1", "0.001"},
		{"power", "1e9", "100000"},
		{"pue", "0.9", "1"},
		{"facility-pue", "11", "10"},
		{"goodput", "120", "100"},
		{"goodput", "0.95", "95"}, // a share
		{"goodput", "0.07", "7"},
		{"goodput", "0.001", "1"},
		{"tokens", "$2", ""},
	} {
		p, _ := knob.Find(knob.ID(c[0]))
		_, err := p.Set(s, c[1])
		var bad *knob.ValueError
		if !errors.As(err, &bad) || bad.Field != c[0] || bad.Given != c[1] || bad.Allowed == "" ||
			bad.Nearest != c[2] {
			t.Errorf("%s %s: %v", c[0], c[1], err)
		}
	}
	s.PUE = 0.5
	if problems := engine.Check(s); len(problems) == 0 || problems[0].Field != "pue" {
		t.Errorf("a PUE of 0.5 passes: %v", problems)
	}
}

// TestTypicalRun: what is not given of a whole run has public figures next to the given ones, each with its
// source, and they give back what the runs that they are from report.
func TestTypicalRun(t *testing.T) {
	lib := presets.Default()
	s := presets.DefaultSetup()
	s.Budget = 1e12
	r := engine.Evaluate(s)
	usual := engine.TypicalRun(&s, r.Time)
	public := &s.Cluster.Published.Typical
	share := public.Share(64, float64(s.Model.Total()))
	if usual.Goodput != share || *usual.Power != 0.85*700 || math.Abs(usual.PUE-1.2*7752/(8*595)) > 1e-9 {
		t.Errorf("goodput %v, power %v, power over GPUs %v", usual.Goodput, *usual.Power, usual.PUE)
	}
	if days := r.Run.Days / share; math.Abs(usual.Days-days) > 1e-9*days || r.Run.Goodput != 1 ||
		r.Run.PUE != 1 {
		t.Errorf("%v days, %v without losses", usual.Days, r.Run.Days)
	}
	for i, words := range []string{
		"goodput: 99 %; 419 failures in 54 days", "power: 595 W per GPU, 85 %",
		"machine: 1.63 times its GPUs, a node", "facility: PUE 1.2, Jean Zay",
	} {
		if a := usual.Assumptions[i]; !strings.HasPrefix(a, words) || !strings.Contains(a, "arXiv 2") {
			t.Errorf("typical of a run is %q", a)
		}
	}

	given := s
	given.Goodput, given.Power, given.PUE = 90, 600, 1.9
	if got := engine.TypicalRun(&given, r.Time); got != nil {
		t.Errorf("with all given: %v", got.Assumptions)
	}
	given.PUE = 0
	if got := engine.TypicalRun(&given, r.Time); len(got.Assumptions) != 2 || got.Goodput != 0.9 ||
		*got.Power != 600 {
		t.Errorf("with goodput and power given: %v", got.Assumptions)
	}
	if given.Budget = 0; engine.TypicalRun(&given, r.Time) != nil {
		t.Error("a typical run of no tokens")
	}

	// A facility's PUE counts hosts by what is published of machines; a given figure of all power has them.
	s.Site = 1.1
	if pue := engine.Evaluate(s).Run.PUE; math.Abs(pue-1.1*public.Node.OverGPUs()) > 1e-9 {
		t.Errorf("facility PUE 1.1: %v times the GPUs", pue)
	}
	rack, err := lib.Cluster("gb200-nvl72")
	if err != nil {
		t.Fatal(err)
	}
	s.Cluster = rack
	if pue := engine.Evaluate(s).Run.PUE; math.Abs(pue-1.1*135000/(72*1400)) > 1e-9 {
		t.Errorf("facility PUE 1.1 of a rack: %v times the GPUs", pue)
	}
	s.PUE = 1.5
	if pue := engine.Evaluate(s).Run.PUE; pue != 1.5 {
		t.Errorf("all power 1.5 times the GPUs' gives %v", pue)
	}

	// Published: more than 90 % of 405B on 16,384 GPUs, 97 % on 9,600 of another kind of run; 40 s for a
	// checkpoint of 176B on 384 GPUs.
	if got := public.Share(16384, 405e9); got < 0.88 || got > 0.93 {
		t.Errorf("Llama 3 405B: %v", got)
	}
	g := &public.Goodput
	if save := 176e9 * g.Bytes / (g.Storage * 1e9 * 384 / g.GPUs); save < 35 || save > 60 {
		t.Errorf("a checkpoint of BLOOM takes %v s", save)
	}
	for gpus := 8.; gpus < 1e7; gpus *= 2 {
		if a, b := public.Share(gpus, 70e9), public.Share(2*gpus, 70e9); b > a || b < 0.01 {
			t.Errorf("goodput of %v GPUs %v, of twice as many %v", gpus, a, b)
		}
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
		for _, id := range []knob.ID{"tokens", "price", "power", "pue", "facility-pue", "goodput"} {
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
