package ui

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"meshscope/ui/overlay"
	"meshscope/ui/state"
)

// TestKeysAreFree: no key is one that screen, tmux, flow control or a terminal
// keep for themselves, none is a function key, and none but the numbers of the screens, which
// tab reaches too, needs alt.
func TestKeysAreFree(t *testing.T) {
	bound := map[string][]string{}
	for i, table := range Tables() {
		where := table.Name
		if i < 2 {
			where = "the program"
		}
		for _, a := range table.Actions {
			bound[where] = append(bound[where], a.Keys...)
		}
	}
	bound["the program"] = append(bound["the program"], "enter", "esc") // which no file changes
	for where, keys := range bound {
		for _, key := range keys {
			taken := slices.Contains([]string{
				"ctrl+a", "ctrl+b", "ctrl+s", "ctrl+q", "ctrl+i", "ctrl+m",
				"ctrl+[",
			}, key)
			function := len(key) > 1 && key[0] == 'f' && strings.Trim(key[1:], "0123456789") == "" &&
				key != "f1"
			if taken || function || strings.Contains(key, "alt+") && strings.Trim(key, "alt+12345678") != "" {
				t.Errorf("%s: %s", where, key)
			}
		}
	}
	for _, want := range []string{
		"up", "down", "left", "right", "h", "j", "k", "l", "tab", "shift+tab",
		"enter", "esc", "home", "end", "G", "/", "?", ":", "q", "u", "ctrl+r",
	} {
		if !slices.Contains(bound["the program"], want) {
			t.Errorf("no %s", want)
		}
	}
}

// opened are ways into everything that lies over the panels.
func opened() map[string][]string {
	return map[string][]string{
		"help": {"?"}, "models": {"m"}, "clusters": {"g"}, "figures": {"e"}, "explanation": {"e", "enter"},
		"note": {"i"}, "glossary": {"w"}, "word": {"w", "enter"}, "export": {"x"}, "terminal": {"T"},
		"typing": {"1"},
	}
}

func open(t *testing.T, names []string) *Model {
	t.Helper()
	m := live(t, 100, 30)
	for _, name := range names {
		_, cmd := m.Update(press(name))
		if _, waiting := m.overlays.Top().(*overlay.Waiting); waiting {
			finishAll(m, cmd) // its contents are read
		}
	}
	if m.overlays.Empty() && names[0] != "x" {
		t.Fatalf("%v opens nothing", names)
	}
	return m
}

// TestEscLeaves: esc leaves whatever is open, twice does no harm, and nothing of
// the setup has changed.
func TestEscLeaves(t *testing.T) {
	for what, names := range opened() {
		m := open(t, names)
		before := m.state.Setup
		keys(m, "esc", "alt+esc") // two that come at once
		if !m.overlays.Empty() || m.state.Setup != before || m.state.Tab != state.ExploreTab {
			t.Errorf("%s: esc leaves %q open:\n%s", what, m.overlays.ID(), screenText(m))
		}
	}
}

// TestCtrlCLeavesEverything: whatever is open or being typed, ctrl+c ends the
// program.
func TestCtrlCLeavesEverything(t *testing.T) {
	for what, names := range opened() {
		m := open(t, names)
		_, cmd := m.Update(press("ctrl+c"))
		if !interrupts(cmd) {
			t.Errorf("%s: ctrl+c is taken for something else", what)
		}
	}
}

// interrupts says whether a command ends the program.
func interrupts(cmd tea.Cmd) bool {
	if cmd == nil {
		return false
	}
	msg := cmd()
	if batch, ok := msg.(tea.BatchMsg); ok {
		return slices.ContainsFunc(batch, interrupts)
	}
	_, ok := msg.(tea.InterruptMsg)
	return ok
}

// TestPaste: a value with the line end that a clipboard adds is a value.
func TestPaste(t *testing.T) {
	m := sample(t, 80, 24)
	m.do(state.Action{Verb: state.FocusKnob, ID: "seq"})
	send(m, tea.PasteMsg{Content: " 16k\r\n"})
	if keys(m, "enter"); m.state.Setup.Seq != 16384 || m.typing() != nil {
		t.Errorf("sequence %d, typing %v", m.state.Setup.Seq, m.typing() != nil)
	}
}

