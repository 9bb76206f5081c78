package evidence

import (
	"meshscope/engine"
	"meshscope/engine/units"
	"meshscope/presets/published"
	"meshscope/ui/export"
	"meshscope/ui/screen"
)

// Tables are the groups that are listed and the runs of the chosen one, predicted
// beside measured, in the order of the screen.
func (v *View) Tables(*screen.Context) []export.Table {
	if v.data == nil {
		return nil
	}
	return []export.Table{v.groupsTable(), v.runsTable()}
}

func (v *View) groupsTable() export.Table {
	t := export.Table{
		Title: "published runs by group, errors of the " + v.metricWord(),
		Head:  []string{"group", "runs", "mean error", "median", "nine of ten", "largest", "fitted", "one fitted constant", "other tool", "its mean error"},
	}
	share := func(x float64) export.Cell { return export.Figure(engine.UnitShare, x) }
	some := func(x float64) export.Cell {
		if x == 0 {
			return export.Word("")
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
		t.Rows = append(t.Rows, []export.Cell{
			export.Word(r.Name), export.Figure(engine.UnitCount, float64(r.Rows)), share(r.Mean), share(r.Median), some(r.P90), share(r.Max),
			export.Word(fitted), some(r.Constant), export.Word(r.Peer), some(r.PeerMean),
		})
	}
	return t
}

func (v *View) runsTable() export.Table {
	name := v.group
	if name == "" {
		name = "all groups"
	}
	t := export.Table{
		Title: "runs of " + name + ", " + v.metricWord(),
		Head:  []string{"run", "group", "model", "GPU", "GPUs", "measured", "predicted", "error", "source"},
	}
	figure := func(x float64) export.Cell { return export.Figure(engine.UnitSeconds, x) }
	if v.memory {
		figure = func(x float64) export.Cell {
			return export.Figure(engine.UnitMemory, float64(units.Bytes(x)*units.GiB))
		}
	}
	for _, i := range v.shown() {
		r := &v.data.rows[i]
		s := v.data.setup(r)
		t.Rows = append(t.Rows, []export.Cell{
			export.Word(r.ID), export.Word(r.Group), export.Word(s.Model.Name), export.Word(s.Cluster.GPU.Name), export.Figure(engine.UnitCount, float64(s.GPUs)),
			figure(r.Measured), figure(r.Predicted), export.Figure(engine.UnitShare, r.Error), export.Word(r.Source),
		})
	}
	return t
}

// metricWord is the figure that is shown.
func (v *View) metricWord() string {
	if v.metric() == published.MemoryGiB {
		return "memory"
	}
	return "step time"
}
