package report

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/search"
	"meshscope/presets"
	"meshscope/report/figure"
)

// Search is what a search found, and what it was asked.
type Search struct {
	Query    *search.Query
	Problem  search.Problem
	Result   search.Result
	First    int              // global batch that was tried before it was raised
	Conflict *search.Conflict // where nothing was found
	Fastest  *search.Found    // where nothing meets the deadline
	// FastestSoFar says that the time ended before all were looked at.
	FastestSoFar bool
	Took         string // how long it took; empty: nobody wants to know
	Library      *presets.Library
}

// Document gives the search for people: what was asked, the table of layouts, and how to
// have the best one again; where there is none, why.
func (o *Search) Document() *Document {
	out := &Document{Title: o.title(), Sections: []Section{{Blocks: []Block{o.facts()}}}}
	r := &o.Result
	if len(r.Best) == 0 {
		out.Sections = append(out.Sections, o.nothing())
		return out
	}
	best := Section{Heading: "Best", Lead: o.aim()}
	o.table(&best, r.Best)
	if o.Problem.Front {
		front := Section{Heading: "Front", Lead: "of speed and memory: no layout is faster with less memory"}
		o.table(&front, r.Front)
		out.Sections = append(out.Sections, best, front)
	} else {
		out.Sections = append(out.Sections, best)
	}
	if words := o.endWords(); words != "" {
		last := &out.Sections[len(out.Sections)-1]
		last.say(words)
	}
	sure := o.nearness()
	if command := EvalCommand(r.Best[0].Setup, o.Library); command != "" {
		sure.say("The first of them again, in full (--json and --csv say it of every row):")
		sure.add(Command(command))
	} else {
		sure.say("No flags give the first of them again: --json has its report, which --setup takes.")
	}
	out.Sections = append(out.Sections, sure)
	return out
}

func (o *Search) title() string {
	s := &o.Problem.Setup
	nodes := ""
	if len(o.Problem.Space.GPUs) == 1 {
		nodes = ", " + figure.Plural(s.Nodes(), "node")
	}
	return fmt.Sprintf("%s on %s x %s%s (%s)", name(s.Model.Name, s.Model.ID), span(o.Problem.GPUsTried(&o.Result)),
		name(s.Cluster.GPU.Name, s.Cluster.GPU.ID), nodes, name(s.Cluster.ID, s.Cluster.Name))
}

// facts say what was searched, and how much of it.
func (o *Search) facts() Facts {
	p, r := &o.Problem, &o.Result
	var facts Facts
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, Fact{name, value})
		}
	}
	add("batch", fmt.Sprintf("%s sequences of %s tokens = %s tokens", span(p.BatchesTried(r)), span(p.Space.Seq), o.batchTokens()))
	if o.Query.UnsetBatch {
		add("", "global batch not given: "+o.batchWords())
	}
	add("given", o.listGiven())
	add("limits", o.limits())
	add("GPUs", o.gpuWords())
	searched := fmt.Sprintf("%s; a bound excludes %s, %s evaluated in full", figure.Plural(r.Legal, "legal layout"), figure.Comma(r.Excluded), figure.Comma(r.Evaluated))
	if o.Took != "" {
		searched += ", in " + o.Took
	}
	add("searched", searched)
	add("left out", o.leftOut())
	if r.Partial {
		add("PARTIAL", fmt.Sprintf("stopped with %s of the space searched: better layouts may exist", figure.FinePercent(r.Share)))
	}
	return facts
}

// leftOut is what the search does not look at by itself although it could fit or be
// faster: knobs that it does not turn, and values beyond its bounds.
func (o *Search) leftOut() string {
	var words []string
	if n := o.Problem.Setup.Offload; (n == "" || n == recipe.OffloadNone) && !o.Query.Given(knob.Offload) {
		words = append(words, "offload (--offload optimizer)")
	}
	if !o.Query.Given(knob.VPP) {
		words = append(words, fmt.Sprintf("vpp above %d", search.MaxVPP))
	}
	if len(o.Problem.Space.Schedules) == 0 {
		words = append(words, "schedules but 1f1b and interleaved (--schedule all)")
	}
	return strings.Join(words, ", ")
}

