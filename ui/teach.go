package ui

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"meshscope/engine/explain"
	"meshscope/engine/figures"
	"meshscope/lessons"
	"meshscope/ui/frame"
	"meshscope/ui/lesson"
	"meshscope/ui/overlay"
	"meshscope/ui/session"
	"meshscope/ui/state"
	"meshscope/ui/widget"
)

// begin puts a lesson on the stack.
func (m *Model) begin(l *lessons.Lesson) {
	stage := &lesson.Stage{Play: lessons.Begin(l)}
	stage.Moved = func() overlay.Action { return later(m.playOn) }
	stage.Left = func() overlay.Action {
		if l.ID == "" { // an exercise: the turn is not made
			m.lesson = nil
			return overlay.Close{}
		}
		back := m.shown("B", "lesson")
		return closing(state.Action{Verb: state.Say, Tone: state.Answer, Text: "on your own; " + back + " goes back to the lesson, u undoes"})
	}
	stage.Explain = func() overlay.Action { return m.explainAct(stage.Play.Act()) }
	m.lesson = stage
	m.overlays.Clear()
	m.overlays.Push(overlay.LessonID, stage)
}

// explainAct opens the figure that decided an act on top of the lesson, which comes back after it.
func (m *Model) explainAct(act *lessons.Act) overlay.Action {
	setup, id, w := act.After.Setup, act.Decides(), new(overlay.Waiting)
	return overlay.Sequence{overlay.Push{ID: overlay.ExplainID, Overlay: w}, m.guard(func() tea.Msg {
		book, ok := explain.Of(setup)
		if !ok {
			return readMsg{waiting: w, why: noFigures}
		}
		e, ok := book.Explain(figures.OfRank(book.Report(), id))
		if !ok {
			return readMsg{waiting: w, why: "this figure has no formula of its own; e on a screen explains those that it has"}
		}
		x := overlay.NewExplain(e)
		x.Keys = []overlay.Bound{{Key: key.NewBinding(key.WithKeys("esc", "q", "e")), Action: overlay.Back{}}}
		return readMsg{waiting: w, list: func() overlay.Overlay { return x }}
	})}
}

// quiz goes to the next figure that is asked for before each turn.
func (m *Model) quiz() tea.Cmd {
	m.quizzed = m.quizzed.Next()
	return m.do(state.Action{Verb: state.Say, Tone: state.Answer, Text: m.quizzed.Says()})
}

// asksFirst opens the question before a turn; false where none is asked and the turn is to be made.
func (m *Model) asksFirst(a state.Action) (tea.Cmd, bool) {
	if m.quizzed == "" || m.lesson != nil && m.lesson.Play.Lesson.ID != "" || a.Verb != state.TurnKnob && a.Verb != state.SetKnob {
		return nil, false
	}
	turned, _ := state.Apply(m.state, a)
	if m.state.Setup.Slow() || turned.Setup.Slow() { // both would be evaluated between two frames
		return nil, false
	}
	note := m.lexicon.Methods()[turned.Focus]
	l, ok := m.quizzed.Before(m.state.Setup, turned.Setup, turned.Focus, note.Name+" cuts "+note.Cuts+"; it costs "+note.Costs+".")
	if !ok { // illegal, or nothing turns
		return nil, false
	}
	m.begin(l)
	return m.playOn(), true
}

// staged returns the lesson that holds the keys; nil where none does.
func (m *Model) staged() *lesson.Stage {
	s, _ := m.overlays.Top().(*lesson.Stage)
	return s
}

// stageAct shows the screen of the act and the knob that it turns.
func (m *Model) stageAct() {
	act := m.lesson.Play.Act()
	m.goTo(act.Show)
	if len(act.Turned) > 0 {
		m.state.Focus = act.Turned[0].Knob
	}
}

