package search

import (
	"slices"

	find "meshscope/engine/search"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/ui/screen"
)

// Tables returns the ranked layouts that the screen lists, for a file.
func (v *View) Tables(in *screen.Context) []report.Table {
	if v.answer == nil || in.Setup == nil || v.answer.of != (query{base(in.Setup), v.chosen}) {
		return nil
	}
	title := "layouts, the best first"
	if v.answer.forMargin {
		title += "; 1 is " + find.MarginRule
	}
	if r := &v.answer.result; r.partial {
		title += " (partial: " + figure.Percent(r.share) + " of the space searched)"
	}
	asks := func(id string, of func(*row) bool) column {
		return column{ID: id, Text: func(r *row) string { return figure.YesNo(of(r)) }}
	}
	rows := v.answer.rows
	all := slices.DeleteFunc(slices.Clone(v.table.All), func(c column) bool {
		return c.Named && !slices.ContainsFunc(rows, func(r row) bool {
			return c.Brief(&r) != c.Brief(&rows[0])
		})
	})
	t := report.List(title, append(all, asks("fits", func(r *row) bool { return r.Fits }),
		asks("front", func(r *row) bool { return r.Front }),
		asks("current", func(r *row) bool { return same(&r.Setup, in.Setup) })), rows)
	for i := range t.Rows {
		if rows[i].Rank == 0 { // beyond the listed ones
			t.Rows[i][0] = report.Word("front")
		}
	}
	return []report.Table{t}
}