// batchTokens is the global batch in tokens: one number, or from the least to the
// most.
func (o *Search) batchTokens() string {
	sp, batches := &o.Problem.Space, o.Problem.BatchesTried(&o.Result)
	low := float64(slices.Min(batches)) * float64(slices.Min(sp.Seq))
	high := float64(slices.Max(batches)) * float64(slices.Max(sp.Seq))
	if low == high {
		return figure.FineCount(low)
	}
	return figure.FineCount(low) + " to " + figure.FineCount(high)
}

// defaultWords say which global batch is taken where nobody says one.
func (o *Search) defaultWords() string {
	sp := &o.Problem.Space
	switch {
	case o.Query.AsEval:
		return "as eval, " + BatchDepth(&o.Query.Setup)
	case len(sp.Seq) > 1:
		return "so many sequences that the longest have " + search.UsualBatch()
	case slices.Max(sp.Seq) >= 2*search.TargetTokens:
		return "one sequence has more tokens than the usual batch, " + search.UsualBatch()
	}
	least := ""
	if o.Query.Given(knob.MBS) { // a micro-batch may be more than that
		least = "at least "
	}
	return fmt.Sprintf("%s; eval takes %s%d %s", search.UsualBatch(), least, knob.DefaultBatchDepth, knob.BatchDepthUnit)
}

// aim is what the best is best in.
func (o *Search) aim() string {
	return map[search.Objective]string{
		search.Throughput:  "most tokens per second and GPU first",
		search.Cost:        "cheapest run first: the most tokens per GPU and hour",
		search.FewestGPUs:  o.fewestAim(),
		search.LargestMBS:  "largest micro-batch first, then the fastest",
		search.LongestSeq:  "longest sequence first, then the fastest",
		search.LeastMemory: "least memory first, then the fastest",
	}[o.Problem.Objective]
}

func (o *Search) fewestAim() string {
	if o.Problem.Space.RaiseGBS {
		return "fewest GPUs first, of these the smallest batch, then the fastest"
	}
	return "fewest GPUs first, then the fastest"
}

// listGiven lists the knobs that were given, in their order.
func (o *Search) listGiven() string {
	var words []string
	for _, id := range knob.Searched() {
		if text, ok := o.Query.Texts[id]; ok && id != knob.GPUs && id != knob.Nodes && id != knob.GBS && id != knob.Seq {
			words = append(words, string(id)+" "+escape.Line(text))
		}
	}
	return strings.Join(words, ", ")
}

// limits are what a layout must meet besides.
func (o *Search) limits() string {
	p := &o.Problem
	var words []string
	if p.Headroom > 0 {
		words = append(words, fmt.Sprintf("%s of the memory stays free", figure.FinePercent(p.Headroom)))
	}
	if p.Deadline > 0 {
		words = append(words, o.deadline())
	}
	if p.Space.Refused {
		words = append(words, "also what launchers refuse")
	}
	return strings.Join(words, ", ")
}

func (o *Search) deadline() string {
	text := fmt.Sprintf("%s tokens within %s", figure.FineCount(o.Problem.Tokens), figure.Lasting(o.Problem.Deadline))
	if g := o.Problem.Setup.Goodput; g > 0 {
		text += fmt.Sprintf(" of steps (goodput %s %%)", figure.Trim(g))
	}
	return text
}

// span is 64, or "64 to 512 (4 values)".
func span(list []int) string {
	if len(list) == 1 {
		return figure.Comma(list[0])
	}
	return fmt.Sprintf("%s to %s (%d values)", figure.Comma(list[0]), figure.Comma(list[len(list)-1]), len(list))
}
