package search

import (
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
	find "meshscope/engine/search"
	"meshscope/presets"
)

// TestHeatCellsLoad: every cell is the best layout of the engine's search for that
// model and number of nodes, and enter takes it.
func TestHeatCellsLoad(t *testing.T) {
	in := small(t)
	v := New(presets.Default())
	v.Refresh(in).Work(t.Context())()
	do := v.press(in, "v")
	for n := 0; do.Work != nil && n < 4; n++ {
		do.Work(t.Context())()
		do = v.Refresh(in)
	}
	h := &v.heat
	found := 0
	for i := range h.cells {
		c := &h.cells[i]
		if !c.found {
			continue
		}
		found++
		h.row, h.column = i/len(h.nodes), i%len(h.nodes)
		take := v.press(in, "enter")
		if take.Setup == nil || take.Setup.Model.ID != h.models[h.row].ID ||
			take.Setup.Nodes() != h.nodes[h.column] {
			t.Fatalf("cell %d gives %v", i, take.Setup)
		}
		p := find.Problem{Setup: base(take.Setup), Top: 1, Objective: find.Throughput, Margin: true}
		if want := find.Run(t.Context(), p, nil); want.Best[0].Report.Time.Step != c.Step {
			t.Errorf("%s on %d nodes: %v, the search says %v", take.Setup.Model.Name, take.Setup.Nodes(),
				c.Step, want.Best[0].Report.Time.Step)
		}
	}
	if found < 3 {
		t.Errorf("%d cells were found", found)
	}
}

// TestHeatMeasured: b shows the fastest published run of each cell in the place of what the
// searches find, and enter takes it: of the playbook's models all 26 cells that ran.
func TestHeatMeasured(t *testing.T) {
	in := small(t)
	lib := presets.Default()
	m, err := lib.Model("playbook-8b")
	if err != nil {
		t.Fatal(err)
	}
	s := knob.WithModel(*in.Setup, m)
	if s.Cluster, err = lib.Cluster("hf-p5-playbook"); err != nil {
		t.Fatal(err)
	}
	s.GPUs, s.DP, s.GBS, s.Seq = 64, 32, 256, 4096
	in.Setup = &s
	v := New(lib)
	v.Refresh(in).Work(t.Context())()
	v.Show("sizes")
	v.press(in, "b").Work(t.Context())()
	h := &v.heat
	ran := map[string]int{}
	for i := range h.cells {
		f, ok := h.run(in, i)
		if !ok {
			continue
		}
		ran[f.setup.Model.ID]++
		h.row, h.column = i/len(h.nodes), i%len(h.nodes)
		if do := v.press(in, "enter"); do.Setup == nil || *do.Setup != f.setup ||
			!strings.Contains(v.heatStatus(in), f.id) {
			t.Errorf("cell %d: %s is not taken, or not named in %q", i, f.id, v.heatStatus(in))
		}
		if f.setup.Model.ID == "playbook-8b" && f.setup.GPUs == 8 && math.Abs(f.tokens-7503.28) > 0.01 {
			t.Errorf("8B on a node: %v tokens/s/GPU, published 7503.28", f.tokens)
		}
	}
	for id, want := range map[string]int{
		"playbook-1b": 7, "playbook-3b": 7, "playbook-8b": 7,
		"playbook-80b": 5,
	} {
		if ran[id] != want {
			t.Errorf("%s: %d cells, %d ran", id, ran[id], want)
		}
	}
	text := ansi.Strip(strings.Join(v.heatMap(in, 100, 12), "\n"))
	if !strings.Contains(text, "measured, the best MFU") ||
		!strings.Contains(text, "more nodes leave less work") {
		t.Error(text)
	}
}

// TestMeasuredRuns: the runs shown are published ones of this model and number of
// GPUs, their predictions the engine's, and enter takes them.
func TestMeasuredRuns(t *testing.T) {
	in := small(t)
	m, err := presets.Default().Model("playbook-8b")
	if err != nil {
		t.Fatal(err)
	}
	s := knob.WithModel(*in.Setup, m)
	s.GPUs, s.DP, s.GBS = 32, 16, 128
	in.Setup = &s
	v := New(presets.Default())
	v.Refresh(in).Work(t.Context())()
	v.press(in, "v")
	v.press(in, "v").Work(t.Context())()
	if len(v.measured.runs) < 5 {
		t.Fatalf("%d runs", len(v.measured.runs))
	}
	for i := range v.measured.runs {
		r := &v.measured.runs[i]
		p := engine.Evaluate(r.setup)
		if r.setup.Model.ID != m.ID || r.setup.GPUs != 32 ||
			r.predicted != p.Throughput.TokensPerSecondPerGPU ||
			i > 0 && r.measured > v.measured.runs[i-1].measured {
			t.Errorf("run %d, %s: %+v", i, r.id, r.setup.Layout)
		}
		if do := v.press(in, "enter"); do.Setup == nil || *do.Setup != r.setup {
			t.Errorf("run %d is not taken", i)
		}
		v.press(in, "down")
	}
}

