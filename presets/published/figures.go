package published

import (
	"fmt"
	"math"
	"slices"

	"meshscope/engine"
	"meshscope/engine/schedule"
)

// Figure is one of the figures by which the model is checked, with what the best
// single constant scores on the same rows, and the best peer.
type Figure struct {
	Number   int      `json:"number"` // as in docs/accuracy.md, 1 to 9
	Name     string   `json:"name"`
	Measure  string   `json:"measure"`
	Unit     string   `json:"unit"` // share, or none for a correlation
	Rows     int      `json:"rows"`
	Value    float64  `json:"value"`
	Wanted   float64  `json:"wanted"`
	AtLeast  bool     `json:"at_least"` // Wanted is a lower bound
	Constant *float64 `json:"constant,omitempty"`
	LeftOut  *float64 `json:"left_out,omitempty"` // after a Refit without the series of each row
	Peer     string   `json:"peer,omitempty"`
	PeerAt   *float64 `json:"peer_value,omitempty"`
}

// Met reports whether the figure meets its target.
func (f *Figure) Met() bool {
	if f.AtLeast {
		return f.Value >= f.Wanted
	}
	return f.Value <= f.Wanted
}

// stepErrors are the step-time rows of some groups, with their runs.
type stepErrors struct {
	rows []Row
	runs []*Run
}

// stepRows compares the step times of the groups that are wanted.
func stepRows(e *engine.Evaluator, groups []Group, wanted func(id string) bool) (j stepErrors) {
	for i := range groups {
		g := &groups[i]
		if !wanted(g.ID) {
			continue
		}
		_, rows := Compare(e, g)
		for _, row := range rows {
			if row.Metric == StepSeconds {
				j.rows, j.runs = append(j.rows, row), append(j.runs, row.Run)
			}
		}
	}
	return j
}

func (j *stepErrors) errors() []float64 {
	out := make([]float64, len(j.rows))
	for i := range j.rows {
		out[i] = math.Abs(j.rows[i].Error)
	}
	return out
}

// constant returns the absolute errors of the best single rate on the same rows.
func (j *stepErrors) constant() []float64 {
	fitted, _ := j.constants()
	return fitted
}

// constants returns those, and the same with each row left out of its own fit.
func (j *stepErrors) constants() (fitted, left []float64) {
	work, step := make([]float64, len(j.rows)), make([]float64, len(j.rows))
	for i := range j.rows {
		work[i], step[i] = j.rows[i].work, j.rows[i].Measured
	}
	return Constant(work, step)
}

// Figures works all of them out over the built-in groups.
func Figures(e *engine.Evaluator, lib Library, groups []Group, refit *Refit) ([]Figure, error) {
	only := func(id string) stepErrors {
		return stepRows(e, groups, func(other string) bool { return other == id })
	}
	var out []Figure
	add := func(f Figure, constant, peer float64) {
		if f.Rows == 0 || math.IsNaN(f.Value) {
			return // of groups that are not there
		}
		if f.Unit == "" && !f.AtLeast {
			f.Unit = "share"
		}
		if !math.IsNaN(constant) {
			f.Constant = &constant
		}
		if f.Peer != "" {
			f.PeerAt = &peer
		}
		out = append(out, f)
	}
	mean := func(n int, name, id string, wanted float64, peer string, at float64) stepErrors {
		j := only(id)
		f := Figure{
			Number: n, Name: name, Measure: "mean error", Rows: len(j.rows), Value: Mean(j.errors()),
			Wanted: wanted, Peer: peer,
		}
		f.LeftOut = errorOf(refit.Errors(j.rows), Mean)
		add(f, Mean(j.constant()), at)
		return j
	}
	one := mean(1, "Korthikanti table 5", "korthikanti-t5", 0.025, "Calculon", 0.0365)
	if len(one.rows) > 0 {
		add(Figure{
			Number: 1, Name: "Korthikanti table 5", Measure: "largest error", Rows: len(one.rows),
			Value: slices.Max(one.errors()), Wanted: 0.06, Peer: "Calculon",
		}, slices.Max(one.constant()),
			0.089)
	}
	mean(2, "Megatron SC21 table 1", "sc21-table1", 0.04, "Calculon", 0.134)
	layouts, constant := perLayout(only("simumax-b200"))
	add(Figure{
		Number: 3, Name: "SimuMax B200, by layout", Measure: "mean error", Rows: len(layouts),
		Value: Mean(layouts), Wanted: 0.035, Peer: "SimuMax",
	}, Mean(constant), 0.056)
	mean(4, "SimuMax A100-PCIe", "simumax-a100-pcie", 0.04, "SimuMax", 0.02)
	gaps, none := gains(only("zero-bubble"))
	add(Figure{
		Number: 5, Name: "Zero Bubble, gain over 1F1B", Measure: "mean error, points", Rows: len(gaps),
		Value: Mean(gaps), Wanted: 0.04,
	}, Mean(none), 0)
	out = append(out, others(e, groups, refit)...)
	sweep := only("playbook-sweep")
	add(Figure{
		Number: 7, Name: "playbook sweep", Measure: "median error of tokens/s", Rows: len(sweep.rows),
		Value: Quantile(sweep.rates(), 0.5), Wanted: 0.15, Peer: "zhebrak",
	}, Quantile(sweep.constant(), 0.5),
		1.65)
	rank, plain, n := sweep.correlation()
	add(Figure{
		Number: 7, Name: fmt.Sprintf("playbook sweep, %d cells", n), Measure: "mean rank correlation",
		Rows: len(sweep.rows), Value: rank, Wanted: 0.85, AtLeast: true, Peer: "zhebrak",
	}, plain, 0.67)
	at := slices.IndexFunc(groups, func(g Group) bool { return g.ID == "playbook-sweep" })
	if at < 0 {
		return out, nil
	}
	tried, err := candidates(e, lib, &groups[at])
	if err != nil {
		return nil, err
	}
	first, fit := firstChoices(tried), fitAnswers(tried)
	add(Figure{
		Number: 8, Name: fmt.Sprintf("first choice, %d cells", first.cells),
		Measure: "mean share of the best", Unit: "share", Rows: fit.all, Value: first.mean, Wanted: 0.93,
		AtLeast: true, Peer: "zhebrak",
	}, first.constant, 0.84)
	add(Figure{
		Number: 8, Name: "first choice, to 8 nodes", Measure: "least share of the best", Unit: "share",
		Rows: fit.all, Value: first.worst, Wanted: 0.85, AtLeast: true, Peer: "zhebrak",
	}, math.NaN(), 0.34)
	add(Figure{
		Number: 9, Name: "sweep, fits or not", Measure: "right answers", Unit: "share", Rows: fit.all,
		Value: fit.right, Wanted: 0.97, AtLeast: true,
	}, fit.most, 0)
	add(Figure{
		Number: 9, Name: "the same near the edge", Measure: "right answers, balanced", Unit: "share",
		Rows: fit.near, Value: fit.border, Wanted: 0.85, AtLeast: true,
	}, 0.5, 0)
	return out, nil
}

