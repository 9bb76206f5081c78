package search

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	find "meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/report"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/screen/screentest"
	"meshscope/ui/widget"
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

// report has round figures: frames are about what is drawn where, and must not
// change when a prediction gets better.
func roundReport(step, gib float64) engine.Report {
	band, typical := 0.126, 0.04
	peak := units.Bytes(gib) * units.GiB
	return engine.Report{
		Legal: true,
		Time: &engine.Time{
			Step: units.Seconds(step), Bubble: units.Seconds(step / 16),
			Exposed: units.Seconds(step / 20),
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
			Peak: peak, Usable: 79 * units.GiB, Fits: gib <= 79,
			Fit: engine.FitWithin(peak, 79*units.GiB, 0.05),
			Evidence: engine.Evidence{
				ErrorBand: 0.05, TypicalError: 0.01, ValidatedBy: "second-table",
				Nearest: engine.NearestRuns{
					Title: "second table", Example: "Llama-3 70B on 64 H100", Runs: 1,
					Off: 0.03,
				},
			},
		},
		Pipeline: &engine.Pipeline{BubbleOverIdeal: 0.2},
	}
}

// invented is an answer to what the input asks.
func invented(in *screen.Context) *answer {
	a := &answer{of: query{base: base(in.Setup)}, result: counts{
		legal: 9668, evaluated: 243, fitting: 200,
		share: 1,
	}, seconds: 0.25}
	for i := range 40 {
		s := *in.Setup
		s.TP, s.PP = 1<<(i%4), 1<<(i/4%4)
		s.DP, s.VPP = s.GPUs/(s.TP*s.PP), 1+i%3
		s.MicroBatches, s.ZeRO = s.GBS/s.DP, i%2
		s.SP = i%3 > 0
		if s.VPP > 1 {
			s.Schedule = schedule.Interleaved
		}
		if i%5 == 0 {
			s.Recompute = recipe.Recompute{Mode: recipe.RecomputeFull}
		}
		r := roundReport(50+0.7*float64(i), 78-float64((i*7)%50))
		one := report.NewCandidate(&s, &r, r.Time.Step, i+1)
		one.Front = i%6 == 0
		a.rows = append(a.rows, one)
	}
	r := roundReport(120, 20)
	tail := report.NewCandidate(in.Setup, &r, r.Time.Step, 0)
	tail.Setup.MBS, tail.Front = 16, true
	a.rows = append(a.rows, tail)
	return a
}

// prepared is a screen with an answer.
func prepared(in *screen.Context) *View {
	v := New(presets.Default())
	v.Refresh(in)
	v.running.stop()
	v.running, v.answer = nil, invented(in)
	return v
}

