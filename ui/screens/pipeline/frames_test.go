package pipeline

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"meshscope/engine"
	"meshscope/engine/memory"
	"meshscope/engine/schedule"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/screen/screentest"
	"meshscope/ui/widget"
)

// state is a schedule on a screen, after some keys.
type state struct {
	name string
	spec schedule.Spec
	keys string
	w, h int
}

// states are the zoom regimes, fold on and off, highlights, playback and several
// schedules.
func states() []state {
	small, long := spec(schedule.OneFOneB, 4, 1, 8), spec(schedule.OneFOneB, 16, 1, 128)
	return []state{
		{"wide", small, "+ +", 80, 20},
		{"two columns", spec(schedule.OneFOneB, 4, 1, 6), "", 80, 20},
		{"one column", spec(schedule.OneFOneB, 8, 1, 64), "0 + + L L", 80, 20},
		{"wide", small, "+ +", 200, 56},
		{"two columns", spec(schedule.OneFOneB, 4, 1, 20), "0", 200, 56},
		{"one column", spec(schedule.OneFOneB, 8, 1, 64), "0 + L L", 200, 56},
		{"narrow", long, "0", 80, 20},
		{"narrow split", spec(schedule.ZBH1, 8, 1, 64), "0", 80, 20},
		{"narrow split", spec(schedule.ZBH1, 8, 1, 128), "0", 200, 56},
		{"narrow pairs", spec(schedule.DualPipe, 8, 1, 64), "0", 80, 20},
		{"narrow pairs", spec(schedule.DualPipe, 8, 1, 128), "0", 200, 56},
		{"stretches", long, "", 80, 20},
		{"stretches", long, "", 200, 56},
		{"continuous", long, "f", 200, 56},
		{"folded", spec(schedule.OneFOneB, 4, 1, 128), "", 200, 56},
		{"whole", long, "0", 200, 56},
		{"interleaved", spec(schedule.Interleaved, 4, 2, 16), "", 200, 56},
		{"zero bubble", spec(schedule.ZBH1, 4, 1, 12), "right right right o", 120, 32},
		{"pairs", spec(schedule.DualPipe, 4, 1, 12), "+ + L", 120, 32},
		{"64 ranks", spec(schedule.Interleaved, 64, 2, 128), "] + +", 80, 20},
		{"64 ranks", spec(schedule.Interleaved, 64, 2, 128), "]", 200, 56},
		{"gap", small, "j n", 120, 32},
		{"words", small, "n enter", 80, 20},
		{"nothing left out", spec(schedule.OneFOneB, 4, 1, 6), "f", 80, 20},
		{"the cursor leads", long, "j n n n n", 80, 20},
		{"micro-batch", small, "right m", 80, 20},
		{"critical path", small, "c", 80, 20},
		{"memory", small, "s", 80, 20},
		{"playing", small, "space", 80, 20},
	}
}

// reached is a screen in a state.
func (s *state) reached(in *screen.Context) *View {
	v := &View{}
	press(v, in, s.w, s.h, s.keys)
	for range 5 * screen.TicksPerSecond {
		v.Tick()
	}
	return v
}

// TestFrames draws every state without colours.
func TestFrames(t *testing.T) {
	for _, test := range states() {
		t.Run(test.name+"-"+size(test.w), func(t *testing.T) {
			in := input(t, colorprofile.ASCII, test.spec)
			v := test.reached(in)
			frame(t, v, in, test.w, test.h)
			regime(t, v, test.name)
		})
	}
}

// TestLooks: every state in every theme and with few colours. Two of 64 ranks share a
// line where colours blend, and so their regime is looked at there, too.
func TestLooks(t *testing.T) {
	for _, test := range states() {
		in := input(t, colorprofile.ASCII, test.spec)
		screentest.Looks(t, func(theme *themes.Theme, glyphs widget.Glyphs) []string {
			in.Theme, in.Glyphs = theme, glyphs
			v := test.reached(in)
			lines := append(v.Render(in.At(test.w, test.h)), v.Status(in.At(test.w, 1)))
			regime(t, v, test.name)
			return lines
		})
	}
}

