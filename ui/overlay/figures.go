package overlay

import (
	"slices"

	"meshscope/engine"
	"meshscope/engine/explain"
	"meshscope/engine/figures"
)

// Figures lists the figures of a book, at one of them; keys are for the explanations.
func Figures(book *explain.Book, title, at string, keys []Bound) *Picker {
	items := FigureItems(book)
	at = figureOf(book.Report(), at)
	if e, ok := book.Explain(at); ok &&
		!slices.ContainsFunc(items, func(i Item) bool { return i.Name == at }) {
		// what the figures of the report are made of is not in their list
		items = slices.Insert(items, 0, figureItem(e, at))
	}
	current := slices.IndexFunc(items, func(i Item) bool { return i.Name == at })
	p := NewPicker(title, "type to search · enter explains it · esc closes", items, current)
	p.Valued = true
	p.Choose = func(i int) Action { return Explanation(book, items[i].Name, keys) }
	return p
}

// FigureItems returns the figures of a book, by their names.
func FigureItems(book *explain.Book) []Item {
	var items []Item
	for _, f := range book.Figures() {
		if e, ok := book.Explain(f.ID); ok {
			items = append(items, figureItem(e, f.ID))
		}
	}
	return items
}

func figureItem(e *explain.Explanation, id string) Item {
	return Item{Title: e.Name, Name: id, Fields: []string{e.Text()}}
}

// figureOf returns the figure of a report that has an explanation, for one that a screen
// shows: what is free is usable less the peak, and the fullest rank has a number.
func figureOf(r *engine.Report, id string) string {
	if id == "memory.free" {
		return "memory.peak"
	}
	return figures.OfRank(r, id)
}

// Explanation opens a figure in place of the open overlay.
func Explanation(book *explain.Book, id string, keys []Bound) Action {
	e, ok := book.Explain(id)
	if !ok {
		return Close{}
	}
	x := NewExplain(e)
	x.Keys = keys
	return Sequence{Close{}, Push{ID: ExplainID, Overlay: x}}
}
