package engine

import (
	"fmt"

	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// throughput says the step time in other words. Both shares of the peak count the attention of local windows
// over the whole sequence, as Megatron-Bridge and torchtitan print theirs, so that each can be held against a
// log, and HFU is never below MFU; overPeak says where such a share is of work that nobody does.
func (t *timing) throughput(figures *ModelFigures, time *Time) Throughput {
	s := t.setup
	perGPU := s.Tokens() / float64(time.Step) / float64(s.GPUs)
	peak := float64(s.Cluster.GPU.Peak(s.Precision))
	rate := perGPU * figures.TrainingFLOPs
	recomputed := float64(t.recomputedFLOPs())
	out := Throughput{
		TokensPerSecond: perGPU * float64(s.GPUs), TokensPerSecondPerGPU: perGPU,
		ModelTFLOPSPerGPU: rate / float64(units.TFLOPS),
		MFU:               rate / peak, HFU: (rate + perGPU*recomputed) / peak,
	}
	if t.record.On() {
		t.recordThroughput(&out, peak, recomputed)
	}
	return out
}

// recordThroughput records it.
func (t *timing) recordThroughput(out *Throughput, peak, recomputed float64) {
	const (
		step   = "costs that the step time leaves out"
		perGPU = "{throughput.tokens-per-second-per-gpu}"
		flops  = "{model.training-flops-per-token}"
		runs   = "{model.recomputed-flops-per-token}"
		palm   = "PaLM (arXiv 2204.02311) appendix B, with the attention convention of --mfu; the peak " +
			"is dense"
		executed = "(" + flops + " + " + runs + ")"
		counted  = "MFU with recomputed FLOPs counted (Korthikanti et al., arXiv 2205.05198)"
	)
	t.record.Figure(record.Entry{
		ID: "model.recomputed-flops-per-token", Name: "recomputed FLOPs of one token", Symbol: "F_recomputed",
		Unit:    record.FLOPs,
		Formula: t.record.Sum("recomputed FLOPs"), Value: recomputed,
		Source:    "the forward of what --recompute names",
		LeavesOut: "recomputation inside a fused attention kernel",
	})
	for _, f := range [...]struct {
		id, name, symbol, formula, source, omits string
		unit                                     record.Unit
		value                                    float64
	}{
		{
			"tokens-per-second", "tokens per second", "tokens/s", perGPU + " * GPUs",
			"tokens of the global batch over the step time", step, record.Tokens, out.TokensPerSecond,
		},
		{
			"tokens-per-second-per-gpu", "tokens per second per GPU", "tokens/s per GPU",
			"gbs * s / ({time.step} * GPUs)", "tokens of the global batch over step time and GPUs", step,
			record.Tokens, out.TokensPerSecondPerGPU,
		},
		{
			"model-tflops-per-gpu", "model TFLOP/s per GPU", "TFLOP/s", perGPU + " * " + flops + " / 1e12",
			"model FLOPs, recomputation not counted", step, record.TFLOPS, out.ModelTFLOPSPerGPU,
		},
		{
			"mfu", "model FLOPs utilisation", "MFU", perGPU + " * " + flops + " / dense_peak", palm, step,
			record.Share, out.MFU,
		},
		{
			"hfu", "hardware FLOPs utilisation", "HFU", perGPU + " * " + executed + " / dense_peak", counted,
			"recomputation inside a fused attention kernel, as is usual", record.Share, out.HFU,
		},
	} {
		t.record.Figure(record.Entry{
			ID: "throughput." + f.id, Name: f.name, Symbol: f.symbol, Unit: f.unit, Formula: f.formula,
			Value: f.value, Source: f.source, LeavesOut: f.omits,
		}, record.InUnit(record.Rate, "dense_peak", peak))
	}
}

// recomputedFLOPs returns what one token costs again in the backward, over all
// stages. The recomputation inside a fused attention kernel is not counted, as
// nobody does.
func (t *timing) recomputedFLOPs() (sum units.FLOPs) {
	s := t.setup
	recomputation, causal := t.step.Recomputation(), s.MFU != recipe.MFUFull
	if recomputation.Mode != recipe.RecomputeFull && !recomputation.Partial() {
		return 0
	}
	layers := t.recomputedLayers()
	for k := range t.program.Layers {
		layer, n := &t.program.Layers[k], layers[k]
		if n == 0 {
			continue
		}
		scores := layer.Forward(s.Seq, causal).Scores
		sum += units.FLOPs(n) * recomputation.FLOPs(layer, scores)
		t.recordRecomputed(&recomputation, layer, n)
	}
	return sum
}

// recordRecomputed adds what runs again of so many layers of a kind.
func (t *timing) recordRecomputed(recomputation *model.Recomputation, layer *model.Layer, n int) {
	if !t.record.On() {
		return
	}
	formula := record.Ref("layer." + layer.ID + ".flops-per-token")
	if recomputation.Mode != recipe.RecomputeFull {
		formula = recomputation.Formula(layer)
	}
	t.record.Term("recomputed FLOPs", fmt.Sprintf("%d * (%s)", n, formula))
}

// recomputedLayers returns how many layers of each kind have operations that run again, over all stages.
func (t *timing) recomputedLayers() (layers [model.MaxKinds]int) {
	s := t.setup
	for i := range t.stages {
		of := t.stages[i].Of
		if s.Recompute.Mode == recipe.RecomputeFull {
			of = t.stages[i].Take(t.program, s.RecomputedLayers(s.Recompute.Layers, i, &t.stages[i]))
		}
		for k := range t.program.Layers {
			layers[k] += int(of[k])
		}
	}
	return layers
}

// skippedFLOPs returns what model FLOPs and recomputation count of one token although the
// kernels of local windows do not compute it.
func (t *timing) skippedFLOPs() (sum units.FLOPs) {
	s := t.setup
	m, recomputation, causal := &s.Model, t.step.Recomputation(), s.MFU != recipe.MFUFull
	if t.step.Attention == recipe.Standard {
		return 0
	}
	for k := range t.program.Layers {
		l := &t.program.Layers[k]
		share := l.WindowShare(s.Seq, causal)
		if share == 1 {
			continue
		}
		n := 3 * l.Count
		if s.TrainMTP && l == t.program.Module() {
			n += 3 * m.MTPRuns()
		}
		if core, ok := l.Core(); ok && recomputation.Outputs(l, core)[0] != 0 {
			n += t.recomputedLayers()[k]
		}
		sum += units.FLOPs(n) * l.Forward(s.Seq, causal).Scores * units.FLOPs(1-share)
	}
	return sum
}
