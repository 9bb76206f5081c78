package report

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/search"
	"meshscope/presets"
	"meshscope/report/figure"
)

// Search is the result of a search, with its query.
type Search struct {
	Query    *search.Query
	Problem  search.Problem
	Result   search.Result
	Conflict *search.Conflict // if nothing was found
	Missed   *search.Missed   // if nothing meets the deadline
	Machine  string           // on which a layout would fit, where none does; "": not looked for
	Smallest int              // GPUs of it; 0: not known, or none is
	Seconds  float64          // that it took
	Took     string           // the same for people; "": not shown
	Library  *presets.Library
}

// Document returns the search for people: the query, the table of layouts, and the command
// of the best one; if there is none, why.
func (o *Search) Document() *Document {
	out := &Document{Title: o.title(), Sections: []Section{{Blocks: []Block{o.facts()}}}}
	r := &o.Result
	if len(r.Best) == 0 {
		out.Sections = append(out.Sections, o.nothing())
		return out
	}
	best := Section{Heading: "Best", Lead: o.aim()}
	if r.Best[0].ForMargin {
		best.Lead += "; 1 is " + search.MarginBrief
	}
	o.table(&best, r.Best)
	if o.Problem.Front {
		front := Section{
			Heading: "Pareto front",
			Lead:    "of speed and memory: no layout is both faster and smaller",
		}
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
		sure.say("Full report of the best layout (--json and --csv have the command of every row):")
		sure.add(Command(command))
	} else {
		sure.say("No flags give the best layout; --json has its report, which --setup reads.")
	}
	out.Sections = append(out.Sections, sure)
	out.sayNoEffects(noEffects("", &r.Best[0].Setup, &r.Best[0].Report, o.given))
	return out
}

func (o *Search) title() string {
	s := &o.Problem.Setup
	nodes := ""
	if len(o.Problem.Space.GPUs) == 1 {
		nodes = ", " + figure.Plural(s.Nodes(), "node")
	}
	return fmt.Sprintf("%s on %s x %s%s (%s)", name(s.Model.Name, s.Model.ID),
		span(o.Problem.GPUsTried(&o.Result)),
		name(s.Cluster.GPU.Name, s.Cluster.GPU.ID), nodes,
		s.Cluster.Called(name(s.Cluster.ID, s.Cluster.Name)))
}

// facts lists what was searched, and how much of it.
func (o *Search) facts() Facts {
	p, r := &o.Problem, &o.Result
	var facts Facts
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, Fact{name, value})
		}
	}
	add("batch", fmt.Sprintf("%s of %s tokens = %s tokens", sequences(p.BatchesTried(r)),
		span(p.Space.Seq), o.batchTokens()))
	if o.Query.UnsetBatch {
		add("", "global batch not given; "+o.batchWords())
	}
	add("given", o.listGiven())
	add("limits", o.limits())
	add("margin", o.margin())
	add("launcher", o.launcher())
	add("GPUs", o.gpuWords())
	searched := fmt.Sprintf("%s; %s excluded by a lower bound, %s evaluated in full",
		figure.Plural(r.Legal, "legal layout"), figure.Comma(r.Excluded), figure.Comma(r.Evaluated))
	if rest := r.Legal - r.Excluded - r.Evaluated; rest > 0 && !r.Partial {
		searched += fmt.Sprintf(", %s not better by their lower bound", figure.Comma(rest))
	}
	if o.Took != "" {
		searched += ", in " + o.Took
	}
	add("searched", searched)
	add("not searched", o.leftOut())
	if r.Partial {
		add("PARTIAL", fmt.Sprintf("stopped with %s of the space searched: better layouts may exist",
			figure.FinePercent(r.Share)))
	}
	return facts
}

