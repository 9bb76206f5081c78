package pipeline

import (
	"context"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/compare"
	"meshscope/engine/knob"
	"meshscope/engine/memory"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// report is a simulated schedule with a millisecond for F, I and W and two for
// B, and memory that is easy to follow.
func roundReport(t testing.TB, s schedule.Spec) (engine.Setup, engine.Report) {
	t.Helper()
	o, err := schedule.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	times := schedule.ChunkTimes{F: 1e-3, B: 2e-3, I: 1e-3, W: 1e-3}
	line, err := schedule.Simulate(o, schedule.UniformCosts(s, times, 0.05e-3))
	if err != nil {
		t.Fatal(err)
	}
	setup := presets.DefaultSetup()
	setup.Schedule, setup.PP, setup.VPP, setup.MicroBatches, setup.GroupSize = s.Kind, s.Ranks,
		s.VirtualStages, s.MicroBatches, s.GroupSize
	r := engine.Report{Legal: true, Timeline: line, Time: &engine.Time{Step: units.Seconds(line.Makespan)}}
	r.Time.Bubble = units.Seconds(line.Makespan - line.Ranks[slowestRank(line)].Busy)
	r.Pipeline = &engine.Pipeline{
		Schedule: s.Kind, Ranks: s.Ranks, Stages: s.Stages(), MicroBatches: s.MicroBatches,
		BubbleOverIdeal: line.BubbleOverIdeal(), BubbleOverTotal: line.BubbleOverTotal(),
		Makespan: line.Duration(),
	}
	if info, _ := s.Kind.Info(); info.SplitsBackward {
		span := line.SpanOverIdeal()
		r.Pipeline.BubbleSpan = &span
	}
	r.Memory = &engine.Memory{Usable: 79 * units.GiB, Peak: 60 * units.GiB, Fits: true, Fit: engine.Fits}
	for i := range line.Ranks {
		activations := units.Bytes(line.Ranks[i].PeakInFlight) * units.GiB
		r.Memory.Ranks = append(r.Memory.Ranks, engine.RankMemory{
			Rank: i, Activations: activations,
			Total: 50*units.GiB + activations,
		})
	}
	r.Memory.Stages = make([]memory.StageMemory, s.Stages())
	for i := range r.Memory.Stages {
		r.Memory.Stages[i] = memory.StageMemory{Activations: units.GiB, WeightInputs: units.GiB / 2}
	}
	return setup, r
}

func spec(kind schedule.Kind, p, v, m int) schedule.Spec {
	return schedule.Spec{Kind: kind, Ranks: p, VirtualStages: v, MicroBatches: m}
}

func input(t testing.TB, profile colorprofile.Profile, s schedule.Spec) *screen.Context {
	t.Helper()
	p, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	setup, r := roundReport(t, s)
	return &screen.Context{
		Setup: &setup, Report: &r, Theme: p.Resolve(profile),
		Glyphs: widget.NewGlyphs(true),
	}
}

// with fills the table with hand-made rows, as a finished Work does.
func (v *View) with(t testing.TB, in *screen.Context, specs ...schedule.Spec) {
	t.Helper()
	var rows []compare.ScheduleRow
	for _, s := range specs {
		setup, r := roundReport(t, s)
		rows = append(rows, *entryOf(&setup, &r))
	}
	info, _ := schedule.DualPipe.Info()
	rows = append(rows,
		compare.ScheduleRow{Info: info, Setup: *in.Setup, Report: engine.Report{Problems: []engine.Problem{{
			Code: "odd", Severity: "error", Field: "pp",
			Message: "dualpipe needs an even number of ranks, not 3", Nearest: map[string]any{"pp": 4},
		}}}})
	v.table.take(rows, *in.Setup)
}

func press(v *View, in *screen.Context, w, h int, keys string) {
	for _, key := range strings.Fields(keys) {
		screen.Press(v, in.At(w, h), key)
	}
}

// TestEverySizeAndKey: any size and any keys keep to the size and never panic.
func TestEverySizeAndKey(t *testing.T) {
	inputs := []*screen.Context{
		input(t, colorprofile.ANSI256, spec(schedule.OneFOneB, 16, 1, 128)),
		input(t, colorprofile.ASCII, spec(schedule.DualPipe, 8, 1, 20)),
		input(t, colorprofile.ANSI, spec(schedule.Interleaved, 64, 2, 64)),
		input(t, colorprofile.ANSI256, spec(schedule.Naive, 1, 1, 1)),
	}
	inputs = append(inputs, &screen.Context{},
		&screen.Context{
			Theme: inputs[0].Theme, Glyphs: inputs[0].Glyphs, Report: &engine.Report{},
			Setup: inputs[0].Setup,
		})
	keys := strings.Fields("left right up down h j k l H J K L shift+left shift+right [ ] pgup pgdown home " +
		"end n N i o + - 0 1 f s m c space < > t b v enter esc x tab tick")
	draws.Check(t, func(t *rapid.T) {
		in := inputs[rapid.IntRange(0, len(inputs)-1).Draw(t, "input")]
		v := &View{}
		if lineOf(in) != nil && rapid.Bool().Draw(t, "compared") {
			p := len(lineOf(in).Ranks)
			setup, r := roundReport(nopTB{}, spec(schedule.AFAB, p, 1, 30))
			info, _ := schedule.AFAB.Info()
			v.table.take([]compare.ScheduleRow{{Info: info, Setup: setup, Report: r}}, *in.Setup)
			v.compare(schedule.AFAB)
		}
		w, h := rapid.IntRange(0, 90).Draw(t, "w"), rapid.IntRange(0, 40).Draw(t, "h")
		for range rapid.IntRange(0, 20).Draw(t, "n") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				x, y := rapid.IntRange(-2, w+2).Draw(t, "x"), rapid.IntRange(-2, h+2).Draw(t, "y")
				v.Mouse(in.At(w, h), x, y,
					rapid.SampledFrom([]string{"left", "wheelup", "wheeldown", "wheelright"}).Draw(t,
						"button"))
			case 1:
				v.Tick()
			case 2:
				w, h = rapid.IntRange(0, 40).Draw(t, "w"), rapid.IntRange(0, 12).Draw(t, "h")
			default:
				screen.Press(v, in.At(w, h), rapid.SampledFrom(keys).Draw(t, "key"))
			}
			lines := v.Render(in.At(w, h))
			if len(lines) != h {
				t.Fatalf("%d lines of %d", len(lines), h)
			}
			for i, line := range lines {
				if got := ansi.StringWidth(line); got != w {
					t.Fatalf("line %d has %d cells of %d: %q", i, got, w, ansi.Strip(line))
				}
			}
			if got := ansi.StringWidth(v.Status(in.At(w, 1))); got != w {
				t.Fatalf("the status has %d cells of %d", got, w)
			}
			if again := v.Render(in.At(w, h)); !slices.Equal(again, lines) {
				t.Fatal("drawing twice gives two pictures")
			}
			screen.Hints(v, in)
		}
	})
}