// playOn carries out what became of the lesson: the setup of its act, undoably, its screen, its end.
func (m *Model) playOn() tea.Cmd {
	play := m.lesson.Play
	if play.Phase == lessons.Over {
		m.overlays.Clear()
		m.lesson = nil
		if play.Lesson.ID == "" { // an exercise
			return m.refreshScreen()
		}
		m.learned = session.Learn(m.learned, play.Lesson.ID)
		return m.do(state.Action{Verb: state.Say, Tone: state.Answer, Text: fmt.Sprintf("end of the lesson: %d of %d answered rightly; the setup is yours", play.Right, len(play.Lesson.Acts))})
	}
	was := m.state.Tab
	m.stageAct()
	var cmds []tea.Cmd
	if m.state.Tab != was {
		cmds = append(cmds, m.leaveScreen(was))
	}
	reached := play.Phase == lessons.Reveal && play.Judged.Right && play.Act().Kind == lessons.Goal
	if s := play.Setup(); s != m.state.Setup && !reached {
		cmds = append(cmds, m.do(state.Action{Verb: state.UseSetup, Setup: &s, Text: "lesson"}))
	}
	m.retargetSweep()
	return tea.Batch(append(cmds, m.sweepCmd(), m.refreshScreen(), m.tick())...)
}

// backToLesson brings the question back: a goal is judged by the setup that is there, every other
// act has its own again.
func (m *Model) backToLesson() tea.Cmd {
	if m.classTeaches() {
		return m.backToClass()
	}
	if m.lesson == nil {
		return nil
	}
	goal := m.lesson.Play.Act().Kind == lessons.Goal && m.lesson.Play.Phase == lessons.Predict
	m.lesson.Judge(m.state.Setup)
	m.overlays.Clear()
	m.overlays.Push(overlay.LessonID, m.lesson)
	if goal {
		return nil
	}
	return m.playOn()
}

// stagedPage draws the page above the strip of a lesson, with what is masked hidden; in a window
// without room for a page the question alone.
func (m *Model) stagedPage(s *lesson.Stage, d overlay.Drawn, alone bool) []string {
	h := m.caps.Height
	var lines []string
	if !alone {
		lines = m.pageAbove(h - len(d.Lines))
		if s.Covers() {
			s.Cover(lines[min(screenTop, len(lines)):], m.look.theme, m.options.Library)
		}
		lesson.Hide(s.Play.Mask(), lines)
	}
	for len(lines) < h {
		lines = append(lines, widget.Blank(m.caps.Width))
	}
	return d.Over(lines)
}

// pageAbove draws the page in so many rows, where it has room in them, without its foot: advice
// and keys are for later.
func (m *Model) pageAbove(rows int) []string {
	h := m.caps.Height
	defer func() { m.caps.Height = h }()
	if rows >= frame.MinHeight {
		m.caps.Height = rows
	}
	r := frame.Layout(m.caps.Width, m.caps.Height, m.content())
	lines, _ := m.page(r)
	foot := m.caps.Height - screenFoot
	if m.state.Tab == state.ExploreTab {
		foot = r.Foot.Y
	}
	for y := max(foot, 0); y < len(lines); y++ {
		lines[y] = widget.Blank(m.caps.Width)
	}
	return lines
}

// offerLessons adds lessons and demonstrations to the palette.
func (m *Model) offerLessons(msg *paletteMsg) {
	var items []overlay.Item
	var leads []overlay.Action
	for _, l := range msg.lessons {
		name := l.ID
		if slices.Contains(strings.Fields(m.learned), l.ID) {
			name += ", done"
		}
		items = append(items, overlay.Item{Title: "lesson " + l.Title, Name: name, Hidden: []string{"learn", "teach"}, Rank: rankElsewhere})
		leads = append(leads, closing(later(func() tea.Cmd {
			m.begin(l)
			return m.playOn()
		})))
	}
	for i := range msg.demos {
		d := &msg.demos[i]
		items = append(items, overlay.Item{Title: "demonstration " + d.Title, Name: d.ID, Hidden: []string{"demo", "show"}, Rank: rankElsewhere})
		leads = append(leads, closing(later(func() tea.Cmd { return m.demonstrate(d) })))
	}
	msg.palette.Extend(items, func(i int) overlay.Action { return leads[i] })
}

// demonstrate opens a prepared setup on the screen that shows it.
func (m *Model) demonstrate(d *lessons.Demo) tea.Cmd {
	was := m.state.Tab
	m.goTo(d.Show)
	cmds := []tea.Cmd{m.do(state.Action{Verb: state.UseSetup, Setup: &d.Setup, Text: "demonstration"})}
	if m.state.Tab != was {
		cmds = append(cmds, m.leaveScreen(was))
	}
	cmds = append(cmds, m.do(state.Action{Verb: state.FocusKnob, ID: d.Focus}), m.do(state.Action{Verb: state.Say, Tone: state.Answer, Text: d.Try}))
	return tea.Batch(append(cmds, m.refreshScreen(), m.tick())...)
}
