package engine

import (
	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/schedule"
	"meshscope/engine/step"
	"meshscope/engine/units"
)

// timing is how long each stage keeps its rank busy with one micro-batch.
type timing struct {
	f, b, i, w []float64
	again      []float64 // forward that runs again, contained in b and i; empty where nothing does
	// expert traffic contained in f and b (or i), which an overlapped pair hides
	expertForward, expertBackward []float64
	// exposed ZeRO traffic per micro-batch, contained in f and b (or i)
	zeroForward, zeroBackward []units.Seconds
	zeroApart                 []units.Seconds // what more is exposed where the backward is split, contained in i and w
	blocked                   []units.Seconds // waiting for messages, contained in f and b
	activations, weightInputs []float64       // bytes of a micro-batch, for automatic schedules
	handmade                  bool            // an automatic schedule found no order
}

func (t *timing) set(e *Evaluator, s *Setup, hosts *schedule.Order, hop units.Seconds) {
	n := len(e.cost)
	t.again = t.again[:0]
	t.f, t.b, t.i, t.w = resize(t.f, n), resize(t.b, n), resize(t.i, n), resize(t.w, n)
	t.expertForward, t.expertBackward = resize(t.expertForward, n), resize(t.expertBackward, n)
	t.zeroForward, t.zeroBackward = resize(t.zeroForward, n), resize(t.zeroBackward, n)
	t.zeroApart = resize(t.zeroApart, n)
	t.blocked = resize(t.blocked, n)
	soft := &e.timInput.Machine.Software
	for r := range s.PP {
		for c := range hosts.Chunks() {
			stage := hosts.StageOf(r, c)
			k := &e.cost[stage]
			z := sendsOf(&e.data[r], k, hosts.Chunks(), soft)
			t.zeroForward[stage], t.zeroBackward[stage] = z.forward, z.backward
			t.zeroApart[stage] = max(0, z.input+z.weight-z.backward)
			t.i[stage], t.w[stage] = float64(k.InputGradTime()+z.input), float64(k.WeightGradTime()+z.weight)
		}
	}
	for stage := range n {
		k := &e.cost[stage]
		t.f[stage] = float64(k.ForwardTime() + t.zeroForward[stage])
		t.b[stage] = float64(k.BackwardTime() + t.zeroBackward[stage])
		if k.Recompute > 0 {
			t.again = resize(t.again, n)
		}
		t.expertForward[stage] = float64(k.ForwardLinks.EP.Exposed)
		t.expertBackward[stage] = float64(k.BackwardLinks.EP.Exposed)
		t.blocked[stage] = 0
		if soft.Blocking && stage < n-1 && crosses(hosts, stage) {
			t.f[stage] += float64(hop)
			t.blocked[stage] += hop
		}
		if soft.Blocking && stage > 0 && crosses(hosts, stage-1) {
			t.b[stage] += float64(hop)
			t.i[stage] += float64(hop)
			t.blocked[stage] += hop
		}
	}
	for stage := range t.again {
		t.again[stage] = float64(e.cost[stage].Recompute)
	}
}

// sends is the ZeRO traffic of one micro-batch on a stage that nothing hides: under a
// forward and a whole backward, and under the two parts of a split one, which run
// apart, each beside its own traffic.
type sends struct{ forward, backward, input, weight units.Seconds }

// sendsOf is that of a stage whose rank has so many chunks.
func sendsOf(d *step.DataParallel, k *step.Cost, chunks int, soft *hardware.Software) sends {
	if d.PerForward == 0 && d.PerBackward == 0 {
		return sends{} // as up to ZeRO-1
	}
	share, n := units.Seconds(soft.Shard), units.Seconds(chunks)
	exposed := func(traffic, under units.Seconds) units.Seconds { return max(traffic*share, traffic-under) }
	b, w := d.PerBackward/n, d.PerWeight/n
	return sends{
		forward:  exposed(d.PerForward/n, k.Forward),
		backward: exposed(b, k.InputGrad+k.WeightGrad),
		input:    exposed(b-w, k.InputGrad), weight: exposed(w, k.WeightGrad),
	}
}

