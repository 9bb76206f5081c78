package explain

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// passes of a stage: forward, input gradient, weight gradient.
func passes() [3]string { return [3]string{"forward", "input-gradient", "weight-gradient"} }

// pieces calls f for each piece of a stage and how often it is there.
func (b *Book) pieces(stage int, f func(n int, l *layer)) {
	st, m := b.w.Stages[stage], &b.w.Setup.Model
	if st.Dense > 0 {
		f(st.Dense, b.kind(false))
	}
	if st.MoE > 0 {
		f(st.MoE, b.kind(true))
	}
	if st.Embedding {
		f(1, b.embedding())
	}
	if st.Head {
		f(1, b.head())
		if n := m.MTPLayers; n > 0 && b.w.Setup.TrainMTP {
			f(n, b.kind(m.IsMoE()))
			f(n, b.mtpProjection())
			f(n, b.head())
		}
	}
}

func (b *Book) factor() float64 { return b.machine().Software.Factor }

// stageTime is one pass of one micro-batch through a stage, without traffic.
func (b *Book) stageTime(stage, pass int) *Expr {
	name := passes()[pass]
	return b.term(fmt.Sprintf("stage.%d.%s", stage, name), about{
		name: fmt.Sprintf("Compute of the %s of one micro-batch on stage %d", name, stage), symbol: fmt.Sprintf("%s of stage %d", name, stage), unit: Seconds,
		source: "layers times their operations, times the factor of the stack; " + from(b.machine().Software.From),
		omits:  "communication that nothing hides (its own figure)",
	}, func() *Expr {
		var sum []*Expr
		b.pieces(stage, func(n int, l *layer) { sum = append(sum, many(n, l.name, l.sums[pass])) })
		return scaled(b.factor(), "factor of the stack", add(sum...))
	})
}

// many is n times a piece.
func many(n int, name string, x *Expr) *Expr {
	if n == 1 {
		return x
	}
	return mul(count("number of "+name+"s", n), x)
}

// stageRecompute is the forward work that the backward of a stage repeats.
func (b *Book) stageRecompute(stage int) *Expr {
	return b.term(fmt.Sprintf("stage.%d.recompute", stage), about{
		name: fmt.Sprintf("Recomputation of one micro-batch on stage %d", stage), symbol: fmt.Sprintf("recompute of stage %d", stage), unit: Seconds,
		source: "forward of what --recompute names", omits: "multi-token-prediction modules, which keep everything",
	}, func() *Expr {
		s, st := b.w.Setup, b.w.Stages[stage]
		var sum []*Expr
		switch s.Recompute.Mode {
		case recipe.RecomputeFull:
			b.again(stage, func(n int, l *layer) { sum = append(sum, many(n, l.name, l.sums[0])) })
		case recipe.RecomputeSelective:
			if b.w.Step.KeepsProducts && !s.Model.IsMLA() {
				sum = append(sum, mul(count("dense layers", st.Dense), b.halfOfProducts().sums[0]))
			} else if b.w.Step.Attention == recipe.Standard {
				f, _ := b.scores()
				sum = append(sum, mul(count("layers", st.Layers()), f))
			}
		case recipe.RecomputeModules:
			if st.Dense > 0 {
				sum = append(sum, mul(count("dense layers", st.Dense), b.modules(false).sums[0]))
			}
			if st.MoE > 0 {
				sum = append(sum, mul(count("MoE layers", st.MoE), b.modules(true).sums[0]))
			}
		case recipe.RecomputeNone:
		}
		return scaled(b.factor(), "factor of the stack", add(sum...))
	})
}

// again calls f for the layers of a stage that run again in full.
func (b *Book) again(stage int, f func(n int, l *layer)) {
	s, st := b.w.Setup, b.w.Stages[stage]
	if s.Recompute.Mode != recipe.RecomputeFull {
		return
	}
	n := s.RecomputedLayers(s.Recompute.Layers, stage, st)
	dense := min(n, st.Dense)
	if dense > 0 {
		f(dense, b.kind(false))
	}
	if n > dense {
		f(n-dense, b.kind(true))
	}
}

// halfOfProducts is torchtitan's selective recomputation of a dense layer.
func (b *Book) halfOfProducts() *layer {
	return b.piece("recompute.products", "recomputed half of a layer", func(l *layer) {
		m := &b.w.Setup.Model
		b.matmul(l, "key", "key projection", b.tokens(), b.hidden(), b.kvWidth())
		b.matmul(l, "output", "output projection", b.tokens(), b.overTP(mul(count("a", m.Heads), count("d", m.HeadDim))), b.hidden())
		f := count("f", m.FFN)
		if m.Gated {
			b.matmul(l, "up", "up projection", b.tokens(), b.hidden(), b.overTP(f))
		}
		b.pass(l, "norms", "both norms", mul(b.elem(), b.shard(), b.hidden(), lit(4)))
		b.activation(l, "mlp", "MLP", b.overTP(mul(b.tokens(), f)))
	})
}

