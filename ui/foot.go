package ui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/knobs"
	"meshscope/ui/state"
	"meshscope/ui/widget"
)

// foot returns the problems, then the last message, then the sentence about the focus.
func (m *Model) foot(w, h int) []string {
	f := footer{w: w, h: h, theme: m.look.theme}
	m.urgent(&f)
	m.remarks(&f)
	return widget.Height(f.lines, w, h)
}

// footer collects the lines of the foot.
type footer struct {
	w, h  int
	theme *themes.Theme
	lines []string
}

func (f *footer) left() int { return f.h - len(f.lines) }

// say adds a text behind a sign in at most the given number of lines.
func (f *footer) say(role themes.Role, sign, text string, most int) {
	for _, part := range wrap(text, f.w-widget.Width(sign), min(most, f.left())) {
		f.lines = append(f.lines, widget.NewLine(f.w).Put(f.theme.Paint(role), sign+part).String())
		sign = widget.Blank(widget.Width(sign))
	}
}

// fits reports whether a text behind a sign of two cells has room in n lines.
func (f *footer) fits(text string, n int) bool {
	return len(wrap(text, f.w-2, 1<<10)) <= n
}

// sentence says what the focused knob does, or why it does nothing here.
func (m *Model) sentence() string {
	p, _ := knob.Find(m.state.Focus)
	for i := range m.rows {
		if r := &m.rows[i]; r.ID == m.state.Focus && r.Off != "" {
			return r.Label + " has no effect here (" + r.Off + "). " + p.Help
		}
	}
	if none := knobs.NoEffect(m.idle(), p.ID); none != "" {
		return none + ". " + p.Help
	}
	if same := m.alike(); same != "" {
		return same + ". " + p.Help
	}
	if hint := advise.BatchHint(&m.state.Setup); p.ID == knob.GBS && hint != "" {
		return hint + " Larger batches shrink the share of the bubble and of what is done once per step."
	}
	return p.Help
}

// urgent shows the typed value, the answer to a key that did nothing, the errors, why the setup does not fit,
// or the warnings that the last change caused.
func (m *Model) urgent(f *footer) {
	g, typing := m.look.glyphs, m.typing()
	switch {
	case typing != nil && typing.Wrong != "":
		f.say(themes.Bad, g.Cross+" ", typing.Wrong, f.h)
	case typing != nil:
		p, _ := knob.Find(typing.Knob)
		text, _ := typing.Text()
		f.say(themes.Text, "", state.Preview(&m.state.Setup, &p, text), f.h-1)
	case m.state.Note.Tone != state.Plain && (!m.noticing() || !m.refused()):
		m.note(f)
	case m.noticing(): // under what is wrong with the setup that was opened
		f.h--
		m.sayWrong(f)
		f.h++
		f.say(themes.Bad, "", gist(m.state.Note.Text), 1)
	case m.refused():
		m.sayWrong(f)
	case len(m.fresh) > 0:
		text := warning(m.fresh)
		if m.state.Note.Text != "" && !f.fits(text, f.h-1) { // what followed is said too
			text = gist(text)
		}
		f.say(themes.Warn, "! ", text, 2)
	}
}

// refused reports whether the setup is illegal or does not fit.
func (m *Model) refused() bool {
	report := &m.now.report
	return len(state.Errors(report.Problems)) > 0 || report.Memory != nil && report.Memory.Reason != ""
}

// sayWrong says what is illegal, or why the setup does not fit and what makes it fit.
func (m *Model) sayWrong(f *footer) {
	g, report := m.look.glyphs, &m.now.report
	if errs := state.Errors(report.Problems); len(errs) > 0 {
		text, more := errs[0].Message, ""
		if n := len(errs) - 1; n == 1 {
			more = " (and 1 more problem)"
		} else if n > 1 {
			more = fmt.Sprintf(" (and %d more problems)", n)
		}
		if !f.fits(text+more, f.h) {
			text = gist(text)
		}
		f.say(themes.Bad, g.Cross+" ", text+more, f.h)
		return
	}
	text := report.Memory.Reason
	lines := min(max(f.left()-1, 1), 2) // one is for what to do about it
	if !f.fits(text, lines) {
		text = cause(text)
	}
	role, mark := themes.Bad, g.Cross+" "
	if report.Memory.Fit == engine.Tight {
		role, mark = themes.Warn, "! "
	}
	f.say(role, mark, text, lines)
	f.say(themes.Text, "  ", m.fixesLine(f.w-2), 1)
}

