package cli

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/presets"
	"meshscope/ui"
	"meshscope/ui/state"
)

// seat is an explorer without a terminal: messages go in, and y copies the setup out.
type seat struct {
	t    *testing.T
	app  *app
	m    tea.Model
	copy string
}

// seat opens the explorer as the program opens without a word.
func (w *ways) seat() *seat { return newSeat(w.t, w.app) }

func newSeat(t *testing.T, a *app) *seat { return seatWith(t, a, presets.StartSetup()) }

// seatWith opens the explorer on a setup.
func seatWith(t *testing.T, a *app, setup engine.Setup) *seat {
	t.Helper()
	s := &seat{t: t, app: a}
	s.m = ui.New(ui.Options{
		Setup: setup, Library: a.lib, Command: a.pasted(true), Open: a.readDropped, Calm: true,
		Env:   []string{"TERM=xterm-256color", "LANG=C.UTF-8"},
		Share: func(text string) (string, error) { s.copy = text; return "", nil },
	})
	s.finish(s.m.Init(), 0)
	s.send(tea.WindowSizeMsg{Width: 120, Height: 36})
	return s
}

// send gives a message to the program and carries out what follows from it.
func (s *seat) send(msg tea.Msg) {
	var cmd tea.Cmd
	s.m, cmd = s.m.Update(msg)
	s.finish(cmd, 0)
}

func (s *seat) finish(cmd tea.Cmd, depth int) {
	const deepest = 40 // a playback goes on for ever
	if cmd == nil || depth > deepest {
		return
	}
	msg := cmd()
	if batch, ok := msg.(tea.BatchMsg); ok {
		for _, one := range batch {
			s.finish(one, depth+1)
		}
		return
	}
	if msg == nil {
		return
	}
	var next tea.Cmd
	s.m, next = s.m.Update(msg)
	s.finish(next, depth+1)
}

// paste pastes a text, as a terminal does that dropped a file too.
func (s *seat) paste(text string) *seat {
	s.send(tea.PasteMsg{Content: text})
	return s
}

// typed presses a key, types a text and presses another one.
func (s *seat) typed(key, text, end string) *seat {
	s.t.Helper()
	for _, r := range key + text {
		s.send(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	switch end {
	case "enter":
		s.send(tea.KeyPressMsg{Code: tea.KeyEnter})
	case "":
	default:
		s.t.Fatalf("no key %s", end)
	}
	return s
}

// knobs chooses the model and the machine from their lists, then gives every knob its value.
func (s *seat) knobs(full string) *seat {
	s.t.Helper()
	s.typed("m", valueIn(full, "model"), "enter").typed("g", valueIn(full, "cluster"), "enter")
	return s.turn(full)
}

// knobsFirst gives the knobs their values, then chooses the machine and the model.
func (s *seat) knobsFirst(words string) *seat {
	s.t.Helper()
	return s.turn(words).typed("g", valueIn(words, "cluster"), "enter").typed("m", valueIn(words, "model"),
		"enter")
}

// turn gives knobs their values, as keys and the mouse do; the batch comes last, for it follows from the
// others.
func (s *seat) turn(words string) *seat {
	s.t.Helper()
	last := []knob.ID{knob.MBS, knob.MicroBatches, knob.GBS}
	for _, later := range []bool{false, true} {
		for _, p := range pairs(words) {
			id := knob.ID(p[0])
			if p[0] == "model" || p[0] == "cluster" || id == knob.MicroBatches || id == knob.DP {
				continue
			}
			if (id == last[0] || id == last[2]) == later {
				s.send(state.Action{Verb: state.SetKnob, ID: id, Text: p[1]})
			}
		}
	}
	return s
}

// copied returns the setup that y copies.
func (s *seat) copied() engine.Setup {
	s.t.Helper()
	s.copy = ""
	s.typed("y", "", "")
	line := strings.ReplaceAll(s.copy, "'", "")
	b, err := s.app.commandLine(strings.Fields(strings.TrimPrefix(line, "meshscope ")), false)
	if err != nil || s.copy == "" {
		s.t.Fatalf("copied %q: %v\n%v", s.copy, err, ansi.Strip(s.m.View().Content))
	}
	return b.Setup
}

// valueIn returns the value of a key in words.
func valueIn(words, key string) string {
	for _, p := range pairs(words) {
		if p[0] == key {
			return p[1]
		}
	}
	return ""
}
