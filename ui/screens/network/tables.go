package network

import (
	"math"

	"meshscope/engine"
	"meshscope/ui/export"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Tables are the traffic of each dimension, whether it can hide and what would make
// it, and the step at other bandwidths where the screen has worked them out.
func (v *View) Tables(in *screen.Context) []export.Table {
	if !known(in) {
		return nil
	}
	all := []export.Table{trafficTable(in), overlapTable(in)}
	if a := v.current(in); a != nil {
		all = append(all, v.bandwidthTable(in, a))
	}
	return all
}

func trafficTable(in *screen.Context) export.Table {
	t := export.Table{
		Title: "traffic per GPU and step",
		Head:  []string{"dimension", "pipeline rank", "GPUs of a group", "spans", "sent", "takes", "exposed", "of the step", "operation"},
	}
	for i := range in.Report.Communication {
		c := &in.Report.Communication[i]
		t.Rows = append(t.Rows, []export.Cell{
			export.Word(c.Dimension), export.Figure(engine.UnitCount, float64(c.Rank)), export.Figure(engine.UnitCount, float64(c.GroupSize)),
			export.Word(c.Spans), export.Figure(engine.UnitTraffic, float64(c.Bytes)),
			export.Figure(engine.UnitSeconds, float64(c.Seconds)), export.Figure(engine.UnitSeconds, float64(c.Exposed)),
			export.Figure(engine.UnitShare, float64(c.Exposed/in.Report.Time.Step)), export.Word(c.Operation),
		})
	}
	return t
}

// overlapTable has a line for each ratio and quantity that would bring it to 1.
func overlapTable(in *screen.Context) export.Table {
	t := export.Table{
		Title: "can it hide: traffic over the work beside it, at peak rates",
		Head:  []string{"ratio", "moves", "under", "traffic over work", "exposed", "hides at", "now", "needed", "unit"},
	}
	list := engine.Overlaps(in.Setup, in.Report)
	for i := range list {
		o := &list[i]
		first := []export.Cell{
			export.Word(o.ID + " " + o.Dimension), export.Word(o.Moves), export.Word(o.Under),
			export.Ratio(o.Ratio), export.Maybe(engine.UnitShare, o.Exposed),
		}
		if len(o.Needs) == 0 {
			t.Rows = append(t.Rows, append(first, export.Word(""), export.Word(""), export.Word(""), export.Word("")))
		}
		for _, need := range o.Needs {
			row := append([]export.Cell{}, first...)
			t.Rows = append(t.Rows, append(row, export.Word(need.Quantity), plainFigure(need.Now), plainFigure(need.Needed), export.Word(need.Unit)))
		}
	}
	return t
}

// plainFigure is a number whose unit stands beside it; empty where there is none.
func plainFigure(v float64) export.Cell {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return export.Word("")
	}
	return export.Cell{Text: export.Digits(v), Value: v, Unit: engine.UnitCount, Number: true}
}

func (v *View) bandwidthTable(in *screen.Context, a *whatIf) export.Table {
	link, name := v.link(in)
	t := export.Table{
		Title: "step at other bandwidths " + name,
		Head:  []string{"bandwidth", "per GPU and direction", "step", "MFU"},
	}
	plain := widget.NewGlyphs(false)
	for i := range steps {
		if math.IsNaN(a.step[i]) {
			continue
		}
		t.Rows = append(t.Rows, []export.Cell{
			export.Word(factorText(i, plain)), plainFigure(float64(link.Bandwidth) * factorOf(i)),
			export.Figure(engine.UnitSeconds, a.step[i]), export.Figure(engine.UnitShare, a.mfu[i]),
		})
	}
	return t
}
