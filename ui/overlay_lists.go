package ui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/explain"
	"meshscope/engine/knob"
	"meshscope/presets/words"
	"meshscope/report/figure"
	"meshscope/ui/knobs"
	"meshscope/ui/overlay"
	"meshscope/ui/screen"
	"meshscope/ui/state"
)

// hint is the last line of a list or card.
func (m *Model) hintLine(keys ...string) string {
	return strings.Join(keys, " "+m.look.glyphs.Dot+" ")
}

// figureList explains every figure of the setup under the cursor, else of the one in
// force, for a list to choose from.
func (m *Model) figureList() overlay.Action {
	setup, title, at := m.legal.setup, "FIGURES", ""
	if s := m.screen(); s != nil && m.shows() {
		c := m.context()
		if under, name := screen.Under(s, c); under != nil {
			setup = *under
			if name != "" {
				title += " of " + name
			}
		}
		if p, ok := s.(screen.Pointer); ok {
			at = p.Figure(c)
		}
	}
	w := new(overlay.Waiting)
	return overlay.Sequence{overlay.Push{ID: overlay.FiguresID, Overlay: w}, m.guard(func() tea.Msg {
		book, ok := explain.Of(setup)
		if !ok {
			return nil
		}
		list := m.figuresOf(book, title, at)
		return readMsg{w, func() overlay.Overlay { return list }}
	})}
}

// figuresOf lists the figures of a book, at one of them.
func (m *Model) figuresOf(book *explain.Book, title, at string) *overlay.Picker {
	var items []overlay.Item
	add := func(id string) {
		if e, ok := book.Explain(id); ok {
			items = append(items, overlay.Item{Title: e.Name, Name: id, Fields: []string{e.Text()}})
		}
	}
	figures := book.Figures()
	at = figureOf(book.Report(), at)
	if !slices.ContainsFunc(figures, func(f engine.Figure) bool { return f.ID == at }) {
		add(at) // what the figures of the report are made of is not in their list
	}
	for _, f := range figures {
		add(f.ID)
	}
	current := slices.IndexFunc(items, func(i overlay.Item) bool { return i.Name == at })
	p := overlay.NewPicker(title, "type to search · enter explains it · esc closes", items, current)
	p.Valued = true
	p.Choose = func(i int) overlay.Action { return m.explanation(book, items[i].Name) }
	return p
}

// figureOf is the figure of a report that has an explanation, for one that a screen
// shows: what is free is usable less the peak, and the fullest rank has a number.
func figureOf(r *engine.Report, id string) string {
	if id == "memory.free" {
		return "memory.peak"
	}
	if rest, ok := strings.CutPrefix(id, engine.FullestRank); ok && r != nil && r.Memory != nil {
		return fmt.Sprintf("memory.ranks.%d.%s", r.Memory.Ranks[r.Memory.PeakRank].Rank, rest)
	}
	return id
}

// explanation opens a figure in the place of what is open.
func (m *Model) explanation(book *explain.Book, id string) overlay.Action {
	e, ok := book.Explain(id)
	if !ok {
		return overlay.Close{}
	}
	x := overlay.NewExplain(e)
	x.Keys = []overlay.Bound{{Key: m.binding("explain"), Action: overlay.Close{}}}
	return closing(overlay.Push{ID: overlay.ExplainID, Overlay: x})
}

// roomy is the width from which the list of words has room for other names.
const roomy = 100

// glossaryList lists the words, at that of the focused knob.
func (m *Model) glossaryList() *overlay.Picker {
	all := m.lexicon.glossary()
	items := make([]overlay.Item, 0, len(all))
	for i := range all {
		w := &all[i]
		item := overlay.Item{Title: w.Term, Fields: []string{w.Means}, Prose: true, Hidden: slices.Concat(w.Also, w.Labels)}
		if m.caps.Width >= roomy && len(w.Also) > 0 && len(w.Also[0]) <= 30 {
			item.Name = w.Also[0]
		}
		items = append(items, item)
	}
	at := 0
	if m.state.Tab == state.ExploreTab {
		p, _ := knob.Find(m.state.Focus)
		at, _ = words.Find(all, p.Label)
	}
	p := overlay.NewPicker("GLOSSARY", m.hintLine("type to search", "enter reads", "esc closes"), items, at)
	p.Choose = m.word
	return p
}

// runList lists the whole run: what it takes, what it rests on, its assumptions.
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
				return m.explanation(book, f.id)
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
	p := overlay.NewPicker("WHOLE RUN", m.hintLine("enter explains a figure or types a value", "esc closes"), items, 0)
	p.Choose = func(i int) overlay.Action { return chosen[i]() }
	return p
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
	for i, s := range m.screens.all {
		all = append(all, destination{overlay.Item{Title: s.Name() + " screen"}, closing(state.Action{Verb: state.GoTab, N: i})})
	}
	for _, id := range knobs.Order() {
		p, _ := knob.Find(id)
		all = append(all, destination{
			overlay.Item{Title: "knob " + p.Label, Name: "--" + string(id), Hidden: []string{m.lexicon.methods()[id].Name}},
			closing(state.Action{Verb: state.GoTab, N: int(state.ExploreTab)}, state.Action{Verb: state.FocusKnob, ID: id}),
		})
	}
	glossary := m.lexicon.glossary()
	for i := range glossary {
		w := &glossary[i]
		all = append(all, destination{
			overlay.Item{Title: "word " + w.Term, Hidden: slices.Concat(w.Also, w.Labels)},
			closing(state.Action{Verb: state.Open, Overlay: overlay.GlossaryID}, m.word(i)),
		})
	}
	return all
}
