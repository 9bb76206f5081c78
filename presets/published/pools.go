package published

import (
	"fmt"
	"math"
	"strings"

	"meshscope/engine"
	"meshscope/engine/recipe"
)

// pool is one figure over several groups: which runs it is about, and the target of
// its median error of the step time.
type pool struct {
	name   string
	target float64
	has    func(*Run, string) bool
}

// Family is a source of several groups: their names begin with Prefix.
type Family struct{ Name, Prefix string }

// Families lists the sources of several groups, with dense and expert models and several
// releases each.
func Families() []Family {
	return []Family{{"Megatron-Bridge", "mbridge-"}, {"MLPerf", "mlperf-"}, {"DGX Cloud", "dgxc-"}}
}

// Has reports whether a group is of the family.
func (f Family) Has(group string) bool { return strings.HasPrefix(group, f.Prefix) }

// family returns the pool of a family.
func family(f Family, target float64) pool {
	return pool{f.Name, target, func(_ *Run, group string) bool { return f.Has(group) }}
}

// sweepGroup is the playbook's sweep, which has more runs than all other groups.
const sweepGroup = "playbook-sweep"

func pools() []pool {
	families := Families()
	return []pool{
		family(families[0], 0.12), family(families[1], 0.05), family(families[2], 0.05),
		{"dense, H100, bf16, Megatron-Core", 0.03, func(r *Run, _ string) bool {
			s := &r.Setup
			return denseBF16(r) && s.Stack.Resolve() == recipe.MegatronCore
		}},
		{"dense, H100, bf16, every stack, without the sweep", 0.03, func(r *Run, group string) bool {
			return denseBF16(r) && group != sweepGroup
		}},
		{"all groups without the sweep", 0.045, func(_ *Run, group string) bool {
			return group != sweepGroup
		}},
	}
}

func denseBF16(r *Run) bool {
	s := &r.Setup
	return !s.Model.IsMoE() && s.Cluster.GPU.ID == "h100-sxm" && s.Precision == recipe.BF16
}

// Pools returns the errors of step times over several groups, each run counted once:
// runs of a source, dense runs on H100 in bf16, all runs; and the mean of the medians of
// groups. They count every run with a model, a layout and a time. One whose recomputation
// is unknown counts as if nothing was recomputed.
func Pools(e *engine.Evaluator, groups []Group, refit *Refit) []Figure {
	j := stepRows(e, groups, func(string) bool { return true })
	errs := j.errors()
	var out []Figure
	for _, p := range pools() {
		var part stepErrors
		var list []float64
		for i, r := range j.runs {
			if p.has(r, j.rows[i].Group) {
				part.rows, list = append(part.rows, j.rows[i]), append(list, errs[i])
			}
		}
		if len(list) == 0 {
			continue
		}
		flat := Quantile(part.constant(), 0.5)
		out = append(out, Figure{
			Name: p.name, Measure: "median error", Unit: "share", Rows: len(list),
			Value: Quantile(list, 0.5), Wanted: p.target, Constant: &flat,
			LeftOut: errorOf(refit.Errors(part.rows), median),
		})
	}
	var order []string
	byGroup := map[string]*stepErrors{}
	for i := range j.rows {
		id := j.rows[i].Group
		if byGroup[id] == nil {
			byGroup[id], order = &stepErrors{}, append(order, id)
		}
		byGroup[id].rows = append(byGroup[id].rows, j.rows[i])
	}
	return append(out, ofGroups(order, byGroup, refit)...)
}

// ofGroups are the figures that count every group once.
func ofGroups(order []string, byGroup map[string]*stepErrors, refit *Refit) []Figure {
	var out []Figure
	worst, rows := 0.0, 0
	medians, constant := map[string]float64{}, map[string]float64{}
	for _, id := range order {
		medians[id], constant[id] = Quantile(byGroup[id].errors(), 0.5), Quantile(byGroup[id].constant(), 0.5)
		if strings.HasPrefix(id, "mbridge-2") { // the releases; one more group is a single run
			worst, rows = math.Max(worst, medians[id]), rows+len(byGroup[id].rows)
		}
	}
	if rows > 0 {
		out = append(out, Figure{
			Name: "Megatron-Bridge, by release", Measure: "largest median",
			Unit: "share", Rows: rows, Value: worst, Wanted: 0.12,
		})
	}
	for _, least := range []int{4, 1} {
		var ours, flat, left []float64
		rows := 0
		for _, id := range order {
			if n := len(byGroup[id].rows); n >= least {
				ours, flat, rows = append(ours, medians[id]), append(flat, constant[id]), rows+n
				if errs := refit.Errors(byGroup[id].rows); len(errs) > 0 {
					left = append(left, median(errs))
				}
			}
		}
		if len(ours) == 0 {
			continue
		}
		f := Figure{
			Name: fmt.Sprintf("all %d groups", len(ours)), Measure: "mean of the medians",
			Unit: "share", Rows: rows, Value: Mean(ours), Wanted: 0.06, LeftOut: errorOf(left, Mean),
		}
		if least > 1 { // of a group of one run a constant is always right
			plain := Mean(flat)
			f.Name, f.Constant = fmt.Sprintf("%d groups of %d runs or more", len(ours), least), &plain
		}
		out = append(out, f)
	}
	return out
}

// Omission is a reason for which runs of a group are not compared.
type Omission struct {
	Group string `json:"group"`
	LeftOut
}

// Omissions lists the runs that are published and not compared: those left out of each
// group, and those of which no time and no memory is published.
func Omissions(groups []Group) []Omission {
	var out []Omission
	for i := range groups {
		g := &groups[i]
		for _, l := range g.LeftOut {
			out = append(out, Omission{g.ID, l})
		}
		var silent []string
		for k := range g.Runs {
			if r := &g.Runs[k]; r.Step+r.Memory == 0 {
				silent = append(silent, r.ID)
			}
		}
		if len(silent) > 0 {
			out = append(out, Omission{g.ID, LeftOut{silent, "ran, and no time or memory is published"}})
		}
	}
	return out
}

// Interval is how many runs of a group whose recomputation is unknown were measured
// between the predictions without any and with full recomputation.
type Interval struct {
	Group  string `json:"group"`
	Runs   int    `json:"runs"`
	Inside int    `json:"inside"`
}

// Intervals returns them by group; groups without such a run are left out.
func Intervals(e *engine.Evaluator, groups []Group) []Interval {
	var out []Interval
	for i := range groups {
		x := Interval{Group: groups[i].ID}
		for k := range groups[i].Runs {
			r := &groups[i].Runs[k]
			if !r.AnyRecompute || r.Step <= 0 {
				continue
			}
			full := r.Setup
			full.Recompute = recipe.Recompute{Mode: recipe.RecomputeFull}
			low, high := r.predict(e), e.Evaluate(full)
			if low == nil || high.Time == nil {
				continue
			}
			x.Runs++
			if r.Step >= low.step && r.Step <= float64(high.Time.Step) {
				x.Inside++
			}
		}
		if x.Runs > 0 {
			out = append(out, x)
		}
	}
	return out
}
