package ui

import (
	"slices"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/report/figure"
	"meshscope/ui/desk"
	"meshscope/ui/frame"
	"meshscope/ui/screen"
	"meshscope/ui/session"
	"meshscope/ui/state"
	"meshscope/ui/textbox"
	"meshscope/ui/tty"
)

// Update takes a message: the terminal's news first, then what commands bring,
// then input, which becomes an Action.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.prioritize(msg)
	next, cmd := m.update(msg)
	m.present(msg)
	return next, cmd
}

func (m *Model) update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if k, ok := msg.(tea.KeyPressMsg); ok && k.String() == "alt+esc" { // two that came at once
		k.Mod = 0
		_, first := m.Update(k)
		_, second := m.Update(k)
		return m, tea.Batch(first, second)
	}
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.caps.Resize(msg.Width, msg.Height)
		m.overlays.Resize(m.caps.Width, m.caps.Height)
		return m, m.refreshScreen() // what has room now may have to be computed
	case tea.ColorProfileMsg:
		if m.options.colours == colorprofile.Unknown && msg.Profile != m.caps.Profile {
			m.colour(msg.Profile)
			m.restyle()
		}
		return m, nil
	case tea.BackgroundColorMsg:
		if m.caps.Dark != msg.IsDark() {
			m.caps.Dark = msg.IsDark()
			m.restyle()
		}
		return m, nil
	case sweptMsg:
		m.takeSweep(msg)
		return m, nil
	case chosenMsg:
		return m, m.takeChosen(msg)
	case evaluatedMsg:
		return m, m.takeSlow(msg)
	case workedMsg:
		return m, m.finish(msg)
	case advisedMsg:
		msg.card.Take(msg.found)
		return m, nil
	case lessonsMsg:
		m.offerLessons(msg)
		return m, nil
	case nextLessonMsg:
		return m, m.takeNext(msg)
	case paletteMsg:
		m.takePalette(msg)
		return m, nil
	case copiedMsg:
		return m, m.takeCopied(msg)
	case desk.TickMsg:
		m.desk.Clock = time.Time(msg)
		return m, m.desk.Tick()
	case desk.NewsMsg:
		return m, tea.Batch(m.attend(), m.waitForNews())
	case pinsKeptMsg:
		return m, m.takePinsKept(msg)
	case keepMsg:
		return m, m.takeKeep(msg)
	case setupKeptMsg:
		if msg.err == nil {
			m.kept = msg.setup
		}
		return m, nil
	case filedMsg:
		msg.tell()
		return m, m.do(msg.said)
	case decidedMsg:
		return m, m.takeDecision(msg)
	case tickMsg:
		return m, m.ticked()
	case state.Action:
		return m, m.do(msg)
	case pastedMsg:
		return m, m.takePasted(msg)
	case modelMsg:
		return m, m.takeModel(msg)
	case readMsg:
		return m, m.takeRead(msg)
	case tea.KeyPressMsg:
		return m, m.asMember(func() tea.Cmd { return m.handleKey(msg) })
	case tea.PasteMsg:
		if m.choosing != nil {
			return m, m.waits(msg)
		}
		return m, m.asMember(func() tea.Cmd { return m.handlePaste(msg) })
	case tea.MouseMsg:
		if m.choosing != nil || m.noted() {
			return m, nil
		}
		return m, m.asMember(func() tea.Cmd { return m.handleMouse(msg) })
	}
	return m, nil
}

