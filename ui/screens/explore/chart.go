package explore

import (
	"math"

	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Point holds the cost of the setup at one value of a knob.
type Point struct {
	Text  string // the value, as it is shown
	Known bool   // false: the value has no figures (an illegal current one)
	Step  units.Seconds
	Peak  units.Bytes
	Fits  bool
	// Traffic is what a GPU sends in a step, over all dimensions.
	Traffic units.Bytes
	Large   bool // not computed: a schedule of more operations than are scanned
}

// Sweep is the focused knob at each of its legal values.
type Sweep struct {
	Label   string
	Brief   string // the label where room is short
	Points  []Point
	Current int
	Usable  units.Bytes
	Pending bool // figures are still being computed
	Asked   bool // a turn is asked about before it is made: what it gives is not shown
}

// Chart shows step time and peak memory at each legal value of the focused
// knob, as curves where there is room, always as numbers.
func Chart(in *screen.Context, s Sweep, w, h int) []string {
	if h < 2 {
		return widget.Height(nil, w, h)
	}
	if s.Asked {
		return emptyPanel(in, w, h, "IF YOU TURN "+s.Label, "hidden while P asks before each change")
	}
	if len(s.Points) == 0 {
		why := "no other legal value here"
		if s.Pending {
			why = ""
		}
		return emptyPanel(in, w, h, "IF YOU TURN "+s.Label, why)
	}
	c := newColumns(&s, w)
	lines := []string{in.Heading(w, "IF YOU TURN "+s.Label, "", chartRemark(in, &s))}
	plot := (h - 4) / 2
	if plot < 2 {
		plot = 0
	}
	times, peaks := c.values(&s)
	unit, name := timeUnit(times)
	if plot > 0 {
		curve := widget.Curve{Values: times, At: c.at, Current: c.current, Role: themes.Time, Unit: unit}
		if t := in.Report.Time; t != nil {
			curve.Band = t.ErrorBand
		}
		lines = append(lines,
			plotted(in, &curve, c, w, plot,
				func(v float64) string { return figure.Round(figure.Three(v / unit)) })...)
	}
	lines = append(lines, stepRow(in, &s, c, w, unit, name))
	if plot > 0 {
		curve := widget.Curve{
			Values: peaks, At: c.at, Current: c.current, Role: themes.Memory,
			Limit: s.Usable.GiB(),
		}
		if m := in.Report.Memory; m != nil {
			curve.Band = m.ErrorBand
		}
		lines = append(lines,
			plotted(in, &curve, c, w, plot,
				func(v float64) string { return figure.Round(figure.Three(v)) })...)
	}
	lines = append(lines, peakRow(in, &s, c, w))
	if plot > 0 || h >= 4 {
		lines = append(lines, valueRow(in, &s, c, w))
	} else {
		lines[0] = valueHeading(in, &s, c, w)
	}
	return widget.Height(lines, w, h)
}

// chartRemark says that values are not computed because they are too large,
// else how exact the rows are.
func chartRemark(in *screen.Context, s *Sweep) string {
	for _, p := range s.Points {
		if p.Large {
			return "n/a: too many operations"
		}
	}
	t, m := in.Report.Time, in.Report.Memory
	if t == nil || m == nil {
		return ""
	}
	step, peak := t.Band(in.Glyphs.PlusMinus), m.Band(in.Glyphs.PlusMinus)
	if step == peak {
		return t.BandOf("step and peak", in.Glyphs.PlusMinus)
	}
	return "step " + step + ", peak " + peak
}

// columns are the values that are shown and where each stands.
type columns struct {
	first, last int
	width       int
	at          []int // middle of each column, relative to the plot
	current     int   // index among the shown; -1: none
}

const (
	chartLabel = 11 // cells left of the columns
	moreWidth  = 3  // cells right of them for the number of values left out
)

func newColumns(s *Sweep, w int) columns {
	need := 7
	for _, p := range s.Points {
		need = max(need, widget.Width(p.Text)+2, len(figure.GiB(p.Peak))+2)
	}
	room := max(w-chartLabel, need)
	if len(s.Points) > room/need {
		room = max(room-moreWidth, need)
	}
	n := min(len(s.Points), room/need)
	c := columns{width: min(room/n, max(need, 14)), current: -1}
	current := min(max(s.Current, 0), len(s.Points)-1)
	c.first = page(current, n, len(s.Points))
	c.last = c.first + n
	for i := c.first; i < c.last; i++ {
		if i == s.Current {
			c.current = i - c.first
		}
		c.at = append(c.at, (i-c.first)*c.width+c.width-4)
	}
	return c
}

// page returns the first of n shown values out of all. Pages overlap by two, so that
// a neighbour of the current value is in sight on either side, and stand still
// while it moves within one.
func page(current, n, all int) int {
	if n < 4 {
		return min(max(current-n/2, 0), all-n)
	}
	return min(max((current-1)/(n-2), 0)*(n-2), all-n)
}

// values returns the curves over the shown columns; NaN where there is no figure.
func (c *columns) values(s *Sweep) (times, peaks []float64) {
	for _, p := range s.Points[c.first:c.last] {
		t, m := math.NaN(), math.NaN()
		if p.Known {
			t, m = float64(p.Step), p.Peak.GiB()
		}
		times, peaks = append(times, t), append(peaks, m)
	}
	return times, peaks
}

func plotted(in *screen.Context, curve *widget.Curve, c columns, w, h int,
	tick func(float64) string,
) []string {
	width := min(len(c.at)*c.width, w-chartLabel)
	lines := curve.Plot(in.Theme, in.Glyphs, chartLabel+width, h, chartLabel, tick)
	for i := range lines {
		lines[i] += widget.Blank(w - chartLabel - width)
	}
	return lines
}

// timeUnit chooses the unit of a row of times.
func timeUnit(times []float64) (size float64, name string) {
	most := 0.0
	for _, t := range times {
		if t > most {
			most = t
		}
	}
	switch {
	case most < 1:
		return 1e-3, "ms"
	case most < 1e5:
		return 1, "s"
	default:
		return 3600, "h"
	}
}

func stepRow(in *screen.Context, s *Sweep, c columns, w int, unit float64, name string) string {
	return row(in, s, c, w, "step, "+name, themes.Time, func(p *Point) (string, themes.Role) {
		return figure.Three(float64(p.Step) / unit), themes.Text
	})
}

func peakRow(in *screen.Context, s *Sweep, c columns, w int) string {
	return row(in, s, c, w, "peak, GiB", themes.Memory, func(p *Point) (string, themes.Role) {
		if !p.Fits {
			return figure.GiB(p.Peak) + "!", themes.Bad
		}
		return figure.GiB(p.Peak), themes.Text
	})
}

func row(in *screen.Context, s *Sweep, c columns, w int, label string, role themes.Role,
	cell func(*Point) (string, themes.Role),
) string {
	l := widget.NewLine(w)
	l.Put(in.Paint(role), label)
	for i := c.first; i < c.last; i++ {
		text, look := figure.Unknown, themes.Muted
		switch p := &s.Points[i]; {
		case p.Known:
			text, look = cell(p)
		case s.Pending && !p.Large: // not "n/a", which is that of an illegal value
			text = in.Glyphs.Ellipsis
		}
		end := chartLabel + (i-c.first+1)*c.width - 2
		if text[len(text)-1] == '!' {
			end++
		}
		if i == s.Current && look == themes.Text {
			look = themes.Current
		}
		l.RightAligned(in.Paint(look), text, end)
	}
	return l.String()
}

func valueRow(in *screen.Context, s *Sweep, c columns, w int) string {
	l := widget.NewLine(w)
	l.Put(in.Paint(themes.Muted), widget.Cut(s.Brief, chartLabel-1))
	values(in, l, s, c)
	return l.String()
}

// valueHeading returns heading and values in one line, for small screens.
func valueHeading(in *screen.Context, s *Sweep, c columns, w int) string {
	l := widget.NewLine(w)
	l.Put(in.Paint(themes.Heading), widget.Cut("IF "+s.Brief, chartLabel-1))
	values(in, l, s, c)
	return l.String()
}

func values(in *screen.Context, l *widget.Line, s *Sweep, c columns) {
	if c.first > 0 {
		l.To(chartLabel-1).Put(in.Paint(themes.Key), in.Glyphs.MoreLeft)
	}
	for i := c.first; i < c.last; i++ {
		text, role := s.Points[i].Text, themes.Text
		end := chartLabel + (i-c.first+1)*c.width - 2
		if i == s.Current {
			text, role = "["+text+"]", themes.Current
			end++
		}
		l.RightAligned(in.Paint(role), text, end)
	}
	// More values on either side.
	end := chartLabel + (c.last-c.first)*c.width
	if c.last < len(s.Points) && l.Left() > 0 {
		l.To(min(max(end-1, l.Used()), l.Used()+l.Left()-1)).Put(in.Paint(themes.Key), in.Glyphs.More)
	}
}
