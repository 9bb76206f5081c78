package search

import (
	"slices"
	"strconv"

	"meshscope/engine/knob"
	find "meshscope/engine/search"
	"meshscope/report/figure"
)

// column is one column of the table. Numbers end at the right, words start at
// the left.
type column struct {
	id, head string
	names    []string // other names for it in a filter
	help     string
	drop     int  // of columns that say as much, the larger leaves a table that is too narrow; 0: never
	words    bool // at the left
	knob     bool // a part of the layout, not a figure of it

	onlyVaried bool // no column where all rows agree
	named      bool // a knob that a search leaves as it is: only a comparison asks for it
	text       func(*row) string
	value      func(*row) float64 // of a number
	down       bool               // large values first
}

// columns returns all columns, in the order of the table.
func columns() []column {
	all := slices.Concat(figureColumns(), layoutColumns())
	for _, id := range find.Layout() {
		if k, _ := knob.Find(id); columnOf(all, string(id)) < 0 {
			all = append(all, onlyVaried(column{
				id: string(id), head: string(id), help: k.Help, drop: 1, words: true, knob: true,
				text: func(r *row) string { return k.Text(r.setup) }, named: true,
			}))
		}
	}
	return all
}

// count returns the column of a whole number.
func count(id, head, help string, drop int, of func(*row) int) column {
	return column{
		id: id, head: head, help: help, drop: drop, knob: id != "rank",
		text:  func(r *row) string { return figure.Comma(of(r)) },
		value: func(r *row) float64 { return float64(of(r)) },
	}
}

// share returns the column of a share, in percent.
func share(id, head, help string, drop int, down bool, of func(*row) float64) column {
	return column{
		id: id, head: head, help: help, drop: drop, down: down,
		text:  func(r *row) string { return figure.PercentValue(of(r)) },
		value: func(r *row) float64 { return 100 * of(r) },
	}
}

// figureColumns returns those of what a layout gives.
func figureColumns() []column {
	rank := count("rank", "#", "rank among all layouts; ~ before it: too close to the first to call", 0,
		func(r *row) int { return r.rank })
	rank.text = func(r *row) string {
		if r.rank == 0 {
			return ""
		}
		if r.close {
			return "~" + strconv.Itoa(r.rank)
		}
		return strconv.Itoa(r.rank)
	}
	rank.value = func(r *row) float64 {
		if r.rank == 0 {
			return 1e9 // behind those that are listed
		}
		return float64(r.rank)
	}
	return []column{
		rank,
		{
			id: "step", head: "step", help: "time of one optimizer step, s", drop: 9,
			text:  func(r *row) string { return figure.Seconds(r.step) },
			value: func(r *row) float64 { return float64(r.step) },
		},
		{
			id: "tok", head: "tok/s/GPU", names: []string{"tokens", "tok/s/gpu", "speed"},
			help: "tokens per second per GPU", down: true,
			text:  func(r *row) string { return figure.Three(r.perGPU) },
			value: func(r *row) float64 { return r.perGPU },
		},
		share("mfu", "MFU %", "model FLOPs utilisation, %", 11, true, func(r *row) float64 { return r.mfu }),
		{
			id: "peak", head: "GiB", names: []string{"gib", "memory"}, help: "peak memory of the fullest " +
				"rank, GiB; ? before it: leaves less than 5 % or its error band free",
			text:  func(r *row) string { return r.room.mark() + figure.GiB(r.peak) },
			value: func(r *row) float64 { return r.peak.GiB() },
		},
		{
			id: "free", head: "free", help: "usable memory that stays free on the fullest rank, GiB",
			drop: 15, down: true,
			text:  func(r *row) string { return figure.GiB(r.free) },
			value: func(r *row) float64 { return r.free.GiB() },
		},
		onlyVaried(column{
			id: "slow", head: "slow end", help: "the step where no unproven overlap works (experts, ZeRO " +
				"in every micro-batch), s: what layouts are ranked by", drop: 12,
			text: func(r *row) string {
				if r.slow <= r.step {
					return ""
				}
				return figure.Seconds(r.slow)
			},
			value: func(r *row) float64 { return float64(max(r.slow, r.step)) },
		}),
		onlyVaried(column{
			id: "days", head: "days", help: "the whole run, days", drop: 1,
			text:  func(r *row) string { return orNothing(r.days, figure.Three) },
			value: func(r *row) float64 { return r.days },
		}),
		onlyVaried(column{
			id: "cost", head: "$", names: []string{"$"}, help: "the whole run, US dollars", drop: 2,
			text:  func(r *row) string { return orNothing(r.cost, figure.Short) },
			value: func(r *row) float64 { return r.cost },
		}),
	}
}

// layoutColumns returns those of what a layout is, and of its waiting.
func layoutColumns() []column {
	return []column{
		onlyVaried(count("gpus", "GPUs", "GPUs", 1, func(r *row) int { return r.setup.GPUs })),
		count("dp", "DP", "data-parallel degree", 3, func(r *row) int { return r.setup.DP }),
		count("tp", "TP", "tensor-parallel degree", 0, func(r *row) int { return r.setup.TP }),
		count("pp", "PP", "pipeline-parallel degree", 0, func(r *row) int { return r.setup.PP }),
		count("vpp", "VPP", "stages per pipeline rank", 4, func(r *row) int { return r.setup.VPP }),
		count("cp", "CP", "context-parallel degree", 2, func(r *row) int { return r.setup.CP }),
		count("ep", "EP", "expert-parallel degree", 1, func(r *row) int { return r.setup.EP }),
		count("etp", "ETP", "tensor parallelism of the experts", 8, func(r *row) int { return r.setup.ETP }),
		count("zero", "Z", "ZeRO stage", 5, func(r *row) int { return r.setup.ZeRO }),
		count("mbs", "mbs", "sequences of a micro-batch", 6, func(r *row) int { return r.setup.MBS }),
		count("m", "m", "micro-batches per pipeline and step", 8,
			func(r *row) int { return r.setup.MicroBatches }),
		onlyVaried(count("gbs", "gbs", "sequences of a step", 1, func(r *row) int { return r.setup.GBS })),
		onlyVaried(count("seq", "seq", "tokens of a sequence", 1, func(r *row) int { return r.setup.Seq })),
		{
			id: "sp", head: "SP", help: "sequence parallelism", drop: 13, words: true, knob: true,
			text: func(r *row) string { return figure.OnOff(r.setup.SP) },
		},
		{
			id: "recompute", head: "recompute", help: "what runs again", drop: 7, words: true, knob: true,
			text: func(r *row) string { return r.setup.Recompute.String() },
		},
		{
			id: "schedule", head: "schedule", help: "pipeline schedule", drop: 14, words: true, knob: true,
			text: func(r *row) string { return string(r.setup.Schedule) },
		},
		share("bubble", "bubble", "bubble, % of the slowest rank's step", 16, false,
			func(r *row) float64 { return r.bubble }),
		share("comm", "comm", "exposed communication, % of the step", 17, false,
			func(r *row) float64 { return r.comm }),
	}
}

// orNothing writes a figure that may be unknown.
func orNothing(v float64, write func(float64) string) string {
	if v == 0 {
		return ""
	}
	return write(v)
}

func onlyVaried(c column) column {
	c.onlyVaried = true
	return c
}

// columnOf finds a column by any of its names.
func columnOf(all []column, name string) int {
	return slices.IndexFunc(all, func(c column) bool {
		return c.id == name || slices.Contains(c.names, name) || name == "#" && c.id == "rank" ||
			name == "microbatches" && c.id == "m"
	})
}
