package ui

import (
	"strings"
	"testing"

	"meshscope/engine"
)

// TestExplainsWhatTheCursorIsOn: the list of figures opens at the one under the
// cursor of the screen, of the setup that is under it.
func TestExplainsWhatTheCursorIsOn(t *testing.T) {
	setup := setupOf(t, "llama3.1-8b", "dgx-h100", engine.Draft{GPUs: new(8), TP: new(2), PP: new(2)})
	other := setupOf(t, "llama3.1-8b", "dgx-h100", engine.Draft{GPUs: new(8), TP: new(4), VPP: new(2), PP: new(2)})
	third := setupOf(t, "llama3.1-8b", "dgx-h100", engine.Draft{GPUs: new(8), TP: new(2), PP: new(4)})
	const ranked = "throughput.tokens-per-second-per-gpu"
	for _, c := range []struct {
		tab  Tab
		keys []string
		want string
		of   string // what the setup is called; empty: the one in force
	}{
		{MemoryTab, []string{"down", "home", "right"}, "memory.ranks.0.logits", ""},
		{NetworkTab, nil, "communication.tp.bytes", ""},
		{NetworkTab, []string{"d"}, "communication.tp.bytes", ""},
		{PipelineTab, nil, "stage.0.forward", ""},
		{PipelineTab, []string{"end"}, "stage.0.time", ""},
		{PipelineTab, []string{"down", "home"}, "time.bubble", ""}, // rank 1 has the head, and so the most work
		{PipelineTab, []string{"home", "n"}, "pipeline.bubble-over-total", ""},
		{PipelineTab, []string{"t", "down"}, "pipeline.bubble-over-ideal", "schedule "},
		{SearchTab, nil, ranked, "rank 1 of the search"},
		{SearchTab, []string{"right"}, "time.step", "rank 1 of the search"},
		{SearchTab, []string{"right", "right", "right", "down"}, "throughput.mfu", "rank 2 of the search"},
		{SearchTab, []string{"right", "right", "right", "right", "down", "down"}, "memory.peak", "rank 3 of the search"},
		{CompareTab, nil, "time.step", "the setup after "},
		{CompareTab, []string{"pgdown", "up", "up", "up"}, "memory.ranks.0.logits", ""},
		{CompareTab, []string{"b", "down", "down", "down", "down", "down"}, "memory.ranks.0.gradients", "B, pin 2"},
		{CompareTab, []string{"v", "down", "down"}, "time.step", "ZeRO-1 alone"},
		{ScanTab, nil, ranked, ""},
		{ScanTab, []string{"enter", "home"}, ranked, "the scan, TP 1"},
		{CompareTab, []string{"v", "v", "down", "down"}, "communication.tp.bytes", ""},
	} {
		m := sample(t, 120, 36, func(o *Options) { o.Setup, o.Evaluate = setup, engine.Evaluate })
		m.screens.compare.Restore([]engine.Setup{other, third})
		finishAll(m, m.do(Action{Verb: GoTab, N: int(c.tab)}))
		for _, k := range c.keys {
			_, cmd := m.Update(press(k))
			finishAll(m, cmd)
		}
		_, cmd := m.Update(press("e"))
		finishAll(m, cmd)
		if m.picker == nil {
			t.Fatalf("%s %v: no list", c.tab, c.keys)
		}
		i, ok := m.picker.Choice()
		if got := m.explaining.ids[i]; !ok || got != c.want {
			t.Errorf("%s %v: opens at %s, want %s", c.tab, c.keys, got, c.want)
		}
		if c.of == "" && m.explaining.setup != setup && m.explaining.setup != other {
			t.Errorf("%s %v: explains another setup: %+v", c.tab, c.keys, m.explaining.setup.Layout)
		}
		if !strings.HasPrefix(m.explaining.name, c.of) || c.of == "" && m.explaining.name != "" && c.tab != CompareTab {
			t.Errorf("%s %v: the figures are of %q, want %q", c.tab, c.keys, m.explaining.name, c.of)
		}
		if title := m.picker.Title; m.explaining.name != "" && title != "FIGURES of "+m.explaining.name {
			t.Errorf("%s %v: the list is called %q", c.tab, c.keys, title)
		}
		if under, _ := m.screen().under(m.screenInput()); under != nil && m.explaining.book.Report().Time.Step != engine.Evaluate(*under).Time.Step {
			t.Errorf("%s %v: the figures are not those of the setup under the cursor", c.tab, c.keys)
		}
	}
}
