package pipeline

import (
	"context"

	"meshscope/engine"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/timeline"
	"meshscope/ui/widget"
)

// pictures is what the small pictures of all schedules share.
type pictures struct {
	asked int // the width that they are drawn for, or being drawn; 0: none
}

// Sizes of the table with pictures.
const (
	multiplesWidth  = 110 // of the screen, from which there are pictures
	multiplesFigure = 60  // columns of figures left of them
	multiplesWide   = 118 // of a screen with one more: a terminal of 120 columns
	multiplesMore   = 70  // columns of figures there: the exposed communication too
	multiplesFoot   = 4   // lines of words below
	pictureOps      = 1 << 19
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

// draw makes the pictures of all legal schedules at a width, in the background.
func (v *View) draw(s engine.Setup, w int) screen.Request {
	t := &v.table
	t.drawn.asked = w
	rows := make([]row, len(t.rows))
	copy(rows, t.rows)
	return screen.Request{Work: func(ctx context.Context) func() {
		stop := func() bool { return ctx.Err() != nil }
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
				r.picture = timeline.NewMultiple(line.OpTimes(), w)
			}
		}
		stopped := stop()
		return func() {
			if !t.current(&s) || len(rows) != len(t.rows) || t.drawn.asked != w {
				return
			}
			if stopped {
				t.drawn.asked = 0 // it is asked for again
			}
			for i := range rows {
				t.rows[i].picture = rows[i].picture
			}
		}
	}}
}

// height returns how many lines a schedule has: a line for each rank of its picture and one
// between it and the next.
func (r *row) height() int {
	if r.picture == nil {
		return 1
	}
	return 1 + len(r.picture.Ranks())
}

// multipleLines returns which row stands on each line of the list, with what stands before it whole.
func (t *table) multipleLines(h int) []int {
	from, used := t.row, 0
	for i := t.row; i >= 0; i-- {
		if used += t.rows[i].height(); used > h && i < t.row {
			break
		}
		from = i
	}
	var lines []int
	for i := from; i < len(t.rows) && len(lines) < h; i++ {
		n := t.rows[i].height()
		if len(lines)+n > h+1 && i > t.row {
			break
		}
		for range n {
			lines = append(lines, i)
		}
	}
	return lines[:min(len(lines), h)]
}

// multipleAt returns the row at a line of the screen.
func (t *table) multipleAt(h, y int) (int, bool) {
	lines := t.multipleLines(h - 3 - multiplesFoot)
	if y < 2 || y-2 >= len(lines) {
		return 0, false
	}
	return lines[y-2], true
}

// renderMultiples draws figures and a picture of each schedule, with a line between two of them,
// below the heading of the table.
func (v *View) renderMultiples(in *screen.Context, left, w, h int) []string {
	t := &v.table
	list := h - 2 - multiplesFoot
	head := tableHead(in, left)
	lines := []string{head + widget.NewLine(w-left).Put(in.Paint(themes.Muted), t.words(in, w-left)).String()}
	last, part := -1, 0
	var picture []string
	for _, i := range t.multipleLines(list) {
		r := &t.rows[i]
		if i != last {
			last, part, picture = i, 0, nil
			if r.picture != nil && r.picture.Wide() == w-left {
				picture = r.picture.Render(in.Theme, in.Glyphs)
			}
		}
		switch {
		case !ran(&r.ScheduleRow):
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
	lines = append(lines, t.ranksShown(in, multipleLegend(in, widget.NewLine(w))).String())
	return widget.Height(append(lines, v.tableFoot(in, w, multiplesFoot)...), w, h)
}

// multipleLegend names the colours of the pictures.
func multipleLegend(in *screen.Context, l *widget.Line) *widget.Line {
	for _, kind := range []struct {
		letter, name string
		fill         themes.Fill
	}{
		{"F", "forward", themes.Forward},
		{"B", "backward", themes.Backward},
		{"I", "input gradient", themes.InputGrad},
		{"W", "weight gradient", themes.WeightGrad},
		{"f", "odd chunk", themes.ForwardAlt},
	} {
		l.Gap(2).Put(in.Theme.Area(kind.fill), kind.letter).Put(in.Paint(themes.Muted), " "+kind.name)
	}
	return l
}

// ranksShown says how many ranks the pictures show, if fewer than all.
func (t *table) ranksShown(in *screen.Context, l *widget.Line) *widget.Line {
	for i := range t.rows {
		if m := t.rows[i].picture; m != nil {
			if ranks := m.Ranks(); len(ranks) < t.rows[i].Setup.PP {
				l.Gap(2).Put(in.Paint(themes.Muted), "ranks "+figure.Ranges(ranks))
			}
			break
		}
	}
	return l
}

// words says what the pictures show.
func (t *table) words(in *screen.Context, w int) string {
	for i := range t.rows {
		if m := t.rows[i].picture; m != nil && m.Wide() == w {
			return "start and end of the step, each to its own scale"
		}
	}
	return "drawing" + in.Glyphs.Ellipsis
}

// further writes the further figures of a schedule below its first ones.
func (t *table) further(in *screen.Context, r *row, part, w int) string {
	line := widget.NewLine(w).Gap(4)
	switch part {
	case 1:
		line.Put(in.Paint(themes.Muted), figure.Comma(r.Messages)+" messages")
		if w < multiplesMore { // otherwise a column
			line.Put(in.Paint(themes.Muted), ", exposed "+figure.Seconds(r.Report.Time.Exposed))
		}
	case 2:
		line.Put(in.Paint(themes.Muted), "memory "+r.Info.Memory)
	}
	return line.String()
}
