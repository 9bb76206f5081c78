package scan

import (
	"cmp"
	"slices"

	"meshscope/engine/record"
	enginescan "meshscope/engine/scan"
	"meshscope/report"
	"meshscope/ui/screen"
)

type point = enginescan.Point

// columns returns those of the list of points and of its file.
func (v *View) columns() []report.Column[point] {
	value := func(figure string, unit record.Unit, of func(p *point) *float64) report.Column[point] {
		return report.Column[point]{
			ID: words(figure), Head: cmp.Or(short(figure), words(figure)),
			Units: func(*point) record.Unit { return unit },
			Value: func(p *point) float64 { return report.ValueOf(of(p)) },
		}
	}
	g := v.grid
	knobs := string(g.X.ID)
	if g.By.ID != "" {
		knobs += ", " + string(g.By.ID)
	}
	all := []report.Column[point]{
		{ID: knobs, Text: func(p *point) string {
			if g.By.ID != "" {
				return p.X + ", " + p.By
			}
			return p.X
		}},
		value(v.drawn.figure, g.Unit, func(p *point) *float64 { return p.Value }),
		{ID: "verdict", Aside: true, Text: func(p *point) string { return string(p.Verdict) }},
		{ID: "why", Aside: true, Text: func(p *point) string { return p.Why }},
	}
	if v.other != nil {
		_, id := besideOf(v.drawn.figure)
		all = append(all, value(id, v.other.Unit, v.beside))
	}
	return all
}

// Tables returns the scan that the screen shows, for a file: a row for each point.
func (v *View) Tables(in *screen.Context) []report.Table {
	if v.grid == nil || in.Setup == nil || v.working() || v.drawn.setup != *in.Setup {
		return nil
	}
	title := "scan of " + words(v.drawn.figure)
	return []report.Table{report.List(title, v.columns(), slices.Concat(v.grid.Rows...))}
}
