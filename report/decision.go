package report

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/layout"
	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/presets"
	"meshscope/report/figure"
)

// Decision is a page about one layout to decide by: what it gives, what it costs, what else there
// is, and what all of it rests on.
type Decision struct {
	Setup   engine.Setup
	Report  engine.Report
	Library *presets.Library
	Version string
	Taken   string         // GPUs, where none were given; empty: they were
	Chosen  *search.Chosen // how the layout was found where no degree was given; nil: it was given

	Others []search.Found // alternatives, the best first
	Search search.Result  // that they are from
	// Searching tells that the search has not ended: the page has no alternatives yet.
	Searching bool
	Pipeline  Picture        // of the step; empty: none
	Prices    []advise.Price // what values that were not given are worth
	Rules     string         // whose rules the search keeps: a launcher's name; empty: none

	instead *engine.Setup // what the launcher runs where it refuses what a search keeps; nil: it refuses none

	slow units.Seconds // slow end of the step (engine.PessimisticStep), by which layouts are ranked
}

// alternatives is how many other layouts a decision has.
const alternatives = 3

// NewDecision returns the page of a setup without alternatives.
func NewDecision(s engine.Setup, r engine.Report) *Decision {
	d := &Decision{Setup: s, Report: r}
	if r.Legal {
		d.slow = engine.PessimisticStep(&s, &r)
	}
	return d
}

// Decide makes the page of a legal setup: it searches a space for the alternatives, on a number of
// cores.
func Decide(ctx context.Context, s engine.Setup, r engine.Report, space search.Space, workers int) *Decision {
	d := NewDecision(s, r)
	if space.Instead != nil {
		if near, ok := space.Instead(s); ok {
			d.instead = &near
		}
	}
	var all []search.Found
	all, d.Search = search.Alternatives(ctx, search.Problem{
		Setup: s, Workers: workers, Margin: true,
		Space: space, Collect: runtime.GC, Stack: debug.Stack,
	})
	d.Others = all[:min(alternatives, len(all))]
	if i := d.roomiest(all); i >= alternatives {
		d.Others[alternatives-1] = all[i]
	}
	return d
}

// roomiest returns which layout leaves the most memory free of those too close to call with the
// decision's own; -1 where none leaves more than that.
func (d *Decision) roomiest(all []search.Found) int {
	at, most := -1, d.Report.Memory.Usable-d.Report.Memory.Peak
	for i := range all {
		if _, close := d.apart(&all[i]); close && all[i].Free > most {
			at, most = i, all[i].Free
		}
	}
	return at
}

// apart compares the slow ends of the steps of another layout and the decision's own: the slower
// over the faster, less 1, with a minus sign where the other is the faster, and whether that is too
// close to call.
func (d *Decision) apart(o *search.Found) (by float64, close bool) {
	is, other := *d.Report.Time, *o.Report.Time
	is.Step, other.Step = d.slow, o.PessimisticStep
	if other.Step < is.Step {
		by = 1 - float64(is.Step/other.Step)
	} else {
		by = float64(other.Step/is.Step) - 1
	}
	return by, by == 0 || is.TooClose(&other)
}

// Answer returns the page for all formats.
func (d *Decision) Answer() *Answer {
	return &Answer{Document: d.Document, Whole: true}
}

// Headline says in one sentence what the layout gives.
func (d *Decision) Headline() string {
	text := Headline(&d.Report)
	if words := PriceWords(d.Prices); text != "" && words != "" {
		text += "; not given and worth most to the step: " + words
	}
	return text
}

// Headline says in one sentence what a report comes to: whether it fits and by how much, how long a
// step takes, what it loses most time to, and how long the whole run takes and what it costs.
func Headline(r *engine.Report) string {
	m, t := r.Memory, r.Time
	if m == nil || t == nil || r.Throughput == nil {
		return ""
	}
	lost := ""
	if why := Loss(r); why != "" {
		lost = ", " + why
	}
	text := fmt.Sprintf("%s; a step takes %s %s%s; MFU %s", Verdict(m), figure.Headline(t.Step), t.Band("±"),
		lost, figure.Percent(r.Throughput.MFU))
	if run := r.Run; run != nil {
		text += fmt.Sprintf("; %s tokens take %s %s", figure.FineCount(run.Tokens), figure.Days(run.Days),
			run.Band("±"))
		if run.Cost != nil {
			text += ", " + figure.Dollars(*run.Cost)
		}
	}
	return text
}

