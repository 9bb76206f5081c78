package pipeline

import (
	"fmt"

	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Status returns one line about the item under the cursor: for an operation what it
// is and what it waited for, for idle time why it is there.
func (v *View) Status(in *screen.Context) string {
	w := in.W
	line := widget.NewLine(w)
	if in.Theme == nil {
		return line.String()
	}
	if v.table.open {
		return line.Put(in.Paint(themes.Muted), v.table.status(in)).String()
	}
	l := v.drawn
	if l == nil || lineOf(in) == nil || l.key.first != lineOf(in) {
		if l = v.layout(in, max(w, 40), 8); l == nil {
			return line.String()
		}
	}
	if l.details >= 0 {
		return line.String() // the same in full stands under the picture
	}
	s := v.spot(l)
	name, text := v.explain(&s, w < 120)
	if widget.Width(name)+2+widget.Width(text) > w {
		const more = "  enter: all"
		text = in.Cut(text, w-widget.Width(name)-2-len(more)) + more
	}
	return line.Put(in.Paint(themes.Strong), name).Gap(2).Put(in.Paint(themes.Text), text).String()
}

// explain returns the item under the cursor and everything about it.
// The brief form leaves out what the name says too.
func (v *View) explain(s *spot, brief bool) (name, text string) {
	name = fmt.Sprintf("rank %d", s.rank)
	if s.idle {
		return name + " idle " + seconds(s.to-s.from), v.why(s)
	}
	o := s.line.Order
	op := o.Ops[s.op]
	name += "  " + opName(op)
	first, last := o.Box(s.place())
	if last > first {
		name = fmt.Sprintf("rank %d  %s & %s", s.rank, opName(o.Ops[first]), opName(o.Ops[last]))
	}
	text = fmt.Sprintf("stage %d", o.Stage(s.rank, op))
	if !brief {
		text = fmt.Sprintf("micro-batch %d, ", op.MicroBatch()) + text
	}
	switch {
	case last > first:
		text = fmt.Sprintf("stages %d and %d, overlapped", o.Stage(s.rank, o.Ops[first]),
			o.Stage(s.rank, o.Ops[last]))
	case o.Chunks() > 1:
		text += fmt.Sprintf(" (chunk %d)", op.Chunk())
	}
	text += "  " + span(s.from, s.to) + "  " + waited(s)
	live := s.line.InFlight(s.rank, (s.from+s.to)/2)
	text += "  in flight " + microBatches(live, s.line.Order.Spec.VirtualStages)
	if v := s.line.Order.Spec.VirtualStages; v > 1 {
		text += fmt.Sprintf(" (%s, %d to a rank)", figure.Plural(live, "chunk"), v)
	}
	return name, text
}

// opName returns kind and micro-batch, and the chunk where it is not the first: F3.1.
func opName(op schedule.Op) string { return op.String() }

// longName names an operation on another rank.
func longName(o *schedule.Order, p schedule.Place) string {
	op := o.Ops[p.Op]
	return fmt.Sprintf("%s of stage %d on rank %d", opName(op), o.Stage(p.Rank, op), p.Rank)
}

func seconds(d float64) string { return figure.Seconds(units.Seconds(d)) }

// span returns from when to when, in one unit and to a hundredth of the length.
func span(from, to float64) string {
	scale, unit := 1.0, "s"
	switch {
	case to < 1e-3:
		scale, unit = 1e6, "us"
	case to < 10:
		scale, unit = 1e3, "ms"
	}
	digits := 0
	for d := (to - from) * scale; d < 100 && digits < 3; d *= 10 {
		digits++
	}
	return fmt.Sprintf("%.*f-%.*f %s", digits, from*scale, digits, to*scale, unit)
}

// waited says what an operation's start waited for.
func waited(s *spot) string {
	o := s.line.Order
	b, ok := s.line.Binding(s.place())
	if !ok {
		return "starts the step"
	}
	if b.Rank == s.rank && b.Op < s.op {
		first, _ := o.Box(s.place())
		if b.Op == first-1 {
			text := "follows " + opName(o.Ops[b.Op])
			if p, ok := o.Producer(s.place()); ok && s.line.End[p.Op] < s.from {
				text += fmt.Sprintf("; its input, %s, was ready %s earlier", longName(o, p),
					seconds(s.from-s.line.End[p.Op]))
			}
			return text
		}
	}
	first, _ := o.Box(s.place())
	gap := s.from
	if first > o.Start[s.rank] {
		gap -= s.line.End[first-1]
	}
	text := fmt.Sprintf("waited %s for %s", seconds(gap), longName(o, b))
	if way := s.from - s.line.End[b.Op]; way > 0 {
		text += ", " + seconds(way) + " in transit"
	}
	return text
}
