package overlay

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// Advice is the card that says why a setup does not fit or what limits it, which moves
// are worth making, what each knob alone can do, and how rules of thumb stand to it.
// Its caller works the advice out.
type Advice struct {
	Keys   []Bound                     // before its own
	Export key.Binding                 // asks for Write
	Write  func(*advise.Advice) Action // writes the advice to a file
	Make   func(*advise.Move) Action   // makes a move
	Stop   func()                      // ends the work

	sheet
	report *engine.Report
	found  *advise.Advice // nil while it is computed
	failed bool           // it could not be computed
	cursor int            // the chosen line of the body
}

// NewAdvice returns the card of a legal setup's report, whose advice is still computed.
func NewAdvice(r *engine.Report) *Advice { return &Advice{report: r} }

// Take gives it what was found; nil where nothing could be.
func (a *Advice) Take(found *advise.Advice) {
	a.found, a.failed = found, found == nil
	if found != nil {
		a.report = &found.Report
	}
	a.first = 0
	a.cursor = slices.IndexFunc(a.body(), func(l adviceLine) bool { return l.move != nil })
}

// Close ends the work.
func (a *Advice) Close() { a.Stop() }

// Resize says how large the screen is. What was chosen stays chosen.
func (a *Advice) Resize(w, h int) {
	was := a.Move()
	a.sheet.Resize(w, h)
	a.show(0)
	at := slices.IndexFunc(a.body(), func(l adviceLine) bool { return l.move != nil && l.move == was })
	if at >= 0 {
		a.cursor = at
		a.reveal(a.page(a.body()), at)
	}
}

// Move returns the chosen move; nil where none is in sight.
func (a *Advice) Move() *advise.Move {
	body := a.body()
	if a.cursor < 0 || a.cursor >= len(body) || !a.shows(a.page(body), a.cursor) {
		return nil
	}
	return body[a.cursor].move
}

// HandleKey moves, scrolls, makes the chosen move, writes the advice or closes.
func (a *Advice) HandleKey(msg tea.KeyPressMsg) Action {
	if action, ok := bound(a.Keys, msg); ok {
		return action
	}
	if a.found != nil && key.Matches(msg, a.Export) {
		return a.Write(a.found)
	}
	switch name := msg.String(); name {
	case "esc", "backspace", "q":
		return Close{}
	case "enter":
		if m := a.Move(); m != nil {
			return a.Make(m)
		}
	case "up", "k", "shift+tab":
		a.Wheel(-1)
	case "down", "j", "tab":
		a.Wheel(1)
	default:
		a.scrolled(a.page(a.body()), name)
		a.show(0)
	}
	return nil
}

// Wheel goes to the next move, or scrolls where that is not in sight.
func (a *Advice) Wheel(n int) {
	body := a.body()
	p := a.page(body)
	for at := a.cursor + n; at < len(body) && a.shows(p, at); at += n {
		if body[at].move != nil {
			a.cursor = at
			return
		}
	}
	a.show(n)
}

