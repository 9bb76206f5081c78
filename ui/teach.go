package ui

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"meshscope/engine/advise"
	"meshscope/engine/explain"
	"meshscope/engine/figures"
	"meshscope/lessons"
	"meshscope/themes"
	"meshscope/ui/class"
	"meshscope/ui/frame"
	"meshscope/ui/lesson"
	"meshscope/ui/overlay"
	"meshscope/ui/screen"
	"meshscope/ui/screens/explore"
	"meshscope/ui/session"
	"meshscope/ui/state"
	"meshscope/ui/widget"
)

// begin puts a lesson on the stack, at an act.
func (m *Model) begin(l *lessons.Lesson, act int) {
	stage := &lesson.Stage{Play: lessons.From(l, act), Number: lessons.Place(l.ID)}
	stage.Moved = func() overlay.Action { return later(m.playOn) }
	stage.Left = func() overlay.Action {
		if l.ID == "" { // an exercise: the turn is not made
			m.lesson = nil
			return overlay.Close{}
		}
		back := m.shown("B", "lesson")
		return closing(state.Action{
			Verb: state.Say, Tone: state.Answer,
			Text: "on your own; " + back + " goes back to the lesson, u undoes",
		})
	}
	stage.Explain = func() overlay.Action { return m.explainAct(stage.Play.Act()) }
	stage.Words = func() overlay.Action {
		return overlay.Push{ID: overlay.GlossaryID, Overlay: m.glossaryList()}
	}
	stage.Help = m.lessonHelp
	stage.Quit = func() overlay.Action { return state.Action{Verb: state.Quit} }
	stage.Knob = m.actKnob
	stage.Cursor = func(name string) overlay.Action {
		return later(func() tea.Cmd {
			cmd, _ := m.screenKey(name)
			return cmd
		})
	}
	stage.Pointed = m.pointed
	m.lesson = stage
	m.overlays.Clear()
	m.overlays.Push(overlay.LessonID, stage)
}

// pointed returns what the cursor of the screen is on, as an answer of the act; empty: nothing that it
// asks for.
func (m *Model) pointed() string {
	// The rows of the area follow from the question, which is drawn with what this says.
	c, rank, id := m.contextIn(frame.Rect{W: m.caps.Width, H: m.caps.Height}), -1, ""
	if r, ok := m.screen().(screen.Ranked); ok {
		rank = r.RankAtCursor(c)
	}
	if p, ok := m.screen().(screen.Pointer); ok {
		id = p.Figure(c)
	}
	return m.lesson.Play.Act().PointAt(id, rank)
}

// actKnob draws the row of the knob that the act turns.
func (m *Model) actKnob(w int) string {
	play := m.lesson.Play
	act := play.Act()
	if len(act.Turned) == 0 {
		return ""
	}
	l, t, g := widget.NewLine(w), m.look.theme, m.look.glyphs
	turned := &act.Turned[0]
	remark := "held until you answer"
	switch {
	case play.Phase == lessons.Turning:
		remark = "space: change to " + turned.To
	case play.Phase >= lessons.Reveal:
		remark = "changed from " + turned.From
	}
	for i := range act.Turned[1:] {
		remark = "with " + act.Turned[1+i].Text(g.Arrow) + ", " + remark
	}
	l.Gap(1).Put(t.Paint(themes.Muted), "KNOB").Gap(2).Put(t.Paint(themes.Strong), turned.Label).Gap(2)
	for i := range m.rows {
		if r := &m.rows[i]; r.ID == turned.Knob && len(r.Values) > 1 {
			s := widget.Slider{Values: r.Shown, Current: r.Current, Joined: r.Numeric}
			s.Render(l, t, g, max(l.Left()-widget.Width(remark)-3, 0))
		}
	}
	return l.Right(t.Paint(themes.Muted), widget.CutText(remark, max(l.Left()-2, 0), g.Ellipsis), 1).String()
}

// teach begins a lesson: before the class for who presents, for oneself otherwise.
func (m *Model) teach(l *lessons.Lesson) tea.Cmd {
	if m.desk != nil && m.desk.Role() == class.Presenter {
		m.desk.Teach(l)
		return m.attend()
	}
	var forked tea.Cmd
	if m.desk != nil && m.desk.Follows() {
		forked = m.forkQuietly()
	}
	m.begin(l, m.resumed(l.ID))
	return tea.Batch(forked, m.playOn())
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
			return readMsg{
				waiting: w,
				why:     "this figure has no formula of its own; e on a screen explains those that it has",
			}
		}
		x := overlay.NewExplain(e)
		x.Keys = []overlay.Bound{{Key: key.NewBinding(key.WithKeys("esc", "q", "e")), Action: overlay.Back{}}}
		return readMsg{waiting: w, list: func() overlay.Overlay { return x }}
	})}
}

