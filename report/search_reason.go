package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/report/figure"
)

// Reason is why nothing was found, in one sentence.
func (o *Search) Reason() string {
	c := o.Conflict
	if c == nil {
		return ""
	}
	if len(c.Fields) == 0 {
		return "the model has no legal layout on this machine, whatever else is given up"
	}
	words := make([]string, len(c.Fields))
	for i, f := range c.Fields {
		words[i] = o.constraint(f)
	}
	if len(words) == 1 {
		return words[0] + " " + c.Alone()
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1] + " together " + c.Together()
}

// constraint says one thing that was asked for.
func (o *Search) constraint(field string) string {
	p := &o.Problem
	switch knob.ID(field) {
	case "memory":
		return fmt.Sprintf("the %.1f GiB of memory that a GPU has to use", p.Setup.Cluster.GPU.MemoryUsable.GiB())
	case "headroom":
		return fmt.Sprintf("a headroom of %s (--headroom, which leaves %s)", figure.FinePercent(p.Headroom), figure.Memory(p.Setup.Cluster.GPU.MemoryUsable*units.Bytes(1-p.Headroom)))
	case "deadline":
		return o.deadline() + " (--deadline)"
	case "launchers":
		return "leaving out what some launcher refuses (--refused lets it in)"
	case knob.GBS:
		if o.Query.UnsetBatch {
			return fmt.Sprintf("a global batch of %s sequences, which is taken as nobody said one (--gbs says another)", span(o.Problem.BatchesTried(&o.Result)))
		}
		return fmt.Sprintf("a global batch of %s sequences (--gbs)", span(p.Space.GBS))
	default:
	}
	return "--" + field + " " + escape.Line(o.Query.Text(knob.ID(field), &o.Problem.Setup))
}

// nothing says why there is no layout: the shortest list of what excludes them all, and
// the layout with the least memory where that is among it.
func (o *Search) nothing() Section {
	c := o.Conflict
	if c == nil {
		return Section{Heading: "Nothing found", Lead: "in the time there was; --time gives more"}
	}
	out := Section{Heading: o.failure()}
	if c.Partial {
		out.Lead = "and the time ended before it was known why (--time gives more)"
	}
	out.say(capital(o.Reason()) + ".")
	for _, field := range c.Fields {
		if rule := o.rule(field); rule != "" {
			out.add(Detail(field + ": " + rule))
		}
	}
	if rest := c.Why(&o.Problem); rest != "" {
		out.add(Detail(rest))
	}
	o.closest(&out)
	return out
}

// failure is the heading where nothing was found.
func (o *Search) failure() string {
	slow := slices.Contains(o.Conflict.Fields, "deadline")
	switch c := o.Conflict; {
	case !o.NoFit():
		return "No legal layout"
	case slow && (c.Partial || slices.Contains(c.Fields, "memory") || slices.Contains(c.Fields, "headroom")):
		return "Nothing fits in time"
	case slow:
		return "Nothing is fast enough"
	}
	return "Nothing fits"
}

// NoFit says whether there are legal layouts, but none within the limits.
func (o *Search) NoFit() bool {
	return slices.ContainsFunc(o.Conflict.Fields, func(field string) bool {
		return slices.Contains([]string{"memory", "headroom", "deadline"}, field)
	})
}

// closest is the layout that comes nearest to what was asked, and what would help.
func (o *Search) closest(s *Section) {
	c, near := o.Conflict, cmp.Or(o.Fastest, o.Conflict.Least)
	if near == nil {
		return
	}
	m, which, value := near.Report.Memory, "", ""
	if o.Fastest != nil {
		which = "The fastest layout that meets everything else"
		if o.FastestSoFar {
			which = "The fastest layout found in the time there was, of those that meet everything else,"
		}
		value = fmt.Sprintf("takes %s (error: %s)", figure.Lasting(units.Seconds(near.Report.Run.Days*86400)), near.Report.Time.Band("within "))
	} else {
		which = "The least that a layout needs which meets everything else"
		if c.LeastSoFar {
			which = "The least found in the time there was, of the layouts that meet everything else,"
		}
		more := ""
		if m.Peak > m.Usable {
			more = fmt.Sprintf(", %.1f more than it has", (m.Peak - m.Usable).GiB())
		}
		value = fmt.Sprintf("is %.1f GiB on the fullest GPU%s (error: %s)", m.Peak.GiB(), more, m.Band("within "))
	}
	s.say(which + " " + value + ":")
	if command := EvalCommand(near.Setup, o.Library); command != "" {
		s.add(Command(command))
	}
	if len(c.Helps) > 0 {
		s.say("What the search did not look at by itself has layouts that fit: --" + strings.Join(c.Helps, ", --") + ".")
	}
	switch fewest := o.Problem.Objective != search.FewestGPUs; {
	case fewest && o.Fastest != nil && !slices.Contains(c.Fields, "memory"):
		s.say("--objective fewest-gpus, without --gpus and --nodes, says how many GPUs meet the deadline.")
	case fewest && slices.Contains(c.Fields, "memory") && o.Fastest == nil:
		s.say("--objective fewest-gpus, without --gpus and --nodes, says how many GPUs hold it.")
	}
}

// rule is what the legality of a layout says about the one value of a knob.
func (o *Search) rule(field string) string {
	text, one := o.Query.Single(knob.ID(field))
	gpus := o.Problem.Space.GPUs
	if n, err := strconv.Atoi(text); field == string(knob.DP) && len(gpus) == 1 && err == nil && gpus[0]%n != 0 {
		return fmt.Sprintf("%d copies do not divide the %s GPUs", n, figure.Comma(gpus[0]))
	}
	if field == string(knob.Split) {
		given := o.Problem.Setup.Split
		if _, err := layout.ParseSplit(given, strings.Count(given, ",")+1, o.Problem.Setup.Model.Layers); err != nil {
			return escape.Line(err.Error())
		}
		return ""
	}
	if !one || !slices.Contains([]knob.ID{knob.TP, knob.PP, knob.CP, knob.EP, knob.ETP, knob.VPP, knob.ZeRO}, knob.ID(field)) {
		return ""
	}
	s, err := knob.Turn(o.Problem.Setup, knob.ID(field), text, knob.Locks{GPUs: true, Batch: true})
	if err != nil {
		return ""
	}
	for _, p := range engine.Evaluate(s).Problems {
		if p.Severity == layout.Error && p.Field == field {
			return p.Message
		}
	}
	return ""
}