// modules are the recomputed parts of one layer.
func (b *Book) modules(moe bool) *layer {
	id := "recompute.dense-modules"
	if moe {
		id = "recompute.moe-modules"
	}
	return b.piece(id, "layer's recomputed modules", func(l *layer) {
		m, r := &b.w.Setup.Model, b.w.Setup.Recompute
		act := func(id, name, symbol string, width int) {
			b.activation(l, id, name, b.overTP(mul(b.tokens(), count(symbol, width))))
		}
		if r.Has(recipe.ModuleNorm) {
			b.pass(l, "norms", "both norms", mul(b.elem(), b.shard(), b.hidden(), lit(4)))
		}
		if r.Has(recipe.ModuleMLAUp) && m.IsMLA() {
			b.latentUp(l)
		}
		switch {
		case !moe:
			if r.Has(recipe.ModuleAct) {
				act("mlp", "MLP", "f", m.FFN)
			}
			return
		case r.Has(recipe.ModuleShared) && m.SharedFFN > 0:
			b.mlp(l, "shared", "shared experts", count("f_shared", m.SharedFFN))
		case r.Has(recipe.ModuleAct) && m.SharedFFN > 0:
			act("shared", "shared experts", "f_shared", m.SharedFFN)
		}
		if r.Has(recipe.ModuleMoEAct) {
			b.activation(l, "experts", "experts", mul(b.routed(), count("f_expert", m.ExpertFFN)))
		}
	})
}

// stageTraffic is what one dimension moves for one micro-batch on a stage, both
// ways: bytes, seconds or exposed.
func (b *Book) stageTraffic(stage int, dimension, what string) *Expr {
	unit := Seconds
	if what == "bytes" {
		unit = Traffic
	}
	return b.term(fmt.Sprintf("stage.%d.%s.%s", stage, dimension, what), about{
		name:   fmt.Sprintf("%s traffic of one micro-batch on stage %d: %s", strings.ToUpper(dimension), stage, what),
		symbol: fmt.Sprintf("%s %s of stage %d", strings.ToUpper(dimension), what, stage), unit: unit,
		source: "what its layers send, forward and backward, and what runs again",
	}, func() *Expr {
		var sum []*Expr
		take := func(n int, l *layer, links links) {
			if t := links[dimension]; t != nil {
				list := map[string][]*Expr{"bytes": t.bytes, "seconds": t.seconds, "exposed": t.exposed}[what]
				sum = append(sum, many(n, l.name, add(list...)))
			}
		}
		b.pieces(stage, func(n int, l *layer) {
			take(n, l, l.forward)
			take(n, l, l.backward)
		})
		b.again(stage, func(n int, l *layer) { take(n, l, l.forward) })
		if what == "bytes" {
			return add(sum...)
		}
		return scaled(b.factor(), "factor of the stack", add(sum...))
	})
}

// unhidden is TP traffic that a whole backward of a stage hides.
func (b *Book) unhidden(stage int) *Expr {
	return b.term(fmt.Sprintf("stage.%d.unhidden", stage), about{
		name: fmt.Sprintf("TP traffic of stage %d that a split backward does not hide", stage), symbol: fmt.Sprintf("unhidden of stage %d", stage), unit: Seconds,
		source: "the weight gradient that would hide it runs later, times the factor of the stack; " + from(b.machine().Software.From),
	}, func() *Expr {
		var sum []*Expr
		b.pieces(stage, func(n int, l *layer) {
			if len(l.unhidden) > 0 {
				sum = append(sum, many(n, l.name, add(l.unhidden...)))
			}
		})
		return scaled(b.factor(), "factor of the stack", add(sum...))
	})
}

// zero is ZeRO traffic of a micro-batch on a stage that its compute does not hide.
func (b *Book) zero(stage int, backward bool) *Expr {
	id, name := "zero-forward", "forward"
	if backward {
		id, name = "zero-backward", "backward"
	}
	return b.term(fmt.Sprintf("stage.%d.%s", stage, id), about{
		name: fmt.Sprintf("ZeRO traffic of one micro-batch that the %s of stage %d does not hide", name, stage), symbol: fmt.Sprintf("ZeRO %s of stage %d", name, stage), unit: Seconds,
		source: "hidden under the stage's compute but for a share; " + from(b.machine().Software.From),
	}, func() *Expr {
		d := b.data(b.hostOf(stage))
		if !backward {
			return b.bare(d.perForward, b.stageTime(stage, 0))
		}
		return b.bare(append(slices.Clone(d.perInput), d.perWeight...), add(b.stageTime(stage, 1), b.stageTime(stage, 2)))
	})
}

