package ui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/launch"
	"meshscope/report"
	"meshscope/ui/frame"
	"meshscope/ui/overlay"
	"meshscope/ui/screen"
	"meshscope/ui/screens/explore"
	"meshscope/ui/state"
)

// explorer is the Explore screen: the knobs and the panels. Its state is the program's
// own, and it draws the whole window.
type explorer struct{ *Model }

// Name returns the name of the tab.
func (explorer) Name() string { return "Explore" }

// ShowsIllegal says that the knobs can be turned while the setup cannot run.
func (explorer) ShowsIllegal() {}

// HasKnobs says that it shows all of them.
func (explorer) HasKnobs() {}

// Keys returns the key table; its footer has keys of the program too, in the order in which
// they are needed here.
func (x explorer) Keys(c *screen.Context) []screen.Key {
	m := x.Model
	lock, pages := "", ""
	if !state.HasLock(m.state.Focus) {
		lock = "nothing to fix here: f chooses GPUs or DP, micro-batches or global batch"
	}
	if m.state.Setup.PP < 2 {
		pages = "one pipeline rank only"
	}
	move := func(n int) func() screen.Request { return m.act(state.Action{Verb: state.MoveFocus, N: n}) }
	turn := func(n int) func() screen.Request { return m.act(state.Action{Verb: state.TurnKnob, N: n}) }
	page := func(n int) func() screen.Request { return m.act(state.Action{Verb: state.PageRanks, N: n}) }
	keys := []screen.Key{
		{ID: "up", Group: screen.Move, Keys: "up k", Help: "knob above", Blind: true, Ask: move(-1)},
		{ID: "down", Group: screen.Move, Keys: "down j", Help: "knob below", Blind: true, Ask: move(1)},
		{
			ID: "turn-down", Group: screen.Turn, Keys: "left h -",
			Help: "turn down to the next legal value", Blind: true,
			Ask: turn(-1),
		},
		{
			ID: "turn-up", Group: screen.Turn, Keys: "right l + =",
			Help: "turn up to the next legal value", Blind: true,
			Ask: turn(1),
		},
		{
			ID: "turn-down-far", Group: screen.Turn, Keys: "shift+left H",
			Help: "turn down by four legal values", Blind: true,
			Ask: turn(-bigStep),
		},
		{
			ID: "turn-up-far", Group: screen.Turn, Keys: "shift+right L",
			Help: "turn up by four legal values", Blind: true,
			Ask: turn(bigStep),
		},
		{ID: "first", Group: screen.Move, Keys: "home", Help: "first knob", Blind: true, Ask: move(-1 << 16)},
		{ID: "last", Group: screen.Move, Keys: "end G", Help: "last knob", Blind: true, Ask: move(1 << 16)},
		{
			Group: screen.Turn, Keys: "0 1 2 3 4 5 6 7 8 9",
			Help: "type a value, 16k is 16,384; enter takes it",
			Begin: func(digit string) screen.Request {
				return screen.Request{Cmd: m.do(state.Action{Verb: state.Type, Text: digit})}
			},
		},
		{
			Group: screen.Turn, Keys: "enter",
			Help:  "take the nearest legal value or the first fix; else type",
			Blind: m.fixes(),
			Ask:   m.fixIt,
		},
		{
			ID: "lock", Group: screen.Turn, Keys: "f",
			Help: "fix DP instead of GPUs, micro-batches instead of the global batch; and back", Off: lock,
			Blind: true, Ask: m.act(state.Action{Verb: state.FlipLock}),
		},
		{
			ID: "rank-up", Group: screen.Move, Keys: "[",
			Help: "earlier pipeline rank", Off: pages, Blind: true, Ask: page(-1),
		},
		{
			ID: "rank-down", Group: screen.Move, Keys: "]",
			Help: "later pipeline rank", Off: pages, Blind: true, Ask: page(1),
		},
		{
			ID: "ranks-up", Group: screen.Move, Keys: "pgup",
			Help: "four pipeline ranks earlier", Off: pages, Blind: true,
			Ask: page(-bigStep),
		},
		{
			ID: "ranks-down", Group: screen.Move, Keys: "pgdown",
			Help: "four pipeline ranks later", Off: pages, Blind: true,
			Ask: page(bigStep),
		},
		{
			ID: "note", Group: screen.Ask, Keys: "i",
			Help: "what the knob cuts and costs, and when to use it",
			Ask:  m.show(overlay.NoteID),
		},
	}
	if c == nil {
		return keys
	}
	return append(keys, m.exploreFoot()...)
}

