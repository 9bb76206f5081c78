package overlay

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// Advice is the card that says why a setup does not fit or what limits it, which moves
// are worth making, what each knob alone can do, and how rules of thumb stand to it.
// It holds what it was given; the caller works that out and applies what is chosen.
type Advice struct {
	setup  *engine.Setup
	report *engine.Report
	found  *advise.Advice // nil while it is worked out
	failed bool           // it could not be worked out

	cursor, first int // the chosen line and the first line shown, of the body
	w, h          int // of the screen
}

// NewAdvice is the card of a legal setup, whose advice is still worked out.
func NewAdvice(s *engine.Setup, r *engine.Report, w, h int) *Advice {
	return &Advice{setup: s, report: r, w: w, h: h}
}

// Take gives it what was found; nil where nothing could be.
func (a *Advice) Take(found *advise.Advice) {
	a.found, a.failed = found, found == nil
	if found != nil {
		a.report = &found.Report
	}
	a.first = 0
	a.cursor = slices.IndexFunc(a.body(), func(l adviceLine) bool { return l.move != nil })
}

// Found is what it shows; nil while it is worked out.
func (a *Advice) Found() *advise.Advice { return a.found }

// Resize tells how large the screen is. What was chosen stays chosen.
func (a *Advice) Resize(w, h int) {
	was := a.Move()
	a.w, a.h = w, h
	a.scroll(0)
	if was == nil {
		return
	}
	if at := slices.IndexFunc(a.body(), func(l adviceLine) bool { return l.move == was }); at >= 0 {
		a.cursor = at
		a.first = min(max(a.first, at-a.rows()+1), at)
	}
}

// Move is the chosen move; nil where none is in sight.
func (a *Advice) Move() *advise.Move {
	body := a.body()
	if a.cursor < a.first || a.cursor >= min(a.first+a.rows(), len(body)) {
		return nil
	}
	return body[a.cursor].move
}

// HandleKey moves, scrolls or says how it ended: Chosen means the move.
func (a *Advice) HandleKey(msg tea.KeyPressMsg) Outcome {
	switch msg.String() {
	case "esc", "backspace", "q":
		return Closed
	case "enter":
		if a.Move() != nil {
			return Chosen
		}
	case "up", "k", "shift+tab":
		a.Step(-1)
	case "down", "j", "tab":
		a.Step(1)
	case "pgup":
		a.scroll(-a.rows())
	case "pgdown", "space":
		a.scroll(a.rows())
	case "home", "g":
		a.scroll(-1 << 20)
	case "end", "G":
		a.scroll(1 << 20)
	}
	return Open
}

// Step goes to the next move, or scrolls where that is not in sight.
func (a *Advice) Step(n int) {
	body := a.body()
	for at := a.cursor + n; at >= a.first && at < min(a.first+a.rows(), len(body)); at += n {
		if body[at].move != nil {
			a.cursor = at
			return
		}
	}
	a.scroll(n)
}

// scroll shows other lines; the cursor goes to a move in sight.
func (a *Advice) scroll(n int) {
	body, rows := a.body(), a.rows()
	a.first = min(max(a.first+n, 0), max(len(body)-rows, 0))
	if a.cursor >= a.first && a.cursor < a.first+rows {
		return
	}
	from, to, by := a.first, min(a.first+rows, len(body)), 1
	if a.cursor >= to {
		from, to, by = to-1, a.first-1, -1
	}
	for at := from; at != to; at += by {
		if body[at].move != nil {
			a.cursor = at
			return
		}
	}
}

// ClickRow chooses the move drawn at a row of the body; false where there is none.
func (a *Advice) ClickRow(row int) bool {
	body := a.body()
	if at := a.first + row; row >= 0 && row < a.rows() && at < len(body) && body[at].move != nil {
		a.cursor = at
		return true
	}
	return false
}

// adviceFrame are the lines around the body: two edges, two rules, verdict, what it
// rests on, the chosen move in full, hint.
const adviceFrame = 8

func (a *Advice) rows() int { return min(len(a.body()), max(a.h-adviceFrame, 1)) }

func (a *Advice) wide() int {
	const widest = 140
	return stretched(widest, a.w)
}

// adviceLine is a line of the body: it draws itself, or is blank; where it stands for
// a move, enter makes that.
type adviceLine struct {
	draw func(l *widget.Line, t *themes.Theme, g widget.Glyphs, chosen bool)
	move *advise.Move
}