func median(list []float64) float64 { return Quantile(list, 0.5) }

// errorOf returns a measure of some errors; nil of none.
func errorOf(errs []float64, measure func([]float64) float64) *float64 {
	if len(errs) == 0 {
		return nil
	}
	v := measure(errs)
	return &v
}

// perLayout averages the errors of rows that differ in micro-batches only; the
// second list is that of a constant.
func perLayout(j stepErrors) (ours, constant []float64) {
	flat := j.constant()
	sums, plain := map[engine.Setup][]float64{}, map[engine.Setup][]float64{}
	var order []engine.Setup
	for i, r := range j.runs {
		key := r.Setup
		key.MicroBatches, key.GBS = 0, 0
		if sums[key] == nil {
			order = append(order, key)
		}
		sums[key], plain[key] = append(sums[key], math.Abs(j.rows[i].Error)), append(plain[key], flat[i])
	}
	for _, key := range order {
		ours, constant = append(ours, Mean(sums[key])), append(constant, Mean(plain[key]))
	}
	return ours, constant
}

// gains returns the errors of how much faster than 1F1B a schedule is, at the same
// model and number of micro-batches; a constant rate gives no gain at all.
func gains(j stepErrors) (ours, constant []float64) {
	type size struct{ layers, hidden, microbatches int }
	of := func(r *Run) size { return size{r.Setup.Model.Layers, r.Setup.Model.Hidden, r.Setup.MicroBatches} }
	base := map[size]*Row{}
	for i, r := range j.runs {
		if r.Setup.Schedule == schedule.OneFOneB {
			base[of(r)] = &j.rows[i]
		}
	}
	for i, r := range j.runs {
		b, row := base[of(r)], &j.rows[i]
		if b == nil || r.Setup.Schedule == schedule.OneFOneB {
			continue
		}
		measured := b.Measured/row.Measured - 1
		ours = append(ours, math.Abs(b.Predicted/row.Predicted-1-measured))
		constant = append(constant, math.Abs(measured))
	}
	return ours, constant
}

// others are figure 6: the groups that no other figure is about.
func others(e *engine.Evaluator, groups []Group, refit *Refit) []Figure {
	var medians, plain, pooled, flat, left, pooledLeft []float64
	for i := range groups {
		id := groups[i].ID
		switch id {
		case "korthikanti-t5", "sc21-table1", "simumax-b200", "simumax-a100-pcie", "zero-bubble",
			"playbook-sweep":
			continue
		}
		j := stepRows(e, groups, func(other string) bool { return other == id })
		errs, constant := j.errors(), j.constant()
		pooled, flat = append(pooled, errs...), append(flat, constant...)
		without := refit.Errors(j.rows)
		pooledLeft = append(pooledLeft, without...)
		if len(errs) >= 4 {
			medians, plain = append(medians, Quantile(errs, 0.5)), append(plain, Quantile(constant, 0.5))
			if len(without) > 0 {
				left = append(left, Quantile(without, 0.5))
			}
		}
	}
	if len(medians) == 0 {
		return nil
	}
	groupwise, together := Mean(plain), Quantile(flat, 0.5)
	return []Figure{
		{
			Number: 6, Name: fmt.Sprintf("%d other groups", len(medians)), Measure: "mean of the medians",
			Unit: "share", Rows: len(pooled), Value: Mean(medians), Wanted: 0.10, Constant: &groupwise,
			LeftOut: errorOf(left, Mean),
		},
		{
			Number: 6, Name: "other groups, pooled", Measure: "median error", Unit: "share",
			Rows:  len(pooled),
			Value: Quantile(pooled, 0.5), Wanted: 0.08, Constant: &together,
			LeftOut: errorOf(pooledLeft, median),
		},
	}
}