// states are what the frames show, and how the screen gets there.
func states() map[string]func(*View, *screen.Context) {
	return map[string]func(*View, *screen.Context){
		"table":  func(*View, *screen.Context) {},
		"filter": func(v *View, in *screen.Context) { v.press(in, "/", "t", "p", "=", "4", " ", "n", "o") },
		"knobs": func(v *View, in *screen.Context) {
			v.press(in, "f", "down", "down", "down", "down", "right")
			v.running = nil
		},
		"typing":    func(v *View, in *screen.Context) { v.press(in, "f", "down", "down", "4", "5") },
		"searching": func(v *View, in *screen.Context) { v.again(1); v.Refresh(in) },
		"partial": func(v *View, _ *screen.Context) {
			v.answer.result.partial, v.answer.result.share = true, 0.34
		},
		"heat": func(v *View, in *screen.Context) {
			v.press(in, "v")
			for i := range v.heat.cells {
				if i%5 > 0 {
					v.heat.cells[i] = cell{done: true, found: i%7 > 0, row: v.answer.rows[i%20]}
				}
			}
			v.press(in, "right")
		},
		"measured": func(v *View, in *screen.Context) {
			v.press(in, "v", "v")
			v.measured.done = true
			for i := range 9 {
				r := &v.answer.rows[i]
				v.measured.runs = append(v.measured.runs,
					run{
						id: "table-" + r.Setup.Recompute.String(), source: "a paper", setup: r.Setup,
						measured: 1100 - 20*float64(i), predicted: 1080 - 30*float64(i*i%11),
					})
			}
			v.press(in, "down")
		},
		"guide": func(v *View, in *screen.Context) {
			v.press(in, "3")
			for i := range v.guide.rows[fitStage] {
				o := &v.guide.rows[fitStage][i]
				if o.done = i%3 != 2; o.done {
					o.found, o.row, o.why = i%3 == 1, v.answer.rows[i],
						"takes 1,047 GiB at least, 79.1 are usable"
				}
			}
			v.press(in, "up", "up", "up")
			v.guide.rules = rules{of: v.guide.here().row.Setup, list: []advise.Rule{
				{
					ID: "two-methods", Text: "70 B parameters: TP 8 with PP or ZeRO-3, or ZeRO-3 alone",
					Why: "it would take 61 s, 4 % more", Verdict: advise.Disagrees, Step: 1,
					Source: "playbook, step 1: fit",
				},
				{
					Text: "of another step", Verdict: advise.Followed, Step: 2,
					Source: "playbook, step 2: batch",
				},
			}}
		},
		"guide-speed": func(v *View, in *screen.Context) {
			v.press(in, "3", "enter", "enter")
			v.guide.rows[speedStage] = v.others(&v.answer.rows[0])
			for i := range v.guide.rows[speedStage] {
				o := &v.guide.rows[speedStage][i]
				o.done, o.found, o.why = true, i%6 != 5, "no legal layout: nothing divides so"
				o.row = v.answer.rows[i%30]
			}
			v.press(in, "down")
		},
		"nothing": func(v *View, in *screen.Context) {
			v.answer.rows = nil
			least := &find.Found{Setup: *in.Setup, Report: roundReport(60, 92)}
			v.answer.conflict = &find.Conflict{
				Fields: []string{"memory", "tp"},
				Frees:  []string{"memory", "tp"}, Tried: true, Least: least,
			}
			v.answer.of.chosen[tensor] = "1"
		},
	}
}

// drawn is a screen in one of its states.
func drawn(in *screen.Context, state string, w, h int) []string {
	v := prepared(in)
	states()[state](v, in)
	return append(v.Render(in.At(w, h)), v.Status(in.At(w, 1)))
}

// TestFrames draws every state without colours, the largest screen of the views only.
func TestFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 60}} {
		for state := range states() {
			if size[0] == 200 && state != "table" && state != "heat" && state != "guide" {
				continue
			}
			t.Run(fmt.Sprintf("%s-%dx%d", state, size[0], size[1]), func(t *testing.T) {
				in := input(t, colorprofile.ASCII, true)
				golden.RequireEqual(t,
					ansi.Strip(strings.Join(drawn(in, state, size[0], size[1]-4), "\n")+"\n"))
			})
		}
	}
}

// TestMeanings: a layout on the front is good, one that nothing is found for bad, and an
// error of a prediction good, a warning or bad by its size.
func TestMeanings(t *testing.T) {
	in := input(t, colorprofile.ANSI256, true)
	screentest.Meant(t, drawn(in, "table", 120, 32), in.Theme, themes.Good,
		slices.Repeat([]string{"•"}, 10)...)
	measured := drawn(in, "measured", 120, 32)
	screentest.Meant(t, measured, in.Theme, themes.Good, "•", "•", "•", "+1.9", "+9.7", "+1.0", "-1.0",
		"+3.2")
	screentest.Meant(t, measured, in.Theme, themes.Warn, "+10.4", "+16.0")
	screentest.Meant(t, measured, in.Theme, themes.Bad, "+28.4")
	screentest.Meant(t, drawn(in, "guide", 120, 32), in.Theme, themes.Bad, "✗", "✗", "✗")
}

// TestLooks: every state in every theme and with few colours.
func TestLooks(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	for state := range states() {
		screentest.Looks(t, func(theme *themes.Theme, glyphs widget.Glyphs) []string {
			in.Theme, in.Glyphs = theme, glyphs
			return drawn(in, state, 80, 20)
		})
	}
}

func (v *View) press(in *screen.Context, names ...string) (do screen.Request) {
	for _, name := range names {
		_, do = screen.Press(v, in.At(118, 32), name)
	}
	return do
}