// apart is ZeRO traffic that a whole backward of a stage hides, but not one whose
// two parts run apart, each beside its own.
func (b *Book) apart(stage int) *Expr {
	return b.term(fmt.Sprintf("stage.%d.zero-apart", stage), about{
		name: fmt.Sprintf("ZeRO traffic of one micro-batch of stage %d that a split backward does not hide", stage), symbol: fmt.Sprintf("ZeRO apart of stage %d", stage), unit: Seconds,
		source: "the input gradient needs gathered weights, the weight gradient is scattered; each hides under its own part; " + from(b.machine().Software.From),
	}, func() *Expr {
		d := b.data(b.hostOf(stage))
		parts := add(b.bare(d.perInput, b.stageTime(stage, 1)), b.bare(d.perWeight, b.stageTime(stage, 2)))
		return maxOf(lit(0), sub(parts, b.zero(stage, true)))
	})
}

// bare is the part of a rank's traffic of one micro-batch that the compute of one
// of its stages does not hide.
func (b *Book) bare(per []*Expr, compute *Expr) *Expr {
	if len(per) == 0 {
		return lit(0)
	}
	t := add(per...)
	if n := b.r.Timeline.Order.Chunks(); n > 1 {
		t = div(t, count("chunks", n))
	}
	return maxOf(mul(t, num("share that compute never hides", b.machine().Software.Shard, Share)), sub(t, compute))
}

// hostOf is a rank that has the stage: the last, where two do.
func (b *Book) hostOf(stage int) int {
	o, rank := b.r.Timeline.Order, 0
	for r := range b.w.Setup.PP {
		for c := range o.Chunks() {
			if o.StageOf(r, c) == stage {
				rank = r
			}
		}
	}
	return rank
}

// blocked is how long a micro-batch's passes wait for their messages on a stage.
func (b *Book) blocked(stage int) *Expr {
	if !b.machine().Software.Blocking {
		return lit(0)
	}
	n, o := 0, b.r.Timeline.Order
	host := func(stage int) int { return o.Placement.Host(o.Spec.Ranks, stage, 0) }
	for _, next := range []int{stage - 1, stage + 1} {
		if next >= 0 && next < len(b.w.Stages) && host(next) != host(stage) {
			n++
		}
	}
	_, latency := b.handOver()
	return mul(count("neighbours on other ranks", n), latency)
}

// work is how long a rank's operations are, by the counts of the schedule.
func (b *Book) work(r int) *Expr {
	return b.term(fmt.Sprintf("pipeline.work.%d", r), about{
		name: fmt.Sprintf("Busy time of pipeline rank %d", r), symbol: fmt.Sprintf("busy of rank %d", r), unit: Seconds,
		source: "operations of the schedule times the stages' times, less what overlapped pairs hide",
	}, func() *Expr {
		o := b.r.Timeline.Order
		var sum []*Expr
		for c := range o.Chunks() {
			stage := o.StageOf(r, c)
			n := o.Count(r, c, schedule.Forward)
			if n == 0 {
				continue
			}
			sum = append(sum, mul(count(fmt.Sprintf("micro-batches on stage %d", stage), n), b.perMicroBatch(stage)))
			if split := o.Count(r, c, schedule.InputGradient); split > 0 {
				sum = append(sum, mul(count("split backwards", split), add(b.unhidden(stage), b.apart(stage))))
			}
		}
		if saved := b.r.Timeline.Ranks[r].Saved; saved > 0 {
			return sub(add(sum...), num("hidden in overlapped pairs", saved, Seconds))
		}
		return add(sum...)
	})
}

// perMicroBatch is a stage's forward and whole backward, with everything.
func (b *Book) perMicroBatch(stage int) *Expr {
	return b.term(fmt.Sprintf("stage.%d.time", stage), about{
		name: fmt.Sprintf("Forward and backward of one micro-batch on stage %d", stage), symbol: fmt.Sprintf("time of stage %d", stage), unit: Seconds,
		source: "compute, recomputation and the traffic that nothing hides",
	}, func() *Expr {
		sum := []*Expr{b.stageTime(stage, 0), b.stageTime(stage, 1), b.stageTime(stage, 2)}
		for _, x := range []*Expr{b.stageRecompute(stage), b.zero(stage, false), b.zero(stage, true), b.blocked(stage)} {
			if x.Value() != 0 {
				sum = append(sum, x)
			}
		}
		for _, d := range dimensions() {
			if x := b.stageTraffic(stage, d, "exposed"); x.Value() != 0 {
				sum = append(sum, x)
			}
		}
		return add(sum...)
	})
}