// TestPasteLines: a file is read with whatever line ends the terminal sends, and text that is
// neither a file nor a value of the knob is refused in words: no scrap of it is typed.
func TestPasteLines(t *testing.T) {
	script := "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py \\\n --num-layers 32 --hidden-size " +
		"4096 --num-attention-heads 32 \\\n --seq-length 2048 --max-position-embeddings 2048 --vocab-size 50304 --micro-batch-size 1 --global-batch-size 64 \\\n --tensor-model-parallel-size 2\n"
	for _, end := range []string{"\n", "\r", "\r\n"} {
		m := sample(t, 120, 36)
		if paste(m, strings.ReplaceAll(script, "\n", end)); m.state.Setup.GPUs != 16 ||
			m.state.Setup.TP != 2 || !m.overlays.Empty() {
			t.Errorf("%q: %d GPUs, tp %d, %q", end, m.state.Setup.GPUs, m.state.Setup.TP, m.state.Note.Text)
		}
	}
	for _, text := range []string{"one\rtwo", "8\r16", "tp=4\rpp=2", "nine", strings.Repeat("x", 100_000)} {
		m := sample(t, 120, 36)
		m.do(state.Action{Verb: state.FocusKnob, ID: "tp"})
		before := m.state.Setup
		paste(m, text)
		if m.state.Setup != before || m.typing() != nil ||
			!strings.Contains(m.state.Note.Text, "not taken: ") || len(m.state.Note.Text) > 300 {
			t.Errorf("%.20q: typing %v, %q", text, m.typing() != nil, m.state.Note.Text)
		}
		keys(m, "4")
		paste(m, text)
		if typed, _ := m.typing().Text(); typed != "4" || !strings.Contains(m.typing().Wrong, "not taken: ") {
			t.Errorf("%.20q into a value: %q, %q", text, typed, m.typing().Wrong)
		}
	}
}

// TestTerminalPage: T says what was found out and names what overrides it.
func TestTerminalPage(t *testing.T) {
	for _, test := range []struct {
		change func(*Options)
		want   []string
	}{
		{
			func(o *Options) { o.Env = []string{"TERM=xterm-256color", "LANG=C.UTF-8", "TMUX=/tmp/x"} },
			[]string{
				"TERM=xterm-256color, COLORTERM is not set", "colours 256;", "theme auto: dark;",
				"signs Unicode, from", "LANG=C.UTF-8;", "underlines yes;", "line no write has taken long",
				"mouse clicks", "set-clipboard on", "120 x 36",
			},
		},
		{func(o *Options) {
			o.Env = []string{"TERM=linux", "NO_COLOR=1", "SSH_TTY=/dev/pts/0"}
			o.Mouse = new(bool)
		}, []string{
			"colours none, because of NO_COLOR", "theme auto: mono;", "signs ASCII",
			"underlines no: the terminal has none", "line SSH:", "mouse left to the terminal",
		}},
	} {
		m := sample(t, 120, 36, test.change)
		keys(m, "T")
		var inside strings.Builder
		for line := range strings.Lines(screenText(m)) {
			if _, rest, ok := strings.Cut(strings.NewReplacer("│", "|").Replace(line), "| "); ok {
				if text, _, ok := strings.Cut(rest, " |"); ok {
					inside.WriteString(text + " ")
				}
			}
		}
		flat := strings.Join(strings.Fields(inside.String()), " ")
		for _, want := range test.want {
			if !strings.Contains(flat, want) {
				t.Errorf("no %q in %s", want, flat)
			}
		}
		if keys(m, "T"); !m.overlays.Empty() {
			t.Error("T does not close it")
		}
	}
	few := sample(t, 80, 24)
	send(few, tea.ColorProfileMsg{Profile: colorprofile.ANSI})
	if keys(few, "T"); !strings.Contains(screenText(few), "colours    16;") {
		t.Errorf("%s", screenText(few))
	}
	checkFrame(t, few)
}

// TestTerminalPageIsHarmless: what the environment and the messages of the start hold
// does not reach the terminal as it is.
func TestTerminalPageIsHarmless(t *testing.T) {
	m := sample(t, 120, 36, func(o *Options) {
		o.Env = []string{"TERM=\x1b[31mx", "COLORTERM=\x1b]0;x\a", "LANG=C.UTF-8\u009b1m"}
		o.Notices = []string{"first", "second"}
	})
	if !strings.Contains(screenText(m), "2 messages at start, all under T; the first: first") {
		t.Errorf("no word of two messages:\n%s", screenText(m))
	}
	keys(m, "T")
	text := m.View().Content
	if strings.Contains(text, "[31mx") && !strings.Contains(text, `\x1b[31mx`) ||
		strings.ContainsAny(text, "\a\u009b") {
		t.Errorf("%q", text)
	}
	if !strings.Contains(screenText(m), "second") {
		t.Errorf("the second message is nowhere:\n%s", screenText(m))
	}
	// The foot of a small screen keeps the beginning of the first message.
	small := sample(t, 80, 24, func(o *Options) {
		o.Notices = []string{"the last session was set aside as /a/long/path/to/session.json.broken; its " +
			"setup cannot be used: session.json:6:17: wrong", "second"}
	})
	if flat := strings.Join(strings.Fields(screenText(small)), " "); !strings.Contains(flat,
		"the first: the last session was set aside") {
		t.Errorf("the first message is garbled:\n%s", screenText(small))
	}
}
