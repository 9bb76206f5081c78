package evidence

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// bands says how far today's prediction can be trusted, and by which runs.
func (v *View) bands(in *screen.Context, w int) []string {
	runs := ""
	if v.data != nil {
		runs = fmt.Sprintf("%s figures of %s, %s shown", figure.Comma(len(v.data.rows)),
			figure.Plural(v.data.compared(), "group"), v.filter)
	}
	lines := []string{in.Heading(w, "EVIDENCE", "predicted and measured", runs)}
	return append(lines, bandLine(in, "this setup step   ", stepEvidence(in.Report), w),
		bandLine(in, "           memory ", memoryEvidence(in.Report), w), v.nearestLine(in, w))
}

// compared returns the number of groups with a figure; of others every run is left out.
func (d *data) compared() int {
	seen := map[int]bool{}
	for i := range d.rows {
		seen[d.rows[i].group] = true
	}
	return len(seen)
}

func stepEvidence(r *engine.Report) engine.Evidence {
	if r == nil || r.Time == nil {
		return engine.Evidence{}
	}
	return r.Time.Evidence
}

func memoryEvidence(r *engine.Report) engine.Evidence {
	if r == nil || r.Memory == nil {
		return engine.Evidence{}
	}
	return r.Memory.Evidence
}

// bandLine says how exact a prediction of this setup is, and by whose measurements.
func bandLine(in *screen.Context, what string, e engine.Evidence, w int) string {
	l := widget.NewLine(w).Gap(2)
	l.Put(in.Paint(themes.Muted), what)
	l.Put(in.Paint(themes.Strong), e.Band(in.Glyphs.PlusMinus)).Gap(2)
	text := in.Longest(l.Left(), e.Words(), e.Note(), e.Count()) // which are nearest stands below
	return l.Put(in.Paint(themes.Muted), text).String()
}

// nearestLine says which published runs are most like the setup.
func (v *View) nearestLine(in *screen.Context, w int) string {
	l := widget.NewLine(w).Gap(2)
	if v.data == nil {
		return l.String()
	}
	near := v.nearest(in)
	if len(near) == 0 {
		return l.Put(in.Paint(themes.Muted), in.Cut("no published run like this", w-2)).String()
	}
	first := v.data.setup(&v.data.rows[near[0]])
	low, high := math.Inf(1), math.Inf(-1)
	for _, i := range near {
		low, high = min(low, v.data.rows[i].Error), max(high, v.data.rows[i].Error)
	}
	span := figure.Signed(100*low, 1) + " %"
	if len(near) > 1 {
		span = figure.Signed(100*low, 1) + " to " + figure.Signed(100*high, 1) + " %"
	}
	e := stepEvidence(in.Report)
	if v.memory {
		e = memoryEvidence(in.Report)
	}
	l.Put(in.Paint(themes.Current), in.Glyphs.Here+" ")
	runs := "nearest: " + figure.Plural(len(near), "run")
	text := fmt.Sprintf("%s of %s, such as %s, off by %s%s", runs, e.Nearest.Title, e.Nearest.Example, span,
		other(in.Setup, first, false))
	if widget.Width(text) > l.Left() { // what is not like the setup matters more than the example
		text = fmt.Sprintf("%s of %s, off by %s%s", runs, e.Nearest.Title, span, other(in.Setup, first, true))
	}
	return l.Put(in.Paint(themes.Text), in.Cut(text, l.Left())).String()
}

// other names what a run has of another kind, in brief only that it has.
func other(s, run *engine.Setup, brief bool) string {
	var words []string
	named := func(what, name string) {
		if brief {
			name = ""
		} else {
			name = " (" + name + ")"
		}
		words = append(words, "another "+what+name)
	}
	if s.Cluster.GPU.ID != run.Cluster.GPU.ID {
		chip, _, _ := strings.Cut(run.Cluster.GPU.Name, " (") // without whose it was
		named("GPU", chip)
	}
	if s.Stack.Resolve() != run.Stack.Resolve() {
		named("stack", string(run.Stack.Resolve()))
	}
	if len(words) == 0 {
		return ""
	}
	return "; " + strings.Join(words, ", ")
}

// groupColumns are right ends of the columns of the group table; 0: left out.
type groupColumns struct{ name, rows, mean, median, most, constant, peer int }

func columnsOfGroups(w int) groupColumns {
	if w < peersFrom {
		return groupColumns{name: 20, rows: 24, mean: 31, median: 38, most: 46}
	}
	more := min(max(w-78, 0), 6) // the longest name has room from 84 on
	return groupColumns{
		name: 20 + more, rows: 25 + more, mean: 32 + more, median: 39 + more, most: 46 + more,
		constant: 55 + more, peer: 57 + more,
	}
}