// exploreFoot returns the rows of the footer.
func (m *Model) exploreFoot() []screen.Key {
	up, turn := "↑↓", "←→"
	if !m.look.glyphs.Unicode {
		up, turn = "up down", "left right"
	}
	var rows []screen.Key
	add := func(text, usual string, ids ...string) {
		rows = append(rows, screen.Key{Foot: m.shown(usual, ids...), Hint: text})
	}
	add("knob", up, "up", "down")
	add("turn", turn, "turn-down", "turn-up")
	add("type", "0-9")
	if m.pages() > 1 {
		add("ranks", "[ ]", "rank-up", "rank-down")
	}
	add("why", "i", "note")
	add("explain", "e", "explain")
	add(m.neighbour(1), "tab", "next-screen")
	if m.state.Past() > 0 {
		add("undo", "u", "undo")
	}
	add("advice", "a", "advice")
	add("model", "m", "model")
	add("cluster", "g", "cluster")
	if state.HasLock(m.state.Focus) {
		add(m.lockHint(), "f", "lock")
	}
	add("words", "w", "words")
	add("export", "x", "export")
	add("theme", "t", "theme")
	add("mouse", "M", "mouse")
	add("suspend", "ctrl+z", "suspend")
	return rows
}

// lockHint names the knob that the lock key would fix.
func (m *Model) lockHint() string {
	if m.state.Focus == knob.Seq {
		if m.state.Locks.Tokens {
			return "fix sequences"
		}
		return "fix tokens"
	}
	p, _ := knob.Find(state.Unfixed(m.state.Locks, m.state.Focus))
	return "fix " + p.Label
}

// Refresh asks for nothing: every action asks for what Explore needs.
func (explorer) Refresh(*screen.Context) screen.Request { return screen.Request{} }

// Status returns part of the foot that Explore draws itself.
func (explorer) Status(*screen.Context) string { return "" }

// Render draws the whole window.
func (x explorer) Render(*screen.Context) []string {
	lines, _ := x.explore(frame.Layout(x.caps.Width, x.caps.Height, x.content()))
	return lines
}

// Mouse takes a click on the knobs, or the wheel.
func (x explorer) Mouse(_ *screen.Context, cx, cy int, button string) (bool, screen.Request) {
	do := screen.Request{}
	switch button {
	case "left":
		do.Cmd = x.do(x.knobAt(cx, cy))
	case "wheelup":
		do.Cmd = x.wheel(cx, cy, -1)
	case "wheeldown":
		do.Cmd = x.wheel(cx, cy, 1)
	default:
		return false, do
	}
	return true, do
}

// sweep is the chart's data and the command that computes it.
type sweep struct {
	id         knob.ID
	points     []explore.Point
	current    int
	generation int
	pending    bool
	stop       context.CancelFunc

	prices []string // of what was assumed, of the setup with the serial
	serial int
}

// sweptMsg brings the sweep of a knob.
type sweptMsg struct {
	generation int
	serial     int // of the setup
	id         knob.ID
	explore.Swept
}

// sweepDelay lets a held key pass before the chart is computed.
const sweepDelay = 25 * time.Millisecond

