// Package knobs is the column of controls: which there are, in what order, what
// each shows, and how the column is drawn.
package knobs

import (
	"cmp"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/report/figure"
)

// Order returns the knobs of a setup from top to bottom: those that are changed rarely come last, on small
// screens by scrolling.
func Order(s *engine.Setup) []knob.ID {
	var ids []knob.ID
	for _, g := range knob.Groups() {
		ids = append(ids, knob.Column(g, s)...)
	}
	return ids
}

// Row is what one knob shows.
type Row struct {
	ID      knob.ID
	Group   knob.Group
	Label   string
	Short   string // the label in seven letters or less
	Value   string
	Values  []string // the ladder, as it is written on the command line
	Shown   []string // the ladder, as it is drawn
	Current int
	Numeric bool
	Lock    string // "kept" or "follows", empty for knobs outside the locks
	Off     string // why the knob has no effect here; empty when it has
	OffWord string // the same in one word
}

// Rows returns all knobs of a setup under the locks.
func Rows(s engine.Setup, l knob.Locks) []Row {
	var rows []Row
	for _, g := range knob.Groups() {
		for _, id := range knob.Column(g, &s) {
			if k, ok := knob.Find(id); ok {
				rows = append(rows, newRow(s, &k, l))
				rows[len(rows)-1].Group = g
			}
		}
	}
	return rows
}

func newRow(s engine.Setup, k *knob.Knob, l knob.Locks) Row {
	r := Row{
		ID: k.ID, Label: k.Label, Short: cmp.Or(k.Short, k.Label), Current: -1,
		Numeric: k.Kind == knob.Number || k.Kind == knob.Figure || k.Kind == knob.Rate,
		Lock:    lockWord(k, l),
	}
	if k.Off != nil {
		r.Off, r.OffWord = k.Off(&s)
	}
	r.Value = Show(k, k.Text(s))
	if r.Off != "" {
		return r
	}
	for i, step := range k.Steps(s, l) {
		r.Values = append(r.Values, step.Text)
		r.Shown = append(r.Shown, short(k, step.Text))
		if step.Current {
			r.Current = i
		}
	}
	return r
}

// Show formats a value for reading: numbers with commas, an empty split as "balanced".
func Show(p *knob.Knob, text string) string {
	if n, err := strconv.Atoi(text); err == nil && p.Kind == knob.Number {
		return figure.Comma(n)
	}
	return text
}

// longestList is the number of cells of a list of layers in a ladder.
const longestList = 10

// short formats a value for a ladder: 32k for 32,768 tokens.
func short(p *knob.Knob, text string) string {
	n, err := strconv.Atoi(text)
	switch {
	case p.ID == knob.Recompute:
		return recipe.BriefRecompute(text)
	case p.Kind == knob.List && len(text) > longestList: // every value of a ladder takes as many cells
		return text[:longestList-2] + ".."
	case p.Kind == knob.Rate:
		return strings.TrimSuffix(text, "Gb/s")
	case err != nil || p.Kind != knob.Number:
		return text
	case p.Binary && n >= 1<<20 && n%(1<<20) == 0:
		return strconv.Itoa(n>>20) + "M"
	case p.Binary && n >= 1<<10 && n%(1<<10) == 0:
		return strconv.Itoa(n>>10) + "k"
	}
	return figure.Comma(n)
}

// Brief returns a value of the ladder in the form that is drawn.
func (r *Row) Brief(value string) string {
	for i, v := range r.Values {
		if v == value {
			return r.Shown[i]
		}
	}
	return value
}

// lockWord reports whether a knob is fixed or set automatically from the others.
func lockWord(k *knob.Knob, l knob.Locks) string {
	switch {
	case k.Fixed == nil:
		return ""
	case k.Fixed(l):
		return "fixed"
	default:
		return "auto"
	}
}

// NoEffect returns what is said of a knob that is set and changes nothing; empty: it is none.
func NoEffect(list []engine.NoEffect, id knob.ID) string {
	for i := range list {
		if list[i].Field == id {
			return list[i].Message
		}
	}
	return ""
}

// Off says why a knob has no effect in a setup; empty when it has.
func Off(s *engine.Setup, id knob.ID) string {
	k, ok := knob.Find(id)
	if !ok || k.Off == nil {
		return ""
	}
	why, _ := k.Off(s)
	return why
}
