package cli

import (
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/explain"
	"meshscope/engine/knob"
	"meshscope/presets/words"
	"meshscope/report"
)

// wordDocument is what a word means that is no figure: its entry of the glossary, the note on its
// knob, and the figures of a layout that it has.
type wordDocument struct {
	report.Header
	Word    string   `json:"word"`
	Means   string   `json:"means,omitempty"`
	Formula string   `json:"formula,omitempty"`
	Cuts    string   `json:"cuts,omitempty"`
	Costs   string   `json:"costs,omitempty"`
	Use     string   `json:"use,omitempty"`
	Sources []string `json:"sources"`
	See     []string `json:"see,omitempty"`
	Figures []string `json:"figures"`

	card string // of the word; empty: none
}

// explainedWord finds a word in the glossary and among the knobs: by its name, or as a part of
// one (ring of ring attention). False for one that neither has; an error where they cannot be read.
func explainedWord(book *explain.Book, typed string) (wordDocument, bool, error) {
	d := wordDocument{
		Header: report.NewHeader(version), Word: strings.ToLower(strings.TrimSpace(typed)),
		Figures: []string{},
	}
	all, err := words.Glossary()
	if err != nil {
		return d, false, err
	}
	i, ok := words.Find(all, d.Word)
	if !ok {
		i = slices.IndexFunc(all, func(w words.Word) bool {
			return slices.ContainsFunc(w.Names(),
				func(name string) bool {
					return slices.Contains(strings.Fields(strings.ToLower(name)), d.Word)
				})
		})
	}
	if i >= 0 && (ok || d.Word != "") && i < len(all) {
		w := &all[i]
		d.Word, d.Means, d.Formula, d.See, d.Sources, d.card = w.Term, w.Means, w.Formula, w.See,
			append(d.Sources, w.Source), w.Card
	}
	notes, err := words.Methods()
	if err != nil {
		return d, false, err
	}
	if m, ok := notes[knob.ID(strings.ToLower(typed))]; ok {
		d.Cuts, d.Costs, d.Use, d.Sources = m.Cuts, m.Costs, m.Use, append(d.Sources, m.Source)
	}
	if len(d.Sources) == 0 {
		return d, false, nil
	}
	var ids []string
	for _, f := range book.Figures() {
		ids = append(ids, f.ID)
	}
	for _, id := range append(ids, book.IDs()...) {
		if slices.Contains(d.Figures, id) {
			continue
		}
		parts := strings.Split(id, ".")
		if slices.ContainsFunc(parts,
			func(part string) bool {
				return strings.EqualFold(part, typed) || strings.EqualFold(part, d.Word)
			}) {
			d.Figures = append(d.Figures, id)
		}
	}
	const most = 12
	d.Figures = d.Figures[:min(most, len(d.Figures))]
	return d, true, nil
}

// printWord prints what a word means.
func (a *app) printWord(d wordDocument, s *engine.Setup, asJSON bool) error {
	if asJSON {
		return a.writeJSON(d)
	}
	var facts report.Facts
	for _, f := range []report.Fact{
		{Name: "means", Value: d.Means},
		{Name: "formula", Value: d.Formula},
		{Name: "cuts", Value: d.Cuts},
		{Name: "costs", Value: d.Costs},
		{Name: "use", Value: d.Use},
		{Name: "source", Value: strings.Join(d.Sources, "; ")},
		{Name: "see", Value: strings.Join(d.See, ", ")},
		{Name: "figures", Value: strings.Join(d.Figures, ", ")},
	} {
		if f.Value != "" {
			facts = append(facts, f)
		}
	}
	blocks := []report.Block{facts}
	if c, ok := report.NewCard(d.card, s); ok {
		blocks = append(blocks, &c.Table, report.Sentence(c.Says))
	}
	return a.print(textFormat, &report.Answer{Document: func() *report.Document {
		return &report.Document{Title: d.Word, Sections: []report.Section{{Blocks: blocks}}}
	}})
}
