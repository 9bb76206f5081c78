package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/figures"
	"meshscope/engine/knob"
	"meshscope/engine/record"
	"meshscope/engine/scan"
	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/report/figure"
)

// Scan is a figure over the values of one or two knobs.
type Scan struct {
	Query  scan.Query
	Grid   scan.Grid
	Name   string         // of the figure, in words
	Bars   *Glyphs        // what bars are drawn with; nil: none
	Chosen *search.Chosen // how the layout was found where no degree was given; nil: it was given
}

// Glyphs are the characters that a terminal draws bars with.
type Glyphs struct {
	Full, Weak, Line string
	Steps            []rune // by height
}

// NewGlyphs returns the glyphs of a terminal that shows Unicode, or only ASCII.
func NewGlyphs(unicode bool) *Glyphs {
	if unicode {
		return &Glyphs{"█", "░", "│", []rune("▁▂▃▄▅▆▇█")}
	}
	return &Glyphs{"#", ":", "|", []rune("12345678")}
}

// Marks of points.
const (
	markCurrent = "*"
	markNoFit   = "!"
	markTight   = "~"
	markIllegal = "-"
)

// Points yields all points, row by row.
func (o *Scan) Points(yield func(*scan.Point) bool) {
	for _, row := range o.Grid.Rows {
		for i := range row {
			if !yield(&row[i]) {
				return
			}
		}
	}
}

// Document returns the scan for people: a row per value, or per value of the second knob.
func (o *Scan) Document() *Document {
	what := fmt.Sprintf("%s over %s", o.Name, o.Grid.X.ID)
	if o.Grid.By.ID != "" {
		what += fmt.Sprintf(" (columns) and %s (rows)", o.Grid.By.ID)
	}
	body := Section{Blocks: []Block{Facts{{"shown", what}, {"fixed", o.fixed()}}, Line("")}}
	if o.Grid.By.ID == "" {
		body.add(o.list())
	} else {
		t, unit := o.matrix()
		body.add(t)
		if unit != "" {
			body.say("in " + unit)
		}
	}
	o.legend(&body)
	out := &Document{Title: Title(&o.Query.Setup), Sections: []Section{body}}
	now := engine.Evaluate(o.Query.Setup)
	out.sayNoEffects(noEffects("", &o.Query.Setup, &now, func(id knob.ID) bool {
		return id != o.Grid.X.ID && id != o.Grid.By.ID && unchosen(o.Chosen)(id)
	}))
	return out
}

// fixed tells which of GPUs and global batch are the same at all points, and the range of
// the others: two knobs together may change what each alone would not.
func (o *Scan) fixed() string {
	var fixed, moved []string
	batch, among := "a global batch of "+figure.Comma(o.Query.Setup.GBS), o.Grid.Batch()
	if tokens := o.Query.Setup.Tokens(); among.Low != among.High &&
		!slices.ContainsFunc(slices.Concat(o.Grid.Rows...), func(p scan.Point) bool {
			return p.Verdict != scan.Illegal && p.Setup.Tokens() != tokens
		}) {
		batch, among = figure.Comma(int(tokens))+" tokens per step", scan.Spread{}
	}
	for _, n := range []struct {
		held, name string
		of         int
		among      scan.Spread
	}{
		{figure.Plural(o.Query.Setup.GPUs, "GPU"), "GPUs", o.Query.Setup.GPUs, o.Grid.GPUs()},
		{batch, "global batch", o.Query.Setup.GBS, among},
	} {
		switch {
		case n.among == scan.Spread{} || n.among == scan.Spread{Low: n.of, High: n.of}:
			fixed = append(fixed, n.held)
		case n.among.Low == n.among.High:
			moved = append(moved, fmt.Sprintf("%s %s", n.name, figure.Comma(n.among.Low)))
		default:
			moved = append(moved, fmt.Sprintf("%s from %s to %s", n.name, figure.Comma(n.among.Low),
				figure.Comma(n.among.High)))
		}
	}
	if len(fixed) == 0 {
		fixed = []string{"neither GPUs nor global batch"}
	}
	text := strings.Join(fixed, " and ")
	if len(moved) > 0 {
		text += "; changed: " + strings.Join(moved, ", ")
	}
	return text
}

