package ui

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/report"
	"meshscope/ui/frame"
	"meshscope/ui/overlay"
	"meshscope/ui/screen/screentest"
	"meshscope/ui/state"
)

// TestFrames compares whole screens, without colours.
func TestFrames(t *testing.T) {
	moe := setupOf(t, "deepseek-v3", "deepseek-h800", knob.Given{
		knob.GPUs: 2048, knob.PP: 16, knob.EP: 64, knob.GBS: 15360, knob.Seq: 4096,
	})
	llama405 := setupOf(t, "llama3.1-405b", "meta-roce-24k", knob.Given{
		knob.GPUs: 16384, knob.TP: 8, knob.PP: 16, knob.GBS: 2048, knob.Seq: 8192,
	})
	never := presets.DefaultSetup()
	never.PP = 16
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		for _, test := range []struct {
			name  string
			setup *engine.Setup
			keys  []string
		}{
			{name: "turned", keys: []string{"down", "right", "right"}},
			{name: "illegal", keys: []string{"3", "enter"}},
			{name: "typing", keys: []string{"home", "1", "6", "k"}},
			{name: "moe", setup: &moe},
			{name: "405b", setup: &llama405, keys: []string{"down", "]"}},
			{name: "help", keys: []string{"?"}},
			{name: "warned", keys: []string{"right"}},
			{name: "why not", setup: &moe, keys: []string{"down", "down", "right"}},
			{name: "never legal", setup: &never},
			{name: "clusters", keys: []string{"g"}},
			{name: "models", keys: []string{"m"}},
			{name: "clusters over moe", setup: &moe, keys: []string{"g", "h", "1", "0", "0"}},
		} {
			t.Run(fmt.Sprintf("%s-%dx%d", test.name, size[0], size[1]), func(t *testing.T) {
				m := sample(t, size[0], size[1], func(o *Options) {
					if test.setup != nil {
						o.Setup = *test.setup
					}
				})
				m.catalog = overlay.ReadCatalog(m.options.Library)
				keys(m, test.keys...)
				golden.RequireEqual(t, page(m))
			})
		}
	}
}

// TestStart compares the first screen at every size with a shape of its own. Only
// these frames have the line of tabs, so that the name of a screen is in few files.
func TestStart(t *testing.T) {
	for _, size := range [][2]int{{60, 20}, {80, 24}, {120, 36}, {160, 50}, {200, 60}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			golden.RequireEqual(t, screenText(sample(t, size[0], size[1])))
		})
	}
}

// TestFeet compares the last line of every screen at three widths.
func TestFeet(t *testing.T) {
	var b strings.Builder
	for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 60}} {
		m := sample(t, size[0], size[1])
		for tab := range tabs {
			m.do(state.Action{Verb: state.GoTab, N: int(tab)})
			lines := strings.Split(strings.TrimSuffix(screenText(m), "\n"), "\n")
			fmt.Fprintf(&b, "%-10s%s\n", tabName(tab), lines[len(lines)-1])
		}
	}
	golden.RequireEqual(t, b.String())
}

// TestPopUpIsWhole: at every size the sides of an open list stand below each
// other, whatever is drawn beneath, and names are readable.
func TestPopUpIsWhole(t *testing.T) {
	for _, size := range [][2]int{{60, 20}, {80, 24}, {100, 30}, {120, 36}, {200, 60}} {
		for _, open := range []string{"g", "m", "?"} {
			m := sample(t, size[0], size[1])
			m.catalog = overlay.ReadCatalog(m.options.Library)
			keys(m, open)
			d := m.overlays.Render(m.look.theme, m.look.glyphs)
			lines := strings.Split(ansi.Strip(m.View().Content), "\n")
			last := d.X + ansi.StringWidth(d.Lines[0]) - 1
			for y := d.Y; y < d.Y+len(d.Lines); y++ {
				cells := []rune(lines[y])
				if len(cells) <= last || !strings.ContainsRune("│├╭╰", cells[d.X]) ||
					!strings.ContainsRune("│┤╮╯", cells[last]) {
					t.Fatalf("%s at %v: line %d is torn: %q", open, size, y, lines[y])
				}
			}
			if open == "g" && size[0] >= 80 &&
				!strings.Contains(screenText(m), "DGX H100, 8x400G NDR InfiniBand  ") {
				t.Errorf("%v: the name of the cluster in force cannot be read:\n%s", size, screenText(m))
			}
		}
	}
}

