package ui

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"

	"meshscope/ui/keyfile"
)

// named is a binding that a file of keys can change, under the name it has there.
type named struct {
	name    string
	binding *key.Binding
}

// changeable are the bindings with names, in the order of the help. Digits, enter,
// esc and ctrl+c always do the same.
func (k *KeyMap) changeable() []named {
	return []named{
		{"up", &k.Up},
		{"down", &k.Down},
		{"turn-down", &k.Left},
		{"turn-up", &k.Right},
		{"turn-down-far", &k.BigLeft},
		{"turn-up-far", &k.BigRight},
		{"first", &k.First},
		{"last", &k.Last},
		{"lock", &k.Lock},
		{"undo", &k.Undo},
		{"redo", &k.Redo},
		{"model", &k.Model},
		{"cluster", &k.Cluster},
		{"rank-up", &k.PageUp},
		{"rank-down", &k.PageDown},
		{"ranks-up", &k.BigUp},
		{"ranks-down", &k.BigDown},
		{"next-screen", &k.NextTab},
		{"last-screen", &k.LastTab},
		{"explain", &k.Explain},
		{"note", &k.Note},
		{"run", &k.Run},
		{"advice", &k.Advice},
		{"words", &k.Words},
		{"marks", &k.Marks},
		{"search", &k.Search},
		{"pin", &k.Pin},
		{"compare", &k.Compare},
		{"copy", &k.Copy},
		{"export", &k.Export},
		{"theme", &k.Theme},
		{"mouse", &k.Mouse},
		{"terminal", &k.Terminal},
		{"help", &k.Help},
		{"suspend", &k.Suspend},
		{"quit", &k.Quit},
	}
}

// Actions are what a file of keys can change, with the built-in keys.
func Actions() []keyfile.Action {
	k := newKeyMap(nil)
	var all []keyfile.Action
	for _, n := range k.changeable() {
		all = append(all, keyfile.Action{Name: n.name, Keys: n.binding.Keys()})
	}
	return all
}

// rebind gives actions other keys; the help says so.
func (k *KeyMap) rebind(keys map[string][]string) {
	k.own = map[string]bool{}
	for _, n := range k.changeable() {
		own, changed := keys[n.name]
		if !changed || len(own) == 0 {
			continue
		}
		desc := n.binding.Help().Desc
		k.own[desc] = true
		*n.binding = key.NewBinding(key.WithKeys(own...), key.WithHelp(strings.Join(own, " "), desc))
	}
}

// shown is what stands for bindings in a line of keys: what is usual, or the first
// key of each where a file has changed one of them.
func (k *KeyMap) shown(usual string, bindings ...key.Binding) string {
	if !slices.ContainsFunc(bindings, k.changed) {
		return usual
	}
	var keys []string
	for _, b := range bindings {
		keys = append(keys, b.Keys()[0])
	}
	return strings.Join(keys, " ")
}

// changed says whether a file has given a binding other keys.
func (k *KeyMap) changed(b key.Binding) bool { return k.own[b.Help().Desc] }