// Verdict says in a few words whether a layout fits, and by how much.
func Verdict(m *engine.Memory) string {
	switch m.Fit {
	case engine.Over:
		var over []string
		if m.Peak > m.Usable {
			over = append(over, figure.GiB(m.Peak-m.Usable)+" GiB too much")
		}
		if words := m.HostWords(); words != "" {
			over = append(over, words)
		}
		return "Does not fit: " + strings.Join(over, ", ")
	case engine.Tight:
		side, by := "free", m.Usable-m.Peak
		if by < 0 {
			side, by = "over", -by
		}
		return "Tight: " + figure.GiB(by) + " GiB " + side + ", less than the error band"
	case engine.Fits:
	}
	return "Fits with " + figure.GiB(m.Usable-m.Peak) + " GiB free"
}

// Loss names what the step loses most time to, with its share; empty where that is little.
func Loss(r *engine.Report) string {
	t := r.Time
	most, words := units.Seconds(0), ""
	take := func(d units.Seconds, text string) {
		if d > most {
			most, words = d, text
		}
	}
	take(t.Bubble, "of which %s is pipeline bubble")
	take(t.Recompute, "of which %s recomputes activations")
	take(t.Optimizer, "of which %s is the optimizer's")
	for _, c := range r.Communication {
		if c.Dimension != "pp" { // part of the bubble
			take(c.Exposed, "of which %s waits for "+strings.ToUpper(c.Dimension)+" traffic")
		}
	}
	if most < t.Step/200 {
		return ""
	}
	return strings.Replace(words, "%s", figure.Percent(float64(most/t.Step)), 1)
}

// Document returns the page for people.
func (d *Decision) Document() *Document {
	out := &Document{Title: "Decision: " + Title(&d.Setup)}
	if !d.Report.Legal {
		out.Sections = append([]Section{SetupSection(&d.Setup, &d.Report, false)}, problems(&d.Report)...)
		return out
	}
	setup := SetupSection(&d.Setup, &d.Report, false)
	setup.Blocks = append([]Block{Sentence(d.Headline() + ".")}, setup.Blocks...)
	out.Sections = []Section{setup, d.fit(), d.step(), d.run(), d.others(), d.basis(), d.how()}
	return out
}

func (d *Decision) fit() Section {
	m := d.Report.Memory
	s := Section{Heading: "Fit", Lead: fmt.Sprintf("%s: %s GiB %s of %s GiB per GPU", fitWord(m),
		figure.GiB(m.Peak), m.Band("±"), figure.GiB(m.Usable))}
	free, margin := figure.GiB(m.Usable-m.Peak)+" GiB free on the fullest rank, "+fmt.Sprint(m.PeakRank),
		figure.GiB(m.Margin())+" GiB"
	switch {
	case !m.Fits:
		s.say(capital(m.Reason))
	case m.HasMargin():
		s.say(free + "; more than the safety margin of " + margin + ".")
	case m.Fit == engine.Tight:
		s.say(free + "; less than the safety margin of " + margin + ": it may run out of memory.")
	default:
		s.say(free + "; less than the safety margin of " + margin + ".")
	}
	if d.instead != nil {
		s.say(insteadWords(d.Rules, &d.Setup, d.instead) + ".")
	}
	s.add(memoryPicture(m))
	return s
}

func (d *Decision) step() Section {
	r := &d.Report
	s := Section{
		Heading: "Step",
		Lead: fmt.Sprintf("%s %s; %s tokens/s; MFU %s", figure.Headline(r.Time.Step), r.Time.Band("±"),
			figure.Short(r.Throughput.TokensPerSecond), figure.Percent(r.Throughput.MFU)),
	}
	var words []string
	for _, part := range StepParts(r.Time) {
		if share := float64(part.Time / r.Time.Step); share >= 0.0005 {
			words = append(words, part.Name+" "+figure.Percent(share))
		}
	}
	s.say(capital(strings.Join(words, ", ")) + ".")
	s.add(stepPicture(r.Time))
	if d.Pipeline != "" {
		words := Bubble(r)
		if form := OverIdeal(r.Pipeline); form != "" {
			words += "; " + form
		}
		s.say(capital(words) + ".")
		s.add(d.Pipeline)
	}
	return s
}

