// Package lesson is the stage on which a lesson asks, round the screens that the program
// has anyway, and the mask that hides figures on them until the question is answered.
package lesson

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/lessons"
	"meshscope/ui/overlay"
)

// Stage is a lesson on the stack of overlays: it holds the keys, so that no knob turns, nothing is
// copied and no list opens while a question is asked. Leaving it is free play; the lesson waits.
type Stage struct {
	Play   lessons.Play
	Number int // place in the course; 0: none
	// Moved carries out that the play went on: another setup, another screen.
	Moved func() overlay.Action
	// Left is carried out where the student goes on alone.
	Left func() overlay.Action
	// Words opens the glossary over the question, Help every lesson and word, Quit ends the program.
	Words, Help, Quit func() overlay.Action
	// Explain opens the figure that decided the act.
	Explain func() overlay.Action
	// Knob draws the row of the knob that the act turns; empty: none.
	Knob func(w int) string
	// Cursor gives a key to the picture on the screen, Pointed names what its cursor is on as an answer; for
	// questions that are answered by pointing.
	Cursor  func(key string) overlay.Action
	Pointed func() string

	Class *Class // where a class is asked; nil: one alone

	typed, wrong string
	leaving      bool // esc was pressed on an open question
	w, h         int
	entry        int // row of what is typed
	places       []place
}

// place is where an option stands.
type place struct{ y, from, to, option int }

// HandleKey answers, turns, goes on or leaves.
func (s *Stage) HandleKey(msg tea.KeyPressMsg) overlay.Action {
	key := msg.String()
	leaving := s.leaving
	s.wrong, s.leaving = "", false
	switch key {
	case "w":
		return s.Words()
	case "?":
		return s.Help()
	}
	if s.Class != nil {
		if s.Class.Leaving != "" && !leaving && (key == "esc" || key == "q") {
			s.leaving = true
			return nil
		}
		if do, taken := s.Class.Key(key); taken {
			return do
		}
	}
	onward := key == "space" || key == " " || key == "enter" || key == "pgdown"
	act := s.Play.Act()
	switch {
	case key == "q" && s.Play.Lesson.ID != "": // the lesson waits at its act
		return s.Quit()
	case key == "esc", key == "q":
		return s.leave(leaving)
	case key == "pgup":
		s.Play, s.typed = s.Play.Back(), ""
	case s.Play.Phase == lessons.Turning && onward:
		s.Play = s.Play.Turn()
	case s.Play.Phase == lessons.Reveal && key == "r":
		s.Play = s.Play.Again()
	case s.Play.Phase == lessons.Reveal && key == "e":
		if act.Decides() == "" {
			return nil
		}
		return s.Explain()
	case s.pictured() && slices.Contains(pictureKeys(), key):
		return s.Cursor(key)
	case s.Play.Phase == lessons.Reveal && onward:
		s.Play = s.Play.Next()
	case s.Play.Phase != lessons.Predict:
		return nil
	case key == "!": // gives up
		s.Play = s.Play.Skip()
	case act.Kind == lessons.Goal:
		if onward {
			return s.Left()
		}
		if len(key) == 1 {
			s.wrong = "space gives you the knobs, then B comes back"
		}
		return nil
	case act.Kind == lessons.Number:
		if !s.number(key) {
			return nil
		}
	case s.points():
		switch at := s.Pointed(); {
		case key != "enter" && slices.Contains(CursorKeys(), key):
			return s.Cursor(key)
		case key != "enter":
			s.wrong = "arrows move the cursor, then enter"
			return nil
		case at == "":
			s.wrong = "put the cursor on what you mean with the arrows, then enter"
			return nil
		default:
			s.answer(at)
		}
	case len(key) == 1 && key >= "a" && key <= "z":
		s.answer(key)
	case len(key) == 1 || onward: // a capital is the key of something else
		s.wrong = "answer with " + act.Keys()
		return nil
	default:
		return nil
	}
	return s.Moved()
}

// CursorKeys lists the keys that move a cursor while a question is answered with it.
func CursorKeys() []string {
	return []string{"up", "down", "left", "right", "home", "end", "h", "j", "k", "l"}
}

