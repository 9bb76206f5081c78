package ui

import (
	"strings"

	"meshscope/engine"
	"meshscope/engine/explain"
	"meshscope/engine/knob"
	"meshscope/report/figure"
	"meshscope/ui/knobs"
	"meshscope/ui/overlay"
	"meshscope/ui/state"
)

// runList lists the whole run: its figures, its inputs, its assumptions.
func (m *Model) runList() *overlay.Picker {
	var items []overlay.Item
	var chosen []func() overlay.Action
	add := func(item overlay.Item, then func() overlay.Action) {
		items, chosen = append(items, item), append(chosen, then)
	}
	r := m.now.report.Run
	for _, f := range m.runFigures(r) {
		add(f.item, func() overlay.Action {
			if book, ok := explain.Of(m.now.setup); ok {
				return overlay.Explanation(book, f.id, m.explainKeys())
			}
			return overlay.Close{}
		})
	}
	for _, id := range []knob.ID{knob.Tokens, knob.Price, knob.Power, knob.PUE, knob.Goodput} {
		p, _ := knob.Find(id)
		value := knobs.Show(&p, p.Text(m.state.Setup))
		if used := usedFor(r, id); used != "" && value == "none" {
			value = used
		}
		add(overlay.Item{Title: p.Label, Name: p.Unit, Fields: []string{value}}, func() overlay.Action {
			return closing(state.Action{Verb: state.GoTab, N: int(state.ExploreTab)}, state.Action{Verb: state.FocusKnob, ID: id}, state.Action{Verb: state.Type})
		})
	}
	if r != nil {
		add(overlay.Item{Title: "assumptions", Fields: []string{figure.Comma(len(r.Assumptions))}}, func() overlay.Action {
			return overlay.Push{ID: overlay.AssumedID, Overlay: assumptions(r)}
		})
	}
	p := overlay.NewPicker("WHOLE RUN", overlay.Hint(m.look.glyphs, "type 2T for the tokens, $2.5 for the price", "enter explains a figure or edits a value", "esc closes"), items, 0)
	p.Choose = func(i int) overlay.Action { return chosen[i]() }
	p.First, p.Typed = true, m.runTyped
	return p
}

// runTyped gives the run its tokens (2T) or its price ($2.5 per GPU-hour) at once.
func (m *Model) runTyped(text string) (overlay.Action, string) {
	id, price := knob.Tokens, false
	if text, price = strings.CutPrefix(text, "$"); price {
		id = knob.Price
	}
	k, _ := knob.Find(id)
	if _, err := k.ParseFigure(text); err != nil || text == "" {
		return nil, ""
	}
	set := closing(state.Action{Verb: state.SetKnob, ID: id, Text: text}, state.Action{Verb: state.FocusKnob, ID: m.state.Focus}, state.Action{Verb: state.Open, Overlay: overlay.RunID})
	if price {
		return set, "enter: a GPU-hour costs $" + text
	}
	return set, "enter: the run trains on " + text + " tokens"
}

// runFigure is a figure of the run with its line.
type runFigure struct {
	id   string
	item overlay.Item
}

func (m *Model) runFigures(r *engine.Run) []runFigure {
	if r == nil {
		return nil
	}
	exact := figure.Band{Evidence: &r.Evidence, PlusMinus: m.look.glyphs.PlusMinus}
	all := []runFigure{
		{"run.days", overlay.Item{Title: "time", Name: figure.Short(r.Steps) + " steps", Fields: []string{exact.Of(figure.Days(r.Days))}}},
		{"run.gpu-hours", overlay.Item{Title: "GPU-hours", Fields: []string{exact.Of(figure.Short(r.GPUHours))}}},
	}
	if r.Cost != nil {
		all = append(all, runFigure{"run.cost", overlay.Item{Title: "cost", Fields: []string{exact.Of(figure.Dollars(*r.Cost))}}})
	}
	if r.Energy != nil {
		all = append(all, runFigure{"run.energy", overlay.Item{Title: "energy", Fields: []string{exact.Of(figure.Energy(*r.Energy))}}})
	}
	return all
}

// usedFor returns what stands in for a figure that was left out.
func usedFor(r *engine.Run, id knob.ID) string {
	switch {
	case r == nil:
	case id == knob.Price && r.Price != nil:
		return figure.Three(*r.Price) + ", preset"
	case id == knob.Power && r.Power != nil:
		return figure.Short(*r.Power) + ", TDP"
	}
	return ""
}

// assumptions returns the assumptions of the figures of a run.
func assumptions(r *engine.Run) *overlay.Card {
	card := &overlay.Card{
		Title: "ASSUMPTIONS", Remark: "whole run", Name: figure.Short(r.Tokens) + " tokens", Value: figure.Days(r.Days),
		About: r.Words(), Hint: "esc back", Leave: overlay.Back{},
	}
	for _, a := range r.Assumptions {
		label, text, ok := strings.Cut(a, ": ")
		if !ok || len(label) > 8 {
			label, text = "steps", a
		}
		card.Paragraphs = append(card.Paragraphs, overlay.Paragraph{Label: label, Text: text})
	}
	return card
}