// run describes the whole run, or what a trillion tokens take where none are given.
func (d *Decision) run() Section {
	run, s := d.Report.Run, Section{Heading: "Whole run"}
	if run == nil {
		setup := d.Setup
		setup.Budget = 1e12
		run = engine.WholeRun(&setup, d.Report.Time)
		s.Lead = "tokens not given; a trillion takes:"
	} else {
		s.Lead = figure.FineCount(run.Tokens) + " tokens"
	}
	plan := d.Setup
	plan.Budget = run.Tokens
	late := lateRun(&plan, &d.Report, d.slow)
	amount := func(of func(*engine.Run) float64, write func(float64) string) string {
		return fmt.Sprintf("%s %s ", write(of(run)), run.Band("±")) + runRange(run, late, "(", ")", of,
			write)
	}
	facts := Facts{
		{"days", amount(func(r *engine.Run) float64 { return r.Days }, figure.Three)},
		{"GPU-hours", amount(func(r *engine.Run) float64 { return r.GPUHours }, figure.Short)},
	}
	cost, energy := "no price of "+d.Setup.Cluster.GPU.Name+" is known: --price sets one",
		"no power is known: --power sets it"
	if run.Cost != nil {
		cost = fmt.Sprintf("%s; at $%s a GPU-hour", amount(func(r *engine.Run) float64 { return *r.Cost },
			figure.Dollars), figure.Three(*run.Price))
	}
	if run.Energy != nil {
		energy = fmt.Sprintf("%s; at %s W per GPU, %s",
			amount(func(r *engine.Run) float64 { return *r.Energy }, figure.Energy), figure.Short(*run.Power),
			PowerOverGPUs(run))
	}
	s.add(append(facts, Fact{"cost", cost}, Fact{"energy", energy}))
	if d.Report.Run == nil {
		s.say("--tokens, or r in the explorer, sets them.")
	}
	s.say(layoutOnly(run) + ".")
	if usual := engine.TypicalRun(&plan, d.Report.Time); usual != nil {
		s.say("With typical figures for what is not given: " + RunBrief(usual) + ".")
		for _, a := range typicalWords(usual) {
			s.say(capital(a) + ".")
		}
	}
	if run.Goodput == 1 {
		s.say("Assumes a goodput of 100 %: no time is lost to failures, restarts, checkpoints and " +
			"evaluation. --goodput sets the share of the time that advances training.")
	} else {
		s.say("Goodput " + figure.Percent(run.Goodput) + ": the share of the time that advances training.")
	}
	return s
}

func (d *Decision) others() Section {
	s := Section{Heading: "Alternatives", Lead: "other layouts that fit, what they gain and lose"}
	if d.Searching {
		s.say("Searching for other layouts.")
		return s
	}
	if len(d.Others) == 0 {
		s.Lead = ""
		s.say("No layout of other degrees fits; `meshscope advise` changes the other knobs.")
		return s
	}
	roomiest := d.roomiest(d.Others)
	for i := range d.Others {
		o := &d.Others[i]
		words := LayoutWords(&o.Setup, func(id string) bool { return id == "microbatches" || id == "sp" })
		t := o.Report.Time
		step := figure.Headline(t.Step) + " " + t.Band("±") + " a step"
		if o.PessimisticStep > t.Step {
			step += " (" + figure.Headline(o.PessimisticStep) + " where no unproven overlap works)"
		}
		s.add(Item{
			fmt.Sprintf("%s: %s, %s GiB free", words, step, figure.GiB(o.Free)),
			[]string{d.trades(o, i == roomiest)},
		})
	}
	return s
}

// trades says what another layout gains and loses: time by the slow ends of their steps, as they are
// ranked, and memory.
func (d *Decision) trades(o *search.Found, roomiest bool) string {
	is, other := d.Report.Memory, o.Report.Memory
	by, close := d.apart(o)
	speed := d.faster(o)
	if close && by != 0 {
		speed += ", too close to call"
	}
	if part := d.slowest(o); by >= evenly && part != "" {
		speed += ", mostly " + part
	}
	var words, gains, loses []string
	if by <= -evenly {
		gains = append(gains, speed)
	} else {
		words = append(words, speed)
	}
	if more := (other.Peak - is.Peak).GiB(); more >= 0.05 {
		loses = append(loses, figure.Three(more)+" GiB of memory")
	} else if more <= -0.05 {
		gains = append(gains, figure.Three(-more)+" GiB of memory")
	}
	if roomiest {
		gains = append(gains, "the most free memory of those too close to call")
	}
	if len(gains) > 0 {
		words = append(words, "gains: "+strings.Join(gains, ", "))
	}
	if len(loses) > 0 {
		words = append(words, "loses: "+strings.Join(loses, ", "))
	}
	switch {
	case !other.HasMargin():
		words = append(words, "no safety margin")
	case is.HasAmpleMargin() && !other.HasAmpleMargin():
		words = append(words, "less than twice its safety margin free")
	}
	return strings.Join(words, "; ")
}

// evenly is up to which share two steps are as fast.
const evenly = 0.0005

// faster says how much faster or slower another layout is, and of which steps.
func (d *Decision) faster(o *search.Found) string {
	by, _ := d.apart(o)
	text := figure.Three(math.Abs(100*by)) + " % slower"
	switch {
	case math.Abs(by) < evenly:
		return "as fast"
	case by < 0:
		text = figure.Three(-100*by) + " % faster"
	}
	if d.slow > d.Report.Time.Step || o.PessimisticStep > o.Report.Time.Step {
		text += " where no unproven overlap works"
	}
	return text
}

