package overlay

import (
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/ui/knobs"
	"meshscope/ui/widget"
)

// WholeRun is the whole run of a setup, and where a line of its list leads.
type WholeRun struct {
	Setup   *engine.Setup
	Run     *engine.Run // nil: no tokens are given
	Typical *engine.Run // with public figures of what is not given
	Glyphs  widget.Glyphs
	Explain func(figure string) Action
	Edit    func(knob.ID) Action
	Set     func(id knob.ID, text string) Action
}

// List lists the figures of the run, its inputs and its assumptions.
func (w *WholeRun) List() *Picker {
	var items []Item
	var chosen []func() Action
	add := func(item Item, then func() Action) {
		items, chosen = append(items, item), append(chosen, then)
	}
	for _, f := range w.figures() {
		add(f.item, func() Action { return w.Explain(f.id) })
	}
	for _, id := range []knob.ID{
		knob.Tokens, knob.Price, knob.Power, knob.PUE, knob.FacilityPUE,
		knob.Goodput,
	} {
		p, _ := knob.Find(id)
		value := knobs.Show(&p, p.Text(*w.Setup))
		if used := w.usedFor(id); used != "" && value == "none" {
			value = used
		}
		add(Item{Title: p.Label, Name: p.Unit, Fields: []string{value}}, func() Action { return w.Edit(id) })
	}
	if w.Typical != nil {
		add(Item{Title: "typically", Fields: []string{report.RunBrief(w.Typical)}}, func() Action {
			return Push{ID: AssumedID, Overlay: assumptions(w.Typical)}
		})
	}
	if w.Run != nil {
		add(Item{Title: "assumptions", Fields: []string{figure.Comma(len(w.Run.Assumptions))}},
			func() Action {
				return Push{ID: AssumedID, Overlay: assumptions(w.Run)}
			})
	}
	p := NewPicker("WHOLE RUN", Hint(w.Glyphs, "type 2T for the tokens, $2.5 for the price",
		"enter explains a figure or edits a value", "esc closes"), items, 0)
	p.Choose = func(i int) Action { return chosen[i]() }
	p.First, p.Typed = true, w.typed
	return p
}

// typed gives the run its tokens (2T) or its price ($2.5 per GPU-hour) at once.
func (w *WholeRun) typed(text string) (Action, string) {
	id, price := knob.Tokens, false
	if text, price = strings.CutPrefix(text, "$"); price {
		id = knob.Price
	}
	k, _ := knob.Find(id)
	if text == "" || strings.Trim(text[:1], "0123456789") != "" {
		return nil, ""
	}
	if _, err := k.ParseFigure(text); err != nil {
		return Sequence{}, err.Error()
	}
	if price {
		return w.Set(id, text), "enter: a GPU-hour costs $" + text
	}
	return w.Set(id, text), "enter: the run trains on " + text + " tokens"
}

// runFigure is a figure of the run with its line.
type runFigure struct {
	id   string
	item Item
}

func (w *WholeRun) figures() []runFigure {
	r := w.Run
	if r == nil {
		return nil
	}
	exact := figure.Band{Evidence: &r.Evidence, PlusMinus: w.Glyphs.PlusMinus}
	all := []runFigure{
		{"run.days", Item{
			Title: "time", Name: figure.Short(r.Steps) + " steps",
			Fields: []string{exact.Of(figure.Days(r.Days))},
		}},
		{"run.gpu-hours", Item{Title: "GPU-hours", Fields: []string{exact.Of(figure.Short(r.GPUHours))}}},
	}
	if r.Cost != nil {
		all = append(all,
			runFigure{"run.cost", Item{Title: "cost", Fields: []string{exact.Of(figure.Dollars(*r.Cost))}}})
	}
	if r.Energy != nil {
		all = append(all,
			runFigure{
				"run.energy",
				Item{Title: "energy", Fields: []string{exact.Of(figure.Energy(*r.Energy))}},
			})
	}
	return all
}

// usedFor returns what stands in for a figure that was left out.
func (w *WholeRun) usedFor(id knob.ID) string {
	switch gpu := &w.Setup.Cluster.GPU; {
	case id == knob.Price && gpu.PriceUSD > 0:
		return figure.Three(gpu.PriceUSD) + ", preset"
	case id == knob.Power && gpu.TDPWatt > 0:
		return figure.Short(gpu.TDPWatt) + ", TDP"
	}
	return ""
}

// assumptions returns the assumptions of the figures of a run.
func assumptions(r *engine.Run) *Card {
	card := &Card{
		Title: "ASSUMPTIONS", Remark: "whole run", Name: figure.Short(r.Tokens) + " tokens",
		Value: figure.Days(r.Days),
		About: r.Words(), Hint: "esc back", Leave: Back{},
	}
	for _, a := range r.Assumptions {
		label, text, ok := strings.Cut(a, ": ")
		if !ok || len(label) > 8 {
			label, text = "steps", a
		}
		card.Paragraphs = append(card.Paragraphs, Paragraph{Label: label, Text: text})
	}
	return card
}