// quiz goes to the next figure that is asked for before each change.
func (m *Model) quiz() tea.Cmd {
	m.quizzed = m.quizzed.Next()
	return m.do(state.Action{Verb: state.Say, Tone: state.Answer, Text: m.quizzed.Says()})
}

// asksFirst opens the question before a change; false where none is asked and the change is to be made.
func (m *Model) asksFirst(a state.Action) (tea.Cmd, bool) {
	if m.quizzed == "" || m.lesson != nil && m.lesson.Play.Lesson.ID != "" || a.Verb != state.TurnKnob &&
		a.Verb != state.SetKnob {
		return nil, false
	}
	turned, _ := state.Apply(m.state, a)
	if m.state.Setup.Slow() || turned.Setup.Slow() { // both would be evaluated between two frames
		return nil, false
	}
	note := m.lexicon.Methods()[turned.Focus]
	l, ok := m.quizzed.Before(m.state.Setup, turned.Setup, turned.Focus,
		note.Name+" cuts "+note.Cuts+"; it costs "+note.Costs+".")
	if !ok { // illegal, or nothing turns
		return nil, false
	}
	m.begin(l, 0)
	return m.playOn(), true
}

// staged returns the lesson that holds the keys; nil where none does.
func (m *Model) staged() *lesson.Stage {
	s, _ := m.overlays.Top().(*lesson.Stage)
	return s
}

// onStage returns the lesson that is on the screen, under a card of words too; nil where none is.
func (m *Model) onStage() *lesson.Stage {
	if m.lesson == nil || !m.overlays.Holds(m.lesson) {
		return nil
	}
	return m.lesson
}

// resumed returns the act at which a lesson was left, 0 for its first.
func (m *Model) resumed(id string) int {
	at, act := session.Act(m.atAct())
	if at != id {
		return 0
	}
	return act
}

// atAct returns the lesson that is under way with its act; empty: none.
func (m *Model) atAct() string {
	if s := m.lesson; s != nil && s.Play.Lesson.ID != "" && s.Play.Phase != lessons.Over {
		return session.AtAct(s.Play.Lesson.ID, s.Play.At)
	}
	return m.underWay
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
		m.learned, m.underWay = session.Learn(m.learned, play.Lesson.ID), ""
		return m.endLesson(play)
	}
	was := m.state.Tab
	m.stageAct()
	var cmds []tea.Cmd
	if play.Lesson.ID != "" {
		m.underWay = session.AtAct(play.Lesson.ID, play.At)
	}
	if m.state.Tab != was {
		cmds = append(cmds, m.leaveScreen(was))
	}
	reached := play.Phase == lessons.Reveal && play.Verdict.Right && play.Act().Kind == lessons.Goal
	if s := play.Setup(); s != m.state.Setup && !reached {
		cmds = append(cmds, m.do(state.Action{Verb: state.UseSetup, Setup: &s, Text: "lesson"}))
	}
	m.retargetSweep()
	if play.Phase == lessons.Reveal {
		cmds = append(cmds, m.playRing())
	}
	return tea.Batch(append(cmds, m.sweepCmd(), m.refreshScreen(), m.tick())...)
}

// playRing plays the steps of a ring, which an act that is answered is about; nil where there is none, or
// nothing is to move by itself.
func (m *Model) playRing() tea.Cmd {
	if m.options.Calm || !m.shows() || !strings.HasPrefix(m.lesson.Play.Act().Show, "network/") {
		return nil
	}
	for _, k := range m.screen().Keys(m.context()) {
		if k.ID == "play" {
			return m.pressThere(k.ID)
		}
	}
	return nil
}

// task is how far a setup is on the way to the goal of an act.
type task struct {
	act    *lessons.Act
	serial int
	lessons.Task
}