// pictureKeys lists the keys that belong to the picture of an act that is answered: those of its cursor or
// its steps, and of the split of a ring.
func pictureKeys() []string {
	return append(CursorKeys(), "shift+left", "shift+right", "H", "L", "z")
}

// pictured reports whether the picture of the act takes keys: after the answer, where it is not the knobs'.
func (s *Stage) pictured() bool {
	return s.Play.Phase == lessons.Reveal && s.Play.Act().Show != "explore"
}

// Show puts a question of the class on the stage as it stands. What was typed goes with its vote.
func (s *Stage) Show(p lessons.Play, c *Class) {
	other := s.Play.Lesson != p.Lesson || s.Play.At != p.At
	if !c.Open || other {
		s.typed, s.wrong = "", ""
	}
	s.leaving = s.leaving && c.Leaving != "" && !other
	s.Play, s.Class = p, c
}

// typing reports whether a number is asked for, and taken.
func (s *Stage) typing() bool {
	return s.Play.Phase == lessons.Predict && s.Play.Act().Kind == lessons.Number &&
		(s.Class == nil || s.Class.Open)
}

// points reports whether the act is answered with the cursor of the screen; a class chooses from a list.
func (s *Stage) points() bool { return s.Play.Act().Kind == lessons.Point && s.Class == nil }

// leave leaves the keys to the student. A question that is open would be answered by them: it is given
// up, after a second key.
func (s *Stage) leave(again bool) overlay.Action {
	act := s.Play.Act()
	open := s.Class == nil && s.Play.Phase == lessons.Predict && act.Kind != lessons.Goal &&
		s.Play.Lesson.ID != ""
	if open && !again {
		s.leaving = true
		return nil
	}
	if open {
		s.Play = s.Play.Skip()
		return overlay.Sequence{s.Moved(), s.Left()}
	}
	return s.Left()
}

// number takes a key of a number, and reports whether the answer is given.
func (s *Stage) number(key string) bool {
	const most = 12
	switch {
	case key == "enter":
		before := s.Play.Phase
		s.answer(s.typed)
		return s.Play.Phase != before
	case key == "backspace" && s.typed != "":
		s.typed = s.typed[:len(s.typed)-1]
	case len(key) == 1 && strings.Contains("0123456789.,", key) && len(s.typed) < most:
		s.typed += key
	case len(key) == 1 || key == "space":
		s.wrong = "type " + s.Play.Act().Keys() + ", then enter"
	}
	return false
}

// answer gives an answer; one that cannot be read stays to be mended.
func (s *Stage) answer(text string) {
	next, err := s.Play.Answer(text)
	if err != nil {
		s.wrong = err.Error()
		return
	}
	s.Play, s.typed = next, ""
}

// CheckGoal asks whether a setup that the student found meets the goal of the act.
func (s *Stage) CheckGoal(setup engine.Setup) {
	if s.Play.Phase == lessons.Predict && s.Play.Act().Kind == lessons.Goal && setup != s.Play.Setup() {
		s.Play = s.Play.Reach(setup)
	}
}

// ClickAt answers with the option at a cell of the window.
func (s *Stage) ClickAt(x, y int) overlay.Action {
	for _, p := range s.places {
		if s.Play.Phase == lessons.Predict && y == p.y && x >= p.from && x < p.to {
			return s.HandleKey(tea.KeyPressMsg{Text: lessons.Letter(p.option)})
		}
	}
	return nil
}

// Click does nothing: ClickAt does.
func (*Stage) Click(int) overlay.Action { return nil }

// Wheel does nothing.
func (*Stage) Wheel(int) {}

// Paste types digits where a number is asked for.
func (s *Stage) Paste(text string) {
	if s.typing() {
		for _, r := range text {
			if r != '\n' {
				s.number(string(r))
			}
		}
	}
}

// Resize says how large the screen is.
func (s *Stage) Resize(w, h int) { s.w, s.h = w, h }

// Close does nothing: the lesson waits.
func (*Stage) Close() {}
