package memory

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/screen/screentest"
	"meshscope/ui/widget"
)

// chrome are the lines of the screen around the view: title and foot.
const chrome = 4

// drawn is the screen in one of its states.
func drawn(in *screen.Context, state string, w, h int) []string {
	v := answered(in)
	press(v, in, w, h, map[string][]string{
		"ranks": {"left"}, "step": {"s", "+", "+", "left"},
		"layer": {"i", "down"},
	}[state]...)
	return append(v.Render(in.At(w, h)), v.Status(in.At(w, 1)))
}

// TestFrames draws the screen without colours. From 120 columns on every pane is on it.
func TestFrames(t *testing.T) {
	for size, states := range map[[2]int][]string{
		{80, 24}: {"ranks", "step", "layer"}, {120, 36}: {"ranks"},
		{200, 60}: {"ranks"},
	} {
		for _, state := range states {
			t.Run(fmt.Sprintf("%s-%dx%d", state, size[0], size[1]), func(t *testing.T) {
				in := input(t, colorprofile.ASCII, true, 4)
				golden.RequireEqual(t,
					ansi.Strip(strings.Join(drawn(in, state, size[0], size[1]-chrome), "\n")+"\n"))
			})
		}
	}
}

// TestMeanings: what grows is pointed out, the limit is drawn in its own look, and what is
// chosen is marked.
func TestMeanings(t *testing.T) {
	in := input(t, colorprofile.ANSI256, true, 4)
	ranks := drawn(in, "ranks", 80, 20)
	screentest.Meant(t, ranks, in.Theme, themes.Good, "fits: 68.0 GiB ±9.0 %")
	screentest.Meant(t, ranks, in.Theme, themes.Warn, "▲", "▲", "▲")
	screentest.Meant(t, ranks, in.Theme, themes.Limit, "│", "│", "│", "│", "│")
	screentest.Meant(t, ranks, in.Theme, themes.Current, "[12.0]")
}

// TestLooks: every state in every theme and with few colours.
func TestLooks(t *testing.T) {
	for _, state := range []string{"ranks", "step", "layer"} {
		for _, size := range [][2]int{{80, 24}, {120, 36}} {
			screentest.Looks(t, func(theme *themes.Theme, glyphs widget.Glyphs) []string {
				in := input(t, colorprofile.ASCII, true, 4)
				in.Theme, in.Glyphs = theme, glyphs
				return drawn(in, state, size[0], size[1]-chrome)
			})
		}
	}
}

// TestManyRanks pages: the first, the last, the fullest and the one under the
// cursor stay in sight.
func TestManyRanks(t *testing.T) {
	in := input(t, colorprofile.ASCII, true, 64)
	v := answered(in)
	draws.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(80, 220).Draw(t, "w"), rapid.IntRange(18, 60).Draw(t, "h")
		for range rapid.IntRange(0, 9).Draw(t, "moves") {
			press(v, in, w, h,
				rapid.SampledFrom([]string{"down", "pgdown", "up", "pgup", "end", "home"}).Draw(t, "key"))
		}
		text := ansi.Strip(strings.Join(v.Render(in.At(w, h)), "\n"))
		for _, rank := range []int{0, 63, v.cursorRank(in.Report.Memory)} {
			if !strings.Contains(text, fmt.Sprintf("rank %d ", rank)) &&
				!strings.Contains(text, fmt.Sprintf("rank %d▲", rank)) {
				t.Fatalf("rank %d is not on screen at %dx%d:\n%s", rank, w, h, text)
			}
		}
	})
}

