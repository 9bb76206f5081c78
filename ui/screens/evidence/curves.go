package evidence

import (
	"context"
	"fmt"
	"math"
	"strings"

	"meshscope/engine"
	"meshscope/engine/record"
	"meshscope/presets/curves"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/table"
	"meshscope/ui/widget"
)

// measuredCurves are the curves that others published, each drawn with what is predicted in
// its place, and for the bandwidth of a collective with what the setup's own cluster reaches.
type measuredCurves struct {
	list   []curves.Curve
	fault  string
	row    int // curve under the cursor
	column int // point under the cursor
	jobs   widget.Jobs
}

// refresh asks for the curves once.
func (m *measuredCurves) refresh(v *View) screen.Request {
	if m.list != nil || m.fault != "" || m.jobs.Running() {
		return screen.Request{}
	}
	job := m.jobs.Begin()
	return screen.Request{Work: func(context.Context) func() {
		list, err := curves.All(&engine.Evaluator{SkipTimeline: true}, v.lib)
		return func() {
			if m.jobs.End(job) {
				m.list = list
				if err != nil {
					m.fault = err.Error()
				}
			}
		}
	}}
}

// here returns the curve and the point under the cursor; nil: there is none.
func (m *measuredCurves) here() (*curves.Curve, *curves.Point) {
	if m.row >= len(m.list) {
		return nil, nil
	}
	c := &m.list[m.row]
	return c, &c.Points[min(m.column, len(c.Points)-1)]
}

func (m *measuredCurves) keys() []screen.Key {
	return []screen.Key{
		{
			Keys: "enter", Help: "take the setup of this point", Hint: "take this point",
			Ask: func() screen.Request {
				c, p := m.here()
				switch {
				case c == nil:
					return screen.Request{}
				case c.Figure == curves.Bubble:
					return screen.Request{Text: "the source does not name the model of this curve"}
				case c.Figure.Bandwidth():
					return screen.Request{Text: "a point of a collective has no layout; its machine is " +
						p.Setup.Cluster.Name}
				}
				return screen.Take(p.Setup, fmt.Sprintf("%s at %s %d", c.Title, c.Axis, p.At))
			},
		},
		{
			ID: "curve-up curve-down", Keys: "up k | down j", Help: "curve above, below", Hint: "curve",
			Do: func(n int) {
				m.row, m.column = widget.Step(m.row, n, len(m.list)), 0
			},
		},
		{
			ID: "point-before point-after", Keys: "left h | right l", Help: "point before, after",
			Hint: "point",
			Do: func(n int) {
				if c, _ := m.here(); c != nil {
					m.column = widget.Step(m.column, n, len(c.Points))
				}
			},
		},
	}
}

const curveListWide = 46

// render draws the list of curves and the one under the cursor.
func (m *measuredCurves) render(in *screen.Context) []string {
	w, h := in.W, in.H
	if m.list == nil {
		text := "predicting the measured curves " + in.Glyphs.Ellipsis
		if m.fault != "" {
			text = in.Cut(m.fault, w-2)
		}
		return widget.Height([]string{
			in.Heading(w, "CURVES", "", ""),
			widget.NewLine(w).Gap(2).Put(in.Paint(themes.Muted), text).String(),
		}, w, h)
	}
	if w < 2*curveListWide {
		top := min(len(m.list)+1, max(h/4, 2))
		return widget.Height(append(m.names(in, w, top), m.chart(in, w, h-top)...), w, h)
	}
	var lines []string
	right := m.chart(in, w-curveListWide-gutter, h)
	for i, left := range m.names(in, curveListWide, h) {
		lines = append(lines, left+widget.Blank(gutter)+right[i])
	}
	return lines
}

// names lists the curves with the mean error of their points.
func (m *measuredCurves) names(in *screen.Context, w, h int) []string {
	type curve = curves.Curve
	t := table.Plain([]report.Column[curve]{
		{ID: "curve", Text: func(c *curve) string { return c.Title }},
		{ID: "error", Head: "error %", Unit: record.Share, Value: func(c *curve) float64 {
			sum := 0.0
			for k := range c.Points {
				sum += math.Abs(c.Points[k].Error())
			}
			return sum / float64(len(c.Points))
		}},
	}, m.row)
	t.Wide = true
	return t.Lines(in, m.list, w, h, -1, &table.Look[curve]{
		Title: "CURVES", Details: []string{"measured by others; mean error", "measured by others"},
		Focus: true,
	})
}

