package ui

import (
	"slices"
	"sync"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/lessons"
	"meshscope/themes"
	"meshscope/ui/class"
	"meshscope/ui/desk"
	"meshscope/ui/knobs"
	"meshscope/ui/overlay"
	"meshscope/ui/screen"
	"meshscope/ui/screens/compare"
	"meshscope/ui/screens/explore"
	"meshscope/ui/state"
	"meshscope/ui/tty"
	"meshscope/ui/widget"
)

// shown is what the presenter's explorer has computed of its screen, for the explorers that follow
// in the same process. Nobody changes it: it is read by many at once.
type shown struct {
	tab        state.Tab
	page       int
	turned     string // what the last change was
	now, legal evaluated
	before     explore.Vital
	rows       []knobs.Row
	fresh      []string
	remedies   []advise.Move
	noEffect   []engine.NoEffect
	sweep      sweep
	serial     int           // of the presenter's setup and locks
	screen     screen.Screen // a copy; nil: that of who follows
	frames     frames        // what followers have drawn of it
}

// frames are those that followers share.
type frames struct {
	mu    sync.Mutex
	by    map[frameKey]string
	order []frameKey // oldest first
	bytes int
}

// mostFrameBytes bounds the frames that are kept of a place, whatever windows its followers have.
const mostFrameBytes = 2 << 20

// get returns a frame; false where it is not kept.
func (f *frames) get(k frameKey) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	frame, ok := f.by[k]
	return frame, ok
}

// keep keeps a frame, and lets the oldest go where that is too much.
func (f *frames) keep(k frameKey, frame string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.by[k]; ok || len(frame) > mostFrameBytes {
		return
	}
	if f.by == nil {
		f.by = map[frameKey]string{}
	}
	f.by[k], f.order, f.bytes = frame, append(f.order, k), f.bytes+len(frame)
	for f.bytes > mostFrameBytes {
		f.bytes -= len(f.by[f.order[0]])
		delete(f.by, f.order[0])
		f.order = f.order[1:]
	}
}

// frameKey is all that the frame of a follower depends on who does nothing but follow.
type frameKey struct {
	caps         tty.Caps
	theme        string
	unmarked     bool
	undone, redo bool
}

// shared returns the frame that another follower has drawn for such a terminal, or draws it.
func (m *Model) shared(draw func() string) string {
	if !m.fromPresenter() || m.desk.Dark() || !m.overlays.Empty() || m.lesson != nil || m.state.Hint ||
		m.sizeDiffers() {
		return draw()
	}
	v := m.desk.View.(*shown)
	if m.state.Note != (state.Note{Text: v.turned}) || m.desk.Shows != m.desk.Of {
		return draw()
	}
	key := frameKey{m.caps, m.look.theme.Name, m.state.Unmarked, m.state.Past() > 0, m.state.Future() > 0}
	if have, ok := v.frames.get(key); ok {
		return have
	}
	frame := draw()
	v.frames.keep(key, frame)
	return frame
}

// sit takes the seat of the options and opens with what the class shows.
func (m *Model) sit() {
	m.desk = desk.New(m.options.Class)
	m.desk.Take()
	m.desk.Finished() // before this seat was taken
	if m.setPlace(); !m.fromPresenter() {
		m.evaluate()
		m.retargetSweep()
	}
	m.stageClass(true)
}

// waitForNews waits for what the class does next; nil without a class.
func (m *Model) waitForNews() tea.Cmd {
	if m.desk == nil {
		return nil
	}
	return m.guard(m.desk.Wait())
}

// attend takes how the class stands now.
func (m *Model) attend() tea.Cmd {
	d := m.desk
	moved, over := d.Take(), d.Finished()
	if d.Role() == class.Notes {
		return nil
	}
	var cmds []tea.Cmd
	if !d.Forked && d.Shows != d.Of {
		cmds = append(cmds, m.takePlace())
	}
	m.stageClass(moved)
	if over {
		m.endClass()
	}
	return tea.Batch(cmds...)
}

// takePlace shows what the presenter shows.
func (m *Model) takePlace() tea.Cmd {
	was := m.state.Tab
	computed := m.setPlace()
	var left tea.Cmd
	if m.state.Tab != was {
		left = m.leaveScreen(was)
	}
	if computed {
		return tea.Batch(left, m.refreshScreen())
	}
	m.evaluate()
	m.before = explore.Vital{}
	m.retargetSweep()
	return tea.Batch(left, m.slowCmd(), m.sweepCmd(), m.refreshScreen(), m.tick())
}

