package schedule

import (
	"math"
	"slices"
)

// zbSearch is one run of the zero-bubble authors' heuristic (the text of their
// scheduler in words of our own): micro-batch by micro-batch, forwards where
// they fit in memory and do not hold up an input gradient, weight gradients into
// the waits. What an activation counts, until I and from there until W, is that
// of its stage.
type zbSearch struct {
	p, m   int
	t      *stageTimes
	limit  []float64 // by rank
	choice zbChoice

	done    [3][]int     // by operation (F, I, W) and rank: how many have run
	end     [3][]float64 // by operation, at rank*m+micro-batch
	now     []float64    // by rank
	held    []float64    // by rank
	bubble  []float64    // by rank: waits since its first forward
	longest float64      // the largest of them
	need    []int        // forwards wanted next, by rank
	lists   [][]Op
}

// zbChoice are the three switches; all eight combinations are tried.
type zbChoice struct {
	bubbleFirst bool // a bubble before the first input gradient is fine
	inputFirst  bool // hold a forward back where it delays the next rank's input gradient
	greedy      bool // fill a wait with a weight gradient even when that makes it longer
}

// Operations of the search, indexes of done and end.
const (
	zbF = iota
	zbI
	zbW
)

func searchZB(o *Order, t *stageTimes, stop func() bool) error {
	p, m := o.Spec.Ranks, o.Spec.MicroBatches
	z := newZBSearch(p, m, t, o.Spec.inFlightLimit())
	best, found := 0.0, false
	kept := make([][]Op, p)
	for k := range 8 {
		z.reset(zbChoice{bubbleFirst: k&4 == 0, inputFirst: k&2 == 0, greedy: k&1 == 0})
		ok, stopped := z.run(stop)
		if stopped {
			return &StoppedError{Spec: o.Spec}
		}
		if span := z.span(); ok && (!found || span < best) {
			best, found = span, true
			z.lists, kept = kept, z.lists
		}
	}
	if !found {
		return &SearchError{Spec: o.Spec}
	}
	for _, list := range kept {
		o.Ops = append(o.Ops, list...)
		o.endRank()
	}
	return nil
}

func newZBSearch(p, m int, t *stageTimes, limit int) *zbSearch {
	z := &zbSearch{p: p, m: m, t: t, limit: make([]float64, p)}
	for j := range z.limit {
		z.limit[j] = float64(limit) * t.held[j]
	}
	for k := range z.done {
		z.done[k], z.end[k] = make([]int, p), make([]float64, p*m)
	}
	z.now, z.bubble = make([]float64, p), make([]float64, p)
	z.held, z.need = make([]float64, p), make([]int, p)
	z.lists = make([][]Op, p)
	return z
}

func (z *zbSearch) reset(c zbChoice) {
	z.choice, z.longest = c, 0
	for k := range z.done {
		clear(z.done[k])
	}
	clear(z.now)
	clear(z.bubble)
	clear(z.held)
	if z.lists[0] == nil {
		for j := range z.lists {
			z.lists[j] = make([]Op, 0, 3*z.m)
		}
	}
	for j := range z.lists {
		z.lists[j] = z.lists[j][:0]
	}
}

// span returns the longest time from a rank's first start to its last end.
func (z *zbSearch) span() float64 {
	longest := 0.0
	for j := range z.p {
		longest = max(longest, z.end[zbW][j*z.m+z.m-1]-z.end[zbF][j*z.m]+z.t.f[j])
	}
	return longest
}

// put runs the next operation of a kind on rank j.
func (z *zbSearch) put(j, op int) {
	i := z.done[op][j]
	var cost, end float64
	var kind OpKind
	switch op {
	case zbF:
		kind, cost = Forward, z.t.f[j]
		end = z.now[j] + cost
		if j > 0 {
			end = max(end, z.end[zbF][(j-1)*z.m+i]+z.t.latency+cost)
		}
		z.held[j] += z.t.held[j]
	case zbI:
		kind, cost = InputGradient, z.t.i[j]
		end = z.now[j] + cost
		if j < z.p-1 {
			end = max(end, z.end[zbI][(j+1)*z.m+i]+z.t.latency+cost)
		}
		z.held[j] += z.t.heldForW[j] - z.t.held[j]
	default:
		kind, cost = WeightGradient, z.t.w[j]
		end = z.now[j] + cost
		z.held[j] -= z.t.heldForW[j]
	}
	if z.done[zbF][j] > 0 {
		z.bubble[j] += end - z.now[j] - cost
		z.longest = max(z.longest, z.bubble[j])
	}
	z.now[j], z.end[op][j*z.m+i] = end, end
	z.done[op][j]++
	z.lists[j] = append(z.lists[j], NewOp(kind, 0, i))
}

func (z *zbSearch) waiting(j int) bool { return z.done[zbW][j] < z.done[zbI][j] }

// room runs weight gradients until a forward fits on rank j; false when there
// are not enough of them.
func (z *zbSearch) room(j int) bool {
	for z.held[j]+z.t.held[j] > z.limit[j] {
		if !z.waiting(j) {
			return false
		}
		z.put(j, zbW)
	}
	return true
}

