package ui

import (
	"strings"
	"testing"

	"meshscope/ui/knobs"
	"meshscope/ui/overlay"
	"meshscope/ui/state"
)

// TestPalette: the list of keys leads to every screen, every knob and every word
// of the glossary, from any screen, by typing its name.
func TestPalette(t *testing.T) {
	typed := func(m *Model, text string) {
		keys(m, ":")
		for _, r := range text {
			m.Update(press(string(r)))
		}
		keys(m, "enter")
	}
	for tab := range tabs {
		m := sample(t, 80, 24)
		typed(m, strings.ToLower(tabName(tab))+" screen")
		if m.state.Tab != tab || !m.overlays.Empty() {
			t.Errorf("%s: on %s with overlay %q", tabName(tab), tabName(m.state.Tab), m.overlays.ID())
		}
		checkFrame(t, m)
	}
	for _, id := range knobs.Order() {
		m := sample(t, 80, 24)
		m.do(state.Action{Verb: state.GoTab, N: int(MemoryTab)})
		typed(m, "--"+string(id))
		if m.state.Tab != state.ExploreTab || m.state.Focus != id {
			t.Errorf("--%s: on %s at %s", id, tabName(m.state.Tab), m.state.Focus)
		}
	}
	for text, want := range map[string]string{"word causal": "causal", "word zero": "ZeRO", "driver context": "overhead"} {
		m := sample(t, 80, 24)
		typed(m, text)
		if got := screenText(m); m.overlays.Len() != 2 || m.overlays.Top().(*overlay.Card).Name != want {
			t.Errorf("%q does not lead to %s:\n%s", text, want, got)
		}
	}
	for _, text := range []string{"zero", "mem", "causal"} {
		m := sample(t, 80, 24)
		keys(m, ":")
		for _, r := range text {
			m.Update(press(string(r)))
		}
		if got := screenText(m); strings.Contains(got, "nothing matches") || text == "mem" && !strings.Contains(got, "Memory screen") {
			t.Errorf("%s:\n%s", text, got)
		}
	}
}