// setPlace sets what the presenter shows: with what the presenter's explorer has computed of it, else
// (false) the setup alone.
func (m *Model) setPlace() (computed bool) {
	d := m.desk
	p := &d.Place
	m.state.Setup, m.state.Locks, m.state.Focus, m.state.Note = p.Setup, p.Locks, p.Focus, state.Note{}
	d.Shows = d.Of
	v, computed := d.View.(*shown)
	if !computed || d.Role().Teaches() {
		m.goTo(p.Screen)
		return false
	}
	m.hold()
	m.serial++
	m.slow.pending = false
	m.state.Tab, m.state.Page, m.state.Note = v.tab, v.page, state.Note{Text: v.turned}
	m.now, m.legal, m.before, m.rows, m.fresh, m.remedies, m.noEffect = v.now, v.legal, v.before, v.rows,
		v.fresh, v.remedies, v.noEffect
	m.now.serial, m.legal.serial = m.serial, m.serial
	m.sweep.id, m.sweep.points, m.sweep.current, m.sweep.pending = v.sweep.id, v.sweep.points,
		v.sweep.current, v.sweep.pending
	if m.sweep.serial = 0; v.sweep.serial == v.serial { // the prices are of what is shown
		m.sweep.prices, m.sweep.serial = v.sweep.prices, m.serial
	}
	m.sweep.generation++ // what was computed here is of no use any more
	if v.screen != nil {
		m.screens.all[v.tab] = v.screen.(screen.Copier).Copy()
		if pins, ok := m.screens.all[v.tab].(*compare.View); ok {
			m.screens.compare, pins.Ranking = pins, m.ranking
		}
	}
	return true
}

// fromPresenter reports whether what is on the screen was computed by the presenter's explorer.
func (m *Model) fromPresenter() bool {
	if m.desk == nil || !m.desk.Follows() {
		return false
	}
	_, computed := m.desk.View.(*shown)
	return computed
}

// sizeDiffers reports whether what the presenter's explorer has computed is for a window of another size.
func (m *Model) sizeDiffers() bool {
	f, ok := m.screen().(screen.Sized)
	return ok && !f.Fits(m.context())
}

// prioritize lets followers wait while a key of who teaches is answered.
func (m *Model) prioritize(msg tea.Msg) {
	if m.desk == nil || !m.desk.Role().Teaches() {
		return
	}
	switch msg.(type) {
	case tea.KeyPressMsg, tea.MouseClickMsg, tea.MouseWheelMsg, tea.PasteMsg:
		m.desk.First()
	}
}

// present shows this explorer's screen to the class after a message that may have changed it: not
// after the terminal's news, or the class's where the place is as it was.
func (m *Model) present(after tea.Msg) {
	d := m.desk
	if d == nil || d.Role() != class.Presenter || d.Shows != d.Of || m.slow.pending || m.choosing != nil {
		return
	}
	switch after.(type) {
	case tea.KeyPressMsg, tea.MouseClickMsg, tea.MouseWheelMsg, tea.PasteMsg, state.Action, sweptMsg,
		evaluatedMsg, workedMsg:
	default:
		if d.View != nil {
			return
		}
	}
	v := &shown{
		tab: m.state.Tab, page: m.state.Page, now: m.now, legal: m.legal, before: m.before, rows: m.rows,
		fresh:    m.fresh,
		remedies: m.remedies, noEffect: m.noEffect, sweep: m.sweep, serial: m.serial,
	}
	v.sweep.stop = nil
	if m.state.Note.Tone == state.Plain {
		v.turned = m.state.Note.Text
	}
	if c, ok := m.screen().(screen.Copier); ok {
		v.screen = c.Copy()
	}
	p := class.Place{
		Setup: m.state.Setup, Locks: m.state.Locks, Screen: m.screen().Name(),
		Focus: m.state.Focus,
	}
	if s, ok := m.screen().(screen.Paned); ok {
		p.Screen += "/" + s.Pane()
	}
	if of, ok := d.Show(d.Of, p, v); ok {
		d.Of, d.Shows, d.View = of, of, v
	}
}

// fork lets a student go on alone with what is on the screen.
func (m *Model) fork() tea.Cmd {
	m.desk.Fork(true)
	m.overlays.Clear()
	m.sweep.points = slices.Clone(m.sweep.points)
	m.sweep.serial = 0 // the prices are of what the presenter has fixed
	return tea.Batch(m.do(state.Action{
		Verb: state.Say, Tone: state.Answer,
		Text: "yours; F goes back to the class",
	}), m.sweepCmd(), m.refreshScreen())
}

// rejoin goes back to what the presenter shows.
func (m *Model) rejoin() tea.Cmd {
	if m.desk == nil || !m.desk.Forked {
		return nil
	}
	m.desk.Fork(false)
	m.overlays.Clear()
	m.lesson, m.quizzed, m.desk.Shows = nil, "", 0
	m.state.Note = state.Note{}
	cmd := m.attend()
	m.stageClass(true)
	return cmd
}

