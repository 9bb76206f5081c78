package scan

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/figures"
	"meshscope/engine/record"
	enginescan "meshscope/engine/scan"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/presets"
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
	r := engine.Evaluate(s)
	return &screen.Context{
		Setup: &s, Report: &r, Theme: p.Resolve(profile),
		Glyphs: widget.NewGlyphs(unicode),
	}
}

// invented is an answer with round figures: frames are about what is drawn where,
// and must not change when a prediction gets better.
func invented(v *View, s *engine.Setup) {
	if v.x == "" {
		v.x = "tp"
	}
	v.of = query{*s, v.figure, v.x, v.by}
	g := &enginescan.Grid{
		X: enginescan.Axis{ID: v.x}, By: enginescan.Axis{ID: v.by}, Unit: record.Tokens,
		Usable: 79 * units.GiB,
	}
	switch v.figure {
	case "memory.peak":
		g.Unit = record.Memory
	case "time.step":
		g.Unit = record.Seconds
	}
	rows := 1
	if v.by != "" {
		rows = 4
	}
	for i := range rows {
		var row []enginescan.Point
		for j := range 6 {
			value := 1200 - 50*float64(j*j) + 100*float64(i)
			if g.Unit == record.Memory {
				value = (200/float64(j+1) + 3*float64(i)) * (1 << 30)
			}
			if g.Unit == record.Seconds {
				value = 15 - 2.5*float64(j) + float64(j*j)
			}
			p := enginescan.Point{
				X: fmt.Sprint(1 << j), By: fmt.Sprint(i), Setup: *s,
				Verdict: enginescan.Fits, Value: &value, Current: i == rows/2 && j == 3,
			}
			switch {
			case j == 0:
				p.Verdict = enginescan.DoesNotFit
			case j == 5 && i == 0:
				p.Verdict, p.Value, p.Why = enginescan.Illegal, nil, "tp 32: too large"
			}
			row = append(row, p)
		}
		g.Rows = append(g.Rows, row)
	}
	v.grid, v.drawn = g, v.of
	if v.by == "" {
		other := &enginescan.Grid{
			X: g.X, Unit: record.Memory,
			Rows: [][]enginescan.Point{slices.Clone(g.Rows[0])},
		}
		if g.Unit == record.Memory {
			other.Unit = record.Seconds
		}
		for i := range other.Rows[0] {
			if p := &other.Rows[0][i]; p.Value != nil {
				value := (20 + float64(i*i)) * map[bool]float64{
					true:  1,
					false: 3 << 30,
				}[other.Unit == record.Seconds]
				p.Value = &value
			}
		}
		v.other = other
	}
	v.toCurrent()
}

func (v *View) press(in *screen.Context, names ...string) (do screen.Request) {
	for _, name := range names {
		_, do = screen.Press(v, in.At(118, 32), name)
	}
	return do
}

// drawn is a screen in one of its states: a line of the throughput, one of the memory,
// or a map.
func drawn(in *screen.Context, state string, w, h int) []string {
	band := 0.13
	in.Report.Time.Evidence = engine.Evidence{
		ErrorBand: band, TypicalError: band, Runs: 12,
		ValidatedBy: "first-table",
		Nearest: engine.NearestRuns{
			Title: "first table", Example: "Llama-3 70B on 64 H100", Runs: 1,
			Off: 0.03,
		},
	}
	in.Report.Memory.Evidence = in.Report.Time.Evidence
	v := New()
	switch state {
	case "memory":
		v.figure = "memory.peak"
	case "map":
		v.figure, v.by = "throughput.tokens-per-second-per-gpu", "pp"
	}
	invented(v, in.Setup)
	if state == "map" {
		v.inChart = true
		v.column++
	}
	return append(v.Render(in.At(w, h)), v.Status(in.At(w, 1)))
}

// TestFrames draws every state without colours.
func TestFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 60}} {
		for _, state := range []string{"line", "memory", "map"} {
			t.Run(fmt.Sprintf("%s-%dx%d", state, size[0], size[1]), func(t *testing.T) {
				in := input(t, colorprofile.ASCII, true)
				golden.RequireEqual(t,
					ansi.Strip(strings.Join(drawn(in, state, size[0], size[1]-4), "\n")+"\n"))
			})
		}
	}
}

