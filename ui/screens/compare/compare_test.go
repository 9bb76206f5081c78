package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	enginecompare "meshscope/engine/compare"
	"meshscope/engine/knob"
	"meshscope/engine/memory"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/screen/screentest"
	"meshscope/ui/widget"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"
)

func input(t testing.TB, profile colorprofile.Profile, unicode bool) *screen.Context {
	t.Helper()
	p, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	s := presets.DefaultSetup()
	r := roundReport(60, 55)
	return &screen.Context{
		Setup: &s, Report: &r, Theme: p.Resolve(profile),
		Glyphs: widget.NewGlyphs(unicode),
	}
}

// other is a setup some changes away from the built-in one.
func other(t testing.TB) engine.Setup {
	t.Helper()
	s := presets.DefaultSetup()
	locks := knob.Locks{GPUs: true, Batch: true}
	for _, turn := range [][2]string{{"tp", "4"}, {"pp", "4"}, {"zero", "0"}} {
		var err error
		if s, err = knob.Turn(s, knob.ID(turn[0]), turn[1], locks); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// report has round figures: frames are about what is drawn where, and must not
// change when a prediction gets better.
func roundReport(step, gib float64) engine.Report {
	band, typical := 0.126, 0.04
	rank := memory.Rank{
		Weights: 8 * units.GiB, Gradients: 16 * units.GiB, Optimizer: 12 * units.GiB,
		Overhead: 3 * units.GiB,
	}
	rank.Activations = units.Bytes(gib-39) * units.GiB
	rank.Total = units.Bytes(gib) * units.GiB
	return engine.Report{
		Legal: true,
		Time: &engine.Time{
			Step: units.Seconds(step), Compute: units.Seconds(step * 0.8),
			Exposed: units.Seconds(step * 0.15), Bubble: units.Seconds(step * 0.05),
			Evidence: engine.Evidence{
				ErrorBand: band, TypicalError: typical, Runs: 12,
				ValidatedBy: "first-table",
				Nearest: engine.NearestRuns{
					Title: "first table", Example: "Llama-3 70B on 64 H100",
					Runs: 1, Off: 0.03,
				},
			},
		},
		Throughput: &engine.Throughput{TokensPerSecondPerGPU: 60000 / step, MFU: 30 / step},
		Memory: &engine.Memory{
			Peak: rank.Total, Usable: 79 * units.GiB, Fits: gib <= 79,
			Fit: engine.FitWithin(rank.Total, 79*units.GiB, 0.05), Ranks: []engine.RankMemory{rank},
			Evidence: engine.Evidence{
				ErrorBand: 0.05, TypicalError: 0.01, ValidatedBy: "second-table",
				Nearest: engine.NearestRuns{
					Title: "second table", Example: "Llama-3 70B on 64 H100", Runs: 1,
					Off: 0.03,
				},
			},
		},
		Pipeline: &engine.Pipeline{BubbleOverIdeal: 0.0625},
		Model:    &engine.ModelFigures{Parameters: 70e9},
		Communication: []engine.Communication{
			{Dimension: "tp", Bytes: 6 * units.GB, Seconds: 8, Exposed: 2},
			{Dimension: "dp", Bytes: 2 * units.GB, Seconds: 1, Exposed: 0.5},
		},
	}
}

// prepared is a screen with a pin that has been compared, and every method.
func prepared(t testing.TB, in *screen.Context) *View {
	v := New()
	a := other(t)
	v.Pin(a)
	v.Refresh(in)
	ra, rb := roundReport(72, 48), roundReport(60, 55)
	rb.Communication = rb.Communication[:1]
	v.pair = &pair{
		of: sides{a, *in.Setup},
		all: enginecompare.Reports(enginecompare.Side{Setup: a, Report: ra},
			enginecompare.Side{Setup: *in.Setup, Report: rb}),
	}
	changes := enginecompare.Changes(&a, in.Setup)
	for i := range changes {
		if changes[i].Follows == "" {
			v.pair.way = append(v.pair.way, enginecompare.Move{
				Changes: changes[i : i+1], Setup: *in.Setup,
				Step: units.Seconds(70 - 3*i), Peak: units.Bytes(50+15*i) * units.GiB, Fits: i < 2,
			})
		}
	}
	v.jobs.Drop()
	v.alone.refresh(in)
	v.alone.jobs.Drop()
	v.alone.list = enginecompare.MethodsAlone(*in.Setup, 8)
	for i := range v.alone.list[:9] {
		v.alone.list[i].Report = roundReport(10+float64(i), 160-12*float64(i))
	}
	v.alone.list[9].Report = engine.Report{Problems: []engine.Problem{{
		Severity: "error",
		Message:  "no experts",
	}}}
	return v
}

func (v *View) press(in *screen.Context, names ...string) (do screen.Request) {
	for _, name := range names {
		_, do = screen.Press(v, in.At(118, 32), name)
	}
	return do
}

// states are what the frames show, and the keys that lead there.
func states() map[string][]string {
	return map[string][]string{
		"pair": {"down"}, "alone": {"v", "down"}, "methods": {"v", "v", "down"},
		"none": {"d"},
	}
}

// drawn is a screen in one of its states.
func drawn(t testing.TB, in *screen.Context, state string, w, h int) []string {
	t.Helper()
	v := prepared(t, in)
	v.press(in, states()[state]...)
	return append(v.Render(in.At(w, h)), v.Status(in.At(w, 1)))
}

// TestFrames draws every state without colours.
func TestFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 60}} {
		for state := range states() {
			t.Run(fmt.Sprintf("%s-%dx%d", state, size[0], size[1]), func(t *testing.T) {
				in := input(t, colorprofile.ASCII, true)
				golden.RequireEqual(t,
					ansi.Strip(strings.Join(drawn(t, in, state, size[0], size[1]-4), "\n")+"\n"))
			})
		}
	}
}

