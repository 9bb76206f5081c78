package overlay

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"

	"meshscope/engine/knob"
	"meshscope/presets/words"
	"meshscope/ui/widget"
)

// Lexicon holds the glossary and the notes on knobs, read on first use. The files are the
// program's own; tests hold them sound.
type Lexicon struct {
	notes map[knob.ID]words.Method
	words []words.Word
	names map[string]bool // of the words, in lower case
}

// Methods returns the notes on knobs.
func (l *Lexicon) Methods() map[knob.ID]words.Method {
	if l.notes == nil {
		l.notes, _ = words.Methods()
	}
	return l.notes
}

// Glossary returns every word.
func (l *Lexicon) Glossary() []words.Word {
	if l.words == nil {
		l.words, _ = words.Glossary()
	}
	return l.words
}

// Knows reports whether a word is in the glossary.
func (l *Lexicon) Knows(word string) bool {
	if l.names == nil {
		l.names = map[string]bool{}
		all := l.Glossary()
		for i := range all {
			for _, name := range all[i].Names() {
				l.names[strings.ToLower(name)] = true
			}
		}
	}
	return l.names[strings.ToLower(word)]
}

// List lists the words, at one of them, with a column of other names where there is room.
func (l *Lexicon) List(g widget.Glyphs, at string, roomy bool) *Picker {
	all := l.Glossary()
	items := make([]Item, 0, len(all))
	for i := range all {
		w := &all[i]
		item := Item{Title: w.Term, Fields: []string{w.Means}, Prose: true, Hidden: slices.Concat(w.Also, w.Labels)}
		if roomy && len(w.Also) > 0 && len(w.Also[0]) <= 30 {
			item.Name = w.Also[0]
		}
		items = append(items, item)
	}
	current, _ := words.Find(all, at)
	p := NewPicker("GLOSSARY", Hint(g, "type to search", "enter reads", "esc closes"), items, current)
	p.Choose = func(i int) Action { return l.Word(g, i) }
	return p
}

// Word opens a word, from which one goes on to others and back.
func (l *Lexicon) Word(g widget.Glyphs, i int) Action {
	w := &l.Glossary()[i]
	hint := []string{"esc back", "q closes"}
	if len(w.See) > 0 {
		hint = append([]string{"enter goes on"}, hint...)
	}
	return Push{ID: WordID, Overlay: &Card{
		Title: "WORD", Remark: "glossary", Name: w.Term, About: strings.Join(w.Also, ", "),
		Paragraphs: []Paragraph{
			{Label: "means", Text: w.Means},
			{Label: "formula", Text: w.Formula},
			{Label: "unit", Text: w.Unit},
			{Label: "source", Text: w.Source},
		},
		Links: w.See, Hint: Hint(g, hint...), Leave: Back{},
		Keys: []Bound{
			{Key: key.NewBinding(key.WithKeys("q")), Action: Close{}},
			{Key: key.NewBinding(key.WithKeys("left", "h")), Action: Back{}},
		},
		Follow: func(link int) Action {
			if at, ok := words.Find(l.Glossary(), w.See[link]); ok {
				return l.Word(g, at)
			}
			return nil
		},
	}}
}