// nopTB is for helpers inside a property: what fails panics.
type nopTB struct{ testing.TB }

func (nopTB) Helper()        {}
func (nopTB) Fatal(a ...any) { panic(a) }

// TestCursorGoesThrough: steps to the right visit every operation of a rank in
// order when the picture is wide enough, and steps to the left come back.
func TestCursorGoesThrough(t *testing.T) {
	in := input(t, colorprofile.ASCII, spec(schedule.OneFOneB, 4, 1, 8))
	v := &View{rank: 1}
	const w, h = 200, 20
	visited := func(key string) []int {
		var ops []int
		for range 100 {
			if s := v.spot(v.layout(in, w, h)); !s.idle && (len(ops) == 0 || ops[len(ops)-1] != s.op) {
				ops = append(ops, s.op)
			}
			press(v, in, w, h, key)
		}
		return ops
	}
	right := visited("right")
	o := lineOf(in).Order
	if want := o.Start[2] - o.Start[1]; len(right) != want || !slices.IsSorted(right) {
		t.Fatalf("visited %v, want %d operations in order", right, want)
	}
	left := visited("left")
	slices.Reverse(left)
	if !slices.Equal(left, right) {
		t.Fatalf("back through %v, there through %v", left, right)
	}
}

// TestZoomKeepsTheCursor: zooming in keeps the cursor in the window.
func TestZoomKeepsTheCursor(t *testing.T) {
	in := input(t, colorprofile.ASCII, spec(schedule.OneFOneB, 16, 1, 128))
	draws.Check(t, func(t *rapid.T) {
		v := &View{rank: rapid.IntRange(0, 15).Draw(t, "rank")}
		for range rapid.IntRange(0, 30).Draw(t, "n") {
			press(v, in, 120, 30,
				rapid.SampledFrom([]string{
					"right", "left", "L", "H", "+", "-", "n", "N", "i", "o", "f",
					"end",
				}).Draw(t, "key"))
		}
		l := v.layout(in, 120, 30)
		at := l.axis.Place(v.at * l.axis.Whole)
		if from, to := v.window(); at < from-1e-6 || at > to+1e-6 {
			t.Fatalf("the cursor is at %v, the window goes from %v to %v", at, from, to)
		}
	})
}

