// Package ui is the Bubble Tea program. Every input becomes an Action, Apply
// makes a new State of it, the engine a Report, and the view a frame:
//
//	state, effects := state.Apply(state, action)       // ui/state
//	report         := evaluate(state.Setup)            // evaluate.go
//	frame          := compose(layout(w, h), panels)    // view.go
package ui

import (
	"cmp"
	"context"
	"io"
	"slices"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/launch"
	"meshscope/lessons"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
	"meshscope/report"
	"meshscope/ui/class"
	"meshscope/ui/desk"
	"meshscope/ui/knobs"
	"meshscope/ui/lesson"
	"meshscope/ui/overlay"
	"meshscope/ui/screens/explore"
	"meshscope/ui/session"
	"meshscope/ui/state"
	"meshscope/ui/tty"
)

// Options are the start parameters of the program.
type Options struct {
	Setup   engine.Setup     // empty: the built-in start
	Library *presets.Library // nil: the built-in one
	// Query finds the layout to open with in place of Setup's. A frame says that it searches, and enter
	// ends it. nil: Setup is what to open with.
	Query *search.Query
	Fixed knob.Set // what flags have given of Setup
	// find is what searches; nil: search.Begun.Choose. Tests put a stand-in here.
	find func(b *search.Begun, ctx context.Context, workers int) (engine.Setup, *search.Chosen, error)

	// Command returns what the words of a command line of this program that was pasted begin with; nil:
	// none is taken.
	Command func(words []string) (search.Begun, error)
	// Open reads a file by the name that was pasted, or the one in a folder of that name, and gives the
	// name of what it read; nil: no file is read.
	Open func(name string) (r *launch.Reading, file string, err error)

	// Place is what to open: a screen, with a pane of it behind a slash, and a knob in
	// focus; empty: as it was left, or Explore.
	Place struct {
		Screen string
		Focus  knob.ID
		Note   string // what to do there
	}

	Lesson *lessons.Lesson // to begin with; nil: none
	Act    int             // of the lesson, from 1 on; 0: the one at which it was left
	// Lessons returns the lessons that the palette offers, and what is wrong with those that are left
	// out; nil: the built-in ones.
	Lessons func() ([]*lessons.Lesson, []error)

	Asked   bool                 // the setup was asked for: a kept one does not take its place
	Theme   string               // auto, dark, light, mono; empty: as it was kept, else auto
	ASCII   bool                 // no characters beyond ASCII
	NoColor bool                 // as NO_COLOR does
	colours colorprofile.Profile // of the terminal; unknown: the program is told later
	Mouse   *bool                // nil: as it was kept, else on
	Calm    bool                 // nothing moves by itself, and what changed does not stand out
	// Slow reports whether the line to the terminal is slow just now; nil: it is not.
	Slow func() bool

	// Keys are those that actions have in place of the built-in ones; see Actions.
	Keys map[string][]string

	Last *session.Session // what to go back to; nil: nothing
	// Keep is called at the end with what the run began and ended with: what differs
	// is kept. nil: nobody.
	Keep func(start, end session.Session)
	// KeepNow keeps at once what differs, and says why that is impossible; nil: nobody keeps anything.
	KeepNow func(start, end session.Session) error
	Notices []string // what went wrong before the start
	Remark  string   // on how the program was started
	Hint    bool     // the first start: a line says how to begin

	// Share writes what was copied to a file as well and gives its name; nil, an
	// error or an empty name: to none.
	Share func(text string) (file string, err error)

	// Export writes a document to a new file of the current folder and gives its
	// name; nil: nothing can be written here.
	Export func(report.Format, *report.Evaluation) (file string, err error)
	// Save writes another file of the current folder, a page or a picture; nil: nothing can be
	// written here.
	Save func(name, extension string, write func(io.Writer) error) (file string, err error)
	// Timeline writes the timeline of a report as SVG or as a trace; nil: it cannot be written.
	Timeline func(to io.Writer, trace bool, r *engine.Report) error
	// Pipeline draws the pipeline of a report for a page; nil: pages have no such picture.
	Pipeline func(*engine.Report) report.Picture
	Version  string // of the program, in exported files

	// GiveUp is closed when the program is to end although its terminal may take no bytes; Abort ends the
	// process where even that does not help.
	GiveUp <-chan struct{}
	Abort  func()

	Env      []string // environment; nil: that of the process
	CrashDir string   // where a crash file goes; empty: none is written

	// Class is the seat in a class; nil: one is alone.
	Class class.Seat

	// Turns bounds the long computations of all explorers of a process: each takes one, which it
	// gives back. nil: this is the only explorer.
	Turns chan struct{}

	// Refuse returns why a legal setup is not computed here; nil, or without a message: it is.
	Refuse func(*engine.Setup) engine.Problem

	// Evaluate answers setups; nil: the engine. Tests put a stand-in here.
	Evaluate func(engine.Setup) engine.Report
}

