package ui

import (
	"context"
	"runtime/debug"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/themes"
	"meshscope/ui/export"
	"meshscope/ui/views/compare"
	"meshscope/ui/views/evidence"
	"meshscope/ui/views/memory"
	"meshscope/ui/views/network"
	"meshscope/ui/views/pipeline"
	"meshscope/ui/views/scan"
	"meshscope/ui/views/search"
	"meshscope/ui/widget"
)

// Tab is which screen is shown.
type Tab uint8

// Screens, in the order of the tabs.
const (
	ExploreTab Tab = iota
	MemoryTab
	PipelineTab
	NetworkTab
	SearchTab
	CompareTab
	ScanTab
	EvidenceTab
	tabs
)

// String is the tab's name.
func (t Tab) String() string {
	switch t {
	case MemoryTab:
		return "Memory"
	case PipelineTab:
		return "Pipeline"
	case NetworkTab:
		return "Network"
	case SearchTab:
		return "Search"
	case CompareTab:
		return "Compare"
	case ScanTab:
		return "Scan"
	case EvidenceTab:
		return "Evidence"
	default:
		return "Explore"
	}
}

// screenInput is what a screen draws: the last legal setup with its report.
type screenInput struct {
	setup    *engine.Setup
	report   *engine.Report
	theme    *themes.Theme
	glyphs   widget.Glyphs
	problems []engine.Problem // of an illegal setup in force
}

type request = widget.Request[engine.Setup]

// tabScreen is one of the tabs beside Explore, as the program sees it.
type tabScreen interface {
	handleKey(in screenInput, w, h int, key string) (bool, request)
	handleMouse(in screenInput, w, h, x, y int, button string) (bool, request)
	render(in screenInput, w, h int) []string
	hints(in screenInput) []widget.Hint
	bindings() []widget.Binding
	status(in screenInput, w int) string
	refresh(in screenInput) request // what it wants worked out for this input
	forget()                        // it is left: what is large can be worked out again
	mover() mover                   // nil: nothing moves by itself
	writer() writer                 // nil: it takes no text
	anyway() bool                   // it works on a setup that cannot run
	tables(in screenInput) []export.Table
	figure(in screenInput) string // under the cursor, as the report names it; empty: none
	// under is the setup under the cursor of a list, and what the list calls it; nil:
	// there is only the one in force.
	under(in screenInput) (*engine.Setup, string)
}

// viewer is what every package under views offers, for its own Input.
type viewer[I any] interface {
	HandleKey(in I, w, h int, key string) (bool, request)
	HandleMouse(in I, w, h int, x, y int, button string) (bool, request)
	Render(in I, w, h int) []string
	Hints(in I) []widget.Hint
	Bindings() []widget.Binding
	Status(in I, w int) string
	Forget()
}

// mover is a screen on which something moves by itself while Playing: playback,
// the progress of a search. Tick says whether it goes on.
type mover interface {
	Playing() bool
	Tick() bool
}

// anyway is a screen that has something to show for a setup that cannot run: it gets
// that one, with a report that has no figures.
type anyway interface{ Anyway() bool }

// writer is a screen that takes letters as text while Typing.
type writer interface {
	Typing() bool
	Paste(text string)
}

// adapted makes a screen of a viewer.
type adapted[I any] struct {
	view  viewer[I]
	input func(screenInput) I
	want  func(I) request
}

func (a adapted[I]) handleKey(in screenInput, w, h int, key string) (bool, request) {
	return a.view.HandleKey(a.input(in), w, h, key)
}

func (a adapted[I]) handleMouse(in screenInput, w, h, x, y int, button string) (bool, request) {
	return a.view.HandleMouse(a.input(in), w, h, x, y, button)
}

func (a adapted[I]) render(in screenInput, w, h int) []string {
	return a.view.Render(a.input(in), w, h)
}
func (a adapted[I]) hints(in screenInput) []widget.Hint  { return a.view.Hints(a.input(in)) }
func (a adapted[I]) bindings() []widget.Binding          { return a.view.Bindings() }
func (a adapted[I]) status(in screenInput, w int) string { return a.view.Status(a.input(in), w) }
func (a adapted[I]) forget()                             { a.view.Forget() }
func (a adapted[I]) refresh(in screenInput) request      { return a.want(a.input(in)) }

func (a adapted[I]) mover() mover {
	m, _ := a.view.(mover)
	return m
}

func (a adapted[I]) writer() writer {
	w, _ := a.view.(writer)
	return w
}

