package lesson

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/lessons"
	"meshscope/themes"
	"meshscope/ui/frame"
	"meshscope/ui/overlay"
	"meshscope/ui/widget"
)

// Rows of the stage: its head with the gauges above the page, the page at least.
const (
	HeadRows = 3
	pageRows = 7
	// steadyFrom is the height from which the page keeps its rows from question to answer.
	steadyFrom  = 30
	steadyRows  = 12
	longestRule = 7 // lines
	optionsRoom = 3 // cells between options in one row
	wide        = 100
)

// rows returns how many rows the question may have: some of the page stay in sight, but where the
// window has no room for a page.
func (s *Stage) rows() int {
	if s.small() {
		return max(s.h, 1)
	}
	return s.h - HeadRows - pageRows
}

func (s *Stage) small() bool { return s.h < frame.MinHeight || s.w < frame.MinWidth }

// drawer collects lines.
type drawer struct {
	w     int
	theme *themes.Theme
	g     widget.Glyphs
	lines []string
}

// put adds a text behind a mark, in at most the given number of lines.
func (d *drawer) put(role themes.Role, mark, text string, most int) {
	at := widget.Width(mark)
	parts := widget.Wrap(text, max(d.w-at-1, 1))
	if len(parts) > most && most > 0 {
		parts = append(parts[:most-1:most-1],
			widget.CutText(strings.Join(parts[most-1:], " "), max(d.w-at-1, 1), d.g.Ellipsis))
	}
	for _, part := range parts {
		d.lines = append(d.lines, widget.NewLine(d.w).Put(d.theme.Paint(themes.Key),
			mark).Put(d.theme.Paint(role), part).String())
		mark = widget.Blank(at)
	}
}

// Head draws the line above the stage: which lesson where there is room, on which setup, which act.
func (s *Stage) Head(t *themes.Theme, g widget.Glyphs, w int) string {
	n, all := s.Play.At+1, len(s.Play.Lesson.Acts)
	at := ""
	if s.Play.Lesson.ID != "" {
		const most = 12 // acts with a mark each
		at = fmt.Sprintf("act %d of %d ", n, all)
		if all <= most && w >= wide {
			done, left := "▪", "▫"
			if !g.Unicode {
				done, left = "#", "."
			}
			at += " " + strings.Repeat(done, n) + strings.Repeat(left, all-n) + " "
		}
	}
	if s.Class != nil && s.Class.Line != "" {
		at = s.Class.Line + "  " + at
	}
	l := widget.NewLine(w).Put(t.Paint(themes.Accent), "LESSON").Gap(1)
	if s.Number > 0 {
		l.Put(t.Paint(themes.Accent), fmt.Sprint(s.Number)).Gap(1)
	}
	l.Gap(1)
	room := func() int { return max(l.Left()-widget.Width(at)-2, 1) }
	const least = 10 // cells of a title that are worth a place
	setup := lessons.Words(s.Play.Setup())
	if left := room() - widget.Width(setup) - 3; left >= least {
		l.Put(t.Paint(themes.Heading), widget.CutText(s.Play.Lesson.Title, left, g.Ellipsis)).Gap(3)
	}
	l.Put(t.Paint(themes.Text), widget.CutText(setup, room(), g.Ellipsis))
	return l.Right(t.Paint(themes.Muted), at, 0).String()
}

// Render draws the question at the foot of the screen.
func (s *Stage) Render(t *themes.Theme, g widget.Glyphs) overlay.Drawn {
	d := &drawer{w: s.w, theme: t, g: g}
	out := overlay.Drawn{CaretX: -1}
	act := s.Play.Act()
	if s.small() {
		d.lines = append(d.lines, s.Head(t, g, s.w))
	} else if s.Knob != nil {
		if line := s.Knob(s.w); line != "" {
			d.lines = append(d.lines, line)
		}
	}
	if opening := s.Play.Opening(); opening != "" && !s.small() {
		d.put(themes.Muted, " ", opening, 4)
	}
	lead := len(d.lines)
	s.places = nil
	if s.Play.Phase < lessons.Reveal {
		ask := act.Ask
		if s.Class != nil {
			ask = act.AskByLetter()
		}
		if changed := s.Play.Changed(); changed != "" {
			d.put(themes.Warn, " ", changed, 2)
		}
		d.put(themes.Strong, " ", ask, 5)
		out.ListY = len(d.lines)
		s.question(d)
	} else {
		s.reveal(d, lead)
	}
	if s.h >= steadyFrom && !s.small() {
		for len(d.lines) < min(steadyRows, s.rows())-1 {
			d.lines = append(d.lines, widget.Blank(s.w))
		}
	}
	d.hints(s.hints())
	if most := s.rows(); len(d.lines) > most { // the question, then its keys
		cut := min(len(d.lines)-most, lead)
		d.lines = d.lines[cut:]
		s.raise(cut)
		out.ListY -= cut
		if len(d.lines) > most {
			last := d.lines[len(d.lines)-1]
			if d.lines = d.lines[:most]; most > 1 {
				d.lines[most-1] = last
			}
		}
	}
	out.Lines, out.Y = d.lines, max(s.h-len(d.lines), 0)
	out.ListY += out.Y
	s.raise(-out.Y)
	if s.entry >= 0 && s.Play.Phase == lessons.Predict && act.Kind == lessons.Number {
		out.CaretX, out.CaretY = widget.Width(s.entryText())+len(s.typed), out.Y+s.entry
	}
	return out
}