// mark returns the mark of a point.
func mark(p *scan.Point) string {
	text := ""
	if p.Current {
		text = markCurrent
	}
	if p.Verdict == scan.DoesNotFit {
		text = markNoFit + text
	}
	if p.Tight {
		text = markTight + text
	}
	return text
}

// list returns a table with one point per row.
func (o *Scan) list() *Table {
	t := &Table{Head: []string{"", string(o.Grid.X.ID), o.short(), ""}}
	for p := range o.Points {
		t.add(Word(mark(p)), right(p.X), side(o.Grid.Unit, p.Value), picture(o.bar(p)))
	}
	return t
}

// short returns the figure as a heading.
func (o *Scan) short() string {
	for _, w := range figures.Words() {
		if w.ID == o.Query.Figure {
			return w.Word
		}
	}
	return o.Query.Figure
}

// barWidth is the length of the longest bar, in columns.
const barWidth = 40

// ofMemory reports whether a figure is comparable with the memory of the GPU.
func (o *Scan) ofMemory() bool {
	id := o.Query.Figure
	return id == "memory.peak" || strings.HasPrefix(id, "memory.") && strings.HasSuffix(id, ".total")
}

// top returns the largest value of all points.
func (o *Scan) top() (most float64) {
	for p := range o.Points {
		if p.Value != nil {
			most = cmp.Or(max(most, *p.Value), most)
		}
	}
	return most
}

// bar draws the value of a point, with the capacity line if it is memory.
func (o *Scan) bar(p *scan.Point) string {
	if o.Bars == nil {
		return ""
	}
	most := o.top()
	line := -1
	if o.ofMemory() {
		most = max(most, float64(o.Grid.Usable))
		line = int(float64(o.Grid.Usable) / most * (barWidth - 1))
	}
	var cells strings.Builder
	for i := range barWidth {
		filled := p.Value != nil && most > 0 && float64(i) < *p.Value/most*barWidth-0.5
		switch {
		case filled && p.Verdict == scan.DoesNotFit:
			cells.WriteString(o.Bars.Weak)
		case filled:
			cells.WriteString(o.Bars.Full)
		case i == line:
			cells.WriteString(o.Bars.Line)
		default:
			cells.WriteString(" ")
		}
	}
	return cells.String()
}

