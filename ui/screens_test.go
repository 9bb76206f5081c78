package ui

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"meshscope/engine"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/themes"
	"meshscope/ui/overlay"
	"meshscope/ui/screen/screentest"
	"meshscope/ui/state"
)

// live is a program on the real engine.
func live(t *testing.T, w, h int) *Model {
	t.Helper()
	m := New(Options{
		Setup: presets.DefaultSetup(), Evaluate: engine.Evaluate,
		Env: []string{"TERM=xterm-256color", "LANG=C.UTF-8"},
	})
	send(m, tea.WindowSizeMsg{Width: w, Height: h})
	return m
}

// TestTabs goes round the screens with tab and back with shift+tab; every screen
// shows its name in brackets, its own panel, and its keys.
func TestTabs(t *testing.T) {
	m := live(t, 120, 36)
	shows := map[state.Tab]string{
		state.ExploreTab: "LAYOUT", MemoryTab: "MEMORY PER GPU", PipelineTab: "PIPELINE",
		NetworkTab: "TRAFFIC", SearchTab: "BEST LAYOUTS", CompareTab: "COMPARE", ScanTab: "SCAN",
		EvidenceTab: "EVIDENCE",
	}
	for range 2 * int(tabs) {
		text := screenText(m)
		if !strings.Contains(text, "["+m.screen().Name()+"]") || !strings.Contains(text, shows[m.state.Tab]) {
			t.Errorf("%s does not show itself:\n%s", tabName(m.state.Tab), text)
		}
		keys(m, "tab")
		for range 3 { // what the screen wants computed
			if cmd := m.refreshScreen(); cmd != nil {
				m.Update(cmd())
			}
		}
	}
	keys(m, "shift+tab")
	if m.state.Tab != EvidenceTab {
		t.Errorf("shift+tab goes to %s", tabName(m.state.Tab))
	}
	send(m, tea.MouseClickMsg{X: m.margin() + 12, Y: 1, Button: tea.MouseLeft})
	if m.state.Tab != MemoryTab {
		t.Errorf("a click on Memory goes to %s", tabName(m.state.Tab))
	}
}

