package lanes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/engine/explain"
	lane "meshscope/engine/lanes"
	"meshscope/engine/layout"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/screen/screentest"
	"meshscope/ui/widget"
)

// input is a pane over the start setup.
func input(t testing.TB, profile colorprofile.Profile, unicode bool) *screen.Context {
	t.Helper()
	p, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	s := presets.DefaultSetup()
	r := engine.Report{Legal: true, Time: &engine.Time{Step: 0.5}}
	return &screen.Context{
		Setup: &s, Report: &r, Theme: p.Resolve(profile),
		Glyphs: widget.NewGlyphs(unicode),
	}
}

// step is one with round figures: frames are about what is drawn where.
func step() *lane.Step {
	at := func(k lane.Kind, start, length units.Seconds, of schedule.OpKind, micro int) lane.Segment {
		g := lane.Segment{Kind: k, Start: start, Length: length, Of: of, Micro: micro, Bytes: units.GB}
		switch k {
		case lane.Exposed:
			g.Exposed = length
		case lane.Hidden:
			g.Hidden = length
		default:
			g.Bytes = 0
		}
		return g
	}
	const f, b = schedule.Forward, schedule.Backward
	return &lane.Step{
		Length: 0.5, Time: engine.Time{Step: 0.5, Compute: 0.37, Exposed: 0.1, Optimizer: 0.03},
		Stages: []layout.Stage{{Of: layout.Counts{32}}},
		Traffic: []engine.Communication{
			{
				Dimension: "tp", Operation: "all-reduce", GroupSize: 8, Spans: "node", Bytes: 4 * units.GB,
				Seconds: 0.05, Exposed: 0.04,
			},
			{
				Dimension: "dp", Operation: "reduce-scatter + all-gather", GroupSize: 64, Spans: "cluster",
				Bytes: 4 * units.GB, Seconds: 0.16, Exposed: 0.06,
			},
		},
		Never: lane.Never{Gradients: 0.4},
		Lanes: []lane.Lane{
			{Segments: []lane.Segment{
				at(lane.Forward, 0.02, 0.11, f, 0), at(lane.Backward, 0.15, 0.26, b, 0),
				at(lane.Update, 0.47, 0.03, f, -1),
			}},
			{Dimension: "tp", Exposed: 0.04, Segments: []lane.Segment{
				at(lane.Hidden, 0.12, 0.01, f, 0), at(lane.Exposed, 0.13, 0.02, f, 0),
				at(lane.Exposed, 0.41, 0.02, b, 0),
			}},
			{Dimension: "dp", Exposed: 0.06, Segments: []lane.Segment{
				at(lane.Exposed, 0, 0.02, f, -1), at(lane.Hidden, 0.02, 0.04, f, -1),
				at(lane.Hidden, 0.37, 0.06, b, -1), at(lane.Exposed, 0.43, 0.04, b, -1),
			}},
		},
		Ops: 2,
	}
}

// sample is a pane that draws the step with round figures.
func sample(in *screen.Context, w int) *View {
	v := New()
	names := func(values ...float64) (list []lane.Choice) {
		for i, x := range values {
			list = append(list, lane.Choice{Value: x, Current: i == 1, Knob: true})
		}
		return list
	}
	c := lane.Choices{
		Variants: []lane.Choice{
			{Name: lane.Naive, Knob: true},
			{Name: lane.PerLayer},
			{Name: lane.Buckets, Current: true, Knob: true},
			{Name: lane.Prefetch, Knob: true},
		},
		Tokens: names(2048, 4096, 8192), GPUs: names(128, 512, 2048), Buckets: names(1e6, 25e6, 0),
	}
	v.take(drawing{query: query{setup: *in.Setup, list: none, plot: plotWidth(w)}, step: step(), choices: c})
	v.costs = costing{setup: *in.Setup, known: true}
	for i, list := range c.Lists() {
		for j := range list {
			v.costs.of[i] = append(v.costs.of[i],
				lane.Cost{Known: true, Step: 0.5, Exposed: 0.1 + 0.05*units.Seconds(j)})
		}
	}
	return v
}

