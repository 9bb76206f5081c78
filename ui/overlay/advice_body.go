package overlay

import (
	"fmt"
	"slices"

	"meshscope/engine/advise"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/widget"
)

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
		title = fmt.Sprintf("MEMORY OF RANK %d, the fullest",
			a.report.Memory.Ranks[a.report.Memory.PeakRank].Rank)
		for _, t := range a.found.Terms {
			list = append(list, share{t.Name, figure.GiB(t.Bytes) + " GiB", t.Share})
		}
	}
	if most := 4; a.h < 36 && len(list) > most {
		list = list[:most]
	}
	lines := []adviceLine{text(themes.Heading, 1, title)}
	for _, s := range list {
		lines = append(lines,
			adviceLine{draw: func(l *widget.Line, t *themes.Theme, g widget.Glyphs, _ bool) {
				l.To(3).Put(t.Paint(themes.Muted), s.name).RightAligned(t.Paint(themes.Text), s.value, 30)
				l.RightAligned(t.Paint(themes.Text), figure.Percent(s.of), 40).Gap(2)
				n := int(s.of*float64(l.Left()-1) + 0.5)
				l.Put(t.Paint(themes.Muted), widget.Fill(widget.TornadoSigns(g.Unicode)[widget.TornadoFits],
					n))
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
		lines = append(lines,
			adviceLine{draw: func(l *widget.Line, t *themes.Theme, _ widget.Glyphs, _ bool) { heads(l, t) }})
	}
	for i := range a.found.Moves {
		lines = append(lines, a.moveLine(&a.found.Moves[i]))
		if why := a.found.Moves[i].Last; why != "" {
			lines = append(lines, a.wrapped(themes.Muted, 5, "last: "+why)...)
		}
	}
	if slow := a.found.PessimisticStep; slow > a.report.Time.Step && len(a.found.Moves) > 0 {
		lines = append(lines, a.wrapped(themes.Muted, 3, fmt.Sprintf("speed and order: of the step "+
			advise.SlowEnd+", %s now", figure.Seconds(slow)))...)
	}
	if len(a.found.Moves) == 0 {
		lines = append(lines,
			a.wrapped(themes.Text, 3,
				"none found: every single change and every layout of the search was tried")...)
	}
	return lines
}

func (a *Advice) moveLine(m *advise.Move) adviceLine {
	all, peak := a.moveColumns()
	return adviceLine{move: m, draw: func(l *widget.Line, t *themes.Theme, g widget.Glyphs, chosen bool) {
		pointer(l, t, g, chosen)
		at := a.wide() - 2 - all
		sign, role, speed := "", themes.Text, fmt.Sprintf("%s%.3f", g.Times, m.Speed)
		if a.found.TooClose(m) {
			speed = "~" + speed
		}
		if !m.Fits {
			sign, role = g.Cross+" ", themes.Bad
		}
		l.Put(t.Paint(themes.Text), shorten(m.Turns(), at-l.Used()-1, g))
		l.RightAligned(t.Paint(themes.Strong), figure.Seconds(m.Report.Time.Step), at+moveStep)
		l.RightAligned(t.Paint(themes.Text), speed, at+moveStep+moveSpeed)
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
				line = adviceLine{move: r.Move, draw: func(l *widget.Line, t *themes.Theme, g widget.Glyphs,
					chosen bool,
				) {
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