// TestTicks: playback ends by itself, and nothing ticks when nothing plays.
func TestTicks(t *testing.T) {
	in := input(t, colorprofile.ASCII, spec(schedule.OneFOneB, 4, 1, 8))
	v := &View{}
	if v.Tick() {
		t.Fatal("ticks without playback")
	}
	press(v, in, 80, 20, "space >")
	n := 0
	for v.Tick() {
		n++
	}
	if want := screen.TicksPerSecond * playSeconds / 2; n < want-1 || n > want+1 || v.Playing() ||
		v.head != 0 {
		t.Fatalf("%d ticks, want %d; playing %v at %v", n, want, v.Playing(), v.head)
	}
}

// TestTakeASchedule: the table is computed off the key path and enter takes
// the chosen line.
func TestTakeASchedule(t *testing.T) {
	in := input(t, colorprofile.ASCII, spec(schedule.OneFOneB, 2, 1, 8))
	setup := presets.DefaultSetup()
	in.Setup = &setup
	v := &View{}
	handled, do := screen.Press(v, in.At(80, 20), "t")
	if !handled || do.Work == nil || !v.table.jobs.Running() {
		t.Fatal("no work asked for")
	}
	if _, again := screen.Press(v, in.At(80, 20), "t"); again.Work != nil {
		t.Fatal("asked twice")
	}
	screen.Press(v, in.At(80, 20), "t")
	do.Work(context.Background())()
	if len(v.table.rows) != len(schedule.Kinds()) || v.table.jobs.Running() {
		t.Fatalf("%d rows", len(v.table.rows))
	}
	for i := 1; i < len(v.table.rows); i++ {
		a, b := v.table.rows[i-1].Report, v.table.rows[i].Report
		if !a.Legal && b.Legal || a.Legal && b.Legal && a.Time.Step > b.Time.Step {
			t.Fatalf("row %d is out of order", i)
		}
	}
	screen.Press(v, in.At(80, 20), "home")
	_, do = screen.Press(v, in.At(80, 20), "enter")
	if do.Setup == nil || do.Setup.Schedule != v.table.rows[0].Info.Kind || v.table.open {
		t.Fatalf("took %+v", do.Setup)
	}
	// What the table was computed for changes: Refresh asks for it again.
	setup.MicroBatches /= 2
	v.table.open = true
	if v.Refresh(in).Work == nil || v.Refresh(in).Work != nil {
		t.Fatal("Refresh asks once after a change")
	}
}

