package overlay

import (
	"meshscope/engine/advise"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// tornadoColumns are where the parts of a tornado row begin or end, and how wide its
// ends are.
type tornadoColumns struct{ now, low, bar, high, best, end int }

const (
	tornadoKnob = 11 // its name; 4 more where there is room
	tornadoNow  = 9  // the value now, where there is room for it
)

func (a *Advice) tornadoColumns() tornadoColumns {
	room := a.wide() - 2
	c := tornadoColumns{now: 3 + tornadoKnob, end: 19} // the value at an end with its step and mark
	best := 12
	switch {
	case room >= 110:
		best, c.end = 22, 22 // with the step; "user-buffers" has room next to its own
	case room < 70:
		best, c.end = 0, 15
	}
	if c.low = c.now; room >= 100 {
		c.now += 4
		c.low = c.now + tornadoNow
	}
	c.bar = c.low + c.end + 1
	c.best = room - best
	c.high = c.best - c.end - 1
	return c
}

// Sides returns the bar of a knob: its steps as ratios to the step now.
func Sides(k *advise.Knob) widget.Sides {
	now := float64(k.Now.Step)
	fastest, slowest := k.Ends()
	s := widget.Sides{Low: float64(fastest.Step) / now, High: float64(slowest.Step) / now}
	if shortest, longest, ok := k.Reach(); ok {
		s.FitLow, s.FitHigh = float64(shortest)/now, float64(longest)/now
	}
	return s
}

// tornado returns a bar for every knob, all on one scale.
func (a *Advice) tornado() []adviceLine {
	if len(a.found.Knobs) == 0 {
		return nil
	}
	c := a.tornadoColumns()
	var spans []widget.Sides
	var knobs []advise.Knob
	for i := range a.found.Knobs {
		knobs = append(knobs, a.found.Knobs[i].Expected())
		spans = append(spans, Sides(&knobs[i]))
	}
	scale := widget.NewTornado(spans, c.high-c.bar)
	now := a.report.Time.Step
	lines := []adviceLine{
		text(themes.Heading, 1, "SINGLE-KNOB CHANGES, fastest to slowest step, log scale"),
		{draw: func(l *widget.Line, t *themes.Theme, _ widget.Glyphs, _ bool) {
			m := t.Paint(themes.Muted)
			l.To(3).Put(m, "knob")
			if c.low > c.now {
				l.To(c.now).Put(m, "now")
			}
			l.RightAligned(m, "faster", c.bar-3)
			middle := figure.Seconds(now)
			l.To(max(min(c.bar+scale.Axis-widget.Width(middle)/2, c.high-widget.Width(middle)),
				c.bar)).Put(t.Paint(themes.Strong), middle)
			l.To(c.high+1).Put(m, "slower").To(c.best+1).Put(m, "best fit")
		}},
	}
	for i := range a.found.Knobs {
		lines = append(lines, tornadoLine(&knobs[i], a.found.Knobs[i].Best(), c, &scale, spans[i]))
	}
	return append(lines, adviceLine{draw: func(l *widget.Line, t *themes.Theme, g widget.Glyphs, _ bool) {
		s, m := widget.TornadoSigns(g.Unicode), t.Paint(themes.Muted)
		l.To(3).Put(t.Paint(themes.Accent), s[widget.TornadoFits]).Put(m, " fits  ")
		l.Put(t.Paint(themes.Bad), s[widget.TornadoOverMemory]).Put(m,
			" "+g.Cross+" does not fit  ! launcher rejects  "+s[widget.TornadoBeyond]+" off scale")
	}})
}

// mark tells of a value that it does not fit or that some launcher rejects it.
func mark(v *advise.Value, g widget.Glyphs) (sign string, role themes.Role) {
	switch {
	case !v.Fits:
		return g.Cross, themes.Bad
	case v.Refused:
		return "!", themes.Warn
	}
	return " ", themes.Text
}

// tornadoLine draws a knob; best is the value that ranks first, by the slow end as everywhere.
func tornadoLine(k *advise.Knob, best *advise.Value, c tornadoColumns, scale *widget.Tornado,
	span widget.Sides,
) adviceLine {
	return adviceLine{draw: func(l *widget.Line, t *themes.Theme, g widget.Glyphs, _ bool) {
		plain, muted := t.Paint(themes.Text), t.Paint(themes.Muted)
		l.To(3).Put(plain, shorten(string(k.ID), c.now-4, g))
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
		switch {
		case best == nil:
			l.Put(muted, "none")
		case best.Text == k.Current:
			l.Put(plain, shorten(best.Text, l.Left()-7, g)).Put(muted, " (now)")
		default:
			l.Put(plain, shorten(best.Text, min(l.Left()-1, 12), g))
			if best.Refused {
				sign, role := mark(best, g)
				l.Put(t.Paint(role), sign)
			}
			if step := figure.Seconds(best.Expected); l.Left() > widget.Width(step)+2 {
				l.Put(muted, "  "+step)
			}
		}
	}}
}