// TestMeanings: what is better is good, what costs more a warning, and what does not fit
// bad; nothing else is.
func TestMeanings(t *testing.T) {
	in := input(t, colorprofile.ANSI256, true)
	pair := drawn(t, in, "pair", 120, 32)
	screentest.Meant(t, pair, in.Theme, themes.Good, "-2.00 s", "-3.00 s", "-12.0 s", "-9.60 s", "-600 ms",
		"-1.80 s", "-2.00 GB", "-1.00 s", "-500 ms", "+167", "+8.33 pts")
	screentest.Meant(t, pair, in.Theme, themes.Warn, "+2.0", "+15.0", "+7.0 GiB", "+7.0 GiB", "-7.0 GiB")
	screentest.Meant(t, pair, in.Theme, themes.Bad, "✗ 80.0")
	screentest.Meant(t, drawn(t, in, "alone", 120, 32), in.Theme, themes.Bad, "160.0 !", "148.0 !", "136.0 !",
		"124.0 !", "112.0 !", "100.0 !", "88.0 !")
}

// TestLooks: every state in every theme and with few colours.
func TestLooks(t *testing.T) {
	for state := range states() {
		screentest.Looks(t, func(theme *themes.Theme, glyphs widget.Glyphs) []string {
			in := input(t, colorprofile.ASCII, true)
			in.Theme, in.Glyphs = theme, glyphs
			return drawn(t, in, state, 80, 20)
		})
	}
}

// TestAnySizeAndKey: every frame has its size, whatever was pressed before.
func TestAnySizeAndKey(t *testing.T) {
	names := []string{
		"up", "down", "left", "right", "pgup", "pgdown", "home", "end", "enter", "v", "a", "b",
		"d", "x", "=",
	}
	draws.Check(t, func(r *rapid.T) {
		in := input(t, colorprofile.ANSI256, rapid.Bool().Draw(r, "unicode"))
		v := prepared(t, in)
		switch rapid.IntRange(0, 3).Draw(r, "state") {
		case 0:
			v = New()
		case 1:
			v.pair = nil
		case 2:
			in.Report = nil
			v.pair.all.A.Report = engine.Report{}
		}
		screentest.Play(r, in, v, names)
	})
}

