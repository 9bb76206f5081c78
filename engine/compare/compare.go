package compare

import (
	"math"
	"slices"

	"meshscope/engine"
	"meshscope/engine/figures"
	"meshscope/engine/record"
)

// Comparison is setup B compared with setup A: what was changed, and what that
// did to every figure of the report.
type Comparison struct {
	A, B    Side
	Changes []Change // in the order of the knobs, model and machine first
	Deltas  []Delta  // by group, in the order of Groups
}

// Side is one of the two setups with its report.
type Side struct {
	Setup  engine.Setup
	Report engine.Report
}

// Group is a part of the report.
type Group string

// Groups of figures, in the order of a Comparison.
const (
	GroupMemory        Group = "memory" // of the fullest rank of either side
	GroupTime          Group = "time"
	GroupRun           Group = "run" // of both sides' tokens
	GroupCommunication Group = "communication"
	GroupThroughput    Group = "throughput"
	GroupPipeline      Group = "pipeline"
)

// Delta is one figure on both sides; nil where a side does not have it, which
// is where that side is illegal, or has nothing of that kind.
type Delta struct {
	Group Group       `json:"group"`
	ID    string      `json:"figure"` // as figures.Find takes it
	Name  string      `json:"name"`
	Unit  record.Unit `json:"unit"`
	A     *float64    `json:"a"`
	B     *float64    `json:"b"`
}

// Change is B - A; false where a side is missing.
func (d *Delta) Change() (float64, bool) {
	if d.A == nil || d.B == nil {
		return 0, false
	}
	return *d.B - *d.A, true
}

// Ratio is B / A; false where a side is missing or below nothing, as the free memory of
// what does not fit, or A is nothing.
func (d *Delta) Ratio() (float64, bool) {
	if d.A == nil || d.B == nil || *d.A <= 0 || *d.B < 0 {
		return 0, false
	}
	return *d.B / *d.A, true
}

// Same says that both sides have the same value to nine digits, or that neither
// has one.
func (d *Delta) Same() bool {
	if d.A == nil || d.B == nil {
		return d.A == nil && d.B == nil
	}
	const digits = 1e-9
	return math.Abs(*d.B-*d.A) <= digits*max(math.Abs(*d.A), math.Abs(*d.B))
}

// Setups evaluates two setups and holds B against A. The reports come without
// timelines.
func Setups(a, b engine.Setup) Comparison {
	e := engine.Evaluator{SkipTimeline: true}
	return Reports(Side{a, e.Evaluate(a)}, Side{b, e.Evaluate(b)})
}

// Reports is Setups for setups that have been evaluated.
func Reports(a, b Side) Comparison {
	c := Comparison{A: a, B: b, Changes: Changes(&a.Setup, &b.Setup)}
	c.A.runOf(b.Setup.Budget)
	c.B.runOf(a.Setup.Budget)
	c.memory()
	c.list(GroupTime, []named{
		{"time.step", "step"},
		{"time.compute", "compute"},
		{"time.recompute", "recompute"},
		{"time.bubble", "bubble"},
		{"time.exposed", "exposed communication"},
		{"time.optimizer", "optimizer"},
		{"time.offload", "offload"},
	})
	c.list(GroupRun, []named{
		{"run.days", "days"},
		{"run.gpu-hours", "GPU-hours"},
		{"run.cost", "cost"},
		{"run.energy", "energy"},
	})
	c.traffic()
	c.list(GroupThroughput, []named{
		{"throughput.tokens-per-second-per-gpu", "tokens/s per GPU"},
		{"throughput.tokens-per-second", "tokens/s"},
		{"throughput.model-tflops-per-gpu", "model TFLOP/s per GPU"},
		{"throughput.mfu", "MFU"},
		{"throughput.hfu", "HFU"},
	})
	c.list(GroupPipeline, []named{
		{"time.bubble-share", "bubble of the slowest rank's step"},
		{"pipeline.bubble-closed-form", "(p-1)/m and its kin, over ideal"},
		{"pipeline.stages", "stages"},
		{"pipeline.microbatches", "micro-batches"},
	})
	return c
}

// runOf computes the whole run of the other side's tokens where this side has none.
func (s *Side) runOf(tokens float64) {
	if plan := s.Setup; s.Report.Run == nil {
		plan.Budget = tokens
		s.Report.Run = engine.WholeRun(&plan, s.Report.Time)
	}
}

// named is a figure and what a row of it is called.
type named struct{ id, name string }

// list adds figures that at least one side has.
func (c *Comparison) list(group Group, rows []named) {
	for _, f := range rows {
		d := Delta{Group: group, ID: f.id, Name: f.name}
		for _, side := range [...]struct {
			report *engine.Report
			into   **float64
		}{{&c.A.Report, &d.A}, {&c.B.Report, &d.B}} {
			if got, ok := figures.Find(side.report, f.id); ok {
				d.Unit, *side.into = got.Unit, &got.Value
			}
		}
		if d.A != nil || d.B != nil {
			c.Deltas = append(c.Deltas, d)
		}
	}
}

// memory adds the terms of the fullest rank, which may be another one on B.
func (c *Comparison) memory() {
	c.list(GroupMemory, []named{
		{figures.FullestRank + "weights", "weights"},
		{figures.FullestRank + "gradients", "gradients"},
		{figures.FullestRank + "optimizer", "optimizer"},
		{figures.FullestRank + "activations", "activations"},
		{figures.FullestRank + "logits", "logits"},
		{figures.FullestRank + "buffers", "buffers"},
		{figures.FullestRank + "overhead", "overhead"},
		{"memory.peak", "total"},
		{"memory.free", "free"},
		{figures.FullestRank + "in-flight", "micro-batches in flight"},
	})
}

// traffic adds what each dimension sends and its exposed part. A legal side that
// does not have a dimension sends nothing in it.
func (c *Comparison) traffic() {
	var seen []string
	for _, r := range [...]*engine.Report{&c.A.Report, &c.B.Report} {
		for i := range r.Communication {
			id := r.Communication[i].Dimension
			if !slices.Contains(seen, id) {
				seen = append(seen, id)
				c.dimension(id)
			}
		}
	}
}

func (c *Comparison) dimension(id string) {
	a, inA := dimensionOf(&c.A.Report, id)
	b, inB := dimensionOf(&c.B.Report, id)
	add := func(what, name string, u record.Unit, of func(*engine.Communication) float64) {
		d := Delta{
			Group: GroupCommunication, ID: "communication." + id + "." + what, Name: id + " " + name,
			Unit: u,
		}
		if inA {
			v := of(&a)
			d.A = &v
		}
		if inB {
			v := of(&b)
			d.B = &v
		}
		c.Deltas = append(c.Deltas, d)
	}
	add("bytes", "sent", record.Traffic, func(c *engine.Communication) float64 { return float64(c.Bytes) })
	add("seconds", "time", record.Seconds, func(c *engine.Communication) float64 {
		return float64(c.Seconds)
	})
	add("exposed", "exposed", record.Seconds, func(c *engine.Communication) float64 {
		return float64(c.Exposed)
	})
}

// dimensionOf returns the traffic of a dimension; false for an illegal setup.
func dimensionOf(r *engine.Report, id string) (engine.Communication, bool) {
	for _, c := range r.Communication {
		if c.Dimension == id {
			return c, true
		}
	}
	return engine.Communication{Dimension: id}, r.Legal
}
