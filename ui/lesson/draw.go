package lesson

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"meshscope/lessons"
	"meshscope/presets/setupdoc"
	"meshscope/themes"
	"meshscope/ui/frame"
	"meshscope/ui/overlay"
	"meshscope/ui/widget"
)

// rows returns how many rows the strip may have: some of the page stay in sight, but where the window
// has no room for a page.
func (s *Stage) rows() int {
	const page = 8
	if s.h < frame.MinHeight || s.w < frame.MinWidth {
		return max(s.h, 2)
	}
	return s.h - page
}

// drawer collects the lines of the strip.
type drawer struct {
	w     int
	theme *themes.Theme
	g     widget.Glyphs
	lines []string
}

// put adds a text behind a mark, in at most the given number of lines.
func (d *drawer) put(role themes.Role, mark, text string, most int) {
	at := widget.Width(mark)
	for i, part := range widget.Wrap(text, max(d.w-at-1, 1)) {
		if i == most {
			return
		}
		d.lines = append(d.lines, widget.NewLine(d.w).Put(d.theme.Paint(themes.Key), mark).Put(d.theme.Paint(role), part).String())
		mark = widget.Blank(at)
	}
}

// Render draws the strip at the foot of the screen.
func (s *Stage) Render(t *themes.Theme, g widget.Glyphs) overlay.Drawn {
	d := &drawer{w: s.w, theme: t, g: g}
	out := overlay.Drawn{CaretX: -1}
	s.head(d)
	act := s.Play.Act()
	if s.Play.Phase < lessons.Reveal {
		d.put(themes.Strong, " ", act.Ask, 4)
		out.ListY = len(d.lines)
		s.question(d)
		if act.Kind != lessons.Goal && act.Kind != lessons.Number {
			out.Rows = len(act.Options)
		}
	} else {
		s.reveal(d)
	}
	d.hints(s.hints())
	if most := s.rows(); len(d.lines) > most { // the question, then its keys
		d.lines = d.lines[1:]
		out.ListY--
		if len(d.lines) > most {
			d.lines = append(d.lines[:most-1], d.lines[len(d.lines)-1])
			out.Rows = max(min(out.Rows, most-1-out.ListY), 0)
		}
	}
	out.Lines, out.Y = d.lines, s.h-len(d.lines)
	out.ListY += out.Y
	if caret, ok := s.caret(out); ok {
		out.CaretX, out.CaretY = caret, out.Y+len(d.lines)-2
	}
	return out
}

// head names the lesson and the act.
func (s *Stage) head(d *drawer) {
	at := fmt.Sprintf("act %d of %d ", s.Play.At+1, len(s.Play.Lesson.Acts))
	if s.Class != nil && s.Class.Line != "" {
		at = s.Class.Line + "  " + at
	}
	l := widget.NewLine(d.w).Put(d.theme.Paint(themes.Faint), d.g.Rule+d.g.Rule+" ").Put(d.theme.Paint(themes.Accent), "LESSON").Gap(1)
	l.Put(d.theme.Paint(themes.Heading), widget.CutText(s.Play.Lesson.Title, max(l.Left()-len(at)-3, 1), d.g.Ellipsis)).Gap(1)
	l.Put(d.theme.Paint(themes.Faint), widget.Fill(d.g.Rule, l.Left()-len(at)-1)).Gap(1).Put(d.theme.Paint(themes.Muted), at)
	d.lines = append(d.lines, l.String())
}

// question lists the options, or what is typed, and the answer that was given.
func (s *Stage) question(d *drawer) {
	act := s.Play.Act()
	for i, o := range act.Options {
		mark, role := "   "+lessons.Letter(i)+"  ", themes.Text
		switch {
		case act.Kind == lessons.Goal:
			mark = "   needed: "
		case strings.EqualFold(s.Play.Given, lessons.Letter(i)):
			mark, role = " "+d.g.Pointer+" "+lessons.Letter(i)+"  ", themes.Current
		}
		d.put(role, mark, o.Say, 1)
		if s.Class != nil && s.Class.Shown {
			d.votes(s.Class.Votes, i)
		}
	}
	if s.Class != nil {
		for i, words := range s.Class.Ladder {
			d.put(themes.Text, "   ", words, 1)
			d.votes(s.Class.Votes, i)
		}
	}
	switch {
	case s.Play.Phase == lessons.Turning:
		d.put(themes.Accent, " ", "You said "+s.said()+". Now turn "+s.turn(d.g)+" and look.", 2)
	case s.wrong != "":
		d.put(themes.Bad, " ", s.wrong, 1)
	case s.Play.Judged.Says != "":
		d.put(themes.Bad, " ", s.Play.Judged.Says, 2)
	}
	if s.Play.Phase == lessons.Predict && act.Kind == lessons.Number {
		d.put(themes.Entry, " "+strings.TrimPrefix(act.Keys(), "a ")+": ", s.typed+" ", 1)
	}
}