// TestEverySize: any size, any keys and clicks, with and without answers, with
// figures that are none; always exactly the size that was asked for.
func TestEverySize(t *testing.T) {
	inputs := map[string]*screen.Context{}
	for _, ranks := range []int{1, 4, 64} {
		inputs[fmt.Sprint(ranks)] = input(t, colorprofile.ANSI256, true, ranks)
	}
	inputs["ascii"] = input(t, colorprofile.ASCII, false, 8)
	wild := input(t, colorprofile.ANSI256, true, 4)
	wild.Report.Memory.Ranks[1].Total = units.Bytes(math.NaN())
	wild.Report.Memory.Ranks[2].Activations = units.Bytes(math.Inf(1))
	wild.Report.Memory.PeakRank = 99
	inputs["wild"] = wild
	nothing := wild.At(0, 0)
	nothing.Report = &engine.Report{}
	inputs["nothing"] = nothing
	keys := []string{
		"up", "down", "left", "right", "h", "j", "k", "l", "H", "L", "J", "K", "v", "V", "s",
		"i", "f", "+", "-", "0", "home", "end", "g", "G", "pgup", "pgdown", "x",
	}
	draws.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"1", "4", "64", "ascii", "wild", "nothing"}).Draw(t, "input")
		in := inputs[name]
		v := New()
		if memoryOf(in) != nil && rapid.Bool().Draw(t, "answered") {
			v = answered(in)
		}
		if other := inputs[rapid.SampledFrom([]string{"1", "4", "64"}).Draw(t, "other")]; rapid.Bool().Draw(t,
			"stale") {
			v = answered(other) // about a setup before this one
		}
		wide, high := rapid.IntRange(0, 40), rapid.IntRange(0, 12)
		if rapid.Bool().Draw(t, "large") {
			wide, high = rapid.IntRange(41, 240), rapid.IntRange(13, 70)
		}
		w, h := wide.Draw(t, "w"), high.Draw(t, "h")
		for range rapid.IntRange(0, 12).Draw(t, "inputs") {
			if rapid.Bool().Draw(t, "mouse") {
				button := rapid.SampledFrom([]string{"left", "wheelup", "wheeldown", "right"}).Draw(t,
					"button")
				v.Mouse(in.At(w, h), rapid.IntRange(-1, w+1).Draw(t, "x"),
					rapid.IntRange(-1, h+1).Draw(t, "y"), button)
			} else {
				screen.Press(v, in.At(w, h), rapid.SampledFrom(keys).Draw(t, "key"))
			}
		}
		before := cursors(v)
		lines := v.Render(in.At(w, h))
		if len(lines) != h {
			t.Fatalf("%d lines instead of %d", len(lines), h)
		}
		for _, line := range lines {
			if got := ansi.StringWidth(line); got != w {
				t.Fatalf("%dx%d: a line of %d cells: %q", w, h, got, ansi.Strip(line))
			}
			// The program replaces the sign of a text that was cut.
			if !in.Glyphs.Unicode &&
				strings.IndexFunc(line, func(r rune) bool { return r > 126 && r != '…' }) >= 0 {
				t.Fatalf("not ASCII: %q", line)
			}
		}
		if status := v.Status(in.At(w, 1)); ansi.StringWidth(status) > max(w, 0) {
			t.Fatalf("a status of %d cells on %d", ansi.StringWidth(status), w)
		}
		screen.Hints(v, in)
		if after := cursors(v); after != before {
			t.Fatal("drawing changed the state")
		}
	})
}

// cursors is what keys and clicks change.
func cursors(v *View) string {
	u := *v
	u.answers, u.query = answers{}, engine.Setup{}
	return fmt.Sprintf("%+v", u)
}