// crosses tells whether a stage hands over to another rank: at its turn-around a
// V-shaped placement does not.
func crosses(hosts *schedule.Order, stage int) bool {
	p := hosts.Spec.Ranks
	return hosts.Placement.Host(p, stage, 0) != hosts.Placement.Host(p, stage+1, 0)
}

func (t *timing) costs(latency units.Seconds) schedule.Costs {
	return schedule.Costs{
		F: t.f, B: t.b, I: t.i, W: t.w, P2P: float64(latency),
		HiddenF: t.expertForward, HiddenB: t.expertBackward, R: t.recompute(),
	}
}

// held is what a micro-batch keeps on each stage, in bytes: until its input
// gradient, and from there until its weight gradient.
func (t *timing) held(live []memory.Live) (activations, weightInputs []float64) {
	t.activations, t.weightInputs = resize(t.activations, len(live)), resize(t.weightInputs, len(live))
	for stage := range live {
		t.activations[stage], t.weightInputs[stage] = float64(live[stage].Activations), float64(live[stage].WeightInputs)
	}
	return t.activations, t.weightInputs
}

// recompute is nil where nothing runs again.
func (t *timing) recompute() []float64 {
	if len(t.again) == 0 {
		return nil
	}
	return t.again
}

// mean is the average stage, for closed forms that assume equal stages.
func (t *timing) mean() schedule.ChunkTimes {
	return schedule.ChunkTimes{F: average(t.f), B: average(t.b), I: average(t.i), W: average(t.w)}
}

func average(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(max(len(list), 1))
}

func resize[T any](list []T, n int) []T {
	if cap(list) < n {
		return make([]T, n)
	}
	return list[:n]
}

// stepTime splits the step of the rank with the most work into its parts, and
// lists the traffic of that rank.
func (e *Evaluator) stepTime(s *Setup, in *step.Input, line *schedule.Timeline, t *Time) []Communication {
	rank := busiest(line)
	var links step.Links
	var zero, blocked units.Seconds
	for c := range e.order.Chunks() {
		stage := e.order.StageOf(rank, c)
		k := &e.cost[stage]
		n := e.order.Count(rank, c, schedule.Forward)
		m := units.Seconds(n)
		t.Compute += m * (k.Forward + k.InputGrad + k.WeightGrad)
		t.Recompute += m * k.Recompute
		links.AddTimes(&k.ForwardLinks, float64(n))
		links.AddTimes(&k.BackwardLinks, float64(n))
		links.TP.Exposed += units.Seconds(e.order.Count(rank, c, schedule.InputGradient)) * k.Unhidden
		blocked += m * e.timing.blocked[stage]
		zero += m * (e.timing.zeroForward[stage] + e.timing.zeroBackward[stage])
		zero += units.Seconds(e.order.Count(rank, c, schedule.InputGradient)) * e.timing.zeroApart[stage]
	}
	links.EP.Exposed = max(0, links.EP.Exposed-units.Seconds(line.Ranks[rank].Saved))
	length := period(&e.info, line)
	t.Bubble = units.Seconds(max(0, units.Difference(length, line.Ranks[rank].Busy)))
	slowest, tail := 0, units.Seconds(-1) // data-parallel traffic that no rank's compute hides
	for r := range s.PP {
		if exposed := e.exposedData(r, line, length); exposed > tail {
			slowest, tail = r, exposed
		}
		t.Optimizer = max(t.Optimizer, step.OptimizerTime(in, r, e.mem.Parameters()[r]))
	}
	t.Exposed = links.Exposed() + blocked + zero + tail
	t.Step = t.Compute + t.Recompute + t.Bubble + t.Exposed + t.Optimizer
	if zero > 0 {
		slowest = rank // what is exposed in every micro-batch is this rank's
	}
	data := e.data[slowest]
	data.Expose(zero + tail)
	return e.communication(s, in.Groups, onRank{rank, slowest}, links, data)
}

// period is what the pipeline adds to a step. The zero-bubble papers check the
// optimizer's step afterwards (arXiv 2401.10241, section 4), so that no rank
// waits for the others at its end: the step lasts as long as the longest rank is
// at work, not from the first start to the last end. The same is assumed of every
// schedule that runs weight gradients apart.
func period(info *schedule.Info, line *schedule.Timeline) float64 {
	if !info.SplitsBackward {
		return line.Makespan
	}
	longest := 0.0
	for r := range line.Ranks {
		longest = max(longest, line.Ranks[r].Last-line.Ranks[r].First)
	}
	return longest
}