// taskLine says what the goal of a lesson still needs while the student explores, and that it is reached;
// empty: no goal is open. It is narrow where the line is.
func (m *Model) taskLine(w int) (string, themes.Role) {
	if m.lesson == nil || m.lesson.Class != nil || m.lesson.Play.Phase != lessons.Predict ||
		m.lesson.Play.Act().Kind != lessons.Goal {
		return "", themes.Text
	}
	act := m.lesson.Play.Act()
	if m.task.act != act || m.task.serial != m.now.serial {
		m.task = task{act, m.now.serial, act.Toward(m.now.setup, m.now.report)}
	}
	at, back := fmt.Sprintf("LESSON act %d: ", m.lesson.Play.At+1), m.shown("B", "lesson")
	if m.task.Done {
		return at + "reached, " + back + " tells", themes.Good
	}
	yes, no, dot := "✓", "✗", " · "
	if !m.look.glyphs.Unicode {
		yes, no, dot = "ok", "x", ", "
	}
	met, parts := 0, []string(nil)
	for i, ok := range m.task.Met {
		mark := no
		if ok {
			mark, met = yes, met+1
		}
		parts = append(parts, act.Options[i].Say+" "+mark)
	}
	if act.Knobs > 0 {
		parts = append(parts, fmt.Sprintf("knobs used %d of %d", m.task.Turned, act.Knobs))
	}
	if m.task.Held != "" {
		parts = append(parts, m.task.Held+" "+no)
	}
	text := at + strings.Join(append(parts, back), dot)
	if widget.Width(text) > w { // how many are met, and the last part
		short := []string{fmt.Sprintf("%d of %d met", met, len(m.task.Met)), back}
		if n := len(parts); n > len(m.task.Met) {
			short = slices.Insert(short, 1, parts[n-1])
		}
		text = at + strings.Join(short, dot)
	}
	return text, themes.Warn
}

// backToLesson brings the question back: a goal is checked by the setup that is there, every other
// act has its own again.
func (m *Model) backToLesson() tea.Cmd {
	if m.classTeaches() {
		return m.backToClass()
	}
	if m.lesson == nil {
		return nil
	}
	goal := m.lesson.Play.Act().Kind == lessons.Goal && m.lesson.Play.Phase == lessons.Predict
	m.lesson.CheckGoal(m.state.Setup)
	m.overlays.Clear()
	m.overlays.Push(overlay.LessonID, m.lesson)
	if goal {
		return nil
	}
	return m.playOn()
}

// stagedPage draws the page above the question of a lesson: its head, the gauges and the pane of the act,
// with what is masked covered and hidden; in a window without room for a page the question alone.
func (m *Model) stagedPage(s *lesson.Stage, d overlay.Drawn, alone bool) []string {
	w, h := m.caps.Width, m.caps.Height
	var lines []string
	if !alone {
		in := m.context()
		gauges := make([]string, 2)
		if in.Report.Legal {
			in.Glow = m.glow != nil
			var before explore.Vital // nothing is compared before the change
			if s.Play.Phase == lessons.Reveal {
				before = explore.VitalOf(&s.Play.Act().Before.Report)
			}
			gauges = explore.Gauges(in, before, in.W, 1)
		}
		lines = append([]string{""}, gauges...)
		lines = append(lines, m.pane(in)...)
		lesson.Hide(s.Play.Mask(), lines)
		if x := m.margin(); x > 0 {
			for i := range lines {
				lines[i] = widget.Blank(x) + lines[i] + widget.Blank(x)
			}
		}
		lines[0] = s.Head(m.look.theme, m.look.glyphs, w)
	}
	for len(lines) < h {
		lines = append(lines, widget.Blank(w))
	}
	return d.Over(lines)
}

// pane draws the screen of the act in the rows that the stage leaves it.
func (m *Model) pane(in *screen.Context) []string {
	name := m.screen().Name()
	told := map[string][]string{
		"Pipeline": append(screen.Speed(), "time.", "pipeline.", "memory."),
		"Network":  append(screen.Speed(), "time.", "communication.", "attention."),
	}
	switch {
	case !m.shows():
		return m.nothingYet(in.W, in.H)
	case m.state.Tab == state.ExploreTab:
		return explore.Panels(in, in.W, in.H)
	case in.Hides(told[name]...):
		return in.Cover(strings.ToUpper(name), in.W, in.H)
	}
	return m.screen().Render(in)
}

// masked returns the figures that the question hides; none where no question holds the keys.
func (m *Model) masked() []string {
	if s := m.onStage(); s != nil {
		return s.Play.Asked()
	}
	return nil
}

// taught reports whether a lesson is on the screen, and the figure that its act is about; empty while the
// cursor answers, for it would point at the answer.
func (m *Model) taught() (on bool, decides string) {
	s := m.onStage()
	if s == nil || s.Play.Lesson.ID == "" {
		return false, ""
	}
	if s.Play.Act().Kind == lessons.Point && s.Play.Phase < lessons.Reveal {
		return true, ""
	}
	return true, s.Play.Act().Decides()
}

// asking reports whether a question is open: what another value would give is not shown.
func (m *Model) asking() bool {
	s := m.onStage()
	return s != nil && s.Play.Phase < lessons.Reveal
}

// quizzes reports whether a figure is asked for before each change, or a goal of a lesson is open: what
// would answer is not offered.
func (m *Model) quizzes() bool {
	open := m.lesson != nil && m.lesson.Play.Phase == lessons.Predict &&
		m.lesson.Play.Act().Kind == lessons.Goal
	return m.quizzed != "" || open
}