// text is a line of words.
func text(role themes.Role, indent int, words string) adviceLine {
	return adviceLine{draw: func(l *widget.Line, t *themes.Theme, _ widget.Glyphs, _ bool) {
		l.Gap(indent).Put(t.Paint(role), words)
	}}
}

// wrapped are words over as many lines as they need.
func (a *Advice) wrapped(role themes.Role, indent int, words string) []adviceLine {
	var lines []adviceLine
	for _, part := range widget.Wrap(words, a.wide()-2-indent-1) {
		lines = append(lines, text(role, indent, part))
	}
	return lines
}

// body is everything between the rules.
func (a *Advice) body() []adviceLine {
	switch {
	case a.failed:
		return a.wrapped(themes.Text, 1, "nothing is known about this setup: it cannot be evaluated")
	case a.found == nil:
		return a.wrapped(themes.Muted, 1, "working: turning every knob, alone, in pairs and in threes")
	}
	var blank []adviceLine
	if a.h >= 30 {
		blank = []adviceLine{{}}
	}
	looked := a.wrapped(themes.Muted, 1, a.found.Looked.Words(figure.Comma))
	return slices.Concat(a.causes(), blank, a.moves(), blank, a.tornado(), blank, a.rules(), blank, looked)
}

// share is a line of what the memory or the step is made of.
type share struct {
	name, value string
	of          float64
}

// causes are the largest terms of the fullest rank, or what the step is spent on.
func (a *Advice) causes() []adviceLine {
	title := "WHAT A STEP IS SPENT ON"
	var list []share
	if a.report.Memory.Fits {
		for _, l := range a.found.Limits {
			list = append(list, share{l.Name, figure.Seconds(l.Seconds), l.Share})
		}
	} else {
		title = fmt.Sprintf("WHAT RANK %d HOLDS, the fullest", a.report.Memory.Ranks[a.report.Memory.PeakRank].Rank)
		for _, t := range a.found.Terms {
			list = append(list, share{t.Name, figure.GiB(t.Bytes) + " GiB", t.Share})
		}
	}
	if most := 4; a.h < 36 && len(list) > most {
		list = list[:most]
	}
	lines := []adviceLine{text(themes.Heading, 1, title)}
	for _, s := range list {
		lines = append(lines, adviceLine{draw: func(l *widget.Line, t *themes.Theme, g widget.Glyphs, _ bool) {
			l.To(3).Put(t.Paint(themes.Muted), s.name).RightAligned(t.Paint(themes.Text), s.value, 30)
			l.RightAligned(t.Paint(themes.Text), figure.Percent(s.of), 40).Gap(2)
			n := int(s.of*float64(l.Left()-1) + 0.5)
			l.Put(t.Paint(themes.Muted), widget.Fill(widget.TornadoSigns(g.Unicode)[widget.TornadoFits], n))
		}})
	}
	return lines
}

// The columns of a move at the right end; the peak only where there is room.
const (
	moveStep  = 9
	moveSpeed = 8
	movePeak  = 10
	moveSaved = 8
	moveEdge  = 1
)

// moveColumns is how many cells they take, and how many of these the peak has.
func (a *Advice) moveColumns() (all, peak int) {
	if a.wide() >= 76 {
		peak = movePeak
	}
	return moveStep + moveSpeed + peak + moveSaved + moveEdge, peak
}

// moves are the best ones, with time and memory.
func (a *Advice) moves() []adviceLine {
	all, peak := a.moveColumns()
	title := "MOVES " + a.found.Promise()
	heads := func(l *widget.Line, t *themes.Theme) {
		m, at := t.Paint(themes.Muted), a.wide()-2-all
		l.RightAligned(m, "step", at+moveStep).RightAligned(m, "speed", at+moveStep+moveSpeed)
		if peak > 0 {
			l.RightAligned(m, "peak GiB", at+moveStep+moveSpeed+peak)
		}
		l.RightAligned(m, "saved", a.wide()-2-moveEdge)
	}
	beside := widget.Width(title)+1+all <= a.wide()-2
	lines := []adviceLine{{draw: func(l *widget.Line, t *themes.Theme, _ widget.Glyphs, _ bool) {
		if l.Gap(1).Put(t.Paint(themes.Heading), title); beside && len(a.found.Moves) > 0 {
			heads(l, t)
		}
	}}}
	if !beside && len(a.found.Moves) > 0 {
		lines = append(lines, adviceLine{draw: func(l *widget.Line, t *themes.Theme, _ widget.Glyphs, _ bool) { heads(l, t) }})
	}
	for i := range a.found.Moves {
		lines = append(lines, a.moveLine(&a.found.Moves[i]))
	}
	if len(a.found.Moves) == 0 {
		lines = append(lines, a.wrapped(themes.Text, 3, "none that is known: every turn of the knobs and every layout of the search was tried")...)
	}
	return lines
}

