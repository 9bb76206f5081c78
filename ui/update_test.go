package ui

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/presets"
	"meshscope/ui/state"
	"meshscope/ui/tty"
)

// TestInterrupts: ctrl+c leaves from everywhere, also when an escape was read
// together with it.
func TestInterrupts(t *testing.T) {
	for _, mod := range []tea.KeyMod{tea.ModCtrl, tea.ModCtrl | tea.ModAlt} {
		for _, open := range []string{"", "?", "3"} {
			m := sample(t, 80, 24)
			if open != "" {
				keys(m, open)
			}
			cmd := m.handleKey(tea.KeyPressMsg{Code: 'c', Mod: mod})
			if cmd == nil {
				t.Fatalf("mod %v over %q does nothing", mod, open)
			}
			if _, ok := cmd().(tea.InterruptMsg); !ok {
				t.Errorf("mod %v over %q gives %T", mod, open, cmd())
			}
		}
	}
}

// TestHugeTerminal: what is drawn is bounded.
func TestHugeTerminal(t *testing.T) {
	m := sample(t, 60_000, 60_000)
	if m.caps.Width > tty.MaxWidth || m.caps.Height > tty.MaxHeight {
		t.Errorf("%d x %d", m.caps.Width, m.caps.Height)
	}
	checkFrame(t, m)
}

// TestTypingEnds: a value goes with its knob and its screen, and what is
// pasted elsewhere is not typed where nobody sees it.
func TestTypingEnds(t *testing.T) {
	for _, leave := range []state.Action{
		{Verb: state.FocusKnob, ID: "pp"},
		{Verb: state.GoTab, N: int(MemoryTab)},
	} {
		m := sample(t, 120, 36)
		if keys(m, "3"); m.typing() == nil {
			t.Fatal("a digit does not start typing")
		}
		if m.do(leave); m.typing() != nil {
			t.Errorf("%+v leaves the value open", leave)
		}
	}
	m := sample(t, 120, 36)
	m.do(state.Action{Verb: state.GoTab, N: int(MemoryTab)})
	if send(m, tea.PasteMsg{Content: "16k"}); !m.overlays.Empty() {
		t.Error("text pasted on Memory is typed into a knob of Explore")
	}
}

// TestWarningsGoWithTheirSetup: a warning of an illegal setup is gone where enter leads back to a legal one.
func TestWarningsGoWithTheirSetup(t *testing.T) {
	m := sample(t, 120, 36, func(o *Options) { o.Evaluate, o.Setup = engine.Evaluate, presets.StartSetup() })
	m.do(state.Action{Verb: state.SetKnob, ID: knob.TP, Text: "3"})
	if len(m.fresh) == 0 {
		t.Fatalf("no warning: %+v", m.now.report.Problems)
	}
	if m.do(m.fixAction()); m.state.Setup != presets.StartSetup() || len(m.fresh) > 0 {
		t.Errorf("tp %d: %v", m.state.Setup.TP, m.fresh)
	}
}