// warning returns the first of some warnings, with the number of the others.
func warning(all []string) string {
	if len(all) > 1 {
		return fmt.Sprintf("(+%d) %s", len(all)-1, all[0])
	}
	return all[0]
}

// remarks are what happened, the warnings that were there before, and the
// sentence about the focus: whole where possible, else the half that says what
// it costs, else behind what happened on the same line.
func (m *Model) remarks(f *footer) {
	if f.left() <= 0 {
		return
	}
	help := m.sentence()
	if m.state.Note.Text != "" && m.state.Note.Tone == state.Plain && m.typing() == nil {
		from := len(f.lines)
		text := m.note(f)
		if f.left() == 0 || !f.fits(cost(help), f.left()) {
			m.flow(f, text, from, help)
			return
		}
	} else if m.state.Hint && len(f.lines) == 0 {
		f.lines = append(f.lines, m.hint(f.w))
	} else if old := m.standing(); len(old) > 0 && f.left() > 1 && len(f.lines) == 0 {
		text := warning(old)
		if !f.fits(text, 1) {
			text = gist(text)
		}
		f.say(themes.Warn, "! ", text, 1)
	}
	if !f.fits(help, f.left()) {
		help = clauses(cost(help), func(text string) bool { return len(wrap(text, f.w, 1<<10)) <= f.left() })
	}
	f.say(themes.Muted, "", help, f.left())
}

// clauses returns as many clauses of a sentence as have room, the first half of it at least; where not even
// those have, the sentence itself.
func clauses(text string, fits func(string) bool) string {
	for short := text; !fits(short); {
		end := max(strings.LastIndex(short, ", "), strings.LastIndex(short, "; "),
			strings.LastIndex(strings.TrimSuffix(short, "."), ". "))
		if end < len(text)/2 {
			return text
		}
		if short = short[:end] + "."; fits(short) {
			return short
		}
	}
	return text
}

// hint returns the line of the first start: how to begin, the longest form that has
// room.
func (m *Model) hint(w int) string {
	up, turn := "↑↓", "←→"
	if !m.look.glyphs.Unicode {
		up, turn = "up down", "left right"
	}
	up, turn = m.shown(up, "up", "down"), m.shown(turn, "turn-down", "turn-up")
	help := m.shown("?", "help")
	var words [][2]string // a key, and what is said of it
	for _, words = range [][][2]string{
		{
			{"", "New here?"},
			{up, "picks a knob,"},
			{turn, "turns it, and every figure updates;"},
			{help, "lists all keys,"},
			{"esc", "hides this line"},
		},
		{
			{"", "New here?"},
			{up, "picks a knob,"},
			{turn, "turns it;"},
			{help, "lists all keys,"},
			{"esc", "hides this"},
		},
		{{up, "picks a knob,"}, {turn, "turns it;"}, {help, "keys,"}, {"esc", "hides this"}},
	} {
		need := -1
		for _, word := range words {
			need += widget.Width(word[0]) + min(widget.Width(word[0]), 1) + widget.Width(word[1]) + 1
		}
		if need <= w {
			break
		}
	}
	l, t := widget.NewLine(w), m.look.theme
	for _, word := range words {
		if word[0] != "" {
			l.Put(t.Paint(themes.Key), word[0]).Gap(1)
		}
		l.Put(t.Paint(themes.Strong), word[1]).Gap(1)
	}
	return l.String()
}