// show scrolls by n lines; the cursor goes to a move in sight.
func (a *Advice) show(n int) {
	body := a.body()
	p := a.page(body)
	a.scroll(p, n)
	if a.shows(p, a.cursor) {
		return
	}
	from, to, by := a.first, a.first+a.rows(p), 1
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

// Click makes the move drawn at a row of the body.
func (a *Advice) Click(row int) Action {
	if at, body := a.first+row, a.body(); at < len(body) && body[at].move != nil {
		a.cursor = at
		return a.Make(body[at].move)
	}
	return nil
}

func (a *Advice) wide() int {
	const widest = 140
	return stretched(widest, a.w)
}

// adviceLine is a line of the body; where it represents a move, enter makes that.
type adviceLine struct {
	draw func(l *widget.Line, t *themes.Theme, g widget.Glyphs, chosen bool)
	move *advise.Move
}

// text returns a line of words.
func text(role themes.Role, indent int, words string) adviceLine {
	return adviceLine{draw: func(l *widget.Line, t *themes.Theme, _ widget.Glyphs, _ bool) {
		l.Gap(indent).Put(t.Paint(role), words)
	}}
}

// wrapped returns words over as many lines as they need.
func (a *Advice) wrapped(role themes.Role, indent int, words string) []adviceLine {
	var lines []adviceLine
	for _, part := range widget.Wrap(words, a.wide()-2-indent-1) {
		lines = append(lines, text(role, indent, part))
	}
	return lines
}

// body returns everything between the rules.
func (a *Advice) body() []adviceLine {
	switch {
	case a.failed:
		return a.wrapped(themes.Text, 1, "this setup cannot be evaluated")
	case a.found == nil:
		return a.wrapped(themes.Muted, 1, "working: trying every knob, alone, in pairs and in threes")
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

// causes returns the largest terms of the fullest rank, or what the step is spent on.
func (a *Advice) causes() []adviceLine {
	title := "WHERE THE STEP TIME GOES"
	var list []share
	if a.report.Memory.Fits {
		for _, l := range a.found.Limits {
			list = append(list, share{l.Name, figure.Seconds(l.Seconds), l.Share})
		}
	} else {
		title = fmt.Sprintf("MEMORY OF RANK %d, the fullest", a.report.Memory.Ranks[a.report.Memory.PeakRank].Rank)
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

// moveColumns returns how many cells they take, and how many of these the peak has.
func (a *Advice) moveColumns() (all, peak int) {
	if a.wide() >= 76 {
		peak = movePeak
	}
	return moveStep + moveSpeed + peak + moveSaved + moveEdge, peak
}

// moves returns the best ones, with time and memory.
func (a *Advice) moves() []adviceLine {
	all, peak := a.moveColumns()
	title := "CHANGES " + a.found.Promise()
	heads := func(l *widget.Line, t *themes.Theme) {
		m, at := t.Paint(themes.Muted), a.wide()-2-all
		l.RightAligned(m, "step", at+moveStep).RightAligned(m, "speed", at+moveStep+moveSpeed)
		if peak > 0 {
			l.RightAligned(m, "peak GiB", at+moveStep+moveSpeed+peak)
		}
		l.RightAligned(m, "memory", a.wide()-2-moveEdge)
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
		if why := a.found.Moves[i].Last; why != "" {
			lines = append(lines, a.wrapped(themes.Muted, 5, "last: "+why)...)
		}
	}
	if len(a.found.Moves) == 0 {
		lines = append(lines, a.wrapped(themes.Text, 3, "none found: every single change and every layout of the search was tried")...)
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
		l.RightAligned(t.Paint(themes.Strong), figure.Seconds(m.Cautious), at+moveStep)
		l.RightAligned(t.Paint(themes.Text), fmt.Sprintf("%s%.3f", g.Times, m.Speed), at+moveStep+moveSpeed)
		if peak > 0 {
			l.RightAligned(t.Paint(role), sign+figure.GiB(m.Report.Memory.Peak), at+moveStep+moveSpeed+peak)
		}
		l.RightAligned(t.Paint(themes.Text), figure.Signed(0-m.Saved.GiB(), 1), a.wide()-2-moveEdge)
	}}
}

// pointer stands before a line that can be chosen.
func pointer(l *widget.Line, t *themes.Theme, g widget.Glyphs, chosen bool) {
	if chosen {
		l.Whole(t.Paint(themes.Chosen)).Put(t.Paint(themes.Chosen), " "+g.Pointer)
	}
	l.To(3)
}

// rules of thumb, with what the model says of them; one that would have something
// turned can be chosen.
func (a *Advice) rules() []adviceLine {
	if len(a.found.Rules) == 0 {
		return nil
	}
	lines := []adviceLine{text(themes.Heading, 1, "RULES OF THUMB compared with the prediction")}
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

// Render draws the card in the middle of the screen.
func (a *Advice) Render(t *themes.Theme, g widget.Glyphs) Drawn {
	return a.render(a.page(a.body()), t, g)
}

func (a *Advice) page(body []adviceLine) *page {
	p := &page{title: "ADVICE", remark: "same GPUs, batch, sequence and number formats", width: a.wide()}
	p.head = []row{a.verdict, textRow(themes.Muted, a.about())}
	for i, line := range body {
		if line.draw == nil {
			p.body = append(p.body, nil)
			continue
		}
		p.body = append(p.body, func(l *widget.Line, t *themes.Theme, g widget.Glyphs) {
			line.draw(l, t, g, line.move != nil && i == a.cursor)
		})
	}
	p.foot = []row{a.chosen, a.hint}
	return p
}

// verdict draws the first line: whether it fits, and how full the fullest rank is.
func (a *Advice) verdict(l *widget.Line, t *themes.Theme, g widget.Glyphs) {
	m := a.report.Memory
	peak := figure.Band{Evidence: &m.Evidence, PlusMinus: g.PlusMinus}
	value := peak.Of(figure.GiB(m.Peak)+" GiB") + " of " + figure.GiB(m.Usable)
	l.Gap(1)
	if m.Fits {
		l.Put(t.Paint(themes.Strong), "FITS").Put(t.Paint(themes.Strong), "  what limits the step, and what would make it faster")
	} else {
		l.Put(t.Paint(themes.Bad), g.Cross+" OVER").Put(t.Paint(themes.Strong), "  what would make it fit")
	}
	l.Right(t.Paint(themes.Accent), value, 1)
}

// about returns the second line: why it does not fit, or how long a step takes.
func (a *Advice) about() string {
	if m := a.report.Memory; !m.Fits {
		if _, cause, ok := strings.Cut(m.Reason, ": "); ok { // the sizes stand above
			return cause
		}
		return m.Reason
	}
	if a.found != nil && a.found.Cautious > a.report.Time.Step {
		return fmt.Sprintf("a step takes %s, or %s if no doubtful overlap works: moves are ranked by that", figure.Seconds(a.report.Time.Step), figure.Seconds(a.found.Cautious))
	}
	return fmt.Sprintf("a step takes %s, MFU %s", figure.Seconds(a.report.Time.Step), figure.Percent(a.report.Throughput.MFU))
}

// chosen draws the chosen move in full, with what follows from it.
func (a *Advice) chosen(l *widget.Line, t *themes.Theme, g widget.Glyphs) {
	m := a.Move()
	if m == nil {
		return
	}
	move := m.Turns()
	if also := m.Follows(); also != "" {
		move += "; also " + also
	}
	textRow(themes.Text, move)(l, t, g)
}

// hint draws the last line: what can be done here.
func (a *Advice) hint(l *widget.Line, t *themes.Theme, g widget.Glyphs) {
	keys := []string{"esc closes", "up/down", "space scrolls"}
	switch {
	case a.found == nil:
		keys = []string{"esc stops it"}
	case a.Move() != nil:
		keys = append([]string{"enter makes this change (u undoes it)"}, keys...)
	}
	hint := Hint(g, keys...)
	if more := hint + " " + g.Dot + " x writes it to a file"; a.found != nil && widget.Width(more) <= l.Left()-2 {
		hint = more
	}
	textRow(themes.Muted, hint)(l, t, g)
}
