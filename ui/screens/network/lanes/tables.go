package lanes

import (
	lane "meshscope/engine/lanes"
	"meshscope/engine/record"
	"meshscope/report"
	"meshscope/ui/screen"
)

// Tables returns the segments of the step, and what each choice leaves exposed: worked out here
// where the pane has not been opened, but of a setup that takes long nothing then.
func (v *View) Tables(in *screen.Context) []report.Table {
	if !known(in) {
		return nil
	}
	never := func() bool { return false }
	d, c := v.drawn, v.costs
	fresh, priced := d.step != nil && d.query == v.query(in), c.known && c.setup == *in.Setup
	if in.Setup.Slow() && (!fresh || !priced) {
		return nil
	}
	shown := *v
	if !fresh {
		shown.list = none
		var ok bool
		if d, ok = draw(query{setup: *in.Setup, list: none, plot: plotWidth(80)}, never); !ok {
			return nil
		}
	}
	if !priced {
		c, _ = costsOf(in.Setup, &d.choices, never)
	}
	shown.drawn = d
	return []report.Table{shown.segmentTable(), shown.choiceTable(&c)}
}

// segmentTable lists every lane, in the order of time.
func (v *View) segmentTable() report.Table {
	t := report.Table{
		Title: "lanes of a step of one GPU",
		Head:  []string{"lane", "segment", "state", "start", "length", "exposed", "sent"},
	}
	if c := v.choice(); c != nil {
		t.Title += ", with " + listName(v.list) + " " + v.choiceName(v.list, c)
	}
	for i := range v.drawn.step.Lanes {
		l := &v.drawn.step.Lanes[i]
		for j := range l.Segments {
			g := &l.Segments[j]
			name, what, state := "compute", v.computeName(g), "computing"
			if l.Dimension != "" {
				name, what, state = l.Dimension, v.moves(l.Dimension, g), "hidden"
			}
			switch g.Kind {
			case lane.Exposed:
				state = "exposed"
			case lane.Folded:
				what, state = v.computeName(g), "folded"
			case lane.Bubble:
				state = "idle"
			default:
			}
			t.Rows = append(t.Rows, []report.Cell{
				report.Word(name), report.Word(what), report.Word(state),
				report.Figure(record.Seconds, float64(g.Start)),
				report.Figure(record.Seconds, float64(g.Length)),
				report.Figure(record.Seconds, float64(g.Exposed)),
				report.Figure(record.Traffic, float64(g.Bytes)),
			})
		}
	}
	return t
}

// choiceTable lists what each choice makes of the step.
func (v *View) choiceTable(c *costing) report.Table {
	t := report.Table{
		Title: "the same step otherwise",
		Head:  []string{"differs in", "to", "current", "step", "exposed", "of the step"},
	}
	for i, list := range v.drawn.choices.Lists() {
		for j := range list {
			if j >= len(c.of[i]) || !c.of[i][j].Known {
				continue
			}
			cost, current := c.of[i][j], ""
			if list[j].Current {
				current = "yes"
			}
			t.Rows = append(t.Rows, []report.Cell{
				report.Word(listName(i)), report.Word(v.choiceName(i, &list[j])), report.Word(current),
				report.Figure(record.Seconds, float64(cost.Step)),
				report.Figure(record.Seconds, float64(cost.Exposed)),
				report.Figure(record.Share, float64(cost.Exposed/cost.Step)),
			})
		}
	}
	return t
}
