package ui

import (
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/explain"
	"meshscope/engine/knob"
	"meshscope/presets"
	"meshscope/ui/overlay"

	"meshscope/ui/screen"
	"meshscope/ui/state"
)

// TestNothingToExplain: a setup that was never legal has no figures, and a list that
// cannot be made leaves nothing open that takes keys.
func TestNothingToExplain(t *testing.T) {
	never := presets.DefaultSetup()
	never.TP = 7
	m := sample(t, 120, 36, func(o *Options) { o.Setup = never })
	_, cmd := m.Update(press("e"))
	finishAll(m, cmd)
	if text := screenText(m); !m.overlays.Empty() || !strings.Contains(text, "no figures to explain") {
		t.Errorf("a setup that was never legal:\n%s", text)
	}
	m = sample(t, 120, 36)
	m.legal.setup = never
	_, cmd = m.Update(press("e"))
	finishAll(m, cmd)
	if text := screenText(m); !m.overlays.Empty() || !strings.Contains(text, "no figures to explain") {
		t.Errorf("figures that cannot be explained:\n%s", text)
	}
}

// TestExplainsWhatTheCursorIsOn: the list of figures opens at the one under the
// cursor of the screen, of the setup that is under it.
func TestExplainsWhatTheCursorIsOn(t *testing.T) {
	setup := setupOf(t, "llama3.1-8b", "dgx-h100", knob.Given{knob.GPUs: 8, knob.TP: 2, knob.PP: 2})
	other := setupOf(t, "llama3.1-8b", "dgx-h100",
		knob.Given{knob.GPUs: 8, knob.TP: 4, knob.VPP: 2, knob.PP: 2})
	third := setupOf(t, "llama3.1-8b", "dgx-h100", knob.Given{knob.GPUs: 8, knob.TP: 2, knob.PP: 4})
	const ranked = "throughput.tokens-per-second-per-gpu"
	for _, c := range []struct {
		tab  state.Tab
		keys []string
		want string
		of   string // what the setup is called; empty: the current one
	}{
		{MemoryTab, []string{"down", "home", "right"}, "memory.ranks.0.logits", ""},
		{NetworkTab, nil, "communication.tp.bytes", ""},
		{NetworkTab, []string{"d"}, "communication.tp.bytes", ""},
		{PipelineTab, nil, "stage.0.forward", ""},
		{PipelineTab, []string{"end"}, "stage.0.time", ""},
		// rank 1 has the head, and so the most work
		{PipelineTab, []string{"down", "home"}, "time.bubble", ""},
		{PipelineTab, []string{"home", "n"}, "pipeline.bubble-over-total", ""},
		{PipelineTab, []string{"t", "down"}, "time.bubble-share", "schedule "},
		{SearchTab, nil, ranked, "rank 1 of the search"},
		{SearchTab, []string{"right"}, "time.step", "rank 1 of the search"},
		{SearchTab, []string{"right", "right", "right", "down"}, "throughput.mfu", "rank 2 of the search"},
		{
			SearchTab,
			[]string{"right", "right", "right", "right", "down", "down"},
			"memory.peak",
			"rank 3 of the search",
		},
		{CompareTab, nil, "time.step", "the setup after "},
		{CompareTab, []string{"=", "pgdown", "up", "up", "up"}, "memory.ranks.0.logits", ""},
		{
			CompareTab,
			[]string{"b", "down", "down", "down", "down", "down"},
			"memory.ranks.0.gradients",
			"B, pin 1",
		},
		{CompareTab, []string{"v", "down", "down"}, "time.step", "ZeRO-1 alone"},
		{ScanTab, nil, "time.step", ""},
		{ScanTab, []string{"enter", "home"}, "time.step", "the scan, "},
		{CompareTab, []string{"v", "v", "down", "down"}, "communication.tp.bytes", ""},
	} {
		m := sample(t, 120, 36, func(o *Options) { o.Setup, o.Evaluate = setup, engine.Evaluate })
		m.screens.compare.Restore([]engine.Setup{third, other})
		finishAll(m, m.do(state.Action{Verb: state.GoTab, N: int(c.tab)}))
		for _, k := range c.keys {
			_, cmd := m.Update(press(k))
			finishAll(m, cmd)
		}
		_, cmd := m.Update(press("e"))
		finishAll(m, cmd)
		list, ok := m.overlays.Top().(*overlay.Picker)
		if !ok {
			t.Fatalf("%s %v: no list", tabName(c.tab), c.keys)
		}
		of, named := strings.CutPrefix(list.Title, "FIGURES of ")
		if !strings.HasPrefix(of, c.of) && c.of != "" || c.of == "" && named && c.tab != CompareTab {
			t.Errorf("%s %v: the list is called %q, want one of %q", tabName(c.tab), c.keys, list.Title, c.of)
		}
		of = ""
		explained := []engine.Setup{setup, other}
		if under, name := screen.SetupAtCursor(m.screen(), m.context()); under != nil {
			explained, of = []engine.Setup{*under}, name
		}
		if of != "" && list.Title != "FIGURES of "+of {
			t.Errorf("%s %v: the list is called %q, not after %q", tabName(c.tab), c.keys, list.Title, of)
		}
		keys(m, "enter")
		card := screenText(m)
		if !slices.ContainsFunc(explained, func(s engine.Setup) bool {
			book, _ := explain.Of(s)
			e, ok := book.Explain(c.want)
			return ok && strings.Contains(card, "│ "+c.want+" ") &&
				strings.Contains(card, " "+e.Text()+" │")
		}) {
			t.Errorf("%s %v: not %s of the setup under the cursor:\n%s", tabName(c.tab), c.keys, c.want, card)
		}
	}
}