// slowest names the part of the step that another layout needs most additional time for; what the
// slow ends add is one of them.
func (d *Decision) slowest(o *search.Found) string {
	is, other := d.Report.Time, o.Report.Time
	most, at := (o.PessimisticStep-other.Step)-(d.slow-is.Step), "traffic whose overlap is unproven"
	if most <= 0 {
		most, at = 0, ""
	}
	mine := StepParts(is)
	for i, part := range StepParts(other) {
		if i < len(mine) {
			part.Time -= mine[i].Time
		}
		if part.Time > most {
			most, at = part.Time, part.Name
		}
	}
	return at
}

// basis tells what the figures rest on.
func (d *Decision) basis() Section {
	r := &d.Report
	s := Section{Heading: "Accuracy and assumptions"}
	s.add(Facts{{"step", r.Time.Words()}, {"memory", r.Memory.Words()}})
	if d.slow > r.Time.Step {
		s.say(figure.Headline(d.slow) + " a step where no unproven overlap works: all-to-all of experts, " +
			"ZeRO traffic of every micro-batch. Layouts are ranked by that.")
	}
	for _, l := range search.OverlapReliances(r) {
		s.say(fmt.Sprintf("Assumes that %s of %s traffic, %s of the step, overlaps with compute.",
			figure.Seconds(l.Hidden), strings.ToUpper(l.Dimension), figure.Percent(l.Share)))
	}
	for _, p := range problems(r) {
		s.add(p.Blocks...)
	}
	for _, idle := range noEffects("", &d.Setup, r, unchosen(d.Chosen)) {
		s.say(capital(idle) + ".")
	}
	if len(r.NotModelled) > 0 {
		s.say("Not modelled: " + strings.Join(r.NotModelled, "; ") + ".")
	}
	return s
}

// how tells how the layout was obtained and how to get it again.
func (d *Decision) how() Section {
	s := Section{Heading: "How it was obtained"}
	if d.Taken != "" {
		s.say(capital(d.Taken) + ".")
	}
	if d.Chosen != nil {
		s.say(capital(d.Chosen.Words(figure.Comma)) + ".")
		if filled := d.Chosen.Filled(); filled != "" {
			s.say("The search took " + filled + ".")
		}
	}
	rules := ""
	if d.Rules != "" {
		rules = " that " + d.Rules + " accepts"
		if d.instead != nil {
			_, refused := differing(&d.Setup, d.instead)
			rules += " but for " + refused
		}
	}
	of := figure.Plural(d.Search.Legal, "legal layout") + rules
	switch best := d.best(); {
	case d.Searching:
	case d.Search.Partial:
		s.say("The search for alternatives was stopped: there may be better ones.")
	case best == nil:
		s.say("None of " + of + " fits.")
	case best.PessimisticStep < d.slow && d.leads():
		s.say(fmt.Sprintf("It is %s. The fastest of %s is %s.", search.MarginRule, of, d.faster(best)))
	case best.PessimisticStep < d.slow:
		s.say(fmt.Sprintf("Not the fastest of %s: that is %s.", of, d.faster(best)))
	case slices.ContainsFunc(d.Others, func(o search.Found) bool { return o.PessimisticStep < d.slow }):
		s.say("No faster one that leaves a margin of memory among " + of +
			", at the same GPUs, batch and sequence.")
	default:
		s.say("No faster one among " + of + ", at the same GPUs, batch and sequence.")
	}
	if i := slices.IndexFunc(d.Report.Problems,
		func(p layout.Problem) bool { return p.Code == "vpp-uneven" }); i >= 0 && d.Rules != "" {
		s.say(d.Report.Problems[i].Message + ".")
	}
	s.say("meshscope " + d.Version + ", which predicts and does not measure. To see every figure:")
	if command := EvalCommand(d.Setup, d.Library); command != "" {
		s.add(Command(command))
	}
	return s
}

// best returns the fastest layout with a margin of the search; nil where none fits.
func (d *Decision) best() *search.Found {
	switch found := d.Search.Best; {
	case len(found) == 0:
		return nil
	case found[0].ForMargin && len(found) > 1:
		return &found[1]
	default:
		return &found[0]
	}
}

// leads reports whether the search has its first place, for the margin, for a layout with these figures.
func (d *Decision) leads() bool {
	first := &d.Search.Best[0]
	return first.ForMargin && first.PessimisticStep == d.slow &&
		first.Report.Memory.Peak == d.Report.Memory.Peak
}
