package schedule

// zbVAuto is ZB-V as the authors' scheduler finds it for the stages' own
// durations, in 2p chunk activations.
func zbVAuto() descriptor {
	return descriptor{
		Info: Info{
			Kind: ZBVAuto, Name: "ZB-V auto",
			Paper:     "Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362",
			Code:      "sail-sg/zero-bubble-pipeline-parallelism scheduler/zbv.py",
			Placement: VShape, SplitsBackward: true, Automatic: true, Chunks: 2, WeightCopies: 1,
			Constraint: "v = 2",
			Memory: "at most the bytes of 2p chunks (without a model one that waits for W alone " +
				"counts half)",
			Barrierless: true,
			// Its warmup goes on until each rank has run one forward more of the second
			// chunk than the rank before, and as many of the first (zbvSearch.warmUp).
			warmup: func(s *Spec, rank int) Warmup {
				least := min(2*(rank+1), 2*s.MicroBatches)
				return Warmup{least, s.VirtualStages * s.MicroBatches, least}
			},
		},
		search: searchZBV,
		check:  checkVShape,
		idle:   unknownIdle,
		maxOps: MaxAutoOps,
		work:   9,
	}
}

// zbvSearch is one greedy run, step by step: in each of 2m rounds every rank
// runs one input gradient and, if one is ready, one forward; weight gradients
// fill the waits. Index ch is the chunk in the order in which the kind of
// operation meets it: for F chunk 0 comes first, for I and W chunk 1.
type zbvSearch struct {
	p, m    int
	t       *stageTimes
	fillF   bool
	fillI   bool
	limit   []float64 // by rank: what 2p chunk activations hold
	allowed []float64 // by rank: bubbles of an earlier run, nil for the first
	most    float64   // the largest of them

	done    [3][2][]int     // by operation, ch and rank
	end     [3][2][]float64 // by operation and ch, at rank*m+micro-batch; -1: not run
	now     []float64
	held    []float64 // by rank
	bubble  []float64
	longest float64
	waiting [][]int8 // by rank: ch of the weight gradients put off, oldest first
	lists   [][]Op
	first   []int // ranks whose turn is ch 1, and ch 0, in this round
	second  []int
}

func searchZBV(o *Order, t *stageTimes, stop func() bool) error {
	p, m := o.Spec.Ranks, o.Spec.MicroBatches
	var best [][]Op
	least := 0.0
	for k := range 4 {
		lists, bubble, ok, stopped := zbvRun(p, m, t, k&2 == 0, k&1 == 0, stop)
		if stopped {
			return &StoppedError{Spec: o.Spec}
		}
		if ok && (best == nil || bubble < least) {
			best, least = lists, bubble
		}
	}
	if best == nil { // durations that the greedy rules cannot place
		generateZBV(o)
		o.Handmade = true
		return nil
	}
	for _, list := range best {
		o.Ops = append(o.Ops, list...)
		o.endRank()
	}
	return nil
}

// maxRefinements bounds how often a run is repeated with the bubbles of the one
// before; two are usual.
const maxRefinements = 16

// zbvRun runs once, and again with the bubbles found as allowed while that makes
// the largest bubble smaller.
func zbvRun(p, m int, t *stageTimes, fillI, fillF bool, stop func() bool) (lists [][]Op, bubble float64, ok,
	stopped bool,
) {
	var allowed []float64
	for range maxRefinements {
		z := newZBVSearch(p, m, t)
		z.fillI, z.fillF, z.allowed, z.most = fillI, fillF, allowed, -1
		for _, b := range allowed {
			z.most = max(z.most, b)
		}
		fine, halted := z.run(stop)
		if halted {
			return nil, 0, false, true
		}
		if !fine || ok && z.longest >= bubble {
			break
		}
		lists, bubble, ok = z.lists, z.longest, true
		allowed = z.bubble
	}
	return lists, bubble, ok, false
}

func newZBVSearch(p, m int, t *stageTimes) *zbvSearch {
	z := &zbvSearch{p: p, m: m, t: t, limit: make([]float64, p)}
	for j := range z.limit {
		z.limit[j] = float64(p) * (t.held[VShape.stage(p, j, 0)] + t.held[VShape.stage(p, j, 1)])
	}
	for op := range z.done {
		for ch := range z.done[op] {
			z.done[op][ch], z.end[op][ch] = make([]int, p), make([]float64, p*m)
			for k := range z.end[op][ch] {
				z.end[op][ch][k] = -1
			}
		}
	}
	z.now, z.bubble, z.held = make([]float64, p), make([]float64, p), make([]float64, p)
	z.waiting, z.lists = make([][]int8, p), make([][]Op, p)
	for j := range p {
		z.lists[j] = make([]Op, 0, 6*m)
	}
	return z
}

