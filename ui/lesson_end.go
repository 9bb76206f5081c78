package ui

import (
	"fmt"
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"meshscope/lessons"
	"meshscope/ui/overlay"
	"meshscope/ui/state"
)

// nextLessonMsg brings the lesson that follows the one that has ended.
type nextLessonMsg struct {
	lesson *lessons.Lesson
	why    error
}

// readLessons returns what reads the lessons that there are.
func (m *Model) readLessons() func() ([]*lessons.Lesson, []error) {
	if m.options.Lessons != nil {
		return m.options.Lessons
	}
	library := m.options.Library
	return func() ([]*lessons.Lesson, []error) { return lessons.All("", library) }
}

// takeNext begins the lesson that was read.
func (m *Model) takeNext(msg nextLessonMsg) tea.Cmd {
	if msg.why != nil {
		return m.do(state.Action{Verb: state.Say, Tone: state.Trouble, Text: msg.why.Error()})
	}
	return m.teach(msg.lesson)
}

// endCard shows what a lesson has taught: the rule of each act with how it was answered, and the way to the
// next lesson.
func (m *Model) endCard(l *lessons.Lesson, value string, answered func(act int) string) {
	g := m.look.glyphs
	card := &overlay.Card{Title: "END OF THE LESSON", Name: l.Title, Value: value}
	if n := lessons.Place(l.ID); n > 0 {
		card.Title = fmt.Sprintf("END OF LESSON %d", n)
	}
	for i := range l.Acts {
		label := fmt.Sprintf("act %d", i+1)
		card.Paragraphs = append(card.Paragraphs,
			overlay.Paragraph{Label: label, Text: answered(i) + l.Acts[i].Rule})
	}
	keys := []string{"esc closes; the setup is yours"}
	if next := lessons.Next(l.ID); next != "" {
		keys = slices.Insert(keys, 0, "n next lesson: "+next)
		read := m.readLessons()
		card.Keys = []overlay.Bound{{
			Key: key.NewBinding(key.WithKeys("n")),
			Action: closing(m.guard(func() tea.Msg {
				all, _ := read()
				found, err := lessons.Find(all, next)
				return nextLessonMsg{found, err}
			})),
		}}
	} else {
		keys = slices.Insert(keys, 0, "the course ends here; "+m.shown("?", "help")+" lists all lessons")
	}
	card.Hint = overlay.Hint(g, keys...)
	m.overlays.Push(overlay.LessonEndID, card)
}

// endLesson leaves a lesson that was gone through alone.
func (m *Model) endLesson(play lessons.Play) tea.Cmd {
	yes, no := "✓ ", "✗ "
	if !m.look.glyphs.Unicode {
		yes, no = "right: ", "wrong: "
	}
	m.endCard(play.Lesson, fmt.Sprintf("%d of %d right", play.Right, play.Total()), func(act int) string {
		switch {
		case act < play.First:
			return ""
		case play.RightAt(act):
			return yes
		}
		return no
	})
	return m.refreshScreen()
}

// endClass shows who teaches the totals of the lesson that has ended in the class.
func (m *Model) endClass() {
	d := m.desk
	m.endCard(d.Ended, "", func(act int) string {
		if words := d.Total(act); words != "" {
			return words + ". "
		}
		return ""
	})
}