// TestFrameWithoutColour: every distinction survives without colours and with
// nothing but ASCII.
func TestFrameWithoutColour(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"NO_COLOR": func(o *Options) { o.Env = append(o.Env, "NO_COLOR=yes") },
		"ascii":    func(o *Options) { o.ASCII = true; o.NoColor = true },
	} {
		t.Run(name, func(t *testing.T) {
			m := sample(t, 120, 36, change)
			if err := screentest.Colours(m.View().Content, colorprofile.ASCII); err != nil {
				t.Error(err)
			}
			if err := screentest.ASCII(screenText(m)); err != nil && name == "ascii" {
				t.Error(err)
			}
			golden.RequireEqual(t, page(m))
		})
	}
}

// TestColoursOfTheTerminal: no screen and no list has a colour that its terminal has not, for nobody looks
// colours up again when they are written.
func TestColoursOfTheTerminal(t *testing.T) {
	for _, profile := range []colorprofile.Profile{
		colorprofile.ANSI256, colorprofile.ANSI,
		colorprofile.ASCII,
	} {
		m := sample(t, 120, 36, func(o *Options) { o.colours = profile })
		m.catalog = overlay.ReadCatalog(m.options.Library)
		if m.Update(tea.ColorProfileMsg{Profile: colorprofile.TrueColor}); m.caps.Profile != profile {
			t.Fatalf("%v colours, want %v", m.caps.Profile, profile)
		}
		for tab := range tabs {
			m.do(state.Action{Verb: state.GoTab, N: int(tab)})
			for _, key := range []string{"", "?", "a", "e", "g", "m", "w", "i", ":", "/", "T"} {
				if key != "" {
					keys(m, key)
				}
				if err := screentest.Colours(m.View().Content, profile); err != nil {
					t.Errorf("%s, %q: %v", tabName(tab), key, err)
				}
				keys(m, "esc", "esc")
			}
		}
	}
}

// TestASCIIKeys: without Unicode the help names the arrow keys, its box stays whole,
// and an arrow in a note does not widen its line.
func TestASCIIKeys(t *testing.T) {
	m := sample(t, 80, 24, func(o *Options) { o.ASCII = true })
	keys(m, "left")
	checkFrame(t, m)
	if text := screenText(m); !strings.Contains(text, "TP 8 -> 4") {
		t.Errorf("the note is not on the screen:\n%s", text)
	}
	keys(m, "?")
	checkFrame(t, m)
	text := screenText(m)
	for _, want := range []string{" up k ", " left h ", " shift+right L "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the help:\n%s", want, text)
		}
	}
	right := map[int]bool{}
	for line := range strings.Lines(text) {
		if _, inside, ok := strings.Cut(line, "|"); ok && strings.Contains(inside, " legal value") {
			right[strings.Index(inside, "|")] = true
		}
	}
	if len(right) != 1 {
		t.Errorf("the box is torn:\n%s", text)
	}
}

// TestEmptySize: before the first size nothing is drawn, but on the alternate
// screen; a terminal that says 0x0 is taken for 80x24.
func TestEmptySize(t *testing.T) {
	m := New(Options{Evaluate: plain})
	if v := m.View(); !v.AltScreen || v.Content != "" {
		t.Errorf("before the size: alternate screen %v, content %q", v.AltScreen, v.Content)
	}
	send(m, tea.WindowSizeMsg{})
	if got := strings.Count(m.View().Content, "\n") + 1; got != 24 {
		t.Errorf("0x0 gives %d lines", got)
	}
}

