package screen

import (
	"slices"
	"strings"

	"meshscope/ui/widget"
)

// Key is one row of a key table: an action, or a pair of opposite ones.
type Key struct {
	// ID names the action in a file of keys; a pair has two names with a blank between.
	// Empty: it always has the same keys.
	ID string
	// Keys are the built-in keys by Bubble Tea's names, with blanks between; those of a
	// pair with a bar between: "up k | down j".
	Keys string
	Help string // its description; empty: that of the row above
	Hint string // the same in a word or two for the footer; empty: it is not there
	Foot string // how the footer writes the keys; empty: by their names
	// When tells whether the keys do this now; nil: always.
	When func() bool
	// Do does it: the first action of a pair with -1, the second and a single one with 1.
	// A row with neither Do nor Ask is a key of the program that the footer names here.
	Do func(n int)
	// Ask does it, in place of Do, where it asks something of the program.
	Ask func() Request
	// Begin does it, in place of Do, where it matters which of the keys it is: one that
	// begins a text.
	Begin func(key string) Request

	Group Group    // its part of the list of keys; empty: the screen's
	Off   string   // why it would do nothing now; empty: it does
	Also  []string // other words that the list of keys is searched by
	Blind bool     // it works where the window is too small to show the screen
}

// Group is a part of the list of keys.
type Group string

// Groups are the parts of the list of keys, in its order; the keys of a screen come first.
const (
	Move    Group = "move"
	Turn    Group = "turn"
	Ask     Group = "ask"
	Screens Group = "screens"
	Export  Group = "export"
	Class   Group = "class"
	Lessons Group = "lessons"
	Program Group = "program"
)

// Groups returns the parts of the list of keys.
func Groups() []Group {
	return []Group{"", Move, Turn, Ask, Screens, Export, Class, Lessons, Program}
}

// half is one side of a row: its name in a file of keys, and its keys.
type half struct {
	id   string
	keys []string
}

// halves returns the sides of a row, one or two, with the user's own keys.
func (k *Key) halves(own map[string][]string) []half {
	first, second, pair := strings.Cut(k.Keys, " | ")
	a, b, _ := strings.Cut(k.ID, " ")
	out := []half{{a, strings.Fields(first)}}
	if pair {
		out = append(out, half{b, strings.Fields(second)})
	}
	for i := range out {
		if keys := own[out[i].id]; len(keys) > 0 && out[i].id != "" {
			out[i].keys = keys
		}
	}
	return out
}

// Changed reports whether the user has given the row other keys.
func (k *Key) Changed(own map[string][]string) bool {
	a, b, _ := strings.Cut(k.ID, " ")
	return k.ID != "" && (len(own[a]) > 0 || len(own[b]) > 0)
}

// own reports whether the screen handles the keys itself.
func (k *Key) own() bool { return k.Do != nil || k.Ask != nil || k.Begin != nil }

func (k *Key) now() bool { return k.When == nil || k.When() }

// Press gives a key to a screen; handled is false where it has no use for it.
func Press(s Screen, c *Context, name string) (handled bool, do Request) {
	if w, ok := s.(Writer); ok && w.Typing() {
		if do = w.Type(c, name); do.none() {
			do = s.Refresh(c)
		}
		return true, do
	}
	k, n := Find(s.Keys(c), c.Own, name)
	if k == nil {
		return false, Request{}
	}
	if do = k.Run(n, name); do.none() { // what it changed may want something computed
		do = s.Refresh(c)
	}
	return true, do
}

// Find returns the row that a key belongs to at the moment and in which direction it
// goes; nil: none.
func Find(keys []Key, own map[string][]string, name string) (*Key, int) {
	for i := range keys {
		k := &keys[i]
		n := 1
		for _, h := range slices.Backward(k.halves(own)) {
			if slices.Contains(h.keys, name) && k.own() && k.now() {
				return k, n
			}
			n = -1
		}
	}
	return nil, 0
}

// Run does what a row says, for one of its keys.
func (k *Key) Run(n int, name string) Request {
	switch {
	case k.Ask != nil:
		return k.Ask()
	case k.Begin != nil:
		return k.Begin(name)
	}
	k.Do(n)
	return Request{}
}

// Hints returns the footer of a screen.
func Hints(s Screen, c *Context) []widget.Hint {
	if w, ok := s.(Writer); ok && w.Typing() {
		return w.Prompt()
	}
	return HintsOf(s.Keys(c), c.Own, c.Glyphs)
}

// HintsOf returns the keys of the moment with a word or two, best first.
func HintsOf(keys []Key, own map[string][]string, g widget.Glyphs) []widget.Hint {
	var out []widget.Hint
	ascii := strings.NewReplacer()
	if !g.Unicode {
		ascii = strings.NewReplacer("↑↓", "j/k", "←→", "h/l")
	}
	for i := range keys {
		k := &keys[i]
		if k.Hint == "" || !k.now() {
			continue
		}
		shown := ascii.Replace(k.Foot)
		if shown == "" || k.Changed(own) {
			var names []string
			for _, h := range k.halves(own) {
				names = append(names, h.keys[0])
			}
			shown = strings.Join(names, "/")
		}
		out = append(out, widget.Hint{Key: shown, Text: k.Hint})
	}
	return out
}

// Listed returns the rows of the moment that the help lists.
func Listed(keys []Key) []Key {
	return slices.DeleteFunc(keys, func(k Key) bool { return !k.own() || k.Help == "" || !k.now() })
}

// Names returns the keys of a row: the ones that represent an action come first.
func (k *Key) Names(own map[string][]string) []string {
	var names, rest []string
	for _, h := range k.halves(own) {
		names = append(names, h.keys[0])
		rest = append(rest, h.keys[1:]...)
	}
	return append(names, rest...)
}

// Shown returns how the help writes the keys of a row: two of them, or from the first to the
// last of many; the others mean the same.
func (k *Key) Shown(own map[string][]string, g widget.Glyphs) string {
	names := k.Names(own)
	text := strings.Join(names[:min(2, len(names))], " ")
	if len(names) > 8 {
		text = names[0] + "…" + names[len(names)-1]
	}
	if g.Unicode {
		return strings.NewReplacer("left", "←", "right", "→", "up", "↑", "pgup", "pgup", "pgdown",
			"pgdn", "down", "↓").Replace(text)
	}
	return strings.ReplaceAll(text, "…", "-")
}

// Action is one action of a screen as a file of keys names it.
type Action struct {
	ID   string
	Keys []string // built-in
	Help string
}

// Actions returns all actions of a key table, of every mode, in its order. An action that
// several rows share is there once.
func Actions(keys []Key) []Action {
	var out []Action
	for i := range keys {
		for _, h := range keys[i].halves(nil) {
			if h.id != "" && !slices.ContainsFunc(out, func(a Action) bool { return a.ID == h.id }) {
				out = append(out, Action{ID: h.id, Keys: h.keys, Help: keys[i].Help})
			}
		}
	}
	return out
}
