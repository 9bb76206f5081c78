package ui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/engine_test/draws"
	"meshscope/launch"
	"meshscope/report"
	"meshscope/ui/overlay"
	"meshscope/ui/state"
)

// bring carries out a command, and those it is made of, as far as advice goes.
func bring(m *Model, cmd tea.Cmd) (advised int) {
	if cmd == nil {
		return 0
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			advised += bring(m, c)
		}
	case advisedMsg:
		m.Update(msg)
		return 1
	case crashedMsg:
		panic(msg.what)
	}
	return advised
}

// unfitting is a model on a setup that does not fit, with the engine's own answers.
func unfitting(t *testing.T, w, h int) *Model {
	t.Helper()
	m := New(Options{
		Setup: setupOf(t, "llama3.1-70b", "dgx-h100", knob.Given{knob.GPUs: 32, knob.TP: 8, knob.GBS: 64}),
		Env:   []string{"LANG=en_US.UTF-8", "TERM=xterm-256color"},
	})
	send(m, tea.WindowSizeMsg{Width: w, Height: h})
	if m.now.report.Memory.Fits {
		t.Fatal("it fits")
	}
	return m
}

// pressed gives a key and its command.
func pressed(m *Model, name string) tea.Cmd {
	_, cmd := m.Update(press(name))
	return cmd
}

// TestAdvice: the key opens the card at once, it says that it works, the advice is
// what the engine says, enter makes the chosen move as one step, and u takes it back.
func TestAdvice(t *testing.T) {
	for _, size := range draws.Some(1, [2]int{120, 36}, [2]int{80, 24}, [2]int{200, 60}) {
		m := unfitting(t, size[0], size[1])
		before := m.state.Setup
		cmd := pressed(m, "a")
		if text := screenText(m); !strings.Contains(text, "ADVICE") || !strings.Contains(text, "OVER") ||
			!strings.Contains(text, "working") {
			t.Fatalf("before it is known:\n%s", text)
		}
		if bring(m, cmd) != 1 {
			t.Fatal("no advice came")
		}
		want, ok := advise.For(before, advise.Options{Accepts: launch.AcceptsFrom(&before)})
		if !ok || len(want.Moves) < 2 || !want.Moves[1].Fits {
			t.Fatalf("%+v", want.Moves)
		}
		text := screenText(m)
		for _, words := range []string{
			"CHANGES " + want.Promise(), want.Moves[0].Turns(), want.Terms[0].Name,
			"enter makes this change",
		} {
			if !strings.Contains(text, words) {
				t.Errorf("%v: no %q:\n%s", size, words, text)
			}
		}
		checkFrame(t, m)
		m.Update(press("down"))
		m.Update(press("enter"))
		if m.state.Setup != want.Moves[1].Setup || !m.overlays.Empty() || !m.now.report.Memory.Fits {
			t.Errorf("%v: enter does not make the second move: %s, overlay %q", size, m.state.Note.Text,
				m.overlays.ID())
		}
		if !strings.HasPrefix(m.state.Note.Text, "it fits: ") {
			t.Errorf("it says %q", m.state.Note.Text)
		}
		m.Update(press("u"))
		if m.state.Setup != before {
			t.Error("one u does not take it back")
		}
	}
}

// TestAdviceTornado: every knob has its bar on the card, the step of its two ends, and
// the value that fits best; so it is without Unicode.
func TestAdviceTornado(t *testing.T) {
	m := unfitting(t, 200, 100)
	bring(m, pressed(m, "a"))
	want, _ := advise.For(m.state.Setup, advise.Options{Accepts: launch.AcceptsFrom(&m.state.Setup)})
	for _, unicode := range []bool{true, false} {
		m.caps.Unicode = unicode
		m.restyle()
		text := screenText(m)
		for i := range want.Knobs {
			k := &want.Knobs[i]
			at := strings.Index(text, "  "+string(k.ID)+" ")
			if at < 0 {
				t.Fatalf("no %s:\n%s", k.ID, text)
			}
			_, table, _ := strings.Cut(text, "SINGLE-KNOB CHANGES")
			before := text[:strings.Index(text, "SINGLE-KNOB CHANGES")]
			left, row := len([]rune(before[strings.LastIndexByte(before, '\n')+1:])), ""
			for line := range strings.Lines(table) { // right of the knobs, of which one has the same name
				if cells := []rune(line); row == "" && len(cells) > left &&
					strings.HasPrefix(strings.TrimSpace(string(cells[left:])), string(k.ID)+" ") {
					row = string(cells[left:])
				}
			}
			fastest, slowest := k.Ends()
			for _, v := range []*advise.Value{fastest, slowest} {
				if v != &k.Now && !strings.Contains(row, " "+v.Text) {
					t.Errorf("%s does not name %s: %s", k.ID, v.Text, row)
				}
				if cross := m.look.glyphs.Cross; v != &k.Now && !v.Fits && !strings.Contains(row, cross) {
					t.Errorf("%s does not say that %s does not fit: %s", k.ID, v.Text, row)
				}
			}
			if best := k.Best(); best != nil && !strings.Contains(row, best.Text) ||
				best == nil && !strings.Contains(row, "none") {
				t.Errorf("%s does not say what fits best: %s", k.ID, row)
			}
		}
		checkFrame(t, m)
	}
}