// TestTinyAnswers: where the screens do not fit the answer is there in lines, the
// pipeline's too, as far as there are lines.
func TestTinyAnswers(t *testing.T) {
	m := sample(t, 59, 18)
	got := screenText(m)
	for _, want := range []string{"MFU", "the full screen needs 60 x 20", "on 2 ranks: bubble "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	send(m, tea.WindowSizeMsg{Width: 59, Height: 2})
	if got := screenText(m); strings.Contains(got, "bubble") || !strings.Contains(got, "MFU") ||
		!strings.Contains(got, "TP 8   the full screen needs 60 x 20") {
		t.Errorf("two lines are:\n%s", got)
	}
	for _, size := range [][2]int{{5, 2}, {7, 2}, {20, 2}, {5, 9}, {13, 3}, {200, 2}, {59, 19}} {
		send(m, tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		if got := strings.ReplaceAll(screenText(m), " ", ""); !strings.Contains(got, "60x20") {
			t.Errorf("%v does not say what it needs:\n%s", size, got)
		}
	}
}

// TestTinyKeys: where nothing of it is seen, no list opens, nothing is written, typed
// or pinned; turning works, its answer is there. What was open before can be closed.
func TestTinyKeys(t *testing.T) {
	written := 0
	m := sample(t, 40, 8, func(o *Options) {
		o.Export = func(report.Format, *report.Evaluation) (string, error) { written++; return "x", nil }
	})
	for _, open := range []string{"x", "?", "m", "g", "w", "e", "r", "T", "i", "3", "p", "y"} {
		keys(m, open, "enter")
		if !m.overlays.Empty() || written > 0 || len(m.screens.compare.Pins()) > 0 {
			t.Fatalf("%q opens overlay %q, %d files", open, m.overlays.ID(), written)
		}
	}
	before := m.state.Setup
	if keys(m, "right"); m.state.Setup == before {
		t.Error("nothing turns")
	}
	send(m, tea.WindowSizeMsg{Width: 80, Height: 24})
	keys(m, "x")
	send(m, tea.WindowSizeMsg{Width: 40, Height: 8})
	if keys(m, "enter"); written > 0 || m.overlays.ID() != overlay.ExportID {
		t.Errorf("%d files, overlay %q", written, m.overlays.ID())
	}
	if keys(m, "esc"); !m.overlays.Empty() {
		t.Error("esc does not close")
	}
	keys(m, "tab")
	if cmd := m.handleKey(press("q")); cmd == nil {
		t.Error("q does nothing")
	}
}

// checkFrame: no line is wider than the screen, and there are not more lines.
func checkFrame(t *testing.T, m *Model) {
	t.Helper()
	w, h := m.caps.Width, m.caps.Height
	lines := strings.Split(m.View().Content, "\n")
	if len(lines) > h {
		t.Fatalf("%d lines on a screen of %dx%d", len(lines), w, h)
	}
	for y, line := range lines {
		if got := ansi.StringWidth(line); got > w {
			t.Fatalf("line %d of %dx%d is %d wide: %q", y, w, h, got, ansi.Strip(line))
		}
	}
}

// TestEverySmallSize draws every size from 1x1 to 40x12 and around the
// breakpoints.
func TestEverySmallSize(t *testing.T) {
	m := sample(t, 80, 24)
	for w := 0; w <= 40; w++ {
		for h := 0; h <= 12; h++ {
			send(m, tea.WindowSizeMsg{Width: w, Height: h})
			checkFrame(t, m)
		}
	}
	for w := 55; w <= 245; w += 5 {
		for h := 18; h <= 72; h += 3 {
			send(m, tea.WindowSizeMsg{Width: w, Height: h})
			checkFrame(t, m)
		}
	}
}

// TestRandomKeys presses 500 keys and resizes between them; no panic, no line
// beyond the screen. A failure says its seed.
func TestRandomKeys(t *testing.T) {
	names := []string{
		"up", "down", "left", "right", "h", "j", "k", "l", "H", "L", "home", "end", "G", "shift+left",
		"shift+right",
		"0", "1", "2", "3", "7", "9", "enter", "esc", "backspace", "u", "U", "ctrl+r", "f", "m", "g", "?",
		"t", "M",
		"[", "]", "pgup", "pgdown", "tab", "space", "-", "+", "a", "z", ",", "é",
	}
	for _, seed := range draws.Seeds() {
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 42))
		m := sample(t, 100, 30)
		m.catalog = overlay.ReadCatalog(m.options.Library)
		for range 500 {
			switch random.IntN(12) {
			case 0:
				send(m, tea.WindowSizeMsg{Width: random.IntN(250), Height: random.IntN(75)})
			case 1:
				send(m, tea.MouseClickMsg{X: random.IntN(200), Y: random.IntN(60), Button: tea.MouseLeft})
			case 2:
				send(m, tea.MouseWheelMsg{
					X: random.IntN(200), Y: random.IntN(60),
					Button: tea.MouseWheelDown,
				})
			case 3:
				send(m, tea.PasteMsg{Content: "1e12\nfoo"},
					tea.ColorProfileMsg{Profile: colorprofile.Profile(random.IntN(6))})
			default:
				send(m, press(names[random.IntN(len(names))]))
			}
			if random.IntN(3) == 0 {
				finishWork(m)
			}
			checkFrame(t, m)
		}
	}
}

