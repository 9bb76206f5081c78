package ui

import (
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/launch"
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
		if bare := strings.Join(strings.Fields(strings.ReplaceAll(shown, "│", "")),
			""); !strings.Contains(bare, line) && !strings.Contains(shown, line) {
			t.Errorf("%v: %s is not whole:\n%s", size, line, shown)
		}
		finishAll(m, m.handleKey(press("y")))
		if len(copied) != 2 || !strings.HasPrefix(copied[0], "meshscope --model") || copied[1] != line ||
			!strings.Contains(screenText(m), "share string copied") {
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
	for _, want := range []string{
		"command copied (tmux: set -g set-clipboard on)",
		"also to /home/someone/.local/state/meshscope/copied",
	} {
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
	paste(m,
		`{"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12,"n_positions":1024,"vocab_size":50257}`)
	if m.state.Setup.Model.ID != "gpt2-124m" || m.state.Setup.GPUs != before.GPUs {
		t.Errorf("a config.json: %s on %d GPUs, %q", m.state.Setup.Model.ID, m.state.Setup.GPUs,
			m.state.Note.Text)
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

// TestPasteCommand: a command line is taken wherever it is pasted; without a reader of command lines,
// as where one fails, it is refused in words.
func TestPasteCommand(t *testing.T) {
	const line = "$ meshscope --model gpt2-124m \\\n --tp 2"
	for _, open := range []string{"", ":", "m", "4"} {
		var given []string
		other := presets.StartSetup()
		m := sample(t, 120, 36, func(o *Options) {
			o.Command = func(words []string) (search.Begun, error) {
				given = words
				return search.Begun{Setup: other, Fixed: knob.SetOf(knob.TP)}, nil
			}
		})
		if open != "" {
			keys(m, open)
		}
		paste(m, line)
		if strings.Join(given, " ") != "--model gpt2-124m --tp 2" || m.state.Setup != other ||
			!m.overlays.Empty() {
			t.Errorf("pasted after %q: %q, %q", open, given, m.state.Note.Text)
		}
		if !strings.Contains(m.state.Note.Text, "pasted command") || m.state.Fixed != knob.SetOf(knob.TP) {
			t.Errorf("pasted after %q: %q", open, m.state.Note.Text)
		}
	}
	m := sample(t, 120, 36)
	before := m.state.Setup
	paste(m, line)
	if m.state.Setup != before || !strings.Contains(m.state.Note.Text, "not taken: no command line") {
		t.Errorf("no reader: %q", m.state.Note.Text)
	}
}

// TestPasteList: a list as compare takes it turns its knobs, pasted or typed; what is wrong with it is
// said and nothing is turned.
func TestPasteList(t *testing.T) {
	for _, list := range []string{"tp=4,pp=2", " tp = 4 , pp=2 ", "pp=2,tp=4,recompute=full"} {
		m := sample(t, 120, 36)
		if paste(m, list); m.state.Setup.TP != 4 || m.state.Setup.PP != 2 || !m.overlays.Empty() {
			t.Errorf("%q: tp %d, pp %d, %q", list, m.state.Setup.TP, m.state.Setup.PP, m.state.Note.Text)
		}
	}
	m := sample(t, 120, 36)
	if paste(m, "model=gpt2-124m,tp=2,model.layers=24"); m.state.Setup.Model.ID != "gpt2-124m" ||
		m.state.Setup.Model.Layers != 24 || m.state.Setup.TP != 2 {
		t.Errorf("model: %s, %q", m.state.Setup.Model.ID, m.state.Note.Text)
	}
	m = sample(t, 120, 36)
	if paste(m, "gpu=b200-sxm,tp=8"); m.state.Setup.Cluster.GPU.ID != "b200-sxm" || m.state.Setup.TP != 8 {
		t.Errorf("gpu: %s, %q", m.state.Setup.Cluster.GPU.ID, m.state.Note.Text)
	}
	if paste(m, "cluster=dgx-a100"); m.state.Setup.Cluster.ID != "dgx-a100" {
		t.Errorf("cluster: %s, %q", m.state.Setup.Cluster.ID, m.state.Note.Text)
	}
	m = sample(t, 120, 36)
	keys(m, "4")
	m.typing().Paste("x")
	if m.overlays.Clear(); m.typing() != nil {
		t.Fatal("still typing")
	}
	m.startTyping("tp=4,pp=2")
	if keys(m, "enter"); m.state.Setup.TP != 4 || m.state.Setup.PP != 2 {
		t.Errorf("typed: tp %d, pp %d", m.state.Setup.TP, m.state.Setup.PP)
	}
	for list, want := range map[string]string{
		"tp=4,pq=2": `unknown key "pq"`, "tp=x": "\"x\"", "tp=4,tp=8": "twice",
		"model=\x1b[2J": `unknown model "\x1b[2J"`, "cluster=nowhere": "nowhere",
	} {
		m := sample(t, 120, 36)
		before := m.state.Setup
		paste(m, list)
		if m.state.Setup != before || !strings.HasPrefix(m.state.Note.Text, "not taken: ") ||
			!strings.Contains(m.state.Note.Text, want) {
			t.Errorf("%q: %q", list, m.state.Note.Text)
		}
	}
}

// TestPasteLate: what was pasted and is read when another paste has come, or a question is asked, is not
// taken.
func TestPasteLate(t *testing.T) {
	m := sample(t, 120, 36)
	other := m.state.Setup
	other.TP = 2
	read := func() (state.Action, *search.Begun) {
		return state.Action{Verb: state.UseSetup, Setup: &other}, nil
	}
	m.pastes = 2
	first := m.reading(read)
	m.pastes = 3
	if m.Update(first()); m.state.Setup == other {
		t.Error("an older paste is taken")
	}
	last := m.reading(read)
	if m.Update(last()); m.state.Setup != other {
		t.Error("the last paste is not taken")
	}
	m = taught(t, built(t, "second-step"), 120, 36)
	before := m.state.Setup
	last = m.reading(read)
	if m.Update(last()); m.state.Setup != before {
		t.Error("a paste changes the setup of a question")
	}
	tell(m, "w") // the glossary, over the question
	if m.staged() != nil || m.onStage() == nil {
		t.Fatalf("no card is open over the question:\n%s", screenText(m))
	}
	card := m.overlays.ID()
	last = m.reading(read)
	if m.Update(last()); m.state.Setup != before || m.overlays.ID() != card {
		t.Error("a paste changes the setup of a question under a card")
	}
	if tell(m, "esc"); m.staged() == nil || m.state.Setup != before {
		t.Error("the question is not there when its card closes")
	}
}

// TestPasteFile: the name of a file opens it on Explore; its errors are those of the file, and where
// no file is read that is said.
func TestPasteFile(t *testing.T) {
	var asked string
	reading := func(text string, err error) func(*Options) {
		return func(o *Options) {
			o.Env = append(o.Env, "HOME=/home/me")
			o.Open = func(name string) (*launch.Reading, string, error) {
				asked = name
				if err != nil {
					return nil, name, err
				}
				r := launch.Open(name, []byte(text), presets.Default())
				return &r, name, nil
			}
		}
	}
	m := sample(t, 120, 36, reading(`{"gpus":16,"tp":2}`, nil))
	if paste(m, "'~/a b/run.json'\r\n"); asked != "/home/me/a b/run.json" || m.state.Setup.GPUs != 16 ||
		m.state.Setup.TP != 2 {
		t.Errorf("%q: %d GPUs, %q", asked, m.state.Setup.GPUs, m.state.Note.Text)
	}
	for _, of := range []struct {
		change func(*Options)
		want   string
	}{
		{reading("junk", nil), "not taken: /tmp/junk.yaml"},
		{
			reading("", errors.New("there is no file /tmp/junk.yaml")),
			"not taken: there is no file /tmp/junk.yaml",
		},
		{func(*Options) {}, "not taken: no file is read here"},
	} {
		m := sample(t, 120, 36, of.change)
		before := m.state.Setup
		if paste(m, "/tmp/junk.yaml"); m.state.Setup != before ||
			!strings.HasPrefix(m.state.Note.Text, of.want) {
			t.Errorf("%q, want %q", m.state.Note.Text, of.want)
		}
	}
	m = sample(t, 120, 36)
	if paste(m, "16,x"); !strings.Contains(m.state.Note.Text, `"16,x"`) {
		t.Errorf("given: %q", m.state.Note.Text)
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