// TestAnySizeAndKey: every frame has its size, whatever was pressed before and
// whatever the figures are.
func TestAnySizeAndKey(t *testing.T) {
	names := []string{
		"up", "down", "left", "right", "pgup", "pgdown", "home", "end", "enter", "esc", "o", "-", "+", "/",
		"f", "a", ".", "n",
		"t", "p", "=", "4", "space", "backspace", "v", "b", "3", "7",
	}
	draws.Check(t, func(r *rapid.T) {
		in := input(t, colorprofile.ANSI256, rapid.Bool().Draw(r, "unicode"))
		v := prepared(in)
		switch rapid.IntRange(0, 5).Draw(r, "state") {
		case 0:
			v.answer = nil
		case 1:
			v.answer.rows[2].Peak, v.answer.rows[3].PerGPU, v.answer.rows[4].Step = units.Bytes(math.NaN()),
				math.Inf(1), 0
		case 2:
			v.answer.rows = v.answer.rows[:rapid.IntRange(0, 2).Draw(r, "rows")]
		case 3:
			in.Report = nil
		case 4: // a setup that cannot run
			in.Report, in.Problems = &engine.Report{},
				[]engine.Problem{{Message: "tp 3 does not divide the heads"}}
		}
		screentest.Play(r, in, v, names)
	})
}