func (a *Advice) moveLine(m *advise.Move) adviceLine {
	all, peak := a.moveColumns()
	return adviceLine{move: m, draw: func(l *widget.Line, t *themes.Theme, g widget.Glyphs, chosen bool) {
		pointer(l, t, g, chosen)
		at := a.wide() - 2 - all
		sign, role := "", themes.Text
		if !m.Fits {
			sign, role = g.Cross+" ", themes.Bad
		}
		l.Put(t.Paint(themes.Text), shorten(m.Turns(), at-l.Used()-1, g))
		l.RightAligned(t.Paint(themes.Strong), figure.Seconds(m.Report.Time.Step), at+moveStep)
		l.RightAligned(t.Paint(themes.Text), fmt.Sprintf("%s%.3f", g.Times, m.Speed), at+moveStep+moveSpeed)
		if peak > 0 {
			l.RightAligned(t.Paint(role), sign+figure.GiB(m.Report.Memory.Peak), at+moveStep+moveSpeed+peak)
		}
		l.RightAligned(t.Paint(themes.Text), figure.Signed(m.Saved.GiB(), 1), a.wide()-2-moveEdge)
	}}
}

// pointer stands before a line that can be chosen.
func pointer(l *widget.Line, t *themes.Theme, g widget.Glyphs, chosen bool) {
	if chosen {
		l.Whole(t.Paint(themes.Chosen)).Put(t.Paint(themes.Chosen), " "+g.Pointer)
	}
	l.To(3)
}

// tornadoColumns are where the parts of a tornado row begin or end, and how wide its
// ends are.
type tornadoColumns struct{ now, low, bar, high, best, end int }

const (
	tornadoKnob = 11
	tornadoNow  = 9 // the value now, where there is room for it
)

func (a *Advice) tornadoColumns() tornadoColumns {
	room := a.wide() - 2
	c := tornadoColumns{now: 3 + tornadoKnob, end: 19} // the value at an end with its step and mark
	best := 12
	switch {
	case room >= 110:
		best = 21 // with the step
	case room < 70:
		best, c.end = 0, 15
	}
	if c.low = c.now; room >= 100 {
		c.low += tornadoNow
	}
	c.bar = c.low + c.end + 1
	c.best = room - best
	c.high = c.best - c.end - 1
	return c
}

// Sides are the bar of a knob: its steps as ratios to the step now.
func Sides(k *advise.Knob) widget.Sides {
	now := float64(k.Now.Step)
	fastest, slowest := k.Ends()
	s := widget.Sides{Low: float64(fastest.Step) / now, High: float64(slowest.Step) / now}
	if shortest, longest, ok := k.Reach(); ok {
		s.FitLow, s.FitHigh = float64(shortest)/now, float64(longest)/now
	}
	return s
}

