package evidence

import (
	"meshscope/engine"
	"meshscope/presets/published"
	"meshscope/report"
	"meshscope/ui/screen"
)

// Tables returns the groups that are listed and the runs of the chosen one, predicted
// next to measured, in the order of the screen; of the curves
// every point.
func (v *View) Tables(*screen.Context) []report.Table {
	if v.inCurve && v.curves.list != nil {
		return report.CurveTables(v.curves.list)
	}
	if v.data == nil {
		return nil
	}
	var results []published.Result
	for _, r := range v.listed() {
		results = append(results, r.Result)
	}
	groups := report.GroupErrors(results, func(*published.Result) bool { return true })
	groups.Title = "published runs by group, errors of the " + v.metricWord()
	shown := v.shown()
	var rows []published.Row
	for _, i := range shown {
		rows = append(rows, v.data.rows[i].Row)
	}
	runs := report.RunErrors(rows, func(i int) *engine.Setup { return v.data.setup(&v.data.rows[shown[i]]) })
	name := v.group
	if name == "" {
		name = "all groups"
	}
	runs.Title = "runs of " + name + ", " + v.metricWord()
	return []report.Table{*groups, *runs}
}

// metricWord returns the figure that is shown.
func (v *View) metricWord() string {
	if v.memory {
		return "memory"
	}
	return "step time"
}
