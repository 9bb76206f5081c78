package timeline

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"meshscope/engine/schedule"
	"meshscope/engine_test/draws"
	"meshscope/themes"
	"meshscope/ui/widget"
)

type failer interface {
	Helper()
	Fatalf(string, ...any)
}

// simulated simulates a spec whose forwards last 1 and backwards 2.
func built(t failer, s schedule.Spec, p2p float64) *schedule.Timeline {
	t.Helper()
	o, err := schedule.Build(s)
	if err != nil {
		t.Fatalf("%v", err)
	}
	tl, err := schedule.Simulate(o, schedule.UniformCosts(s, schedule.ChunkTimes{F: 1, B: 2, I: 1, W: 1},
		p2p))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return tl
}

func themed(t failer, name string, profile colorprofile.Profile) *themes.Theme {
	t.Helper()
	p, err := themes.Load(name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return p.Resolve(profile)
}

func oneFOneB(p, m int) schedule.Spec {
	return schedule.Spec{Kind: schedule.OneFOneB, Ranks: p, VirtualStages: 1, MicroBatches: m}
}

// TestChartText pins the drawing without colours at each number of columns per
// operation.
func TestChartText(t *testing.T) {
	mono := themed(t, "mono", colorprofile.ASCII)
	for _, c := range []struct {
		name  string
		spec  schedule.Spec
		fold  bool
		ascii bool
		w, h  int
		want  string
	}{
		{"four columns", oneFOneB(2, 3), false, false, 61, 8, `
0 │F0-│F1-│········B0-----│F2-│B1-----│····B2-----│    25.0 %|
1 │····F0-│B0-----│F1-│B1-----│F2-│B2-----│········    25.0 %|`},
		{"two columns", oneFOneB(4, 8), false, false, 80, 8, `
0 │F0F1F2F3············B0-│F4B1-│F5B2-│F6B3-│F7B4-│··B5-│··B6-│··B7-│     27.3 %|
1 │··F0F1F2········B0-│F3B1-│F4B2-│F5B3-│F6B4-│F7B5-│··B6-│··B7-│····     27.3 %|
2 │····F0F1····B0-│F2B1-│F3B2-│F4B3-│F5B4-│F6B5-│F7B6-│··B7-│········     27.3 %|
3 │······F0B0-│F1B1-│F2B2-│F3B3-│F4B4-│F5B5-│F6B6-│F7B7-│············     27.3 %|`},
		{"one column, ASCII", oneFOneB(4, 8), false, true, 46, 8, `
0 |FFFF......B0FB1FB2FB3FB4.B5.B6.B7    27.3 %|
1 |.FFF....B0FB1FB2FB3FB4FB5.B6.B7..    27.3 %|
2 |..FF..B0FB1FB2FB3FB4FB5FB6.B7....    27.3 %|
3 |...FB0FB1FB2FB3FB4FB5FB6FB7......    27.3 %|`},
		{
			"less than a column: what is mixed is not painted as backward", oneFOneB(16, 64), false, false,
			60,
			4, `
 0 │FFF······BBFBBFBBFBBFBBFBBFBBFBBFBBFBBBB·BB·B·BB  19.0 %|
 1 │FFF······BBFBBFBBFBBFBBFBBFBBFBBFBBFBBFB·BB·BB··  19.0 %|
 2 │FFF·····BBFBBFBBFBBFBBFBBFBBFBBFBBFBBFBB·BB·BB··  19.0 %|
15 │···BFBBFBBFBBFBBFBBFBBFBBFBBFBBFBBFBBFBBFB······  19.0 %|`,
		},
		{"folded", oneFOneB(4, 128), true, false, 120, 8, `
0 │F0-│F1-│F2-│F3-│························B0-----│F4-│⋯×123⋯B124---│····B125---│····B126---│····B127---│          2.3 %|
1 │····F0-│F1-│F2-│················B0-----│F3-│B1-----│⋯×123⋯F127B125---│····B126---│····B127---│········          2.3 %|
2 │········F0-│F1-│········B0-----│F2-│B1-----│F3-│B2--⋯×123⋯B125F127B126---│····B127---│················          2.3 %|
3 │············F0-│B0-----│F1-│B1-----│F2-│B2-----│F3-│⋯×123⋯B126---│F127B127---│························          2.3 %|`},
		{"stretches", oneFOneB(4, 128), true, false, 80, 8, `
0 │F0-│F1-│F2-│F3-│····· ⋯ FB61----│F65│B62----│ ⋯ ·B126---│····B127---│   2.3 %|
1 │····F0-│F1-│F2-│····· ⋯ BF64│B62----│F65│B63- ⋯ B····B127---│········   2.3 %|
2 │········F0-│F1-│····· ⋯ B62-│F64│B63----│F65│ ⋯ B127│················   2.3 %|
3 │············F0-│B0--- ⋯ FB63----│F64│B64----│ ⋯ ·····················   2.3 %|`},
		{"folded twice, ASCII", schedule.Spec{
			Kind: schedule.AFAB, Ranks: 2, VirtualStages: 1,
			MicroBatches: 40,
		}, true, true, 80, 8, `
0 |F0-|F1-|<x37>F39|............B0-----|<x37>B38----|B39----|              2.4 %|
1 |....F0-|<x37>F38|F39|B0-----|B1-----|<x37>B39----|........              2.4 %|`},
		{"second chunk in small letters", schedule.Spec{
			Kind: schedule.Interleaved, Ranks: 2,
			VirtualStages: 2, MicroBatches: 2,
		}, false, false, 42, 8, `
0 │F0F1f0f1····b0-│··b1-│B0-│B1-│   20.0 %|
1 │··F0F1f0b0-│f1b1-│B0-│B1-│····   20.0 %|`},
		{"no room for margins", oneFOneB(2, 2), false, false, 9, 8, `
FF··B0·B1|
·FB0FB1··|`},
	} {
		v := Chart{Timeline: built(t, c.spec, 0), Fold: c.fold}
		got := "\n"
		for _, line := range v.Render(mono, widget.NewGlyphs(!c.ascii), c.w, c.h) {
			got += ansi.Strip(line) + "|\n"
		}
		if got = strings.TrimSuffix(got, "\n"); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestChartUnfoldedTimes: a folded picture of steps of any length shows the same
// beginning and end, and says how much it left out.
func TestChartUnfoldedTimes(t *testing.T) {
	mono, g := themed(t, "mono", colorprofile.ASCII), widget.NewGlyphs(true)
	for _, m := range []int{40, 400} {
		v := Chart{Timeline: built(t, oneFOneB(2, m), 0), Fold: true}
		line := ansi.Strip(v.Render(mono, g, 80, 2)[1])
		n := v.Folded(80, 2)
		if !strings.Contains(line, fmt.Sprintf("⋯×%d⋯", n)) || n < m-20 || n >= m {
			t.Errorf("m=%d: %d folded in %q", m, n, line)
		}
		if !strings.HasPrefix(line, "1 │··") || !strings.Contains(line, fmt.Sprintf("B%d", m-1)) {
			t.Errorf("m=%d: beginning or end is missing: %q", m, line)
		}
	}
}

// TestChartRows: the ranks that were asked for, or the first ones and the last.
func TestChartRows(t *testing.T) {
	v := Chart{Timeline: built(t, oneFOneB(20, 4), 0)}
	for h := 0; h <= 22; h++ {
		rows := v.Rows(h)
		if len(rows) != min(h, 20) || !slices.IsSorted(rows) {
			t.Errorf("%d lines: %v", h, rows)
		}
		if h >= 2 && (rows[0] != 0 || rows[len(rows)-1] != 19) {
			t.Errorf("%d lines: first or last is missing: %v", h, rows)
		}
	}
	v.Shown = []int{-1, 3, 7, 99}
	if rows := v.Rows(5); !slices.Equal(rows, []int{3, 7}) {
		t.Errorf("asked for 3 and 7: %v", rows)
	}
}

// TestChartLegible: a picture that folds has no mixed columns where there is
// room for anything else, also when the stages are uneven.
func TestChartLegible(t *testing.T) {
	for _, s := range []schedule.Spec{
		oneFOneB(16, 120), oneFOneB(16, 128), oneFOneB(4, 256), oneFOneB(64, 512),
		{Kind: schedule.Interleaved, Ranks: 16, VirtualStages: 3, MicroBatches: 128},
		{Kind: schedule.AFAB, Ranks: 16, VirtualStages: 1, MicroBatches: 64},
	} {
		o, err := schedule.Build(s)
		if err != nil {
			t.Fatal(err)
		}
		costs := schedule.UniformCosts(s, schedule.ChunkTimes{F: 1, B: 2}, 0.01)
		for i := range costs.F { // no two stages alike, a light first and a heavy last one
			costs.F[i] *= 1 + 0.001*float64(i%7)
			costs.B[i] *= 1 + 0.002*float64(i%5)
		}
		costs.F[0], costs.B[0] = 0.7, 1.4
		costs.B[len(costs.B)-1] *= 1.2
		tl, err := schedule.Simulate(o, costs)
		if err != nil {
			t.Fatal(err)
		}
		v := Chart{Timeline: tl, Fold: true}
		for _, w := range []int{46, 66, 100, 140} {
			if v.Blended(w, 8) {
				t.Errorf("%+v: %d cells show mixed columns", s, w)
			}
		}
		if s.Ranks == 4 && v.Folded(200, 8) == 0 {
			t.Errorf("%+v: the steady state is not folded", s)
		}
	}
}

// TestChartColour: kinds, steady state and idle time differ in colour, and a
// span of one colour is one run.
func TestChartColour(t *testing.T) {
	v := Chart{Timeline: built(t, oneFOneB(16, 256), 0), Plain: true}
	for _, c := range []struct {
		profile colorprofile.Profile
		blends  bool
	}{{colorprofile.TrueColor, true}, {colorprofile.ANSI256, true}, {colorprofile.ANSI, false}} {
		for _, name := range []string{"dark", "light"} {
			theme := themed(t, name, c.profile)
			if theme.Blends() != c.blends {
				t.Errorf("%s %v: blends %v", name, c.profile, theme.Blends())
			}
			p := v.newPainter(theme, widget.NewGlyphs(true), 100)
			p.row(0)
			looks := map[string]string{} // by what is shown there
			for column, what := range map[int]string{0: "forward", 3: "idle", 50: "steady"} {
				cell := p.cells[column]
				key := cell.paint.Open() + cell.sign
				if other, taken := looks[key]; taken {
					t.Errorf("%s %v: %s looks like %s: %q", name, c.profile, what, other, key)
				}
				looks[key] = what
			}
			for _, line := range v.Render(theme, widget.NewGlyphs(true), 100, 16) {
				if runs := strings.Count(line, "\x1b[m"); runs > 40 {
					t.Errorf("%s %v: %d runs in a line of 100 cells", name, c.profile, runs)
				}
			}
		}
	}
	// Forward and backward are stacks of their shares; of a split backward the colours are mixed, and the
	// names of the kinds stand in the blended stretches. Without blocks all are mixed.
	split := Chart{Timeline: built(t, schedule.Spec{
		Kind: schedule.ZBH1, Ranks: 16, VirtualStages: 1,
		MicroBatches: 256,
	}, 0), Plain: true}
	for _, c := range []struct {
		v       *Chart
		unicode bool
		want    string
	}{{&v, true, "▅▅▅▅▅▅▅▅▅▅"}, {&v, false, "FB"}, {&split, true, "FIW"}} {
		line := ansi.Strip(c.v.Render(themed(t, "dark", colorprofile.TrueColor), widget.NewGlyphs(c.unicode),
			100, 16)[0])
		if !strings.Contains(line, c.want) {
			t.Errorf("the steady state of %s is not %s: %q", c.v.Timeline.Order.Spec.Kind, c.want, line)
		}
	}
}

// TestChartLooks pins the looks of single cells: kinds, the second shade, the
// edge of an operation, and the two looks of idle time.
func TestChartLooks(t *testing.T) {
	theme := themed(t, "dark", colorprofile.TrueColor)
	p := (&Chart{Timeline: built(t, oneFOneB(2, 3), 0), Plain: true}).newPainter(theme,
		widget.NewGlyphs(true), 24)
	forward, backward, alternate := theme.Area(themes.Forward), theme.Area(themes.Backward),
		theme.Area(themes.ForwardAlt)
	for _, c := range []struct {
		rank, column int
		want         cell
	}{
		{0, 0, cell{forward, "F"}},
		{0, 1, cell{forward, "0"}},
		{0, 2, cell{alternate, "F"}},                // the next micro-batch: the shade tells them apart
		{0, 4, cell{theme.Paint(themes.Warn), "·"}}, // between two operations
		{0, 8, cell{backward, "B"}},
		{0, 9, cell{backward, "0"}},
		{0, 11, cell{backward, "│"}},
		{1, 0, cell{theme.Paint(themes.Faint), "·"}}, // before the first
		{1, 23, cell{theme.Paint(themes.Faint), "·"}},
	} {
		p.row(c.rank)
		if got := p.cells[c.column]; got != c.want {
			t.Errorf("rank %d, column %d: %q, want %q", c.rank, c.column, got, c.want)
		}
	}
}

// TestChartLegend names what is on the picture, in the signs of the picture.
func TestChartLegend(t *testing.T) {
	whole := Chart{Timeline: built(t, oneFOneB(4, 8), 0)}
	small := Chart{Timeline: built(t, oneFOneB(16, 64), 0)}
	split := Chart{Timeline: built(t, schedule.Spec{
		Kind: schedule.ZBH1, Ranks: 16, VirtualStages: 1,
		MicroBatches: 64,
	}, 0)}
	for _, c := range []struct {
		v     *Chart
		theme *themes.Theme
		w     int
		want  string
	}{
		{&whole, themed(t, "dark", colorprofile.TrueColor), 60, " F  forward    B  backward   · idle"},
		{
			&small, themed(t, "dark", colorprofile.TrueColor), 60,
			"▅▅▅ shares of time    F  forward    B  backward   · idle",
		},
		{
			&split, themed(t, "dark", colorprofile.TrueColor), 90,
			" FIW  F, I, W alternating    IW  I, W alternating    FI  alternating    F  forward",
		},
		{
			&small, themed(t, "dark", colorprofile.ANSI), 70,
			"▅▅▅ shares of time    F  forward    B  backward   · idle",
		},
		{
			&small, themed(t, "dark", colorprofile.ANSI), 100,
			"▅▅▅ heights: shares of the time, empty: idle    F  forward    B  backward   · idle",
		},
		{&small, themed(t, "mono", colorprofile.ASCII), 70, "BFB shares of time   F fwd   B bwd   · idle"},
		{&small, themed(t, "mono", colorprofile.ASCII), 30, "BFB shares of time   F fwd"},
	} {
		line := c.v.Legend(c.theme, widget.NewGlyphs(true), c.w, 16)
		if got := strings.TrimRight(ansi.Strip(line), " "); got != c.want || ansi.StringWidth(line) != c.w {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestChartPair draws an overlapped pair as one box of two halves.
func TestChartPair(t *testing.T) {
	f, b := schedule.NewOp(schedule.Forward, 0, 1).Pair(), schedule.NewOp(schedule.Backward, 0, 0)
	o := &schedule.Order{
		Spec: schedule.Spec{Kind: "by hand", Ranks: 1, VirtualStages: 1, MicroBatches: 2},
		Ops: []schedule.Op{
			schedule.NewOp(schedule.Forward, 0, 0), f, b,
			schedule.NewOp(schedule.Backward, 0, 1),
		},
		Start: []int{0, 4},
	}
	tl, err := schedule.Simulate(o, schedule.Costs{F: []float64{1}, B: []float64{2}})
	if err != nil {
		t.Fatal(err)
	}
	v := Chart{Timeline: tl, Plain: true}
	mono := themed(t, "mono", colorprofile.ASCII)
	for w, want := range map[int]string{
		24: "F0-│F1---&B0---│B1-----│",
		12: "F0F1&B0│B1-│",
	} {
		if got := ansi.Strip(v.Render(mono, widget.NewGlyphs(true), w, 1)[0]); got != want {
			t.Errorf("%d columns: %q, want %q", w, got, want)
		}
	}
	if lines := v.Render(mono, widget.NewGlyphs(true), 2, 1); ansi.Strip(lines[0]) == "" {
		t.Error("two columns are drawn too")
	}
}

// TestChartOfInstants draws operations that are too short to be told from none.
func TestChartOfInstants(t *testing.T) {
	s := schedule.Spec{Kind: schedule.AFAB, Ranks: 1, VirtualStages: 1, MicroBatches: 1}
	o, err := schedule.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	tl, err := schedule.Simulate(o, schedule.UniformCosts(s, schedule.ChunkTimes{F: 1e-17, B: 2}, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, about := range []float64{0, 0.5, 1} {
		for w := range 120 {
			a := NewAxis([]*schedule.Timeline{tl}, true, w, about)
			if f := a.Frame(0, 1, w); w > 0 && len(f.spans) == 0 {
				t.Fatalf("nothing in %d columns about %v", w, about)
			}
		}
	}
}

// TestChartAnySize draws legal timelines at any size: never a panic, lines of
// exactly the width, one per rank shown; and the parts of the step cover the
// whole of it.
func TestChartAnySize(t *testing.T) {
	looks := []*themes.Theme{
		themed(t, "mono", colorprofile.ASCII), themed(t, "dark", colorprofile.TrueColor),
		themed(t, "light", colorprofile.ANSI256), themed(t, "dark", colorprofile.ANSI),
		themed(t, "dark", colorprofile.TrueColor).Dim(),
	}
	draws.Check(t, func(t *rapid.T) {
		s := schedule.Spec{
			Kind: rapid.SampledFrom([]schedule.Kind{
				schedule.AFAB, schedule.OneFOneB,
				schedule.Interleaved,
			}).Draw(t, "kind"),
			Ranks:         rapid.IntRange(1, 12).Draw(t, "p"),
			VirtualStages: 1,
		}
		if s.Kind == schedule.Interleaved {
			s.VirtualStages = rapid.IntRange(1, 3).Draw(t, "v")
		}
		s.MicroBatches = s.Ranks * rapid.IntRange(1, 40).Draw(t, "m/p")
		o, err := schedule.Build(s)
		if err != nil {
			t.Fatal(err)
		}
		d := rapid.OneOf(rapid.Just(0.0), rapid.Just(1.0), rapid.Just(2.0), rapid.Float64Range(0, 3))
		costs := schedule.UniformCosts(s, schedule.ChunkTimes{F: d.Draw(t, "f"), B: d.Draw(t, "b")},
			d.Draw(t, "p2p"))
		if rapid.Bool().Draw(t, "head") {
			costs.B[s.Stages()-1] *= 1.3
		}
		tl, err := schedule.Simulate(o, costs)
		if err != nil {
			t.Fatal(err)
		}
		v := Chart{
			Timeline: tl, Fold: rapid.Bool().Draw(t, "fold"), Plain: rapid.Bool().Draw(t, "plain"),
			Shown: rapid.SliceOfN(rapid.IntRange(-2, 14), 0, 3).Draw(t, "shown"),
		}
		w, h := rapid.IntRange(-1, 260).Draw(t, "w"), rapid.IntRange(-1, 20).Draw(t, "h")
		theme, g := rapid.SampledFrom(looks).Draw(t, "theme"),
			widget.NewGlyphs(rapid.Bool().Draw(t, "unicode"))
		lines := v.Render(theme, g, w, h)
		want := len(v.Rows(h))
		if w <= 0 {
			want = 0
		}
		if len(lines) != want {
			t.Fatalf("%d lines, want %d", len(lines), want)
		}
		for _, line := range lines {
			if got := ansi.StringWidth(line); got != w {
				t.Fatalf("%d cells, want %d: %q", got, w, line)
			}
			if !g.Unicode && len(ansi.Strip(line)) != w {
				t.Fatalf("not ASCII: %q", line)
			}
		}
		if want > 0 && tl.Makespan > 0 {
			checkSpans(t, v.spans(w), tl.Makespan, w)
		}
	})
}

func checkSpans(t *rapid.T, spans []interval, makespan float64, w int) {
	at, col := 0.0, 0
	for _, s := range spans {
		if s.from != at || s.col != col || s.to < s.from || s.cols < 0 {
			t.Fatalf("a hole at %v, column %d: %+v", at, col, spans)
		}
		at, col = s.to, s.col+s.cols
	}
	if math.Abs(at-makespan) > 1e-12*makespan || col > w { // a folded time comes from sums
		t.Fatalf("ends at %v of %v, column %d of %d: %+v", at, makespan, col, w, spans)
	}
}

// TestChartNothing draws what is no timeline.
func TestChartNothing(t *testing.T) {
	mono := themed(t, "mono", colorprofile.ASCII)
	for _, tl := range []*schedule.Timeline{
		nil,
		{},
		{Order: &schedule.Order{}},
		{Order: &schedule.Order{Ops: make([]schedule.Op, 3)}},
	} {
		v := Chart{Timeline: tl, Fold: true}
		if lines := v.Render(mono, widget.NewGlyphs(true), 80, 24); len(lines) != 0 || v.Folded(80, 24) != 0 {
			t.Errorf("%+v: %v", tl, lines)
		}
	}
}