// tables are what the screen has to write into a file besides the report.
func (a adapted[I]) tables(in screenInput) []export.Table {
	if v, ok := a.view.(interface{ Tables(in I) []export.Table }); ok {
		return v.Tables(a.input(in))
	}
	return nil
}

func (a adapted[I]) figure(in screenInput) string {
	if v, ok := a.view.(interface{ Figure(in I) string }); ok {
		return v.Figure(a.input(in))
	}
	return ""
}

func (a adapted[I]) under(in screenInput) (*engine.Setup, string) {
	if v, ok := a.view.(interface {
		Under(in I) (*engine.Setup, string)
	}); ok {
		return v.Under(a.input(in))
	}
	return nil, ""
}

func (a adapted[I]) anyway() bool {
	x, ok := a.view.(anyway)
	return ok && x.Anyway()
}

// screens are the tabs of one program.
type screens struct {
	all     [tabs]tabScreen    // nil for Explore
	compare *compare.View      // has the pins
	stop    context.CancelFunc // of the work that a screen waits for
	ticking bool
}

func newScreens(lib *presets.Library) screens {
	s := screens{compare: compare.New()}
	line := new(pipeline.View)
	mem, net, sea, sweep, ev := memory.New(), network.New(), search.New(lib), scan.New(), evidence.New(lib)
	s.all[MemoryTab] = adapted[memory.Input]{mem, func(in screenInput) memory.Input {
		return memory.Input{Setup: in.setup, Report: in.report, Theme: in.theme, Glyphs: in.glyphs}
	}, mem.Refresh}
	s.all[PipelineTab] = adapted[pipeline.Input]{line, func(in screenInput) pipeline.Input {
		return pipeline.Input{Setup: in.setup, Report: in.report, Theme: in.theme, Glyphs: in.glyphs, Problems: in.problems}
	}, line.Sync}
	s.all[NetworkTab] = adapted[network.Input]{net, func(in screenInput) network.Input {
		return network.Input{Setup: in.setup, Report: in.report, Theme: in.theme, Glyphs: in.glyphs}
	}, net.Refresh}
	s.all[SearchTab] = adapted[search.Input]{sea, func(in screenInput) search.Input {
		return search.Input{Setup: in.setup, Report: in.report, Theme: in.theme, Glyphs: in.glyphs, Problems: in.problems}
	}, sea.Refresh}
	s.all[CompareTab] = adapted[compare.Input]{s.compare, func(in screenInput) compare.Input {
		return compare.Input{Setup: in.setup, Report: in.report, Theme: in.theme, Glyphs: in.glyphs}
	}, s.compare.Refresh}
	s.all[ScanTab] = adapted[scan.Input]{sweep, func(in screenInput) scan.Input {
		return scan.Input{Setup: in.setup, Report: in.report, Theme: in.theme, Glyphs: in.glyphs}
	}, sweep.Refresh}
	s.all[EvidenceTab] = adapted[evidence.Input]{ev, func(in screenInput) evidence.Input {
		return evidence.Input{Setup: in.setup, Report: in.report, Theme: in.theme, Glyphs: in.glyphs}
	}, ev.Refresh}
	return s
}

// screen is the tab that is shown, nil for Explore.
func (m *Model) screen() tabScreen {
	if m.state.Tab >= tabs {
		return nil
	}
	return m.screens.all[m.state.Tab]
}

func (m *Model) screenInput() screenInput {
	in := screenInput{setup: &m.legal.setup, report: &m.legal.report, theme: m.look.theme, glyphs: m.look.glyphs}
	switch {
	case m.now.report.Legal:
	case m.screen() != nil && m.screen().anyway():
		in.setup, in.report, in.problems = &m.now.setup, &m.now.report, errorsOf(m.now.report.Problems)
	default:
		in.theme, in.problems = m.look.dim, errorsOf(m.now.report.Problems)
	}
	return in
}

// shows says whether the screen in front has something to show and keys to take.
func (m *Model) shows() bool { return m.legal.report.Legal || m.screen().anyway() }

// Lines around the area of a screen: title and tabs, status and keys.
const (
	screenTop  = 2
	screenFoot = 2
)

// area is where a screen draws.
func (m *Model) area() Rect {
	return Rect{m.margin(), screenTop, m.caps.width - 2*m.margin(), max(0, m.caps.height-screenTop-screenFoot)}
}