// leftOut lists what the search does not try by default although it could fit or be faster:
// knobs that it does not change, and values beyond its bounds.
func (o *Search) leftOut() string {
	var words, named []string
	traits := o.Problem.Setup.Stack.Traits()
	for _, other := range o.Problem.Untried() {
		if other.ID == knob.Offload {
			words = append(words, "offload (--offload "+strings.Join(other.Values, ", --offload ")+")")
		} else {
			named = append(named, string(other.ID))
		}
	}
	if len(named) > 0 {
		words = append(words, "other values of "+strings.Join(named, ", ")+" (--free "+
			strings.Join(named, ",")+")")
	}
	if s := &o.Problem.Setup; s.Stack == recipe.DeepSpeed && s.HPZ == 0 && !s.QWZ && !s.QGZ {
		words = append(words, "ZeRO++ (--zero 3 with --hpz, --qwz, --qgz)")
	}
	if s := &o.Problem.Setup; traits.Ledger && !o.Query.Given(knob.CP) && s.GPUs > 1 {
		words = append(words, "cp over 1 by all-to-alls of heads (Ulysses; --cp 1,2,4)")
	}
	if traits.DataParallelOnly { // without a pipeline
		return strings.Join(words, ", ")
	}
	if !o.Query.Given(knob.VPP) {
		words = append(words, fmt.Sprintf("vpp above %d", search.MaxVPP))
	}
	if o.Problem.Setup.Model.IsMoE() && !o.Query.Given(knob.ETP) {
		words = append(words, "etp that does not divide tp (--etp 1,2,4)")
	}
	if o.Problem.Space.Splits {
		words = append(words, fmt.Sprintf("splits other than one or two layers less at the end or at both, "+
			"or of more than %d stages", layout.MostWritten))
	}
	if len(o.Problem.Space.Schedules) == 0 {
		words = append(words, "schedules other than 1f1b and interleaved (--schedule all)")
	}
	return strings.Join(words, ", ")
}

// batchTokens returns the global batch in tokens: one number, or a range.
func (o *Search) batchTokens() string {
	sp, batches := &o.Problem.Space, o.Problem.BatchesTried(&o.Result)
	low := float64(slices.Min(batches)) * float64(slices.Min(sp.Seq))
	high := float64(slices.Max(batches)) * float64(slices.Max(sp.Seq))
	if low == high {
		return figure.FineCount(low)
	}
	return figure.FineCount(low) + " to " + figure.FineCount(high)
}

// defaultWords tells which global batch is used if none is given.
func (o *Search) defaultWords() string {
	sp := &o.Problem.Space
	usual := o.usualBatch()
	switch {
	case o.Query.AsEval && o.published():
		return "using " + usual
	case o.Query.AsEval:
		return "using " + BatchDepth(&o.Query.Setup) + ", as eval"
	case len(sp.Seq) > 1:
		return "using " + usual + " at the longest sequence"
	case o.published():
		return "using " + usual
	case slices.Max(sp.Seq) >= 2*search.TargetTokens:
		return "using one sequence, which has more tokens than the default, " + usual
	}
	if o.Query.Setup.Frozen() { // eval takes it too
		return "using " + usual
	}
	least := ""
	if o.Query.Given(knob.MBS) { // a micro-batch may be more than that
		least = "at least "
	}
	return fmt.Sprintf("using %s (eval of a layout that is given uses %s%d %s)", usual, least,
		knob.DefaultBatchDepth, knob.BatchDepthUnit)
}

// aim returns the order of the best layouts.
func (o *Search) aim() string {
	return map[search.Objective]string{
		search.Throughput:  "most tokens per second per GPU first",
		search.Cost:        "cheapest run first: most tokens per GPU-hour",
		search.FewestGPUs:  o.fewestAim(),
		search.LargestMBS:  "largest micro-batch first, then the fastest",
		search.LongestSeq:  "longest sequence first, then the fastest",
		search.LeastMemory: "least memory first, then the fastest",
	}[o.Problem.Objective]
}

func (o *Search) fewestAim() string {
	return "fewest GPUs first, then the fastest"
}

