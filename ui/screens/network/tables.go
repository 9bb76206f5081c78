package network

import (
	"math"

	"meshscope/engine/overlap"
	"meshscope/engine/record"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Tables returns the traffic of each dimension, whether it can hide and what would make
// it, and the step at other bandwidths where the screen has worked them out.
func (v *overview) Tables(in *screen.Context) []report.Table {
	if !known(in) {
		return nil
	}
	all := []report.Table{
		report.List("traffic per GPU and step", v.trafficTable(in).All, in.Report.Communication),
		overlapTable(in),
	}
	if a := v.current(in); a != nil {
		all = append(all, v.bandwidthTable(in, a))
	}
	return all
}

// overlapTable has a line for each ratio and quantity that would bring it to 1.
func overlapTable(in *screen.Context) report.Table {
	t := report.Table{
		Title: "overlap: traffic time over compute time, at the rates that large products and messages reach",
		Head: []string{
			"ratio", "data", "overlapped with", "traffic over compute", "exposed",
			"overlapped at", "now", "needed", "unit",
		},
	}
	list := overlap.Ratios(in.Setup, in.Report)
	for i := range list {
		o := &list[i]
		first := []report.Cell{
			report.Word(o.ID + " " + o.Dimension), report.Word(o.Moves), report.Word(o.Under),
			report.Ratio(o.Ratio), report.Maybe(record.Share, o.Exposed),
		}
		if len(o.Needs) == 0 {
			t.Rows = append(t.Rows, append(first, report.Word(""), report.Word(""), report.Word(""),
				report.Word("")))
		}
		for _, need := range o.Needs {
			row := append([]report.Cell{}, first...)
			t.Rows = append(t.Rows, append(row, report.Word(need.Quantity), plainFigure(need.Now),
				plainFigure(need.Needed), report.Word(need.Unit)))
		}
	}
	return t
}

// plainFigure returns a number whose unit stands next to it; empty where there is none.
func plainFigure(v float64) report.Cell {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return report.Word("")
	}
	return report.Cell{Text: figure.Digits(v), Value: v, Unit: record.Count, Number: true}
}

func (v *overview) bandwidthTable(in *screen.Context, a *whatIf) report.Table {
	link, name := v.link(in)
	t := report.Table{
		Title: "step at other bandwidths " + name,
		Head:  []string{"bandwidth", "per GPU and direction", "step", "MFU"},
	}
	plain := widget.NewGlyphs(false)
	for i := range steps {
		if math.IsNaN(a.step[i]) {
			continue
		}
		t.Rows = append(t.Rows, []report.Cell{
			report.Word(factorText(i, plain)), plainFigure(float64(link.Bandwidth) * factorOf(i)),
			report.Figure(record.Seconds, a.step[i]), report.Figure(record.Share, a.mfu[i]),
		})
	}
	return t
}
