package search

import (
	"fmt"
	"slices"
	"strconv"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	find "meshscope/engine/search"
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

// wish is what is asked of a search beyond the setup: for each knob the word that
// it is turned to. The empty word is the first of its values.
type wish [knobs]string

// label of a knob.
func (k facet) label() string {
	return [knobs]string{
		"best is", "GPUs", "batch", "tokens", "deadline", "headroom", "schedules", "layouts", "TP", "PP", "VPP", "CP", "EP", "ETP", "ZeRO", "micro-batch", "SP", "recompute",
	}[k]
}

// help is a sentence about a knob.
func (k facet) help() string {
	return [knobs]string{
		"what comes first: throughput is tokens per second and GPU; the others break ties by it. cost: the cheapest run, for tokens at the price of a GPU",
		"how many are tried, doubled from one node on (fewest-gpus: then in between); auto: those of the setup, and for fewest-gpus and cost all",
		"auto: of each number of GPUs what search takes of it alone, near 4 M tokens, and for a deadline doubled up to 60 M: the smallest that will do; yours: that of the setup",
		"of the whole run, for deadline and cost; auto: those of the setup. r says tokens, price and goodput exactly",
		"leaves out layouts that need longer for the tokens",
		"share of the usable memory that must stay free on the fullest rank: what no model of memory foresees",
		"which pipeline schedules are tried: 1f1b and interleaved, which every launcher has; all, which takes longer; or one",
		"launchable leaves out what some launcher refuses although it could run, such as ZeRO-2 with a pipeline",
		"degree of tensor parallelism; any: the divisors of the GPUs up to twice the fast domain",
		"degree of pipeline parallelism; any: the divisors of the GPUs up to the number of layers",
		fmt.Sprintf("stages per pipeline rank; any: one, and for interleaved schedules those up to %d over which the layers divide", find.MaxVPP),
		"degree of context parallelism; any: powers of two",
		"degree of expert parallelism; any: the divisors of the experts",
		"degree of tensor parallelism of the experts; any: 1 and TP",
		"what data-parallel copies share; any: the stages that the stack offers",
		fmt.Sprintf("sequences of a micro-batch; any: 1 to %d and powers of two up to %d, of those that divide the batch", find.MaxOddMBS, find.MaxMBS),
		"sequence parallelism beside TP",
		"what runs again in the backward pass",
	}[k]
}

// First words of the knobs that are no degrees.
const (
	twoSchedules = "usual"
	allSchedules = "all"
	rulesKept    = "launchable"
	rulesBroken  = "all legal"
)

// word is what a knob is turned to.
func (v *View) word(k facet) string {
	if w := v.wish[k]; w != "" || len(v.values[k]) == 0 {
		return w
	}
	return v.values[k][0]
}

// free says whether nothing is asked of a knob.
func (w *wish) free(k facet) bool { return w[k] == "" }

// refreshValues works out what each knob can be turned to where the base has
// changed. What is asked and cannot be any more is let go.
func (v *View) refreshValues(want *asked) {
	if v.haveValues && v.valuesOf == want.base {
		return
	}
	open := asked{base: want.base}
	tried := find.Tried(open.problem())
	v.valuesOf, v.haveValues = want.base, true
	v.values[objective] = nil
	for _, o := range find.Objectives() {
		v.values[objective] = append(v.values[objective], string(o))
	}
	v.values[numbers] = numbersOf(&want.base)
	v.values[batchRule] = []string{autoValue, yourBatch}
	v.values[budget] = []string{autoValue, "100B", "300B", "1T", "2T", "5T", "10T", "15T", "20T", "30T"}
	v.values[deadline] = []string{noDeadline, "1 day", "3 days", "7 days", "14 days", "30 days", "60 days", "90 days", "180 days", "365 days"}
	v.values[headroom] = []string{"0 %", "2 %", "5 %", "10 %", "20 %", "30 %"}
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
		if w := v.wish[k]; w != "" && w == v.typed[k] && (k.counts() && k != numbers) {
			v.admit(k, w)
		}
		if w := v.wish[k]; w != "" && !slices.Contains(v.values[k], w) {
			v.wish[k] = ""
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
	to := min(max(at+n, 0), len(values)-1)
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
	v.wish[k] = word
}

// fastest is the same wish for the fastest layouts on the GPUs of the setup.
func (w *wish) fastest() wish {
	out := *w
	out[objective], out[numbers], out[batchRule], out[budget], out[deadline] = "", "", "", "", ""
	return out
}

// one are the values that a knob leaves to a search: nil for any.
func (w *wish) one(k facet) []int {
	if n, err := strconv.Atoi(w[k]); err == nil {
		return []int{n}
	}
	return nil
}

// problem is the question in the engine's words.
func (a *asked) problem() find.Problem {
	w := &a.wish
	p := find.Problem{Setup: a.base, Objective: find.Throughput, Top: top, Front: true, Workers: workers()}
	if w[objective] != "" {
		p.Objective = find.Objective(w[objective])
	}
	var percent float64
	if _, err := fmt.Sscanf(w[headroom], "%f", &percent); err == nil {
		p.Headroom = percent / 100
	}
	a.wholeRun(&p)
	p.Space = find.Space{
		GPUs: a.gpus(p.Objective),
		TP:   w.one(tensor), PP: w.one(pipeline), VPP: w.one(virtual), CP: w.one(contextual),
		EP: w.one(expert), ETP: w.one(expertTensor), ZeRO: w.one(zero), MBS: w.one(microBatch),
		Refused: w[launchers] == rulesBroken,
	}
	if p.Objective == find.FewestGPUs && w[batchRule] == "" {
		p.Space.FollowGBS, p.Space.RaiseGBS = true, p.Deadline > 0 && p.Tokens > 0
	}
	switch w[schedules] {
	case "":
	case allSchedules:
		for _, info := range schedule.Kinds() {
			p.Space.Schedules = append(p.Space.Schedules, info.Kind)
		}
	default:
		p.Space.Schedules = []schedule.Kind{schedule.Kind(w[schedules])}
	}
	if w[sequenceParallel] != "" {
		p.Space.SP = []bool{w[sequenceParallel] == "on"}
	}
	var again recipe.Recompute
	if w[recompute] != "" && again.UnmarshalText([]byte(w[recompute])) == nil {
		p.Space.Recompute = []recipe.Recompute{again}
	}
	if p.Objective == find.LongestSeq {
		p.Space.Seq = sequences(&a.base)
	}
	return p
}

// sequences are the lengths that are tried for the longest one: from that of the
// setup on, doubled.
func sequences(s *engine.Setup) []int {
	var out []int
	for n := s.Seq; n <= knob.MaxSeq && len(out) < 12; n *= 2 {
		out = append(out, n)
	}
	return out
}

// field is the knob of a field that a conflict names.
func field(name string) (facet, bool) {
	k, ok := map[knob.ID]facet{
		knob.TP: tensor, knob.PP: pipeline, knob.CP: contextual, knob.EP: expert, knob.ETP: expertTensor, knob.VPP: virtual, knob.MBS: microBatch,
		knob.ZeRO: zero, knob.SP: sequenceParallel, knob.Recompute: recompute, knob.Schedule: schedules, "headroom": headroom, "launchers": launchers, "deadline": deadline,
	}[knob.ID(name)]
	return k, ok
}
