package cli

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
	"meshscope/presets/setupdoc"
)

// reason is why nothing was found, in one sentence.
func (o *answer) reason() string {
	c := o.conflict
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
func (o *answer) constraint(field string) string {
	p := &o.problem
	switch knob.ID(field) {
	case "memory":
		return fmt.Sprintf("the %.1f GiB of memory that a GPU has to use", p.Setup.Cluster.GPU.MemoryUsable.GiB())
	case "headroom":
		return fmt.Sprintf("a headroom of %s (--headroom, which leaves %s)", percent(p.Headroom), room(p.Setup.Cluster.GPU.MemoryUsable*units.Bytes(1-p.Headroom)))
	case "deadline":
		return o.deadline() + " (--deadline)"
	case "launchers":
		return "leaving out what some launcher refuses (--refused lets it in)"
	case knob.GBS:
		if o.asked.defaultGBS {
			return fmt.Sprintf("a global batch of %s sequences, which is taken as nobody said one (--gbs says another)", span(o.tried()))
		}
		return fmt.Sprintf("a global batch of %s sequences (--gbs)", span(p.Space.GBS))
	}
	return "--" + field + " " + escape.Line(o.said(knob.ID(field)))
}

// said is the value of a knob, as it was given where the search goes over it.
func (o *answer) said(id knob.ID) string {
	if text, ok := o.asked.texts[id]; ok {
		return text
	}
	p, ok := knob.Find(id)
	if !ok {
		return ""
	}
	return p.Text(o.problem.Setup)
}

// writeReason prints why there is no layout: the shortest list of what excludes
// them all, and the layout with the least memory where that is among it.
func (o *answer) writeReason(t page, a *app) {
	c := o.conflict
	if c == nil {
		t.printf("\nNOTHING FOUND in the time there was; --time gives more\n")
		return
	}
	title := "NO LEGAL LAYOUT"
	if o.noFit() {
		title = "NOTHING FITS"
		switch slow := slices.Contains(c.Fields, "deadline"); {
		case slow && (c.Partial || slices.Contains(c.Fields, "memory") || slices.Contains(c.Fields, "headroom")):
			title = "NOTHING FITS IN TIME"
		case slow:
			title = "NOTHING IS FAST ENOUGH"
		}
	}
	if c.Partial {
		title += ", and the time ended before it was known why (--time gives more)"
	}
	t.printf("\n%s\n", title)
	t.lines("  " + strings.ToUpper(o.reason()[:1]) + o.reason()[1:] + ".")
	for _, field := range c.Fields {
		if why := o.rule(field); why != "" {
			t.lines("    " + field + ": " + why)
		}
	}
	if why := c.Why(&o.problem); why != "" {
		t.lines("    " + why)
	}
	near := o.fastest
	if near != nil {
		which := "The fastest layout that meets everything else"
		if o.fastestSoFar {
			which = "The fastest layout found in the time there was, of those that meet everything else,"
		}
		t.lines(fmt.Sprintf("  %s takes %s (error: %s):", which, lasting(units.Seconds(near.Report.Run.Days*day)), near.Report.Time.Band("within ")))
	} else if near = c.Least; near != nil {
		m := near.Report.Memory
		more := ""
		if m.Peak > m.Usable {
			more = fmt.Sprintf(", %.1f more than it has", (m.Peak - m.Usable).GiB())
		}
		which := "The least that a layout needs which meets everything else"
		if c.LeastSoFar {
			which = "The least found in the time there was, of the layouts that meet everything else,"
		}
		t.lines(fmt.Sprintf("  %s is %.1f GiB on the fullest GPU%s (error: %s):", which, m.Peak.GiB(), more, m.Band("within ")))
	}
	if near == nil {
		return
	}
	if flags, ok := setupdoc.Flags(near.Setup, a.lib); ok {
		t.printf("    meshscope eval %s\n", flags)
	}
	if len(c.Helps) > 0 {
		t.lines("  What the search did not look at by itself has layouts that fit: --" + strings.Join(c.Helps, ", --") + ".")
	}
	switch fewest := o.problem.Objective != search.FewestGPUs; {
	case fewest && o.fastest != nil && !slices.Contains(c.Fields, "memory"):
		t.lines("  --objective fewest-gpus, without --gpus and --nodes, says how many GPUs meet the deadline.")
	case fewest && slices.Contains(c.Fields, "memory") && o.fastest == nil:
		t.lines("  --objective fewest-gpus, without --gpus and --nodes, says how many GPUs hold it.")
	}
}

// rule is what the legality of a layout says about the one value of a knob.
func (o *answer) rule(field string) string {
	text, one := o.asked.single(knob.ID(field))
	gpus := o.problem.Space.GPUs
	if n, err := strconv.Atoi(text); field == string(knob.DP) && len(gpus) == 1 && err == nil && gpus[0]%n != 0 {
		return fmt.Sprintf("%d copies do not divide the %s GPUs", n, commas(gpus[0]))
	}
	if field == string(knob.Split) {
		given := o.problem.Setup.Split
		if _, err := layout.ParseSplit(given, strings.Count(given, ",")+1, o.problem.Setup.Model.Layers); err != nil {
			return escape.Line(err.Error())
		}
		return ""
	}
	if !one || !slices.Contains([]knob.ID{knob.TP, knob.PP, knob.CP, knob.EP, knob.ETP, knob.VPP, knob.ZeRO}, knob.ID(field)) {
		return ""
	}
	s, err := knob.Turn(o.problem.Setup, knob.ID(field), text, knob.Locks{GPUs: true, Batch: true})
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