// regime checks that a frame shows what its name says: how many columns the shortest
// operation has, and whether repetitions are folded away.
func regime(t *testing.T, v *View, name string) {
	t.Helper()
	columns := map[string][2]float64{
		"wide": {4, 100}, "stretches": {4, 6}, "continuous": {4, 6}, "two columns": {2, 4},
		"one column": {1, 2}, "whole": {0, 1},
		"narrow": {0, 1}, "narrow split": {0, 1}, "narrow pairs": {0, 1},
	}
	if want, ok := columns[name]; ok {
		const near = 0.02 // a whole number of columns is that of the axis, rounded
		if n := v.drawn.blocks[0].rows.PerOp(); n < want[0]-near || n >= want[1] {
			t.Errorf("%s: the shortest operation has %.2f columns", name, n)
		}
	}
	if folded := v.drawn.axis.Folded > 0; folded && columns[name] != [2]float64{} ||
		!folded && name == "folded" {
		t.Errorf("%s: folded %v", name, folded)
	}
}

// size is the screen that an area of this width belongs to.
func size(w int) string { return map[int]string{80: "80x24", 120: "120x36", 200: "200x60"}[w] }

func frame(t *testing.T, v *View, in *screen.Context, w, h int) {
	t.Helper()
	lines := append(v.Render(in.At(w, h)), v.Status(in.At(w, 1)))
	golden.RequireEqual(t, ansi.Strip(strings.Join(lines, "\n")+"\n"))
}

// TestFrameASCII is the picture of a terminal without Unicode and colours.
func TestFrameASCII(t *testing.T) {
	in := input(t, colorprofile.ASCII, spec(schedule.ZBH1, 4, 1, 12))
	in.Glyphs = widget.NewGlyphs(false)
	v := &View{}
	press(v, in, 80, 20, "right right s")
	frame(t, v, in, 80, 20)
}

// TestFrameCompared draws two schedules on one axis.
func TestFrameCompared(t *testing.T) {
	for _, w := range []int{80, 200} {
		t.Run(size(w), func(t *testing.T) {
			in := input(t, colorprofile.ASCII, spec(schedule.OneFOneB, 4, 1, 24))
			v := &View{}
			v.with(t, in, spec(schedule.OneFOneB, 4, 1, 24), spec(schedule.ZBH2, 4, 1, 24))
			press(v, in, w, 22, "b home enter j j j j")
			frame(t, v, in, w, 22)
		})
	}
}

// TestFrameKinds names the layers of all ranks by kind, where that is longer than three lines those of the
// cursor's.
func TestFrameKinds(t *testing.T) {
	for _, w := range []int{80, 120, 200} {
		t.Run(size(w), func(t *testing.T) {
			in := input(t, colorprofile.ASCII, spec(schedule.OneFOneB, 4, 1, 24))
			ranks := in.Report.Memory.Ranks
			for i := range ranks {
				ranks[i].Layers, ranks[i].Kinds = 14, []memory.KindLayers{
					{Name: "Mamba 2", Layers: 7 - i%2},
					{Name: "MoE", Layers: 6},
					{Name: "full", Layers: 1 + i%2},
				}
			}
			v := &View{}
			frame(t, v, in, w, map[int]int{80: 20, 120: 32, 200: 56}[w])
			for i := range ranks { // each rank another mix of long names
				ranks[i].Kinds = append(ranks[i].Kinds, memory.KindLayers{
					Name: strings.Repeat("wide ", 30), Layers: i,
				})
			}
			text := ansi.Strip(strings.Join(v.Render(in.At(w, 56)), "\n"))
			if !strings.Contains(text, "layers        rank 0: 7 Mamba 2, 6 MoE, 1 full, 0 wide") ||
				strings.Contains(text, "rank 1:") {
				t.Error(text)
			}
		})
	}
}

// TestKindsWhereRoomIsShort: where the kinds of all ranks have no room under the picture, those of the
// cursor's rank are there.
func TestKindsWhereRoomIsShort(t *testing.T) {
	in := input(t, colorprofile.ASCII, spec(schedule.OneFOneB, 8, 1, 32))
	ranks := in.Report.Memory.Ranks
	for i := range ranks {
		ranks[i].Layers, ranks[i].Kinds = 12, []memory.KindLayers{
			{Name: "Mamba 2", Layers: 6 - i%2}, {Name: "MoE", Layers: 4 + i%3}, {Name: "full", Layers: 1},
		}
	}
	v := &View{}
	for h, want := range map[int]string{
		20: "layers        rank 0: 6 Mamba 2, 4 MoE, 1 full",
		18: "rank 0        layers 6 Mamba 2, 4 MoE, 1 full; F 1.00 ms",
	} {
		text := ansi.Strip(strings.Join(v.Render(in.At(80, h)), "\n"))
		if !strings.Contains(text, want) || !strings.Contains(text, "\n 7│") ||
			!strings.Contains(text, "its idle time") {
			t.Error(text)
		}
	}
}

