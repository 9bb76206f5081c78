package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"meshscope/engine/knob"
)

// numbers returns the list of a knob of numbers in the space; nil for any other knob.
func (sp *Space) numbers(field string) *[]int {
	return map[knob.ID]*[]int{
		knob.DP: &sp.DP, knob.TP: &sp.TP, knob.PP: &sp.PP, knob.CP: &sp.CP, knob.EP: &sp.EP,
		knob.ETP: &sp.ETP, knob.VPP: &sp.VPP,
		knob.MBS: &sp.MBS, knob.MicroBatches: &sp.MicroBatches, knob.GBS: &sp.GBS,
	}[knob.ID(field)]
}

// mostNearest is how many values are tried for the nearest one of a knob.
const mostNearest = 64

// nearest finds for each reason that is one number the nearest one, by ratio, at which everything else
// that is asked for leaves layouts.
func (e *explainer) nearest(c *Conflict, p *Problem) {
	all := p.constraints()
	for _, field := range c.Fields {
		list := p.Space.numbers(field)
		if list == nil || len(*list) != 1 {
			continue
		}
		given := (*list)[0]
		of, around := p.nearValues(field),
			func(n int) float64 { return math.Abs(math.Log(float64(n) / float64(given))) }
		of = slices.DeleteFunc(of, func(n int) bool { return n == given })
		slices.SortStableFunc(of, func(a, b int) int { return cmp.Compare(around(a), around(b)) })
		for _, n := range of[:min(len(of), mostNearest)] {
			q := *p
			*q.Space.numbers(field) = []int{n}
			if e.excludes(&q, all, all) == no {
				if c.Nearest == nil {
					c.Nearest = map[string]int{}
				}
				c.Nearest[field] = n
				break
			}
		}
	}
}

// nearValues returns what a knob of numbers may have instead of what it has.
func (p *Problem) nearValues(field string) []int {
	switch knob.ID(field) {
	case knob.GBS:
		return p.anyBatch()
	case knob.MBS, knob.MicroBatches:
		return divisorsOf(p.Batches())
	case knob.VPP:
		return upTo(1, min(p.Setup.Model.Layers, maxChoices))
	default:
		return divisorsOf(or(p.Space.GPUs, p.Setup.GPUs))
	}
}

// NearestWords lists the nearest values of Nearest, each after a prefix: --gbs 112 or --microbatches 8.
func (c *Conflict) NearestWords(prefix string) string {
	var out []string
	for _, field := range c.Fields {
		if n, ok := c.Nearest[field]; ok {
			out = append(out, fmt.Sprintf("%s%s %d", prefix, field, n))
		}
	}
	return strings.Join(out, " or ")
}

// whyNone tells why no layout of a query is legal, and the nearest values with which one is; empty
// where that is unknown.
func (q *Query) whyNone(c *Conflict) string {
	switch {
	case c == nil:
		return ""
	case len(c.Given) > 0:
		return c.Given[0].Message
	case len(c.Fields) == 0:
		return "the model has none on this machine"
	}
	var fields []string
	for _, field := range c.Fields {
		text := field + " " + q.Text(knob.ID(field), &q.Setup)
		switch {
		case field == string(knob.GBS) && q.UnsetBatch:
			text = fmt.Sprintf("the default batch of %d sequences", c.batch)
		case field == "launchers":
			text = "the launcher's rules"
		}
		fields = append(fields, text)
	}
	verb := " excludes all"
	if len(fields) > 1 {
		verb = " together exclude all"
	}
	why := strings.Join(fields, " and ") + verb
	if near := c.NearestWords(""); near != "" {
		why += "; nearest " + near
	}
	return why
}
