package main

import (
	"encoding/csv"
	"strconv"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/presets/published"
)

// writeFits writes for each group how many runs ran or were out of memory and what the
// model says of them, and the sum over all groups.
func writeFits(out *csv.Writer, groups []published.Group, only string) error {
	if err := out.Write([]string{
		"group", "ran", "fits", "tight", "over", "out_of_memory", "fits", "tight", "over", "false_over",
		"caught", "tight_share",
	}); err != nil {
		return err
	}
	all := published.Confusion{Group: "all"}
	e := engine.Evaluator{SkipTimeline: true}
	for i := range groups {
		if !named(groups[i].ID, only) {
			continue
		}
		c, err := published.Confuse(&e, &groups[i], presets.Default())
		if err != nil {
			return err
		}
		if c.Ran.Sum()+c.OutOfMemory.Sum() == 0 {
			continue
		}
		all.Add(c)
		if err := out.Write(fitCells(&c)); err != nil {
			return err
		}
	}
	return out.Write(fitCells(&all))
}

func fitCells(c *published.Confusion) []string {
	cells := []string{c.Group}
	for _, v := range []published.Verdicts{c.Ran, c.OutOfMemory} {
		for _, n := range []int{v.Sum(), v.Fits, v.Tight, v.Over} {
			cells = append(cells, strconv.Itoa(n))
		}
	}
	for _, share := range []float64{c.FalseOver(), c.Caught(), c.Tight()} {
		cells = append(cells, strconv.FormatFloat(share, 'f', 4, 64))
	}
	return cells
}
