package ui

import (
	"testing"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"meshscope/engine_test/draws"
)

// TestCachedFrameIsTheFrame: whatever is pressed, on whatever size, the frame with the panels kept from
// earlier frames is the one that is drawn from nothing. A panel whose key lacks what its picture depends
// on fails here.
func TestCachedFrameIsTheFrame(t *testing.T) {
	pressed := []string{
		"up", "down", "left", "right", "enter", "esc", "tab", "shift+tab", "backspace", "home", "end",
		"pgup", "pgdown", "space", "?", "e", "f", "g", "m", "n", "p", "a", "b", "u", "ctrl+r", "+", "-",
		"z", "x", "/", "1", "2", "8", "t", "o", "w", "s", "l", "i", "[", "]", "c", "T", "L",
	}
	sizes := []tea.WindowSizeMsg{
		{Width: 80, Height: 24}, {Width: 120, Height: 36}, {Width: 200, Height: 60}, {Width: 40, Height: 12},
	}
	draws.CheckFew(t, 60, func(rt *rapid.T) {
		m := sample(t, 120, 36)
		for range 40 {
			if rapid.IntRange(0, 9).Draw(rt, "resized") == 0 {
				send(m, rapid.SampledFrom(sizes).Draw(rt, "size"))
			} else {
				keys(m, rapid.SampledFrom(pressed).Draw(rt, "key"))
			}
			kept, panels := m.View().Content, m.cache
			m.cache = newCache()
			if drawn := m.View().Content; kept != drawn {
				rt.Fatalf("kept:\n%s\ndrawn again:\n%s", kept, drawn)
			}
			m.cache = panels
		}
	})
}
