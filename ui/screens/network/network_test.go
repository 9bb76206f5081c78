package network

import (
	"context"
	"fmt"
	"math"
	"strconv"
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

// input is a screen over the start setup with round figures in place of the
// engine's: frames are about what is drawn where.
func input(t testing.TB, profile colorprofile.Profile, unicode bool) *screen.Context {
	t.Helper()
	p, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	s := presets.DefaultSetup()
	s.Cluster.Calibration = nil // plain ratios of the plain roofline
	r := engine.Report{
		Legal:      true,
		Time:       &engine.Time{Step: 40, Compute: 30, Bubble: 4, Exposed: 5, Optimizer: 1},
		Throughput: &engine.Throughput{MFU: 0.42},
		Communication: []engine.Communication{
			{
				Dimension: "tp", Operation: "all-gather + reduce-scatter", GroupSize: 8, Spans: "node",
				Bytes: 6 * 1000 * units.GB, Seconds: 8, Exposed: 4.5,
			},
			{
				Dimension: "dp", Operation: "reduce-scatter + all-gather", GroupSize: 4, Spans: "cluster",
				Bytes: 20 * units.GB, Seconds: 2, Exposed: 0.5,
			},
			{
				Dimension: "pp", Operation: "send/receive", GroupSize: 2, Spans: "cluster",
				Bytes:   4 * units.GB,
				Seconds: 1, Exposed: 0.01,
			},
		},
	}
	return &screen.Context{
		Setup: &s, Report: &r, Theme: p.Resolve(profile),
		Glyphs: widget.NewGlyphs(unicode),
	}
}

// sample is a screen whose what-if has round figures too.
func sample(in *screen.Context) *overview {
	v := new(overview)
	v.answer = whatIf{query: v.query(in), known: true}
	v.pending = v.answer.query
	for i := range steps {
		v.answer.step[i], v.answer.mfu[i] = 36+4/factorOf(i), 0.42*40/(36+4/factorOf(i))
	}
	v.dimension, v.rank, v.factor = "dp", 11, 1
	return v
}

// TestFrames draws the screen without colours.
func TestFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 60}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			in := input(t, colorprofile.ASCII, true)
			v := sample(in)
			lines := append(v.Render(in.At(size[0], size[1]-4)), v.Status(in.At(size[0], 1)))
			golden.RequireEqual(t, ansi.Strip(strings.Join(lines, "\n")+"\n"))
		})
	}
}

// TestMeanings: traffic that is hidden is good, traffic that is waited for bad, and the
// GPU and the current bandwidth are marked.
func TestMeanings(t *testing.T) {
	in := input(t, colorprofile.ANSI256, true)
	lines := sample(in).Render(in.At(120, 32))
	screentest.Meant(t, lines, in.Theme, themes.Good, "▊", "▉", "0.003×") // the ends of two bars first
	screentest.Meant(t, lines, in.Theme, themes.Bad, "2.17×", "2.01×")
	screentest.Meant(t, lines, in.Theme, themes.Current, "▸t3 d1 p0]", "●", "38.0", "44.2", "[×2]")
}

// TestLooks: the screen in every theme and with few colours.
func TestLooks(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		screentest.Looks(t, func(theme *themes.Theme, glyphs widget.Glyphs) []string {
			in := input(t, colorprofile.ASCII, true)
			in.Theme, in.Glyphs = theme, glyphs
			v := sample(in)
			return append(v.Render(in.At(size[0], size[1]-4)), v.Status(in.At(size[0], 1)))
		})
	}
}

// TestColourAddsNothing: the text is the same with and without colours, apart
// from the bars.
func TestColourAddsNothing(t *testing.T) {
	plain, rich := input(t, colorprofile.ASCII, true), input(t, colorprofile.ANSI256, true)
	a, b := sample(plain).Render(plain.At(120, 32)), sample(rich).Render(rich.At(120, 32))
	for i := 5; i < len(a); i++ {
		if ansi.Strip(a[i]) != ansi.Strip(b[i]) {
			t.Errorf("line %d:\n%q\n%q", i, ansi.Strip(a[i]), ansi.Strip(b[i]))
		}
	}
}

