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
	"meshscope/ui/screen"
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

// Wheel selects the next move, or scrolls towards it when it is out of sight.
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

// Render draws the card in the middle of the screen.
func (a *Advice) Render(t *themes.Theme, g widget.Glyphs) Drawn {
	return a.render(a.page(a.body()), t, g)
}

func (a *Advice) page(body []adviceLine) *page {
	p := &page{title: "ADVICE", remark: "same GPUs, batch and sequence", width: a.wide()}
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
	word, role := screen.Fit(m)
	word = strings.ToUpper(word)
	switch m.Fit {
	case engine.Fits:
		role = themes.Strong
	case engine.Over:
		word = g.Cross + " " + word
	case engine.Tight: // as it is
	}
	wanted := "what limits the step, and what would make it faster"
	if !m.Fits {
		wanted = "what would make it fit"
	}
	l.Put(t.Paint(role), word).Put(t.Paint(themes.Strong), "  "+wanted)
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
	return fmt.Sprintf("a step takes %s, MFU %s", figure.Seconds(a.report.Time.Step),
		figure.Percent(a.report.Throughput.MFU))
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
	if a.found.TooClose(m) {
		move += "; too close to call"
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
	if more := hint + " " + g.Dot + " x writes it to a file"; a.found != nil &&
		widget.Width(more) <= l.Left()-2 {
		hint = more
	}
	textRow(themes.Muted, hint)(l, t, g)
}
