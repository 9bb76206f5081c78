// Package lesson is the strip of rows in which a lesson asks, over the screens that the program
// has anyway, and the mask that hides figures on them until the question is answered.
package lesson

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/lessons"
	"meshscope/ui/overlay"
)

// Stage is a lesson on the stack of overlays: it holds the keys, so that no knob turns, nothing is
// copied and no list opens while a question is asked. Leaving it is free play; the lesson waits.
type Stage struct {
	Play lessons.Play
	// Moved carries out that the play went on: another setup, another screen.
	Moved func() overlay.Action
	// Left is carried out where the student goes on alone.
	Left func() overlay.Action
	// Explain opens the figure that decided the act.
	Explain func() overlay.Action
	Class   *Class // where a class is asked; nil: one alone

	typed, wrong string
	w, h         int
}

// HandleKey answers, turns, goes on or leaves.
func (s *Stage) HandleKey(msg tea.KeyPressMsg) overlay.Action {
	key := msg.String()
	s.wrong = ""
	if s.Class != nil {
		if do, taken := s.Class.Key(key); taken {
			return do
		}
	}
	onward := key == "space" || key == " " || key == "enter" || key == "right"
	switch {
	case key == "esc", key == "q":
		return s.Left()
	case s.Play.Phase == lessons.Turning && onward:
		s.Play = s.Play.Turn()
	case s.Play.Phase == lessons.Reveal && key == "e":
		if s.Play.Act().Decides() == "" {
			return nil
		}
		return s.Explain()
	case s.Play.Phase == lessons.Reveal && onward:
		s.Play = s.Play.Next()
	case s.Play.Phase != lessons.Predict:
		return nil
	case key == "!": // gives up
		s.Play = s.Play.Skip()
	case s.Play.Act().Kind == lessons.Goal:
		if onward {
			return s.Left()
		}
		return nil
	case s.Play.Act().Kind == lessons.Number:
		if !s.number(key) {
			return nil
		}
	case len(key) == 1:
		s.answer(key)
	}
	return s.Moved()
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
	case len(key) == 1 && strings.Contains("0123456789.", key) && len(s.typed) < most:
		s.typed += key
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

// Judge asks whether a setup that the student found meets the goal of the act.
func (s *Stage) Judge(setup engine.Setup) {
	if s.Play.Phase == lessons.Predict && s.Play.Act().Kind == lessons.Goal && setup != s.Play.Setup() {
		s.Play = s.Play.Reach(setup)
	}
}

// Click answers with the option of a row.
func (s *Stage) Click(row int) overlay.Action {
	if s.Play.Phase == lessons.Predict && row < len(s.Play.Act().Options) && s.Play.Act().Kind != lessons.Goal {
		s.answer(lessons.Letter(row))
		return s.Moved()
	}
	return nil
}

// Wheel does nothing.
func (*Stage) Wheel(int) {}

// Paste types digits where a number is asked for.
func (s *Stage) Paste(text string) {
	if s.Play.Phase == lessons.Predict && s.Play.Act().Kind == lessons.Number {
		for _, r := range text {
			s.number(string(r))
		}
	}
}

// Resize says how large the screen is.
func (s *Stage) Resize(w, h int) { s.w, s.h = w, h }

// Close does nothing: the lesson waits.
func (*Stage) Close() {}
