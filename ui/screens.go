package ui

import (
	"context"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"meshscope/presets"
	"meshscope/ui/frame"
	"meshscope/ui/screen"
	"meshscope/ui/screens/compare"
	"meshscope/ui/screens/evidence"
	"meshscope/ui/screens/memory"
	"meshscope/ui/screens/network"
	"meshscope/ui/screens/pipeline"
	"meshscope/ui/screens/scan"
	"meshscope/ui/screens/search"
	"meshscope/ui/state"
)

// screens are the tabs of one program.
type screens struct {
	all     []screen.Screen    // by Tab
	compare *compare.View      // has the pins
	stop    context.CancelFunc // of the work that a screen waits for
	ticking bool
}

// newScreens makes every screen. A new one is its folder and a line here.
func newScreens(m *Model, lib *presets.Library) screens {
	pins, searched := compare.New(), search.New(lib)
	searched.Shared = m != nil && m.options.Turns != nil
	if m != nil { // a document does not search
		pins.Ranking = m.ranking
	}
	return screens{compare: pins, all: []screen.Screen{
		explorer{m},
		memory.New(),
		pipeline.New(),
		network.New(),
		searched,
		pins,
		scan.New(),
		evidence.New(lib),
	}}
}

// ranking returns the Search screen, which Compare asks for what to compare with.
func (m *Model) ranking() compare.Ranking {
	for _, s := range m.screens.all {
		if r, ok := s.(compare.Ranking); ok {
			return r
		}
	}
	return nil
}

// screen returns the one that is shown.
func (m *Model) screen() screen.Screen { return m.screens.all[m.state.Tab] }

// goTo shows a screen by its name in lower case, with a pane of it behind a slash.
func (m *Model) goTo(place string) {
	name, pane, _ := strings.Cut(place, "/")
	for i, s := range m.screens.all {
		if strings.EqualFold(s.Name(), name) {
			m.state.Tab = state.Tab(i)
			if p, ok := s.(screen.Paned); ok {
				p.Show(pane)
			}
		}
	}
}

// open goes to the place that the options name.
func (m *Model) open() {
	if p := &m.options.Place; p.Screen != "" {
		m.goTo(p.Screen)
		m.state.Focus, m.state.Note = p.Focus, state.Note{Text: p.Note, Tone: state.Answer}
	}
}

// step returns the tab that lies n further, round the ends.
func (m *Model) step(n int) state.Tab {
	all := len(m.screens.all)
	return state.Tab(((int(m.state.Tab)+n)%all + all) % all)
}

// neighbour returns the name of the tab that lies n further.
func (m *Model) neighbour(n int) string { return m.screens.all[m.step(n)].Name() }

// context returns the context of the screen in front.
func (m *Model) context() *screen.Context { return m.contextIn(m.area()) }

// contextIn returns that of the screen in front with another area.
func (m *Model) contextIn(at frame.Rect) *screen.Context {
	c := &screen.Context{
		Masked: m.masked(), Asks: m.asking(), Setup: &m.legal.setup, Report: &m.legal.report,
		Theme: m.look.theme, Glyphs: m.look.glyphs, W: at.W, H: at.H, Own: m.ownKeys(m.state.Tab),
		Calm: m.options.Calm,
	}
	c.Taught, c.Decides = m.taught()
	if m.now.report.Legal {
		return c
	}
	c.Problems = state.Errors(m.now.report.Problems)
	if m.viewsIllegal() {
		c.Setup, c.Report = &m.now.setup, &m.now.report
	} else {
		c.Theme = m.look.dim
	}
	return c
}

// viewsIllegal reports whether the screen in front shows setups that cannot run.
func (m *Model) viewsIllegal() bool {
	_, ok := m.screen().(screen.IllegalViewer)
	return ok
}

// shows reports whether the screen in front has something to show and keys to take.
func (m *Model) shows() bool { return m.legal.report.Legal || m.viewsIllegal() }

// Lines around the area of a screen: title and tabs, status and keys.
const (
	screenTop  = 2
	screenFoot = 2
)

// area returns where a screen draws: Explore in the whole window.
func (m *Model) area() frame.Rect {
	if s := m.onStage(); s != nil {
		return m.stagedArea(s)
	}
	if m.state.Tab == state.ExploreTab {
		return frame.Rect{W: m.caps.Width, H: m.caps.Height}
	}
	top := screenTop
	if m.stripped() {
		top++
	}
	return frame.Rect{
		X: m.margin(), Y: top, W: m.caps.Width - 2*m.margin(),
		H: max(0, m.caps.Height-top-screenFoot),
	}
}

// handleScreenKey: the screen that is shown first, then the keys that mean the
// same on every screen.
func (m *Model) handleScreenKey(name string) tea.Cmd {
	if m.writing() {
		cmd, _ := m.screenKey(name)
		return cmd
	}
	k, n := screen.Find(m.programKeys(), m.options.Keys, name)
	// Where the foot offers to mend an illegal setup, enter does that. A screen with a
	// list of its own filters it with the slash; elsewhere that opens the list of keys.
	first := name == "enter" && !m.viewsIllegal() && state.FixWords(m.now.report.Problems) != "" ||
		k != nil && name != "/" && slices.Contains([]string{"next-screen", "last-screen", "help"}, k.ID)
	if !first && m.shows() {
		if cmd, handled := m.screenKey(name); handled {
			return cmd
		}
	}
	if k == nil {
		return nil
	}
	return m.handle(k.Run(n, name))
}

