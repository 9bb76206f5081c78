package report

import (
	"fmt"
	"strings"

	"meshscope/engine/explain"
)

// Explanation returns a figure with its formula and the figures in it, to a depth.
func Explanation(e *explain.Explanation, depth int) *Document {
	facts := Facts{
		{"formula", e.Symbol + " = " + e.Formula},
		{"numbers", "= " + e.Numbers},
		{"result", "= " + e.Text()},
		{"source", e.Source},
	}
	if e.Simulated {
		facts = append(facts, Fact{"how", "simulated: it has no closed form"})
	}
	if e.LeavesOut != "" {
		facts = append(facts, Fact{"leaves out", e.LeavesOut})
	}
	if e.Band != "" {
		facts = append(facts, Fact{"error band", e.Band})
	}
	out := &Document{Title: e.Figure, Sections: []Section{{Blocks: []Block{Line(e.Name), Line(""), facts}}}}
	if parts := partLines(nil, e, depth, 0); len(parts) > 0 {
		out.Sections = append(out.Sections, Section{Heading: "Computed from", Blocks: parts})
	}
	return out
}

// partLines appends the figures in the formula of an explanation, indented by their depth.
func partLines(lines []Block, e *explain.Explanation, depth, level int) []Block {
	if depth == 0 {
		return lines
	}
	indent := strings.Repeat("    ", level)
	for _, p := range e.Parts {
		lines = append(lines, Line(fmt.Sprintf("%s%s = %s  (%s)", indent, p.Figure, p.Text(), p.Name)))
		if depth > 1 {
			lines = append(lines, Line(indent+"  = "+p.Formula), Line(indent+"  = "+p.Numbers))
		}
		lines = partLines(lines, p, depth-1, level+1)
	}
	return lines
}
