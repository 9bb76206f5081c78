package ui

import (
	"context"
	"runtime/debug"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/presets/words"
	"meshscope/report/figure"
	"meshscope/ui/knobs"
	"meshscope/ui/overlay"
)

// noteCard is the card on the focused knob. Its keys turn and change the knob below it.
func (m *Model) noteCard() *overlay.Card {
	p, _ := engine.FindParam(m.state.Focus)
	note, k := m.lexicon.methods()[p.ID], &m.keys
	card := &overlay.Card{
		Title: "KNOB", Remark: "--" + string(p.ID),
		Name: note.Name, Value: knobs.Show(&p, p.Text(m.state.Setup)), About: p.Allowed(),
		Paragraphs: slices.Concat([]overlay.Paragraph{
			{Label: "cuts", Text: note.Cuts},
			{Label: "costs", Text: note.Costs},
		}, m.noteFigures(), []overlay.Paragraph{
			{Label: "when", Text: note.Use},
			{Label: "watch", Text: note.Watch},
			{Label: "source", Text: note.Source},
		}),
		Hint: m.hintLine("up/down other knobs", "left/right turn it", k.shown("i", k.Note)+" or esc closes"),
		Keys: []overlay.Bound{
			{Key: k.Up, Action: Action{Verb: MoveFocus, N: -1}},
			{Key: k.Down, Action: Action{Verb: MoveFocus, N: 1}},
			{Key: k.Left, Action: Action{Verb: TurnKnob, N: -1}},
			{Key: k.Right, Action: Action{Verb: TurnKnob, N: 1}},
			{Key: k.Note, Action: overlay.Close{}},
		},
	}
	if !strings.EqualFold(p.Label, note.Name) {
		card.Name = p.Label + ", " + note.Name
	}
	if why := knobs.Off(&m.state.Setup, p.ID); why != "" {
		card.Value = "no effect here: " + why
	}
	for i := range m.rows {
		if r := &m.rows[i]; r.ID == p.ID && len(r.Shown) > 1 {
			card.About = "legal here: " + strings.Join(r.Shown, "  ")
		}
	}
	return card
}

// word opens a word of the glossary, from which one goes on to others and back.
func (m *Model) word(i int) overlay.Action {
	w := &m.lexicon.glossary()[i]
	hint := []string{"esc back", "q closes"}
	if len(w.See) > 0 {
		hint = append([]string{"enter goes on"}, hint...)
	}
	return overlay.Push{ID: overlay.WordID, Overlay: &overlay.Card{
		Title: "WORD", Remark: "glossary", Name: w.Term, About: strings.Join(w.Also, ", "),
		Paragraphs: []overlay.Paragraph{
			{Label: "means", Text: w.Means},
			{Label: "formula", Text: w.Formula},
			{Label: "unit", Text: w.Unit},
			{Label: "source", Text: w.Source},
		},
		Links: w.See, Hint: m.hintLine(hint...), Leave: overlay.Back{},
		Keys: []overlay.Bound{
			{Key: key.NewBinding(key.WithKeys("q")), Action: overlay.Close{}},
			{Key: key.NewBinding(key.WithKeys("left", "h")), Action: overlay.Back{}},
		},
		Follow: func(link int) overlay.Action {
			if at, ok := words.Find(m.lexicon.glossary(), w.See[link]); ok {
				return m.word(at)
			}
			return nil
		},
	}}
}

// assumptions is what the figures of a run assume.
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

// advisedMsg brings advice to its card; nil where there is none.
type advisedMsg struct {
	card  *overlay.Advice
	found *advise.Advice
}

// advice opens its card and has the advice on the setup in force worked out, which
// takes up to seconds: the card says so, and closing it ends that.
func (m *Model) advice() overlay.Action {
	if !m.now.report.Legal {
		why := "there is no advice on a setup that cannot run: enter takes the nearest legal values"
		if m.slow.pending {
			why = "the setup is still being worked out; then there is advice on it"
		}
		return Action{Verb: Say, Text: why}
	}
	ctx, stop := context.WithCancel(context.Background())
	card := overlay.NewAdvice(&m.now.report)
	card.Keys = []overlay.Bound{{Key: m.keys.Advice, Action: overlay.Close{}}}
	card.Export, card.Make, card.Stop = m.keys.Export, m.makeMove, stop
	card.Write = func(found *advise.Advice) overlay.Action { return closing(m.exportList("Advice", adviceTables(found))) }
	setup := m.now.setup
	return overlay.Sequence{overlay.Push{ID: overlay.AdviceID, Overlay: card}, m.guard(func() tea.Msg {
		defer stop()
		found, ok := advise.For(setup, advise.Options{Stop: func() bool { return ctx.Err() != nil }})
		debug.FreeOSMemory() // a search fills tens of megabytes, which nothing else needs
		switch {
		case ctx.Err() != nil:
			return nil
		case !ok:
			return advisedMsg{card: card}
		}
		return advisedMsg{card, &found}
	})}
}

// makeMove applies a move of the advice, as one step that can be undone.
func (m *Model) makeMove(move *advise.Move) overlay.Action {
	setup, what := move.Setup, "advice"
	if move.Fits && !m.now.report.Memory.Fits {
		what = "it fits"
	}
	return closing(Action{Verb: UseSetup, Setup: &setup, Text: what})
}