// screenKey gives a key to the screen that is shown; handled is false where it
// has no use for it.
func (m *Model) screenKey(name string) (cmd tea.Cmd, handled bool) {
	was := m.state.Note
	if m.state.Tab != state.ExploreTab { // whose actions know when a message goes
		m.state.Note = state.Note{}
	}
	handled, ask := screen.Press(m.screen(), m.context(), name)
	m.touched = m.touched || handled && m.state.Tab != state.ExploreTab
	if !handled {
		m.state.Note = was
		return nil, false
	}
	return tea.Batch(m.handle(ask), m.tick()), true
}

// screenMouse gives a click or a turn of the wheel to the screen.
func (m *Model) screenMouse(x, y int, button string) tea.Cmd {
	at := m.area()
	if button == "" {
		return nil
	}
	if row := m.tabRow(); row.Contains(x, y) && button == "left" {
		if tab, ok := m.tabAt(x - row.X); ok {
			return m.do(state.Action{Verb: state.GoTab, N: int(tab)})
		}
	}
	if row := m.stripRow(); m.stripped() && row.Contains(x, y) {
		return m.stripMouse(x-row.X, button)
	}
	if button == "left" && y == m.caps.Height-1 {
		return m.hintMouse(x - m.margin())
	}
	if !at.Contains(x, y) {
		return nil
	}
	_, ask := m.screen().Mouse(m.context(), x-at.X, y-at.Y, button)
	return tea.Batch(m.handle(ask), m.tick())
}

// handle carries out a request of a screen.
func (m *Model) handle(ask screen.Request) tea.Cmd {
	switch {
	case ask.Cmd != nil:
		return ask.Cmd
	case ask.Setup != nil:
		return m.do(state.Action{Verb: state.UseSetup, Setup: ask.Setup, Text: ask.Text})
	case ask.Text != "":
		return m.do(state.Action{Verb: state.Say, Text: ask.Text})
	case ask.Work != nil:
		if m.screens.stop != nil {
			m.screens.stop()
		}
		ctx, stop := context.WithCancel(context.Background())
		m.screens.stop = stop
		work := ask.Work
		return m.guard(func() tea.Msg {
			defer stop()
			defer m.options.takeTurn(ctx)()
			return workedMsg{finish: work(ctx)}
		})
	}
	return nil
}

// refreshScreen asks the screen that is shown what it wants computed.
func (m *Model) refreshScreen() tea.Cmd {
	if m.shows() && (!m.fromPresenter() || m.sizeDiffers()) {
		return m.handle(m.screen().Refresh(m.context()))
	}
	return nil
}

// leaveScreen stops what a screen still waits for and lets it drop what is large.
// What its work has used goes back to the system: a search fills tens of
// megabytes, and nothing that follows would have them collected soon.
func (m *Model) leaveScreen(tab state.Tab) tea.Cmd {
	if s, ok := m.screens.all[tab].(screen.Forgetter); ok {
		s.Forget()
	}
	if m.screens.stop == nil {
		return nil
	}
	m.screens.stop()
	m.screens.stop = nil
	return m.release()
}

// finish takes the result of a screen's work.
func (m *Model) finish(msg workedMsg) tea.Cmd {
	if msg.finish != nil {
		msg.finish()
	}
	cmd := m.refreshScreen()
	return tea.Batch(cmd, m.tick(), m.release())
}

// takeTurn waits for a turn to compute, or until nobody waits for the result any more, and returns
// what gives it back.
func (o *Options) takeTurn(ctx context.Context) (done func()) {
	if o.Turns != nil {
		select {
		case o.Turns <- struct{}{}:
			return func() { <-o.Turns }
		case <-ctx.Done():
		}
	}
	return func() {}
}

// collect returns to the system what a computation has used, where this explorer is the only one of
// the process: with others it would collect the garbage of all of them.
func (o *Options) collect() {
	if o.Turns == nil {
		debug.FreeOSMemory()
	}
}

// release returns to the system what a screen's work has used.
func (m *Model) release() tea.Cmd {
	return m.guard(func() tea.Msg {
		m.options.collect()
		return nil
	})
}

// writing says that the screen in front takes letters as text.
func (m *Model) writing() bool {
	w, ok := m.screen().(screen.Writer)
	return ok && m.shows() && w.Typing()
}

// tick keeps what moves by itself going.
func (m *Model) tick() tea.Cmd {
	if s, ok := m.screen().(screen.Mover); !ok || m.screens.ticking || !s.Playing() {
		return nil
	}
	m.screens.ticking = true
	return tea.Tick(time.Second/screen.TicksPerSecond, func(time.Time) tea.Msg { return tickMsg{} })
}

func (m *Model) ticked() tea.Cmd {
	m.screens.ticking = false
	if s, ok := m.screen().(screen.Mover); !ok || !s.Tick() {
		return nil
	}
	return m.tick()
}

// workedMsg brings the end of what a screen had computed.
type workedMsg struct{ finish func() }

// tickMsg moves a playback.
type tickMsg struct{}
