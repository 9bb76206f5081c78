package ui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"meshscope/engine"
	"meshscope/themes"
	"meshscope/ui/figure"
	"meshscope/ui/widget"
)

// foot is what happened or is wrong, then the sentence about the focus.
func (m *Model) foot(w, h int) []string {
	t := m.look.theme
	lines := m.lead(w, h)
	for _, part := range wrap(m.sentence(), w, h-len(lines)) {
		lines = append(lines, widget.NewLine(w).Put(t.Paint(themes.Muted), part).String())
	}
	return widget.Height(lines, w, h)
}

// sentence says what the focused knob does, or why it does nothing here.
func (m *Model) sentence() string {
	p, _ := engine.FindParam(m.state.Focus)
	for i := range m.rows {
		if r := &m.rows[i]; r.ID == m.state.Focus && r.Off != "" {
			return r.Label + " has no effect here (" + r.Off + "). " + p.Help
		}
	}
	return p.Help
}

// lead are the first lines of the foot: what is typed, problems, or the note.
// Errors take all lines they need; warnings leave one for the sentence.
func (m *Model) lead(w, h int) []string {
	t, g := m.look.theme, m.look.glyphs
	errs := errorsOf(m.now.report.Problems)
	var out []string
	say := func(role themes.Role, sign, text string, most int) {
		for _, part := range wrap(text, w-widget.Width(sign), most) {
			out = append(out, widget.NewLine(w).Put(t.Paint(role), sign+part).String())
			sign = widget.Blank(widget.Width(sign))
		}
	}
	report := &m.now.report
	short := report.Memory != nil && report.Memory.Reason != ""
	switch {
	case m.typing.on && m.typing.wrong != "":
		say(themes.Bad, g.Cross+" ", m.typing.wrong, h)
	case m.typing.on:
		p, _ := engine.FindParam(m.typing.id)
		say(themes.Text, "", preview(&p, m.typing.input.Value()), h-1)
	case len(errs) > 0:
		text := errs[0].Message
		if len(errs) > 1 {
			text += fmt.Sprintf(" (and %d more)", len(errs)-1)
		}
		say(themes.Bad, g.Cross+" ", text, h)
	case m.state.Note.Text != "" && (!short || h > 2):
		role := themes.Text
		if m.state.Note.Tone == Trouble {
			role = themes.Bad
		}
		say(role, "", m.state.Note.Text, 1)
	}
	if short && !m.typing.on {
		last := min(len(m.remedies), 1)
		say(themes.Bad, g.Cross+" ", report.Memory.Reason, max(h-len(out)-last, 1))
		if last > 0 && len(out) < h {
			say(themes.Text, "  ", "it fits with "+m.remedyWords(), 1)
		}
	}
	if len(errs) == 0 && !m.typing.on {
		for _, p := range m.now.report.Problems {
			if len(out) < h-1 {
				say(themes.Warn, "! ", p.Message, 1)
			}
		}
	}
	return out
}

// remedyWords lists the single turns that make the setup fit, the fastest first.
func (m *Model) remedyWords() string {
	var words []string
	for _, r := range m.remedies {
		words = append(words, r.Text+" ("+figure.Seconds(r.Report.Time.Step)+" a step)")
	}
	return strings.Join(words, ", ")
}

// wrap breaks a text into lines of w cells, at most n; the last one is cut.
func wrap(text string, w, n int) []string {
	var out []string
	for n > 0 && text != "" {
		if n == 1 {
			return append(out, widget.Cut(text, w))
		}
		first, rest, _ := strings.Cut(ansi.Wordwrap(text, w, ""), "\n")
		out = append(out, first)
		text = strings.ReplaceAll(rest, "\n", " ")
		n--
	}
	return out
}
