package ui

import (
	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/presets/words"
	"meshscope/ui/knobs"
	"meshscope/ui/overlay"
)

// destination is a line of the help that leads somewhere, rather than a key: a
// screen, a knob, a word of the glossary.
type destination struct {
	item    overlay.Item
	actions []Action
	word    int // index in the glossary; -1: none
}

// destinations are all screens, knobs and words, so that whatever is on the screen
// can be typed into the list of keys.
func (m *Model) destinations() []destination {
	var all []destination
	for t := range tabs {
		all = append(all, destination{
			item:    overlay.Item{Title: t.String() + " screen"},
			actions: []Action{{Verb: GoTab, N: int(t)}}, word: -1,
		})
	}
	if m.reading.notes == nil {
		m.reading.notes, _ = words.Methods() // the program's own; tests hold it sound
	}
	for _, id := range knobs.Order() {
		p, _ := engine.FindParam(id)
		note := m.reading.notes[id]
		all = append(all, destination{
			item:    overlay.Item{Title: "knob " + p.Label, Name: "--" + string(id), Hidden: []string{note.Name}},
			actions: []Action{{Verb: GoTab, N: int(ExploreTab)}, {Verb: FocusKnob, ID: id}}, word: -1,
		})
	}
	for i := range m.glossary() {
		w := &m.glossary()[i]
		all = append(all, destination{item: overlay.Item{Title: "word " + w.Term, Hidden: append(append([]string(nil), w.Also...), w.Labels...)}, word: i})
	}
	return all
}

// follow goes to a destination.
func (m *Model) follow(d *destination) tea.Cmd {
	cmds := []tea.Cmd{m.do(Action{Verb: Close})}
	for _, a := range d.actions {
		cmds = append(cmds, m.do(a))
	}
	if d.word >= 0 {
		cmds = append(cmds, m.do(Action{Verb: Open, Screen: GlossaryOverlay}))
		m.openWord(d.word)
	}
	return tea.Batch(cmds...)
}