// TestFrameInTurn shows one of two schedules in the place of both.
func TestFrameInTurn(t *testing.T) {
	in := input(t, colorprofile.ASCII, spec(schedule.OneFOneB, 4, 1, 24))
	v := &View{}
	v.with(t, in, spec(schedule.OneFOneB, 4, 1, 24), spec(schedule.ZBH2, 4, 1, 24))
	press(v, in, 120, 30, "b home enter v v j")
	if !v.below || !v.flip || v.rank != 1 {
		t.Fatalf("%+v", v)
	}
	frame(t, v, in, 120, 30)
	press(v, in, 120, 30, "esc")
	if v.flip || v.second == nil {
		t.Fatal("esc shows both again")
	}
}

// TestFrameTable draws the table of schedules, and what stands there before it
// is computed.
func TestFrameTable(t *testing.T) {
	in := input(t, colorprofile.ASCII, spec(schedule.OneFOneB, 4, 1, 24))
	for _, w := range []int{80, 120} {
		t.Run(size(w), func(t *testing.T) {
			v := &View{}
			v.with(t, in, spec(schedule.AFAB, 4, 1, 24), spec(schedule.OneFOneB, 4, 1, 24),
				spec(schedule.ZBH2, 4, 1, 24))
			press(v, in, w, 20, "t end")
			v.table.drawn.asked = 0 // nobody did what a key asked for
			if ask := v.Refresh(in.At(w, 20)); ask.Work != nil {
				ask.Work(t.Context())()
			}
			frame(t, v, in, w, 20)
		})
	}
	t.Run("working", func(t *testing.T) {
		v := &View{}
		press(v, in, 80, 20, "t")
		frame(t, v, in, 80, 20)
	})
}

// TestChosenRow: the chosen line of the table has one look from end to end, also where
// its figures are bad or its schedule cannot run.
func TestChosenRow(t *testing.T) {
	in := input(t, colorprofile.ANSI256, spec(schedule.OneFOneB, 4, 1, 24))
	v := &View{}
	v.with(t, in, spec(schedule.OneFOneB, 4, 1, 24), spec(schedule.Interleaved, 4, 2, 24),
		spec(schedule.ZBH2, 4, 1, 24))
	press(v, in, 120, 20, "t home")
	v.table.rows[1].Report.Memory.Fits = false
	v.table.rows[2].Report.Legal = false
	for i := range v.table.rows {
		v.table.row = i
		line := v.tableRow(in, i, 120)
		focus := in.Paint(themes.Focus)
		rest := strings.NewReplacer(focus.Open(), "", focus.Close(), "").Replace(line)
		if strings.Contains(rest, "\x1b") || !strings.HasPrefix(line, focus.Open()) ||
			!strings.HasSuffix(line, focus.Close()) {
			t.Errorf("%q", line)
		}
	}
}

// TestFrameIllegal keeps the last legal picture and says what is wrong.
func TestFrameIllegal(t *testing.T) {
	in := input(t, colorprofile.ASCII, spec(schedule.Interleaved, 4, 2, 16))
	in.Theme = in.Theme.Dim()
	in.Problems = []engine.Problem{{
		Code: "interleaved-group", Severity: "error", Field: "microbatches",
		Message: "14 micro-batches are no multiple of 4", Nearest: map[string]any{"microbatches": 16},
	}}
	frame(t, &View{}, in, 80, 20)
}

// TestChosenSchedule: the foot says how the chosen schedule stands to the current one.
func TestChosenSchedule(t *testing.T) {
	in := input(t, colorprofile.ANSI256, spec(schedule.OneFOneB, 4, 1, 24))
	v := &View{}
	v.with(t, in, spec(schedule.OneFOneB, 4, 1, 24), spec(schedule.Interleaved, 4, 2, 24))
	press(v, in, 100, 20, "t home")
	for i := range v.table.rows {
		v.table.row = i
		want := "compared with 1F1B: step "
		if kind := v.table.rows[i].Info.Kind; kind == in.Setup.Schedule {
			want = "current: 1F1B. Choose one to compare."
		} else if kind == schedule.DualPipe {
			want = "needs an even number of ranks"
		}
		if status := v.Status(in.At(100, 1)); !strings.Contains(status, want) {
			t.Errorf("row %d: %q", i, status)
		}
	}
}