// TestPair: the figures shown are the engine's comparison of the pin with the
// current setup, and every change on the way can be taken.
func TestPair(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	r := engine.Evaluate(*in.Setup)
	in.Report = &r
	v := New()
	if v.Refresh(in).Work != nil {
		t.Error("nothing is pinned, and yet something is compared")
	}
	a := other(t)
	v.Pin(a)
	v.Refresh(in).Work(t.Context())()
	want := enginecompare.Setups(a, *in.Setup)
	if v.pair == nil || len(v.pair.all.Deltas) != len(want.Deltas) || len(v.pair.way) < 3 {
		t.Fatalf("%+v", v.pair)
	}
	brief := strings.Join(v.Render(in.At(118, 60)), "\n")
	v.press(in, "=")
	if cut := strings.Join(v.Render(in.At(118, 30)), "\n"); !strings.Contains(cut, fmt.Sprintf(" of %d",
		len(want.Deltas))) || strings.Contains(brief, fmt.Sprintf(" of %d", len(v.terms()))) {
		t.Errorf("figures that have no room are not counted, or those that have are:\n%s", cut)
	}
	text := strings.Join(v.Render(in.At(118, 60)), "\n")
	for i := range want.Deltas {
		d := &want.Deltas[i]
		if d.Same() && strings.Contains(text, d.Name) && !sum(d) && strings.Contains(brief, " "+d.Name+"  ") {
			t.Errorf("%s is the same on both sides, and shown", d.ID)
		}
		if d.A != nil && !strings.Contains(text, figure.Of(d.Unit, *d.A)) ||
			d.B != nil && !strings.Contains(text, figure.Of(d.Unit, *d.B)) {
			t.Errorf("%s is not shown", d.ID)
		}
	}
	for i := range v.pair.way {
		do := v.press(in, "enter")
		if do.Setup == nil || *do.Setup != v.pair.way[i].Setup {
			t.Fatalf("change %d is not taken", i)
		}
		if v.Status(in.At(400, 1)) == "" {
			t.Errorf("change %d has no rule", i)
		}
		v.press(in, "down")
	}
	if last := v.pair.way[len(v.pair.way)-1]; last.Setup != *in.Setup || last.Step != r.Time.Step {
		t.Error("the way does not end at B")
	}
	if do := v.press(in, "enter"); do.Setup == nil || *do.Setup != a {
		t.Error("enter on a figure does not take A")
	}
}

// TestPins: at most nine are kept, the same one once, and they come back; a tenth is
// refused with the way out, and a pin that was dropped can be put back.
func TestPins(t *testing.T) {
	v := New()
	s := presets.DefaultSetup()
	for i := range 12 {
		s.GBS = 512 * (i + 1)
		got, again := v.Pin(s), v.Pin(s)
		if i < MaxPins && (!strings.HasPrefix(got, "pinned as") || !strings.Contains(again, "already")) {
			t.Errorf("pin %d: %q, then %q", i+1, got, again)
		}
		if i >= MaxPins && (!strings.Contains(got, "not pinned: 9 is the maximum") ||
			!strings.Contains(got, "d drops one")) {
			t.Errorf("pin %d: %q", i+1, got)
		}
	}
	pins := v.Pins()
	if len(pins) != MaxPins || pins[0].GBS != 512 || pins[MaxPins-1].GBS != 512*MaxPins {
		t.Fatalf("%d pins, the first has %d", len(pins), pins[0].GBS)
	}
	in := input(t, colorprofile.ANSI256, true)
	v.a = 0
	for range 2 {
		for range 3 {
			v.press(in, "a")
		}
		v.press(in, "d")
		if left := v.Pins(); len(left) != MaxPins-1 || slices.Contains(left, pins[3]) {
			t.Fatalf("%d pins after one was dropped", len(left))
		}
		v.press(in, "D")
		v.press(in, "D") // once is enough
		if back := v.Pins(); !slices.Equal(back, pins) {
			t.Fatalf("%d pins after it was put back", len(back))
		}
		v.a = 0
	}
	w := New()
	w.Restore(pins)
	if again := w.Pins(); len(again) != MaxPins || again[3] != pins[3] {
		t.Error("pins do not come back")
	}
}

// TestEachMethodAlone: each method that the engine calls legal uses the GPUs by
// itself alone, and the memory of ZeRO and TP falls as it must.
func TestEachMethodAlone(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	m, err := presets.Default().Model("mixtral-8x7b")
	if err != nil {
		t.Fatal(err)
	}
	s := knob.WithModel(*in.Setup, m)
	in.Setup = &s
	v := New()
	v.press(in, "v").Work(t.Context())()
	if len(v.alone.list) != 10 {
		t.Fatalf("%d methods", len(v.alone.list))
	}
	weights := map[string]units.Bytes{}
	for i := range v.alone.list {
		m := &v.alone.list[i]
		if !m.Report.Legal {
			t.Errorf("%s: %+v", m.Name, m.Report.Problems)
			continue
		}
		s := &m.Setup
		degrees := 0
		for _, n := range []int{s.DP, s.TP, s.PP, s.CP} {
			if n > 1 {
				degrees++
			}
		}
		if degrees > 1 || s.GPUs != s.DP*s.TP*s.PP*s.CP || s.GBS != v.alone.list[0].Setup.GBS {
			t.Errorf("%s: %+v", m.Name, s.Layout)
		}
		weights[m.Name] = m.Report.Memory.Ranks[m.Report.Memory.PeakRank].Weights
		if do := v.press(in, "home"); do.Setup != nil {
			t.Error("home takes a setup")
		}
	}
	if !(weights["TP"] < weights["DP"] && weights["ZeRO-3"] < weights["ZeRO-2"] &&
		weights["EP"] < weights["DP"] && weights["PP"] < weights["DP"]) {
		t.Errorf("weights: %v", weights)
	}
	before := v.alone.done
	if do := v.press(in, "right"); do.Work == nil || v.alone.done != 2*before {
		t.Error("right does not take twice as many GPUs")
	}
}

