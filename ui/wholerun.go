package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/explain"
	"meshscope/report/figure"
	"meshscope/ui/knobs"
	"meshscope/ui/overlay"
)

// runLine is what a line of the list about the whole run stands for: a figure to
// explain, a knob to type into, or, where it is neither, the assumptions.
type runLine struct {
	figure string
	knob   engine.ParamID
}

// openRun lists the whole run: what it takes, what it rests on, its assumptions.
func (m *Model) openRun() {
	var items []overlay.Item
	m.runLines = m.runLines[:0]
	add := func(of runLine, item overlay.Item) {
		items = append(items, item)
		m.runLines = append(m.runLines, of)
	}
	r := m.now.report.Run
	for _, f := range m.runFigures(r) {
		add(runLine{figure: f.id}, f.item)
	}
	for _, id := range []engine.ParamID{"tokens", "price", "power", "pue", "goodput"} {
		p, _ := engine.FindParam(id)
		value := knobs.Show(&p, p.Text(m.state.Setup))
		if used := usedFor(r, id); used != "" && value == "none" {
			value = used
		}
		add(runLine{knob: id}, overlay.Item{Title: p.Label, Name: p.Unit, Fields: []string{value}})
	}
	if r != nil {
		add(runLine{}, overlay.Item{Title: "assumptions", Fields: []string{figure.Comma(len(r.Assumptions))}})
	}
	m.picker = overlay.New("WHOLE RUN", "enter explains a figure or types a value "+m.look.glyphs.Dot+" esc closes", items, 0)
	m.picker.Resize(m.caps.height)
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
	exact := figure.Band{Evidence: &r.Evidence, PlusMinus: m.look.glyphs.PlusMinus, About: m.look.glyphs.About}
	all := []runFigure{
		{"run.days", overlay.Item{Title: "time", Name: figure.Short(r.Steps) + " steps", Fields: []string{exact.Beside(figure.Days(r.Days), 60)}}},
		{"run.gpu-hours", overlay.Item{Title: "GPU-hours", Fields: []string{exact.Brief(figure.Short(r.GPUHours))}}},
	}
	if r.Cost != nil {
		all = append(all, runFigure{"run.cost", overlay.Item{Title: "cost", Fields: []string{exact.Brief(figure.Dollars(*r.Cost))}}})
	}
	if r.Energy != nil {
		all = append(all, runFigure{"run.energy", overlay.Item{Title: "energy", Fields: []string{exact.Brief(figure.Energy(*r.Energy))}}})
	}
	return all
}

// usedFor is what stands in for a figure that was left out.
func usedFor(r *engine.Run, id engine.ParamID) string {
	switch {
	case r == nil:
	case id == "price" && r.Price != nil:
		return figure.Three(*r.Price) + ", preset"
	case id == "power" && r.Power != nil:
		return figure.Short(*r.Power) + ", TDP"
	}
	return ""
}

// openAssumptions shows what the run takes for granted, over the list.
func (m *Model) openAssumptions(r *engine.Run) {
	card := overlay.Card{
		Title: "ASSUMPTIONS", Remark: "whole run", Name: figure.Short(r.Tokens) + " tokens", Value: figure.Days(r.Days),
		About: r.Words(), Hint: "esc back",
	}
	for _, a := range r.Assumptions {
		label, text, ok := strings.Cut(a, ": ")
		if !ok || len(label) > 8 {
			label, text = "steps", a
		}
		card.Paragraphs = append(card.Paragraphs, overlay.Paragraph{Label: label, Text: text})
	}
	m.reading.card = overlay.NewCard(card, m.caps.width, m.caps.height)
}

// assumptionsKey reads, or goes back to the list.
func (m *Model) assumptionsKey(msg tea.KeyPressMsg) {
	if m.reading.card.HandleKey(msg) == overlay.Closed {
		m.reading.card = nil
	}
}

// chooseRun explains a figure of the run, types into a knob of it, or shows the
// assumptions.
func (m *Model) chooseRun(i int) tea.Cmd {
	of := m.runLines[i]
	if of == (runLine{}) {
		m.openAssumptions(m.now.report.Run)
		return nil
	}
	closing := m.do(Action{Verb: Close})
	switch {
	case of.knob != "":
		return tea.Batch(closing, m.do(Action{Verb: GoTab, N: int(ExploreTab)}), m.do(Action{Verb: FocusKnob, ID: of.knob}), m.do(Action{Verb: Type}))
	case of.figure != "":
		book, ok := explain.Of(m.now.setup)
		if !ok {
			return closing
		}
		e, ok := book.Explain(of.figure)
		if !ok {
			return closing
		}
		opening := m.do(Action{Verb: Open, Screen: ExplainOverlay})
		m.explaining.open = overlay.NewExplain(e)
		m.explaining.open.Resize(m.caps.width, m.caps.height)
		return tea.Batch(closing, opening)
	}
	return closing
}