// chart draws a curve, its values and its note.
func (m *measuredCurves) chart(in *screen.Context, w, h int) []string {
	c, _ := m.here()
	own := m.own(in, c)
	lines := []string{in.Heading(w, strings.ToUpper(c.Axis)+" across", c.Title, c.Figure.Unit())}
	note := widget.Wrap(c.Note, w)
	rows := 4
	if own != nil {
		rows++
	}
	const label = 11
	cell := min(max((w-label)/len(c.Points), 6), 12)
	if plot := h - len(lines) - rows - len(note) - 1; plot >= 3 {
		curve := widget.Curve{Current: -1, Role: themes.Time}
		for i := range c.Points {
			p := &c.Points[i]
			curve.Values, curve.Beside = append(curve.Values, p.Predicted), append(curve.Beside, p.Measured)
			curve.At = append(curve.At, i*cell+cell-3)
			if p.High > 0 {
				curve.Low, curve.High = append(curve.Low, p.Low), append(curve.High, p.High)
			}
		}
		for _, drawn := range curve.Plot(in.Theme, in.Glyphs, label+cell*len(c.Points), plot, label,
			func(v float64) string { return figure.Round(figure.Three(v)) }) {
			lines = append(lines, widget.NewLine(w).Raw(drawn, label+cell*len(c.Points)).String())
		}
		lines = append(lines, widget.NewLine(w).To(label).Put(in.Paint(themes.Strong),
			in.Glyphs.Here).Put(in.Paint(themes.Muted), " measured  ").
			Put(in.Paint(themes.Time), in.Glyphs.Point).Put(in.Paint(themes.Muted), " predicted").String())
	}
	row := func(name string, role themes.Role, text func(p *curves.Point, i int) string) {
		l := widget.NewLine(w).Put(in.Paint(role), name)
		for i := range c.Points {
			paint := in.Paint(role)
			if i == min(m.column, len(c.Points)-1) {
				paint = in.Paint(themes.Current)
			}
			l.RightAligned(paint, text(&c.Points[i], i), label+(i+1)*cell-1)
		}
		lines = append(lines, l.String())
	}
	row(c.Axis, themes.Muted, func(p *curves.Point, _ int) string { return figure.Comma(p.At) })
	row("measured", themes.Strong, func(p *curves.Point, _ int) string { return figure.Three(p.Measured) })
	row("predicted", themes.Time, func(p *curves.Point, _ int) string { return figure.Three(p.Predicted) })
	row("error %", themes.Text, func(p *curves.Point, _ int) string {
		return figure.Signed(100*p.Error(), 1)
	})
	if own != nil {
		row("yours", themes.Text, func(_ *curves.Point, i int) string { return own[i] })
	}
	for _, text := range note {
		lines = append(lines, widget.NewLine(w).Put(in.Paint(themes.Muted), text).String())
	}
	return widget.Height(lines, w, h)
}

// own returns what the setup's cluster reaches in the collective of a curve, marked where it
// has as many nodes as the setup; nil for other curves.
func (m *measuredCurves) own(in *screen.Context, c *curves.Curve) []string {
	if !c.Figure.Bandwidth() || in.Setup == nil {
		return nil
	}
	out := make([]string, len(c.Points))
	for i := range c.Points {
		nodes := c.Points[i].At
		if limit := in.Setup.Cluster.MaxGPUs; limit > 0 && nodes*in.Setup.Cluster.Node() > limit ||
			in.Setup.Cluster.Inter.Bandwidth <= 0 && nodes > 1 {
			out[i] = in.Glyphs.None
			continue
		}
		out[i] = figure.Three(c.Rate(in.Setup, nodes))
		if nodes == in.Setup.Nodes() {
			out[i] = "[" + out[i] + "]"
		}
	}
	return out
}

// status names the point under the cursor and the source of its curve.
func (m *measuredCurves) status(in *screen.Context) string {
	c, p := m.here()
	if c == nil {
		return ""
	}
	text := fmt.Sprintf("%s %d: %s %s measured, %s predicted", c.Axis, p.At, figure.Three(p.Measured),
		c.Figure.Unit(), figure.Three(p.Predicted))
	if c.Figure == curves.Tokens || c.Figure == curves.Memory {
		text += "; " + report.LayoutWords(&p.Setup, nil)
	}
	return in.Cut(text+". "+c.Source, in.W)
}
