package evidence

import (
	"cmp"
	"math"
	"slices"

	"meshscope/presets/published"
	"meshscope/ui/screen"
)

// shows reports whether a group passes the filter.
func (f filter) shows(g *published.Group) bool {
	switch f {
	case fitted:
		return g.Fitted
	case unseen:
		return !g.Fitted
	default:
		return true
	}
}

// together fills a line of several groups with the errors of their runs.
func (v *View) together(r result) result {
	var errs []float64
	for _, i := range v.pool() {
		if r.has(&v.data.rows[i]) {
			errs = append(errs, math.Abs(v.data.rows[i].Error))
		}
	}
	r.Rows, r.Metric = len(errs), v.metric()
	if len(errs) > 0 {
		r.Mean, r.Median, r.Max = published.Mean(errs), published.Quantile(errs, 0.5), slices.Max(errs)
	}
	return r
}

// listed returns the lines of the group table: all runs together, those of sources of
// several groups, then each group that has the metric.
func (v *View) listed() []result {
	out := []result{v.together(result{Result: published.Result{Name: "all"}, group: -1})}
	for _, f := range published.Families() {
		of := func(r result) bool {
			return r.Metric == v.metric() && v.filter.shows(&v.data.groups[r.group]) && f.Has(r.Name)
		}
		if first := slices.IndexFunc(v.data.results, of); first >= 0 &&
			slices.ContainsFunc(v.data.results[first+1:], of) {
			out = append(out,
				v.together(result{Result: published.Result{Name: f.Name}, group: -1, family: f}))
		}
	}
	for _, r := range v.data.results {
		if r.Metric == v.metric() && v.filter.shows(&v.data.groups[r.group]) {
			out = append(out, r)
		}
	}
	return out
}

// pool returns the rows of the metric whose groups pass the filter, in the order of the list but for the
// errors.
func (v *View) pool() []int {
	var out []int
	for n := range v.data.rows {
		i := n
		if v.order == byNearness && len(v.data.near) == len(v.data.rows) {
			i = v.data.near[n]
		}
		r := &v.data.rows[i]
		if r.Metric == v.metric() && v.filter.shows(&v.data.groups[r.group]) {
			out = append(out, i)
		}
	}
	return out
}

// chosen returns the place of the chosen group among those listed.
func (v *View) chosen(list []result) int {
	for i := range list {
		if list[i].named() && list[i].Name == v.group {
			return i
		}
	}
	return 0
}

// shown returns the rows of the chosen group in the order of the list.
func (v *View) shown() []int {
	list := v.listed()
	line := &list[v.chosen(list)]
	rows := slices.DeleteFunc(v.pool(), func(i int) bool { return !line.has(&v.data.rows[i]) })
	if v.order == byError {
		slices.SortStableFunc(rows, func(a, b int) int {
			return cmp.Compare(math.Abs(v.data.rows[b].Error), math.Abs(v.data.rows[a].Error))
		})
	}
	return rows
}

// cursor returns the place of the run under the cursor in the list of those shown.
func (v *View) cursor(rows []int) int { return min(max(v.row, 0), len(rows)-1) }

// nearest returns the rows of the runs that the error band of the metric calls nearest.
func (v *View) nearest(in *screen.Context) []int {
	e := stepEvidence(in.Report)
	if v.memory {
		e = memoryEvidence(in.Report)
	}
	cell := e.Nearest.Cell()
	if cell == nil {
		return nil
	}
	var out []int
	for i := range v.data.rows {
		r := &v.data.rows[i]
		if r.Metric == v.metric() && published.InCell(cell, &v.data.groups[r.group], &r.Run.Setup,
			v.memory) {
			out = append(out, i)
		}
	}
	return out
}
