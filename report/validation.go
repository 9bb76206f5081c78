package report

import (
	"fmt"
	"slices"

	"meshscope/engine/record"
	"meshscope/engine/units"
	"meshscope/presets"
	"meshscope/presets/curves"
	"meshscope/presets/published"
	"meshscope/report/figure"
)

// Validation compares the model with published measurements.
type Validation struct {
	Header
	Spreads   []published.Spread   `json:"spreads"` // of all groups; none if some were named
	Figures   []published.Figure   `json:"figures"` // of all groups; none if some were named
	Pooled    []published.Figure   `json:"pooled"`  // the same, over several groups; number is 0
	Groups    []published.Result   `json:"groups"`
	Rows      []published.Row      `json:"rows"`
	Intervals []published.Interval `json:"unknown_recompute"` // by group
	LeftOut   []published.Omission `json:"left_out"`          // by group and reason
	Bands     []published.Class    `json:"bands"`             // of all groups; none if some were named
	Fits      []CalibrationError   `json:"fits"`              // likewise
	Curves    []curves.Curve       `json:"curves,omitempty"`  // where they were asked for
}

// Document returns the accuracy figures, the errors of each group, runs of unknown
// recomputation and those left out, with byRow also the errors of each run.
func (v *Validation) Document(byRow bool) *Document {
	out := &Document{}
	add := func(heading, lead string, t *Table) {
		if len(t.Rows) > 0 {
			out.Sections = append(out.Sections, Section{Heading: heading, Lead: lead, Blocks: []Block{t}})
		}
	}
	add("Seen and unseen", "errors of step times, by what the constants were fitted to; the shares of runs "+
		"at most 5, 10 and 20 % off", spreads(v.Spreads))
	add("Figures", "meshscope, the same after one factor set by other sources, a single constant fitted to "+
		"the same runs, the best other tool", accuracyFigures(v.Figures))
	add("Pooled", "step times over several groups; unknown recomputation counts as none",
		pooledFigures(v.Pooled))
	add("Fitted", "some constants were fitted to these runs (see presets/calibrations)",
		groupErrors(v.Groups, true))
	add("Not fitted", "no constant was fitted to these runs",
		groupErrors(v.Groups, false))
	add("Recomputation unknown", "counted as none above; how many were measured between none and full",
		intervals(v.Intervals))
	add("Left out", "published runs that are not compared", omissions(v.LeftOut))
	add("Error bands",
		"runs inside their band, the own release of each left out; median width so, and in use",
		coverage(v.Bands))
	add("Fits", "errors that calibration files state, on what they were fitted to and on what was held out",
		fits(v.Fits))
	out.Sections = append(out.Sections, curveSections(v.Curves)...)
	if byRow {
		c, all := []Column[published.Row](nil), RunColumns()
		for _, id := range []string{"run", "group", "metric", "measured", "predicted", "error"} { // no setups
			c = append(c, all[ColumnOf(all, id)])
		}
		runs := List("", c, v.Rows)
		add("Runs", "", &runs)
	}
	return out
}

// percent returns a share in whole percent.
func percent(x float64) Cell { return written(fmt.Sprintf("%.0f %%", 100*x), record.Share, x) }

// spreads returns how errors of step times lie, runs that nothing was fitted to first.
func spreads(list []published.Spread) *Table {
	t := &Table{Head: []string{"runs", "rows", "median", "5 %", "10 %", "20 %"}}
	for i := range list {
		s := &list[i]
		t.add(Word(s.Name), Figure(record.Count, float64(s.Rows)), perhapsShare(&s.Median),
			percent(s.Within5), percent(s.Within10), percent(s.Within20))
	}
	return t
}

