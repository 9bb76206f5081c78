package scan

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"meshscope/engine/figures"
	"meshscope/engine/record"
	enginescan "meshscope/engine/scan"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/table"
	"meshscope/ui/widget"
)

const (
	choiceLines = 5 // the query, and what the curves say
	tickWidth   = 11
	leastCell   = 6 // width of a cell of a map
	mostCell    = 12
)

// Render draws the screen: exactly h lines of w cells.
func (v *View) Render(in *screen.Context) []string {
	w, h := in.W, in.H
	if w <= 0 || h <= 0 {
		return widget.Height(nil, max(w, 0), h)
	}
	lines := v.choiceLines(in, w)
	switch {
	case v.large:
		lines = append(lines, in.Note(w, "too many points to scan"))
	case v.grid == nil:
		lines = append(lines, in.Note(w, "turning the knob "+in.Glyphs.Ellipsis))
	case len(v.grid.Rows) == 0 || len(v.grid.Rows[0]) == 0:
		lines = append(lines, in.Note(w, "no value of these knobs is legal here"))
	case v.drawn.by == "":
		lines = append(lines, v.curve(in, w, h-len(lines))...)
	default:
		lines = append(lines, v.cells(in, w, h-len(lines))...)
	}
	return widget.Height(lines, w, h)
}

// choiceLines draws the query.
func (v *View) choiceLines(in *screen.Context, w int) []string {
	lines := []string{in.Heading(w, "SCAN", "one figure over one or two knobs", v.exact(in))}
	for c := range choices {
		l, role := in.Row(w, c == v.at && !v.inChart)
		l.To(2).Put(in.Paint(role), c.label()).To(10)
		text := words(v.figure)
		switch c {
		case acrossChoice:
			text = label(v.x)
		case byChoice:
			text = "none"
			if v.by != "" {
				text = label(v.by)
			}
		case figureChoice, choices:
			if v.find.on {
				v.find.line(in, l, v.figure)
				lines = append(lines, l.String())
				continue
			}
		}
		l.Put(in.Paint(themes.Current), in.Cut(text, l.Left()))
		lines = append(lines, l.String())
	}
	return append(lines, v.says(in, w))
}

// words returns a figure in words, where it has some.
func words(id string) string {
	_, name := figures.ByWord(id)
	return name
}

// short returns a figure in one word, where it has one.
func short(id string) string {
	for _, w := range figures.Words() {
		if w.ID == id {
			return w.Word
		}
	}
	return ""
}

// unitWords returns the unit of the numbers of a map, which are written without theirs;
// empty where each has its own, the name of the figure says it, or there is none.
func unitWords(u record.Unit) string {
	switch u {
	case record.Memory:
		return ", GiB"
	case record.Share:
		return ", %"
	case record.Seconds, record.Traffic, record.Tokens, record.Count:
		return ""
	default:
		return ", " + string(u)
	}
}

// moved says how far the number of GPUs and the global batch go where the points do not
// all have those of the current setup.
func (v *View) moved() string {
	text := ""
	for _, n := range []struct {
		name  string
		of    int
		among enginescan.Spread
	}{{"GPUs", v.drawn.setup.GPUs, v.grid.GPUs()}, {"global batch", v.drawn.setup.GBS, v.grid.Batch()}} {
		if n.among != (enginescan.Spread{}) && n.among != (enginescan.Spread{Low: n.of, High: n.of}) {
			text += "; " + n.name + " " + figure.Comma(n.among.Low) + " to " + figure.Comma(n.among.High)
		}
	}
	return text
}

// exact returns how exact a figure is: the band of the current setup.
func exact(in *screen.Context, id string) string {
	r := in.Report
	switch {
	case r == nil || r.Time == nil || r.Memory == nil:
		return ""
	case strings.HasPrefix(id, "memory."):
		return r.Memory.BandOf("memory", in.Glyphs.PlusMinus)
	}
	return r.Time.BandOf("steps", in.Glyphs.PlusMinus)
}

// exact returns how exact the figure is, and the one below it.
func (v *View) exact(in *screen.Context) string {
	text := exact(in, v.figure)
	if v.other == nil || text == "" {
		return text
	}
	_, other := besideOf(v.drawn.figure)
	if more := exact(in, other); more != text {
		text += ", " + more
	}
	return text
}

