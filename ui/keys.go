package ui

import (
	"charm.land/bubbles/v2/key"

	"meshscope/engine"
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
	Theme, Mouse               key.Binding
	Help, Quit, Force, Suspend key.Binding
}

func newKeyMap() KeyMap {
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
		Theme:    bind("t", "next theme: auto, dark, light, no colour", "t"),
		Mouse:    bind("M", "mouse on or off (off: the terminal selects text)", "M"),
		Help:     bind("?", "all keys; type to search, enter runs", "?", ":", "f1"),
		Quit:     bind("q", "quit", "q"),
		Force:    bind("ctrl+c", "quit at once, from anywhere", "ctrl+c"),
		Suspend:  bind("ctrl+z", "suspend; fg comes back", "ctrl+z"),
	}
}

// entry is one line of the help: a binding, what it runs, and why it cannot
// run now (empty when it can).
type entry struct {
	binding key.Binding
	action  Action
	off     string
}

// bigStep is how many legal values the shifted arrows turn, and how many ranks
// the page keys scroll.
const bigStep = 4

// entries are all bindings in the order of the help list, with the actions
// they stand for in this state; fix is what enter does.
func (k *KeyMap) entries(s *State, fix Action) []entry {
	undo, redo, lock, pages := "", "", "", ""
	if s.past == nil {
		undo = "nothing to undo"
	}
	if s.future == nil {
		redo = "nothing to redo"
	}
	if !locked(s.Focus) {
		lock = "this knob has no lock"
	}
	if s.Setup.PP < 2 {
		pages = "one pipeline rank only"
	}
	return []entry{
		{k.Up, Action{Verb: MoveFocus, N: -1}, ""},
		{k.Down, Action{Verb: MoveFocus, N: 1}, ""},
		{k.Left, Action{Verb: TurnKnob, N: -1}, ""},
		{k.Right, Action{Verb: TurnKnob, N: 1}, ""},
		{k.BigLeft, Action{Verb: TurnKnob, N: -bigStep}, ""},
		{k.BigRight, Action{Verb: TurnKnob, N: bigStep}, ""},
		{k.First, Action{Verb: MoveFocus, N: -1 << 16}, ""},
		{k.Last, Action{Verb: MoveFocus, N: 1 << 16}, ""},
		{k.Type, Action{Verb: Type}, ""},
		{k.Fix, fix, ""},
		{k.Lock, Action{Verb: FlipLock}, lock},
		{k.Undo, Action{Verb: Undo}, undo},
		{k.Redo, Action{Verb: Redo}, redo},
		{k.Model, Action{Verb: Open, Screen: ModelOverlay}, ""},
		{k.Cluster, Action{Verb: Open, Screen: ClusterOverlay}, ""},
		{k.PageUp, Action{Verb: PageRanks, N: -1}, pages},
		{k.PageDown, Action{Verb: PageRanks, N: 1}, pages},
		{k.BigUp, Action{Verb: PageRanks, N: -bigStep}, pages},
		{k.BigDown, Action{Verb: PageRanks, N: bigStep}, pages},
		{k.NextTab, Action{Verb: NextTab, N: 1}, ""},
		{k.LastTab, Action{Verb: NextTab, N: -1}, ""},
		{k.Theme, Action{Verb: NextTheme}, ""},
		{k.Mouse, Action{Verb: ToggleMouse}, ""},
		{k.Help, Action{Verb: Open, Screen: HelpOverlay}, ""},
		{k.Suspend, Action{Verb: Suspend}, ""},
		{k.Quit, Action{Verb: Quit}, ""},
		{k.Force, Action{Verb: Interrupt}, ""},
	}
}

// locked says whether a knob takes part in one of the locks.
func locked(id engine.ParamID) bool {
	switch id {
	case "gpus", "nodes", "dp", "tp", "pp", "cp", "mbs", "microbatches", "gbs":
		return true
	}
	return false
}

// Keys is the key table of the documentation: key and meaning, in the order of
// the help list.
func Keys() [][2]string {
	k := newKeyMap()
	table := make([][2]string, 0, 24)
	for _, e := range k.entries(&State{}, Action{}) {
		h := e.binding.Help()
		table = append(table, [2]string{h.Key, h.Desc})
	}
	return table
}