// matrix returns a table with a row for each value of the second knob, and its unit.
func (o *Scan) matrix() (*Table, string) {
	unit, scale, digits := o.scale()
	t := &Table{Head: append([]string{string(o.Grid.By.ID) + `\` + string(o.Grid.X.ID)}, o.Grid.X.Values...)}
	t.Head = append(t.Head, "")
	for i, by := range o.Grid.By.Values {
		row := []Cell{right(by)}
		for j := range o.Grid.Rows[i] {
			p := &o.Grid.Rows[i][j]
			text := markIllegal
			if p.Value != nil {
				text = mark(p) + fmt.Sprintf("%.*f", digits, *p.Value/scale)
			} else if p.Verdict != scan.Illegal {
				text = mark(p) + "none"
			}
			row = append(row, right(text))
		}
		t.add(append(row, picture(o.spark(o.Grid.Rows[i])))...)
	}
	return t, unit
}

// scale returns the unit of the cells of a matrix, its divisor, and the number of decimals.
func (o *Scan) scale() (unit string, scale float64, digits int) {
	top := o.top()
	switch o.Grid.Unit {
	case record.Memory:
		return "GiB", float64(units.GiB), 1
	case record.Traffic:
		return "GB", float64(units.GB), 1
	case record.Share:
		return "%", 0.01, 1
	case record.Seconds:
		if top < 1 {
			return "ms", 1e-3, 1
		}
		return "s", 1, 2
	default:
		switch {
		case top >= 1e9:
			return "10^9 " + string(o.Grid.Unit), 1e9, 2
		case top >= 1e3:
			return string(o.Grid.Unit), 1, 0
		}
		return string(o.Grid.Unit), 1, 2
	}
}

// spark draws a row small: a height for each point, . for an illegal one and x for one that
// does not fit.
func (o *Scan) spark(row []scan.Point) string {
	if o.Bars == nil {
		return ""
	}
	top, steps := o.top(), o.Bars.Steps
	var text strings.Builder
	for i := range row {
		switch p := &row[i]; {
		case p.Value == nil:
			text.WriteByte('.')
		case p.Verdict == scan.DoesNotFit:
			text.WriteByte('x')
		case top <= 0:
			text.WriteRune(steps[0])
		default:
			text.WriteRune(steps[min(max(int(*p.Value/top*float64(len(steps))), 0), len(steps)-1)])
		}
	}
	return text.String()
}

// legend explains the marks, the memory limit, the error band, and why points are illegal.
func (o *Scan) legend(s *Section) {
	current, noFit, tight, illegal := false, false, false, false
	for p := range o.Points {
		current = current || p.Current
		noFit = noFit || p.Verdict == scan.DoesNotFit
		tight = tight || p.Tight
		illegal = illegal || p.Verdict == scan.Illegal
	}
	var marks []string
	if current {
		marks = append(marks, markCurrent+" the given setup")
	}
	if noFit {
		marks = append(marks, fmt.Sprintf("%s does not fit, %.1f GiB usable", markNoFit, o.Grid.Usable.GiB()))
	}
	if tight {
		marks = append(marks, markTight+" tight: within the error band of the usable memory")
	}
	if o.ofMemory() && !noFit {
		marks = append(marks, fmt.Sprintf("usable memory of a GPU: %.1f GiB", o.Grid.Usable.GiB()))
	}
	if illegal {
		marks = append(marks, markIllegal+" illegal")
	}
	if len(marks) > 0 {
		s.say(strings.Join(marks, ", "))
	}
	if words := o.evidence(); words != "" {
		s.say(o.Name + ": " + words)
	}
	o.reasons(s)
}

// maxReasons is the number of reasons for illegal points that are listed; --json has all.
const maxReasons = 6

// reason is why some points are illegal.
type reason struct {
	why         string
	contradicts bool // of two values; why is about the first such point
	at          []string
}

// reasons lists why points are illegal, each reason once.
func (o *Scan) reasons(s *Section) {
	var all []reason
	for p := range o.Points {
		if p.Verdict != scan.Illegal {
			continue
		}
		at := p.X
		if o.Grid.By.ID != "" {
			at = p.By + `\` + p.X
		}
		i := slices.IndexFunc(all,
			func(r reason) bool { return r.why == p.Why || r.contradicts && p.Contradicts })
		if i < 0 {
			all, i = append(all, reason{why: p.Why, contradicts: p.Contradicts}), len(all)
		}
		all[i].at = append(all[i].at, at)
	}
	for _, r := range all[:min(len(all), maxReasons)] {
		points := strings.Join(r.at[:min(len(r.at), 4)], ", ")
		if more := len(r.at) - 4; more > 0 {
			points += fmt.Sprintf(" and %s more", figure.Comma(more))
		}
		why := r.why
		if r.contradicts && len(r.at) > 1 {
			why = fmt.Sprintf("%s and %s contradict each other, first: %s", o.Grid.X.ID, o.Grid.By.ID, why)
		}
		s.say(points + ": " + why)
	}
	if more := len(all) - maxReasons; more > 0 {
		s.say("and " + figure.Plural(more, "more reason") + "; --json has all")
	}
}

// evidence returns the error band of a predicted time, throughput or peak, from published
// runs like the given setup.
func (o *Scan) evidence() string {
	r := engine.Evaluate(o.Query.Setup)
	if of := figures.Evidence(&r, o.Query.Figure); of != nil {
		return of.Words()
	}
	return ""
}

// Records returns a row per point, row by row.
func (o *Scan) Records() *Table {
	by := string(o.Grid.By.ID)
	t := &Table{Head: []string{
		string(o.Grid.X.ID), o.Query.Figure, "unit", "error_band", "verdict",
		"current", "why", "tight",
	}}
	if by != "" {
		t.Head = append([]string{by}, t.Head...)
	}
	for p := range o.Points {
		row := []Cell{
			Word(p.X), perhaps(p.Value), Word(string(o.Grid.Unit)), perhaps(p.ErrorBand),
			Word(string(p.Verdict)), Word(strconv.FormatBool(p.Current)), Word(p.Why),
			Word(strconv.FormatBool(p.Tight)),
		}
		if by != "" {
			row = append([]Cell{Word(p.By)}, row...)
		}
		t.add(row...)
	}
	return t
}
