package ui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/ui/state"
)

// messages runs a command and those that it represents, and gives the reports of
// slow setups that they bring.
func messages(cmd tea.Cmd) []evaluatedMsg {
	if cmd == nil {
		return nil
	}
	switch msg := cmd().(type) {
	case evaluatedMsg:
		return []evaluatedMsg{msg}
	case tea.BatchMsg:
		var out []evaluatedMsg
		for _, c := range msg {
			out = append(out, messages(c)...)
		}
		return out
	}
	return nil
}

// TestSlowSetup: a setup that takes long to evaluate is not evaluated on the key
// path: the last picture stays and says so, the report comes by a message, and
// one that is no longer current is dropped.
func TestSlowSetup(t *testing.T) {
	m := New(Options{Library: presets.Default()})
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 36})
	long := m.state.Setup
	long.MicroBatches, long.GBS = 100_000, 100_000*long.MBS*long.DP
	if !long.Slow() || !engine.Legal(long) {
		t.Fatalf("%+v is not slow, or illegal", long)
	}
	longer := long
	longer.MicroBatches, longer.GBS = 2*long.MicroBatches, 2*long.GBS

	before := m.legal.setup
	first := m.do(state.Action{Verb: state.UseSetup, Setup: &long})
	if !m.slow.pending || m.legal.setup != before {
		t.Fatal("evaluated on the key path")
	}
	if text := ansi.Strip(m.View().Content); !strings.Contains(text, "evaluating this setup") {
		t.Fatalf("nothing says so:\n%s", text)
	}
	second := m.do(state.Action{Verb: state.UseSetup, Setup: &longer})
	for _, msg := range messages(first) {
		m.Update(msg)
	}
	if m.legal.setup != before || !m.slow.pending {
		t.Fatal("took the report of a setup that is no longer in force")
	}
	for _, msg := range messages(second) {
		m.Update(msg)
	}
	if m.slow.pending || m.legal.setup != longer || !m.now.report.Legal ||
		m.now.report.Pipeline.MicroBatches != longer.MicroBatches {
		t.Fatalf("pending %v, %+v", m.slow.pending, m.now.report.Pipeline)
	}
	// Back before it is computed: the known report is taken at once.
	m.do(state.Action{Verb: state.UseSetup, Setup: &long})
	m.do(state.Action{Verb: state.Undo})
	if m.slow.pending || m.now.setup != longer || !m.now.report.Legal {
		t.Fatal("what is known is worked out again")
	}
	m.halt()
}

// TestSlowUndone: after a slow setup that was taken back before it was drawn the gauges are those of
// the setup in force, compared with nothing older.
func TestSlowUndone(t *testing.T) {
	m := New(Options{Library: presets.Default()})
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 36})
	m.Update(press("right"))
	other := m.legal.setup
	m.View()
	long := other
	long.MicroBatches, long.GBS = 100_000, 100_000*long.MBS*long.DP
	m.do(state.Action{Verb: state.UseSetup, Setup: &long})
	m.do(state.Action{Verb: state.Undo})
	if m.legal.setup != other || m.slow.pending {
		t.Fatal("not taken back")
	}
	kept := screenText(m)
	m.cache = newCache()
	if drawn := screenText(m); kept != drawn {
		t.Errorf("kept:\n%s\ndrawn again:\n%s", kept, drawn)
	}
	m.halt()
}