// do applies an action and carries out what follows from it.
func (m *Model) do(a state.Action) tea.Cmd {
	if cmd, asked := m.asksFirst(a); asked {
		return cmd
	}
	if a.Verb == state.PageRanks {
		a.Pages = m.pages()
	}
	if a.Verb == state.NextTab {
		a = state.Action{Verb: state.GoTab, N: int(m.step(a.N))}
	}
	if a.Verb == state.NextTheme {
		a.Text = themeFor(m.caps)
	}
	was := m.state
	var effects []state.Effect
	m.state, effects = state.Apply(m.state, a)
	if m.state.Focus != was.Focus {
		m.fresh = nil
	}
	var cmds []tea.Cmd
	if m.state.Setup != was.Setup || m.state.Locks != was.Locks {
		m.evaluate()
		cmds = append(cmds, m.slowCmd(), m.keepSoon())
	}
	if m.state.Setup != was.Setup || m.state.Locks != was.Locks || m.state.Focus != was.Focus {
		m.retargetSweep()
		cmds = append(cmds, m.sweepCmd())
	}
	if m.state.Tab != was.Tab {
		if m.typing() != nil {
			m.overlays.Clear()
		}
		cmds = append(cmds, m.leaveScreen(was.Tab))
	}
	if m.state.Setup != was.Setup || m.state.Tab != was.Tab {
		cmds = append(cmds, m.refreshScreen(), m.tick())
	}
	if m.state.Setup != was.Setup {
		m.highlightChanges(&was.Setup)
		if a.Verb == state.UseSetup {
			m.leave(was.Setup)
		}
	}
	if m.state.Theme != was.Theme || m.state.Unmarked != was.Unmarked {
		m.restyle()
	}
	m.follow()
	for _, e := range effects {
		cmds = append(cmds, m.carryOut(e))
	}
	return tea.Batch(cmds...)
}

func (m *Model) carryOut(e state.Effect) tea.Cmd {
	switch e.Verb {
	case state.UseModel, state.UseCluster, state.Rechoose:
		return m.again(state.Action(e))
	case state.Open:
		return m.carry(closing(m.opening(e.Overlay)))
	case state.Quit:
		m.halt()
		return tea.Quit
	case state.Interrupt:
		m.halt()
		return tea.Interrupt
	case state.Suspend:
		if !tty.CanSuspend() {
			return m.do(state.Action{
				Verb: state.Say, Tone: state.Trouble,
				Text: "cannot suspend: no shell with job control started the program",
			})
		}
		return tea.Suspend
	case state.Type:
		m.startTyping(e.Text)
	case state.Copy:
		return m.copySetup()
	case state.Pin:
		return m.pin()
	default: // the rest is about the state
	}
	return nil
}

// pin pins the setup and keeps the pins at once: a disk that is full or a home that is read-only is told
// while there is time to note the setup.
func (m *Model) pin() tea.Cmd {
	if !m.now.report.Legal {
		return m.do(state.Action{
			Verb: state.Say, Tone: state.Answer,
			Text: "an illegal setup cannot be pinned",
		})
	}
	cmds := []tea.Cmd{m.do(state.Action{
		Verb: state.Say, Tone: state.Answer,
		Text: m.screens.compare.Pin(m.state.Setup),
	}), m.refreshScreen()}
	start, end := m.start, m.start
	end.Pins = m.session().Pins
	if keep := m.options.KeepNow; keep != nil && end != start {
		cmds = append(cmds, m.guard(func() tea.Msg { return pinsKeptMsg{end.Pins, keep(start, end)} }))
	}
	return tea.Batch(cmds...)
}

// pinsKeptMsg says that pins are kept, or why not.
type pinsKeptMsg struct {
	pins [session.MaxPins]engine.Setup
	err  error
}

// takePinsKept says that a pin holds for this run only; what is kept already is not a change at the end.
func (m *Model) takePinsKept(msg pinsKeptMsg) tea.Cmd {
	if msg.err != nil {
		return m.do(state.Action{
			Verb: state.Say, Tone: state.Trouble,
			Text: "pinned for this run only, y copies the setup: " + escape.Line(msg.err.Error()),
		})
	}
	m.start.Pins = msg.pins
	return nil
}

// halt stops what still works in the background.
func (m *Model) halt() {
	m.hold()
	m.drop()
	if m.sweep.stop != nil {
		m.sweep.stop()
	}
	m.overlays.Clear()
}

