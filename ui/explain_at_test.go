package ui

import (
	"strings"
	"testing"

	"meshscope/engine"
)

// TestExplainsWhatTheCursorIsOn: the list of figures opens at the one under the
// cursor of the screen.
func TestExplainsWhatTheCursorIsOn(t *testing.T) {
	setup := setupOf(t, "llama3.1-8b", "dgx-h100", engine.Draft{GPUs: new(8), TP: new(2), PP: new(2)})
	for _, c := range []struct {
		tab  Tab
		keys []string
		want string
	}{
		{MemoryTab, []string{"down", "home", "right"}, "memory.ranks."},
		{NetworkTab, nil, "communication.tp.bytes"},
		{NetworkTab, []string{"d"}, "communication."},
		{PipelineTab, nil, "time.step"},
	} {
		m := sample(t, 120, 36, func(o *Options) { o.Setup, o.Evaluate = setup, engine.Evaluate })
		finishAll(m, m.do(Action{Verb: GoTab, N: int(c.tab)}))
		for _, k := range c.keys {
			_, cmd := m.Update(press(k))
			finishAll(m, cmd)
		}
		want := m.screen().figure(m.screenInput())
		if c.tab == PipelineTab {
			want = "time.step"
		}
		if !strings.HasPrefix(want, c.want) {
			t.Errorf("%s %v: the cursor is on %q, want %s", c.tab, c.keys, want, c.want)
		}
		_, cmd := m.Update(press("e"))
		finishAll(m, cmd)
		if i, ok := m.picker.Choice(); !ok || m.explaining.ids[i] != want {
			t.Errorf("%s %v: opens at %s, want %s", c.tab, c.keys, m.explaining.ids[i], want)
		}
	}
}
