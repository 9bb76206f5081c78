package search

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"

	"meshscope/engine/knob"
	"meshscope/engine/schedule"
	find "meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/launch"
	"meshscope/ui/widget"
)

// facet is one thing of a search that can be turned.
type facet uint8

// Knobs, as they stand on the screen: what is best, what is let in, then what a
// layout is made of.
const (
	objective facet = iota
	numbers
	batchRule
	budget
	deadline
	headroom
	schedules
	launchers
	tensor
	pipeline
	virtual
	contextual
	expert
	expertTensor
	zero
	microBatch
	sequenceParallel
	recompute
	knobs
)

// anyValue is the word for a knob that is left to the search.
const anyValue = "any"

// chosen is what is asked of a search beyond the setup: for each knob the word that
// it is turned to. The empty word is the first of its values.
type chosen [knobs]string

// facetRow is what a facet is: the knob that it fixes, or the name under which a conflict
// has it; empty where it has none.
type facetRow struct {
	id          knob.ID
	label, help string
}

// row returns the line of a facet in the table of them all.
func (k facet) row() facetRow {
	return [knobs]facetRow{
		{"objective", "best is", "the ranking: throughput is tokens per second per GPU, and breaks the " +
			"ties of the others. cost: the cheapest run, for tokens at the price of a GPU"},
		{"", "GPUs", "doubled nodes, from one on; auto: the GPUs of the setup, all for cost and " +
			"fewest-gpus, which tries fewer than a node too; fewest-gpus then tries numbers in between"},
		{"", "batch", "auto: that of the published run nearest in GPUs, else near 4 M tokens; yours: that " +
			"of the setup"},
		{knob.Tokens, "tokens", "of the whole run, for deadline and cost; auto: those of the setup. r sets " +
			"tokens, price and goodput exactly"},
		{"deadline", "deadline", "excludes layouts that take longer for the tokens"},
		{"headroom", "headroom", "share of the usable memory that must stay free on the fullest rank; " +
			"auto: layouts that leave 5 % or their error band free, the larger of both, come first, others " +
			"after them"},
		{knob.Schedule, "schedules", "pipeline schedules to try: usual (1f1b and interleaved, which every " +
			"launcher has), all (slower), or one"},
		{"launchers", "layouts", "launchable: accepted by the launcher of the stack (Megatron-LM) and by " +
			"no other rejected; all legal adds the others, such as ZeRO-2 with a pipeline"},
		{
			knob.TP, "TP",
			"degree of tensor parallelism; any: the divisors of the GPUs up to twice the fast domain",
		},
		{
			knob.PP, "PP",
			"degree of pipeline parallelism; any: the divisors of the GPUs up to the number of layers",
		},
		{knob.VPP, "VPP", fmt.Sprintf("stages per pipeline rank; any: one, and for interleaved schedules "+
			"those up to %d over which the layers divide", find.MaxVPP)},
		{knob.CP, "CP", "degree of context parallelism; any: powers of two"},
		{knob.EP, "EP", "degree of expert parallelism; any: the divisors of the experts"},
		{knob.ETP, "ETP", "degree of tensor parallelism of the experts; any: divisors of TP"},
		{knob.ZeRO, "ZeRO", "what data-parallel replicas shard; any: the stages that the stack offers"},
		{knob.MBS, "micro-batch", fmt.Sprintf("sequences of a micro-batch; any: 1 to %d and powers of two "+
			"up to %d, of those that divide the batch", find.MaxOddMBS, find.MaxMBS)},
		{knob.SP, "SP", "sequence parallelism with TP"},
		{knob.Recompute, "recompute", "what the backward pass recomputes"},
	}[k]
}

// label returns the name of a facet on the screen.
func (k facet) label() string { return k.row().label }

// field returns the facet of a field that a conflict names, or of a knob.
func field(name string) (facet, bool) {
	for k := range knobs {
		if k.row().id == knob.ID(name) && name != "" {
			return k, true
		}
	}
	return knobs, false
}

// First words of the knobs that are no degrees.
const (
	twoSchedules = "usual"
	allSchedules = "all"
	rulesKept    = "launchable"
	rulesBroken  = "all legal"
)

// word returns what a knob is turned to.
func (v *View) word(k facet) string {
	if w := v.chosen[k]; w != "" || len(v.values[k]) == 0 {
		return w
	}
	return v.values[k][0]
}

// free reports whether nothing is asked of a knob.
func (w *chosen) free(k facet) bool { return w[k] == "" }

