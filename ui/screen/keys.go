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
	Help string // what it does; empty: the row above says it
	Hint string // the same in a word or two for the footer; empty: it is not there
	Foot string // how the footer writes the keys; empty: by their names
	// When tells whether the keys do this now; nil: always.
	When func() bool
	// Do does it: the first action of a pair with -1, the second and a single one with 1.
	// A row with neither Do nor Ask is a key of the program that the footer names here.
	Do func(n int)
	// Ask does it, in place of Do, where it asks something of the program.
	Ask func() Request
}

// half is one side of a row: its name in a file of keys, and its keys.
type half struct {
	id   string
	keys []string
}

// halves are the sides of a row, one or two, with the user's own keys.
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

// changed reports whether the user has given the row other keys.
func (k *Key) changed(own map[string][]string) bool {
	a, b, _ := strings.Cut(k.ID, " ")
	return k.ID != "" && (len(own[a]) > 0 || len(own[b]) > 0)
}

// own reports whether the screen handles the keys itself.
func (k *Key) own() bool { return k.Do != nil || k.Ask != nil }

func (k *Key) now() bool { return k.When == nil || k.When() }

// Press gives a key to a screen; handled is false where it has no use for it.
func Press(s Screen, c *Context, name string) (handled bool, do Request) {
	if w, ok := s.(Writer); ok && w.Typing() {
		if do = w.Type(c, name); do.none() {
			do = s.Refresh(c)
		}
		return true, do
	}
	keys := s.Keys(c)
	for i := range keys {
		k := &keys[i]
		n := 1
		for _, h := range slices.Backward(k.halves(c.Own)) {
			if slices.Contains(h.keys, name) && k.own() && k.now() {
				return true, k.run(s, c, n)
			}
			n = -1
		}
	}
	return false, Request{}
}

// run does what a row says. Whatever it changed may want something worked out.
func (k *Key) run(s Screen, c *Context, n int) (do Request) {
	if k.Ask != nil {
		do = k.Ask()
	} else {
		k.Do(n)
	}
	if do.none() {
		do = s.Refresh(c)
	}
	return do
}

// Hints are the footer: the keys of the moment with a word or two, best first.
func Hints(s Screen, c *Context) []widget.Hint {
	if w, ok := s.(Writer); ok && w.Typing() {
		return w.Prompt()
	}
	var out []widget.Hint
	ascii := strings.NewReplacer()
	if !c.Glyphs.Unicode {
		ascii = strings.NewReplacer("↑↓", "j/k", "←→", "h/l")
	}
	keys := s.Keys(c)
	for i := range keys {
		k := &keys[i]
		if k.Hint == "" || !k.now() {
			continue
		}
		shown := ascii.Replace(k.Foot)
		if shown == "" || k.changed(c.Own) {
			var names []string
			for _, h := range k.halves(c.Own) {
				names = append(names, h.keys[0])
			}
			shown = strings.Join(names, "/")
		}
		out = append(out, widget.Hint{Key: shown, Text: k.Hint})
	}
	return out
}

// Bindings are the keys of the moment as the help lists them: the keys that stand for
// an action come first.
func Bindings(s Screen, c *Context) []widget.Binding {
	var out []widget.Binding
	keys := s.Keys(c)
	for i := range keys {
		if k := &keys[i]; k.own() && k.Help != "" && k.now() {
			out = append(out, k.binding(c.Own))
		}
	}
	return out
}

func (k *Key) binding(own map[string][]string) widget.Binding {
	b := widget.Binding{Text: k.Help, Own: k.changed(own)}
	var rest []string
	for _, h := range k.halves(own) {
		b.Keys = append(b.Keys, h.keys[0])
		rest = append(rest, h.keys[1:]...)
	}
	b.Keys = append(b.Keys, rest...)
	return b
}

// Action is one action of a screen as a file of keys names it.
type Action struct {
	ID   string
	Keys []string // built-in
	Help string
}

// Actions are all actions of a screen, of every mode, in the order of its table. An
// action that several rows share is there once.
func Actions(s Screen) []Action {
	var out []Action
	keys := s.Keys(nil)
	for i := range keys {
		for _, h := range keys[i].halves(nil) {
			name := strings.ToLower(s.Name()) + "." + h.id
			if h.id != "" && !slices.ContainsFunc(out, func(a Action) bool { return a.ID == name }) {
				out = append(out, Action{ID: name, Keys: h.keys, Help: keys[i].Help})
			}
		}
	}
	return out
}
