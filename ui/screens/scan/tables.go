package scan

import (
	"meshscope/engine/figures"
	"meshscope/report"
	"meshscope/ui/screen"
)

// Tables returns the scan that the screen shows, for a file: a row for each point.
func (v *View) Tables(in *screen.Context) []report.Table {
	g := v.grid
	if g == nil || in.Setup == nil || v.working() || v.drawn.setup != *in.Setup {
		return nil
	}
	_, name := figures.ByWord(v.drawn.figure)
	t := report.Table{Title: "scan of " + name, Head: []string{string(g.X.ID), name, "verdict", "why"}}
	if g.By.ID != "" {
		t.Head[0] = string(g.X.ID) + ", " + string(g.By.ID)
	}
	if v.other != nil {
		_, id := besideOf(v.drawn.figure)
		_, other := figures.ByWord(id)
		t.Head = append(t.Head, other)
	}
	for _, row := range g.Rows {
		for i := range row {
			p := &row[i]
			at := p.X
			if g.By.ID != "" {
				at += ", " + p.By
			}
			t.Rows = append(t.Rows, []report.Cell{
				report.Word(at), report.Maybe(g.Unit, p.Value),
				report.Word(string(p.Verdict)), report.Word(p.Why),
			})
			if v.other != nil {
				last := len(t.Rows) - 1
				t.Rows[last] = append(t.Rows[last], report.Maybe(v.other.Unit, v.beside(i)))
			}
		}
	}
	return []report.Table{t}
}