// tornado is a bar for every knob, all on one scale.
func (a *Advice) tornado() []adviceLine {
	if len(a.found.Knobs) == 0 {
		return nil
	}
	c := a.tornadoColumns()
	var spans []widget.Sides
	for i := range a.found.Knobs {
		spans = append(spans, Sides(&a.found.Knobs[i]))
	}
	scale := widget.NewTornado(spans, c.high-c.bar)
	now := a.report.Time.Step
	lines := []adviceLine{
		text(themes.Heading, 1, "EACH KNOB ALONE, fastest to slowest step, logarithmic"),
		{draw: func(l *widget.Line, t *themes.Theme, _ widget.Glyphs, _ bool) {
			m := t.Paint(themes.Muted)
			l.To(3).Put(m, "knob")
			if c.low > c.now {
				l.To(c.now).Put(m, "now")
			}
			l.RightAligned(m, "faster", c.bar-3)
			middle := figure.Seconds(now)
			l.To(max(min(c.bar+scale.Axis-widget.Width(middle)/2, c.high-widget.Width(middle)), c.bar)).Put(t.Paint(themes.Strong), middle)
			l.To(c.high+1).Put(m, "slower").To(c.best+1).Put(m, "best fit")
		}},
	}
	for i := range a.found.Knobs {
		lines = append(lines, tornadoLine(&a.found.Knobs[i], c, &scale, spans[i]))
	}
	return append(lines, adviceLine{draw: func(l *widget.Line, t *themes.Theme, g widget.Glyphs, _ bool) {
		s, m := widget.TornadoSigns(g.Unicode), t.Paint(themes.Muted)
		l.To(3).Put(t.Paint(themes.Accent), s[widget.TornadoFits]).Put(m, " fits  ")
		l.Put(t.Paint(themes.Bad), s[widget.TornadoMisfit]).Put(m, " "+g.Cross+" does not fit  ! launcher refuses  "+s[widget.TornadoBeyond]+" goes on")
	}})
}

// mark tells of a value that it does not fit or that some launcher refuses it.
func mark(v *advise.Value, g widget.Glyphs) (sign string, role themes.Role) {
	switch {
	case !v.Fits:
		return g.Cross, themes.Bad
	case v.Refused:
		return "!", themes.Warn
	}
	return " ", themes.Text
}

func tornadoLine(k *advise.Knob, c tornadoColumns, scale *widget.Tornado, span widget.Sides) adviceLine {
	return adviceLine{draw: func(l *widget.Line, t *themes.Theme, g widget.Glyphs, _ bool) {
		plain, muted := t.Paint(themes.Text), t.Paint(themes.Muted)
		l.To(3).Put(plain, string(k.ID))
		if c.low > c.now {
			l.To(c.now).Put(muted, shorten(k.Current, tornadoNow-1, g))
		}
		// An end: the value, its step, and the mark.
		end := func(at int, v *advise.Value) {
			step := figure.Seconds(v.Step)
			sign, role := mark(v, g)
			if v == &k.Now {
				l.RightAligned(muted, "as it is", at+c.end-2)
				return
			}
			l.To(at).Put(muted, shorten(v.Text, c.end-3-widget.Width(step), g))
			l.RightAligned(t.Paint(themes.Strong), step, at+c.end-2).Gap(1).Put(t.Paint(role), sign)
		}
		fastest, slowest := k.Ends()
		end(c.low, fastest)
		signs := widget.TornadoSigns(g.Unicode)
		roles := [...]themes.Role{themes.Text, themes.Strong, themes.Accent, themes.Bad, themes.Strong}
		l.To(c.bar)
		for _, cell := range scale.Cells(span) {
			l.Put(t.Paint(roles[cell]), signs[cell])
		}
		end(c.high+1, slowest)
		l.To(c.best + 1)
		best := k.Best()
		switch {
		case best == nil:
			l.Put(muted, "none")
		case best == &k.Now:
			l.Put(plain, shorten(best.Text, l.Left()-7, g)).Put(muted, " (now)")
		default:
			l.Put(plain, shorten(best.Text, min(l.Left()-1, 11), g))
			if step := figure.Seconds(best.Step); l.Left() > widget.Width(step)+2 {
				l.Put(muted, "  "+step)
			}
		}
	}}
}

// rules of thumb, with what the model says of them; one that would have something
// turned can be chosen.
func (a *Advice) rules() []adviceLine {
	if len(a.found.Rules) == 0 {
		return nil
	}
	lines := []adviceLine{text(themes.Heading, 1, "RULES OF THUMB, and what the model says")}
	for i := range a.found.Rules {
		r := &a.found.Rules[i]
		role := themes.Good
		switch r.Verdict {
		case advise.Warns, advise.Disagrees, advise.NoFit:
			role = themes.Warn
		case advise.Followed, advise.Agrees:
		}
		for j, part := range widget.Wrap(r.Text, a.wide()-2-3-1) {
			line := text(themes.Text, 3, part)
			if j == 0 && r.Move != nil {
				line = adviceLine{move: r.Move, draw: func(l *widget.Line, t *themes.Theme, g widget.Glyphs, chosen bool) {
					pointer(l, t, g, chosen)
					l.Put(t.Paint(themes.Text), part)
				}}
			}
			lines = append(lines, line)
		}
		said := r.Verdict.Words()
		if reason := r.Reason(); reason != "" {
			said += ": " + reason
		}
		lines = append(lines, a.wrapped(role, 5, said)...)
	}
	return lines
}

