package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/units"
)

// Marks of points.
const (
	markCurrent = "*"
	markNoFit   = "!"
	markIllegal = "-"
)

// maxReasons is how many reasons for illegal points are given; --json has them all.
const maxReasons = 6

// writeText prints a scan for people: a line per value, or a row per value of the
// second knob, with bars where they are asked for.
func (o *scanned) writeText(to io.Writer) error {
	t := newPage(to)
	s := &o.scan.Setup
	t.printf("%s on %s x %s, %s (%s)\n", name(s.Model.Name, s.Model.ID), commas(s.GPUs), name(s.Cluster.GPU.Name, s.Cluster.GPU.ID),
		plural(s.Nodes(), "node"), name(s.Cluster.ID, s.Cluster.Name))
	what := fmt.Sprintf("%s over %s", o.name, o.grid.X.ID)
	if o.grid.By.ID != "" {
		what += fmt.Sprintf(" (columns) and %s (rows)", o.grid.By.ID)
	}
	t.printf("  shown  %s\n  kept   %s\n\n", what, o.kept())
	if o.grid.By.ID == "" {
		o.list(t)
	} else {
		o.matrix(t)
	}
	o.legend(t)
	return t.Flush()
}

// kept says what stays when the knobs turn, and how far goes what does not: by the
// points, as two knobs together move what each of them alone would keep.
func (o *scanned) kept() string {
	var kept, moved []string
	for _, n := range []struct {
		held, name string
		of         int
		among      engine.Spread
	}{
		{plural(o.scan.Setup.GPUs, "GPU"), "GPUs", o.scan.Setup.GPUs, o.grid.GPUs()},
		{"a global batch of " + commas(o.scan.Setup.GBS), "global batch", o.scan.Setup.GBS, o.grid.Batch()},
	} {
		switch {
		case n.among == engine.Spread{} || n.among == engine.Spread{Low: n.of, High: n.of}:
			kept = append(kept, n.held)
		case n.among.Low == n.among.High:
			moved = append(moved, fmt.Sprintf("%s %s", n.name, commas(n.among.Low)))
		default:
			moved = append(moved, fmt.Sprintf("%s from %s to %s", n.name, commas(n.among.Low), commas(n.among.High)))
		}
	}
	if len(kept) == 0 {
		kept = []string{"neither GPUs nor global batch"}
	}
	text := strings.Join(kept, " and ")
	if len(moved) > 0 {
		text += "; changed: " + strings.Join(moved, ", ")
	}
	return text
}

// mark of a point.
func mark(p *engine.Point) string {
	text := ""
	if p.Current {
		text = markCurrent
	}
	if p.Verdict == engine.PointNoFit {
		text = markNoFit + text
	}
	return text
}

// list prints one point a line.
func (o *scanned) list(t page) {
	rows := [][]string{{" ", string(o.grid.X.ID), o.short()}}
	for p := range o.points {
		rows = append(rows, []string{" " + mark(p), p.X, cell(o.grid.Unit, p.Value)})
	}
	text := strings.Split(strings.TrimRight(aligned(rows), "\n"), "\n")
	t.printf("%s\n", text[0])
	i := 0
	for p := range o.points {
		i++
		t.printf("%s\n", strings.TrimRight(text[i]+o.bar(p), " "))
	}
}

// aligned is a table as text.
func aligned(rows [][]string) string {
	var text strings.Builder
	inner := newPage(&text)
	inner.trimmed(rows)
	_ = inner.Flush() // a builder takes everything
	return text.String()
}

// short is the figure as a heading.
func (o *scanned) short() string {
	for _, w := range engine.FigureWords() {
		if w.ID == o.scan.Figure {
			return w.Word
		}
	}
	return o.scan.Figure
}

// barWidth is the length of the longest bar, in cells.
const barWidth = 40

// ofMemory says that a figure can be held against the memory of the GPU.
func (o *scanned) ofMemory() bool {
	return o.scan.Figure == "memory.peak" || strings.HasPrefix(o.scan.Figure, "memory.") && strings.HasSuffix(o.scan.Figure, ".total")
}

// bar is the value of a point drawn, with the capacity line of figures of memory.
func (o *scanned) bar(p *engine.Point) string {
	if !o.chart {
		return ""
	}
	most := o.top()
	line := -1
	if o.ofMemory() {
		most = max(most, float64(o.grid.Usable))
		line = int(float64(o.grid.Usable) / most * (barWidth - 1))
	}
	full, weak, capacity := glyphs()
	cells := make([]string, barWidth)
	for i := range cells {
		cells[i] = " "
		switch {
		case p.Value != nil && most > 0 && float64(i) < *p.Value/most*barWidth-0.5 && p.Verdict == engine.PointNoFit:
			cells[i] = weak
		case p.Value != nil && most > 0 && float64(i) < *p.Value/most*barWidth-0.5:
			cells[i] = full
		case i == line:
			cells[i] = capacity
		}
	}
	return "  " + strings.Join(cells, "")
}

// glyphs are what bars are made of, by what the locale can show.
func glyphs() (full, weak, capacity string) {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(os.Getenv(name)); v != "" {
			if strings.Contains(v, "utf-8") || strings.Contains(v, "utf8") {
				break
			}
			return "#", ":", "|"
		}
	}
	return "█", "░", "│"
}