// TestRefresh asks once per setup, keeps old answers until new ones come, and
// asks again after it was called off.
func TestRefresh(t *testing.T) {
	in := input(t, colorprofile.ANSI256, true, 2)
	s := presets.DefaultSetup()
	r := engine.Evaluate(s)
	in.Setup, in.Report = &s, &r
	v := New()
	do := v.Refresh(in)
	if do.Work == nil {
		t.Fatal("no work for a new setup")
	}
	if again := v.Refresh(in); again.Work != nil {
		t.Fatal("asked twice")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	do.Work(ctx)()
	if v.fresh(in) {
		t.Fatal("answers of work that was called off")
	}
	do = v.Refresh(in)
	if do.Work == nil {
		t.Fatal("not asked again after it was called off")
	}
	do.Work(context.Background())()
	if !v.fresh(in) || v.answers.limits.Seq < s.Seq || len(v.answers.kinds) != 1 || v.answers.seq == nil {
		t.Fatalf("answers %+v", v.answers.limits)
	}
	// The series at its highest is the peak of the report.
	for i, rank := range r.Memory.Ranks {
		if got := v.answers.over.Ranks[i].Peaks[1]; math.Abs(float64(got/rank.Total)-1) > 1e-9 {
			t.Errorf("rank %d: %.3f GiB over the step, %.3f in the report", i, got.GiB(), rank.Total.GiB())
		}
	}
	t2 := s
	t2.Seq /= 2
	r2 := engine.Evaluate(t2)
	in.Setup, in.Report = &t2, &r2
	if v.fresh(in) || v.Refresh(in).Work == nil {
		t.Fatal("a new setup was not asked for")
	}
}

// TestVerdict: both steps of the chosen rank are checked with the error band, and a rank that is worse is
// named.
func TestVerdict(t *testing.T) {
	in := input(t, colorprofile.ASCII, true, 2)
	for _, c := range []struct {
		first, later, other units.Bytes // GiB of 100, within 10 %
		want                string
	}{
		{70, 80, 80, "fits: rank 0"},
		{70, 105, 80, "fits in step 1, tight from step 2 on: rank 0"},
		{95, 105, 80, "tight: rank 0"},
		{70, 120, 80, "fits step 1 but not step 2: rank 0"},
		{111, 120, 80, "does not fit: rank 0"},
		{70, 80, 95, "fits, but rank 1 is tight: rank 0"},
		{70, 80, 120, "fits, but rank 1 does not fit: rank 0"},
		{95, 95, 120, "tight, but rank 1 does not fit: rank 0"},
	} {
		v, m := answered(in), in.Report.Memory
		over := &v.answers.over
		over.Usable, over.PeakRank = 100*units.GiB, 0
		over.Ranks[0].Peaks = [2]units.Bytes{c.first * units.GiB, c.later * units.GiB}
		over.Ranks[1].Peaks = [2]units.Bytes{c.other * units.GiB, c.other * units.GiB}
		if c.other > c.later {
			over.PeakRank = 1
		}
		m.Usable, m.Peak, m.ErrorBand = over.Usable, max(c.later, c.other)*units.GiB, 0.1
		m.Fits, m.Fit = m.Peak <= m.Usable, engine.FitWithin(m.Peak, m.Usable, m.ErrorBand)
		if long, _ := v.verdictWords(in, 0); !strings.HasPrefix(long, c.want) {
			t.Errorf("%g, then %g GiB, other %g: %q, want %q", float64(c.first), float64(c.later),
				float64(c.other), long, c.want)
		}
	}
}

// TestShards: the part that is here times its share is the whole.
func TestShards(t *testing.T) {
	in := input(t, colorprofile.ANSI256, true, 2)
	s := presets.DefaultSetup()
	s.ZeRO = 3
	r := engine.Evaluate(s)
	in.Setup, in.Report = &s, &r
	v := New()
	v.Refresh(in).Work(context.Background())()
	for term := range optimizerTerm + 1 {
		by, whole := v.sharded(in, 0, term)
		if part(by) != "1/4" {
			t.Errorf("%s: %s of %s over %d ranks", termName(term)[0], part(by), gib(whole), s.DenseShards())
		}
	}
	if by, _ := v.sharded(in, 0, activationsTerm); by != 1 {
		t.Errorf("activations are said to be sharded by %g", by)
	}
}

// TestAxis: every column is a stretch of time or a break, times rise, and a
// moment is in the column that shows it.
func TestAxis(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		length := rapid.Float64Range(1e-3, 1e4).Draw(t, "length")
		ranks, w := rapid.IntRange(1, 64).Draw(t, "ranks"), rapid.IntRange(1, 200).Draw(t, "w")
		v := View{zoom: rapid.IntRange(0, 12).Draw(t, "zoom"), from: rapid.Float64Range(0, 1).Draw(t, "from")}
		a := v.newAxis(length, ranks, rapid.IntRange(1, 2000).Draw(t, "m"), w)
		last := 0.0
		for x := range w {
			from, to, ok := a.span(x)
			if !ok {
				continue
			}
			if from < last-1e-9*length || to <= from || to > 2*length*(1+1e-9) {
				t.Fatalf("column %d from %g to %g after %g of %g", x, from, to, last, length)
			}
			last = to
			if from < length*(1-1e-9) && to > length*(1+1e-9) {
				t.Fatalf("column %d spans both steps", x)
			}
			if got := a.column((from + to) / 2); got != x {
				t.Fatalf("column %d shows what is in column %d", x, got)
			}
		}
	})
}

// BenchmarkRender draws the whole screen at 160x50.
func BenchmarkRender(b *testing.B) {
	in := input(b, colorprofile.ANSI256, true, 8)
	v := answered(in)
	b.ReportAllocs()
	for b.Loop() {
		v.Render(in.At(160, 50-chrome))
	}
}

// BenchmarkWork answers everything about the built-in setup.
func BenchmarkWork(b *testing.B) {
	s := presets.DefaultSetup()
	r := engine.Evaluate(s)
	for b.Loop() {
		work(b.Context(), s, &r)
	}
}

// TestLimitLabel: the words of the limit stand over its line in the bars.
func TestLimitLabel(t *testing.T) {
	for _, w := range []int{80, 110, 120, 160, 200, 240} {
		in := input(t, colorprofile.ASCII, true, 4)
		v := New()
		lines := v.Render(in.At(w, 40))
		at, bars := -1, map[int]int{}
		for _, line := range lines {
			text := ansi.Strip(line)
			if i := strings.Index(text, " usable │"); i >= 0 {
				at = len([]rune(text[:i])) + len(" usable ")
			} else if i := strings.Index(text, "│"); i >= 0 &&
				strings.HasPrefix(strings.TrimLeft(text, " ▸"), "rank ") {
				bars[len([]rune(text[:i]))]++
			}
		}
		if len(bars) != 1 || bars[at] != 4 {
			t.Errorf("%d cells wide: the label stands at %d, the limit of bars at %v", w, at, bars)
		}
	}
}