// caret returns the column of the caret behind a typed number.
func (s *Stage) caret(out overlay.Drawn) (int, bool) {
	act := s.Play.Act()
	if s.Play.Phase != lessons.Predict || act.Kind != lessons.Number || len(out.Lines) < 3 {
		return 0, false
	}
	return len(" "+strings.TrimPrefix(act.Keys(), "a ")+": ") + len(s.typed), true
}

// said returns the answer in words.
func (s *Stage) said() string {
	act := s.Play.Act()
	for i, o := range act.Options {
		if strings.EqualFold(s.Play.Given, lessons.Letter(i)) {
			return o.Say
		}
	}
	_, unit := lessons.Unit(act.Against)
	return strings.TrimSpace(s.Play.Given + " " + unit)
}

// turn names the knobs that the act turns.
func (s *Stage) turn(g widget.Glyphs) string {
	var parts []string
	for _, t := range s.Play.Act().Turned {
		parts = append(parts, fmt.Sprintf("%s %s %s %s", t.Label, t.From, g.Arrow, t.To))
	}
	return strings.Join(parts, ", ")
}

// reveal shows what became of it: the verdict beside the guess, the terms that moved, the rule and
// its price.
func (s *Stage) reveal(d *drawer) {
	act, v := s.Play.Act(), s.Play.Judged
	switch {
	case s.Play.Given == "":
		d.put(themes.Accent, " ", "It is: "+act.Truth()+".", 2)
	case v.Right && act.Kind == lessons.Goal:
		d.put(themes.Good, " ", "Reached. "+upper(act.Truth())+".", 2)
	case v.Right:
		d.put(themes.Good, " ", "Right: "+s.said()+".", 1)
	default:
		d.put(themes.Bad, " "+d.g.Cross+" ", "You said "+s.said()+". "+v.Says, 3)
		d.put(themes.Good, "   ", "It is: "+v.Truth+".", 1)
	}
	if act.Kind == lessons.Number && s.Play.Given != "" {
		s.mark(d)
	}
	var moved []string
	for _, c := range act.Moved() {
		moved = append(moved, fmt.Sprintf("%s %s %s %s", strings.TrimSuffix(c.Name, " of the fullest rank"), c.Before, d.g.Arrow, c.After))
	}
	if len(moved) > 0 {
		d.put(themes.Muted, " moved  ", strings.Join(moved, ", "), 2)
	}
	d.put(themes.Strong, " rule   ", act.Rule, 3)
	if c, ok := act.Price(); ok && len(act.Turned) > 0 {
		d.put(themes.Muted, " price  ", fmt.Sprintf("%s, %s %s %s", c.Name, c.Before, d.g.Arrow, c.After), 1)
	}
}