// Model is the one Bubble Tea model of the program.
type Model struct {
	options Options
	state   state.State
	start   session.Session // at the start
	kept    engine.Setup    // by this run; the zero Setup: none
	keeps   int             // counts what is to be kept
	left    []engine.Setup  // that another one took the place of, newest first
	caps    tty.Caps
	look    look

	now    evaluated // of the current setup
	legal  evaluated // the last legal one, drawn dimmed while now is not
	before explore.Vital
	glow   map[knob.ID]bool // what the last change moved; nil: nothing stands out
	rows   []knobs.Row

	fresh    []string      // warnings that the last change caused
	remedies []advise.Move // turns of one knob that make a setup fit that does not

	screens  screens
	overlays overlay.Stack
	choosing *choice       // the search for a layout that is under way; nil: none
	choices  int           // counts them
	lesson   *lesson.Stage // begun and not ended; nil: none
	task     task          // of the goal that is open
	learned  string        // lessons that were gone through
	underWay string        // the lesson that was begun last, and its act
	quizzed  lessons.Quiz  // what is asked before each change
	desk     *desk.Desk    // the seat in a class; nil: one is alone
	touched  bool          // the last key did something on the screen in front
	sweep    sweep
	noEffect []engine.NoEffect // knobs that are set and change nothing
	slow     slow
	lexicon  overlay.Lexicon
	catalog  *overlay.Catalog // of the lists of presets; nil until it is read

	evaluator engine.Evaluator
	serial    int // counts evaluations, for caches
	pastes    int // counts pastes: one that is read meanwhile counts if none came after it
	cache     *cache
}

// New makes the model. It reads nothing and starts nothing.
func New(o Options) *Model {
	if o.Library == nil {
		o.Library = presets.Default()
	}
	if o.Setup == (engine.Setup{}) {
		o.Setup = presets.DefaultSetup()
	}
	m := &Model{
		options: o, caps: tty.NewCaps(o.Env, o.ASCII),
		state: state.New(o.Setup, o.Theme, o.Mouse == nil || *o.Mouse), cache: newCache(),
	}
	m.state.Fixed = o.Fixed
	m.screens = newScreens(m, o.Library)
	m.lexicon.Shown = m.study
	m.colour(cmp.Or(o.colours, m.caps.Profile))
	if o.Last != nil {
		m.restore(o.Last)
	}
	m.state.Hint = o.Hint && o.Place.Screen == ""
	m.open()
	if o.Lesson != nil {
		at := o.Act - 1
		if o.Act == 0 {
			at = m.resumed(o.Lesson.ID)
		}
		m.begin(o.Lesson, at)
		m.state.Setup = m.lesson.Play.Setup()
		m.stageAct()
	}
	if len(o.Notices) > 0 {
		m.state.Note = state.Note{Text: m.noticed(), Tone: state.Trouble}
	}
	if o.Remark != "" && len(o.Notices) == 0 {
		m.state.Note = state.Note{Text: o.Remark}
	}
	m.look = newLook(m.state.Theme, m.caps, m.known(), 1)
	if o.Class != nil {
		m.sit()
	}
	m.evaluate()
	m.before = explore.Vital{}
	m.start.Setup = m.state.Setup
	m.start = m.session()
	return m
}