// TestClippedBarsSayIt: a bar of memory that would be longer than the longest one ends
// in an arrow, and only such a bar does; the head says what the arrow means.
func TestClippedBarsSayIt(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	v := New()
	v.press(in, "v").Work(t.Context())()
	memory, _ := v.alone.scales()
	lines := v.alone.render(in, -1, 120, 32)
	clipped := 0
	for i := range v.alone.list {
		m := &v.alone.list[i]
		if m.Report.Memory == nil {
			continue
		}
		for _, line := range lines {
			text := ansi.Strip(line)
			if !strings.HasPrefix(strings.TrimSpace(text), m.Name+" ") ||
				!strings.Contains(text, figure.GiB(m.Report.Memory.Peak)) {
				continue
			}
			beyond := m.Report.Memory.Peak > memory
			if strings.Contains(text, in.Glyphs.Arrow) != beyond {
				t.Errorf("%s has %s GiB of %s: %q", m.Name, figure.GiB(m.Report.Memory.Peak),
					figure.GiB(memory), text)
			}
			if beyond {
				clipped++
			}
		}
	}
	if clipped < 2 || !strings.Contains(ansi.Strip(strings.Join(lines, "\n")), in.Glyphs.Arrow+" off scale") {
		t.Errorf("%d bars are clipped:\n%s", clipped, ansi.Strip(strings.Join(lines, "\n")))
	}
}

// TestSidesAreTwo: a and b go through the pins and never put both sides on one.
func TestSidesAreTwo(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	v := prepared(t, in)
	for zero := range 3 {
		s := *in.Setup
		s.ZeRO = zero
		v.pins = append(v.pins, s)
	}
	seen := map[[2]int]bool{}
	for range 4 * len(v.pins) {
		for _, key := range []string{"b", "a", "b", "b"} {
			v.press(in, key)
			if v.a == v.b {
				t.Fatalf("%s puts both sides on pin %d", key, v.a)
			}
			seen[[2]int{v.a, v.b}] = true
		}
	}
	if len(seen) < 2 {
		t.Errorf("the sides are only %v", seen)
	}
}

