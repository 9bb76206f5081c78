package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/presets/published"
)

// row is a run with its report.
type row struct {
	group  *published.Group
	run    *published.Run
	setup  engine.Setup
	report engine.Report
}

func (r *row) evaluate(e *engine.Evaluator, c changes) (err error) {
	if r.setup, err = c.apply(r, r.run.Setup); err != nil {
		return err
	}
	r.report = e.Evaluate(r.setup)
	return nil
}

// error returns predicted over measured step time, less 1; NaN where one is missing.
func (r *row) error() float64 {
	if r.run.Step <= 0 || r.report.Time == nil {
		return math.NaN()
	}
	return float64(r.report.Time.Step)/r.run.Step - 1
}

// dimensions are the kinds of traffic with a column each, seconds and exposed.
func dimensions() []string {
	return []string{"tp", "cp", "ep", "etp", "dp", "expert-dp", "mirror", "pp"}
}

func writeRows(out *csv.Writer, head bool, rows []row, c changes) error {
	if head {
		names := []string{
			"group", "run", "release", "model", "experts", "gpu", "cluster", "stack", "gpus", "dp", "tp",
			"pp", "vpp", "cp", "ep", "zero", "sp",
			"mbs", "microbatches", "seq", "precision", "schedule", "recompute", "recompute_unknown", "fitted",
			"measured_s", "predicted_s", "error", "compute_s", "recompute_s", "bubble_s", "exposed_s",
			"optimizer_s",
		}
		for _, d := range dimensions() {
			names = append(names, d+"_s", d+"_exposed_s")
		}
		names = append(names, "memory_measured_GiB", "memory_predicted_GiB", "memory_error", "fits", "set")
		if err := out.Write(names); err != nil {
			return err
		}
	}
	for i := range rows {
		if err := out.Write(rows[i].cells(c)); err != nil {
			return err
		}
	}
	return nil
}

func (r *row) cells(c changes) []string {
	s, run := &r.setup, r.run
	cells := []string{
		r.group.ID, run.ID, run.Release, s.Model.ID, strconv.FormatBool(s.Model.IsMoE()), s.Cluster.GPU.ID,
		s.Cluster.ID, string(s.Stack.Resolve()),
	}
	for _, n := range []int{s.GPUs, s.DP, s.TP, s.PP, s.VPP, s.CP, s.EP, s.ZeRO} {
		cells = append(cells, strconv.Itoa(n))
	}
	cells = append(cells, strconv.FormatBool(s.SP), strconv.Itoa(s.MBS), strconv.Itoa(s.MicroBatches),
		strconv.Itoa(s.Seq), string(s.Precision),
		string(s.Schedule), s.Recompute.String(), strconv.FormatBool(run.AnyRecompute),
		strconv.FormatBool(r.group.Fitted))
	times := make([]float64, 8, 8+2*len(dimensions()))
	times[0] = run.Step
	if t := r.report.Time; t != nil {
		copy(times[1:], []float64{
			float64(t.Step), r.error(), float64(t.Compute), float64(t.Recompute), float64(t.Bubble),
			float64(t.Exposed), float64(t.Optimizer),
		})
	}
	for _, d := range dimensions() {
		all, exposed := 0.0, 0.0
		for i := range r.report.Communication {
			if x := &r.report.Communication[i]; x.Dimension == d {
				all, exposed = all+float64(x.Seconds), exposed+float64(x.Exposed)
			}
		}
		times = append(times, all, exposed)
	}
	for _, v := range times {
		cells = append(cells, number(v))
	}
	memory := r.run.PredictedMemory(&r.report)
	off := math.NaN()
	if run.Memory > 0 {
		off = memory/run.Memory - 1
	}
	fits := r.report.Memory != nil && r.report.Memory.Fits
	return append(cells, number(run.Memory), number(memory), number(off), strconv.FormatBool(fits), c.words())
}

// words returns the changes as one cell.
func (c changes) words() string {
	texts := make([]string, len(c))
	for i := range c {
		texts[i] = c[i].String()
	}
	return strings.Join(texts, " ")
}

func number(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// writeSummary writes a line per group, then lines over several groups: runs, mean
// error with its sign, mean, median, nine tenths and largest without. Runs of unknown
// recomputation count as if nothing was recomputed.
func writeSummary(out *csv.Writer, head bool, rows []row, c changes) error {
	if head {
		if err := out.Write([]string{
			"of", "runs", "bias", "mean", "median", "p90", "max",
			"set",
		}); err != nil {
			return err
		}
	}
	var names []string
	lists := map[string][]float64{}
	add := func(name string, v float64) {
		if lists[name] == nil {
			names = append(names, name)
		}
		lists[name] = append(lists[name], v)
	}
	for i := range rows {
		if v := rows[i].error(); !math.IsNaN(v) {
			add(rows[i].group.ID, v)
		}
	}
	for i := range rows {
		if v := rows[i].error(); !math.IsNaN(v) {
			family, _, _ := strings.Cut(rows[i].group.ID, "-")
			s := &rows[i].setup
			add("all "+family, v)
			add(fmt.Sprintf("all %s %s %s %s", kind(s), width(s), s.Cluster.GPU.ID, s.Stack.Resolve()), v)
			add("all", v)
		}
	}
	for _, name := range names {
		list := lists[name]
		off := make([]float64, len(list))
		for i, v := range list {
			off[i] = math.Abs(v)
		}
		cells := []string{name, strconv.Itoa(len(list))}
		for _, v := range []float64{
			published.Mean(list), published.Mean(off), published.Quantile(off, 0.5),
			published.Quantile(off, 0.9), slices.Max(off),
		} {
			cells = append(cells, strconv.FormatFloat(v, 'f', 4, 64))
		}
		if err := out.Write(append(cells, c.words())); err != nil {
			return err
		}
	}
	return nil
}