// values returns the figures of a row; NaN where there is none.
func values(row []enginescan.Point) []float64 {
	out := make([]float64, len(row))
	for i := range row {
		out[i] = math.NaN()
		if row[i].Value != nil {
			out[i] = *row[i].Value
		}
	}
	return out
}

// limit returns the capacity line of a figure of memory; 0 of others.
func (v *View) limit(id string) float64 {
	if id == "memory.peak" {
		return float64(v.grid.Usable)
	}
	return 0
}

const (
	axisLines  = 3 // below the charts: the values of the knob and both figures
	leastPlot  = 3 // lines of a chart
	plotBeside = 4 // lines from which the figure beside has a chart too
)

// curve draws one row as two lines, the figure and the one that stands beside it, with their values below.
func (v *View) curve(in *screen.Context, w, h int) []string {
	row := v.grid.Rows[0]
	remark := v.capacity(v.drawn.figure)
	if slices.ContainsFunc(row, func(p enginescan.Point) bool { return p.Verdict == enginescan.DoesNotFit }) {
		remark = strings.TrimPrefix(remark+"; ! does not fit", "; ")
	}
	lines := []string{v.chartHeading(in, w, v.drawn.figure, "over "+label(v.drawn.x)+v.moved(),
		v.remark(in, remark))}
	pw, ph := w-tickWidth, h-1-axisLines
	if pw < 2*len(row) || ph < leastPlot {
		return append(lines, v.list(in, w, h-1)...)
	}
	each := pw / len(row)
	upper := ph
	if v.other != nil && len(v.other.Rows) > 0 && len(v.other.Rows[0]) == len(row) && ph > 2*plotBeside {
		upper = (ph - 1) - (ph-1)/2
	}
	lines = append(lines, v.plot(in, v.grid, v.drawn.figure, w, upper, each)...)
	if upper < ph {
		_, id := besideOf(v.drawn.figure)
		lines = append(lines, v.chartHeading(in, w, id, "", v.capacity(id)))
		lines = append(lines, v.plot(in, v.other, id, w, ph-upper-1, each)...)
	}
	return append(lines, v.axis(in, row, w, each)...)
}

// chartHeading is the line above a chart: its figure first.
func (v *View) chartHeading(in *screen.Context, w int, id, detail, remark string) string {
	name := words(id)
	return in.Heading(w, strings.ToUpper(name[:1])+name[1:], detail, remark)
}

// plot draws a figure over the knob, h lines tall, each cells a value.
func (v *View) plot(in *screen.Context, g *enginescan.Grid, id string, w, h, each int) []string {
	row := g.Rows[0]
	c := widget.Curve{
		Values: values(row), Current: -1, Limit: v.limit(id), Role: themes.Time,
		Unit: unitOf(g.Unit),
	}
	if g.Unit == record.Memory {
		c.Role = themes.Memory
	}
	for i := range row {
		c.At = append(c.At, middle(i, each)-tickWidth)
		c.Warned = append(c.Warned, row[i].Verdict == enginescan.DoesNotFit)
		if row[i].Current {
			c.Current = i
			if row[i].ErrorBand != nil {
				c.Band = *row[i].ErrorBand
			}
		}
	}
	return c.Plot(in.Theme, in.Glyphs, w, h, tickWidth, func(x float64) string { return tickText(g.Unit, x) })
}

// remark returns what stands at the end of the chart's heading: that it is an old one
// where another is computed.
func (v *View) remark(in *screen.Context, text string) string {
	if v.working() {
		return "previous scan; working" + in.Glyphs.Ellipsis
	}
	return text
}

func (v *View) capacity(id string) string {
	if v.limit(id) > 0 {
		return "line: " + figure.GiB(v.grid.Usable) + " GiB usable"
	}
	return ""
}

