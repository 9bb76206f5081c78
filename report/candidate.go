package report

import (
	"math"
	"slices"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/record"
	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/report/figure"
)

// Candidate is one layout of a list, with the figures that its columns show. The rest of its
// report can be computed again, and a hundred of them would be megabytes.
type Candidate struct {
	Setup engine.Setup
	Rank  int  // 1 is the best; 0: it is not among those listed
	Close bool // too close to the first to call
	Front bool // no other has both more speed and less memory
	Room
	Current bool // that of the setup at hand
	Last    bool // stands behind all that have a rank
	Refused bool // some launcher rejects it

	Step              units.Seconds
	Slow              units.Seconds // the step where no unproven overlap works: what layouts are ranked by
	PerGPU, MFU       float64       // tokens per second per GPU; share of the peak
	Peak              units.Bytes
	Bubble, Exposed   float64 // idle time of the slowest rank and exposed communication over the step
	Days, Hours, Cost float64 // of the whole run, hours of GPUs; 0: unknown
}

// NewCandidate returns the layout of a report whose step has that slow end.
func NewCandidate(s *engine.Setup, r *engine.Report, slow units.Seconds, rank int) Candidate {
	out := Candidate{Setup: *s, Rank: rank, Refused: knob.LauncherRejects(r.Problems)}
	if r.Memory == nil || r.Time == nil || r.Throughput == nil || r.Pipeline == nil {
		return out
	}
	m := r.Memory
	out.Room, out.Peak = NewRoom(m), m.Peak
	out.Step, out.PerGPU, out.MFU = r.Time.Step, r.Throughput.TokensPerSecondPerGPU, r.Throughput.MFU
	out.Slow = slow
	out.Bubble = BubbleOfStep(r)
	if r.Run != nil {
		out.Spend(r.Run)
	}
	if r.Time.Step > 0 {
		out.Exposed = float64(r.Time.Exposed / r.Time.Step)
	}
	return out
}

// Speed returns what layouts are ranked by: tokens per second per GPU at the slow end.
func (r *Candidate) Speed() float64 {
	if r.Slow <= 0 {
		return r.PerGPU
	}
	return r.PerGPU * float64(r.Step/r.Slow)
}

// Spend takes in what the whole run takes.
func (r *Candidate) Spend(run *engine.Run) {
	if r.Days, r.Hours, r.Cost = run.Days, run.GPUHours, 0; run.Cost != nil {
		r.Cost = *run.Cost
	}
}

// CandidateColumns returns all columns of a list of layouts, in the order of a screen.
func CandidateColumns() []Column[Candidate] {
	all := figureColumns()
	for _, k := range []struct {
		id             knob.ID
		head           string
		drop           int
		varied, degree bool
	}{
		{knob.GPUs, "GPUs", 1, true, false},
		{knob.DP, "DP", 3, false, true},
		{knob.TP, "TP", 0, false, true},
		{knob.PP, "PP", 0, false, true},
		{knob.VPP, "VPP", 4, false, true},
		{knob.CP, "CP", 2, false, true},
		{knob.EP, "EP", 1, false, true},
		{knob.ETP, "ETP", 8, false, true},
		{knob.ZeRO, "Z", 5, false, false},
		{knob.MBS, "mbs", 6, false, false},
		{knob.MicroBatches, "m", 8, false, false},
		{knob.GBS, "gbs", 1, true, false},
		{knob.Seq, "seq", 1, true, false},
		{knob.SP, "SP", 13, false, false},
		{knob.Recompute, "recompute", 7, false, false},
		{knob.Schedule, "schedule", 14, false, false},
	} {
		c := columnOfKnob(k.id, k.head, k.drop)
		c.OnlyVaried, c.Degree = k.varied, k.degree
		all = append(all, c)
	}
	all = append(all, Column[Candidate]{
		ID: "bubble", Aside: true, Figure: "time.bubble-share", Head: "bubble",
		Help: "bubble, % of the slowest rank's step", Drop: 16, Unit: record.Share,
		Value: func(r *Candidate) float64 { return r.Bubble },
	}, Column[Candidate]{
		ID: "exposed", Aside: true, Figure: "time.exposed", Head: "comm", Names: []string{"comm"},
		Help: "exposed communication, % of the step",
		Drop: 17, Unit: record.Share, Value: func(r *Candidate) float64 { return r.Exposed },
	})
	for _, id := range search.Layout() {
		if ColumnOf(all, string(id)) < 0 {
			c := columnOfKnob(id, string(id), 1)
			c.OnlyVaried, c.Named = true, true
			all = append(all, c)
		}
	}
	return all
}