func frame(in *screen.Context, v *View, w, h int) string {
	lines := append(v.Render(in.At(w, h)), v.Status(in.At(w, 1)))
	return ansi.Strip(strings.Join(lines, "\n") + "\n")
}

// TestFrames draws the pane, with the cursor where it starts, on another lane and on a list.
func TestFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		for name, press := range map[string][]string{
			"start": nil, "compute": {"up", "up", "left"},
			"list": {"down"},
		} {
			t.Run(fmt.Sprintf("%dx%d-%s", size[0], size[1], name), func(t *testing.T) {
				in := input(t, colorprofile.ANSI256, true).At(size[0], size[1]-6)
				v := sample(in, size[0])
				for _, key := range press {
					screen.Press(v, in, key)
				}
				golden.RequireEqual(t, frame(in, v, size[0], size[1]-6))
			})
		}
	}
}

// TestNoColour: without colours the shades and letters tell the same.
func TestNoColour(t *testing.T) {
	for name, unicode := range map[string]bool{"unicode": true, "ascii": false} {
		t.Run(name, func(t *testing.T) {
			in := input(t, colorprofile.ASCII, unicode).At(80, 18)
			golden.RequireEqual(t, frame(in, sample(in, 80), 80, 18))
		})
	}
}

// TestLooks: the pane in every theme and with few colours.
func TestLooks(t *testing.T) {
	screentest.Looks(t, func(theme *themes.Theme, glyphs widget.Glyphs) []string {
		in := input(t, colorprofile.ASCII, true)
		in.Theme, in.Glyphs = theme, glyphs
		v := sample(in, 80)
		return append(v.Render(in.At(80, 18)), v.Status(in.At(80, 1)))
	})
}

// finishWork does the pane's work until it asks for none.
func finishWork(t testing.TB, v *View, in *screen.Context) {
	t.Helper()
	for range 9 {
		do := v.Refresh(in)
		if do.Work == nil {
			return
		}
		do.Work(t.Context())()
	}
	t.Fatal("work without end")
}

// real returns a pane over a setup with traffic of three dimensions.
func real(t testing.TB, in *screen.Context) *View {
	t.Helper()
	s := *in.Setup
	s.ZeRO = 1
	in.Setup = &s
	r := engine.Evaluate(s)
	in.Report = &r
	v := New()
	finishWork(t, v, in)
	return v
}

// TestAnySizeAndKey: every frame has its size, whatever was pressed before.
func TestAnySizeAndKey(t *testing.T) {
	keys := []string{
		"up", "down", "down", "left", "right", "space", "x", "=", "f", "home", "end", "enter",
		"esc",
	}
	in := input(t, colorprofile.ANSI256, true)
	v := real(t, in.At(120, 36))
	draws.CheckFew(t, 20, func(r *rapid.T) {
		at := *in
		at.Glyphs = widget.NewGlyphs(rapid.Bool().Draw(r, "unicode"))
		screentest.Play(r, &at, v, keys)
		v.Tick()
	})
	empty := New()
	in.Report = &engine.Report{}
	empty.Render(in.At(80, 20))
	if do := empty.Refresh(in.At(80, 20)); do.Work != nil {
		t.Error("an illegal setup is drawn")
	}
}

// TestEveryFigureIsExplained: whatever the cursor is on has a formula under e.
func TestEveryFigureIsExplained(t *testing.T) {
	in := input(t, colorprofile.ASCII, true).At(120, 30)
	v := real(t, in)
	book, ok := explain.Of(*in.Setup)
	if !ok {
		t.Fatal("nothing is explained")
	}
	for v.row = 0; v.row <= v.last(); v.row++ {
		segments := 1
		if l := v.laneAt(v.row); l != nil {
			segments = len(l.Segments)
			v.at = 0
		}
		for range segments {
			if name := v.Figure(in); name == "" {
				t.Error("no figure")
			} else if _, ok := book.Explain(name); !ok {
				t.Errorf("%q has no formula", name)
			}
			v.move(1)
		}
		v.list, v.pick = none, 0
	}
}