// handleKey: what leaves the program first, then what is open, then the keys
// of the screen.
func (m *Model) handleKey(msg tea.KeyPressMsg) tea.Cmd {
	if msg.Mod.Contains(tea.ModAlt) && !tty.Interrupts(msg) && !m.bindsAlt(msg.String()) {
		apart := tty.Apart(msg)
		return tea.Sequence(m.handleKey(apart[0]), m.handleKey(apart[1]))
	}
	switch {
	case tty.Interrupts(msg):
		return m.do(state.Action{Verb: state.Interrupt})
	case key.Matches(msg, m.binding("suspend")):
		return m.do(state.Action{Verb: state.Suspend})
	case m.choosing != nil:
		return m.waits(msg)
	}
	if cmd, taken := m.classKey(msg.String()); taken {
		return cmd
	}
	switch {
	case m.unseen(msg.String()):
		return nil
	case !m.overlays.Empty():
		return m.carry(m.overlays.Top().HandleKey(msg))
	}
	return m.handleScreenKey(msg.String())
}

// bindsAlt reports whether a key with alt does something: it is in a table of keys, or edits the text that
// is typed.
func (m *Model) bindsAlt(name string) bool {
	c := m.context()
	if k, _ := screen.Find(m.programKeys(), c.Own, name); k != nil {
		return true
	}
	if field, ok := m.overlays.Top().(interface{ HoldsText() bool }); ok {
		return field.HoldsText() && textbox.Edits(name)
	}
	if k, _ := screen.Find(m.screen().Keys(c), c.Own, name); k != nil {
		return true
	}
	w, ok := m.screen().(screen.Writer)
	return ok && w.Typing() && textbox.Edits(name)
}

// unseen reports whether a key would do something that nobody sees: where the window has
// no room for the screen, what is open takes no key but the one that closes it, and the
// screens none but a few.
func (m *Model) unseen(name string) bool {
	if m.caps.Width == 0 || m.caps.Width >= frame.MinWidth && m.caps.Height >= frame.MinHeight {
		return false
	}
	if !m.overlays.Empty() {
		return name != "esc" && m.staged() == nil
	}
	c := m.context()
	k, _ := screen.Find(m.screen().Keys(c), c.Own, name)
	if k == nil {
		k, _ = screen.Find(m.programKeys(), m.options.Keys, name)
	}
	return k == nil || !k.Blind
}

// fixAction returns what enter does: choose the layout anew, take the nearest legal values, else the fastest
// turn that makes the setup fit, else type.
func (m *Model) fixAction() state.Action {
	switch {
	case m.rechooses():
		a, _ := m.state.RechooseFor()
		return a
	case state.FixWords(m.now.report.Problems) != "":
		return state.Action{Verb: state.TakeFix}
	case len(m.offered()) > 0:
		return state.Action{Verb: state.UseSetup, Setup: &m.remedies[0].Setup, Text: "it fits"}
	}
	return state.Action{Verb: state.Type}
}

// fixText returns what enter would set; empty when it would type.
func (m *Model) fixText() string {
	if words := state.FixWords(m.now.report.Problems); words != "" || len(m.offered()) == 0 {
		return words
	}
	return m.remedies[0].Turns()
}

// rechooses reports whether enter chooses the layout anew, on the screen that has the knobs: for another
// number of GPUs, or for what does not do in the one that there is and has no nearest legal value.
func (m *Model) rechooses() bool {
	r := &m.now.report
	does := r.Legal && r.Memory.Fit != engine.Over || state.FixWords(r.Problems) != "" ||
		m.now.setup != m.state.Setup
	return m.state.Tab == state.ExploreTab && m.state.Rechooses(does) && !m.quizzes() && m.lesson == nil
}