// stageClass puts the question of the class on the screen, or takes it away.
func (m *Model) stageClass(moved bool) {
	d := m.desk
	switch {
	case d.Forked:
		return
	case !d.Staged():
		if m.lesson != nil && m.lesson.Class != nil {
			m.lesson = nil
			m.overlays.Clear()
		}
		return
	case m.lesson == nil || m.lesson.Class == nil:
		m.begin(d.Lesson, d.At)
		m.lesson.Moved = func() overlay.Action { return later(m.voted) }
		m.lesson.Left = m.leaveStrip
	case moved && m.staged() == nil:
		m.overlays.Clear()
		m.overlays.Push(overlay.LessonID, m.lesson)
	}
	m.lesson.Show(d.Play(), d.Strip(m.leaveStrip))
}

// leaveStrip is for a student to explore, for the presenter to turn knobs in front of the class.
func (m *Model) leaveStrip() overlay.Action {
	if m.desk.Role().Teaches() {
		m.desk.Move(class.Unstage)
		return later(m.attend)
	}
	return later(m.fork)
}

// voted hands in what was typed into the strip.
func (m *Model) voted() tea.Cmd {
	m.desk.Answer(m.lesson.Play.Given)
	m.stageClass(false)
	return nil
}

// classKey takes the keys of who teaches.
func (m *Model) classKey(name string) (tea.Cmd, bool) {
	d := m.desk
	if d == nil || m.writing() || !m.overlays.Empty() && m.staged() == nil {
		return nil, false
	}
	move, ok := d.Press(name, m.staged() != nil)
	if !ok {
		return nil, m.noted() && name != "q" // which has nothing else
	}
	d.Move(move)
	return m.attend(), true
}

// asMember runs the input of a member of the class. A student whose input changes what the presenter
// shows leaves the presenter's setup and goes on with a copy.
func (m *Model) asMember(input func() tea.Cmd) tea.Cmd {
	if m.desk == nil || !m.desk.Follows() {
		return input()
	}
	was := m.state
	m.touched = false
	cmd := input()
	s := &m.state
	if !m.desk.Follows() || s.Setup == was.Setup && s.Locks == was.Locks && s.Focus == was.Focus &&
		s.Tab == was.Tab && s.Page == was.Page && !m.touched {
		return cmd
	}
	return tea.Batch(cmd, m.forkQuietly())
}

// forkQuietly forks by a key that has said already what it did.
func (m *Model) forkQuietly() tea.Cmd {
	m.desk.Fork(true)
	return m.sweepCmd()
}

// titled draws the first line of a screen, with how the class stands at its right end.
func (m *Model) titled(in *screen.Context, w int) string {
	text, role := m.taskLine(w)
	switch {
	case text != "":
	case m.desk == nil:
		return explore.Title(in, w)
	default:
		text, role = m.desk.Says(), themes.Accent
		if m.desk.Forked {
			role = themes.Warn
		}
	}
	room := min(widget.Width(text), w)
	left := max(w-room-2, 0)
	l := widget.NewLine(w)
	if left > 0 {
		l.Raw(explore.Title(in, left), left).Gap(2)
	}
	return l.Put(in.Paint(role), text).String()
}

// noted reports whether the presenter's notes have the whole window.
func (m *Model) noted() bool { return m.desk != nil && m.desk.Role() == class.Notes }

// dark draws nothing but why.
func (m *Model) dark() []string {
	lines := []string{widget.NewLine(m.caps.Width).Put(m.look.theme.Paint(themes.Faint),
		" the presenter has made the screen dark").String()}
	return widget.Height(lines, m.caps.Width, m.caps.Height)
}

// classTeaches reports whether the lesson is that of the class.
func (m *Model) classTeaches() bool {
	return m.desk != nil && m.desk.Lesson != nil && (m.lesson == nil || m.lesson.Class != nil)
}

// hasLesson reports whether there is a question to go back to.
func (m *Model) hasLesson() bool { return m.lesson != nil || m.classTeaches() }

// backToClass brings the question of the class back; a goal that the setup reaches is answered.
func (m *Model) backToClass() tea.Cmd {
	d := m.desk
	if d.Role().Teaches() {
		d.Move(class.Stage)
		return m.attend()
	}
	// the class has gone on
	if m.lesson == nil || m.lesson.Play.Lesson != d.Lesson || m.lesson.Play.At != d.At {
		return m.rejoin()
	}
	if play := &m.lesson.Play; play.Act().Kind == lessons.Goal && play.Phase == lessons.Predict {
		if m.lesson.CheckGoal(m.state.Setup); play.Verdict.Right {
			d.Answer(play.Given)
		} else if says := play.Verdict.Says; says != "" {
			return m.do(state.Action{Verb: state.Say, Tone: state.Trouble, Text: says})
		}
	}
	return m.rejoin()
}