// refreshValues computes what each knob can be turned to where the base has
// changed. What is asked and cannot be any more is let go.
func (v *View) refreshValues(want *query) {
	if v.haveValues && v.valuesOf == want.base {
		return
	}
	open := query{base: want.base}
	tried := find.Tried(open.problem())
	v.valuesOf, v.haveValues = want.base, true
	v.values[objective] = nil
	for _, o := range find.Objectives() {
		v.values[objective] = append(v.values[objective], string(o))
	}
	v.values[numbers] = numbersOf(&want.base)
	v.values[batchRule] = []string{autoValue, yourBatch}
	v.values[budget] = []string{autoValue, "100B", "300B", "1T", "2T", "5T", "10T", "15T", "20T", "30T"}
	v.values[deadline] = []string{
		noDeadline, "1 day", "3 days", "7 days", "14 days", "30 days", "60 days",
		"90 days", "180 days", "365 days",
	}
	v.values[headroom] = []string{autoValue, "0 %", "2 %", "5 %", "10 %", "20 %", "30 %"}
	v.values[schedules] = append([]string{twoSchedules, allSchedules}, kindWords()...)
	v.values[launchers] = []string{rulesKept, rulesBroken}
	for k, list := range map[facet][]int{
		tensor: tried.TP, pipeline: tried.PP, virtual: tried.VPP, contextual: tried.CP, expert: tried.EP,
		expertTensor: tried.ETP, zero: tried.ZeRO, microBatch: tried.MBS,
	} {
		v.values[k] = []string{anyValue}
		for _, n := range list {
			v.values[k] = append(v.values[k], strconv.Itoa(n))
		}
	}
	v.values[sequenceParallel] = []string{anyValue, "on", "off"}
	v.values[recompute] = []string{anyValue}
	for _, r := range tried.Recompute {
		if word := r.String(); !slices.Contains(v.values[recompute], word) {
			v.values[recompute] = append(v.values[recompute], word)
		}
	}
	for k := range knobs {
		if w := v.chosen[k]; w != "" && w == v.typed[k] && (k.counts() && k != numbers) {
			v.admit(k, w)
		}
		if w := v.chosen[k]; w != "" && !slices.Contains(v.values[k], w) {
			v.chosen[k] = ""
		}
	}
}

func kindWords() []string {
	var out []string
	for _, info := range schedule.Kinds() {
		out = append(out, string(info.Kind))
	}
	return out
}

// turn goes n values up a knob; the ends hold. It is false where nothing changes.
func (v *View) turn(k facet, n int) bool {
	values := v.values[k]
	if len(values) == 0 {
		return false
	}
	at := max(slices.Index(values, v.word(k)), 0)
	to := widget.Step(at, n, len(values))
	if to == at {
		return false
	}
	v.set(k, values[to])
	return true
}

// set turns a knob to a word; the first of its values is the empty one.
func (v *View) set(k facet, word string) {
	if len(v.values[k]) > 0 && word == v.values[k][0] {
		word = ""
	}
	v.chosen[k] = word
}

// fastest returns the same choice for the fastest layouts on the GPUs of the setup.
func (w *chosen) fastest() chosen {
	out := *w
	out[objective], out[numbers], out[batchRule], out[budget], out[deadline] = "", "", "", "", ""
	return out
}

// inFull returns the question that a command line with the same words asks.
func (a *query) inFull() *find.Query {
	w := &a.chosen
	q := find.NewQuery()
	q.Setup, q.Objective, q.Refused = a.base, cmp.Or(find.Objective(w[objective]), find.Throughput),
		w[launchers] == rulesBroken
	if l := launch.Of(a.base.Stack); l != nil && !q.Refused {
		q.Accepts, q.Launcher, q.WriteSplit, q.Instead = l.Accepts, l.ID, l.WriteSplit, l.Instead
	}
	q.Counted = q.Objective != find.FewestGPUs || w[batchRule] != "" // the batch of the setup
	q.Margin = w[headroom] == ""
	var percent, days float64
	if _, err := fmt.Sscanf(w[headroom], "%f", &percent); err == nil {
		q.Headroom = percent / 100
	}
	if _, err := fmt.Sscanf(w[deadline], "%f", &days); err == nil {
		q.Deadline = units.Seconds(days * secondsPerDay)
	}
	// A word that is on offer, or was read when it was typed, is not refused.
	if tokens, _ := budget.param(); w[budget] != "" {
		q.Setup, _ = tokens.Set(q.Setup, w[budget])
	}
	set := func(id knob.ID, text string) {
		if text != "" {
			_ = q.Set(id, text)
		}
	}
	for k := schedules; k < knobs; k++ {
		if k != launchers {
			set(k.row().id, w[k])
		}
	}
	set(knob.GPUs, a.gpus(q.Objective))
	if q.Objective == find.LongestSeq { // from that of the setup on, doubled
		set(knob.Seq, fmt.Sprintf("%d..%d:x2", a.base.Seq, min(a.base.Seq<<(mostLengths-1), knob.MaxSeq)))
	}
	return q
}

// mostLengths is how many lengths are tried for the longest sequence.
const mostLengths = 12

// problem returns the question in the engine's words.
func (a *query) problem() find.Problem {
	p, _ := a.inFull().Problem()
	p.Top, p.Front = top, true
	return p
}

// question returns the same, to be searched on all cores, or shared on one.
func (a *query) question(shared bool) find.Problem {
	p := a.problem()
	if !shared {
		p.Workers, p.Collect, p.Stack = runtime.GOMAXPROCS(0), runtime.GC, debug.Stack
	}
	return p
}