// chunkOf returns the rank's chunk behind ch.
func chunkOf(op, ch int) int {
	if op == zbF {
		return ch
	}
	return 1 - ch
}

// cost returns the duration of an operation on the stage that rank j has there.
func (z *zbvSearch) cost(op, ch, j int) float64 {
	stage := VShape.stage(z.p, j, chunkOf(op, ch))
	switch op {
	case zbF:
		return z.t.f[stage]
	case zbI:
		return z.t.i[stage]
	}
	return z.t.w[stage]
}

// needs returns what an operation adds to what its rank holds.
func (z *zbvSearch) needs(op, ch, j int) float64 {
	stage := VShape.stage(z.p, j, chunkOf(op, ch))
	switch op {
	case zbF:
		return z.t.held[stage]
	case zbI:
		return z.t.heldForW[stage] - z.t.held[stage]
	}
	return -z.t.heldForW[stage]
}

// from returns the rank that an operation's input comes from; false for none.
func (z *zbvSearch) from(ch, j int) (int, bool) {
	if ch == 1 {
		return j + 1, j < z.p-1
	}
	return j - 1, j > 0
}

// put runs the next operation; false when its input or memory is not there.
func (z *zbvSearch) put(op, ch, j int) bool {
	i := z.done[op][ch][j]
	cost := z.cost(op, ch, j)
	needs := z.needs(op, ch, j)
	if i >= z.m || z.held[j]+needs > z.limit[j] {
		return false
	}
	end := z.now[j] + cost
	if op != zbW {
		if from, remote := z.from(ch, j); remote {
			ready := z.end[op][ch][from*z.m+i]
			if ready < 0 {
				return false
			}
			end = max(end, ready+z.t.latency+cost)
		}
		if !z.ownDone(op, ch, j, i) {
			return false
		}
	}
	if z.done[zbF][0][j] > 0 {
		z.bubble[j] += end - z.now[j] - cost
		z.longest = max(z.longest, z.bubble[j])
	}
	z.end[op][ch][j*z.m+i], z.now[j] = end, end
	z.held[j] += needs
	z.done[op][ch][j]++
	kind := [3]OpKind{Forward, InputGradient, WeightGradient}[op]
	z.lists[j] = append(z.lists[j], NewOp(kind, chunkOf(op, ch), i))
	if op == zbI {
		z.waiting[j] = append(z.waiting[j], int8(ch))
	}
	return true
}

// ownDone reports whether the same rank has run what comes before: F of the first
// chunk before the second, both before I of the second chunk, that before I of
// the first.
func (z *zbvSearch) ownDone(op, ch, j, i int) bool {
	switch {
	case op == zbF && ch == 0:
		return true
	case op == zbF:
		return z.end[zbF][0][j*z.m+i] >= 0
	case ch == 0:
		return z.end[zbF][1][j*z.m+i] >= 0
	}
	return z.end[zbI][0][j*z.m+i] >= 0
}

// weight runs the oldest weight gradient that was put off.
func (z *zbvSearch) weight(j int) bool {
	if len(z.waiting[j]) == 0 {
		return false
	}
	ch := z.waiting[j][0]
	z.waiting[j] = z.waiting[j][1:]
	return z.put(zbW, int(ch), j)
}

// slack returns how much more rank j may wait without becoming the worst.
func (z *zbvSearch) slack(j int) float64 {
	worst := z.longest
	allowed := -1.0
	if z.allowed != nil {
		allowed = z.allowed[j]
	}
	return max(worst, z.most-allowed) - z.bubble[j]
}

// fill runs weight gradients while rank j waits for the input of its next
// operation, and one that lasts longer than the wait where that is too long.
// Without an input from another rank the wait counts as over at -1, as in the
// authors' code.
func (z *zbvSearch) fill(op, ch, j int, longer bool) {
	arrives := -1 + z.t.latency
	if from, remote := z.from(ch, j); remote {
		arrives = z.end[op][ch][from*z.m+z.done[op][ch][j]] + z.t.latency
		for len(z.waiting[j]) > 0 && arrives >= z.now[j]+z.cost(zbW, int(z.waiting[j][0]), j) {
			z.weight(j)
		}
	}
	if longer && len(z.waiting[j]) > 0 && arrives-z.now[j] > z.slack(j) {
		z.weight(j)
	}
}