// note says what the last key did, or why it did nothing.
func (m *Model) note(f *footer) string {
	role, text := themes.Text, m.state.Note.Text
	if m.state.Note.Tone == state.Trouble {
		role = themes.Bad
	}
	if !f.fits(text, f.left()) {
		text = fewer(text, func(text string) bool { return f.fits(text, f.left()) })
	}
	f.say(role, "", text, f.left())
	return text
}

// fewer returns as many of the changes that a note lists as have room, and how many more there are; where not
// even one has, the gist.
func fewer(text string, fits func(string) bool) string {
	if at := strings.Index(text, "→"); at >= 0 {
		at = strings.LastIndex(text[:at], ": ") + len(": ")
		for changes, n := strings.Split(text[at:], ", "), 1; n < len(changes); n++ {
			if short := fmt.Sprintf("%s%s and %d more", text[:at],
				strings.Join(changes[:len(changes)-n], ", "), n); fits(short) {
				return short
			}
		}
	}
	return gist(text)
}

// flow lets the sentence about the focus begin behind the note, whose lines
// start at from, when neither half of it has room below.
func (m *Model) flow(f *footer, note string, from int, help string) {
	parts := wrap(note, f.w, f.h-from)
	last := parts[len(parts)-1]
	const apart = 3
	room, below := f.w-widget.Width(last)-apart, f.h-from-len(parts)
	if room < 20 {
		f.say(themes.Muted, "", cost(help), f.left())
		return
	}
	begin := func(text string) (first, rest string) {
		first, rest, _ = strings.Cut(ansi.Wrap(text, room, ""), "\n")
		return first, strings.ReplaceAll(rest, "\n", " ")
	}
	first, rest := begin(help)
	if len(wrap(rest, f.w, 1<<10)) > below {
		first, rest = begin(cost(help))
	}
	if below == 0 && rest != "" {
		return // half a sentence says nothing
	}
	l := widget.NewLine(f.w).Put(f.theme.Paint(themes.Text), last).Gap(apart).Put(f.theme.Paint(themes.Muted),
		first)
	f.lines = append(f.lines[:from+len(parts)-1], l.String())
	f.say(themes.Muted, "", rest, below)
}

// standing returns the warnings of the current setup.
func (m *Model) standing() []string {
	var out []string
	if words := report.StarvedWords(&m.now.setup); words != "" && m.now.report.Legal && len(m.masked()) == 0 {
		out = append(out, words) // costs more than what launchers want otherwise
	}
	for _, p := range m.now.report.Problems {
		if p.Severity == layout.Warning {
			out = append(out, p.Message)
		}
	}
	return out
}

// gist returns a long message without its middle: what is wrong, and after the last
// semicolon what would do.
func gist(text string) string {
	head, tail := text, ""
	if i := strings.LastIndex(text, "; "); i >= 0 {
		head, tail = text[:i], text[i:]
	}
	if i := strings.LastIndex(head, ": "); i > 30 {
		head = head[:i]
	}
	return head + tail
}

// cause returns the reason why a rank does not fit without the figures that the
// gauge shows as well.
func cause(reason string) string {
	rank, after, ok := strings.Cut(reason, " needs ")
	if _, why, found := strings.Cut(after, ": "); ok && found {
		return rank + ": " + why
	}
	return reason
}

// cost returns the half of a sentence about a knob that says what it does, without
// the half that says what it is.
func cost(help string) string {
	_, after, ok := strings.Cut(help, ": ")
	if !ok || after == "" {
		return help
	}
	return strings.ToUpper(after[:1]) + after[1:]
}

// remedyWords lists the single turns that make the setup fit, in the order of advise.Fixes.
func (m *Model) remedyWords() (words []string) {
	for i := range m.remedies {
		r := &m.remedies[i]
		detail := figure.Seconds(r.Report.Time.Step)
		if i == 0 {
			detail += " per step"
			if also := r.Follows(); also != "" {
				detail = also + "; " + detail
			}
		}
		switch { // why it comes behind one that is slower
		case r.Report.Memory.Fit == engine.Tight:
			detail += ", tight"
		case r.Last != "":
			detail += ", less certain"
		case r.Parallelizes:
			detail += ", adds parallelism"
		}
		words = append(words, r.Turns()+" ("+detail+")")
	}
	return words
}

