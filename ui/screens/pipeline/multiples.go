package pipeline

import (
	"context"
	"fmt"

	"meshscope/engine"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/timeline"
	"meshscope/ui/widget"
)

// pictures is what the small pictures of all schedules share.
type pictures struct {
	axis  timeline.Axis
	asked bool // they are drawn, or being drawn
}

// Sizes of the table with pictures.
const (
	multiplesWidth  = 110 // of the screen, from which there are pictures
	multiplesFigure = 60  // columns of figures left of them
	multiplesWide   = 118 // of a screen with one more: a terminal of 120 columns
	multiplesMore   = 70  // columns of figures there: the exposed communication too
	multiplesFoot   = 4   // lines of words below
	pictureOps      = 1 << 19
	// outlier is how much longer than the fastest schedule one is whose end is not drawn: it
	// would make all others narrow.
	outlier = 1.2
)

// pictured returns the column at which pictures begin; 0: there are none.
func (t *table) pictured(w, h int) int {
	if t.plain || w < multiplesWidth || h < 16 || len(t.rows) == 0 || !t.rows[0].Report.Legal {
		return 0
	}
	if w >= multiplesWide {
		return multiplesMore
	}
	return multiplesFigure
}

// draw makes the pictures of all legal schedules, in the background.
func (v *View) draw(s engine.Setup) screen.Request {
	t := &v.table
	t.drawn.asked = true
	rows := make([]row, len(t.rows))
	copy(rows, t.rows)
	return screen.Request{Work: func(ctx context.Context) func() {
		stop := func() bool { return ctx.Err() != nil }
		axis := endsOf(rows)
		var e engine.Evaluator
		for i := range rows {
			r := &rows[i]
			if !r.Report.Legal || r.Setup.Spec().Work() > pictureOps || stop() {
				continue
			}
			line := r.Report.Timeline
			if line == nil {
				if report, done := e.EvaluateUntil(r.Setup, stop); done {
					line = report.Timeline
				}
			}
			if line != nil {
				r.picture = timeline.NewMultiple(line.OpTimes(), &axis)
			}
		}
		stopped := stop()
		return func() {
			if !t.current(&s) || len(rows) != len(t.rows) {
				return
			}
			t.drawn.asked = !stopped // else it is asked for again
			t.drawn.axis = axis
			for i := range rows {
				t.rows[i].picture = rows[i].picture
			}
		}
	}}
}

// endsOf returns the axis of all legal rows. A pipeline fills in about the time in which a rank
// works on as many micro-batches as there are ranks.
func endsOf(rows []row) timeline.Axis {
	shortest, longest, op := 0.0, 0.0, 0.0
	for pass := range 2 {
		for i := range rows {
			r := &rows[i]
			if !r.Report.Legal || r.Report.Pipeline == nil {
				continue
			}
			span := float64(r.Report.Pipeline.Makespan)
			if pass == 0 {
				if shortest == 0 || span < shortest {
					shortest = span
				}
			} else if span <= outlier*shortest {
				longest = max(longest, span)
				chunks := float64(r.Setup.MicroBatches * max(1, r.Setup.VPP))
				if one := span / chunks / 3; op == 0 || one < op { // forward and two thirds of backward
					op = one
				}
			}
		}
	}
	s := &rows[0].Setup
	return timeline.Ends(shortest, longest, shortest*float64(s.PP)/float64(max(s.MicroBatches, 1)), op, multipleCols)
}

// multipleCols is the width for which the axis is made; others stretch it.
const multipleCols = 100

// tall returns how many lines each legal schedule has, at a height of the list.
func (t *table) tall(h int) int {
	legal, lines := 0, 1
	for i := range t.rows {
		if t.rows[i].Report.Legal {
			legal++
			if m := t.rows[i].picture; m != nil {
				lines = max(lines, m.Lines())
			}
		}
	}
	room := h - (len(t.rows) - legal)
	return min(max(room/max(legal, 1), 1), lines)
}

// multipleLines returns which row stands on each line of the list.
func (t *table) multipleLines(h int) []int {
	tall, cursor := t.tall(h), 0
	var lines []int
	for i := range t.rows {
		n := 1
		if t.rows[i].Report.Legal {
			n = tall
		}
		if i == t.row {
			cursor = len(lines) + n
		}
		for range n {
			lines = append(lines, i)
		}
	}
	from := max(0, min(cursor-h, len(lines)-h))
	return lines[from:min(len(lines), from+h)]
}