// list lists the points where there is no room for a chart.
func (v *View) list(in *screen.Context, w, h int) []string {
	return table.Plain(v.columns(), v.column).Lines(in, v.grid.Rows[0], w, h, -1, &table.Look[point]{
		Title: label(v.drawn.x), Focus: v.inChart,
		Text: func(c *report.Column[point], p *point, _ int) string {
			return cmp.Or(c.Brief(p), in.Glyphs.None)
		},
		Role: func(_ *report.Column[point], p *point, _ string) themes.Role {
			if p.Current {
				return themes.Current
			}
			return themes.Text
		},
	})
}

// cells draws rows and columns as a map: every value written, its colour by how
// it lies between the least and the largest.
func (v *View) cells(in *screen.Context, w, h int) []string {
	g := v.grid
	n := len(g.Rows[0])
	widest := 0
	for j := range g.Rows[0] {
		widest = max(widest, widget.Width(g.Rows[0][j].X))
	}
	each := min((w-tickWidth)/max(n, 1), mostCell)
	first := 0
	if least := min(max(leastCell, widest+2), mostCell); each < least { // a window of the columns
		each = least
		n = min(max((w-tickWidth)/each, 1), len(g.Rows[0]))
		first = min(max(v.column-n/2, 0), len(g.Rows[0])-n)
	}
	lines := []string{in.Heading(w, strings.ToUpper(label(v.drawn.x)),
		"across"+span(first, n, len(g.Rows[0]))+"; down: "+label(v.drawn.by)+"; cells: "+
			words(v.drawn.figure)+unitWords(v.grid.Unit)+v.moved(), v.remark(in, "! does not fit"))}
	head := widget.NewLine(w)
	for j := first; j < first+n; j++ {
		head.RightAligned(in.Paint(themes.Muted), in.Cut(g.Rows[0][j].X, each-2),
			tickWidth+(j-first+1)*each-2)
	}
	lines = append(lines, head.String())
	low, high := math.Inf(1), math.Inf(-1)
	for _, row := range g.Rows {
		for i := range row {
			if p := &row[i]; p.Value != nil && p.Verdict == enginescan.Fits {
				low, high = min(low, *p.Value), max(high, *p.Value)
			}
		}
	}
	room := h - len(lines)
	tall := min(max(room/len(g.Rows), 1), 3)
	if room /= tall; room < 1 {
		return lines
	}
	from := 0
	if len(g.Rows) > room {
		from = min(max(v.row-room/2, 0), max(len(g.Rows)-room, 0))
	}
	for i := from; i < min(len(g.Rows), from+room); i++ {
		for part := range tall {
			l := widget.NewLine(w)
			if part == (tall-1)/2 {
				l.RightAligned(in.Paint(themes.Muted), in.Cut(g.Rows[i][0].By, tickWidth-2), tickWidth-1)
			}
			l.To(tickWidth)
			for j := first; j < first+n; j++ {
				v.cell(in, l, &g.Rows[i][j], each, v.inChart && i == v.row && j == v.column,
					part == (tall-1)/2, low, high)
			}
			lines = append(lines, l.String())
		}
	}
	return lines
}

func (v *View) cell(in *screen.Context, l *widget.Line, p *enginescan.Point, each int, here, named bool, low,
	high float64,
) {
	text, paint := in.Glyphs.None, in.Paint(themes.Muted)
	end := " "
	if p.Value != nil {
		text = brief(v.grid.Unit, *p.Value)
		paint = widget.Heat(in.Theme, (*p.Value-low)/(high-low))
		if p.Verdict == enginescan.DoesNotFit {
			end = "!"
			paint = in.Paint(themes.Bad)
		}
	}
	if here {
		text = in.Glyphs.Pointer + text
	} else if p.Current {
		text = in.Glyphs.Here + text
	}
	if here {
		paint = in.Paint(themes.Strong).Reversed()
	}
	if text = in.Cut(text, each-2) + end; !named {
		text = ""
	}
	l.Put(paint, widget.Blank(each-1-widget.Width(text))+text).Gap(1)
}

// brief returns a figure without its unit.
func brief(u record.Unit, v float64) string {
	text := figure.Of(u, v)
	if u == record.Seconds || u == record.Traffic {
		return strings.ReplaceAll(text, " ", "")
	}
	text, _, _ = strings.Cut(text, " ")
	return text
}