// TestTurns: a list turns the picture and not the setup, enter takes the setup, = goes back.
func TestTurns(t *testing.T) {
	in := input(t, colorprofile.ASCII, true).At(120, 30)
	v := real(t, in)
	own := v.drawn.step.Time.Exposed
	v.row = 0
	press := func(key string) screen.Request {
		_, do := screen.Press(v, in, key)
		if do.Work != nil {
			do.Work(t.Context())()
		}
		finishWork(t, v, in)
		return do
	}
	press("home")
	if c := v.choice(); c == nil || c.Name != lane.Naive || v.drawn.step.Time.Exposed <= own {
		t.Fatalf("naive exposes %v, the setup %v", v.drawn.step.Time.Exposed, own)
	}
	if v.row != 0 {
		t.Error("the cursor leaves the list that is turned")
	}
	if text := frame(in, v, 120, 30); !strings.Contains(text, "not your setup") {
		t.Errorf("nothing says that this is another setup:\n%s", text)
	}
	if do := press("enter"); do.Setup == nil || do.Setup.Overlap != "none" {
		t.Error("enter does not take the setup")
	}
	press("=")
	if v.drawn.step.Time.Exposed != own {
		t.Error("= does not go back")
	}
}

// TestPlays: the step plays to its end by itself; with calm, space goes to the next segment.
func TestPlays(t *testing.T) {
	in := input(t, colorprofile.ASCII, true).At(80, 18)
	v := sample(in, 80)
	if v.Tick() || v.Playing() {
		t.Fatal("it moves though nothing plays")
	}
	screen.Press(v, in, "space")
	early := ansi.Strip(strings.Join(v.Render(in), "\n"))
	n := 0
	for v.Tick() {
		if n++; n > 1000 {
			t.Fatal("it plays for ever")
		}
	}
	if v.Playing() || strings.Contains(early, "X▒▒") ||
		!strings.Contains(ansi.Strip(strings.Join(v.Render(in), "\n")), "X▒▒") {
		t.Errorf("played %d frames; at the beginning:\n%s", n, early)
	}
	calm := *in
	calm.Calm = true
	seen := map[units.Seconds]bool{}
	for range 20 {
		screen.Press(v, &calm, "space")
		seen[v.at] = true
	}
	if v.Playing() || len(seen) < 8 {
		t.Errorf("calm: playing %v, %d moments", v.Playing(), len(seen))
	}
}

// TestClick: a click on a lane goes to the segment that is drawn there.
func TestClick(t *testing.T) {
	in := input(t, colorprofile.ASCII, true).At(80, 18)
	v := sample(in, 80)
	y := v.plan(in).lines[v.lanesFrom()]
	v.Mouse(in, labelWidth+10, y, "left")
	if g := v.focused(); g == nil || g.Kind != lane.Forward {
		t.Errorf("%+v", g)
	}
	v.Mouse(in, labelWidth+2, v.plan(in).lines[0], "left")
	if c := v.choice(); c == nil || c.Name != lane.Naive {
		t.Errorf("a click on a choice draws %+v", c)
	}
}

// TestTables: documents have every segment and choice, without the pane's having been opened.
func TestTables(t *testing.T) {
	in := input(t, colorprofile.ASCII, true).At(80, 18)
	r := engine.Evaluate(*in.Setup)
	in.Report = &r
	tables := New().Tables(in)
	if len(tables) != 2 || len(tables[0].Rows) < 5 || len(tables[1].Rows) < 5 {
		t.Fatalf("%+v", tables)
	}
}