// offered returns the turns that make the setup fit, but where finding them is the question.
func (m *Model) offered() []advise.Move {
	if m.quizzes() {
		return nil
	}
	return m.remedies
}

// stagedArea returns where the screen of an act draws.
func (m *Model) stagedArea(s *lesson.Stage) frame.Rect {
	rows := len(s.Render(m.look.theme, m.look.glyphs).Lines)
	x := m.margin()
	return frame.Rect{
		X: x, Y: lesson.HeadRows, W: m.caps.Width - 2*x,
		H: max(m.caps.Height-lesson.HeadRows-rows, 0),
	}
}

// lessonHelp opens every lesson and every word over an act; nothing that would answer it.
func (m *Model) lessonHelp() overlay.Action {
	words := m.words()
	items := make([]overlay.Item, len(words))
	for i := range words {
		items[i] = words[i].item
	}
	hint := overlay.Hint(m.look.glyphs, "type a lesson or a word", "enter opens", "esc goes back to the act")
	p := overlay.NewPicker("LESSONS AND WORDS", hint, items, 0)
	p.Choose = func(i int) overlay.Action { return words[i].leads }
	p.First = true
	read := m.readLessons()
	return overlay.Sequence{overlay.Push{ID: overlay.HelpID, Overlay: p}, m.guard(func() tea.Msg {
		all, leftOut := read()
		return lessonsMsg{p, all, leftOut}
	})}
}

// lessonsMsg brings the lessons for a list that is open.
type lessonsMsg struct {
	list    *overlay.Picker
	lessons []*lessons.Lesson
	leftOut []error
}

// offerLessons adds lessons to a list.
func (m *Model) offerLessons(msg lessonsMsg) {
	var items []overlay.Item
	var leads []overlay.Action
	for _, l := range msg.lessons {
		title, name := "lesson "+l.Title, l.ID
		if n := lessons.Place(l.ID); n > 0 {
			title = fmt.Sprintf("lesson %d %s", n, l.Title)
		}
		if slices.Contains(strings.Fields(m.learned), l.ID) {
			name += ", done"
		}
		items = append(items, overlay.Item{
			Title: title, Name: name, Hidden: []string{"learn", "teach"},
			Rank: rankElsewhere, Group: "lessons",
		})
		leads = append(leads, closing(later(func() tea.Cmd { return m.teach(l) })))
	}
	for _, err := range msg.leftOut {
		where, why, _ := strings.Cut(err.Error(), ": ")
		card := &overlay.Card{
			Title: "LESSON LEFT OUT", Name: filepath.Base(where),
			Paragraphs: []overlay.Paragraph{{Label: "file", Text: where}, {Label: "wrong", Text: why}},
			Hint:       "esc closes",
		}
		items = append(items, overlay.Item{
			Title: "lesson left out: " + why, Name: filepath.Base(where),
			Rank: rankElsewhere, Group: "lessons",
		})
		leads = append(leads, closing(overlay.Push{ID: overlay.LeftOutID, Overlay: card}))
	}
	msg.list.Extend(items, func(i int) overlay.Action { return leads[i] })
}

// offerDemos adds demonstrations to a list.
func (m *Model) offerDemos(list *overlay.Picker, demos []lessons.Demo) {
	var items []overlay.Item
	var leads []overlay.Action
	for i := range demos {
		d := &demos[i]
		items = append(items, overlay.Item{
			Title: "demonstration " + d.Title, Name: d.ID,
			Hidden: []string{"demo", "show"}, Rank: rankElsewhere, Group: "demos",
			Fields: []string{"its own setup, " + m.shown("u", "undo") + " undoes"},
		})
		leads = append(leads, closing(later(func() tea.Cmd { return m.demonstrate(d) })))
	}
	list.Extend(items, func(i int) overlay.Action { return leads[i] })
}

// demonstrate opens a prepared setup on the screen that shows it.
func (m *Model) demonstrate(d *lessons.Demo) tea.Cmd {
	was := m.state.Tab
	m.goTo(d.Show)
	cmds := []tea.Cmd{m.do(state.Action{Verb: state.UseSetup, Setup: &d.Setup, Text: "demonstration"})}
	if m.state.Tab != was {
		cmds = append(cmds, m.leaveScreen(was))
	}
	cmds = append(cmds, m.do(state.Action{Verb: state.FocusKnob, ID: d.Focus}),
		m.do(state.Action{
			Verb: state.Say, Tone: state.Answer,
			Text: d.Try + " " + m.shown("u", "undo") + " goes back to your setup.",
		}))
	return tea.Batch(append(cmds, m.refreshScreen(), m.tick())...)
}