// fill runs weight gradients while rank j waits for an input that arrives then.
// One that would last longer than the wait runs only if the rank has had more
// bubbles than any, or greedily.
func (z *zbSearch) fill(j int, arrives float64) {
	for z.waiting(j) && z.now[j]+z.t.w[j] <= arrives {
		z.put(j, zbW)
	}
	if z.waiting(j) && z.now[j] < arrives && (z.choice.greedy || arrives-z.now[j] > z.longest-z.bubble[j]) {
		z.put(j, zbW)
	}
}

// run plans all micro-batches; ok is false when the activations do not fit.
func (z *zbSearch) run(stop func() bool) (ok, stopped bool) {
	z.first()
	for i := 1; i < z.m; i++ {
		if stop != nil && stop() {
			return false, true
		}
		z.wanted()
		for j := range z.p {
			if z.need[j] == 0 {
				continue
			}
			if !z.room(j) {
				return false, false
			}
			if j > 0 {
				z.fill(j, z.end[zbF][(j-1)*z.m+z.done[zbF][j]]+z.t.latency)
			}
			z.put(j, zbF)
		}
		for j := z.p - 1; j >= 0; j-- {
			if j < z.p-1 {
				z.fill(j, z.end[zbI][(j+1)*z.m+i]+z.t.latency)
			}
			for j == 0 && z.done[zbF][0] == z.m && z.waiting(0) {
				z.put(0, zbW)
			}
			z.put(j, zbI)
		}
	}
	for j := range z.p {
		for z.done[zbW][j] < z.m {
			z.put(j, zbW)
		}
	}
	return !slices.ContainsFunc(z.done[zbF], func(n int) bool { return n < z.m }), false
}

// first runs the first micro-batch and, on each rank, the forwards that fit
// before its first input gradient.
func (z *zbSearch) first() {
	last := z.p - 1
	for j := range z.p {
		z.put(j, zbF)
	}
	zbAhead(z.t, z.now, z.limit, z.m, z.choice.bubbleFirst, z.need)
	for j := range z.p {
		for range z.need[j] {
			z.put(j, zbF)
		}
	}
	for j := last; j >= 0; j-- {
		z.put(j, zbI)
	}
}

// zbAhead counts the forwards of each rank after its first one, which ended at those
// moments, for which there is time until its first input gradient arrives and room for
// what they hold; bubbleFirst: none that would delay it. No rank runs more than those
// before it.
func zbAhead(t *stageTimes, now, limit []float64, m int, bubbleFirst bool, need []int) {
	last := len(now) - 1
	need[last] = 0
	arrives := now[last] + t.i[last]
	for j := last - 1; j >= 0; j-- {
		wait := arrives + t.latency - now[j]
		n := float64(m - 1)
		if held := t.held[j]; held > 0 {
			n = min(n, math.Floor(limit[j]/held)-1)
		}
		if f := t.f[j]; f > 0 && bubbleFirst {
			n = min(n, math.Floor(wait/f))
		} else if f > 0 {
			n = min(n, math.Ceil(wait/f))
		} else if bubbleFirst && wait < 0 || !bubbleFirst && wait <= 0 {
			n = 0
		}
		need[j] = int(max(n, 0))
		arrives = max(now[j]+float64(need[j])*t.f[j], arrives+t.latency) + t.i[j]
	}
	for j := 1; j <= last; j++ {
		for need[j] > 0 && need[j] >= need[j-1] && 1+need[j] < m {
			need[j]--
		}
		need[j] = min(need[j], need[j-1]) // only stages of different length need this
	}
}

// wanted decides which ranks run a forward before their next input gradient: a
// rank only if all that follow it do.
func (z *zbSearch) wanted() {
	for j := z.p - 1; j >= 0; j-- {
		z.need[j] = 0
		if z.done[zbF][j] < z.m && !z.holdsBack(j) && (j == z.p-1 || z.need[j+1] == 1) {
			z.need[j] = 1
		}
	}
}

// holdsBack reports whether rank j is two forwards ahead of the next and another
// would end after the next rank could use its input gradient.
func (z *zbSearch) holdsBack(j int) bool {
	if !z.choice.inputFirst || j+1 >= z.p || z.done[zbF][j] < z.done[zbF][j+1]+2 {
		return false
	}
	next := z.now[j+1] + z.t.f[j+1] + z.t.i[j+1] + z.t.latency
	if z.now[j] >= next {
		return true
	}
	weights := z.done[zbI][j] - z.done[zbW][j]
	if each := z.t.heldForW[j]; each > 0 { // as many as make room
		weights = min(weights, int(math.Ceil(max(0, z.held[j]+z.t.held[j]-z.limit[j])/each)))
	} else {
		weights = 0
	}
	return z.now[j]+z.t.f[j]+float64(weights)*z.t.w[j] > next && next-z.now[j] <= z.longest-z.bubble[j]
}
