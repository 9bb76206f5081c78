package ui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine/knob"
	"meshscope/ui/knobs"
	"meshscope/ui/overlay"
	"meshscope/ui/screen"
	"meshscope/ui/state"
)

// entry is one line of the list of keys.
type entry struct {
	screen.Key
	shown string // how the keys are written
	own   bool   // a file of keys has changed them
	run   func() tea.Cmd
}

// keyList returns the list of all keys, then of screens, knobs and words; choosing a line
// runs it or goes there.
func (m *Model) keyList() *overlay.Picker {
	entries := m.keyEntries()
	items := make([]overlay.Item, 0, len(entries))
	for _, e := range entries {
		title := e.Help
		if e.own {
			title += " (your key)"
		}
		if e.Off != "" {
			title += " (" + e.Off + ")"
		}
		items = append(items, overlay.Item{Title: title, Name: e.shown, Off: e.Off != "", Hidden: e.Also})
	}
	leads := m.destinations()
	for _, d := range leads {
		items = append(items, d.item)
	}
	p := overlay.NewPicker("KEYS", "type a key, screen, knob or word · enter runs · esc closes", items, 0)
	p.Choose = func(i int) overlay.Action {
		if i >= len(entries) {
			return leads[i-len(entries)].leads
		}
		return closing(later(entries[i].run))
	}
	return p
}

// keyEntries returns the keys of the screen in front, then those that it leaves to the
// program. What it has taken the keys of can be run from here all the same.
func (m *Model) keyEntries() []entry {
	var list []entry
	taken := map[string]bool{}
	if c := m.context(); m.shows() {
		for _, k := range screen.Listed(m.screen().Keys(c)) {
			names := k.Names(c.Own)
			for _, name := range names {
				taken[name] = true
			}
			list = append(list, entry{k, k.Shown(c.Own, c.Glyphs), k.Changed(c.Own), func() tea.Cmd {
				cmd, _ := m.screenKey(names[0])
				return cmd
			}})
		}
	}
	own := m.options.Keys
	for _, k := range screen.Listed(m.programKeys()) {
		names, shown := k.Names(own), k.Shown(own, m.look.glyphs)
		if !slices.ContainsFunc(names, func(name string) bool { return !taken[name] }) {
			if shown = ""; k.ID == "" {
				continue
			}
		}
		list = append(list, entry{k, shown, k.Changed(own), func() tea.Cmd { return m.fulfil(k.Run(1, names[0])) }})
	}
	return list
}

// destination is a line of the help that leads somewhere, rather than a key: a
// screen, a knob, a word of the glossary.
type destination struct {
	item  overlay.Item
	leads overlay.Action
}

// destinations returns all screens, knobs and words, so that whatever is on the screen
// can be typed into the list of keys.
func (m *Model) destinations() []destination {
	var all []destination
	for _, id := range knobs.Order() {
		p, _ := knob.Find(id)
		all = append(all, destination{
			overlay.Item{Title: "knob " + p.Label, Name: "--" + string(id), Hidden: []string{m.lexicon.Methods()[id].Name}},
			closing(state.Action{Verb: state.GoTab, N: int(state.ExploreTab)}, state.Action{Verb: state.FocusKnob, ID: id}),
		})
	}
	glossary := m.lexicon.Glossary()
	for i := range glossary {
		w := &glossary[i]
		all = append(all, destination{
			overlay.Item{Title: "word " + w.Term, Hidden: slices.Concat(w.Also, w.Labels)},
			closing(state.Action{Verb: state.Open, Overlay: overlay.GlossaryID}, m.lexicon.Word(m.look.glyphs, i)),
		})
	}
	return all
}
