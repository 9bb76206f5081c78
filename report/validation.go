package report

import (
	"fmt"
	"slices"

	"meshscope/engine"
	"meshscope/engine/record"
	"meshscope/engine/units"
	"meshscope/presets"
	"meshscope/presets/curves"
	"meshscope/presets/published"
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
		GroupErrors(v.Groups, func(r *published.Result) bool { return r.Fitted }))
	add("Not fitted", "no constant was fitted to these runs",
		GroupErrors(v.Groups, func(r *published.Result) bool { return !r.Fitted }))
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
		add("Runs", "", RunErrors(v.Rows, nil))
	}
	return out
}

// spreads returns how errors of step times lie, runs that nothing was fitted to first.
func spreads(list []published.Spread) *Table {
	t := &Table{Head: []string{"runs", "rows", "median", "5 %", "10 %", "20 %"}}
	for i := range list {
		s := &list[i]
		percent := func(x float64) Cell { return written(fmt.Sprintf("%.0f %%", 100*x), record.Share, x) }
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
	t.Head = t.Head[1:]
	for i := range t.Rows {
		t.Rows[i] = t.Rows[i][1:]
	}
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
		percent := func(x float64) Cell { return written(fmt.Sprintf("%.0f %%", 100*x), record.Share, x) }
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

// GroupErrors returns the errors of the groups of runs for which shown is true; those of
// other tools and of one fitted constant stand next to them.
func GroupErrors(results []published.Result, shown func(*published.Result) bool) *Table {
	t := &Table{Head: []string{
		"group", "metric", "runs", "mean", "median", "p90", "largest", "fitted",
		"left out", "refit", "constant", "other tool", "its mean",
	}, Spare: []string{"constant", "its mean", "other tool", "p90", "refit"}}
	share := func(x float64) Cell {
		if x == 0 {
			return right("-")
		}
		return written(fmt.Sprintf("%.1f %%", 100*x), record.Share, x)
	}
	for i := range results {
		if r := &results[i]; shown(r) {
			t.add(Word(r.Name), Word(metricWord(r.Metric)), Figure(record.Count, float64(r.Rows)),
				share(r.Mean), share(r.Median), share(r.P90), share(r.Max),
				YesNo(r.Fitted), perhapsShare(r.RefitMedian), perhapsShare(r.ConstantsMedian),
				share(r.Constant), Word(r.Peer), share(r.PeerMean))
		}
	}
	return t
}

// RunErrors returns runs, measured next to predicted. With setup, which returns the setup
// of a row, the table has its model and machine and the source too.
func RunErrors(rows []published.Row, setup func(i int) *engine.Setup) *Table {
	t := &Table{
		Head:  []string{"run", "group", "metric", "measured", "predicted", "error"},
		Spare: []string{"group", "GPU", "source", "model"},
	}
	if setup != nil {
		t.Head = []string{"run", "group", "model", "GPU", "GPUs", "measured", "predicted", "error", "source"}
	}
	for i := range rows {
		r := &rows[i]
		value := func(x float64) Cell { return Figure(record.Seconds, x) }
		if r.Metric == published.MemoryGiB {
			value = func(x float64) Cell { return Figure(record.Memory, float64(units.Bytes(x)*units.GiB)) }
		}
		figures := []Cell{
			value(r.Measured), value(r.Predicted),
			written(fmt.Sprintf("%+.1f %%", 100*r.Error), record.Share, r.Error),
		}
		of := []Cell{Word(metricWord(r.Metric))}
		if setup != nil {
			s := setup(i)
			of = []Cell{Word(s.Model.Name), Word(s.Cluster.GPU.Name), Figure(record.Count, float64(s.GPUs))}
			figures = append(figures, Word(r.Source))
		}
		t.add(slices.Concat([]Cell{Word(r.ID), Word(r.Group)}, of, figures)...)
	}
	return t
}

// metricWord names what was measured.
func metricWord(metric string) string {
	if metric == published.MemoryGiB {
		return "memory"
	}
	return "time"
}