// TestScreensAtEverySize: no screen panics or draws beyond its cells.
func TestScreensAtEverySize(t *testing.T) {
	m := live(t, 120, 36)
	for range int(tabs) {
		for _, size := range [][2]int{
			{1, 1},
			{20, 5},
			{60, 20},
			{80, 24},
			{100, 30},
			{160, 50},
			{240, 70},
			{0, 0},
		} {
			send(m, tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			checkFrame(t, m)
			keys(m, "down", "right", "+", "enter", "esc")
			checkFrame(t, m)
		}
		send(m, tea.WindowSizeMsg{Width: 120, Height: 36})
		keys(m, "tab")
	}
}

// TestKeysOfEveryScreen: undo, pickers and help work from any screen, and an
// illegal setup keeps the last picture and says so.
func TestKeysOfEveryScreen(t *testing.T) {
	m := live(t, 120, 36)
	keys(m, "right", "tab", "u")
	if m.state.Setup != presets.DefaultSetup() || m.state.Tab != MemoryTab {
		t.Error("u on the Memory screen does not undo")
	}
	keys(m, "?")
	if m.overlays.ID() != overlay.HelpID {
		t.Error("no help on the Memory screen")
	}
	keys(m, "esc", "shift+tab", "3", "enter", "tab")
	if text := screenText(m); !strings.Contains(text, "last legal setup") ||
		!strings.Contains(text, "MEMORY PER GPU") {
		t.Errorf("an illegal setup on the Memory screen:\n%s", text)
	}
}

// finishAll runs commands and what follows from them.
func finishAll(m *Model, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	msg := cmd()
	if batch, ok := msg.(tea.BatchMsg); ok {
		for _, one := range batch {
			finishAll(m, one)
		}
		return
	}
	_, next := m.Update(msg)
	finishAll(m, next)
}

// TestHelpRunsScreenKeys chooses a line of the help on the Pipeline screen.
func TestHelpRunsScreenKeys(t *testing.T) {
	m := live(t, 120, 36)
	keys(m, "tab", "tab", "?", "a", "l", "l", " ", "s", "c", "h", "enter")
	if text := screenText(m); !m.overlays.Empty() || !strings.Contains(text, "ALL SCHEDULES") {
		t.Errorf("the help did not open the table:\n%s", text)
	}
}

// TestExplain opens the list of figures with e, takes one, and walks down.
func TestExplain(t *testing.T) {
	for _, tab := range []state.Tab{state.ExploreTab, MemoryTab} {
		m := live(t, 120, 36)
		m.do(state.Action{Verb: state.GoTab, N: int(tab)})
		finishAll(m, m.do(state.Action{Verb: state.Open, Overlay: overlay.FiguresID}))
		keys(m, "m", "f", "u", "enter")
		if text := screenText(m); !strings.Contains(text, "dense peak") {
			t.Fatalf("no explanation of MFU on the %s screen:\n%s", tabName(tab), text)
		}
		keys(m, "enter")
		if text := screenText(m); !strings.Contains(text, "Tokens per second per GPU") {
			t.Errorf("no way down:\n%s", text)
		}
		send(m, tea.WindowSizeMsg{Width: 80, Height: 24},
			tea.MouseWheelMsg{X: 20, Y: 10, Button: tea.MouseWheelDown})
		checkFrame(t, m)
		keys(m, "e")
		if !m.overlays.Empty() {
			t.Error("e does not close the explanation")
		}
	}
}

// TestScreenLooks: every screen in every theme for terminals with 256 colours, with 16
// and with none, and for those with nothing but ASCII. A frame has the colours and signs
// of its terminal only, and themes that have colours write the same text. Evidence and
// Search stand before their answers, which the frames of their own packages show.
func TestScreenLooks(t *testing.T) {
	frames := map[string]string{} // by size, profile, whether there are colours, and screen
	for _, name := range themes.Names() {
		for _, size := range draws.Some(1, [2]int{120, 36}, [2]int{80, 24}) {
			for i, profile := range []colorprofile.Profile{
				colorprofile.ANSI256, colorprofile.ANSI,
				colorprofile.ASCII, colorprofile.ANSI256,
			} {
				ascii := i == 3
				m := New(Options{
					Setup: presets.DefaultSetup(), Theme: name, ASCII: ascii, Evaluate: plain,
					Env: []string{"TERM=xterm", "LANG=C.UTF-8"},
				})
				send(m, tea.WindowSizeMsg{Width: size[0], Height: size[1]},
					tea.ColorProfileMsg{Profile: profile})
				least := profile
				if !m.look.theme.Colours {
					least = colorprofile.ASCII
				}
				for tab := range tabs {
					if cmd := m.do(state.Action{Verb: state.GoTab, N: int(tab)}); tab != EvidenceTab &&
						tab != SearchTab {
						finishAll(m, cmd) // what the screen wants computed
					}
					if err := screentest.Colours(m.View().Content, least); err != nil {
						t.Errorf("%s, %v, %v, %s: %v", name, size, profile, tabName(tab), err)
					}
					of := fmt.Sprint(size, profile, ascii, m.look.theme.Colours, tab)
					text := screenText(m)
					if err := screentest.ASCII(text); err != nil && ascii {
						t.Errorf("%s, %v, %s: %v", name, size, tabName(tab), err)
					}
					if first, ok := frames[of]; ok && text != first {
						t.Errorf("%s, %v, %v, %s: the text is another one:\n%s\nand elsewhere\n%s", name,
							size, profile, tabName(tab), text, first)
					}
					frames[of] = text
				}
			}
		}
	}
}

// TestSearchFromIllegal: a start that cannot run leads to Search all the same, and
// what is taken there can run.
func TestSearchFromIllegal(t *testing.T) {
	s := presets.DefaultSetup()
	m, err := presets.Default().Model("llama3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	s.Model, s.GPUs, s.DP, s.TP, s.PP, s.GBS, s.MicroBatches = m, 8, 2, 3, 1, 64, 32
	p := New(Options{
		Setup: s, Evaluate: engine.Evaluate,
		Env: []string{"TERM=xterm-256color", "LANG=C.UTF-8"},
	})
	send(p, tea.WindowSizeMsg{Width: 120, Height: 36})
	_, cmd := p.Update(press("s"))
	if text := screenText(p); p.state.Tab != SearchTab || strings.Contains(text, "nothing to show") ||
		strings.Contains(text, "enter sets") {
		t.Fatalf("no search:\n%s", text)
	}
	finishAll(p, cmd)
	checkFrame(t, p)
	if text := screenText(p); !strings.Contains(text, "your setup is illegal") ||
		!strings.Contains(text, "tok/s/GPU") {
		t.Fatalf("no layouts:\n%s", text)
	}
	keys(p, "down", "enter")
	if got := p.state.Setup; !p.now.report.Legal || got.GPUs != 8 || got.GBS != 64 || got.Model != m {
		t.Errorf("took %+v", got)
	}
	if text := screenText(p); strings.Contains(text, "illegal") {
		t.Errorf("still illegal:\n%s", text)
	}
}

// TestPicturesAfterResize: a window that becomes wide enough for the pictures of all schedules has
// them drawn.
func TestPicturesAfterResize(t *testing.T) {
	m := live(t, 100, 40)
	m.do(state.Action{Verb: state.GoTab, N: int(PipelineTab)})
	_, cmd := m.Update(tea.KeyPressMsg{Code: 't', Text: "t"})
	for i := 0; cmd != nil && i < 4; i++ {
		_, cmd = m.Update(works(cmd()))
	}
	_, cmd = m.Update(tea.WindowSizeMsg{Width: 130, Height: 40})
	if cmd == nil {
		t.Fatalf("nothing is drawn after a resize:\n%s", screenText(m))
	}
	m.Update(works(cmd()))
	if text := screenText(m); strings.Contains(text, "drawing") || !strings.Contains(text, "F forward") {
		t.Errorf("after a resize:\n%s", text)
	}
}

// works returns the message of a batch that brings what a screen had computed; else the message.
func works(msg tea.Msg) tea.Msg {
	batch, ok := msg.(tea.BatchMsg)
	if !ok {
		return msg
	}
	for _, cmd := range batch {
		if cmd != nil {
			if w, ok := cmd().(workedMsg); ok {
				return w
			}
		}
	}
	return nil
}

// TestPicturesWithoutColours: without colours too the pictures of all schedules stand on one axis:
// a column in which a rank is idle has a sign, and what is left out is in the same columns.
func TestPicturesWithoutColours(t *testing.T) {
	s := presets.DefaultSetup()
	s.TP, s.PP, s.DP, s.MicroBatches, s.Schedule = 4, 8, 2, s.GBS/2, "zb-h1"
	m := New(Options{
		Setup: s, Evaluate: engine.Evaluate, NoColor: true,
		Env: []string{"TERM=xterm-256color", "LANG=C.UTF-8", "NO_COLOR=1"},
	})
	send(m, tea.WindowSizeMsg{Width: 130, Height: 40})
	m.do(state.Action{Verb: state.GoTab, N: int(PipelineTab)})
	_, cmd := m.Update(tea.KeyPressMsg{Code: 't', Text: "t"})
	for i := 0; cmd != nil && i < 4; i++ {
		_, cmd = m.Update(works(cmd()))
	}
	text, rows, at := screenText(m), 0, -1
	for line := range strings.Lines(text) {
		before, _, cut := strings.Cut(line, "⋯")
		if !cut {
			continue
		}
		rows++
		if n := len([]rune(before)); at < 0 {
			at = n
		} else if n != at {
			t.Fatalf("a row is cut in column %d, another in %d:\n%s", n, at, text)
		}
	}
	if rows < 10 {
		t.Fatalf("%d pictures:\n%s", rows, text)
	}
}

// TestOneIsSingular: of one GPU no screen speaks of 1 GPUs, 1 nodes or 1 layers.
func TestOneIsSingular(t *testing.T) {
	plural := regexp.MustCompile(`(^|[^0-9.,])1 (GPUs|nodes|layouts|ranks|sequences|layers|tokens|replicas|` +
		`stages|micro-batches|changes)\b`)
	one := func(o *Options) {
		s := &o.Setup
		o.Evaluate = engine.Evaluate
		s.GPUs, s.DP, s.TP, s.PP, s.VPP, s.SP, s.ZeRO = 1, 1, 1, 1, 1, false, 0
		s.MBS, s.MicroBatches, s.GBS = 1, 1, 1
	}
	for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 60}} {
		for tab := range tabs {
			m := sample(t, size[0], size[1], one)
			finishAll(m, m.do(state.Action{Verb: state.GoTab, N: int(tab)}))
			for _, line := range strings.Split(screenText(m), "\n") {
				if plural.MatchString(line) {
					t.Errorf("%v, %s: %s", size, tabName(tab), line)
				}
			}
		}
	}
}
