package evidence

import (
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
	name := v.group
	if name == "" {
		name = "all groups"
	}
	return []report.Table{
		report.List("published runs by group, errors of the "+v.metricWord(), report.GroupColumns(),
			v.results()),
		report.List("runs of "+name+", "+v.metricWord(), report.RunColumns(), v.runs()),
	}
}

// results returns the errors of the groups that are listed.
func (v *View) results() []published.Result {
	var out []published.Result
	for _, r := range v.listed() {
		out = append(out, r.Result)
	}
	return out
}

// metricWord returns the figure that is shown.
func (v *View) metricWord() string {
	if v.memory {
		return "memory"
	}
	return "step time"
}
