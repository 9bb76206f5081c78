package explain

import (
	"fmt"

	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
)

func (b *Book) busiest() int { return b.w.Busiest(b.r.Timeline) }

// onChunks sums a stage's figure over the chunks of the busiest rank, times its
// micro-batches.
func (b *Book) onChunks(of func(stage int) *Expr) *Expr {
	o, rank := b.r.Timeline.Order, b.busiest()
	var sum []*Expr
	for c := range o.Chunks() {
		stage := o.StageOf(rank, c)
		if x := of(stage); x.Value() != 0 {
			sum = append(sum, mul(count(fmt.Sprintf("micro-batches on stage %d", stage), o.Count(rank, c, schedule.Forward)), x))
		}
	}
	return add(sum...)
}

func (b *Book) timeFigure(rest string) *Explanation {
	rank := b.busiest()
	a := about{symbol: rest, unit: Seconds}
	of := fmt.Sprintf(" on pipeline rank %d, the busiest", rank)
	part := func(id string) *Expr { return ref(b.timeFigure(id)) }
	var formula func() *Expr
	switch rest {
	case "step":
		a.name, a.source, a.omits = "Time of one optimizer step", "the sum of its parts"+of, "stragglers, power limits, data loading, checkpoints, restarts"
		formula = func() *Expr {
			return add(part("compute"), part("recompute"), part("bubble"), part("exposed"), part("optimizer"))
		}
	case "compute":
		a.name, a.source = "Compute"+of, "micro-batches times the stages' passes; "+from(b.machine().Software.From)
		a.omits = "slowing by traffic that runs beside it"
		formula = func() *Expr {
			return b.onChunks(func(stage int) *Expr {
				return add(b.stageTime(stage, 0), b.stageTime(stage, 1), b.stageTime(stage, 2))
			})
		}
	case "recompute":
		a.name, a.source = "Forward work done again in the backward"+of, "micro-batches times what --recompute names"
		formula = func() *Expr { return b.onChunks(b.stageRecompute) }
	case "bubble":
		a.name, a.source = "Waiting"+of, "exact: what is left of the pipeline's makespan beside the rank's busy time"
		a.omits, a.simulated = "jitter between ranks", true
		length, name := b.r.Timeline.Makespan, "simulated makespan"
		if info, ok := b.w.Setup.Schedule.Info(); ok && info.SplitsBackward {
			a.source = "exact: what is left of the longest rank's span beside the busy time; steps follow one another without a barrier (zero bubble, arXiv 2401.10241, section 4)"
			length, name = b.r.Timeline.LongestSpan(), "simulated longest span of a rank"
		}
		formula = func() *Expr { return maxOf(lit(0), sub(num(name, length, Seconds), b.work(rank))) }
	case "exposed":
		a.name, a.source = "Communication that nothing hides"+of, "the sum over dimensions; data-parallel traffic that is left after the step's end is the slowest rank's"
		a.omits = "hand-over between stages, which is in the bubble"
		formula = b.exposedTime
	case "optimizer":
		a.name, a.source = "Optimizer step", "the slowest rank's"
		formula = func() *Expr {
			var all []*Expr
			for r := range b.w.Setup.PP {
				all = append(all, b.optimizerTime(r))
			}
			return maxOf(all...)
		}
	default:
		return nil
	}
	return b.explain("time."+rest, a, formula)
}

func (b *Book) exposedTime() *Expr {
	var sum []*Expr
	for _, d := range dimensions() {
		if b.has(d) {
			sum = append(sum, ref(b.communication(d, "exposed")))
		}
	}
	if x := b.onChunks(b.blocked); x.Value() != 0 {
		sum = append(sum, x)
	}
	return add(append(sum, b.dataExposed())...)
}

// dataExposed is the data-parallel time that nothing hides, per micro-batch and
// at the end.
func (b *Book) dataExposed() *Expr {
	return b.term("time.exposed.data-parallel", about{
		name: "Data-parallel traffic that nothing hides", symbol: "exposed data traffic", unit: Seconds,
		source: "ZeRO traffic of every micro-batch on the busiest rank, and what the slowest rank has left at the ends of the step",
	}, func() *Expr {
		var sum []*Expr
		if x := b.everyMicroBatch(); x.Value() != 0 {
			sum = append(sum, x)
		}
		return add(append(sum, b.exposedData(b.slowest()))...)
	})
}

// everyMicroBatch is ZeRO traffic that nothing hides in the micro-batches of the
// busiest rank.
func (b *Book) everyMicroBatch() *Expr {
	var sum []*Expr
	if x := b.onChunks(func(stage int) *Expr { return add(b.zero(stage, false), b.zero(stage, true)) }); x.Value() != 0 {
		sum = append(sum, x)
	}
	o, rank := b.r.Timeline.Order, b.busiest()
	for c := range o.Chunks() {
		if split := o.Count(rank, c, schedule.InputGradient); split > 0 {
			if x := b.apart(o.StageOf(rank, c)); x.Value() != 0 {
				sum = append(sum, mul(count("split backwards", split), x))
			}
		}
	}
	return add(sum...)
}

