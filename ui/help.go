package ui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"meshscope/presets/setupdoc"
	"meshscope/ui/overlay"
	"meshscope/ui/screen"
)

// entry is one line of the list of keys.
type entry struct {
	screen.Key
	shown string // how the keys are written
	own   bool   // a file of keys has changed them
	run   func() tea.Cmd
}

// palette opens the list of all keys, then of knobs, actions of other screens, models, clusters,
// figures and words; choosing a line runs it or goes there.
func (m *Model) palette() overlay.Action {
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
		item := overlay.Item{Title: title, Name: e.shown, Off: e.Off != "", Hidden: e.Also}
		if strings.HasPrefix(e.ID, "screen-") { // what acts comes before where to look
			item.Rank = rankKnob
		}
		items = append(items, item)
	}
	leads := m.destinations()
	for _, d := range leads {
		items = append(items, d.item)
	}
	p := overlay.NewPicker("KEYS", overlay.Hint(m.look.glyphs, "type an action, screen, knob, model, figure or word", "enter runs", "esc closes"), items, 0)
	p.Choose = func(i int) overlay.Action {
		if i >= len(entries) {
			return leads[i-len(entries)].leads
		}
		return closing(later(entries[i].run))
	}
	p.First, p.Typed = true, func(text string) (overlay.Action, string) {
		if !setupdoc.IsShare(text) {
			return nil, ""
		}
		return closing(m.takeText(text)), "enter takes this setup"
	}
	return overlay.Sequence{overlay.Push{ID: overlay.HelpID, Overlay: p}, m.readPalette(p)}
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