// accuracyFigures returns the nine accuracy figures with their targets.
func accuracyFigures(figures []published.Figure) *Table {
	t := &Table{Head: []string{
		"", "runs", "measure", "rows", "model", "target", "left out", "constant",
		"other tool",
	}, Spare: []string{"constant", "left out", "other tool"}}
	for i := range figures {
		f := &figures[i]
		digits := 1
		write := func(v float64) string {
			if f.Unit == "" {
				return fmt.Sprintf("%.3f", v)
			}
			return fmt.Sprintf("%.*f %%", digits, 100*v)
		}
		if !f.Met() && write(f.Value) == write(f.Wanted) {
			digits = 2 // to show by how little
		}
		wanted, left, constant, peer := "<= "+write(f.Wanted), "-", "-", "-"
		if f.AtLeast {
			wanted = ">= " + write(f.Wanted)
		}
		if !f.Met() {
			wanted += " not met"
		}
		if f.Constant != nil {
			constant = write(*f.Constant)
		}
		if f.LeftOut != nil {
			left = write(*f.LeftOut)
		}
		if f.PeerAt != nil {
			peer = write(*f.PeerAt) + " " + f.Peer
		}
		t.add(Word(fmt.Sprint(f.Number)), Word(f.Name), Word(f.Measure),
			Figure(record.Count, float64(f.Rows)), right(write(f.Value)), right(wanted), right(left),
			right(constant), Word(peer))
	}
	return t
}

// pooledFigures returns figures over several groups, which have no number.
func pooledFigures(figures []published.Figure) *Table {
	t := accuracyFigures(figures)
	t, _ = t.without("", t.Rows)
	return t
}

// CalibrationError is what a calibration file states about its errors.
type CalibrationError struct {
	ID       string   `json:"id"`
	FittedTo string   `json:"fitted_to"`
	Fit      *float64 `json:"fit_error,omitempty"`
	HeldOut  *float64 `json:"held_out_error,omitempty"`
}

// CalibrationErrors returns the errors of the files that state any.
func CalibrationErrors(files []presets.CalibrationPreset) []CalibrationError {
	out := []CalibrationError{}
	for i := range files {
		f := &files[i]
		x := CalibrationError{ID: f.ID, FittedTo: f.FittedTo}
		if f.FitError > 0 {
			x.Fit = &f.FitError
		}
		if f.HeldError > 0 {
			x.HeldOut = &f.HeldError
		}
		if x.Fit != nil || x.HeldOut != nil {
			out = append(out, x)
		}
	}
	return out
}

// fits returns the errors that calibration files state.
func fits(list []CalibrationError) *Table {
	t := &Table{Head: []string{"calibration", "error", "held out", "fitted to"}}
	for i := range list {
		f := &list[i]
		t.add(Word(f.ID), perhapsShare(f.Fit), perhapsShare(f.HeldOut), Word(f.FittedTo))
	}
	return t
}

// coverage returns how well the error bands hold, by class.
func coverage(classes []published.Class) *Table {
	t := &Table{Head: []string{
		"metric", "kind", "generation", "stack", "runs", "releases", "inside", "width",
		"in use",
	}}
	for i := range classes {
		c := &classes[i]
		t.add(Word(metricWord(c.Metric)), Word(c.ClassName()), Word(c.Generation), Word(c.Stack),
			Figure(record.Count, float64(c.Runs)), Figure(record.Count, float64(c.Releases)),
			percent(c.Inside), percent(c.Width), percent(c.InUse))
	}
	return t
}

// perhapsShare returns a share in percent; a dash: there is none.
func perhapsShare(x *float64) Cell {
	if x == nil {
		return right("-")
	}
	return written(fmt.Sprintf("%.1f %%", 100**x), record.Share, *x)
}

// intervals returns the runs whose recomputation is unknown.
func intervals(list []published.Interval) *Table {
	t := &Table{Head: []string{"group", "runs", "between"}}
	for _, x := range list {
		t.add(Word(x.Group), Figure(record.Count, float64(x.Runs)), Figure(record.Count, float64(x.Inside)))
	}
	return t
}

// omissions returns the runs that are left out, by group and reason.
func omissions(list []published.Omission) *Table {
	t := &Table{Head: []string{"group", "runs", "reason"}}
	for i := range list {
		x := &list[i]
		t.add(Word(x.Group), Figure(record.Count, float64(len(x.Runs))), Word(x.Reason))
	}
	return t
}