// groupTable lists the groups with their errors, next to them what one constant
// and the best other tool reach.
func (v *View) groupTable(in *screen.Context, w, h int) []string {
	if h <= 0 {
		return nil
	}
	c := columnsOfGroups(w)
	muted := in.Paint(themes.Muted)
	list := v.listed()
	at := v.chosen(list)
	from := widget.Page(at, h-1, len(list))
	head := widget.NewLine(w)
	head.Put(in.Paint(themes.Heading), "GROUPS")
	if text := window(from, h-1, len(list)); len("GROUPS ")+len(text)+len(" rows") <= c.rows {
		head.Gap(1).Put(muted, text)
	}
	head.RightAligned(muted, "rows", c.rows)
	head.RightAligned(muted, "mean %", c.mean).RightAligned(muted, "median", c.median).RightAligned(muted,
		"max", c.most)
	if c.constant > 0 {
		head.RightAligned(muted, "constant", c.constant).To(c.peer)
		head.Put(muted, in.Cut("best peer", head.Left()))
	}
	lines := []string{head.String()}
	for i := from; i < min(from+h-1, len(list)); i++ {
		lines = append(lines, v.groupLine(in, &list[i], i == at, w, &c))
	}
	return widget.Height(lines, w, h)
}

func (v *View) groupLine(in *screen.Context, r *result, here bool, w int, c *groupColumns) string {
	l := widget.NewLine(w)
	name, text := themes.Text, in.Paint(themes.Text)
	if here {
		name = themes.Accent
		if !v.inRows {
			l.Put(in.Paint(themes.Accent), in.Glyphs.Pointer)
		}
	}
	mark := " "
	if r.group >= 0 && r.Fitted {
		mark = "f"
	}
	l.To(1).Put(in.Paint(themes.Muted), mark).Gap(1).Put(in.Paint(name), in.Cut(r.Name, c.name-3))
	l.RightAligned(text, figure.Comma(r.Rows), c.rows)
	if r.Rows == 0 {
		return l.String()
	}
	l.RightAligned(in.Paint(themes.Strong), figure.PercentValue(r.Mean), c.mean)
	l.RightAligned(text, figure.PercentValue(r.Median), c.median).RightAligned(text,
		figure.PercentValue(r.Max), c.most)
	if c.constant > 0 {
		constant, peer := in.Glyphs.None, in.Glyphs.None
		if r.Constant > 0 {
			constant = figure.PercentValue(r.Constant)
		}
		if r.Peer != "" {
			peer = figure.PercentValue(r.PeerMean)
			if r.PeerMean >= 0.9995 {
				peer = figure.Three(100 * r.PeerMean)
			}
			peer += " " + r.Peer
		}
		l.RightAligned(in.Paint(themes.Muted), constant, c.constant)
		l.To(c.peer).Put(in.Paint(themes.Muted), in.Cut(peer, l.Left()))
	}
	return l.String()
}

// rowTable lists the runs of the chosen group.
func (v *View) rowTable(in *screen.Context, near []int, w, h int) []string {
	if h <= 0 {
		return nil
	}
	rows := v.shown()
	at := v.cursor(rows)
	from := widget.Page(at, h-1, len(rows))
	first, _, _ := strings.Cut(v.order.String(), " to yours")
	details := []string{v.order.String(), first, ""}
	head := widget.NewLine(w)
	muted := in.Paint(themes.Muted)
	head.Put(in.Paint(themes.Heading), "RUNS")
	for _, detail := range details {
		text := strings.TrimSpace(window(from, h-1, len(rows)) + " " + detail)
		if text != "" && head.Used()+len(text)+2 <= w-19-len("measured") {
			head.Gap(1).Put(muted, text)
			break
		}
	}
	head.RightAligned(muted, "measured", w-19).RightAligned(muted, "predicted", w-9).RightAligned(muted,
		"error %", w-1)
	lines := []string{head.String()}
	page := rows[min(from, len(rows)):min(from+h-1, len(rows))]
	wide := 0 // an identifier: the model and its GPUs have room behind it
	if w >= 76 {
		for _, i := range page {
			wide = min(max(wide, len(v.data.rows[i].ID)), w-59)
		}
	}
	for i, run := range page {
		lines = append(lines,
			v.rowLine(in, run, v.inRows && from+i == at, slices.Contains(near, run), w, wide))
	}
	return widget.Height(lines, w, h)
}

func (v *View) rowLine(in *screen.Context, i int, here, near bool, w, wide int) string {
	r := &v.data.rows[i]
	l, role := in.Pointed(w, here)
	l.To(1)
	if near {
		l.Put(in.Paint(themes.Current), in.Glyphs.Here)
	}
	s, measured := v.data.setup(r), v.value(r.Measured)
	name, number := s.Model.Name, strings.TrimPrefix(strings.TrimPrefix(r.ID, r.Group), "-")
	gpus := name + ", " + figure.Plural(s.GPUs, "GPU")
	names := []string{number + " " + gpus, number + " " + name, name}
	if wide > 0 {
		names = []string{fmt.Sprintf("%-*s  %s", wide, in.Cut(r.ID, wide), gpus)}
	}
	l.To(3).Put(in.Paint(role), in.Longest(w-20-widget.Width(measured)-l.Used(), names...))
	l.RightAligned(in.Paint(themes.Text), measured, w-19)
	l.RightAligned(in.Paint(themes.Text), v.value(r.Predicted), w-9)
	l.RightAligned(in.Paint(screen.ErrorRole(r.Error)), figure.Signed(100*r.Error, 1), w-1)
	return l.String()
}

// value writes a figure of the metric with its unit.
func (v *View) value(x float64) string {
	if v.memory {
		return figure.Three(x) + " GiB"
	}
	return figure.Seconds(units.Seconds(x))
}