// handleScreenKey: the screen that is shown first, then the keys that mean the
// same on every screen.
func (m *Model) handleScreenKey(msg tea.KeyPressMsg) tea.Cmd {
	k := &m.keys
	if m.writing() {
		cmd, _ := m.screenKey(msg.String())
		return cmd
	}
	// Where the foot offers to mend an illegal setup, enter does that.
	fixes := key.Matches(msg, k.Fix) && !m.screen().anyway() && fixWords(m.now.report.Problems) != ""
	// A screen with a list of its own filters it with the slash; elsewhere that
	// opens the list of keys.
	program := key.Matches(msg, k.NextTab, k.LastTab, k.Help) && msg.String() != "/"
	if !fixes && !program && m.shows() {
		if cmd, handled := m.screenKey(msg.String()); handled {
			return cmd
		}
	}
	if !key.Matches(msg, k.everywhere()...) {
		return nil
	}
	a := m.keyAction(msg)
	if a.Verb == Type {
		return nil // nothing to take, and no knob to type into
	}
	return m.do(a)
}

// screenKey gives a key to the screen that is shown; handled is false where it
// has no use for it.
func (m *Model) screenKey(name string) (cmd tea.Cmd, handled bool) {
	s, at := m.screen(), m.area()
	handled, ask := s.handleKey(m.screenInput(), at.W, at.H, name)
	if !handled {
		return nil, false
	}
	m.state.Note = Note{}
	return tea.Batch(m.fulfil(ask), m.tick()), true
}

// screenMouse gives a click or a turn of the wheel to the screen.
func (m *Model) screenMouse(x, y int, button string) tea.Cmd {
	at := m.area()
	if button == "" {
		return nil
	}
	if y == screenTop-1 && button == "left" {
		if tab, ok := m.tabAt(x - m.margin()); ok {
			return m.do(Action{Verb: GoTab, N: int(tab)})
		}
	}
	if !at.Contains(x, y) {
		return nil
	}
	_, ask := m.screen().handleMouse(m.screenInput(), at.W, at.H, x-at.X, y-at.Y, button)
	return tea.Batch(m.fulfil(ask), m.tick())
}

// fulfil does what a screen asks for.
func (m *Model) fulfil(ask request) tea.Cmd {
	switch {
	case ask.Setup != nil:
		return m.do(Action{Verb: UseSetup, Setup: ask.Setup, Text: ask.Text})
	case ask.Work != nil:
		if m.screens.stop != nil {
			m.screens.stop()
		}
		ctx, stop := context.WithCancel(context.Background())
		m.screens.stop = stop
		work := ask.Work
		return m.guard(func() tea.Msg {
			defer stop()
			return workedMsg{finish: work(ctx)}
		})
	}
	return nil
}

// refreshScreen asks the screen that is shown what it wants worked out.
func (m *Model) refreshScreen() tea.Cmd {
	if s := m.screen(); s != nil && m.shows() {
		return m.fulfil(s.refresh(m.screenInput()))
	}
	return nil
}

// leaveScreen stops what a screen still waits for and lets it drop what is large.
// What its work has used goes back to the system: a search fills tens of
// megabytes, and nothing that follows would have them collected soon.
func (m *Model) leaveScreen(tab Tab) tea.Cmd {
	s := m.screens.all[tab]
	if s != nil {
		s.forget()
	}
	if m.screens.stop == nil {
		return nil
	}
	m.screens.stop()
	m.screens.stop = nil
	return m.guard(func() tea.Msg {
		debug.FreeOSMemory()
		return nil
	})
}

// finish takes what a screen's work brought.
func (m *Model) finish(msg workedMsg) tea.Cmd {
	if msg.finish != nil {
		msg.finish()
	}
	cmd := m.refreshScreen()
	return tea.Batch(cmd, m.tick())
}

// writing says that the screen in front takes letters as text.
func (m *Model) writing() bool {
	if m.screen() == nil || !m.shows() {
		return false
	}
	w := m.screen().writer()
	return w != nil && w.Typing()
}

// tick keeps what moves by itself going.
func (m *Model) tick() tea.Cmd {
	if m.screens.ticking || m.screen() == nil {
		return nil
	}
	if s := m.screen().mover(); s == nil || !s.Playing() {
		return nil
	}
	m.screens.ticking = true
	return tea.Tick(time.Second/pipeline.TicksPerSecond, func(time.Time) tea.Msg { return tickMsg{} })
}

func (m *Model) ticked() tea.Cmd {
	m.screens.ticking = false
	if m.screen() == nil {
		return nil
	}
	if s := m.screen().mover(); s == nil || !s.Tick() {
		return nil
	}
	return m.tick()
}
