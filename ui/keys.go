package ui

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"

	"meshscope/ui/keyfile"
	"meshscope/ui/overlay"
	"meshscope/ui/screen"
	"meshscope/ui/state"
)

// bigStep is how many legal values the shifted arrows turn, and how many ranks
// the page keys scroll.
const bigStep = 4

// act returns the request of a key that makes an action.
func (m *Model) act(a state.Action) func() screen.Request {
	return func() screen.Request { return screen.Request{Cmd: m.do(a)} }
}

// show opens an overlay.
func (m *Model) show(id overlay.ID) func() screen.Request {
	return m.act(state.Action{Verb: state.Open, Overlay: id})
}

// programKeys returns the keys that mean the same on every screen which has no use of its
// own for them. The keys that open a screen come from the screen.
func (m *Model) programKeys() []screen.Key {
	undo, redo := "", ""
	if m.state.Past() == 0 {
		undo = "nothing to undo"
	}
	if m.state.Future() == 0 {
		redo = "nothing to redo"
	}
	keys := []screen.Key{
		{
			ID: "undo", Group: screen.Turn, Keys: "u", Help: "undo the last change", Off: undo, Blind: true,
			Ask: m.act(state.Action{Verb: state.Undo}),
		},
		{
			ID: "redo", Group: screen.Turn, Keys: "U ctrl+r",
			Help: "redo the undone change", Off: redo, Blind: true,
			Ask: m.act(state.Action{Verb: state.Redo}),
		},
		{ID: "model", Group: screen.Turn, Keys: "m", Help: "choose the model", Ask: m.show(overlay.ModelID)},
		{
			ID: "cluster", Group: screen.Turn, Keys: "g",
			Help: "choose the cluster or GPU", Ask: m.show(overlay.ClusterID),
		},
		{
			ID: "next-screen", Group: screen.Screens, Keys: "tab", Help: "next screen", Blind: true,
			Ask: m.act(state.Action{Verb: state.NextTab, N: 1}),
		},
		{
			ID: "last-screen", Group: screen.Screens, Keys: "shift+tab", Help: "previous screen", Blind: true,
			Ask: m.act(state.Action{Verb: state.NextTab, N: -1}),
		},
		{
			ID: "explain", Group: screen.Ask, Keys: "e", Help: "explain a figure: formula, numbers, source",
			Ask: m.show(overlay.FiguresID),
		},
		{
			ID: "run", Group: screen.Ask, Keys: "r", Help: "the whole run: days, GPU-hours, cost, energy",
			Also: []string{"days", "cost", "price", "energy", "tokens", "budget"},
			Ask:  m.show(overlay.RunID),
		},
		{
			ID: "advice", Group: screen.Ask, Keys: "a A",
			Help: "advice: why it does not fit or is slow, and what to change",
			Also: adviceWords(), Ask: m.show(overlay.AdviceID),
		},
		{
			ID: "report", Group: screen.Ask, Keys: "R",
			Help: "page to decide by: fit, step, cost, alternatives; x writes it as HTML or Markdown",
			Also: []string{"report", "decision", "ticket", "cost", "days", "summary"},
			Ask:  m.show(overlay.ReportID),
		},
		{
			ID: "words", Group: screen.Ask, Keys: "w", Help: "glossary of the words on the screen",
			Ask: m.show(overlay.GlossaryID),
		},
		{
			ID: "marks", Group: screen.Ask, Keys: "W", Help: "underline glossary words, or not", Blind: true,
			Ask: m.act(state.Action{Verb: state.ToggleWords}),
		},
		{
			ID: "pin", Group: screen.Screens, Keys: "p", Help: "pin the setup, to compare others with",
			Ask: m.act(state.Action{Verb: state.Pin}),
		},
	}
	for i, s := range m.screens.all {
		if o, ok := s.(screen.Opener); ok {
			by := o.Opens()
			keys = append(keys, screen.Key{
				ID: by.ID, Group: screen.Screens, Keys: by.Keys, Help: by.Help, Blind: true,
				Ask: m.act(state.Action{Verb: state.GoTab, N: i}),
			})
		}
	}
	keys = append(keys, m.stripKeys()...)
	return append(keys, []screen.Key{
		{
			ID: "copy", Group: screen.Export, Keys: "y", Help: "copy the command line that gives this setup",
			Also: []string{"command", "clipboard", "share"}, Ask: m.act(state.Action{Verb: state.Copy}),
		},
		{
			ID: "export", Group: screen.Export, Keys: "x",
			Help: "write figures, a picture, a trace or a launcher's file",
			Also: []string{"launch", "svg", "perfetto", "slurm", "megatron"}, Ask: m.show(overlay.ExportID),
		},
		{
			ID: "theme", Group: screen.Program, Keys: "t",
			Help: "next theme; auto follows the terminal", Blind: true,
			Ask: m.act(state.Action{Verb: state.NextTheme}),
		},
		{
			ID: "mouse", Group: screen.Program, Keys: "M",
			Help: "mouse on or off (off: the terminal selects text)", Blind: true,
			Ask: m.act(state.Action{Verb: state.ToggleMouse}),
		},
		{
			ID: "quiz", Group: screen.Lessons, Keys: "P",
			Help: "ask before each change: the peak, then the step, then nothing",
			Also: []string{"predict", "exercise", "lesson", "learn"},
			Ask:  func() screen.Request { return screen.Request{Cmd: m.quiz()} },
		},
		{
			ID: "lesson", Group: screen.Lessons, Keys: "B",
			Help: "back to the question of the lesson", When: m.hasLesson,
			Blind: true,
			Ask:   func() screen.Request { return screen.Request{Cmd: m.backToLesson()} },
		},
		{
			ID: "rejoin", Group: screen.Class, Keys: "F", Help: "back to what the presenter shows",
			When: func() bool { return m.desk != nil && m.desk.Forked }, Blind: true,
			Ask: func() screen.Request { return screen.Request{Cmd: m.rejoin()} },
		},
		{
			ID: "terminal", Group: screen.Program, Keys: "T", Help: "what this terminal can do, as detected",
			Ask: m.show(overlay.TerminalID),
		},
		{
			Group: screen.Turn, Keys: "enter", Help: "take the nearest legal value or the first fix",
			When: m.fixes, Blind: true,
			Ask: m.fixIt,
		},
		{
			Group: screen.Program, Keys: "esc", Help: "close the overlay; dismiss hint and message",
			Blind: true,
			Ask:   m.act(state.Action{Verb: state.Dismiss}),
		},
		{
			ID: "help", Group: screen.Program, Keys: "? : / f1", Help: "all keys; type to search, enter runs",
			Ask: m.show(overlay.HelpID),
		},
		{
			ID: "suspend", Group: screen.Program, Keys: "ctrl+z", Help: "suspend; fg comes back", Blind: true,
			Ask: m.act(state.Action{Verb: state.Suspend}),
		},
		{
			ID: "quit", Group: screen.Program, Keys: "q",
			Help: "quit", Blind: true, Ask: m.act(state.Action{Verb: state.Quit}),
		},
		{
			Group: screen.Program, Keys: "ctrl+c", Help: "quit at once, from anywhere", Blind: true,
			Ask: m.act(state.Action{Verb: state.Interrupt}),
		},
	}...)
}