// has says whether a dimension sends anything.
func (b *Book) has(dimension string) bool {
	_, ok := b.values["communication."+dimension+".bytes"]
	return ok
}

func (b *Book) throughputFigure(rest string) *Explanation {
	s := b.w.Setup
	part := func(id string) *Expr { return ref(b.throughputFigure(id)) }
	gpus := count("GPUs", s.GPUs)
	peak := num("dense peak", float64(s.Cluster.GPU.Peak(b.precision())), Rate)
	flops := func() *Expr { return b.figure("model.training-flops-per-token") }
	a := about{unit: Share, omits: "what the step time leaves out"}
	var formula func() *Expr
	switch rest {
	case "tokens-per-second":
		a.name, a.symbol, a.unit, a.source = "Tokens per second", "tokens/s", Tokens, "tokens of the global batch over the step time"
		formula = func() *Expr { return mul(part("tokens-per-second-per-gpu"), gpus) }
	case "tokens-per-second-per-gpu":
		a.name, a.symbol, a.unit, a.source = "Tokens per second and GPU", "tokens/s per GPU", Tokens, "tokens of the global batch over step time and GPUs"
		formula = func() *Expr {
			return div(mul(count("gbs", s.GBS), count("s", s.Seq)), mul(ref(b.timeFigure("step")), gpus))
		}
	case "model-tflops-per-gpu":
		a.name, a.symbol, a.unit, a.source = "Model TFLOP/s per GPU", "TFLOP/s", TFLOPS, "model FLOPs, recomputation not counted"
		formula = func() *Expr { return div(mul(part("tokens-per-second-per-gpu"), flops()), lit(1e12)) }
	case "mfu":
		a.name, a.symbol, a.source = "Model FLOPs utilisation", "MFU", "PaLM (arXiv 2204.02311) appendix B, with the attention convention of --mfu; the peak is dense"
		formula = func() *Expr { return div(mul(part("tokens-per-second-per-gpu"), flops()), peak) }
	case "hfu":
		a.name, a.symbol, a.source = "Hardware FLOPs utilisation", "HFU", "MFU with recomputed FLOPs counted (Korthikanti et al., arXiv 2205.05198)"
		a.omits = "recomputation inside a fused attention kernel, as is usual"
		formula = func() *Expr {
			return div(mul(part("tokens-per-second-per-gpu"), add(flops(), b.recomputedFLOPs())), peak)
		}
	default:
		return nil
	}
	return b.explain("throughput."+rest, a, formula)
}

// recomputedFLOPs are what one token costs again in the backward.
func (b *Book) recomputedFLOPs() *Expr {
	return b.term("model.recomputed-flops-per-token", about{
		name: "FLOPs of one token that run again", symbol: "F_again", unit: FLOPs, source: "the forward of what --recompute names",
		omits: "recomputation inside a fused attention kernel",
	}, func() *Expr {
		s, m := b.w.Setup, &b.w.Setup.Model
		causal := s.MFU != recipe.MFUFull
		var dense, moe, plain int
		for i, st := range b.w.Stages {
			n := 0
			if s.Recompute.Mode == recipe.RecomputeFull {
				n = s.RecomputedLayers(s.Recompute.Layers, i, st)
			}
			dense, moe, plain = dense+min(n, st.Dense), moe+n-min(n, st.Dense), plain+st.Dense
		}
		leaf := func(name string, f units.FLOPs) *Expr { return num(name, float64(f), FLOPs) }
		var sum []*Expr
		switch s.Recompute.Mode {
		case recipe.RecomputeFull:
			if dense > 0 {
				sum = append(sum, mul(count("dense layers", dense), b.layerFLOPs(false)))
			}
			if moe > 0 {
				sum = append(sum, mul(count("MoE layers", moe), b.layerFLOPs(true)))
			}
		case recipe.RecomputeSelective:
			switch {
			case b.w.Step.KeepsProducts && !m.IsMLA():
				width := mul(add(count("a", m.Heads), count("kv heads", m.KVHeads)), count("d", m.HeadDim))
				if m.Gated {
					width = add(width, count("f", m.FFN))
				}
				sum = append(sum, mul(lit(2), count("dense layers", plain), b.hidden(), width))
			case !b.w.Step.KeepsProducts && s.Attention == recipe.Standard:
				sum = append(sum, mul(count("L", m.Layers), b.scoreFLOPs()))
			}
		case recipe.RecomputeModules:
			if s.Recompute.Has(recipe.ModuleMLAUp) && m.IsMLA() {
				sum = append(sum, leaf("MLA's up-projections", m.LatentUpFLOPs()))
			}
			if s.Recompute.Has(recipe.ModuleShared) {
				sum = append(sum, leaf("shared experts", m.ForwardFLOPs(s.Seq, causal).Shared))
			}
		case recipe.RecomputeNone:
		}
		return add(sum...)
	})
}