// TestMouse clicks on a value of a ladder and on a row.
func TestMouse(t *testing.T) {
	m := sample(t, 120, 36)
	r := frame.Layout(120, 36, m.content())
	column := m.column(r.Knobs)
	var value, row bool
	for _, hit := range column.Hits {
		switch {
		case hit.ID == "tp" && hit.Value == "4":
			send(m, tea.MouseClickMsg{X: r.Knobs.X + hit.X, Y: r.Knobs.Y + hit.Y, Button: tea.MouseLeft})
			value = m.state.Setup.TP == 4
		case hit.ID == "zero" && hit.Value == "":
			send(m, tea.MouseClickMsg{X: r.Knobs.X + hit.X + 3, Y: r.Knobs.Y + hit.Y, Button: tea.MouseLeft})
			row = m.state.Focus == "zero"
		}
	}
	if !value || !row {
		t.Errorf("a click on a value works: %v; on a row: %v", value, row)
	}
	for _, hit := range column.Hits {
		if hit.ID == "zero" && hit.Value == "3" {
			send(m, tea.MouseMotionMsg{X: r.Knobs.X + hit.X, Y: r.Knobs.Y + hit.Y, Button: tea.MouseLeft})
		}
	}
	if m.state.Setup.ZeRO != 3 {
		t.Errorf("ZeRO %d after dragging over 3", m.state.Setup.ZeRO)
	}
}

// TestTyping: enter takes a value, and so does a key that leaves the knob; esc does not, a wrong one stays
// with its reason.
func TestTyping(t *testing.T) {
	m := sample(t, 120, 36)
	keys(m, "4", "enter")
	if m.state.Setup.TP != 4 {
		t.Errorf("tp %d after typing 4", m.state.Setup.TP)
	}
	keys(m, "2", "esc")
	if m.state.Setup.TP != 4 || m.typing() != nil {
		t.Errorf("tp %d after esc, typing %v", m.state.Setup.TP, m.typing() != nil)
	}
	for _, leave := range []string{"down", "up", "tab", "shift+tab"} {
		m := sample(t, 120, 36)
		if keys(m, "2", leave); m.state.Setup.TP != 2 || m.typing() != nil || m.state.Focus == knob.TP &&
			m.state.Tab == state.ExploreTab {
			t.Errorf("%s: tp %d, on %s of %d", leave, m.state.Setup.TP, m.state.Focus, m.state.Tab)
		}
		m = sample(t, 120, 36)
		if keys(m, "0", leave); m.typing() == nil || m.typing().Wrong == "" || m.state.Focus != knob.TP {
			t.Errorf("%s behind what is no value: on %s", leave, m.state.Focus)
		}
	}
	keys(m, "9", "9", "9", "9", "9", "9", "9", "9", "9", "enter")
	if m.typing() == nil || m.typing().Wrong == "" {
		t.Error("a value beyond the bounds was taken without a word")
	}
	keys(m, "esc", "end", "home", "2", "k", "enter")
	if m.state.Setup.Nodes() != 2048 {
		t.Errorf("%d nodes after typing 2k", m.state.Setup.Nodes())
	}
}

