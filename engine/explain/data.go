package explain

import (
	"fmt"

	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// replicas is the traffic of gradients and weights of one pipeline rank, as
// sums: engine/step's DataParallel.
type replicas struct {
	scatter, gather                 []*Expr
	perForward, perInput, perWeight []*Expr // of every micro-batch, beside those passes
	dense, expert, mirror           flow
}

// flow is what one set of parameters moves over the step.
type flow struct{ bytes, seconds []*Expr }

// data is the data-parallel traffic of a rank: ZeRO paper (arXiv 1910.02054)
// section 7.
func (b *Book) data(r int) replicas {
	g, p := &b.w.Step.Groups, b.w.Parameters[r]
	var d replicas
	if p.Dense > 0 {
		b.domain(r, false, &d, &d.dense, [3]layout.Group{g.DenseDP, g.DenseShard, g.DenseReplica})
	}
	if p.Expert > 0 {
		b.domain(r, true, &d, &d.expert, [3]layout.Group{g.ExpertDP, g.ExpertShard, g.ExpertReplica})
	}
	if b.w.Data[r].Mirror.Bytes > 0 {
		b.mirror(r, &d)
	}
	return d
}

// domain adds one set of parameters over its group, shards and replicas.
func (b *Book) domain(r int, experts bool, d *replicas, f *flow, groups [3]layout.Group) {
	s, soft := b.w.Setup, &b.machine().Software
	whole, shard, replica := groups[0], groups[1], groups[2]
	if whole.Size <= 1 {
		return
	}
	kind := "dense"
	if experts {
		kind = "expert"
	}
	reduce := s.GradDtype.ReduceBytes(b.precision())
	if soft.Reduce > 0 {
		reduce = soft.Reduce
	}
	base := fmt.Sprintf("data.%d.%s", r, kind)
	volume := func(id, name string, bytes float64) *Expr {
		return b.term(base+"."+id, about{
			name: fmt.Sprintf("%s of %s parameters, rank %d", name, kind, r), symbol: "v_" + id, unit: Traffic, source: "parameters on the GPU times bytes on the wire",
		}, func() *Expr { return mul(b.rankParameters(r, experts), count("bytes on the wire", bytes)) })
	}
	grads, weights := volume("gradients", "Gradients", reduce), volume("weights", "Weights", b.precision().GatherBytes())
	all := func(v *Expr, g layout.Group) {
		if g.Size <= 1 {
			return
		}
		t := b.calls(r, base+".all-reduce", kind+" gradient all-reduce", v, g, b.reducing())
		d.scatter, f.bytes, f.seconds = append(d.scatter, t), append(f.bytes, mul(lit(2), sent(v, g))), append(f.seconds, t)
	}
	if s.ZeRO == 0 {
		all(grads, whole)
		return
	}
	all(div(grads, count("shards", shard.Size)), replica)
	gather := b.calls(r, base+".gather", kind+" weight all-gather", weights, shard, b.gathering())
	scatter := b.calls(r, base+".scatter", kind+" gradient reduce-scatter", grads, shard, b.gathering())
	stage := s.ZeRO
	if stage == 3 && s.PP > 1 && soft.Keeps {
		stage = 1
	}
	m := count("m", s.MicroBatches)
	gb, wb := sent(grads, shard), sent(weights, shard)
	switch stage {
	case 1:
		d.scatter, d.gather = append(d.scatter, scatter), append(d.gather, gather)
		f.bytes, f.seconds = append(f.bytes, gb, wb), append(f.seconds, scatter, gather)
	case 2:
		d.perWeight, d.gather = append(d.perWeight, scatter), append(d.gather, gather)
		f.bytes, f.seconds = append(f.bytes, mul(m, gb), wb), append(f.seconds, mul(m, scatter), gather)
	default:
		d.perForward, d.perInput, d.perWeight = append(d.perForward, gather), append(d.perInput, gather), append(d.perWeight, scatter)
		f.bytes = append(f.bytes, mul(m, add(mul(lit(2), wb), gb)))
		f.seconds = append(f.seconds, mul(m, add(mul(lit(2), gather), scatter)))
	}
}

// calls is the time of moving a volume in the calls that the stack makes of it.
func (b *Book) calls(r int, id, name string, v *Expr, g layout.Group, w wire) *Expr {
	s, soft := b.w.Setup, &b.machine().Software
	return b.term(id, about{
		name: fmt.Sprintf("Time of the %s, rank %d", name, r), symbol: "t(" + name + ")", unit: Seconds,
		source: "calls (one per layer with ZeRO-3, else one per bucket) times one call; " + from(soft.From), omits: "other traffic on the same links",
	}, func() *Expr {
		var parts []*Expr
		each := v
		switch {
		case s.ZeRO == 3:
			layers := 0
			o := b.r.Timeline.Order
			for c := range o.Chunks() {
				layers += b.w.Stages[o.StageOf(r, c)].Layers()
			}
			n := count("calls", max(layers, 1))
			parts, each = append(parts, n), div(v, n)
			if slow := max(soft.ShardSlow, 1); slow != 1 {
				parts = append(parts, count("slowing of many small tensors", slow))
			}
		case soft.Bucket > 0:
			n := maxOf(div(v, num("bucket", float64(soft.Bucket), Traffic)), lit(1))
			parts, each = append(parts, n), div(v, n)
		}
		parts = append(parts, b.collective(id+".call", "one call of the "+name, each, g, w))
		return scaled(soft.Factor, "factor of the stack", mul(parts...))
	})
}

// mirror is the exchange of the two copies of a bidirectional pipeline.
func (b *Book) mirror(r int, d *replicas) {
	s, p := b.w.Setup, b.w.Parameters[r]
	v := b.term(fmt.Sprintf("data.%d.mirror", r), about{
		name: fmt.Sprintf("Gradients that rank %d exchanges with its mirror", r), symbol: "v_mirror", unit: Traffic, source: "each rank its shard from ZeRO-1 on",
	}, func() *Expr {
		over := func(x *Expr, name string, n int) *Expr {
			if s.ZeRO >= 1 {
				return div(x, count(name, n))
			}
			return x
		}
		params := over(b.rankParameters(r, false), "DP x CP", s.DP*s.CP)
		if p.Expert > 0 {
			params = add(params, over(b.rankParameters(r, true), "expert-DP", s.ExpertDP()))
		}
		return mul(params, count("bytes on the wire", s.GradDtype.ReduceBytes(b.precision())))
	})
	t := b.send(v, b.w.Step.Groups.PP.Crosses())
	d.mirror = flow{[]*Expr{v}, []*Expr{t}}
	d.scatter = append(d.scatter, t)
}

// exposedData is a rank's data-parallel traffic outside the micro-batches that
// nothing hides.
func (b *Book) exposedData(r int) *Expr {
	soft := &b.machine().Software
	return b.term(fmt.Sprintf("data.%d.exposed", r), about{
		name: fmt.Sprintf("Data-parallel traffic of rank %d that nothing hides, once per step", r), symbol: fmt.Sprintf("exposed data traffic of rank %d", r), unit: Seconds,
		source: "gradients hide under the last backward and the wait at the end, weights under the wait before the first forward and that forward, but for a share; " + from(soft.From),
		omits:  "when buckets become ready",
	}, func() *Expr {
		d, o := b.data(r), b.r.Timeline.Order
		before, after := b.ends(r)
		var forward, backward []*Expr
		for c := range o.Chunks() {
			stage := o.StageOf(r, c)
			forward = append(forward, b.stageTime(stage, 0))
			backward = append(backward, b.stageTime(stage, 1), b.stageTime(stage, 2))
		}
		part := func(list []*Expr, share float64, hides []*Expr, name string, wait float64) *Expr {
			t := add(list...)
			return maxOf(mul(t, num("share that compute never hides", share, Share)), sub(t, add(append(hides, num(name, wait, Seconds))...)))
		}
		var sum []*Expr
		if len(d.scatter) > 0 {
			sum = append(sum, part(d.scatter, soft.DP, backward, "simulated wait after the last backward", float64(after)))
		}
		if len(d.gather) > 0 {
			sum = append(sum, part(d.gather, soft.Gather, forward, "simulated wait before the first forward", float64(before)))
		}
		return add(sum...)
	})
}

// slowest is the rank with most of that, by the engine's own figures so that
// equal ranks are told apart as it does.
func (b *Book) slowest() int {
	soft := &b.machine().Software
	best, most := 0, units.Seconds(-1)
	for r := range b.w.Setup.PP {
		d := &b.w.Data[r]
		forward, backward := b.compute(r)
		before, after := b.ends(r)
		scatter := max(d.ScatterSeconds*units.Seconds(soft.DP), d.ScatterSeconds-backward-after)
		gather := max(d.GatherSeconds*units.Seconds(soft.Gather), d.GatherSeconds-forward-before)
		if t := scatter + gather; t > most {
			best, most = r, t
		}
	}
	return best
}

// compute is what a rank computes for one micro-batch.
func (b *Book) compute(r int) (forward, backward units.Seconds) {
	o := b.r.Timeline.Order
	for c := range o.Chunks() {
		k := &b.w.Costs[o.StageOf(r, c)]
		forward += k.Forward
		backward += k.InputGrad + k.WeightGrad
	}
	return forward, backward
}

// ends are a rank's waits at the ends of a step, in which data-parallel traffic
// hides.
func (b *Book) ends(r int) (before, after units.Seconds) {
	_, backward := b.compute(r)
	return b.w.Ends(b.r.Timeline, r, b.w.Data[r].ScatterSeconds-backward)
}

// optimizerTime is the update of one rank's shard.
func (b *Book) optimizerTime(r int) *Expr {
	s, soft := b.w.Setup, &b.machine().Software
	return b.term(fmt.Sprintf("time.optimizer.%d", r), about{
		name: fmt.Sprintf("Optimizer step of pipeline rank %d", r), symbol: fmt.Sprintf("optimizer of rank %d", r), unit: Seconds,
		source: "memory traffic of fused Adam over the rank's shard, and the host's part; " + from(soft.From),
		omits:  "arithmetic, gradient clipping's norm over ranks",
	}, func() *Expr {
		over := func(x *Expr, name string, n int) *Expr {
			if s.ZeRO >= 1 {
				return div(x, count(name, n))
			}
			return x
		}
		params := over(b.rankParameters(r, false), "shards", s.DenseShards())
		if b.w.Parameters[r].Expert > 0 {
			params = add(params, over(b.rankParameters(r, true), "expert shards", s.ExpertShards()))
		}
		if s.Offload == recipe.OffloadOptimizer {
			each := count("bytes over PCIe", s.GradDtype.ReduceBytes(b.precision())+b.precision().GatherBytes())
			return div(mul(each, params), num("PCIe", float64(s.Cluster.GPU.HostBandwidth), Bandwidth))
		}
		t := b.stream(mul(count("bytes per parameter", soft.Optimizer), params))
		return scaled(soft.Factor, "factor of the stack", add(t, seconds("host's time per step", soft.HostStep)))
	})
}