// TestMeanings: what does not fit is bad, and the current value is marked.
func TestMeanings(t *testing.T) {
	in := input(t, colorprofile.ANSI256, true)
	line := drawn(in, "line", 120, 32)
	screentest.Meant(t, line, in.Theme, themes.Bad, "!", "!", "60.0!")
	screentest.Meant(t, line, in.Theme, themes.Current, "●", "●", "[8]")
	screentest.Meant(t, drawn(in, "map", 120, 32), in.Theme, themes.Bad, "1,200!", "1,300!", "1,400!",
		"1,500!")
}

// TestLooks: every state in every theme and with few colours.
func TestLooks(t *testing.T) {
	for _, state := range []string{"line", "memory", "map"} {
		in := input(t, colorprofile.ASCII, true)
		screentest.Looks(t, func(theme *themes.Theme, glyphs widget.Glyphs) []string {
			in.Theme, in.Glyphs = theme, glyphs
			return drawn(in, state, 80, 20)
		})
	}
}

// TestAnySizeAndKey: every frame has its size, whatever was pressed before and
// whatever the figures are.
func TestAnySizeAndKey(t *testing.T) {
	names := []string{
		"up", "down", "left", "right", "home", "end", "enter", "esc", "f", "b", "/", "m",
		"backspace", "x",
	}
	draws.Check(t, func(r *rapid.T) {
		in := input(t, colorprofile.ANSI256, rapid.Bool().Draw(r, "unicode"))
		v := New()
		if rapid.Bool().Draw(r, "by") {
			v.by = "zero"
		}
		invented(v, in.Setup)
		switch rapid.IntRange(0, 6).Draw(r, "state") {
		case 0:
			v.grid = nil
		case 1:
			v.grid.Rows, v.other = nil, nil
		case 2:
			odd := []float64{math.NaN(), math.Inf(1), 0, -1}
			for i := range odd {
				v.grid.Rows[0][i].Value = &odd[i]
			}
		case 3:
			in.Report = nil
		case 4:
			v.large, v.grid = true, nil
		case 5:
			v.other = nil
		}
		screentest.Play(r, in, v, names)
	})
}

// TestPoints: what is drawn are the engine's figures, every point can be taken,
// the current one is the current setup, and what was stopped is asked again.
func TestPoints(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	v := New()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	v.Refresh(in).Work(stopped)()
	if v.grid != nil || v.Refresh(in).Work == nil {
		t.Fatal("what was stopped is not asked again")
	}
	v.Forget()
	v.by = "zero"
	v.Refresh(in).Work(t.Context())()
	if v.Refresh(in).Work != nil {
		t.Error("asks twice")
	}
	if p := v.point(); p == nil || !p.Current || p.Setup != *in.Setup {
		t.Fatal("the cursor is not on the setup in force")
	}
	v.press(in, "enter")
	taken := 0
	for i, row := range v.grid.Rows {
		for j := range row {
			v.row, v.column = i, j
			do := v.press(in, "enter")
			if row[j].Verdict == enginescan.Illegal {
				if do.Setup != nil {
					t.Error("an illegal point is taken")
				}
				continue
			}
			r := engine.Evaluate(*do.Setup)
			if !r.Legal || float64(r.Time.Step) != *row[j].Value {
				t.Errorf("%s, %s: %v", row[j].X, row[j].By, row[j].Value)
			}
			taken++
		}
	}
	if taken < 12 {
		t.Errorf("%d points", taken)
	}
}

// TestEveryFigureCanBeDrawn: each figure offered is found in the report, and each
// knob offered has a ladder.
func TestEveryFigureCanBeDrawn(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	list := figureIDs(in.Report)
	if len(list) < 30 {
		t.Errorf("%d figures", len(list))
	}
	for _, id := range list {
		if _, ok := figures.Find(in.Report, id); !ok {
			t.Errorf("%s is not in the report", id)
		}
	}
	v := New()
	for range list {
		v.press(in, "right")
	}
	if v.figure != New().figure {
		t.Errorf("going round the figures ends at %s", v.figure)
	}
	v.press(in, "/", "p", "e", "a", "k", "enter")
	if v.figure != "memory.peak" {
		t.Errorf("peak finds %s", v.figure)
	}
	v.x = "tp"
	v.press(in, "down", "down", "right", "b")
	if v.by != "tp" || v.x == "" || v.x == "tp" {
		t.Errorf("exchanged: %s by %s", v.x, v.by)
	}
}