// mark draws the guess as a mark on the bar of the figure.
func (s *Stage) mark(d *drawer) {
	act := s.Play.Act()
	scale, unit := lessons.Unit(act.Against)
	var guess float64
	if _, err := fmt.Sscanf(strings.ReplaceAll(s.Play.Given, ",", ""), "%g", &guess); err != nil {
		return
	}
	is, room := act.Against.Value/scale, d.w-30
	if room < 10 || is <= 0 {
		return
	}
	top := max(is, guess)
	bar, at := int(is/top*float64(room)), min(int(guess/top*float64(room)), room-1)
	full, here := "█", "▽"
	if !d.g.Unicode {
		full, here = "#", "V"
	}
	l := widget.NewLine(d.w).Gap(1)
	for x := range room {
		switch {
		case x == at:
			l.Put(d.theme.Paint(themes.Warn), here)
		case x < bar:
			l.Put(d.theme.Paint(themes.Good), full)
		default:
			l.Gap(1)
		}
	}
	l.Gap(1).Put(d.theme.Paint(themes.Muted), fmt.Sprintf("%s you: %g %s", here, guess, unit))
	d.lines = append(d.lines, l.String())
}

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// hints returns the keys of the phase.
func (s *Stage) hints() []widget.Hint {
	if s.Class != nil {
		return s.Class.Hints
	}
	own, why := widget.Hint{Key: "esc", Text: "explore on your own"}, widget.Hint{}
	if s.Play.Act().Decides() != "" {
		why = widget.Hint{Key: "e", Text: "explains the figure"}
	}
	if s.Play.Lesson.ID == "" {
		own.Text = "does not turn"
	}
	switch act := s.Play.Act(); {
	case s.Play.Phase == lessons.Turning:
		return []widget.Hint{{Key: "space", Text: "turns it"}, own}
	case s.Play.Phase == lessons.Reveal && s.Play.At+1 == len(s.Play.Lesson.Acts):
		if s.Play.Lesson.ID == "" {
			return []widget.Hint{{Key: "space", Text: "goes on"}, why}
		}
		return []widget.Hint{{Key: "space", Text: "ends the lesson"}, why, own}
	case s.Play.Phase == lessons.Reveal:
		return []widget.Hint{{Key: "space", Text: "next question"}, why, own}
	case act.Kind == lessons.Goal:
		return []widget.Hint{{Key: "space", Text: "turn the knobs yourself, B when you are done"}, {Key: "!", Text: "show one way"}}
	case act.Kind == lessons.Number:
		return []widget.Hint{{Key: "0-9", Text: "type"}, {Key: "enter", Text: "answers"}, {Key: "!", Text: "show me"}, own}
	default:
		return []widget.Hint{{Key: "a-" + lessons.Letter(len(act.Options)-1), Text: "answers"}, {Key: "!", Text: "show me"}, own}
	}
}

func (d *drawer) hints(hints []widget.Hint) {
	l := widget.NewLine(d.w)
	for _, h := range hints {
		if h.Key == "" {
			continue
		}
		if l.Left() < widget.Width(h.Key+h.Text)+3 {
			break
		}
		l.Gap(1).Put(d.theme.Paint(themes.Key), h.Key).Gap(1).Put(d.theme.Paint(themes.Muted), h.Text).Gap(1)
	}
	d.lines = append(d.lines, l.String())
}

// Hide replaces the digits of masked figures in drawn lines, whatever their colours.
func Hide(mask lessons.Mask, lines []string) {
	if len(mask) == 0 {
		return
	}
	for i, line := range lines {
		for _, at := range mask.Places(ansi.Strip(line)) {
			line = question(line, at[0], at[1])
		}
		lines[i] = line
	}
}

// question puts question marks over the bytes from and to of the visible text of a line.
func question(line string, from, to int) string {
	b := []byte(line)
	seen := 0
	var state byte
	for at := 0; at < len(b); {
		_, width, n, next := ansi.DecodeSequence(b[at:], state, nil)
		state = next
		if width > 0 { // visible: digits are single bytes
			if seen >= from && seen < to {
				b[at] = '?'
			}
			seen += n
		}
		at += max(n, 1)
	}
	return string(b)
}

// Covers reports whether the screen itself would answer: a masked question without a turn.
func (s *Stage) Covers() bool { return len(s.Play.Masked()) > 0 && len(s.Play.Act().Turned) == 0 }

// Cover draws over the rows of a screen that would answer, with the setup that it would show.
func (s *Stage) Cover(rows []string, t *themes.Theme, lib setupdoc.Library) {
	d := &drawer{w: s.w, theme: t}
	for range max(len(rows)/3, 1) {
		d.lines = append(d.lines, widget.Blank(s.w))
	}
	d.put(themes.Muted, "    ", "The screen is hidden until you answer. It shows this setup:", 2)
	if flags, ok := setupdoc.Flags(s.Play.Setup(), lib); ok {
		d.put(themes.Faint, "    ", flags, 3)
	}
	copy(rows, widget.Height(d.lines, s.w, len(rows)))
}