// TestNameOfASchedule: in the list of b the letters of a name choose it, before and after its rows are there,
// and enter compares; what begins no name is a key as before, or nothing.
func TestNameOfASchedule(t *testing.T) {
	setup := presets.DefaultSetup()
	r := engine.Evaluate(setup)
	in := input(t, colorprofile.ASCII, spec(schedule.OneFOneB, 2, 1, 8))
	in.Setup, in.Report = &setup, &r
	for keys, want := range map[string]schedule.Kind{
		"z b - h 1": "zb-h1", "z b h 1": "zb-h1", "v - h": "v-half", "d": "dualpipe", "i n": "interleaved",
		"1 f": "1f1b", "1 f 1 b v": "1f1b-v", "z b q x h 1": "zb-h1", "z b h 9 backspace backspace b v": "zb-v",
		"z esc n": "naive", "z down a": "afab", "n backspace b": "",
	} {
		v := &View{}
		_, do := screen.Press(v, in.At(120, 30), "b")
		letters := strings.Fields(keys)
		screen.Press(v, in.At(120, 30), letters[0])
		do.Work(context.Background())() // the rows come while it is typed
		for _, letter := range letters[1:] {
			screen.Press(v, in.At(120, 30), letter)
		}
		if want == "" {
			if v.Typing() || v.table.open {
				t.Errorf("%s: %q", keys, v.table.typed)
			}
			continue
		}
		if got := v.table.rows[v.table.row].Info.Kind; got != want || !v.Typing() {
			t.Errorf("%s chooses %s", keys, got)
		}
		if text := ansi.Strip(v.Render(in.At(120, 30))[0]); !strings.Contains(text, v.table.typed+"_") {
			t.Errorf("%s is not shown: %s", keys, text)
		}
		legal := v.table.rows[v.table.row].Report.Legal
		screen.Press(v, in.At(120, 30), "enter")
		if v.Typing() || legal && v.against != want {
			t.Errorf("%s compares with %s", keys, v.against)
		}
	}
}

// TestNameOfAScheduleToTake: the list that takes a schedule reads a typed name as that which compares does.
func TestNameOfAScheduleToTake(t *testing.T) {
	setup := presets.DefaultSetup()
	r := engine.Evaluate(setup)
	in := input(t, colorprofile.ASCII, spec(schedule.OneFOneB, 2, 1, 8))
	in.Setup, in.Report = &setup, &r
	v := &View{}
	_, do := screen.Press(v, in.At(120, 30), "t")
	do.Work(context.Background())()
	for _, key := range strings.Fields("z b v h 1") { // no name has the v there
		screen.Press(v, in.At(120, 30), key)
	}
	if got := v.table.rows[v.table.row].Info.Kind; got != schedule.ZBH1 && got != schedule.ZBV {
		t.Errorf("chooses %s", got)
	}
	if text := ansi.Strip(v.Render(in.At(120, 30))[0]); !strings.Contains(text, v.table.typed+"_") ||
		v.table.typed == "" {
		t.Errorf("%q is not shown: %s", v.table.typed, text)
	}
	screen.Press(v, in.At(120, 30), "q")
	v.Paste("1e12\nfoo\x1b[31m") // lines and control bytes stay out of the footer
	if text := v.Prompt()[0].Text; strings.ContainsAny(text, "\n\x1b") {
		t.Errorf("%q", text)
	}
	v.Paste("q")
	if text := v.Prompt()[0].Text; !strings.HasSuffix(text, "no name begins with zbvq") {
		t.Errorf("what goes on no name is dropped without a word: %q", text)
	}
	plain := v.table.plain
	screen.Press(v, in.At(120, 30), "esc")
	if screen.Press(v, in.At(120, 30), "v"); v.table.plain == plain {
		t.Error("v does not switch pictures and figures")
	}
}

