package search

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/knob"
	find "meshscope/engine/search"
	"meshscope/launch"
	"meshscope/report/figure"
)

// ruledOut says why the problem of a line has no answer: the memory that it takes at
// least, or what was asked for that leaves no legal layout, as a search says it.
func ruledOut(ctx context.Context, p find.Problem, of *query) string {
	least := p
	least.AnyMemory, least.Headroom, least.Objective = true, 0, find.LeastMemory
	if r := find.Run(ctx, least, nil); len(r.Best) > 0 {
		m := r.Best[0].Report.Memory
		text := fmt.Sprintf("needs at least %s GiB, %s are usable", figure.GiB(m.Peak), figure.GiB(m.Usable))
		if m.HostOver() > 0 {
			text = m.Reason
		}
		if m.Fits {
			text += fmt.Sprintf(" and %s stay free", figure.Percent(p.Headroom))
		}
		return text
	}
	c := find.Explain(ctx, p, nil)
	switch {
	case c == nil:
		return "not known: the search was stopped"
	case len(c.Fields) == 0:
		return "no legal layout of the model on these GPUs, even with all other constraints relaxed"
	}
	whole := of.problem()
	refusal := ""
	var own, rest []string
	for _, name := range c.Fields {
		if name == "launchers" {
			if refusal = refusalWords(ctx, p); refusal != "" {
				continue
			}
		}
		if given, line := spaceText(&whole.Space, name), spaceText(&p.Space, name); given != line {
			own = append(own, strings.TrimSpace(strings.ToUpper(name)+" "+line))
			continue
		}
		rest = append(rest, guideReason(name, &p, of))
	}
	text := "no legal layout"
	if refusal != "" {
		if text = refusal; len(rest) > 0 {
			text += "; with " + strings.Join(rest, " and ")
		}
	} else if len(rest) > 0 {
		text += " with " + strings.Join(rest, " and ")
	} else {
		text += " with " + strings.Join(own, ", ") + ", even with all other constraints relaxed"
	}
	if why := c.Why(&p); why != "" {
		text += ": " + why
	}
	return text
}

// refusalWords returns what launchers reject of the best layout that they do.
func refusalWords(ctx context.Context, p find.Problem) string {
	p.Space.Refused, p.Space.Accepts, p.Space.WriteSplit = true, nil, nil
	p.AnyMemory, p.Headroom = true, 0
	if r := find.Run(ctx, p, nil); len(r.Best) > 0 {
		if l := launch.Of(p.Setup.Stack); l != nil {
			if refusals := l.Refusals(&r.Best[0].Setup); len(refusals) > 0 {
				return l.Name + ": " + refusals[0].Because
			}
		}
		return knob.LauncherRejection(r.Best[0].Report.Problems)
	}
	return ""
}

// spaceText returns what a problem asks of a knob that a line of the guide may limit.
func spaceText(sp *find.Space, name string) string {
	if name == string(knob.Recompute) {
		words := make([]string, len(sp.Recompute))
		for i, r := range sp.Recompute {
			words[i] = r.String()
		}
		return strings.Join(words, ", ")
	}
	list := map[knob.ID][]int{
		knob.TP: sp.TP, knob.PP: sp.PP, knob.CP: sp.CP, knob.EP: sp.EP,
		knob.ZeRO: sp.ZeRO, knob.MBS: sp.MBS,
	}[knob.ID(name)]
	switch len(list) {
	case 0:
		return ""
	case 1:
		return strconv.Itoa(list[0])
	default:
		return fmt.Sprintf("%d to %d", slices.Min(list), slices.Max(list))
	}
}

// guideReason returns something that was asked for next to the line.
func guideReason(name string, p *find.Problem, of *query) string {
	switch knob.ID(name) {
	case knob.GBS:
		if n := len(p.Space.GBS); n > 1 {
			return "any batch of step 2 (" + figure.Comma(slices.Min(p.Space.GBS)) + " to " +
				figure.Comma(slices.Max(p.Space.GBS)) + ")"
		}
		return "a batch of " + figure.Comma(p.Setup.GBS)
	case "launchers":
		return "only what launchers run (f: layouts)"
	case knob.Schedule:
		return "schedules " + of.chosen[schedules]
	default:
	}
	if k, ok := field(name); ok {
		return k.label() + " " + of.chosen[k]
	}
	return name
}
