package report

import (
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

// Reason returns why nothing was found, in one sentence.
func (o *Search) Reason() string {
	c := o.Conflict
	if c == nil {
		return ""
	}
	if len(c.Given) > 0 {
		return o.illegal()
	}
	if len(c.Fields) == 0 {
		return "the model has no legal layout on this machine, even with any constraint dropped"
	}
	words := make([]string, len(c.Fields))
	for i, f := range c.Fields {
		words[i] = o.constraint(f)
	}
	text := words[0] + " " + c.Alone()
	if n := len(words) - 1; n > 0 {
		text = strings.Join(words[:n], ", ") + " and " + words[n] + " together " + c.Together()
	}
	if o.Missed != nil {
		text += ": " + MissedWords(o.Missed, o.Problem.Deadline)
	}
	return text
}

// illegal tells what excludes every layout because no layout changes it, with the nearest value.
func (o *Search) illegal() string {
	var words []string
	for _, p := range o.Conflict.Given {
		text := "--" + p.Field + " " + escape.Line(o.Query.Text(knob.ID(p.Field), &o.Problem.Setup)) + ": " +
			p.Message
		if near, ok := p.Nearest[p.Field]; ok {
			text += "; nearest: --" + nearestOne(p.Field, near)
		}
		words = append(words, text)
	}
	return strings.Join(words, "; ")
}

// constraint describes one constraint of the search.
func (o *Search) constraint(field string) string {
	p := &o.Problem
	switch knob.ID(field) {
	case "memory":
		text := fmt.Sprintf("the usable memory of %.1f GiB per GPU", p.Setup.Cluster.GPU.MemoryUsable.GiB())
		if c := o.Conflict; c.Least != nil && c.Least.Report.Memory.HostOver() > 0 {
			text += fmt.Sprintf(" (and %.1f GiB of host memory per node)", p.Setup.Cluster.HostMemory.GiB())
		}
		return text
	case "headroom":
		return fmt.Sprintf("a headroom of %s (--headroom, which leaves %s)", figure.FinePercent(p.Headroom),
			figure.Memory(p.Setup.Cluster.GPU.MemoryUsable*units.Bytes(1-p.Headroom)))
	case "deadline":
		return o.deadline() + " (--deadline)"
	case "launchers":
		return "leaving out layouts that some launcher rejects (--launcher any includes them)"
	case knob.GBS:
		if o.Query.UnsetBatch {
			return fmt.Sprintf("the default global batch of %s (choose another with --gbs)",
				sequences(o.Problem.BatchesTried(&o.Result)))
		}
		return fmt.Sprintf("a global batch of %s (--gbs)", sequences(p.Space.GBS))
	default:
	}
	return "--" + field + " " + escape.Line(o.Query.Text(knob.ID(field), &o.Problem.Setup))
}

// nothing tells why there is no layout: the shortest list of constraints that exclude all,
// and the layout that comes closest.
func (o *Search) nothing() Section {
	c := o.Conflict
	if c == nil {
		return Section{Heading: "Nothing found", Lead: "before the time ended; give more with --time"}
	}
	out := Section{Heading: o.failure()}
	if c.Partial {
		out.Lead = "and the time ended before the reason was found (give more with --time)"
	}
	out.say(capital(o.Reason()) + ".")
	if near := c.NearestWords("--"); near != "" {
		out.add(Detail("nearest: " + near))
	}
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

// failure returns the heading of a search without a result.
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

// NoFit reports whether there are legal layouts, but none within the limits.
func (o *Search) NoFit() bool {
	return slices.ContainsFunc(o.Conflict.Fields, func(field string) bool {
		return slices.Contains([]string{"memory", "headroom", "deadline"}, field)
	})
}

// closest adds the layout that comes closest to the constraints, and what would help.
func (o *Search) closest(s *Section) {
	c, near := o.Conflict, o.Conflict.Least
	timed := o.Missed != nil && o.Missed.Fastest != nil
	if timed {
		near = o.Missed.Fastest
	}
	if near == nil {
		return
	}
	m, which, value := near.Report.Memory, "", ""
	if timed {
		which = "The fastest layout that meets all other constraints"
		if o.Missed.FastestSoFar {
			which = "The fastest layout found so far that meets all other constraints"
		}
		value = fmt.Sprintf("takes %s %s", figure.Lasting(units.Seconds(near.Report.Run.Days*86400)),
			near.Report.Time.Band("±"))
	} else {
		which = "The smallest layout that meets all other constraints"
		if c.LeastSoFar {
			which = "The smallest layout found so far that meets all other constraints"
		}
		more := ""
		if m.Peak > m.Usable {
			more = fmt.Sprintf(", %.1f GiB more than usable", (m.Peak - m.Usable).GiB())
		}
		if words := m.HostWords(); words != "" {
			more += "; " + words
		}
		value = fmt.Sprintf("needs %.1f GiB %s on the fullest GPU%s", m.Peak.GiB(), m.Band("±"), more)
	}
	s.say(which + " " + value + ":")
	if command := EvalCommand(near.Setup, o.Library); command != "" {
		s.add(Command(command))
	}
	if len(c.Helps) > 0 {
		s.say("Outside the default search space there are layouts that fit: --" + strings.Join(c.Helps,
			", --") + ".")
	}
	switch {
	case o.Machine != "":
		s.say(capital(o.Machine) + ".")
	case o.Problem.Objective != search.FewestGPUs && slices.Contains(c.Fields, "memory") && !timed:
		s.say("To find how many GPUs are enough, use --objective fewest-gpus without --gpus and --nodes.")
	}
}

// rule returns why the only value of a knob is illegal; "" if it is not.
func (o *Search) rule(field string) string {
	text, one := o.Query.Single(knob.ID(field))
	gpus := o.Problem.Space.GPUs
	if n, err := strconv.Atoi(text); field == string(knob.DP) && len(gpus) == 1 && err == nil &&
		gpus[0]%n != 0 {
		return fmt.Sprintf("%d replicas do not divide the %s", n, figure.Plural(gpus[0], "GPU"))
	}
	if field == string(knob.Split) {
		given := o.Problem.Setup.Split
		if _, err := layout.ParseSplit(given, strings.Count(given, ",")+1,
			o.Problem.Setup.Model.Layers); err != nil {
			return escape.Line(err.Error())
		}
		return ""
	}
	if !one || !slices.Contains([]knob.ID{knob.TP, knob.PP, knob.CP, knob.EP, knob.ETP, knob.VPP, knob.ZeRO},
		knob.ID(field)) {
		return ""
	}
	s, err := knob.Turn(o.Problem.Setup, knob.ID(field), text, knob.Locks{GPUs: true, Batch: true})
	if err != nil {
		return ""
	}
	for _, p := range engine.Evaluate(s).Problems {
		if p.Severity != layout.Error || p.Field != field {
			continue
		}
		if near, ok := p.Nearest[field]; ok && len(p.Nearest) == 1 {
			return p.Message + "; nearest: --" + nearestOne(field, near)
		}
		return p.Message
	}
	return ""
}
