package overlay

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"charm.land/bubbles/v2/key"

	"meshscope/engine/knob"
	"meshscope/presets/words"
	"meshscope/report"
	"meshscope/ui/widget"
)

// Lexicon shows the glossary and the notes on knobs. The files are the
// program's own; tests hold them sound.
type Lexicon struct {
	// Shown returns the paragraphs of a card of the current setup; nil: there are none.
	Shown func(card string, g widget.Glyphs) []Paragraph

	names map[string]bool // of the words, in lower case
}

// Methods returns the notes on knobs.
func (l *Lexicon) Methods() map[knob.ID]words.Method {
	notes, _ := words.Methods()
	return notes
}

// Glossary returns every word.
func (l *Lexicon) Glossary() []words.Word {
	all, _ := words.Glossary()
	return all
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

// In returns the words that a text has, in their order there.
func (l *Lexicon) In(text string) []int {
	text = " " + strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/-", r)
	}), " ") + " "
	all := l.Glossary()
	first := map[int]int{}
	for i := range all {
		for _, name := range append([]string{all[i].Term}, all[i].Also...) {
			for _, form := range []string{name, name + "s", name + "es"} {
				at := strings.Index(text, " "+strings.ToLower(form)+" ")
				if was, known := first[i]; at >= 0 && (!known || at < was) {
					first[i] = at
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(first), func(a, b int) int { return cmp.Or(first[a]-first[b], a-b) })
}

// List lists the words, at one of them, with a column of other names where there is room. Some may come
// first.
func (l *Lexicon) List(g widget.Glyphs, at string, roomy bool, first []int) *Picker {
	all := l.Glossary()
	items := make([]Item, 0, len(all))
	order := slices.Clone(first)
	for i := range all {
		if !slices.Contains(first, i) {
			order = append(order, i)
		}
	}
	for _, i := range order {
		w := &all[i]
		item := Item{
			Title: w.Term, Fields: []string{w.Means}, Prose: true,
			Hidden: slices.Concat(w.Also, w.Labels),
		}
		if roomy && len(w.Also) > 0 && len(w.Also[0]) <= 30 {
			item.Name = w.Also[0]
		}
		items = append(items, item)
	}
	current, _ := words.Find(all, at)
	title := "GLOSSARY"
	if len(first) > 0 {
		title += ", first the words of this act"
	}
	p := NewPicker(title, Hint(g, "type to search", "enter reads", "esc closes"), items,
		max(slices.Index(order, current), 0))
	p.Choose = func(i int) Action { return l.Word(g, order[i]) }
	return p
}

// Word opens a word, from which one goes on to others and back.
func (l *Lexicon) Word(g widget.Glyphs, i int) Action {
	w := &l.Glossary()[i]
	hint := []string{"esc back", "q closes"}
	if len(w.See) > 0 {
		hint = append([]string{"enter goes on"}, hint...)
	}
	var shown []Paragraph
	if w.Card != "" && l.Shown != nil {
		shown = l.Shown(w.Card, g)
	}
	return Push{ID: WordID, Overlay: &Card{
		Title: "WORD", Remark: "glossary", Name: w.Term, About: strings.Join(w.Also, ", "),
		Paragraphs: slices.Concat([]Paragraph{
			{Label: "means", Text: w.Means},
			{Label: "formula", Text: w.Formula},
			{Label: "unit", Text: w.Unit},
		}, shown, []Paragraph{{Label: "source", Text: w.Source}}),
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

// Study returns a card of the report as paragraphs: a line of the head, a line of each row with bars
// where it has some, and its sentence.
func Study(c *report.Card, g widget.Glyphs) []Paragraph {
	const barWidth = 30
	widths, most := make([]int, len(c.Head)), 0.0
	for i, name := range c.Head {
		widths[i] = widget.Width(name)
		for _, row := range c.Rows {
			widths[i] = max(widths[i], widget.Width(row[i].Text))
			most = max(most, row[len(row)-1].Value)
		}
	}
	line := func(cells []report.Cell) string {
		var b strings.Builder
		for i, cell := range cells {
			pad := strings.Repeat(" ", max(widths[i]-widget.Width(cell.Text), 0))
			if cell.Number {
				b.WriteString(pad + cell.Text + "  ")
			} else {
				b.WriteString(cell.Text + pad + "  ")
			}
		}
		if last := cells[len(cells)-1]; c.Bars && last.Number && most > 0 {
			sign := "#"
			if g.Unicode {
				sign = "\u2588"
			}
			b.WriteString(strings.Repeat(sign, int(barWidth*last.Value/most+0.5)))
		}
		return strings.TrimRight(b.String(), " ")
	}
	head := make([]report.Cell, len(c.Head))
	for i, name := range c.Head {
		head[i] = report.Word(name)
	}
	out := []Paragraph{{Label: "here", Text: line(head), Plain: true}}
	for _, row := range c.Rows {
		out = append(out, Paragraph{Text: line(row), Plain: true, Tight: true})
	}
	return append(out, Paragraph{Text: c.Says, Tight: true})
}
