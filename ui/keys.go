package ui

import (
	"charm.land/bubbles/v2/key"

	"meshscope/ui/overlay"
	"meshscope/ui/state"
)

// KeyMap is every key of the program with its words. There is one, made by
// newKeyMap; help line, help list and the README's table come from it.
type KeyMap struct {
	Up, Down, Left, Right      key.Binding
	BigLeft, BigRight          key.Binding
	First, Last                key.Binding
	Type, Fix                  key.Binding
	Lock                       key.Binding
	Undo, Redo                 key.Binding
	Model, Cluster             key.Binding
	PageUp, PageDown           key.Binding
	BigUp, BigDown             key.Binding
	NextTab, LastTab           key.Binding
	Explain, Note, Search, Run key.Binding
	Advice                     key.Binding
	Pin, Compare               key.Binding
	Copy, Export               key.Binding
	Words, Marks               key.Binding
	Theme, Mouse, Dismiss      key.Binding
	Terminal                   key.Binding
	Help, Quit, Force, Suspend key.Binding

	own map[string]bool // bindings that a file has changed, by their words
}

// newKeyMap is the built-in keys, with those of a file in their place.
func newKeyMap(own map[string][]string) KeyMap {
	k := builtInKeys()
	k.rebind(own)
	return k
}

func builtInKeys() KeyMap {
	bind := func(shown, what string, keys ...string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, what))
	}
	return KeyMap{
		Up:       bind("↑ k", "knob above", "up", "k"),
		Down:     bind("↓ j", "knob below", "down", "j"),
		Left:     bind("← h", "turn down to the next legal value", "left", "h", "-"),
		Right:    bind("→ l", "turn up to the next legal value", "right", "l", "+", "="),
		BigLeft:  bind("shift+← H", "turn down by four legal values", "shift+left", "H"),
		BigRight: bind("shift+→ L", "turn up by four legal values", "shift+right", "L"),
		First:    bind("home", "first knob", "home"),
		Last:     bind("end G", "last knob", "end", "G"),
		Type:     bind("0…9", "type a value, 16k is 16,384; enter takes it", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
		Fix:      bind("enter", "take the nearest legal value or what fits; else type", "enter"),
		Lock:     bind("f", "flip who follows: GPUs or DP, batch or micro-batches", "f"),
		Undo:     bind("u", "undo the last change", "u"),
		Redo:     bind("U ctrl+r", "do it again", "U", "ctrl+r"),
		Model:    bind("m", "choose the model", "m"),
		Cluster:  bind("g", "choose the cluster or GPU", "g"),
		PageUp:   bind("[", "earlier pipeline rank", "["),
		PageDown: bind("]", "later pipeline rank", "]"),
		BigUp:    bind("pgup", "four pipeline ranks earlier", "pgup"),
		BigDown:  bind("pgdn", "four pipeline ranks later", "pgdown"),
		NextTab:  bind("tab", "next screen", "tab"),
		LastTab:  bind("shift+tab", "screen before", "shift+tab"),
		Explain:  bind("e", "explain a figure: formula, numbers, source", "e"),
		Note:     bind("i", "what the knob cuts and costs, and when to use it", "i"),
		Run:      bind("r", "the whole run: days, GPU-hours, cost, energy", "r"),
		Advice:   bind("a A", "advice: why it does not fit or is slow, what to turn", "a", "A"),
		Words:    bind("w", "glossary: what the words on the screen mean", "w"),
		Marks:    bind("W", "underline the words of the glossary, or not", "W"),
		Pin:      bind("p", "pin the setup, to compare others with", "p"),
		Compare:  bind("c", "compare a pinned setup with another", "c"),
		Search:   bind("s", "search: the best layouts, ranked", "s"),
		Copy:     bind("y", "copy the command line that gives this setup", "y"),
		Export:   bind("x", "write the figures to a file: CSV, Markdown, JSON", "x"),
		Theme:    bind("t", "next theme; auto follows the terminal", "t"),
		Mouse:    bind("M", "mouse on or off (off: the terminal selects text)", "M"),
		Terminal: bind("T", "what was found out about this terminal", "T"),
		Dismiss:  bind("esc", "close what is open; put hint and message away", "esc"),
		Help:     bind("?", "all keys; type to search, enter runs", "?", ":", "/", "f1"),
		Quit:     bind("q", "quit", "q"),
		Force:    bind("ctrl+c", "quit at once, from anywhere", "ctrl+c"),
		Suspend:  bind("ctrl+z", "suspend; fg comes back", "ctrl+z"),
	}
}

// entry is one line of the help: a binding, what it runs, and why it cannot
// run now (empty when it can).
type entry struct {
	binding key.Binding
	action  state.Action
	own     bool     // a file of keys has changed it
	press   string   // a key of the screen in front, in place of an action
	also    []string // other words that the list is searched by
	off     string
}

// bigStep is how many legal values the shifted arrows turn, and how many ranks
// the page keys scroll.
const bigStep = 4

