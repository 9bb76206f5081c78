package search

import (
	"fmt"
	"slices"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// Space turns what was given into lists of values. Ranges without a step stand
// for what may be legal in them.
func (q *Query) Space() (Space, error) {
	sp := Space{}
	gpus, err := q.gpus()
	if err != nil {
		return sp, err
	}
	sp.GPUs = gpus
	sp.Seq = q.doubling(knob.Seq, q.Setup.Seq, sequences(q.Objective))
	if len(q.tokens) > 0 && len(sp.Seq) > 1 {
		return sp, &knob.ConflictError{
			Fields: [2]string{string(knob.GBS), string(knob.Seq)},
			Why: "a batch in tokens has another number of sequences at each length; give one length, or " +
				"the batch in sequences",
		}
	}
	sp.GBS = q.doubling(knob.GBS, q.gbs(sp.GPUs, slices.Max(sp.Seq)),
		q.inSequences(sp.GPUs, slices.Max(sp.Seq)))
	cuts := divisorsOf(sp.GPUs)
	for _, varied := range []struct {
		id         knob.ID
		into       *[]int
		candidates func() []int
	}{
		{knob.DP, &sp.DP, func() []int { return cuts }},
		{knob.TP, &sp.TP, func() []int { return cuts }},
		{knob.PP, &sp.PP, func() []int { return cuts }},
		{knob.CP, &sp.CP, func() []int { return cuts }},
		{knob.ETP, &sp.ETP, func() []int { return cuts }},
		{knob.EP, &sp.EP, func() []int { return divisorsOf([]int{max(q.Setup.Model.Experts, 1)}) }},
		{knob.VPP, &sp.VPP, func() []int { return upTo(1, min(q.Setup.Model.Layers, maxChoices)) }},
		{knob.ZeRO, &sp.ZeRO, func() []int { return upTo(0, 3) }},
		{knob.MBS, &sp.MBS, func() []int { return divisorsOf(sp.GBS) }},
		{knob.MicroBatches, &sp.MicroBatches, func() []int { return divisorsOf(sp.GBS) }},
	} {
		v, said := q.Values[varied.id]
		if !said {
			continue
		}
		*varied.into = v.Numbers(varied.candidates())
		if len(*varied.into) > maxChoices && varied.id == knob.MBS {
			return sp, q.tooMany(varied.id, maxChoices)
		}
	}
	for _, word := range q.Values[knob.SP].Words {
		sp.SP = append(sp.SP, word == "on")
	}
	for _, word := range q.Values[knob.Schedule].Words {
		sp.Schedules = append(sp.Schedules, schedule.Kind(word))
	}
	// On one rank all schedules are the same, and the first one gives the name.
	if i := slices.Index(sp.Schedules, schedule.OneFOneB); i > 0 {
		sp.Schedules = slices.Insert(slices.Delete(sp.Schedules, i, i+1), 0, schedule.OneFOneB)
	}
	recompute := q.Values[knob.Recompute]
	if recompute.All() { // parts of layers too, as where nothing is given
		recompute.Words = nil
	}
	for _, word := range recompute.Words {
		var r recipe.Recompute
		if err := r.UnmarshalText([]byte(word)); err != nil {
			return sp, err
		}
		sp.Recompute = append(sp.Recompute, r)
	}
	if len(sp.Recompute) > maxChoices {
		return sp, q.tooMany(knob.Recompute, maxChoices)
	}
	return sp, q.others(&sp)
}

// maxChoices is how many values a search takes of a knob that every cut is
// combined with.
const maxChoices = 255

func (q *Query) tooMany(id knob.ID, most int) error {
	return &knob.ValueError{
		Field: string(id), Given: q.Texts[id],
		Allowed: fmt.Sprintf("at most %d values in a search; give a step or a factor, such as 1..64:x2",
			most),
	}
}

// gpus lists the numbers of GPUs. A range of them goes by whole nodes, and below
// one node by powers of two.
func (q *Query) gpus() ([]int, error) {
	node, most := q.Setup.Cluster.Node(), mostGPUs(&q.Setup)
	v, said := q.Values[knob.GPUs]
	n, saidNodes := q.Values[knob.Nodes]
	switch {
	case !said && !saidNodes && q.Objective == FewestGPUs:
		return anyGPUs(&q.Setup), nil
	case !said && !saidNodes:
		return []int{q.Setup.GPUs}, nil
	}
	var gpus, nodes []int
	var err error
	if said {
		if gpus, err = q.wholeNodes(knob.GPUs, &v, node, most); err != nil {
			return nil, err
		}
	}
	if !saidNodes {
		return gpus, nil
	}
	if nodes, err = q.wholeNodes(knob.Nodes, &n, 1, most/node); err != nil {
		return nil, err
	}
	for i := range nodes {
		nodes[i] = min(nodes[i]*node, knob.MaxGPUs)
	}
	if !said {
		return nodes, nil
	}
	both := slices.DeleteFunc(gpus, func(g int) bool { return !slices.Contains(nodes, (g+node-1)/node*node) })
	if len(both) == 0 {
		return nil, &knob.ConflictError{
			Fields: [2]string{string(knob.GPUs), string(knob.Nodes)},
			Why:    fmt.Sprintf("none of the given numbers of GPUs fills that many nodes of %d", node),
		}
	}
	return both, nil
}

// mostGPUs is how many GPUs a machine has at most.
func mostGPUs(s *engine.Setup) int {
	if m := s.Cluster.MaxGPUs; m > 0 {
		return m
	}
	return knob.MaxGPUs
}

// anyGPUs lists the numbers of GPUs that are tried where any will do: powers of two below a node, then 1, 2,
// 4 nodes and so on.
func anyGPUs(s *engine.Setup) []int {
	all := append(belowNode(min(s.Cluster.Node(), mostGPUs(s)+1)), doubledNodes(s)...)
	slices.Sort(all) // a machine may be less than a node
	return slices.Compact(all)
}

// doubledNodes lists the GPUs of 1, 2, 4 nodes and so on, as far as the machine goes.
func doubledNodes(s *engine.Setup) (out []int) {
	node := s.Cluster.Node()
	for nodes := 1; nodes <= mostNodes && nodes*node <= mostGPUs(s); nodes *= 2 {
		out = append(out, nodes*node)
	}
	if len(out) == 0 { // a machine of less than a node
		out = []int{s.GPUs}
	}
	return out
}

// belowNode lists the powers of two below a node.
func belowNode(node int) (out []int) {
	for n := 1; n < node; n *= 2 {
		out = append(out, n)
	}
	return out
}

// mostNodes is up to how many nodes the fewest GPUs are looked for where none
// is given: 1, 2, 4 and so on.
const mostNodes = 2048

// wholeNodes lists the values of a count that goes in steps of a unit.
func (q *Query) wholeNodes(id knob.ID, v *knob.Values, unit, most int) ([]int, error) {
	low, high := v.Bounds()
	candidates := belowNode(unit)
	first := (max(low, 1) + unit - 1) / unit * unit
	for n := first; n <= min(high, most) && len(candidates) <= 2*knob.MaxValues; n += unit {
		candidates = append(candidates, n)
	}
	out := v.Numbers(candidates)
	if len(out) > knob.MaxValues {
		return nil, q.tooMany(id, knob.MaxValues)
	}
	return out, nil
}

// doubling lists the values of a knob that has one value unless it is said; its
// ranges double from their lower end.
func (q *Query) doubling(id knob.ID, otherwise int, free []int) []int {
	v, said := q.Values[id]
	switch {
	case said:
		low, high := v.Bounds()
		var candidates []int
		for n := max(low, 1); n <= high; n *= 2 {
			candidates = append(candidates, n)
		}
		return v.Numbers(candidates)
	case len(free) > 0:
		return free
	}
	return []int{otherwise}
}

// inSequences returns the global batches that were given in tokens, in sequences: as given where
// the degrees are, else of numbers that divide well.
func (q *Query) inSequences(gpus []int, seq int) (out []int) {
	for _, tokens := range q.tokens {
		if q.Cut && len(q.tokens) == 1 {
			return []int{q.Setup.GBS}
		}
		out = append(out, BatchNear(tokens, gpus, seq))
	}
	return unique(out)
}

// gbs returns the global batch where the flags give no list of them.
func (q *Query) gbs(gpus []int, seq int) int {
	if q.Given(knob.GBS) || q.Counted {
		return q.Setup.GBS
	}
	if q.UnsetBatch = true; q.AsEval {
		return q.Setup.GBS // what eval takes
	}
	gbs := UnsetGBS(&q.Setup, gpus, seq)
	// A multiple of what is given of its factors, one that divides well.
	factor := 1
	for _, id := range []knob.ID{knob.MBS, knob.MicroBatches} {
		if v, given := q.Values[id]; given {
			if n, one := v.Single(); one {
				factor *= n
			}
		}
	}
	if gbs%factor != 0 {
		gbs = min(factor*knob.DividingBatch(gpus, max(gbs/factor, 1)), layout.MaxGBS/factor*factor)
	}
	return gbs
}

// Lengths between which the longest sequence is looked for where nobody says.
const (
	shortestSeq = 4 << 10
	longestSeq  = 1 << 20
)

// sequences returns the lengths that a search for the longest tries by itself.
func sequences(objective Objective) []int {
	if objective != LongestSeq {
		return nil
	}
	var out []int
	for n := shortestSeq; n <= longestSeq; n *= 2 {
		out = append(out, n)
	}
	return out
}

func upTo(from, to int) []int {
	var out []int
	for n := from; n <= to; n++ {
		out = append(out, n)
	}
	return out
}

// divisorsOf returns the numbers that divide at least one of a list.
func divisorsOf(list []int) []int {
	var out []int
	for _, n := range list {
		for d := 1; d*d <= n; d++ {
			if n%d == 0 {
				out = append(out, d, n/d)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