// listGiven lists the given knobs, in their order.
func (o *Search) listGiven() string {
	var words []string
	for _, id := range knob.Searched() {
		if text, ok := o.Query.Texts[id]; ok && id != knob.GPUs && id != knob.Nodes && id != knob.GBS &&
			id != knob.Seq {
			words = append(words, string(id)+" "+escape.Line(text))
		}
	}
	return strings.Join(words, ", ")
}

// launcher tells whose rules the layouts meet.
func (o *Search) launcher() string {
	if o.Problem.Space.Launcher == "" {
		return ""
	}
	if why := o.Problem.Space.Unbuilt; why != "" {
		return o.Problem.Space.Launcher + ": it does not build this model (" + escape.Line(why) +
			"), so none of these layouts can be launched with it; they meet the rest of its rules " +
			"(--launcher any: none of them)"
	}
	text := o.Problem.Space.Launcher + ": layouts it rejects are left out (--launcher any)"
	if of := o.Problem.Space.Instead; of != nil && len(o.Result.Best) > 0 {
		best := &o.Result.Best[0].Setup
		if near, ok := of(*best); ok {
			text += "; best layout: " + insteadWords("it", best, &near)
		}
	}
	return text
}

// insteadWords tells what a launcher runs in place of what it refuses of a setup, and what that takes.
func insteadWords(launcher string, s, near *engine.Setup) string {
	runs, refused := differing(s, near)
	r := engine.Evaluate(*near)
	if !r.Legal {
		return launcher + " refuses " + refused + " and runs " + runs
	}
	m := r.Memory
	room := figure.GiB(m.Usable-m.Peak) + " GiB stay free"
	if !m.Fits {
		room = "it does not fit"
	}
	return fmt.Sprintf("%s refuses %s; with %s, which it runs, a step takes %s and %s", launcher, refused,
		runs, figure.Headline(r.Time.Step), room)
}

// differing lists the knobs that two setups have differently, as flags of either.
func differing(s, near *engine.Setup) (runs, refused string) {
	var now, was []string
	for _, k := range knob.All() {
		if a, b := k.Text(*s), k.Text(*near); a != b {
			was, now = append(was, "--"+string(k.ID)+" "+a), append(now, "--"+string(k.ID)+" "+b)
		}
	}
	return strings.Join(now, " "), strings.Join(was, " ")
}

// margin tells which layouts come first for the memory that they leave free.
func (o *Search) margin() string {
	if !o.Problem.Margin || o.Problem.Objective == search.LeastMemory {
		return ""
	}
	return "layouts that leave 5 % or the error band of their memory free, the larger of both, come first"
}

// limits lists the other constraints on a layout.
func (o *Search) limits() string {
	p := &o.Problem
	var words []string
	if p.Headroom > 0 {
		words = append(words, fmt.Sprintf("%s of the memory stays free", figure.FinePercent(p.Headroom)))
	}
	if p.Deadline > 0 {
		words = append(words, o.deadline()+" at the slow end of the error band")
	}
	if p.Space.Refused && p.Space.Accepts == nil {
		words = append(words, "layouts that a launcher rejects included")
	}
	return strings.Join(words, ", ")
}

func (o *Search) deadline() string {
	text := fmt.Sprintf("%s tokens within %s", figure.FineCount(o.Problem.Tokens),
		figure.Lasting(o.Problem.Deadline))
	if g := o.Problem.Setup.Goodput; g > 0 {
		text += fmt.Sprintf(" of steps (goodput %s %%)", figure.Trim(g))
	}
	return text
}

// sequences writes global batches: "1 sequence", "64 to 512 (4 values) sequences".
func sequences(list []int) string {
	if len(list) == 1 {
		return figure.Plural(list[0], "sequence")
	}
	return span(list) + " sequences"
}

// span writes "64", or "64 to 512 (4 values)".
func span(list []int) string {
	if len(list) == 1 {
		return figure.Comma(list[0])
	}
	return fmt.Sprintf("%s to %s (%d values)", figure.Comma(list[0]), figure.Comma(list[len(list)-1]),
		len(list))
}