// matrix prints a row for each value of the second knob.
func (o *scanned) matrix(t page) {
	unit, scale, digits := o.scale()
	corner := string(o.grid.By.ID) + `\` + string(o.grid.X.ID)
	rows := [][]string{append([]string{" " + corner}, o.grid.X.Values...)}
	for i, by := range o.grid.By.Values {
		row := []string{by}
		for j := range o.grid.Rows[i] {
			p := &o.grid.Rows[i][j]
			text := markIllegal
			if p.Value != nil {
				text = mark(p) + fmt.Sprintf("%.*f", digits, *p.Value/scale)
			} else if p.Verdict != engine.PointIllegal {
				text = mark(p) + "none"
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	text := strings.Split(strings.TrimRight(aligned(rows), "\n"), "\n")
	for i, line := range text {
		if i > 0 && o.chart {
			line += "  " + o.spark(o.grid.Rows[i-1])
		}
		t.printf("%s\n", line)
	}
	if unit != "" {
		t.printf("  in %s\n", unit)
	}
}

// scale is in which unit the cells of a matrix are, what that divides by, and how
// many decimals it needs.
func (o *scanned) scale() (unit string, scale float64, digits int) {
	top := o.top()
	switch o.grid.Unit {
	case engine.UnitMemory:
		return "GiB", float64(units.GiB), 1
	case engine.UnitTraffic:
		return "GB", float64(units.GB), 1
	case engine.UnitShare:
		return "%", 0.01, 1
	case engine.UnitSeconds:
		if top < 1 {
			return "ms", 1e-3, 1
		}
		return "s", 1, 2
	default:
		switch {
		case top >= 1e9:
			return "10^9 " + string(o.grid.Unit), 1e9, 2
		case top >= 1e3:
			return string(o.grid.Unit), 1, 0
		}
		return string(o.grid.Unit), 1, 2
	}
}

// spark is a row drawn small: a step of height for each point, . for an illegal
// one and x for one that does not fit.
func (o *scanned) spark(row []engine.Point) string {
	steps := []rune("▁▂▃▄▅▆▇█")
	if full, _, _ := glyphs(); full == "#" {
		steps = []rune("12345678")
	}
	top := o.top()
	var text strings.Builder
	for i := range row {
		switch p := &row[i]; {
		case p.Value == nil:
			text.WriteByte('.')
		case p.Verdict == engine.PointNoFit:
			text.WriteByte('x')
		case top <= 0:
			text.WriteRune(steps[0])
		default:
			text.WriteRune(steps[min(max(int(*p.Value/top*float64(len(steps))), 0), len(steps)-1)])
		}
	}
	return text.String()
}

// legend says what the marks mean, where the memory ends, how far the figures
// can be trusted, and why points are illegal.
func (o *scanned) legend(t page) {
	current, noFit, illegal := false, false, false
	for p := range o.points {
		current = current || p.Current
		noFit = noFit || p.Verdict == engine.PointNoFit
		illegal = illegal || p.Verdict == engine.PointIllegal
	}
	var marks []string
	if current {
		marks = append(marks, markCurrent+" the setup that was asked about")
	}
	if noFit {
		marks = append(marks, fmt.Sprintf("%s does not fit into %.1f GiB", markNoFit, o.grid.Usable.GiB()))
	}
	if o.ofMemory() && !noFit {
		marks = append(marks, fmt.Sprintf("a GPU has %.1f GiB to use", o.grid.Usable.GiB()))
	}
	if illegal {
		marks = append(marks, markIllegal+" illegal")
	}
	if len(marks) > 0 {
		t.lines("  " + strings.Join(marks, ", "))
	}
	o.evidence(t)
	o.reasons(t)
}

// reason is why some points are illegal.
type reason struct {
	why         string
	contradicts bool // of any two values, of which why names the first
	at          []string
}

// reasons says why points are illegal, each reason once.
func (o *scanned) reasons(t page) {
	var all []reason
	for p := range o.points {
		if p.Verdict != engine.PointIllegal {
			continue
		}
		at := p.X
		if o.grid.By.ID != "" {
			at = p.By + `\` + p.X
		}
		i := slices.IndexFunc(all, func(r reason) bool { return r.why == p.Why || r.contradicts && p.Contradicts })
		if i < 0 {
			all, i = append(all, reason{why: p.Why, contradicts: p.Contradicts}), len(all)
		}
		all[i].at = append(all[i].at, at)
	}
	for _, r := range all[:min(len(all), maxReasons)] {
		points := strings.Join(r.at[:min(len(r.at), 4)], ", ")
		if more := len(r.at) - 4; more > 0 {
			points += fmt.Sprintf(" and %s more", commas(more))
		}
		why := r.why
		if r.contradicts && len(r.at) > 1 {
			why = fmt.Sprintf("%s and %s contradict each other; the first: %s", o.grid.X.ID, o.grid.By.ID, why)
		}
		t.lines("  " + points + ": " + why)
	}
	if more := len(all) - maxReasons; more > 0 {
		t.printf("  and %s more; --json says why each point is illegal\n", plural(more, "reason"))
	}
}

// evidence says how far a predicted time, throughput or peak can be trusted, by
// the runs that are like the setup that was asked about.
func (o *scanned) evidence(t page) {
	part, _, _ := strings.Cut(o.scan.Figure, ".")
	if part != "time" && part != "throughput" && part != "run" && o.scan.Figure != "memory.peak" {
		return
	}
	r := engine.Evaluate(o.scan.Setup)
	if !r.Legal {
		return
	}
	e := &r.Time.Evidence
	if part == "memory" {
		e = &r.Memory.Evidence
	}
	t.lines("  " + o.name + ": " + e.Words())
}