// TestAdviceEnds: esc ends the work and closes the card, what comes too late changes
// nothing, also where another card has been opened, and a setup that is turned has
// advice of its own.
func TestAdviceEnds(t *testing.T) {
	m := unfitting(t, 120, 36)
	cmd := pressed(m, "a")
	m.Update(press("esc"))
	if !m.overlays.Empty() {
		t.Fatal("esc does not close it")
	}
	if bring(m, cmd) != 0 {
		t.Error("the work goes on after esc")
	}
	first := pressed(m, "a")
	card := m.overlays.Top().(*overlay.Advice)
	m.Update(press("a"))
	if !m.overlays.Empty() {
		t.Error("its own key does not close it")
	}
	second := pressed(m, "A")
	m.Update(advisedMsg{card: card}) // that of the first
	if text := screenText(m); !strings.Contains(text, "working") {
		t.Errorf("the end of a work that was dropped is taken:\n%s", text)
	}
	m.Update(press("esc"))
	if bring(m, first)+bring(m, second) != 0 {
		t.Error("dropped work reports")
	}
	bring(m, pressed(m, "a"))
	old := m.overlays.Top().(*overlay.Advice).Move().Setup
	m.Update(press("enter"))
	bring(m, pressed(m, "a"))
	if text := screenText(m); !strings.Contains(text, "FITS  what limits") || strings.Contains(text, "OVER") {
		t.Errorf("after the move:\n%s", text)
	}
	if m.state.Setup != old {
		t.Error("the setup is not that of the move")
	}
}

// TestAdviceEverywhere: A opens the card on every screen and from the list of keys by
// what people call it; a setup that cannot run is told apart.
func TestAdviceEverywhere(t *testing.T) {
	for tab := range tabs {
		m := unfitting(t, 120, 36)
		m.do(state.Action{Verb: state.GoTab, N: int(tab)})
		m.Update(press("A"))
		if m.overlays.ID() != overlay.AdviceID {
			t.Errorf("not on %s", tabName(tab))
		}
		m.halt()
	}
	for _, words := range append(adviceWords(), "advice") {
		m := unfitting(t, 80, 24)
		m.Update(press("?"))
		for _, r := range words {
			m.Update(press(strings.ReplaceAll(string(r), " ", "space")))
		}
		m.Update(press("enter"))
		if m.overlays.ID() != overlay.AdviceID {
			t.Errorf("%q does not find it:\n%s", words, screenText(m))
		}
		m.halt()
	}
	m := sample(t, 120, 36)
	keys(m, "3", "enter", "a")
	if text := screenText(m); !m.overlays.Empty() ||
		!strings.Contains(text, "no advice on an illegal setup") {
		t.Errorf("an illegal setup:\n%s", text)
	}
}

// TestOverMemoryNamesAdvice: where a setup does not fit, Explore says what makes it fit and
// the key to all of it, on small screens too.
func TestOverMemoryNamesAdvice(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 60}} {
		m := unfitting(t, size[0], size[1])
		if text := screenText(m); !strings.Contains(text, "a advice") {
			t.Errorf("%v, before the turns are known:\n%s", size, text)
		}
		send(m, m.sweepCmd()())
		if text := screenText(m); !strings.Contains(text, "fits with ") ||
			!strings.Contains(text, "a advice: all") {
			t.Errorf("%v:\n%s", size, text)
		}
	}
}

// TestAdviceExport: x on the card writes its tables with all digits, and afterwards, on
// the page, those of the screen again.
func TestAdviceExport(t *testing.T) {
	var written []*report.Evaluation
	m := unfitting(t, 120, 36)
	m.options.Export = func(_ report.Format, d *report.Evaluation) (string, error) {
		written = append(written, d)
		return "x", nil
	}
	bring(m, pressed(m, "a"))
	found, _ := advise.For(m.state.Setup, advise.Options{Accepts: launch.AcceptsFrom(&m.state.Setup)})
	m.Update(press("x"))
	if text := screenText(m); !strings.Contains(text, "the tables of Advice") {
		t.Fatalf("x on the card:\n%s", text)
	}
	m.Update(press("esc"))
	text, d := func() (string, *report.Evaluation) {
		bring(m, pressed(m, "a"))
		return exported(t, m, &written, report.CSV)
	}()
	if len(d.Screen) != 5 || len(d.Screen[2].Rows) != len(found.Moves) ||
		d.Screen[2].Rows[0][2].Value != float64(found.Moves[0].Report.Time.Step) {
		t.Errorf("the tables are %+v", d.Screen)
	}
	if !strings.Contains(text, found.Moves[0].Turns()) || !strings.Contains(text, "each knob alone") {
		t.Errorf("the file:\n%s", text)
	}
	if _, d = exported(t, m, &written, report.CSV); len(d.Screen) != 0 {
		t.Errorf("x on Explore writes %d tables of advice", len(d.Screen))
	}
}