// TestMeasuredRunsAreHeldAgainstLikes: the current setup is held only against runs on
// its number of GPUs and its GPU; one that cannot run has no prediction; one that is a
// run says so. The error is that of the time, as on Evidence.
func TestMeasuredRunsAreHeldAgainstLikes(t *testing.T) {
	in := small(t)
	v := New(presets.Default())
	one := *in.Setup
	one.ZeRO = 3
	v.measured.runs = []run{{id: "one", setup: one, measured: 1, predicted: 2}}
	say := func(want string) {
		t.Helper()
		if got := v.standingWords(in); !strings.Contains(got, want) ||
			strings.Contains(got, "place 1 among") {
			t.Errorf("%q does not say %q", got, want)
		}
	}
	say("faster than the one run on its GPU")
	v.measured.runs[0].measured = 1e9
	say("not faster than the one run on its GPU")
	v.measured.runs = append(v.measured.runs, run{id: "two", setup: one, measured: 1})
	say("faster than 1 of the 2")
	v.measured.runs[1].setup = *in.Setup
	say("it is run 2")
	for i := range v.measured.runs {
		v.measured.runs[i].setup.Cluster.GPU.ID, v.measured.runs[i].setup.Cluster.GPU.Name = "other",
			"Other 96GB"
	}
	say("no place for your setup, on " + bareName(in.Setup.Cluster.GPU.Name))
	if text := v.measuredRemark(in); !strings.Contains(text, "2 on 8 x Other 96GB") {
		t.Errorf("%q does not name the GPU", text)
	}
	for i := range v.measured.runs {
		v.measured.runs[i].setup.GPUs = 16
	}
	say("no place for your setup, on 8 GPUs")
	in.Problems = engine.Check(engine.Setup{})
	say("is illegal")
	if off := (&run{measured: 876, predicted: 575}).timeError(); math.Abs(off-0.5235) > 0.001 {
		t.Errorf("predicted too slow by a half is %v", off)
	}
	v.measured.done = true
	if text := ansi.Strip(strings.Join(v.measuredTable(in, 90, 10), "\n")); !strings.Contains(text,
		"time error %") {
		t.Errorf("the error is not labelled: %s", text)
	}
}

// TestGuide: the three steps end in the layout that a search with what was chosen
// puts first; what is ruled out says why, and nothing that fits is ruled out.
func TestGuide(t *testing.T) {
	in := small(t)
	v := New(presets.Default())
	v.Refresh(in).Work(t.Context())()
	do := v.press(in, "3")
	finish := func() {
		for do.Work != nil {
			do.Work(t.Context())()
			do = v.Refresh(in)
		}
	}
	finish()
	g := &v.guide
	ruled := 0
	for i := range g.rows[fitStage] {
		o := &g.rows[fitStage][i]
		p := g.problem(fitStage, i)
		if r := find.Run(t.Context(), p, nil); (len(r.Best) > 0) != o.found || !o.done ||
			o.found == (o.why != "") {
			t.Errorf("%s: found %t, why %q, the search has %d", o.name, o.found, o.why, len(r.Best))
		}
		if !o.found {
			ruled++
		}
	}
	if list := g.rules.list; g.rules.of != g.here().row.Setup ||
		!slices.ContainsFunc(list, func(r advise.Rule) bool { return strings.Contains(r.Source, "step 1") }) {
		t.Errorf("no rule of the first step among %d", len(list))
	}
	if ruled == 0 || ruled == len(g.rows[fitStage]) {
		t.Errorf("%d of %d methods are ruled out", ruled, len(g.rows[fitStage]))
	}
	v.press(in, "home")
	if v.press(in, "enter"); g.at != fitStage {
		t.Error("what is ruled out leads on")
	}
	v.press(in, "end")
	do = v.press(in, "enter")
	finish()
	do = v.press(in, "enter")
	finish()
	if g.at != speedStage || len(g.rows[speedStage]) < 10 {
		t.Fatalf("at step %d with %d lines", g.at, len(g.rows[speedStage]))
	}
	best := g.rows[speedStage][0].row
	for i := range g.rows[speedStage] {
		if o := &g.rows[speedStage][i]; o.found && o.row.Speed() > best.Speed() {
			t.Errorf("%s is faster than the best", o.name)
		}
	}
	take := v.press(in, "enter")
	if take.Setup == nil || *take.Setup != v.answer.rows[0].Setup {
		t.Errorf("the steps end in %v, the search in %+v", take.Setup, v.answer.rows[0].Setup.Layout)
	}
	if v.press(in, "esc"); g.open {
		t.Error("esc does not close the guide")
	}
}

// TestHeatKeepsToTheMachine: the map has no more nodes than the machine, and the models
// of the library that the program was given.
func TestHeatKeepsToTheMachine(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	in.Setup.Cluster.MaxGPUs = 4 * in.Setup.Cluster.Node()
	v := New(presets.Default())
	v.refreshHeat(in)
	if !slices.Equal(v.heat.nodes, []int{1, 2, 4}) {
		t.Errorf("nodes %v", v.heat.nodes)
	}
	known := len(v.heat.models)
	without, _ := presets.Load(fstest.MapFS{}, nil)
	v = New(without)
	v.refreshHeat(in)
	if len(v.heat.models) != 1 || known < 2 {
		t.Errorf("%d models of a library without any, %d of the program's own", len(v.heat.models), known)
	}
}

// TestNoCellsYet: enter on the heat map of measured runs does nothing before there are cells; the program
// ended.
func TestNoCellsYet(t *testing.T) {
	in := input(t, colorprofile.ANSI256, true)
	v := prepared(in)
	v.answer = nil
	v.picture, v.inPicture, v.heat = heatPicture, true, heat{measured: true}
	if do := v.press(in, "enter"); do.Setup != nil {
		t.Errorf("takes %v", do.Setup)
	}
}