// GroupColumns returns the columns of a list of groups of runs: their errors, next to them those of one
// fitted constant and of other tools.
func GroupColumns() []Column[published.Result] {
	type group = published.Result
	share := func(id, head string, drop int, value func(*group) float64) Column[group] {
		return Column[group]{
			ID: id, Head: head, Drop: drop, Unit: record.Share, Aside: head == "",
			Value: func(r *group) float64 { return known(value(r)) },
		}
	}
	return []Column[group]{
		{ID: "group", Text: func(r *group) string { return r.Name }},
		{ID: "metric", Aside: true, Text: func(r *group) string { return metricWord(r.Metric) }},
		{
			ID: "runs", Head: "rows", Unit: record.Count,
			Value: func(r *group) float64 { return float64(r.Rows) },
		},
		share("mean", "mean %", 0, func(r *group) float64 { return r.Mean }),
		share("median", "median", 0, func(r *group) float64 { return r.Median }),
		share("p90", "", 2, func(r *group) float64 { return r.P90 }),
		share("largest", "max", 0, func(r *group) float64 { return r.Max }),
		{ID: "fitted", Aside: true, Text: func(r *group) string { return figure.YesNo(r.Fitted) }},
		share("left out", "", 0, func(r *group) float64 { return ValueOf(r.RefitMedian) }),
		share("refit", "", 1, func(r *group) float64 { return ValueOf(r.ConstantsMedian) }),
		share("constant", "constant", 3, func(r *group) float64 { return r.Constant }),
		{
			ID: "other tool", Head: "best peer", Drop: 5, Cut: true,
			Text: func(r *group) string { return r.Peer },
		},
		share("its mean", "", 4, func(r *group) float64 { return r.PeerMean }),
	}
}

// groupErrors returns the errors of the groups that constants were fitted to, or of the others.
func groupErrors(results []published.Result, fitted bool) *Table {
	columns := GroupColumns()
	t := List("", columns, slices.DeleteFunc(slices.Clone(results),
		func(r published.Result) bool { return r.Fitted != fitted }))
	for _, row := range t.Rows {
		for j := range row {
			if !columns[j].Words() && !row[j].Number {
				row[j] = right("-")
			}
		}
	}
	return &t
}

// RunColumns returns the columns of a list of published runs, measured next to predicted.
func RunColumns() []Column[published.Row] {
	type run = published.Row
	word := func(id string, text func(r *run) string) Column[run] {
		return Column[run]{ID: id, Aside: true, Text: text}
	}
	value := func(id string, value func(r *run) float64) Column[run] {
		unit := func(r *run) (record.Unit, float64) {
			if r.Metric == published.MemoryGiB {
				return record.Memory, value(r) * float64(units.GiB)
			}
			return record.Seconds, value(r)
		}
		return Column[run]{
			ID: id, Head: id, Units: func(r *run) record.Unit { u, _ := unit(r); return u },
			Value: func(r *run) float64 { _, v := unit(r); return v },
		}
	}
	return []Column[run]{
		{ID: "run", Text: func(r *run) string { return r.ID }},
		{ID: "group", Aside: true, Drop: 1, Text: func(r *run) string { return r.Group }},
		word("model", func(r *run) string { return r.Run.Setup.Model.Name }),
		word("GPU", func(r *run) string { return r.Run.Setup.Cluster.GPU.Name }),
		{
			ID: "GPUs", Aside: true, Unit: record.Count,
			Value: func(r *run) float64 { return float64(r.Run.Setup.GPUs) },
		},
		value("measured", func(r *run) float64 { return r.Measured }),
		value("predicted", func(r *run) float64 { return r.Predicted }),
		{
			ID: "error", Head: "error %", Unit: record.Share, Signed: true,
			Value: func(r *run) float64 { return r.Error },
		},
		word("source", func(r *run) string { return r.Source }),
		word("metric", func(r *run) string { return metricWord(r.Metric) }),
	}
}

// metricWord names what was measured.
func metricWord(metric string) string {
	if metric == published.MemoryGiB {
		return "memory"
	}
	return "time"
}
