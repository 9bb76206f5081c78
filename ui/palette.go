package ui

import (
	"slices"

	"meshscope/engine"
	"meshscope/ui/knobs"
	"meshscope/ui/overlay"
)

// destination is a line of the help that leads somewhere, rather than a key: a
// screen, a knob, a word of the glossary.
type destination struct {
	item  overlay.Item
	leads overlay.Action
}

// destinations are all screens, knobs and words, so that whatever is on the screen
// can be typed into the list of keys.
func (m *Model) destinations() []destination {
	var all []destination
	for t := range tabs {
		all = append(all, destination{overlay.Item{Title: t.String() + " screen"}, closing(Action{Verb: GoTab, N: int(t)})})
	}
	for _, id := range knobs.Order() {
		p, _ := engine.FindParam(id)
		all = append(all, destination{
			overlay.Item{Title: "knob " + p.Label, Name: "--" + string(id), Hidden: []string{m.lexicon.methods()[id].Name}},
			closing(Action{Verb: GoTab, N: int(ExploreTab)}, Action{Verb: FocusKnob, ID: id}),
		})
	}
	glossary := m.lexicon.glossary()
	for i := range glossary {
		w := &glossary[i]
		all = append(all, destination{
			overlay.Item{Title: "word " + w.Term, Hidden: slices.Concat(w.Also, w.Labels)},
			closing(Action{Verb: Open, Overlay: overlay.GlossaryID}, m.word(i)),
		})
	}
	return all
}
