package ui

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	"github.com/charmbracelet/colorprofile"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/units"
	"meshscope/presets/words"
	"meshscope/report/figure"
	"meshscope/ui/knobs"
	"meshscope/ui/overlay"
	"meshscope/ui/screens/explore"
	"meshscope/ui/state"
	"meshscope/ui/tty"
	"meshscope/ui/widget"
)

// noteCard is the card on the focused knob. Its keys turn and change the knob below it.
func (m *Model) noteCard() *overlay.Card {
	p, _ := knob.Find(m.state.Focus)
	note := m.lexicon.methods()[p.ID]
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
		Hint: m.hintLine("up/down other knobs", "left/right turn it", m.shown("i", "note")+" or esc closes"),
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

// noteWidth is the room for the figures of a note on the narrowest card that
// shows them, in cells.
const noteWidth = 62

// noteFigures are what the values of the focused knob give on the setup in
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

// traffic is what a GPU sends in a step, 0 where it is alone.
func traffic(b units.Bytes) string {
	if b == 0 {
		return "0"
	}
	return figure.Traffic(b)
}

// noteColumns are the values in sight, at the current one, and the width of
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

// terminalCard says what the program found out about its terminal, and what overrides
// it: nobody should have to guess why a screen looks as it does.
func (m *Model) terminalCard() *overlay.Card {
	value := func(name string) string {
		if v := tty.Getenv(m.options.Env, name); v != "" {
			return name + "=" + escape.Name(v) // it may hold what steers a terminal
		}
		return name + " is not set"
	}
	colours := map[colorprofile.Profile]string{
		colorprofile.TrueColor: "16 million; the palettes have 256, which are half as many bytes",
		colorprofile.ANSI256:   "256", colorprofile.ANSI: "16",
	}[m.caps.Profile]
	switch {
	case m.options.NoColor:
		colours = "none, as --no-color says"
	case tty.NoColor(m.options.Env):
		colours = "none, as NO_COLOR says"
	case colours == "":
		colours = "none"
	}
	ground := "light"
	if m.caps.Dark {
		ground = "dark, or the terminal does not say"
	}
	yes := func(on bool, is, isNot string) string {
		if on {
			return is
		}
		return isNot
	}
	theme := m.state.Theme
	if theme == state.ThemeAuto {
		theme += ": " + m.look.theme.Name
	}
	card := &overlay.Card{
		Title: "TERMINAL", Remark: m.shown("T", "terminal"),
		Name: "what was found out, and what overrides it", Value: fmt.Sprintf("%d x %d", m.caps.Width, m.caps.Height),
		Paragraphs: []overlay.Paragraph{
			{Label: "type", Text: value("TERM") + ", " + value("COLORTERM") + "; no terminfo is needed"},
			{Label: "colours", Text: colours + "; TERM, COLORTERM, NO_COLOR and --no-color decide"},
			{Label: "background", Text: ground + "; --theme overrides"},
			{Label: "theme", Text: theme + "; " + m.shown("t", "theme") + " turns it, --theme chooses"},
			{Label: "signs", Text: yes(m.caps.Unicode, "Unicode", "ASCII") + ", from " + strings.Join([]string{value("LC_ALL"), value("LC_CTYPE"), value("LANG")}, ", ") + "; --ascii overrides"},
			{Label: "underlines", Text: yes(m.caps.Underlines, "yes", "no: the terminal has none") + yes(m.state.Unmarked, ", turned off", "") + "; " + m.shown("W", "marks") + " turns them"},
			{Label: "mouse", Text: yes(m.state.Mouse, "clicks, drags and wheel; shift and drag selects text", "left to the terminal") + "; " + m.shown("M", "mouse") + " turns it, --no-mouse"},
			{Label: "clipboard", Text: "by the terminal (OSC 52)" + yes(tty.Getenv(m.options.Env, "TMUX") != "", "; tmux passes it on after: set -g set-clipboard on", "") + ", and to a file"},
		},
		Hint: m.shown("T", "terminal") + " or esc closes",
		Keys: []overlay.Bound{{Key: m.binding("terminal"), Action: overlay.Close{}}},
	}
	for _, text := range m.options.Notices {
		card.Paragraphs = append(card.Paragraphs, overlay.Paragraph{Label: "at start", Text: text})
	}
	return card
}

// noticed is the line about what went wrong before the start. It has room for little
// and goes with the first key; all of it stays on the terminal's page.
func (m *Model) noticed() string {
	first, key := m.options.Notices[0], m.shown("T", "terminal")
	if n := len(m.options.Notices); n > 1 {
		first = strings.ReplaceAll(first, "; ", ", ") // the foot shortens a text before its last semicolon
		return fmt.Sprintf("%d messages from the start, all under %s; the first: %s", n, key, first)
	}
	return first + "; " + key + " shows it again"
}
