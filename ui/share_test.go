package ui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
	"meshscope/ui/overlay"
	"meshscope/ui/session"
	"meshscope/ui/state"
)

// sharing returns the share string of a setup.
func sharing(t *testing.T, s engine.Setup) string {
	t.Helper()
	text, ok := setupdoc.Share(s, presets.Default(), presets.Default())
	if !ok {
		t.Fatal("no share string")
	}
	return text
}

// paste pastes a text and does what follows.
func paste(m *Model, text string) {
	_, cmd := m.Update(tea.PasteMsg{Content: text})
	finishAll(m, cmd)
}

// TestCopyAgain: the card of y shows the command, which is copied, and the share string, which the
// same key copies then.
func TestCopyAgain(t *testing.T) {
	for _, size := range [][2]int{{60, 20}, {80, 24}, {200, 60}} {
		var copied []string
		m := sample(t, size[0], size[1], func(o *Options) {
			o.Share = func(text string) (string, error) { copied = append(copied, text); return "", nil }
		})
		finishAll(m, m.handleKey(press("y")))
		shown := screenText(m)
		if !strings.Contains(shown, "command copied") || !strings.Contains(shown, "copies the share string") {
			t.Errorf("%v:\n%s", size, shown)
		}
		line := sharing(t, m.state.Setup)
		if bare := strings.Join(strings.Fields(strings.ReplaceAll(shown, "│", "")), ""); !strings.Contains(bare, line) && !strings.Contains(shown, line) {
			t.Errorf("%v: %s is not whole:\n%s", size, line, shown)
		}
		finishAll(m, m.handleKey(press("y")))
		if len(copied) != 2 || !strings.HasPrefix(copied[0], "meshscope --model") || copied[1] != line || !strings.Contains(screenText(m), "share string copied") {
			t.Errorf("%v: copied %q", size, copied)
		}
	}
}

// TestCopiedWhere: the file that a copy went to is whole next to what tmux needs.
func TestCopiedWhere(t *testing.T) {
	m := sample(t, 80, 24, func(o *Options) {
		o.Env = []string{"TMUX=/tmp/x"}
		o.Share = func(string) (string, error) { return "/home/someone/.local/state/meshscope/copied", nil }
	})
	finishAll(m, m.handleKey(press("y")))
	for _, want := range []string{"command copied (tmux: set -g set-clipboard on)", "also to /home/someone/.local/state/meshscope/copied"} {
		if shown := screenText(m); !strings.Contains(shown, want) {
			t.Errorf("no %q:\n%s", want, shown)
		}
	}
}

// TestPasteSetup: a share string, the text of a config.json or of a setup file is taken wherever it
// is pasted; what cannot be read says why and changes nothing.
func TestPasteSetup(t *testing.T) {
	other := presets.StartSetup()
	line := sharing(t, other)
	for _, open := range []string{"", ":", "m", "i"} {
		m := sample(t, 120, 36)
		if open != "" {
			keys(m, open)
		}
		paste(m, line[:20]+" │\n│ "+line[20:]+"\n")
		if m.state.Setup != other || !m.overlays.Empty() {
			t.Errorf("pasted after %q: %d GPUs, %q", open, m.state.Setup.GPUs, m.state.Note.Text)
		}
	}
	m := sample(t, 120, 36)
	before := m.state.Setup
	paste(m, line[:len(line)-6])
	if m.state.Setup != before || !strings.Contains(m.state.Note.Text, "share string: its end is missing") {
		t.Errorf("cut: %q", m.state.Note.Text)
	}
	paste(m, `{"model_type":"mamba2"}`)
	if m.state.Setup != before || !strings.Contains(m.state.Note.Text, `model_type "mamba2" is not known`) {
		t.Errorf("unknown: %q", m.state.Note.Text)
	}
	paste(m, `{"model_type":"gpt2"}`)
	if m.state.Setup.Model.ID != "gpt2-124m" || m.state.Setup.GPUs != before.GPUs {
		t.Errorf("a config.json: %s on %d GPUs, %q", m.state.Setup.Model.ID, m.state.Setup.GPUs, m.state.Note.Text)
	}
	paste(m, "{\n\"gpus\": 16, \"tp\": 2}")
	if m.state.Setup.GPUs != 16 || m.state.Setup.TP != 2 {
		t.Errorf("a setup file: %d GPUs, %q", m.state.Setup.GPUs, m.state.Note.Text)
	}
	keys(m, ":")
	for _, r := range line { // typed, not pasted
		m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	if !strings.Contains(screenText(m), "enter takes this setup") {
		t.Errorf("typed:\n%s", screenText(m))
	}
	_, cmd := m.Update(press("enter"))
	if finishAll(m, cmd); m.state.Setup != other {
		t.Errorf("typed: %q", m.state.Note.Text)
	}
}

// TestRecent: setups that were left are in the palette of this run and the next, without a session
// nowhere.
func TestRecent(t *testing.T) {
	first, second := presets.DefaultSetup(), presets.StartSetup()
	kept := session.None()
	m := sample(t, 120, 36, func(o *Options) { o.Last, o.Asked = &kept, true })
	finishAll(m, m.do(state.Action{Verb: state.UseSetup, Setup: &second}))
	if again := recentItems(t, m); len(again) != 1 || again[0] != first {
		t.Errorf("in this run: %d", len(again))
	}
	end := m.session()
	if end.Recent[0] != sharing(t, second) || end.Recent[1] != sharing(t, first) || end.Recent[2] != "" {
		t.Errorf("kept %q", end.Recent)
	}
	next := sample(t, 120, 36, func(o *Options) { o.Last, o.Asked = &end, true })
	if next.session().Recent != end.Recent {
		t.Errorf("a run that changes nothing keeps %q", next.session().Recent)
	}
	if again := recentItems(t, next); len(again) != 1 || again[0] != second { // first is what it began with
		t.Errorf("in the next run: %d", len(again))
	}
	none := sample(t, 120, 36)
	finishAll(none, none.do(state.Action{Verb: state.UseSetup, Setup: &second}))
	if again := recentItems(t, none); len(again) != 0 || none.session().Recent[0] != "" {
		t.Errorf("without a session: %d", len(again))
	}
}

// recentItems returns the recent setups of the palette, each as choosing it gives it.
func recentItems(t *testing.T, m *Model) (all []engine.Setup) {
	t.Helper()
	m.overlays.Clear()
	cmd := m.handleKey(press(":"))
	finishAll(m, cmd)
	palette, ok := m.overlays.Top().(*overlay.Picker)
	if !ok {
		t.Fatal("no palette")
	}
	palette.Paste("recent setup")
	for range 12 {
		i, ok := palette.Choice()
		if !ok || !strings.Contains(screenText(m), "recent setup ") {
			break
		}
		chosen, _ := palette.Choose(i).(overlay.Sequence)
		a, _ := chosen[len(chosen)-1].(state.Action)
		if a.Setup == nil || len(all) > 0 && all[len(all)-1] == *a.Setup {
			break
		}
		all = append(all, *a.Setup)
		palette.Wheel(1)
	}
	m.overlays.Clear()
	return all
}
