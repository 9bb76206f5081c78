package ui

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/launch"
	"meshscope/report/figure"
	"meshscope/ui/screens/explore"
	"meshscope/ui/state"
)

// choice is a search for a layout that is under way: for the one to open with, or for that of another
// model or machine. Meanwhile no figure is shown.
type choice struct {
	of     search.Begun
	note   string // what the setup came from; empty: it is what the program opens with
	serial int
	stop   context.CancelFunc
	held   []tea.Msg // what was typed and pasted meanwhile
}

// chosenMsg brings the layout that was found.
type chosenMsg struct {
	serial int
	setup  engine.Setup
	chosen *search.Chosen
	err    error
}

// choose searches for the layout of a setup that another one takes the place of; without a search it
// takes the setup at once. note says where it is from.
func (m *Model) choose(of search.Begun, note string) tea.Cmd {
	if of.Query == nil {
		if of.Err != nil {
			return m.do(notTaken(of.Err))
		}
		return m.do(state.Action{Verb: state.UseSetup, Setup: &of.Setup, Fixed: &of.Fixed, Text: note})
	}
	m.drop()
	return m.search(of, note)
}

// search begins a choice.
func (m *Model) search(of search.Begun, note string) tea.Cmd {
	ctx, stop := context.WithCancel(context.Background())
	m.choices++
	m.choosing = &choice{of: of, note: note, serial: m.choices, stop: stop}
	serial, workers, find := m.choices, runtime.GOMAXPROCS(0), m.options.find
	if m.options.Turns != nil {
		workers = 1
	}
	if find == nil {
		find = (*search.Begun).Choose
	}
	return m.guard(func() tea.Msg {
		defer m.options.takeTurn(ctx)()
		s, chosen, err := find(&of, ctx, workers)
		return chosenMsg{serial, s, chosen, err}
	})
}

// again searches for the layout of another model, machine or stack: what the reader has fixed stays,
// everything else is chosen anew.
func (m *Model) again(a state.Action) tea.Cmd {
	at := m.state
	if a.Setup != nil {
		at.Setup, at.Fixed = *a.Setup, *a.Fixed
	}
	if a.Cluster != nil && a.Cluster.Node() != at.Setup.Cluster.Node() && at.Fixed.Has(knob.Nodes) {
		at.Fixed = at.Fixed.Without(knob.Nodes).With(knob.GPUs) // which stay, in nodes of another size
	}
	draft, note := state.Again(&at, a)
	at.Fixed = at.Fixed.With(a.ID)
	of := search.Begun{Fixed: at.Fixed}
	if of.Setup, of.Err = draft.Resolve(); of.Err != nil {
		return m.do(notTaken(of.Err))
	}
	if of.Query, of.Err = search.Begin(draft, launch.Limit); of.Err != nil {
		return m.do(notTaken(of.Err))
	}
	return m.choose(of, note)
}

// drop ends a choice without taking what it has found.
func (m *Model) drop() {
	if m.choosing != nil {
		m.choosing.stop()
		m.choosing = nil
	}
}

// waits holds what is typed while a layout is searched, in its order: esc goes back, enter takes the best one
// so far unless something waits before it.
func (m *Model) waits(msg tea.Msg) tea.Cmd {
	c := m.choosing
	key, pressed := msg.(tea.KeyPressMsg)
	switch {
	case pressed && key.String() == "enter" && len(c.held) == 0:
		c.stop()
	case pressed && key.String() == "esc" && c.note != "":
		m.drop()
		text := "as it was: the search for a layout was stopped"
		if n := len(c.held); n > 0 {
			text += ", and " + typedWords(n) + " dropped"
		}
		return m.do(state.Action{Verb: state.Say, Tone: state.Answer, Text: text})
	default:
		c.held = append(c.held, msg)
	}
	return nil
}

// typedWords counts what was typed during a search.
func typedWords(n int) string {
	if n == 1 {
		return "the key typed meanwhile is"
	}
	return fmt.Sprintf("the %d keys typed meanwhile are", n)
}

// takeChosen takes the layout that was found, then what was typed meanwhile.
func (m *Model) takeChosen(msg chosenMsg) tea.Cmd {
	c := m.choosing
	if c == nil || msg.serial != c.serial {
		return nil
	}
	m.drop()
	var cmds []tea.Cmd
	switch {
	case c.note == "":
		cmds = append(cmds, m.openChosen(msg))
	case msg.err != nil:
		err := msg.err
		if n := len(c.held); n > 0 {
			err = fmt.Errorf("%w; %s dropped", err, typedWords(n))
		}
		return m.do(notTaken(err))
	default:
		cmds = append(cmds, m.do(m.chosenAction(c, &msg)))
	}
	for i, held := range c.held {
		if m.choosing != nil { // one of them began another search: the rest waits for that, enter and esc too
			m.choosing.held = append(m.choosing.held, c.held[i:]...)
			break
		}
		_, cmd := m.update(held)
		cmds = append(cmds, cmd)
	}
	return tea.Batch(cmds...)
}

// chosenAction takes a layout that was found for another model or machine, and says what it is.
func (m *Model) chosenAction(c *choice, msg *chosenMsg) state.Action {
	note := c.note
	if msg.chosen != nil {
		note += ", " + msg.chosen.Brief(figure.Comma)
	}
	if fixed := state.FixedWords(c.of.Fixed, &msg.setup); !strings.HasPrefix(note, fixed) {
		note += ", fixed: " + fixed
	}
	return state.Action{
		Verb: state.UseSetup, Setup: &msg.setup, Fixed: &c.of.Fixed, Text: note, Tone: chosenTone(msg.chosen),
	}
}

// chosenTone has it seen before all else where no layout fits: which machine would do is said nowhere else.
func chosenTone(c *search.Chosen) state.Tone {
	if c != nil && !c.Found {
		return state.Answer
	}
	return state.Plain
}

// openChosen opens with the layout that was found: there is nothing before it to go back to.
func (m *Model) openChosen(msg chosenMsg) tea.Cmd {
	if msg.setup != (engine.Setup{}) {
		m.state.Setup = msg.setup
	}
	m.evaluate()
	m.before = explore.Vital{}
	if m.legal.report.Legal {
		m.start.Setup = m.legal.setup
	}
	if len(m.options.Notices) == 0 && msg.chosen != nil {
		text := strings.TrimPrefix(m.options.Remark+"; "+msg.chosen.Words(figure.Comma), "; ")
		m.state.Note = state.Note{Text: text, Tone: chosenTone(msg.chosen)}
	}
	m.retargetSweep()
	return tea.Batch(m.slowCmd(), m.sweepCmd(), m.refreshScreen(), m.tick())
}