// fixes reports whether enter has something to set.
func (m *Model) fixes() bool { return m.fixAction().Verb != state.Type }

// fixIt returns what enter does, as it is when the key comes.
func (m *Model) fixIt() screen.Request { return screen.Request{Cmd: m.do(m.fixAction())} }

// adviceWords returns what else people call advice.
func adviceWords() []string {
	return []string{
		"advise", "oom", "out of memory", "guide", "why does it not fit", "how to make it fit",
		"fix", "remedy", "what to turn", "bottleneck", "faster", "tornado", "sensitivity", "each knob alone",
		"rules of thumb",
	}
}

// binding returns the key of an action of the program or of Explore.
func (m *Model) binding(id string) key.Binding {
	for _, k := range slices.Concat(m.programKeys(), m.screens.all[state.ExploreTab].Keys(nil)) {
		if k.ID == id {
			return key.NewBinding(key.WithKeys(k.Names(m.options.Keys)...),
				key.WithHelp(k.Shown(m.options.Keys, m.look.glyphs), k.Help))
		}
	}
	return key.Binding{}
}

// shown returns the text for actions in a line of keys: the usual one, or the first key of
// each where a file has changed one of them.
func (m *Model) shown(usual string, ids ...string) string {
	if !slices.ContainsFunc(ids, func(id string) bool { return len(m.options.Keys[id]) > 0 }) {
		return usual
	}
	var keys []string
	for _, id := range ids {
		keys = append(keys, m.binding(id).Keys()[0])
	}
	return strings.Join(keys, " ")
}

// Tables returns all key tables: of the program, and of each screen with its name. The
// actions of Explore are the program's own in a file of keys, those of another screen
// begin with its name.
func Tables() []Table {
	m := New(Options{})
	all := []Table{{Name: "everywhere", Actions: screen.Actions(m.programKeys())}}
	for i, s := range m.screens.all {
		t := Table{Name: s.Name(), Actions: screen.Actions(s.Keys(nil))}
		if state.Tab(i) != state.ExploreTab {
			for j := range t.Actions {
				t.Actions[j].ID = prefix(s) + t.Actions[j].ID
			}
		}
		all = append(all, t)
	}
	return all
}

// Table is one key table as a file of keys and the documentation have it.
type Table struct {
	Name    string
	Actions []screen.Action
}

// prefix begins the names of a screen's actions in a file of keys.
func prefix(s screen.Screen) string { return strings.ToLower(s.Name()) + "." }

// ownKeys returns the user's keys for a screen, by the names that its table has.
func (m *Model) ownKeys(tab state.Tab) map[string][]string {
	if tab == state.ExploreTab || len(m.options.Keys) == 0 {
		return m.options.Keys
	}
	own := map[string][]string{}
	for id, keys := range m.options.Keys {
		if rest, ok := strings.CutPrefix(id, prefix(m.screens.all[tab])); ok {
			own[rest] = keys
		}
	}
	return own
}

// Actions returns the actions that a file of keys can rebind, with the built-in keys.
func Actions() []keyfile.Action {
	var all []keyfile.Action
	for i, t := range Tables() {
		group := t.Name
		if i < 2 { // Explore shares the keys of the program
			group = ""
		}
		for _, a := range t.Actions {
			all = append(all, keyfile.Action{Name: a.ID, Keys: a.Keys, Group: group})
		}
	}
	return all
}
