package ui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"meshscope/presets"
	"meshscope/ui/overlay"
)

// TestOwnMachine: GPUs of a node and its bandwidth are typed into the list of machines; what cannot be read
// stays there with the reason, and one undo takes all back.
func TestOwnMachine(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		m := sample(t, size[0], size[1])
		m.options.Library = presets.Default()
		m.catalog = overlay.ReadCatalog(m.options.Library)
		before := m.state.Setup
		keys(m, "g")
		typeText(m, "gpus-per-node=4,node-bandwidth=100")
		if !strings.Contains(screenText(m), "enter changes this") {
			t.Errorf("nothing says what enter does:\n%s", screenText(m))
		}
		_, cmd := m.Update(press("enter"))
		finishAll(m, cmd)
		if m.state.Setup != before || m.overlays.Empty() || !strings.Contains(m.state.Note.Text, "100Gb/s, which is bits, or 100GB/s") {
			t.Errorf("a rate without a unit: %q", m.state.Note.Text)
		}
		typeText(m, "Gb/s")
		_, cmd = m.Update(press("enter"))
		finishAll(m, cmd)
		c := m.state.Setup.Cluster
		if c.NodeGPUs != 4 || c.ScaleUpGPUs != 4 || c.Inter.Bandwidth != 3.125e9 || c.Inter.Name != "100 Gb/s per node" || m.state.Setup.GPUs != before.GPUs {
			t.Errorf("%d GPUs a node of a domain of %d, %v: %s", c.NodeGPUs, c.ScaleUpGPUs, c.Inter, m.state.Note.Text)
		}
		keys(m, "u")
		if m.state.Setup != before {
			t.Error("undo does not take the machine back")
		}
	}
}

// typeText types a text letter by letter.
func typeText(m *Model, text string) {
	for _, r := range text {
		m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}