// small is a question that is answered at once.
func small(t testing.TB) *screen.Context {
	t.Helper()
	in := input(t, colorprofile.ASCII, true)
	m, err := presets.Default().Model("llama3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	s := knob.WithModel(presets.DefaultSetup(), m)
	s.GPUs, s.TP, s.PP, s.DP, s.GBS, s.MicroBatches = 8, 4, 1, 2, 32, 16
	if !engine.Legal(s) {
		t.Fatal(engine.Check(s))
	}
	r := engine.Evaluate(s)
	in.Setup, in.Report = &s, &r
	return in
}

// TestRowsLoad: what is listed is what the engine's search finds, enter gives
// each row as a setup that evaluates to the figures shown, and loading it asks
// for no other search.
func TestRowsLoad(t *testing.T) {
	in := small(t)
	v := New(presets.Default())
	v.Refresh(in).Work(t.Context())()
	want := find.Run(t.Context(), v.answer.of.problem(), nil)
	if len(want.Best) < 20 || v.ranked() != len(want.Best) || v.answer.result.legal != want.Legal {
		t.Fatalf("%d rows of %d layouts, the search has %d of %d", v.ranked(), v.answer.result.legal,
			len(want.Best), want.Legal)
	}
	rows := v.shown(in)
	owns := 0
	for i := range rows {
		do := v.press(in, "enter")
		if do.Setup == nil || *do.Setup != rows[i].Setup {
			t.Fatalf("row %d gives %v", i, do.Setup)
		}
		if rows[i].Current {
			owns++
		}
		r := engine.Evaluate(*do.Setup)
		if !r.Legal || r.Time.Step != rows[i].Step || r.Memory.Peak != rows[i].Peak ||
			rows[i].Rank > 0 && *do.Setup != want.Best[rows[i].Rank-1].Setup {
			t.Fatalf("row %d, rank %d: %+v", i, rows[i].Rank, r.Problems)
		}
		taken := in.At(in.W, in.H)
		taken.Setup, taken.Report = do.Setup, &r
		if v.Refresh(taken).Work != nil {
			t.Fatalf("taking row %d searches again", i)
		}
		v.press(in, "down")
	}
	if owns != 1 {
		t.Errorf("the setup in force stands %d times among the rows", owns)
	}
}

// TestStopAndMoveOn: esc ends a search with what it has and says so; the answer
// of a search that the setup has left behind is dropped.
func TestStopAndMoveOn(t *testing.T) {
	in := small(t)
	v := New(presets.Default())
	do := v.Refresh(in)
	if !v.Playing() || !isNothing(v.press(in, "esc")) {
		t.Fatal("esc must stop the search")
	}
	do.Work(t.Context())()
	if v.Playing() || v.answer == nil || !v.answer.result.partial || v.answer.result.share >= 1 {
		t.Fatalf("stopped before it began: %+v", v.answer)
	}
	if text := ansi.Strip(strings.Join(v.Render(in.At(118, 32)), "\n")); !strings.Contains(text, "PARTIAL") {
		t.Errorf("does not say that it is partial:\n%s", text)
	}
	if v.Refresh(in).Work != nil {
		t.Error("what was stopped must not start again by itself")
	}
	again := v.press(in, ".")
	if again.Work == nil {
		t.Fatal(". does not search again")
	}
	other := in.At(in.W, in.H)
	s := *in.Setup
	s.GBS, s.MicroBatches = 64, 16
	other.Setup = &s
	next := v.Refresh(other)
	again.Work(t.Context())()
	if v.answer != nil {
		t.Error("the answer of another setup was taken")
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	next.Work(left)()
	if v.answer != nil || v.Playing() {
		t.Error("a search that was left must be dropped")
	}
	if v.Refresh(other).Work == nil {
		t.Error("coming back must search again")
	}
}

func isNothing(r screen.Request) bool { return r.Setup == nil && r.Work == nil }

// TestWishes: every knob reaches the engine's problem, and what is fixed holds in
// all that is found.
func TestWishes(t *testing.T) {
	in := small(t)
	v := New(presets.Default())
	v.Refresh(in)
	for k := range knobs {
		if k == expert || k == expertTensor { // a dense model
			continue
		}
		v.chosen = chosen{}
		if k == batchRule { // of the fewest GPUs
			v.chosen[objective] = string(find.FewestGPUs)
		}
		before := v.chosen
		free := fmt.Sprintf("%+v", (&query{base: base(in.Setup), chosen: v.chosen}).problem())
		if !v.turn(k, 1) {
			t.Errorf("%s cannot be turned", k.label())
		}
		if fixed := fmt.Sprintf("%+v",
			(&query{base: base(in.Setup), chosen: v.chosen}).problem()); fixed == free {
			t.Errorf("%s %q asks for nothing", k.label(), v.word(k))
		}
		if !v.turn(k, -1) || v.chosen != before {
			t.Errorf("%s does not turn back", k.label())
		}
	}
	v.set(tensor, "4")
	v.set(recompute, "full")
	v.set(headroom, "20 %")
	v.Refresh(in).Work(t.Context())()
	if v.ranked() == 0 {
		t.Fatal("nothing found")
	}
	for i := range v.answer.rows {
		r := &v.answer.rows[i]
		if r.Setup.TP != 4 || r.Setup.Recompute.Mode != recipe.RecomputeFull ||
			float64(r.Peak) > 0.8*float64(in.Setup.Cluster.GPU.MemoryUsable) {
			t.Errorf("row %d: %s, %.1f GiB", i, report.LayoutWords(&r.Setup, nil), r.Peak.GiB())
		}
	}
}

// TestCounts: what a search says it did adds up to its layouts, and what is too close to call
// is counted as it is marked in the table.
func TestCounts(t *testing.T) {
	v := &View{}
	v.answer = &answer{result: counts{legal: 38300, evaluated: 390, band: find.Near{Least: 4, Most: 4}}}
	if texts, _ := v.remarks(nil); !strings.Contains(texts[0],
		"38,300 layouts: 390 evaluated, 37,910 ruled out") {
		t.Errorf("%q", texts)
	}
	for _, c := range []struct {
		marks []bool
		band  find.Near
		w     int
		want  string
	}{
		{[]bool{false, true, true, false}, find.Near{Least: 4, Most: 4}, 40, "2 too close to call (~)"},
		{[]bool{false, false}, find.Near{Least: 1, Most: 1}, 40, "none too close to call (~)"},
		{[]bool{false, true, true}, find.Near{Least: 12, Most: 341}, 40, "11 to 340 too close to call (~)"},
		{[]bool{false, true, true}, find.Near{Least: 12, Most: 341}, 24, "11 to 340 too close (~)"},
		{[]bool{false, true, true}, find.Near{Least: 3}, 40, "at least 2 too close to call (~)"},
		{[]bool{false, true, false}, find.Near{Least: 2}, 40, "at least 1 too close to call (~)"},
	} {
		a := &answer{result: counts{band: c.band}}
		for _, close := range c.marks {
			a.rows = append(a.rows, row{Close: close})
		}
		if got := a.closeWords(c.w); got != c.want {
			t.Errorf("%v of %+v: %q, want %q", c.marks, c.band, got, c.want)
		}
	}
}