// raise moves the places of options by so many rows up.
func (s *Stage) raise(by int) {
	for i := range s.places {
		s.places[i].y -= by
	}
	if by > 0 {
		s.entry -= by
	}
}

// question lists the options, or what is typed, and the answer that was given.
func (s *Stage) question(d *drawer) {
	act := s.Play.Act()
	s.entry = -1
	switch {
	case act.Kind == lessons.Goal:
		for _, o := range act.Options {
			d.put(themes.Text, "   needed: ", o.Say, 1)
		}
	case act.Kind != lessons.Number && !s.points():
		s.options(d, act)
	}
	if s.Class != nil {
		for i, words := range s.Class.Ladder {
			d.put(themes.Text, "   ", words, 1)
			d.votes(s.Class.Votes, i)
		}
	}
	switch {
	case s.Play.Phase == lessons.Turning:
		d.put(themes.Accent, " ", "You said: "+s.said()+". Now change "+s.turn(d.g)+" and look.", 2)
	case s.wrong != "":
		d.put(themes.Bad, " ", s.wrong, 1)
	case s.leaving:
		text := "esc again gives this question up and leaves the knobs to you; then B comes back to its " +
			"answer."
		if s.Class != nil {
			text = s.Class.Leaving
		}
		d.put(themes.Warn, " ", text, 2)
	case s.Play.Verdict.Says != "":
		d.put(themes.Bad, " ", s.Play.Verdict.Says, 2)
	}
	if s.typing() {
		s.entry = len(d.lines)
		d.put(themes.Entry, s.entryText(), s.typed+" ", 1)
	}
	if s.Play.Phase == lessons.Predict && s.points() {
		at := "nothing that counts here"
		if name := s.Pointed(); name != "" {
			at = name
		}
		d.put(themes.Current, "   the cursor is on ", at, 1)
	}
}

// options draws the answers: in a row where they have room, else one below the other.
func (s *Stage) options(d *drawer, act *lessons.Act) {
	need := 2
	for _, o := range act.Options {
		need += 3 + widget.Width(o.Say) + optionsRoom
	}
	voted := s.Class != nil && s.Class.Shown
	row := need <= d.w+optionsRoom && !voted
	l := widget.NewLine(d.w)
	for i, o := range act.Options {
		mark, role := "  ", themes.Text
		if strings.EqualFold(s.Play.Given, lessons.Letter(i)) {
			mark, role = d.g.Pointer+" ", themes.Current
		}
		if row {
			from := l.Used()
			l.Gap(1).Put(d.theme.Paint(themes.Key), mark+lessons.Letter(i)).Gap(1).Put(d.theme.Paint(role),
				o.Say)
			s.places = append(s.places, place{len(d.lines), from, l.Used(), i})
			l.Gap(optionsRoom - 2)
			continue
		}
		s.places = append(s.places, place{len(d.lines), 0, d.w, i})
		d.put(role, " "+mark+lessons.Letter(i)+"  ", o.Say, 1)
		if voted {
			d.votes(s.Class.Votes, i)
		}
	}
	if row {
		d.lines = append(d.lines, l.String())
	}
}

func (s *Stage) entryText() string {
	return " " + strings.TrimPrefix(s.Play.Act().Keys(), "a ") + ": "
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
		parts = append(parts, t.Text(g.Arrow))
	}
	return strings.Join(parts, ", ")
}

// reveal shows what became of it: the verdict beside the guess, the terms that moved, the rule and
// its price. The lead is lines that go where there is no room.
func (s *Stage) reveal(d *drawer, lead int) {
	act, v := s.Play.Act(), s.Play.Verdict
	switch {
	case s.Play.Given == "":
		d.put(themes.Accent, " ", strings.TrimSpace("The answer: "+act.Truth()+". "+act.Why), 3)
	case v.Right && act.Kind == lessons.Goal:
		d.put(themes.Good, " ", s.Play.Reached(), 2)
	case v.Right && act.Kind == lessons.Number:
		d.put(themes.Good, " ", "Right: you said "+s.said()+", it is "+act.Truth()+". "+act.Why, 3)
	case v.Right:
		d.put(themes.Good, " ", strings.TrimSpace("Right: "+s.said()+". "+act.Why), 3)
	default:
		d.put(themes.Bad, " "+d.g.Cross+" ", "You said: "+s.said()+". "+v.Says, 3)
		d.put(themes.Good, "   ", strings.TrimSpace("The answer: "+v.Truth+". "+act.Why), 3)
	}
	if act.Kind == lessons.Number && s.Play.Given != "" {
		s.mark(d)
	}
	end := &drawer{w: d.w, theme: d.theme, g: d.g}
	end.put(themes.Strong, " rule   ", act.Rule, longestRule)
	if c, ok := act.Price(); ok {
		end.put(themes.Muted, " price  ", fmt.Sprintf("%s %s %s %s", c.Name, c.Before, d.g.Arrow, c.After), 1)
	}
	const others = 1 // the keys; the knob's row goes before the rule does
	s.moved(d, min(s.rows()-len(d.lines)-len(end.lines)-others+lead, 2))
	d.lines = append(d.lines, end.lines...)
}

