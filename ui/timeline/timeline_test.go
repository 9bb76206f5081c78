package timeline

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"meshscope/engine/schedule"
	"meshscope/engine_test/draws"
	"meshscope/themes"
	"meshscope/ui/widget"
)

func simulated(t *rapid.T) *schedule.Timeline {
	s := schedule.Spec{
		Kind: rapid.SampledFrom([]schedule.Kind{schedule.OneFOneB, schedule.AFAB, schedule.ZBH1}).Draw(t,
			"kind"),
		Ranks: rapid.IntRange(1, 12).Draw(t, "p"), VirtualStages: 1,
		MicroBatches: rapid.IntRange(1, 90).Draw(t, "m"),
	}
	o, err := schedule.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	times := schedule.ChunkTimes{F: rapid.Float64Range(0.1, 3).Draw(t, "f"), I: 1, W: 1, B: 2}
	line, err := schedule.Simulate(o,
		schedule.UniformCosts(s, times, rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "latency")))
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// TestAxis: places and moments are each other's inverse outside of folds, what
// is folded away adds up, and columns hold the moments drawn in them.
func TestAxis(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		lines := []*schedule.Timeline{simulated(t)}
		if rapid.Bool().Draw(t, "two") {
			lines = append(lines, simulated(t))
		}
		w := rapid.IntRange(12, 200).Draw(t, "w")
		a := NewAxis(lines, rapid.Bool().Draw(t, "fold"), w,
			rapid.SampledFrom([]float64{0, 1e-9, 0.3, 0.8, 1}).Draw(t, "about"))
		away := 0.0
		for _, c := range a.cuts {
			away += c.to - c.from
		}
		if math.Abs(a.Length+away-a.Whole) > 1e-9*a.Whole {
			t.Fatalf("%v shown and %v folded of %v", a.Length, away, a.Whole)
		}
		place := rapid.Float64Range(0, 1).Draw(t, "place")
		if back := a.Place(a.Moment(place)); math.Abs(back-place) > 1e-9 {
			t.Fatalf("%v is %v, which is at %v", place, a.Moment(place), back)
		}
		from := rapid.Float64Range(0, 0.9).Draw(t, "from")
		f := a.Frame(from, from+rapid.Float64Range(0.01, 0.1).Draw(t, "share"), w)
		for col := range w {
			at := f.Time(col)
			if first, last := f.Shows(); at <= first || at >= last {
				continue // the picture may be narrower than its room
			}
			if got := f.Column(at); got != col && !f.inFold(at) {
				t.Fatalf("column %d is at %v, which is in column %d", col, at, got)
			}
		}
		free := 0
		for _, tick := range f.Ticks(func(step, at float64) string {
			return strconv.FormatFloat(at, 'g', 4, 64)
		}) {
			if tick.Col < free || tick.Col+1+len(tick.Text) > w {
				t.Fatalf("tick %q at %d, free from %d of %d", tick.Text, tick.Col, free, w)
			}
			free = tick.Col + 1 + len(tick.Text)
		}
	})
}

// gaps lists how long the stretches are of which a frame shows nothing.
func (f *Frame) gaps(whole float64) (gaps []float64) {
	end := 0.0
	for _, s := range f.spans {
		if s.drawn() {
			gaps, end = append(gaps, s.from-end), s.to
		}
	}
	return append(gaps, whole-end)
}

// TestOverview keeps to its size, and its lines represent all ranks once.
func TestOverview(t *testing.T) {
	p, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	draws.Check(t, func(t *rapid.T) {
		line := simulated(t)
		theme := p.Resolve(rapid.SampledFrom([]colorprofile.Profile{
			colorprofile.ASCII, colorprofile.ANSI,
			colorprofile.ANSI256,
		}).Draw(t, "profile"))
		a := NewAxis([]*schedule.Timeline{line}, true, 60, 0)
		n := rapid.IntRange(1, len(line.Ranks)).Draw(t, "n")
		w := rapid.IntRange(1, 100).Draw(t, "w")
		f := a.Frame(rapid.Float64Range(0, 0.5).Draw(t, "from"), 1, 60)
		gaps := f.gaps(a.Whole)
		words := func(left float64) string {
			if !slices.ContainsFunc(gaps, func(g float64) bool { return math.Abs(g-left) <= 1e-9*a.Whole }) {
				t.Fatalf("%v left out, the frame leaves out %v", left, gaps)
			}
			return fmt.Sprintf("%g left out", left)
		}
		lines := append(NewOverview(line, &a, w, n).Render(theme, widget.NewGlyphs(true)),
			f.Windows(a.Whole, theme, widget.NewGlyphs(false), w, words))
		if len(lines) != n+1 {
			t.Fatalf("%d lines of %d", len(lines), n+1)
		}
		for _, l := range lines {
			if got := ansi.StringWidth(l); got != w {
				t.Fatalf("%d cells of %d: %q", got, w, ansi.Strip(l))
			}
		}
		next := 0
		for i := range n {
			from, to := Share(len(line.Ranks), n, i)
			if from != next || to <= from {
				t.Fatalf("line %d of %d is ranks %d to %d", i, n, from, to)
			}
			next = to
		}
		if next != len(line.Ranks) {
			t.Fatalf("the lines end at rank %d", next)
		}
	})
}

// TestAxisIsLegible: whatever the schedule and however long the step, letter and micro-batch fit into
// operations of the usual length where there is room for two stretches, and what is left out goes
// where the cursor is.
func TestAxisIsLegible(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		lines := []*schedule.Timeline{simulated(t)}
		if rapid.Bool().Draw(t, "two") {
			lines = append(lines, simulated(t))
		}
		w := rapid.IntRange(40, 200).Draw(t, "w")
		a := NewAxis(lines, true, w, 0)
		if f := a.Frame(0, 1, w); !f.Legible() {
			t.Fatalf("%v columns of %v for an operation: %+v", f.PerOp(), w, f.spans)
		}
		at := rapid.Float64Range(0.001, 0.999).Draw(t, "at")
		moved := a
		if a.LeftOut(at * a.Whole) {
			moved = a.About(w, at)
		}
		f := moved.Frame(0, 1, w)
		if a.Cut && !f.Legible() || moved.LeftOut(at*a.Whole) {
			t.Fatalf("%v is left out of %+v", at, f.spans)
		}
	})
}

// TestFoldGains: a fold is there where it makes operations wider, and only there.
func TestFoldGains(t *testing.T) {
	for name, c := range map[string]struct {
		s     schedule.Spec
		w     int
		folds bool
	}{
		"long 1F1B":  {oneFOneB(4, 256), 120, true},
		"short 1F1B": {oneFOneB(16, 22), 60, false}, // five of its periods are alike, of which two may go
	} {
		line := built(t, c.s, 0)
		a := NewAxis([]*schedule.Timeline{line}, true, c.w, 0)
		if folds := a.Folded > 0; folds != c.folds {
			t.Errorf("%s: folded %d periods", name, a.Folded)
		}
		for w := 20; w < 240; w += 7 {
			a := NewAxis([]*schedule.Timeline{line}, true, w, 0)
			mark := 0
			for _, s := range a.cuts {
				mark += s.cols
			}
			if gain := float64(w-mark) / a.Length / (float64(w) / a.Whole); a.Folded > 0 &&
				gain < ganttFoldGain {
				t.Errorf("%s, %d columns: %d periods folded for a gain of %.2f", name, w, a.Folded, gain)
			}
		}
	}
}