// TestNames: pins are called by what tells them apart, and no two by the same name.
func TestNames(t *testing.T) {
	start := presets.DefaultSetup()
	if got := names([]engine.Setup{start}); got[0] != "tp8 pp2 zero1" {
		t.Errorf("one pin is called %q", got[0])
	}
	if got := names([]engine.Setup{other(t), start}); got[0] != "tp4 pp4 zero0" || got[1] != "tp8 pp2 zero1" {
		t.Errorf("two pins are called %q", got)
	}
	wide, err := knob.Turn(start, "tp", "16", knob.Locks{GPUs: true, Batch: true})
	if got := names([]engine.Setup{start, wide}); err != nil || got[0] != "tp8" || got[1] != "tp16" {
		t.Errorf("what follows from tp is named: %q", got)
	}
	m, err := presets.Default().Model("llama3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	if got := names([]engine.Setup{knob.WithModel(start, m), start}); !strings.HasPrefix(got[0], m.Name) {
		t.Errorf("pins of two models are called %q", got)
	}
	draws.Check(t, func(r *rapid.T) {
		p := rapid.SampledFrom(knob.All()).Draw(r, "param")
		steps := knob.Steps(start, p.ID, knob.Locks{GPUs: true, Batch: true})
		if len(steps) == 0 {
			r.Skip("nothing to turn")
		}
		s := rapid.SampledFrom(steps).Draw(r, "step").Setup
		if got := names([]engine.Setup{start, s}); s != start && got[0] == got[1] {
			r.Fatalf("%s: both are called %q", p.ID, got[0])
		}
	})
	in := input(t, colorprofile.ASCII, true)
	r := engine.Evaluate(start)
	in.Report = &r
	v := New()
	v.Pin(other(t))
	v.Refresh(in).Work(t.Context())()
	a := engine.Evaluate(other(t))
	text := ansi.Strip(strings.Join(v.Render(in.At(118, 32)), "\n"))
	if status := v.Status(in.At(60, 1)); strings.Contains(status, in.Glyphs.Ellipsis) {
		t.Errorf("a cut sentence: %s", status)
	}
	for _, want := range []string{
		"tp4 pp4 zero0 · MFU " + figure.Percent(a.Throughput.MFU),
		"tp8 pp2 zero1 · MFU " + figure.Percent(r.Throughput.MFU),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// TestThereAndBack: who chooses others and comes back before the stopped work has
// reported gets what was asked for, and no work begins itself again.
func TestThereAndBack(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	v := New()
	a := other(t)
	b := a
	b.ZeRO = 2
	v.pins = []engine.Setup{a, b}
	p := &screentest.Program{Refresh: func() screen.Request { return v.Refresh(in) }}
	for _, at := range []int{0, 1, 0} {
		v.a = at
		p.Ask()
	}
	p.Finish(t, 3)
	if want, _ := v.sides(in); v.pair == nil || v.pair.of != want {
		t.Error("the pair is not there")
	}
	v.Forget()
	p.Ask()
	v.Forget() // left and back
	p.Stop()
	p.Ask()
	p.Finish(t, 5)
	if v.pair == nil {
		t.Error("the pair is not there again")
	}
	v.pane = alonePane
	p.Ask()
	for _, up := range []bool{true, false} {
		v.alone.turn(in, up)
		p.Ask()
	}
	p.Finish(t, 8)
	if v.alone.list == nil || v.alone.of != *in.Setup {
		t.Error("the methods are not there")
	}
}

// TestMethodsWhole: at the usual sizes no sentence about a method is cut.
func TestMethodsWhole(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	v := prepared(t, in)
	v.press(in, "v", "v")
	for _, size := range [][2]int{{118, 32}, {198, 56}} {
		for range methodRows() {
			if text := ansi.Strip(strings.Join(v.Render(in.At(size[0], size[1])),
				"\n")); strings.Contains(text, in.Glyphs.Ellipsis) {
				t.Errorf("%v: a sentence is cut:\n%s", size, text)
			}
			v.press(in, "down")
		}
	}
}

// TestWayMarksWhatDoesNotFit: without colours too, each stop of the way that does not
// fit is marked, and no other.
func TestWayMarksWhatDoesNotFit(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	v := prepared(t, in)
	v.row = len(v.pair.way) // no cursor on the way
	text := ansi.Strip(strings.Join(v.Render(in.At(118, 32)), "\n"))
	marked := 0
	for _, m := range v.pair.way {
		at := in.Glyphs.Cross + " " + figure.GiB(m.Peak)
		if strings.Contains(text, at) == m.Fits {
			t.Errorf("a peak of %s that fits (%t) is marked: %t\n%s", figure.GiB(m.Peak), m.Fits, m.Fits,
				text)
		}
		if !m.Fits {
			marked++
		}
	}
	if marked == 0 || marked == len(v.pair.way) {
		t.Errorf("%d of %d do not fit", marked, len(v.pair.way))
	}
}

// TestRunOfBothSides: with tokens, the line of each side begins with days, cost and energy of the run, also
// where the other side has none, and the figures of both stand in the list.
func TestRunOfBothSides(t *testing.T) {
	in := input(t, colorprofile.NoTTY, true)
	setup := *in.Setup
	setup.Budget = 2e12
	in.Setup = &setup
	v := New()
	a := other(t)
	v.Pin(a)
	v.Refresh(in)
	v.jobs.Drop()
	all := enginecompare.Setups(a, setup)
	v.pair = &pair{of: sides{a, setup}, all: all}
	if all.A.Report.Run == nil || all.A.Report.Run.Tokens != 2e12 {
		t.Fatalf("the run of A is %+v", all.A.Report.Run)
	}
	text := ansi.Strip(strings.Join(v.Render(in.At(120, 60)), "\n"))
	for _, side := range []*enginecompare.Side{&all.A, &all.B} {
		if brief := report.RunBrief(side.Report.Run); !strings.Contains(text, brief+"; ") {
			t.Errorf("no side says %q:\n%s", brief, text)
		}
		r := side.Report.Run
		for _, figure := range []string{
			figure.Days(r.Days), figure.Dollars(*r.Cost),
			figure.Energy(*r.Energy),
		} {
			if strings.Count(text, figure) < 2 {
				t.Errorf("no row has %s:\n%s", figure, text)
			}
		}
	}
}