// TestAnySizeAndKey: every frame has its size, whatever was pressed before.
func TestAnySizeAndKey(t *testing.T) {
	broken := engine.Report{
		Legal: true, Time: &engine.Time{Step: units.Seconds(math.NaN())},
		Throughput: &engine.Throughput{MFU: math.Inf(1)}, Communication: []engine.Communication{
			{Dimension: "odd", Seconds: units.Seconds(math.NaN()), Exposed: units.Seconds(math.Inf(1))},
			{Dimension: "ep"},
		},
	}
	keys := []string{
		"up", "down", "left", "right", "shift+left", "shift+right", "pgup", "pgdown", "home",
		"end", "<", ">", "=", "b", "x", "enter", "esc",
	}
	draws.Check(t, func(r *rapid.T) {
		in := input(t, colorprofile.ANSI256, rapid.Bool().Draw(r, "unicode"))
		switch rapid.IntRange(0, 3).Draw(r, "report") {
		case 0:
			in.Report = &broken
		case 1:
			in.Report = &engine.Report{}
		case 2:
			one := *in.Setup
			one.GPUs, one.TP, one.PP, one.DP = 1, 1, 1, 1
			in.Setup = &one
		}
		v := new(overview)
		screentest.Play(r, in, v, keys)
	})
}

// TestMapShowsTheGroup: exactly the members of the focused group stand in
// brackets, at every size that shows all nodes.
func TestMapShowsTheGroup(t *testing.T) {
	for dimension, want := range map[string]int{"tp": 8, "dp": 4, "pp": 2} {
		for _, w := range []int{80, 120, 200} {
			in := input(t, colorprofile.ASCII, false)
			v := sample(in)
			v.dimension = dimension
			text := ansi.Strip(strings.Join(v.nodes(in, w, 20), "\n"))
			if got := strings.Count(text, "]"); got != want {
				t.Errorf("%s at %d: %d members, want %d\n%s", dimension, w, got, want, text)
			}
		}
	}
}

// TestMouseFindsWhatIsDrawn: a click on any GPU of the map takes that GPU.
func TestMouseFindsWhatIsDrawn(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	for _, w := range []int{80, 120, 200} {
		seen := map[int]bool{}
		v := sample(in)
		for y := range 32 {
			for x := range w {
				v.rank = 0
				before := v.dimension
				if did, _ := v.Mouse(in.At(w, 32), x, y, "left"); did && v.dimension == before {
					seen[v.rank] = true
				}
				v.dimension = before
			}
		}
		if len(seen) != in.Setup.GPUs {
			t.Errorf("at %d wide %d GPUs of %d can be clicked", w, len(seen), in.Setup.GPUs)
		}
	}
}

// TestWhatIfAsksOnce: the work runs once per query and answers it; a stopped
// one is asked again.
func TestWhatIfAsksOnce(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	v := new(overview)
	first := v.Refresh(in)
	if first.Work == nil || v.Refresh(in).Work != nil {
		t.Fatal("the first query must be asked, and once")
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	first.Work(stopped)()
	again := v.Refresh(in)
	if again.Work == nil {
		t.Fatal("a stopped query must be asked again")
	}
	again.Work(t.Context())()
	a := v.current(in)
	if a == nil {
		t.Fatal("no answer")
	}
	for i := 1; i < steps; i++ {
		if !(a.step[i] <= a.step[i-1]) {
			t.Errorf("more bandwidth makes the step longer: %v", a.step)
		}
	}
	if _, do := screen.Press(v, in.At(120, 32), ">"); do.Work != nil {
		t.Error("another place of the same ladder needs no work")
	}
	if _, do := screen.Press(v, in.At(120, 32), "b"); do.Work == nil || v.current(in) != nil {
		t.Error("the other link is another query")
	}
}

func BenchmarkRender(b *testing.B) {
	for _, size := range [][2]int{{80, 20}, {200, 56}} {
		b.Run(strconv.Itoa(size[0]), func(b *testing.B) {
			in := input(b, colorprofile.ANSI256, true)
			v := sample(in)
			for b.Loop() {
				v.Render(in.At(size[0], size[1]))
			}
		})
	}
}

// TestThereAndBack: who turns to the other link and back before the stopped work has
// reported gets the ladder, and no work begins itself again.
func TestThereAndBack(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	v := new(overview)
	p := &screentest.Program{Refresh: func() screen.Request { return v.Refresh(in) }}
	p.Ask()
	for range 2 {
		v.other = !v.other
		p.Ask()
	}
	p.Finish(t, 3)
	if v.current(in) == nil {
		t.Error("no answer")
	}
}