// TestCompareLongPipelines: timelines of long pipelines are not kept; the one
// that is compared with is computed again.
func TestCompareLongPipelines(t *testing.T) {
	setup := presets.DefaultSetup()
	r := engine.Evaluate(setup)
	in := input(t, colorprofile.ASCII, spec(schedule.OneFOneB, 2, 1, 8))
	in.Setup, in.Report = &setup, &r
	v := &View{}
	run := func(key string) {
		if _, do := screen.Press(v, in.At(120, 30), key); do.Work != nil {
			do.Work(context.Background())()
		}
	}
	run("b")
	for i := range v.table.rows {
		v.table.rows[i].Report.Timeline = nil
	}
	v.table.pick(schedule.ZBAuto)
	run("enter")
	if v.second == nil || v.second.Info.Kind != schedule.ZBAuto || v.second.Report.Timeline == nil ||
		v.fetching != "" {
		t.Fatalf("compares with %+v", v.second)
	}
	// After a change of the setup Refresh asks for both again.
	half, err := knob.Turn(setup, "microbatches", "64", knob.Locks{GPUs: true, Batch: true})
	if err != nil {
		t.Fatal(err)
	}
	setup = half
	r = engine.Evaluate(setup)
	// It is stopped, for something else was asked for: Refresh asks once more, and for
	// this schedule alone.
	stopped, stop := context.WithCancel(context.Background())
	stop()
	v.Refresh(in).Work(stopped)()
	v.Refresh(in).Work(context.Background())()
	if v.second == nil || v.second.Setup.MicroBatches != setup.MicroBatches {
		t.Fatal("compares with an earlier setup")
	}
	if v.Refresh(in).Work != nil || v.table.of == setup {
		t.Fatal("asked for more than the one that is compared")
	}
	// A schedule that cannot run the setup is remembered.
	v.table.rows[0].Report.Legal = false
	v.compare(v.table.rows[0].Info.Kind)
	if v.second != nil || v.lost != v.table.rows[0].Info.Kind {
		t.Fatal("not remembered")
	}
	run("b")
	if v.second != nil || v.lost != "" {
		t.Fatal("b does not end the comparison")
	}
}

func bench(b *testing.B, s schedule.Spec, keys string) {
	in := input(b, colorprofile.ANSI256, s)
	v := &View{}
	press(v, in, 160, 46, keys)
	b.ReportAllocs()
	for b.Loop() {
		v.Render(in.At(160, 46))
		v.Status(in.At(160, 1))
	}
}

func BenchmarkRender(b *testing.B)       { bench(b, spec(schedule.OneFOneB, 16, 1, 64), "") }
func BenchmarkRenderZoomed(b *testing.B) { bench(b, spec(schedule.OneFOneB, 16, 1, 64), "+ + c") }
func BenchmarkRenderHuge(b *testing.B)   { bench(b, spec(schedule.Interleaved, 64, 4, 512), "f") }
func BenchmarkRenderHugeZoomed(b *testing.B) {
	bench(b, spec(schedule.Interleaved, 64, 4, 512), "f + + +")
}

// BenchmarkRenderHugeCold includes the axis, which is computed anew when the
// times change.
func BenchmarkRenderHugeCold(b *testing.B) {
	in := input(b, colorprofile.ANSI256, spec(schedule.Interleaved, 64, 4, 512))
	b.ReportAllocs()
	for b.Loop() {
		v := &View{}
		v.Render(in.At(160, 46))
	}
}

// Highlights and curves of a long pipeline are computed once, not per frame.
func BenchmarkRenderHugeCritical(b *testing.B) {
	bench(b, spec(schedule.Interleaved, 64, 4, 512), "f c")
}

func BenchmarkRenderHugeMemory(b *testing.B) {
	bench(b, spec(schedule.Interleaved, 64, 4, 512), "f s")
}

// BenchmarkTimelineCold is a budget: order, simulation and first picture of
// 262,144 operations, all in new memory, in 8 milliseconds.
func BenchmarkTimelineCold(b *testing.B) {
	s := spec(schedule.Interleaved, 64, 4, 512)
	in := input(b, colorprofile.ANSI256, s)
	b.ReportAllocs()
	for b.Loop() {
		setup, r := roundReport(b, s)
		in.Setup, in.Report = &setup, &r
		v := &View{}
		v.Render(in.At(160, 46))
	}
}

// BenchmarkTimelineTimes is the budget of the same where only times changed: the
// order is there, simulation and picture are made anew, in 5 milliseconds.
func BenchmarkTimelineTimes(b *testing.B) {
	s := spec(schedule.Interleaved, 64, 4, 512)
	in := input(b, colorprofile.ANSI256, s)
	r := *in.Report
	v, f := &View{}, 1e-3
	b.ReportAllocs()
	for b.Loop() {
		f *= 1.001
		costs := schedule.UniformCosts(s, schedule.ChunkTimes{F: f, B: 2e-3}, 0.05e-3)
		line, err := schedule.Simulate(in.Report.Timeline.Order, costs)
		if err != nil {
			b.Fatal(err)
		}
		r.Timeline = line
		in.Report = &r
		v.Render(in.At(160, 46))
	}
}