// multipleAt returns the row at a line of the screen.
func (t *table) multipleAt(h, y int) (int, bool) {
	lines := t.multipleLines(h - 3 - multiplesFoot)
	if y < 2 || y-2 >= len(lines) {
		return 0, false
	}
	return lines[y-2], true
}

// renderMultiples draws figures and a picture of each schedule, all on one time axis, below the
// heading of the table.
func (v *View) renderMultiples(in *screen.Context, left, w, h int) []string {
	t := &v.table
	list := h - 2 - multiplesFoot
	frame := t.drawn.axis.Frame(0, 1, w-left)
	head := tableHead(in, left)
	lines := []string{head + widget.NewLine(w-left).Put(in.Paint(themes.Muted), t.words(in)).String()}
	tall, last, part := t.tall(list), -1, 0
	var picture []string
	for _, i := range t.multipleLines(list) {
		r := &t.rows[i]
		if i != last {
			last, part, picture = i, 0, nil
			if r.picture != nil {
				picture = r.picture.Render(&frame, in.Theme, in.Glyphs, min(tall, r.picture.Lines()))
			}
		}
		switch {
		case !r.Report.Legal:
			lines = append(lines, v.tableRow(in, i, w))
			continue
		case part == 0:
			lines = append(lines, v.tableRow(in, i, left-2)+widget.Blank(2))
		default:
			lines = append(lines, t.further(in, r, part, left))
		}
		if part < len(picture) {
			lines[len(lines)-1] += picture[part]
		} else {
			lines[len(lines)-1] += widget.Blank(w - left)
		}
		part++
	}
	lines = widget.Height(lines, w, 1+list)
	ticks := ""
	if frame.Cols > 0 && t.drawn.axis.Whole > 0 {
		ticks = frame.Text(frame.Ticks(timeText), in.Glyphs)
	}
	lines = append(lines, t.ranksShown(in, multipleLegend(in, widget.NewLine(w)), tall).To(left).Put(in.Paint(themes.Muted), ticks).String())
	return widget.Height(append(lines, v.tableFoot(in, w, multiplesFoot)...), w, h)
}

// multipleLegend names the colours of the pictures.
func multipleLegend(in *screen.Context, l *widget.Line) *widget.Line {
	for _, kind := range []struct {
		name string
		fill themes.Fill
	}{{"F forward", themes.Forward}, {"B backward", themes.Backward}, {"I input", themes.InputGrad}, {"W weights", themes.WeightGrad}} {
		l.Gap(2).Put(in.Theme.Area(kind.fill), kind.name[:1]).Put(in.Paint(themes.Muted), kind.name[1:])
	}
	return l
}

// ranksShown says how many ranks the pictures show where that is not all of them.
func (t *table) ranksShown(in *screen.Context, l *widget.Line, tall int) *widget.Line {
	for i := range t.rows {
		if m := t.rows[i].picture; m != nil && m.Lines() > 0 {
			if all, n := t.rows[i].Setup.PP, m.Shown(in.Theme, min(tall, m.Lines())); n < all {
				l.Gap(2).Put(in.Paint(themes.Muted), fmt.Sprintf("%d of %d ranks", n, all))
			}
			break
		}
	}
	return l
}

// words says what the pictures show.
func (t *table) words(in *screen.Context) string {
	switch {
	case t.drawn.axis.Whole == 0:
		return "drawing" + in.Glyphs.Ellipsis
	case t.drawn.axis.Cut:
		return "starts and ends; " + seconds(t.drawn.axis.Whole-t.drawn.axis.Length) + " between left out"
	}
	return "the step"
}

// further writes the further figures of a schedule below its first ones.
func (t *table) further(in *screen.Context, r *row, part, w int) string {
	line := widget.NewLine(w).Gap(4)
	f := &r.figures
	switch part {
	case 1:
		line.Put(in.Paint(themes.Muted), figure.Comma(r.Messages)+" messages")
		if w < multiplesMore { // otherwise a column
			line.Put(in.Paint(themes.Muted), ", exposed "+f.exposed)
		}
	case 2:
		line.Put(in.Paint(themes.Muted), "memory "+r.Info.Memory)
	}
	return line.String()
}