// fixesLine returns what makes the setup fit, as many changes as have room, and the key that opens all of it.
// A change is never cut: half of it would not make the setup fit.
func (m *Model) fixesLine(w int) string {
	why := m.shown("a", "advice") + " advice: why, and every fix"
	switch {
	case m.state.Setup.Slow():
		return "too large to scan for fixes; " + why
	case len(m.offered()) == 0:
		return why
	}
	more, words := "; "+m.shown("a", "advice")+" advice: all", m.remedyWords()
	for n := len(words); n > 0; n-- {
		text := "fits with " + strings.Join(words[:n], ", ")
		if n < len(words) {
			text += m.look.glyphs.Ellipsis
		}
		if widget.Width(text+more) <= w {
			return text + more
		}
	}
	if bare := "fits with " + m.remedies[0].Turns() + more; widget.Width(bare) <= w {
		return bare
	}
	return why
}

// wrap breaks a text into lines of w cells, at most n; the last one is cut.
func wrap(text string, w, n int) []string {
	var out []string
	for n > 0 && text != "" {
		if n == 1 {
			return append(out, widget.CutText(text, w, "…"))
		}
		first, rest, _ := strings.Cut(ansi.Wrap(text, w, ""), "\n")
		out = append(out, first)
		text = strings.ReplaceAll(rest, "\n", " ")
		n--
	}
	return out
}

// helpAndQuit are the hints for which a long one before them leaves room.
const helpAndQuit = "  ? help  q quit"

// placedHint is a hint of the footer with the column at which it begins.
type placedHint struct {
	widget.Hint
	x int
}

// placedHints returns the hints that have room in w cells.
func (m *Model) placedHints(w int) []placedHint {
	var out []placedHint
	x := 0
	for _, hint := range m.hints() {
		need := widget.Width(hint.Key) + 1 + widget.Width(hint.Text)
		if x+need > w && len(out) == 0 { // a long list of values to set is cut, help and quit stay
			room := w - widget.Width(hint.Key) - 1 - len(helpAndQuit)
			hint.Text = widget.CutText(hint.Text, room, m.look.glyphs.Ellipsis)
			need = widget.Width(hint.Key) + 1 + widget.Width(hint.Text)
		}
		if x+need > w {
			break
		}
		out = append(out, placedHint{hint, x})
		x += need + 2
	}
	return out
}

// hintMouse presses the key of the footer that was clicked on: of several the one under the
// pointer; on the words behind them the last arrow, else the first key.
func (m *Model) hintMouse(x int) tea.Cmd {
	for _, h := range m.placedHints(m.caps.Width - 2*m.margin()) {
		if x < h.x || x >= h.x+widget.Width(h.Key)+1+widget.Width(h.Text) {
			continue
		}
		if name := keyAt(h.Key, x-h.x); name != "" {
			return m.handleScreenKey(name)
		}
	}
	return nil
}

// keyAt returns the name of the key that is written at a column of the keys of a hint; empty:
// none can be pressed.
func keyAt(keys string, x int) string {
	arrows := map[rune]string{'↑': "up", '↓': "down", '←': "left", '→': "right"}
	if strings.ContainsAny(keys, "↑↓←→") {
		all := []rune(keys)
		return arrows[all[min(x, len(all)-1)]]
	}
	switch keys {
	case "0-9":
		return "enter" // types
	case "arrows":
		return ""
	}
	at, names := 0, strings.FieldsFunc(keys, func(r rune) bool { return r == ' ' || r == '/' && keys != "/" })
	for _, name := range names {
		if at += len(name) + 1; x < at && x < len(keys) {
			return name
		}
	}
	if len(names) == 0 {
		return ""
	}
	return names[0]
}