// Render draws the card in the middle of a screen of w x h cells. It has no caret.
func (a *Advice) Render(t *themes.Theme, g widget.Glyphs, w, h int) Drawn {
	sized := *a // drawing changes nothing, not even the size
	if sized.w != w || sized.h != h {
		sized.Resize(w, h)
	}
	return sized.draw(t, g)
}

func (a *Advice) draw(t *themes.Theme, g widget.Glyphs) Drawn {
	lines, rows := a.body(), a.rows()
	first := min(a.first, max(len(lines)-rows, 0))
	b := box{theme: t, glyphs: g, width: a.wide()}
	d := Drawn{X: max((a.w-b.width)/2, 0), CaretX: -1, CaretY: -1, Rows: rows}
	if b.width < narrowest {
		return d
	}
	b.top("ADVICE", "same GPUs, batch, sequence and number formats")
	b.add(a.verdict(&b))
	b.add(b.line().Gap(1).Put(t.Paint(themes.Muted), shorten(a.about(), b.width-4, g)))
	b.rule(hidden(g.Up, first))
	d.ListY = len(b.lines)
	for i := first; i < first+rows; i++ {
		l := b.line()
		if lines[i].draw != nil {
			lines[i].draw(l, t, g, lines[i].move != nil && i == a.cursor)
		}
		b.add(l)
	}
	b.rule(hidden(g.Down, len(lines)-first-rows))
	b.add(b.line().Gap(1).Put(t.Paint(themes.Text), shorten(a.chosen(), b.width-4, g)))
	b.add(b.line().Gap(1).Put(t.Paint(themes.Muted), shorten(a.hint(g), b.width-4, g)))
	b.bottom()
	d.Lines = b.lines
	if len(d.Lines) > a.h { // a screen too low for the frame
		d.Lines = d.Lines[:max(a.h, 0)]
	}
	d.Y = max((a.h-len(d.Lines))/2, 0)
	d.ListY += d.Y
	return d
}

// verdict is the first line: whether it fits, and how full the fullest rank is.
func (a *Advice) verdict(b *box) *widget.Line {
	t, m := b.theme, a.report.Memory
	l := b.line().Gap(1)
	peak := figure.Band{Evidence: &m.Evidence, PlusMinus: b.glyphs.PlusMinus, About: b.glyphs.About}
	value := peak.Brief(figure.GiB(m.Peak)) + " of " + figure.GiB(m.Usable) + " GiB"
	if m.Fits {
		return l.Put(t.Paint(themes.Strong), "FITS; what limits the step, and what would shorten it").Right(t.Paint(themes.Accent), value, 1)
	}
	return l.Put(t.Paint(themes.Bad), b.glyphs.Cross+" DOES NOT FIT").Put(t.Paint(themes.Strong), "; what would make it").Right(t.Paint(themes.Accent), value, 1)
}

// about is the second line: why it does not fit, or how long a step takes.
func (a *Advice) about() string {
	if m := a.report.Memory; !m.Fits {
		if _, cause, ok := strings.Cut(m.Reason, ": "); ok { // the sizes stand above
			return cause
		}
		return m.Reason
	}
	return fmt.Sprintf("a step takes %s, MFU %s", figure.Seconds(a.report.Time.Step), figure.Percent(a.report.Throughput.MFU))
}

// chosen is the chosen move in full, with what follows from it.
func (a *Advice) chosen() string {
	m := a.Move()
	if m == nil {
		return ""
	}
	words := m.Turns()
	if also := m.Follows(); also != "" {
		words += "; then " + also
	}
	return words
}

func (a *Advice) hint(g widget.Glyphs) string {
	dot := " " + g.Dot + " "
	if a.found == nil {
		return "esc ends it"
	}
	words := "esc closes" + dot + "up/down" + dot + "space scrolls"
	if a.Move() != nil {
		words = "enter makes this move (u undoes it)" + dot + words
	}
	if more := words + dot + "x writes it to a file"; widget.Width(more) <= a.wide()-4 {
		words = more
	}
	return words
}