func busiest(line *schedule.Timeline) int {
	best := 0
	for r := range line.Ranks {
		if line.Ranks[r].Busy > line.Ranks[best].Busy {
			best = r
		}
	}
	return best
}

// exposedData is the data-parallel traffic of a rank outside the pipeline that
// nothing hides: the scatter (or all-reduce) has the last micro-batch's
// backward and the rank's wait after it, the gather the wait before the first
// forward and that forward.
func (e *Evaluator) exposedData(r int, line *schedule.Timeline, length float64) units.Seconds {
	d := &e.data[r]
	var forward, backward units.Seconds
	for c := range e.order.Chunks() {
		k := &e.cost[e.order.StageOf(r, c)]
		forward += k.Forward
		backward += k.InputGrad + k.WeightGrad
	}
	before, after := ends(&e.info, line, r, length, d.ScatterSeconds-backward)
	soft := &e.timInput.Machine.Software
	scatter := max(d.ScatterSeconds*units.Seconds(soft.DP), d.ScatterSeconds-backward-after)
	gather := max(d.GatherSeconds*units.Seconds(soft.Gather), d.GatherSeconds-forward-before)
	return scatter + gather
}

// ends are a rank's waits at the ends of the step, before its first operation
// and after its last one, in a step whose pipeline has the given length. Where no rank waits for the others at the end both are
// one wait between two steps, the period less the rank's own span: gradients
// have as much of it as they need, weights the rest.
func ends(info *schedule.Info, line *schedule.Timeline, r int, length float64, gradients units.Seconds) (before, after units.Seconds) {
	first, last := line.Ranks[r].First, line.Ranks[r].Last
	if !info.SplitsBackward {
		return units.Seconds(first), units.Seconds(line.Makespan - last)
	}
	between := units.Seconds(max(0, length-(last-first)))
	after = min(between, max(0, gradients))
	return between - after, after
}

// onRank says of which pipeline rank the traffic inside layers is, and that of
// gradients and weights.
type onRank struct{ links, data int }

func (e *Evaluator) communication(s *Setup, g layout.Groups, of onRank, links step.Links, data step.DataParallel) []Communication {
	out := make([]Communication, 0, 8)
	rank := of.links
	add := func(dimension, operation string, group layout.Group, t step.Traffic) {
		if group.Size > 1 && t.Bytes > 0 {
			out = append(out, Communication{
				Dimension: dimension, Rank: rank, Operation: operation, GroupSize: group.Size, Spans: string(group.Span),
				Bytes: t.Bytes, Seconds: t.Seconds, Exposed: t.Exposed,
			})
		}
	}
	sharded := "all-gather + reduce-scatter"
	tp := "all-reduce"
	if s.SP {
		tp = sharded
	}
	add("tp", tp, g.TP, links.TP)
	add("cp", "send/receive (ring)", g.CP, links.CP)
	add("ep", "all-to-all", g.EP, links.EP)
	add("etp", sharded, g.ETP, links.ETP)
	gradients := "reduce-scatter + all-gather"
	if s.ZeRO == 0 {
		gradients = "all-reduce"
	}
	rank = of.data
	add("dp", gradients, g.DenseDP, data.Dense)
	add("expert-dp", gradients, g.ExpertDP, data.Expert)
	add("mirror", "send/receive", layout.Group{Size: 2, Span: g.PP.Span}, data.Mirror)
	return out
}

// handOvers is the traffic between stages of one step on a rank in the middle.
// Its exposed time is what hand-over latency adds to the pipeline; it is part
// of the bubble, because the rank waits.
func (e *Evaluator) handOvers(s *Setup, in *step.Input, message units.Bytes, latency units.Seconds, line *schedule.Timeline) Communication {
	sends := float64(s.Spec().Sends())
	return Communication{
		Dimension: "pp", Rank: s.PP / 2, Operation: "send/receive", GroupSize: s.PP, Spans: string(in.Groups.PP.Span),
		Bytes: message * units.Bytes(sends), Seconds: latency * units.Seconds(sends),
		Exposed: units.Seconds(max(0, units.Difference(line.Makespan, e.free))),
	}
}