// entries are all bindings in the order of the help list, with the actions
// they stand for in this state; fix is what enter does.
func (k *KeyMap) entries(s *state.State, fix state.Action) []entry {
	undo, redo, lock, pages := "", "", "", ""
	if s.Past() == 0 {
		undo = "nothing to undo"
	}
	if s.Future() == 0 {
		redo = "nothing to redo"
	}
	if !state.HasLock(s.Focus) {
		lock = "this knob has no lock"
	}
	if s.Setup.PP < 2 {
		pages = "one pipeline rank only"
	}
	return []entry{
		{binding: k.Up, action: state.Action{Verb: state.MoveFocus, N: -1}},
		{binding: k.Down, action: state.Action{Verb: state.MoveFocus, N: 1}},
		{binding: k.Left, action: state.Action{Verb: state.TurnKnob, N: -1}},
		{binding: k.Right, action: state.Action{Verb: state.TurnKnob, N: 1}},
		{binding: k.BigLeft, action: state.Action{Verb: state.TurnKnob, N: -bigStep}},
		{binding: k.BigRight, action: state.Action{Verb: state.TurnKnob, N: bigStep}},
		{binding: k.First, action: state.Action{Verb: state.MoveFocus, N: -1 << 16}},
		{binding: k.Last, action: state.Action{Verb: state.MoveFocus, N: 1 << 16}},
		{binding: k.Type, action: state.Action{Verb: state.Type}},
		{binding: k.Fix, action: fix},
		{binding: k.Lock, action: state.Action{Verb: state.FlipLock}, off: lock},
		{binding: k.Undo, action: state.Action{Verb: state.Undo}, off: undo},
		{binding: k.Redo, action: state.Action{Verb: state.Redo}, off: redo},
		{binding: k.Model, action: state.Action{Verb: state.Open, Overlay: overlay.ModelID}},
		{binding: k.Cluster, action: state.Action{Verb: state.Open, Overlay: overlay.ClusterID}},
		{binding: k.PageUp, action: state.Action{Verb: state.PageRanks, N: -1}, off: pages},
		{binding: k.PageDown, action: state.Action{Verb: state.PageRanks, N: 1}, off: pages},
		{binding: k.BigUp, action: state.Action{Verb: state.PageRanks, N: -bigStep}, off: pages},
		{binding: k.BigDown, action: state.Action{Verb: state.PageRanks, N: bigStep}, off: pages},
		{binding: k.NextTab, action: state.Action{Verb: state.NextTab, N: 1}},
		{binding: k.LastTab, action: state.Action{Verb: state.NextTab, N: -1}},
		{binding: k.Explain, action: state.Action{Verb: state.Open, Overlay: overlay.FiguresID}},
		{binding: k.Note, action: state.Action{Verb: state.Open, Overlay: overlay.NoteID}},
		{binding: k.Run, action: state.Action{Verb: state.Open, Overlay: overlay.RunID}},
		{binding: k.Advice, action: state.Action{Verb: state.Open, Overlay: overlay.AdviceID}, also: adviceWords()},
		{binding: k.Words, action: state.Action{Verb: state.Open, Overlay: overlay.GlossaryID}},
		{binding: k.Marks, action: state.Action{Verb: state.ToggleWords}},
		{binding: k.Pin, action: state.Action{Verb: state.Pin}},
		{binding: k.Compare, action: state.Action{Verb: state.GoTab, N: int(state.CompareTab)}},
		{binding: k.Search, action: state.Action{Verb: state.GoTab, N: int(state.SearchTab)}},
		{binding: k.Copy, action: state.Action{Verb: state.Copy}},
		{binding: k.Export, action: state.Action{Verb: state.Open, Overlay: overlay.ExportID}},
		{binding: k.Theme, action: state.Action{Verb: state.NextTheme}},
		{binding: k.Mouse, action: state.Action{Verb: state.ToggleMouse}},
		{binding: k.Terminal, action: state.Action{Verb: state.Open, Overlay: overlay.TerminalID}},
		{binding: k.Dismiss, action: state.Action{Verb: state.Dismiss}},
		{binding: k.Help, action: state.Action{Verb: state.Open, Overlay: overlay.HelpID}},
		{binding: k.Suspend, action: state.Action{Verb: state.Suspend}},
		{binding: k.Quit, action: state.Action{Verb: state.Quit}},
		{binding: k.Force, action: state.Action{Verb: state.Interrupt}},
	}
}

// adviceWords are what else people call advice.
func adviceWords() []string {
	return []string{"advise", "why does it not fit", "how to make it fit", "fix", "remedy", "what to turn", "bottleneck", "faster", "tornado", "sensitivity", "each knob alone", "rules of thumb"}
}

// everywhere are the bindings that mean the same on every screen, where the
// screen has no use of its own for the key.
func (k *KeyMap) everywhere() []key.Binding {
	return []key.Binding{
		k.NextTab, k.LastTab, k.Help, k.Quit, k.Undo, k.Redo, k.Model, k.Cluster, k.Explain, k.Run, k.Advice, k.Words, k.Marks, k.Copy, k.Export, k.Theme, k.Mouse, k.Terminal, k.Dismiss, k.Fix, k.Suspend, k.Force,
		k.Search, k.Pin, k.Compare,
	}
}

// Keys is the key table of the documentation: key and meaning, in the order of
// the help list.
func Keys() [][2]string {
	k := newKeyMap(nil)
	table := make([][2]string, 0, 24)
	for _, e := range k.entries(&state.State{}, state.Action{}) {
		h := e.binding.Help()
		table = append(table, [2]string{h.Key, h.Desc})
	}
	return table
}
