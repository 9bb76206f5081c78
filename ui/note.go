package ui

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/units"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/ui/knobs"
	"meshscope/ui/overlay"
	"meshscope/ui/screens/explore"
	"meshscope/ui/state"
	"meshscope/ui/widget"
)

// noteCard returns the card on the focused knob. Its keys turn and change the knob below it.
func (m *Model) noteCard() *overlay.Card {
	p, _ := knob.Find(m.state.Focus)
	note := m.lexicon.Methods()[p.ID]
	card := &overlay.Card{
		Title: "KNOB", Remark: "--" + string(p.ID),
		Name: note.Name, Value: knobs.Show(&p, p.Text(m.state.Setup)), About: p.Allowed(),
		Paragraphs: slices.Concat([]overlay.Paragraph{
			{Label: "cuts", Text: note.Cuts},
			{Label: "costs", Text: note.Costs},
		}, m.noteFigures(), m.noteLayers(), elsewhere(&p, &m.state.Setup), []overlay.Paragraph{
			{Label: "when", Text: note.Use},
			{Label: "watch", Text: note.Watch},
			{Label: "source", Text: note.Source},
		}),
		Hint: overlay.Hint(m.look.glyphs, "up/down other knobs", "left/right turn it",
			m.shown("i", "note")+" or esc closes"),
		Keys: []overlay.Bound{
			{Key: m.binding("up"), Action: state.Action{Verb: state.MoveFocus, N: -1}},
			{Key: m.binding("down"), Action: state.Action{Verb: state.MoveFocus, N: 1}},
			{Key: m.binding("turn-down"), Action: state.Action{Verb: state.TurnKnob, N: -1}},
			{Key: m.binding("turn-up"), Action: state.Action{Verb: state.TurnKnob, N: 1}},
			{Key: m.binding("note"), Action: overlay.Close{}},
		},
	}
	if !strings.EqualFold(p.Label, note.Name) {
		card.Name = p.Label + ", " + note.Name
	}
	if why := knobs.Off(&m.state.Setup, p.ID); why != "" {
		card.Value = "no effect here: " + why
	}
	if none := knobs.NoEffect(m.idle(), p.ID); none != "" {
		card.Paragraphs = append(card.Paragraphs, overlay.Paragraph{Label: "here", Text: none})
	} else if same := m.alike(); same != "" {
		card.Paragraphs = append(card.Paragraphs, overlay.Paragraph{Label: "same", Text: same})
	}
	for i := range m.rows {
		if r := &m.rows[i]; r.ID == p.ID && len(r.Shown) > 1 {
			card.About = "legal here: " + strings.Join(r.Shown, "  ")
		}
	}
	return card
}

// elsewhere says which values of a knob other stacks have.
func elsewhere(p *knob.Knob, s *engine.Setup) (out []overlay.Paragraph) {
	label := "not here"
	for _, line := range p.Elsewhere(s) {
		out = append(out, overlay.Paragraph{Label: label, Text: line, Tight: label == ""})
		label = ""
	}
	return out
}

// alike says which other values of the focused knob give the figures of the current one, and why.
func (m *Model) alike() string {
	p, _ := knob.Find(m.state.Focus)
	s := m.chart()
	if p.Alike == nil || m.sweep.id != p.ID || s.Pending || s.Asked || s.Current < 0 ||
		s.Current >= len(s.Points) {
		return ""
	}
	now := &s.Points[s.Current]
	var same []string
	for i := range s.Points {
		other := &s.Points[i]
		if i != s.Current && now.Known && other.Known && other.Peak == now.Peak &&
			math.Abs(float64(other.Step/now.Step)-1) < 1e-9 {
			same = append(same, other.Text)
		}
	}
	if len(same) == 0 {
		return ""
	}
	return p.Label + " " + strings.Join(append([]string{now.Text}, same...),
		" and ") + " are the same here: " + p.Alike(&m.state.Setup)
}

// noteLayers tells which kinds of layers the focused knob cuts, where the model has several: those of each
// rank, or all of them and the part of their state that is cut.
func (m *Model) noteLayers() []overlay.Paragraph {
	text := ""
	switch of := m.now.report.Memory; {
	case of == nil:
	case slices.Contains([]knob.ID{knob.PP, knob.VPP, knob.Split}, m.state.Focus):
		text = strings.Join(report.KindsOfRanks(of), "; ")
	case slices.Contains([]knob.ID{knob.TP, knob.CP}, m.state.Focus):
		text = report.AllKinds(of)
		if heads, what := m.state.Setup.Model.ScanHeads(); heads > 0 && text != "" {
			text += "; " + strconv.Itoa(heads) + " " + what
		}
	}
	if text == "" {
		return nil
	}
	return []overlay.Paragraph{{Label: "layers", Text: text}}
}

// noteWidth is the room for the figures of a note on the narrowest card that
// shows them, in cells.
const noteWidth = 62

// noteFigures returns what the values of the focused knob give on the setup in
// force: the note says what happens in general, these what happens here. They
// come with the chart and are left out until then.
func (m *Model) noteFigures() []overlay.Paragraph {
	s := m.chart()
	if m.sweep.id != m.state.Focus || len(s.Points) < 2 {
		return nil
	}
	known := false
	for i := range s.Points {
		known = known || s.Points[i].Known
	}
	if !known {
		return nil
	}
	first, last, width := noteColumns(&s)
	row := func(label string, cell func(p *explore.Point) string) overlay.Paragraph {
		var b strings.Builder
		for i := first; i < last; i++ {
			text := cell(&s.Points[i])
			b.WriteString(strings.Repeat(" ", max(width-widget.Width(text), 0)) + text)
		}
		return overlay.Paragraph{Label: label, Text: b.String(), Tight: true, Plain: true}
	}
	figures := func(label string, of func(p *explore.Point) string) overlay.Paragraph {
		return row(label, func(p *explore.Point) string {
			switch {
			case p.Known:
				return of(p)
			case m.sweep.pending:
				return m.look.glyphs.Dot
			default:
				return figure.Unknown
			}
		})
	}
	values := row("here", func(p *explore.Point) string {
		if s.Current >= 0 && s.Current < len(s.Points) && p == &s.Points[s.Current] {
			return "[" + p.Text + "]"
		}
		return p.Text + " "
	})
	values.Tight = false
	return []overlay.Paragraph{
		values,
		figures("step", func(p *explore.Point) string { return figure.Seconds(p.Step) + " " }),
		figures("peak, GiB", func(p *explore.Point) string { return figure.GiB(p.Peak) + unfit(p) }),
		figures("traffic", func(p *explore.Point) string { return traffic(p.Traffic) + " " }),
	}
}

// unfit marks a peak that is more than there is, as the chart does.
func unfit(p *explore.Point) string {
	if p.Fits {
		return " "
	}
	return "!"
}

// traffic returns what a GPU sends in a step, 0 where it is alone.
func traffic(b units.Bytes) string {
	if b == 0 {
		return "0"
	}
	return figure.Traffic(b)
}

// noteColumns returns the values in sight, at the current one, and the width of
// each.
func noteColumns(s *explore.Sweep) (first, last, width int) {
	width = len("1,234 ms") + 2
	for i := range s.Points {
		width = max(width, widget.Width(s.Points[i].Text)+3)
	}
	n := min(max(noteWidth/width, 1), len(s.Points))
	first = min(max(s.Current-n/2, 0), len(s.Points)-n)
	return first, first + n, width
}
