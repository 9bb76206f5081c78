package search

import (
	"math"
	"slices"

	"meshscope/engine/knob"
	"meshscope/engine/record"
	find "meshscope/engine/search"
	"meshscope/report"
	"meshscope/report/figure"
)

// column is one column of the table, and of the file that is written of it.
type column = report.Column[row]

// columns returns all columns, in the order of the table.
func columns() []column {
	all := figureColumns()
	for _, k := range []struct {
		id     knob.ID
		head   string
		drop   int
		varied bool
	}{
		{knob.GPUs, "GPUs", 1, true},
		{knob.DP, "DP", 3, false},
		{knob.TP, "TP", 0, false},
		{knob.PP, "PP", 0, false},
		{knob.VPP, "VPP", 4, false},
		{knob.CP, "CP", 2, false},
		{knob.EP, "EP", 1, false},
		{knob.ETP, "ETP", 8, false},
		{knob.ZeRO, "Z", 5, false},
		{knob.MBS, "mbs", 6, false},
		{knob.MicroBatches, "m", 8, false},
		{knob.GBS, "gbs", 1, true},
		{knob.Seq, "seq", 1, true},
		{knob.SP, "SP", 13, false},
		{knob.Recompute, "recompute", 7, false},
		{knob.Schedule, "schedule", 14, false},
	} {
		c := knobColumn(k.id, k.head, k.drop)
		c.OnlyVaried = k.varied
		all = append(all, c)
	}
	all = append(all, column{
		ID: "bubble", Figure: "time.bubble-share", Head: "bubble",
		Help: "bubble, % of the slowest rank's step", Drop: 16, Unit: record.Share,
		Value: func(r *row) float64 { return r.bubble },
	}, column{
		ID: "exposed", Figure: "time.exposed", Head: "comm", Names: []string{"comm"},
		Help: "exposed communication, % of the step",
		Drop: 17, Unit: record.Share, Value: func(r *row) float64 { return r.comm },
	})
	for _, id := range find.Layout() {
		if columnOf(all, string(id)) < 0 {
			c := knobColumn(id, string(id), 1)
			c.OnlyVaried, c.Named = true, true
			all = append(all, c)
		}
	}
	return all
}

// knobColumn returns the column of a knob.
func knobColumn(id knob.ID, head string, drop int) column {
	k, _ := knob.Find(id)
	c := column{ID: string(id), Head: head, Help: k.Help, Drop: drop, Knob: true}
	if id == knob.MicroBatches {
		c.Names = []string{"m"}
	}
	if k.Kind == knob.Number {
		c.Value = func(r *row) float64 {
			n, _ := k.Value(&r.setup).(int)
			return float64(n)
		}
	} else {
		c.Text = func(r *row) string { return k.Text(r.setup) }
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
func figureColumns() []column {
	return []column{
		{
			ID: "rank", Head: "#", Names: []string{"#"},
			Help: "rank among all layouts; ~ before it: too close to the first to call",
			Mark: func(r *row) string {
				if r.close {
					return "~"
				}
				return ""
			},
			Value: func(r *row) float64 { return known(float64(r.rank)) },
		},
		{
			ID: "step", Figure: "time.step", Head: "step", Help: "time of one optimizer step",
			Drop: 9, Unit: record.Seconds,
			Value: func(r *row) float64 { return float64(r.step) },
		},
		{
			ID: "tokens", Head: "tok/s/GPU", Names: []string{"tok", "tok/s/gpu", "speed"},
			Help: "tokens per second per GPU", Unit: record.Tokens, Down: true,
			Value: func(r *row) float64 { return r.perGPU },
		},
		{
			ID: "mfu", Figure: "throughput.mfu", Head: "MFU %", Help: "model FLOPs utilisation, %",
			Drop: 11, Unit: record.Share, Down: true,
			Value: func(r *row) float64 { return r.mfu },
		},
		{
			ID: "peak", Figure: "memory.peak", Head: "GiB", Names: []string{"gib", "memory"},
			Help: "peak memory of the fullest rank, GiB; ? before it: leaves less than 5 % or its " +
				"error band free",
			Unit:  record.Memory,
			Mark:  func(r *row) string { return r.room.mark() },
			Value: func(r *row) float64 { return float64(r.peak) },
		},
		{
			ID: "free", Figure: "memory.free", Head: "free",
			Help: "usable memory that stays free on the fullest rank, GiB",
			Drop: 15, Unit: record.Memory, Down: true, Value: func(r *row) float64 { return float64(r.free) },
		},
		{
			ID: "slow", Head: "slow end", Unit: record.Seconds, Drop: 12, OnlyVaried: true,
			Help: "the step where no unproven overlap works (experts, ZeRO in every micro-batch): what " +
				"layouts are ranked by",
			Text: func(r *row) string {
				if r.slow <= r.step {
					return ""
				}
				return figure.Seconds(r.slow)
			},
			Value: func(r *row) float64 { return float64(max(r.slow, r.step)) },
		},
		{
			ID: "days", Figure: "run.days", Head: "days", Help: "the whole run, days",
			Drop: 1, Unit: record.Days, OnlyVaried: true,
			Value: func(r *row) float64 { return known(r.days) },
		},
		{
			ID: "cost", Figure: "run.cost", Head: "$", Names: []string{"$"},
			Help: "the whole run, US dollars", Drop: 2, Unit: record.Dollars, OnlyVaried: true,
			Value: func(r *row) float64 { return known(r.cost) },
		},
	}
}

// columnOf finds a column by any of its names.
func columnOf(all []column, name string) int {
	return slices.IndexFunc(all,
		func(c column) bool { return c.ID == name || slices.Contains(c.Names, name) })
}
