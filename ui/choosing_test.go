package ui

import (
	"context"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/presets"
)

// TestOpensWithWhatIsFound: while a layout is searched a frame says so, any key ends the search,
// and what it has found opens without a step to go back to.
func TestOpensWithWhatIsFound(t *testing.T) {
	found := presets.StartSetup()
	m := New(Options{
		Setup: presets.DefaultSetup(), Asked: true,
		Choose: func(ctx context.Context) (engine.Setup, string) {
			<-ctx.Done() // a key
			return found, "best of 28,740"
		},
	})
	cmd := m.chooseCmd()
	send(m, tea.WindowSizeMsg{Width: 80, Height: 24})
	if text := screenText(m); !strings.Contains(text, "searching for the best layout of Llama-3.1 70B") || !strings.Contains(text, "any key") {
		t.Fatalf("no word of the search:\n%s", text)
	}
	send(m, press("x"))
	m.Update(cmd())
	if m.state.Setup != found || m.state.Past() != 0 || m.start.Setup != found {
		t.Errorf("opens with %+v, %d steps back", m.state.Setup.Layout, m.state.Past())
	}
	if text := screenText(m); strings.Contains(text, "searching for") || !strings.Contains(text, "best of 28,740") {
		t.Errorf("after the search:\n%s", text)
	}
}