// Init asks the terminal for its background and starts the chart.
func (m *Model) Init() tea.Cmd {
	if q := m.options.Query; q != nil {
		return tea.Batch(tea.RequestBackgroundColor,
			m.search(search.Begun{Setup: m.state.Setup, Query: q, Fixed: m.state.Fixed}, ""))
	}
	return tea.Batch(tea.RequestBackgroundColor, m.sweepCmd(), m.waitForNews(), m.desk.Tick())
}

var _ tea.Model = (*Model)(nil)

// restore goes back to where a session was left. Of a start that asks for a setup it
// is the locks, the choices and the pins, not the place; what a flag says holds for
// this run.
func (m *Model) restore(last *session.Session) {
	s, o := &m.state, &m.options
	s.Locks, s.Unmarked = last.Locks, last.Unmarked
	m.learned, m.underWay = last.Learned, last.Act
	if o.Theme == "" && last.Theme != "" {
		s.Theme = last.Theme
	}
	if o.Mouse == nil {
		s.Mouse = last.Mouse
	}
	m.screens.compare.Restore(pinned(last))
	if o.Asked {
		return
	}
	if last.Setup != (engine.Setup{}) {
		s.Setup = last.Setup
	}
	if last.Focus != "" {
		s.Focus = last.Focus
	}
	for i, one := range m.screens.all {
		if one.Name() == last.Screen {
			s.Tab = state.Tab(i)
		}
	}
	if *last != session.None() {
		s.Note = state.Note{Text: "back where you left; --no-state starts afresh"}
	}
}

// session returns what the next run starts with: the last legal setup and how it was
// looked at.
func (m *Model) session() session.Session {
	s := &m.state
	out := session.Session{
		Setup: m.legal.setup, Locks: s.Locks, Focus: s.Focus, Screen: m.screen().Name(), Theme: s.Theme,
		Mouse:  s.Mouse,
		Hinted: !s.Hint, Unmarked: s.Unmarked, Learned: m.learned, Act: m.atAct(),
	}
	if !m.legal.report.Legal {
		out.Setup = m.start.Setup
	}
	copy(out.Pins[:], m.screens.compare.Pins())
	out.Recent = m.recent(&out.Setup)
	return out
}

// leave remembers a setup that another one takes the place of as a whole.
func (m *Model) leave(s engine.Setup) {
	if m.options.Last == nil || !engine.Legal(s) {
		return
	}
	m.left = slices.Insert(slices.DeleteFunc(m.left, func(old engine.Setup) bool { return old == s }), 0, s)
	m.left = m.left[:min(len(m.left), session.MaxRecent)]
}

// recent returns the setups that were left: the current one if it is not that of the start, those
// of this run, and those of the runs before; none where no session is kept.
func (m *Model) recent(now *engine.Setup) (out [session.MaxRecent]string) {
	if m.options.Last == nil {
		return out
	}
	before, left := m.options.Last.Recent, m.left
	if *now != m.start.Setup && m.start.Setup != (engine.Setup{}) {
		left = append([]engine.Setup{*now}, left...)
	}
	if len(left) == 0 {
		return before
	}
	var list []string
	add := func(text string) {
		if text != "" && !slices.Contains(list, text) && len(list) < len(out) {
			list = append(list, text)
		}
	}
	for i := range left {
		text, _ := setupdoc.Share(left[i], presets.Default(), m.options.Library)
		add(text)
	}
	for _, text := range before {
		add(text)
	}
	copy(out[:], list)
	return out
}

// pinned returns the pins of a session.
func pinned(last *session.Session) []engine.Setup {
	var out []engine.Setup
	for _, pin := range last.Pins {
		if pin != (engine.Setup{}) {
			out = append(out, pin)
		}
	}
	return out
}