// TestPicker filters the models and takes one.
func TestPicker(t *testing.T) {
	m := sample(t, 120, 36)
	finishAll(m, m.do(state.Action{Verb: state.Open, Overlay: overlay.ModelID}))
	keys(m, "q", "w", "e", "n", "3")
	_, cmd := m.Update(press("enter"))
	if finishAll(m, cmd); !m.overlays.Empty() || !strings.Contains(strings.ToLower(m.state.Setup.Model.ID),
		"qwen3") {
		t.Errorf("overlay %q, model %s", m.overlays.ID(), m.state.Setup.Model.ID)
	}
	keys(m, "u")
	if m.state.Setup.Model.ID != "llama3.1-70b" {
		t.Errorf("after undo: %s", m.state.Setup.Model.ID)
	}
}

// TestTypeAhead: keys and pastes that come before the list is read are not lost, and what is
// typed after it was closed goes where it should.
func TestTypeAhead(t *testing.T) {
	m := sample(t, 120, 36)
	list := m.do(state.Action{Verb: state.Open, Overlay: overlay.ModelID})
	send(m, tea.PasteMsg{Content: "qwen3\x01"})
	if finishAll(m, list); !strings.Contains(screenText(m), "filter qwen3 ") {
		t.Errorf("pasted text is lost:\n%s", screenText(m))
	}
	m.catalog = nil // as at the start
	keys(m, "esc", "esc")
	keys(m, "m", "q", "esc") // q closes it, esc then does nothing, m opens it again
	cmd := m.do(state.Action{Verb: state.Open, Overlay: overlay.ModelID})
	keys(m, "x", "backspace", "w", "e", "n", "3", "enter", "down")
	finishAll(m, cmd)
	if !m.overlays.Empty() || !strings.Contains(strings.ToLower(m.state.Setup.Model.ID), "wen3") ||
		m.state.Focus != "pp" {
		t.Errorf("overlay %q, model %s, focus %s", m.overlays.ID(), m.state.Setup.Model.ID, m.state.Focus)
	}
}

// TestHelpRuns chooses an entry of the help, which runs it.
func TestHelpRuns(t *testing.T) {
	m := sample(t, 120, 36)
	keys(m, "?", "t", "h", "e", "m", "e", "enter")
	if m.state.Theme != "light" || !m.overlays.Empty() {
		t.Errorf("theme %s, overlay %q", m.state.Theme, m.overlays.ID())
	}
}

// TestSweepOfThePast: figures that were computed for a setup that is no
// longer current are not shown.
func TestSweepOfThePast(t *testing.T) {
	m := sample(t, 120, 36)
	old := sweptMsg{generation: m.sweep.generation, id: m.state.Focus}
	m.Update(press("left"))
	send(m, old)
	if len(m.sweep.points) == 0 {
		t.Error("an old sweep was taken")
	}
}

// TestCommandPanic: a panic in a command becomes a message with a crash file.
func TestCommandPanic(t *testing.T) {
	cmd := guarded(t.TempDir(), func() tea.Msg { panic("on purpose") })
	msg, ok := cmd().(crashedMsg)
	if !ok || msg.file == "" || msg.what != "on purpose" {
		t.Errorf("%+v", msg)
	}
	r := &rescue{dir: t.TempDir(), model: sample(t, 80, 24)}
	if _, quit := r.Update(msg); quit == nil || r.crash == nil {
		t.Error("the program goes on after a crash")
	}
}

// TestRemedy: a setup that does not fit says why, and enter takes the fastest
// single turn that makes it fit.
func TestRemedy(t *testing.T) {
	m := New(Options{
		Setup: setupOf(t, "llama3.1-70b", "dgx-h100", knob.Given{knob.GPUs: 64, knob.TP: 8, knob.GBS: 512}),
		Env:   []string{"LANG=en_US.UTF-8"},
	})
	send(m, tea.WindowSizeMsg{Width: 120, Height: 36})
	if m.now.report.Memory.Fits {
		t.Skip("the engine says that it fits")
	}
	send(m, m.sweepCmd()())
	for _, want := range []string{
		m.now.report.Memory.Reason[:40], "fits with",
		"enter sets " + m.remedies[0].Turns(),
	} {
		if !strings.Contains(screenText(m), want) {
			t.Errorf("%q is not on the screen:\n%s", want, screenText(m))
		}
	}
	m.Update(press("enter"))
	if !m.now.report.Legal || !m.now.report.Memory.Fits {
		t.Error("it does not fit after enter")
	}
	m.Update(press("u"))
	if m.now.report.Memory.Fits {
		t.Error("undo does not lead back")
	}
}

