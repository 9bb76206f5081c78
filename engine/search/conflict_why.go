package search

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/engine/knob"
)

// Alone says what a single constraint does.
func (c *Conflict) Alone() string {
	if c.Tried && len(c.Frees) == 0 {
		return "excludes every layout by itself; dropping it is not enough, because other constraints " +
			"exclude all layouts too"
	}
	return "excludes every layout by itself"
}

// Together says what several constraints do, and how far that is known.
func (c *Conflict) Together() string {
	const none = "exclude every layout"
	switch {
	case c.Partial:
		return none + "; no time was left to find out which of them suffice"
	case !c.Tried:
		return none + ", whichever others are dropped"
	case len(c.Frees) == len(c.Fields):
		return none + "; dropping any one of them leaves some"
	case len(c.Frees) == 0:
		return none + "; dropping one of them is not enough, because other constraints exclude all layouts " +
			"too"
	}
	names := make([]string, len(c.Frees))
	for i, field := range c.Frees {
		names[i] = field
		switch knob.ID(field) {
		case "memory":
			names[i] = "the memory limit"
		case knob.GBS:
			names[i] = "the batch"
		case "headroom", "deadline", knob.Split:
			names[i] = "the " + field
		case "launchers":
			names[i] = "the launchers' rules"
		default:
		}
	}
	return none + "; dropping " + strings.Join(names, " or ") + " leaves some, dropping another does not"
}

// Why returns the arithmetic behind a list of several constraints where it is plain: degrees
// that do not divide the GPUs, copies that do not divide the batch. Empty elsewhere.
func (c *Conflict) Why(p *Problem) string {
	if len(c.Fields) < 2 {
		return ""
	}
	gpus, gbs := or(p.Space.GPUs, p.Setup.GPUs), or(p.Space.GBS, p.Setup.GBS)
	product, names, numbers := 1, []string{}, []string{}
	divide := []knob.ID{knob.DP, knob.TP, knob.PP, knob.CP, knob.MBS, knob.GBS}
	for _, field := range c.Fields {
		list := p.Space.numbers(field)
		if field == string(knob.GBS) {
			list = &gbs
		}
		if list == nil || len(*list) != 1 || !slices.Contains(divide, knob.ID(field)) {
			return ""
		}
		if field != string(knob.GBS) {
			product *= (*list)[0]
			names, numbers = append(names, field), append(numbers, fmt.Sprint((*list)[0]))
		}
	}
	of, what := gpus, "GPUs"
	if slices.Contains(c.Fields, string(knob.GBS)) || slices.Contains(c.Fields, string(knob.MBS)) {
		if slices.ContainsFunc(names,
			func(name string) bool { return name != string(knob.DP) && name != string(knob.MBS) }) {
			return ""
		}
		of, what = gbs, "sequences of the batch"
	}
	if len(of) != 1 || product < 1 || of[0]%product == 0 {
		return ""
	}
	left := numbers[0]
	if len(numbers) > 1 {
		left = strings.Join(numbers, " x ") + " = " + fmt.Sprint(product)
	}
	return fmt.Sprintf("%s = %s does not divide the %d %s", strings.Join(names, " x "), left, of[0], what)
}
