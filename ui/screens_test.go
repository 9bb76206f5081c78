package ui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/presets"
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
	shows := map[Tab]string{
		ExploreTab: "LAYOUT", MemoryTab: "MEMORY PER GPU", PipelineTab: "PIPELINE", NetworkTab: "TRAFFIC", EvidenceTab: "EVIDENCE",
	}
	for range 2 * int(tabs) {
		text := screen(m)
		if !strings.Contains(text, "["+m.state.Tab.String()+"]") || !strings.Contains(text, shows[m.state.Tab]) {
			t.Errorf("%s does not show itself:\n%s", m.state.Tab, text)
		}
		keys(m, "tab")
		for range 3 { // what the screen wants worked out
			if cmd := m.refreshScreen(); cmd != nil {
				m.Update(cmd())
			}
		}
	}
	keys(m, "shift+tab")
	if m.state.Tab != EvidenceTab {
		t.Errorf("shift+tab goes to %s", m.state.Tab)
	}
	send(m, tea.MouseClickMsg{X: m.margin() + 12, Y: 1, Button: tea.MouseLeft})
	if m.state.Tab != MemoryTab {
		t.Errorf("a click on Memory goes to %s", m.state.Tab)
	}
}

// TestScreensAtEverySize: no screen panics or draws beyond its cells.
func TestScreensAtEverySize(t *testing.T) {
	m := live(t, 120, 36)
	for range int(tabs) {
		for _, size := range [][2]int{{1, 1}, {20, 5}, {60, 20}, {80, 24}, {100, 30}, {160, 50}, {240, 70}, {0, 0}} {
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
	if m.picker == nil {
		t.Error("no help on the Memory screen")
	}
	keys(m, "esc", "shift+tab", "3", "enter", "tab")
	if text := screen(m); !strings.Contains(text, "last legal setup") || !strings.Contains(text, "MEMORY PER GPU") {
		t.Errorf("an illegal setup on the Memory screen:\n%s", text)
	}
}