// rechooseText says what enter chooses, with the batch where one is published, in the longest form that
// leaves the foot room for help and quit.
func (m *Model) rechooseText() string {
	s := &m.state.Setup
	a, of := m.state.RechooseFor()
	forms := []string{"takes batch and best layout for " + of, "takes the best for " + of}
	if tokens, run := s.PublishedTokens(s.GPUs); a.ID != "" {
		forms[0] = "takes the best layout for " + of
	} else if tokens > 0 && !m.state.Fixed.Has(knob.GBS) {
		whose, batch := "the published batch of ", figure.Comma(run.GBS)+" x "+figure.Comma(run.Seq)
		seq := run.Seq
		if m.state.Fixed.Has(knob.Seq) {
			seq = s.Seq
		}
		switch taken := search.UnsetGBS(s, []int{s.GPUs}, seq); {
		case !search.Divides(s.GPUs, taken), m.state.Fixed.Has(knob.MBS),
			m.state.Fixed.Has(knob.MicroBatches): // what the search finds legal
			whose, batch = "a batch ", "near "+batch
		case taken != run.GBS || seq != run.Seq:
			whose, batch = "a batch of ", figure.Comma(taken)+" x "+figure.Comma(seq)
		}
		forms = slices.Insert(forms, 0, "takes "+whose+batch+" and the best layout for "+of,
			"takes batch "+batch+", best layout for "+of)
	}
	return m.context().Longest(m.caps.Width-2*m.margin()-len("enter ")-len(helpAndQuit), forms...)
}

// handleMouse turns clicks and the wheel into actions. What lies where is
// computed from the same drawing that is on the screen.
func (m *Model) handleMouse(msg tea.MouseMsg) tea.Cmd {
	at := msg.Mouse()
	button := mouseButton(msg)
	if s := m.staged(); s != nil {
		if button == "left" {
			return m.carry(s.ClickAt(at.X, at.Y))
		}
		return nil
	}
	if d := m.overlays.Render(m.look.theme, m.look.glyphs); len(d.Lines) > 0 {
		return m.carry(m.overlays.Mouse(d, button, at.Y))
	}
	if _, moved := msg.(tea.MouseMotionMsg); moved && at.Button == tea.MouseLeft &&
		m.state.Tab == state.ExploreTab {
		return m.drag(at.X, at.Y)
	}
	return m.screenMouse(at.X, at.Y, button)
}

// mouseButton returns a click or a turn of the wheel in a word, empty for the rest.
func mouseButton(msg tea.MouseMsg) string {
	switch button := msg.Mouse().Button; msg.(type) {
	case tea.MouseClickMsg:
		if button == tea.MouseLeft {
			return "left"
		}
	case tea.MouseWheelMsg:
		if button == tea.MouseWheelUp {
			return "wheelup"
		}
		if button == tea.MouseWheelDown {
			return "wheeldown"
		}
	}
	return ""
}

// drag takes the values of the focused ladder that the pointer is drawn over.
func (m *Model) drag(x, y int) tea.Cmd {
	if a := m.knobAt(x, y); a.Verb == state.SetKnob && a.ID == m.state.Focus {
		return m.do(a)
	}
	return nil
}

// knobAt returns the action of a click on the knobs column: a value of a ladder
// sets it, the rest of the row takes the focus.
func (m *Model) knobAt(x, y int) state.Action {
	r := frame.Layout(m.caps.Width, m.caps.Height, m.content())
	if r.Tiny || !r.Knobs.Contains(x, y) {
		return state.Action{}
	}
	action := state.Action{}
	for _, hit := range m.column(r.Knobs).Hits {
		if y != r.Knobs.Y+hit.Y || x < r.Knobs.X+hit.X || x >= r.Knobs.X+hit.X+hit.W {
			continue
		}
		action = state.Action{Verb: state.FocusKnob, ID: hit.ID}
		if hit.Value != "" {
			return state.Action{Verb: state.SetKnob, ID: hit.ID, Text: hit.Value}
		}
	}
	return action
}

// wheel turns the knob under the pointer, scrolls ranks or a list.
func (m *Model) wheel(x, y, n int) tea.Cmd {
	r := frame.Layout(m.caps.Width, m.caps.Height, m.content())
	switch {
	case r.Memory.Contains(x, y) || r.Pipeline.Contains(x, y):
		return m.do(state.Action{Verb: state.PageRanks, N: n})
	case r.Knobs.Contains(x, y):
		if at := m.knobAt(x, y); at.ID != "" {
			return tea.Batch(m.do(state.Action{Verb: state.FocusKnob, ID: at.ID}),
				m.do(state.Action{Verb: state.TurnKnob, N: -n}))
		}
	}
	return nil
}