// sweepCmd computes the focused knob at each of its legal values. An earlier
// one that still runs is stopped, and its answer is not taken.
func (m *Model) sweepCmd() tea.Cmd {
	if m.fromPresenter() {
		return nil
	}
	if m.sweep.stop != nil {
		m.sweep.stop()
	}
	ctx, stop := context.WithCancel(context.Background())
	m.sweep.stop = stop
	m.sweep.generation++
	m.sweep.pending = true
	generation, r := m.sweep.generation, &m.now.report
	// Read before the command starts: the next key press replaces the report.
	of := explore.Sweeping{
		Setup: m.state.Setup, Locks: m.state.Locks, Knob: m.state.Focus, Now: explore.PointOf(*r), Report: *r,
		Evaluate: m.options.Evaluate,
		Remedy:   m.options.Evaluate == nil && !m.state.Setup.Slow() && r.Memory != nil && !r.Memory.Fits,
	}
	serial := m.serial
	if m.sweep.serial != serial && m.options.Evaluate == nil {
		of.Priced = &engine.Report{Legal: r.Legal}
		if r.Time != nil {
			t := *r.Time
			of.Priced.Time = &t
		}
		of.Fixed, of.Accepts = m.state.Fixed, launch.AcceptsFrom(&m.state.Setup)
	}
	return m.guard(func() tea.Msg {
		defer stop()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(sweepDelay):
		}
		defer m.options.takeTurn(ctx)()
		found := of.Points(ctx)
		if ctx.Err() != nil {
			return nil
		}
		return sweptMsg{generation, serial, of.Knob, found}
	})
}

// retargetSweep keeps what the chart shows as far as it still holds: the
// values of the knob and the mark are known at once, figures follow.
func (m *Model) retargetSweep() {
	for i := range m.rows {
		if r := &m.rows[i]; r.ID == m.state.Focus {
			known := map[string]explore.Point{}
			if m.sweep.id == r.ID {
				for _, p := range m.sweep.points {
					known[p.Text] = p
				}
			}
			points := make([]explore.Point, 0, len(r.Values))
			for _, v := range r.Values {
				p := known[v]
				p.Text = v
				points = append(points, p)
			}
			m.sweep.id, m.sweep.points, m.sweep.current = r.ID, points, r.Current
		}
	}
}

func (m *Model) takeSweep(msg sweptMsg) {
	if msg.generation != m.sweep.generation {
		return // of a setup that is no longer current
	}
	m.sweep.id, m.sweep.points, m.sweep.current = msg.id, msg.Points, msg.Current
	m.sweep.pending = false
	m.remedies = msg.Remedies
	if m.sweep.serial != msg.serial {
		m.sweep.prices, m.sweep.serial, m.noEffect = report.EachPrice(msg.Prices), msg.serial, msg.NoEffect
	}
	m.follow()
}

// prices say what was assumed of the current setup; nothing while a question is open.
func (m *Model) prices() []string {
	if m.sweep.serial != m.serial || m.quizzed != "" || len(m.masked()) > 0 {
		return nil
	}
	return m.sweep.prices
}

// idle lists the knobs without effect; none while a question is open.
func (m *Model) idle() []engine.NoEffect {
	if m.quizzed != "" || len(m.masked()) > 0 {
		return nil
	}
	return m.noEffect
}

// noEffectKey tells lists of knobs without effect apart.
func (m *Model) noEffectKey() string {
	var b strings.Builder
	for _, n := range m.idle() {
		b.WriteString(n.Message)
	}
	return b.String()
}

func (m *Model) sweepState() int {
	switch {
	case m.quizzed != "":
		return 2
	case m.sweep.pending:
		return 1
	}
	return 0
}

// chart returns the sweep in the words of the chart panel.
func (m *Model) chart() explore.Sweep {
	s := explore.Sweep{
		Points: m.sweep.points, Current: m.sweep.current, Pending: m.sweep.pending,
		Asked: m.quizzed != "", Usable: m.state.Setup.Cluster.GPU.MemoryUsable,
	}
	for i := range m.rows {
		if r := &m.rows[i]; r.ID == m.sweep.id {
			s.Label, s.Brief = r.Label, r.Short
			shown := make([]explore.Point, len(s.Points))
			copy(shown, s.Points)
			for j := range shown {
				shown[j].Text = r.Brief(shown[j].Text)
			}
			s.Points = shown
		}
	}
	return s
}