// columnOfKnob returns the column of a knob.
func columnOfKnob(id knob.ID, head string, drop int) Column[Candidate] {
	k, _ := knob.Find(id)
	c := Column[Candidate]{ID: string(id), Head: head, Help: k.Help, Drop: drop, Knob: true}
	if id == knob.MicroBatches {
		c.Names = []string{"m"}
	}
	if k.Kind == knob.Number {
		c.Value = func(r *Candidate) float64 {
			n, _ := k.Value(&r.Setup).(int)
			return float64(n)
		}
	} else {
		c.Text, c.Choices = func(r *Candidate) string { return k.Text(r.Setup) }, k.Choices
		if id == knob.Recompute {
			c.Choices = append(slices.Clone(c.Choices), "full:", "modules:")
		}
	}
	return c
}

// known returns a value that is never 0; NaN where it is.
func known(v float64) float64 {
	if v == 0 {
		return math.NaN()
	}
	return v
}

// figureColumns returns those of what a layout gives.
func figureColumns() []Column[Candidate] {
	return []Column[Candidate]{
		{
			ID: "rank", Head: "#", Names: []string{"#"},
			Help: "rank among all layouts; ~ before it: too close to the first to call; *: some launcher " +
				"rejects it",
			Mark: func(r *Candidate) string {
				mark := ""
				if r.Close {
					mark = "~"
				}
				if r.Refused {
					mark += "*"
				}
				return mark
			},
			Value: func(r *Candidate) float64 { return known(float64(r.Rank)) },
		},
		{
			ID: "step", Figure: "time.step", Head: "step", Help: "time of one optimizer step",
			Drop: 9, Unit: record.Seconds,
			Value: func(r *Candidate) float64 { return float64(r.Step) },
		},
		{
			ID: "tokens", Head: "tok/s/GPU", Names: []string{"tok", "tok/s/gpu", "speed"},
			Help: "tokens per second per GPU", Unit: record.Tokens, Down: true,
			Value: func(r *Candidate) float64 { return r.PerGPU },
		},
		{
			ID: "mfu", Figure: "throughput.mfu", Head: "MFU %", Help: "model FLOPs utilisation, %",
			Drop: 11, Unit: record.Share, Down: true,
			Value: func(r *Candidate) float64 { return r.MFU },
		},
		{
			ID: "peak", Figure: "memory.peak", Head: "GiB", Names: []string{"gib", "memory"},
			Help: "peak memory of the fullest rank, GiB; ? before it: leaves less than 5 % or its " +
				"error band free",
			Unit: record.Memory,
			Mark: func(r *Candidate) string {
				if r.Fits && !r.Sure {
					return "?"
				}
				return ""
			},
			Value: func(r *Candidate) float64 { return float64(r.Peak) },
		},
		{
			ID: "free", Figure: "memory.free", Head: "free GiB",
			Help: "usable memory that stays free on the fullest rank, GiB",
			Drop: 15, Unit: record.Memory, Down: true,
			Value: func(r *Candidate) float64 { return float64(r.Free) },
		},
		{
			ID: "slow", Head: "slow end", Unit: record.Seconds, Drop: 12, OnlyVaried: true,
			Help: "the step where no unproven overlap works (experts, ZeRO in every micro-batch): what " +
				"layouts are ranked by",
			Text: func(r *Candidate) string {
				if r.Slow <= r.Step {
					return ""
				}
				return figure.Seconds(r.Slow)
			},
			Value: func(r *Candidate) float64 { return float64(max(r.Slow, r.Step)) },
		},
		{
			ID: "days", Figure: "run.days", Head: "days", Help: "the whole run, days",
			Drop: 1, Unit: record.Days, OnlyVaried: true,
			Value: func(r *Candidate) float64 { return known(r.Days) },
		},
		{
			ID: "hours", Figure: "run.gpu-hours", Head: "GPU-hours", Help: "the whole run, hours of GPUs",
			Drop: 2, Unit: record.Hours, OnlyVaried: true,
			Value: func(r *Candidate) float64 { return known(r.Hours) },
		},
		{
			ID: "cost", Figure: "run.cost", Head: "$", Names: []string{"$"},
			Help: "the whole run, US dollars", Drop: 2, Unit: record.Dollars, OnlyVaried: true,
			Value: func(r *Candidate) float64 { return known(r.Cost) },
		},
	}
}
