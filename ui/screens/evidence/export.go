package evidence

import (
	"meshscope/engine/record"
	"meshscope/engine/units"
	"meshscope/presets/published"
	"meshscope/report"
	"meshscope/ui/screen"
)

// Tables returns the groups that are listed and the runs of the chosen one, predicted
// next to measured, in the order of the screen.
func (v *View) Tables(*screen.Context) []report.Table {
	if v.data == nil {
		return nil
	}
	return []report.Table{v.groupsTable(), v.runsTable()}
}

func (v *View) groupsTable() report.Table {
	t := report.Table{
		Title: "published runs by group, errors of the " + v.metricWord(),
		Head:  []string{"group", "runs", "mean error", "median", "nine of ten", "largest", "fitted", "one fitted constant", "other tool", "its mean error"},
	}
	share := func(x float64) report.Cell { return report.Figure(record.Share, x) }
	some := func(x float64) report.Cell {
		if x == 0 {
			return report.Word("")
		}
		return share(x)
	}
	for _, r := range v.listed() {
		fitted := "no"
		switch {
		case r.group < 0:
			fitted = ""
		case r.Fitted:
			fitted = "yes"
		}
		t.Rows = append(t.Rows, []report.Cell{
			report.Word(r.Name), report.Figure(record.Count, float64(r.Rows)), share(r.Mean), share(r.Median), some(r.P90), share(r.Max),
			report.Word(fitted), some(r.Constant), report.Word(r.Peer), some(r.PeerMean),
		})
	}
	return t
}

func (v *View) runsTable() report.Table {
	name := v.group
	if name == "" {
		name = "all groups"
	}
	t := report.Table{
		Title: "runs of " + name + ", " + v.metricWord(),
		Head:  []string{"run", "group", "model", "GPU", "GPUs", "measured", "predicted", "error", "source"},
	}
	figure := func(x float64) report.Cell { return report.Figure(record.Seconds, x) }
	if v.memory {
		figure = func(x float64) report.Cell {
			return report.Figure(record.Memory, float64(units.Bytes(x)*units.GiB))
		}
	}
	for _, i := range v.shown() {
		r := &v.data.rows[i]
		s := v.data.setup(r)
		t.Rows = append(t.Rows, []report.Cell{
			report.Word(r.ID), report.Word(r.Group), report.Word(s.Model.Name), report.Word(s.Cluster.GPU.Name), report.Figure(record.Count, float64(s.GPUs)),
			figure(r.Measured), figure(r.Predicted), report.Figure(record.Share, r.Error), report.Word(r.Source),
		})
	}
	return t
}

// metricWord returns the figure that is shown.
func (v *View) metricWord() string {
	if v.metric() == published.MemoryGiB {
		return "memory"
	}
	return "step time"
}
