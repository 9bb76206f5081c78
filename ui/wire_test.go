package ui

import (
	"math/rand/v2"
	"slices"
	"testing"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/ui/knobs"
	"meshscope/ui/wire/wiretest"
)

// Random keys and sizes on every screen look the same, cell by cell, with what
// goes to the terminal shortened and without.
func TestWireKeepsThePicture(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 7)) //nolint:gosec // the same keys in every run
	m := sample(t, 120, 36)
	b := wiretest.New(120, 36, "xterm-256color")
	names := []string{
		"left", "right", "up", "down", "tab", "enter", "esc", "esc", "u", "ctrl+r", "t", "?", "m", "g", "e", "+", "-", "p", "s", "b", "4", "x", "pgdown", "home",
	}
	for i := range 600 {
		name := names[random.IntN(len(names))]
		_, cmd := m.Update(press(name))
		if i%5 == 0 {
			carryOut(m, cmd, 4)
		}
		if random.IntN(60) == 0 {
			w, h := 20+random.IntN(200), 5+random.IntN(60)
			send(m, tea.WindowSizeMsg{Width: w, Height: h})
			b.Resize(w, h)
		}
		b.ShowText(m.View().Content)
		if different := b.Difference(); different != "" {
			t.Fatalf("after %d keys, the last %q: %s", i+1, name, different)
		}
	}
}

// The turn of a slider, the chart that follows included, sends 2 KB to a terminal
// of 160x50 with 256 colours: the median over all knobs.
func TestWireBytesOfATurn(t *testing.T) {
	m := sample(t, 160, 50, func(o *Options) { o.Evaluate = engine.Evaluate })
	b := wiretest.New(160, 50, "xterm-256color")
	b.ShowText(m.View().Content)
	_, first := b.Bytes()
	keys(m, "home")
	var before, after []int
	for range knobs.Order() {
		for _, name := range []string{"right", "left", "left", "right"} {
			came, passed := b.Bytes()
			setup := m.state.Setup
			m.Update(press(name))
			b.ShowText(m.View().Content)
			settle(m)
			b.ShowText(m.View().Content)
			if all, some := b.Bytes(); m.state.Setup != setup {
				before, after = append(before, all-came), append(after, some-passed)
			}
		}
		m.Update(press("down"))
	}
	slices.Sort(before)
	slices.Sort(after)
	half, last := len(after)/2, len(after)-1
	t.Logf("first frame %d bytes; %d turns, median %d instead of %d, at most %d instead of %d", first, len(after), after[half], before[half], after[last], before[last])
	if after[half] > 2048 {
		t.Errorf("a turn sends %d bytes", after[half])
	}
}