// moved lists the terms that moved, as many as so many lines have room for, and how many more there are.
func (s *Stage) moved(d *drawer, most int) {
	if most < 1 {
		return
	}
	const label = " moved  "
	all := s.Play.Act().Moved()
	room, lines := d.w-widget.Width(label)-1, []string(nil)
	for i, c := range all {
		text := fmt.Sprintf("%s %s %s %s", strings.TrimSuffix(c.Name, " of the fullest rank"), c.Before,
			d.g.Arrow, c.After)
		last, more := len(lines)-1, ""
		if left := len(all) - i - 1; left > 0 && last == most-1 {
			more = fmt.Sprintf("   +%d more", left)
		}
		switch {
		case last >= 0 && widget.Width(lines[last]+text+more)+3 <= room:
			lines[last] += "   " + text
			continue
		case last < most-1:
			lines = append(lines, text)
			continue
		}
		lines[last] += fmt.Sprintf("   +%d more", len(all)-i)
		break
	}
	for i, text := range lines {
		d.put(themes.Muted, []string{label, widget.Blank(widget.Width(label))}[min(i, 1)], text, 1)
	}
}

// mark draws the guess as a mark on the bar of the figure.
func (s *Stage) mark(d *drawer) {
	act := s.Play.Act()
	scale, unit := lessons.Unit(act.Against)
	guess, err := lessons.Typed(s.Play.Given)
	if err != nil {
		return
	}
	is, room := act.Against.Value/scale, d.w-40
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
	l.Gap(2).Put(d.theme.Paint(themes.Muted),
		strings.TrimSpace(fmt.Sprintf("from 0 to %.3g, %s you: %g %s", top, here, guess, unit)))
	d.lines = append(d.lines, l.String())
}

// hints returns the keys of the phase, the most needed first.
func (s *Stage) hints() []widget.Hint {
	if s.Class != nil {
		return s.Class.Hints
	}
	exercise := s.Play.Lesson.ID == ""
	own := widget.Hint{Key: "esc", Text: "explore on your own"}
	if exercise {
		own.Text = "change nothing"
	}
	var out []widget.Hint
	switch act := s.Play.Act(); {
	case s.Play.Phase == lessons.Turning:
		out = []widget.Hint{{Key: "space", Text: "make the change"}, own}
	case s.Play.Phase == lessons.Reveal:
		next := "next act"
		if s.Play.At+1 == len(s.Play.Lesson.Acts) {
			next = "end the lesson"
		}
		if exercise {
			next = "continue"
		}
		out = []widget.Hint{{Key: "space", Text: next}}
		if act.Decides() != "" {
			out = append(out, widget.Hint{Key: "e", Text: "explain the figure"})
		}
		if s.pictured() {
			out = append(out, widget.Hint{Key: "arrows", Text: "picture"})
		}
		if !exercise {
			out = append(out, own, widget.Hint{Key: "r", Text: "ask again"})
		}
	case act.Kind == lessons.Goal:
		out = []widget.Hint{
			{Key: "space", Text: "take the knobs, B to come back"},
			{Key: "!", Text: "show one way"},
		}
	case act.Kind == lessons.Point:
		out = []widget.Hint{
			{Key: "arrows", Text: "move"},
			{Key: "enter", Text: "answer"},
			{Key: "!", Text: "show me"},
			own,
		}
	case act.Kind == lessons.Number:
		out = []widget.Hint{
			{Key: "0-9", Text: "type"},
			{Key: "enter", Text: "answer"},
			{Key: "!", Text: "show me"},
			own,
		}
	default:
		out = []widget.Hint{
			{Key: "a-" + lessons.Letter(len(act.Options)-1), Text: "answer"},
			{Key: "!", Text: "show me"},
			own,
		}
	}
	if s.Play.Phase == lessons.Predict {
		out = append(out, widget.Hint{Key: "w", Text: "words"})
	}
	if s.Play.At > 0 {
		out = append(out, widget.Hint{Key: "pgup", Text: "previous act"})
	}
	return slices.Clip(out)
}

func (d *drawer) hints(hints []widget.Hint) {
	l := widget.NewLine(d.w)
	for _, h := range hints {
		if l.Left() < widget.Width(h.Key+h.Text)+3 {
			break
		}
		l.Gap(1).Put(d.theme.Paint(themes.Key), h.Key).Gap(1).Put(d.theme.Paint(themes.Muted), h.Text).Gap(1)
	}
	d.lines = append(d.lines, l.String())
}