// TestRemedyTight: a fix that leaves no margin of memory says so where it is offered, and no other does.
func TestRemedyTight(t *testing.T) {
	m := New(Options{Setup: setupOf(t, "llama3.1-70b", "dgx-h100",
		knob.Given{knob.GPUs: 64, knob.TP: 4, knob.PP: 8, knob.MBS: 2})})
	send(m, tea.WindowSizeMsg{Width: 200, Height: 60})
	send(m, m.sweepCmd()())
	tight := 0
	for _, r := range m.remedies {
		if r.Report.Memory.Fit == engine.Tight {
			tight++
		}
	}
	if words := strings.Join(m.remedyWords(), ", "); tight == 0 || strings.Count(words, ", tight)") != tight {
		t.Errorf("%d of %d fixes are tight: %s", tight, len(m.remedies), words)
	}
}

// TestCovered: a list or a card leaves no half sentence of the foot and no keys of the
// page next to it, and stands before a dimmed page.
func TestCovered(t *testing.T) {
	for _, size := range [][2]int{{60, 20}, {80, 24}, {120, 36}, {200, 60}} {
		for _, open := range []string{"?", "m", "g", "r", "w", "i", "x", "T"} {
			for _, tab := range []string{"", "tab"} {
				m := sample(t, size[0], size[1])
				m.catalog = overlay.ReadCatalog(m.options.Library)
				if tab != "" {
					keys(m, tab)
				}
				before := strings.Split(m.View().Content, "\n")
				if keys(m, open); m.overlays.Empty() {
					continue // the screen has its own use for the key
				}
				after := strings.Split(m.View().Content, "\n")
				if last := ansi.Strip(after[size[1]-1]); strings.Contains(last, "help") ||
					strings.Contains(last, "quit") {
					t.Errorf("%s at %v: keys that do something else: %q", open, size, last)
				}
				if after[0] == before[0] && !strings.Contains(ansi.Strip(after[0]), "╭") {
					t.Errorf("%s at %v: the page is as bright as before", open, size)
				}
				text := strings.Join(after, "\n")
				if keys(m, "esc"); strings.Join(strings.Split(m.View().Content, "\n"),
					"") != strings.Join(before, "") {
					t.Errorf("%s at %v: closing does not bring the page back\n%s", open, size, text)
				}
			}
		}
	}
}

// TestRemedyOrder: a fix that is faster than one before it says why it comes behind.
func TestRemedyOrder(t *testing.T) {
	for word, m := range map[string]*Model{
		"less certain": New(Options{Setup: setupOf(t, "llama3.1-8b", "dgx-h100",
			knob.Given{knob.GPUs: 8, knob.TP: 8, knob.Seq: 131072, knob.GBS: 8})}),
		"adds parallelism": New(Options{Setup: setupOf(t, "llama3.1-70b", "dgx-h100",
			knob.Given{knob.GPUs: 64, knob.ZeRO: 3, knob.GBS: 512})}),
	} {
		send(m, tea.WindowSizeMsg{Width: 200, Height: 60})
		send(m, m.sweepCmd()())
		words := m.remedyWords()
		if !strings.Contains(strings.Join(words, ", "), word) {
			t.Errorf("no fix is called %s: %q", word, words)
		}
		for i := 1; i < len(words); i++ {
			a, b := &m.remedies[i-1], &m.remedies[i]
			if b.Report.Time.Step < a.Report.Time.Step && b.PessimisticStep < a.PessimisticStep &&
				strings.HasSuffix(words[i], " s)") {
				t.Errorf("%s stands behind %s", words[i], words[i-1])
			}
		}
	}
}
