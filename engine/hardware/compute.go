package hardware

import (
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// Rates are what one GPU reaches in practice for one precision. They are the
// whole of the compute model of this release: a roofline with a size step.
type Rates struct {
	Gemm      units.FLOPsPerSecond // large matrix products
	Attention units.FLOPsPerSecond // fused attention
	Memory    units.BytesPerSecond // streaming from HBM
	Launch    units.Seconds        // floor of one kernel
}

// gemmUnmeasured is the share of the dense peak that large products reach on
// A100 in Calculon's and SimuMax's tables (0.70-0.75). attentionOfGemm is the
// rate of fused attention over that of large products on the same GPU: on H100
// FlashAttention-3 reports 0.5 to 0.6 of the peak with head size 128 (arXiv
// 2407.08608), large products 0.8. memoryFraction is RAPID-LLM's 0.80.
// launchFloor is assumed, not measured: the shortest time of one kernel.
const (
	gemmUnmeasured  = 0.72
	attentionOfGemm = 0.62
	memoryFraction  = 0.80
	launchFloor     = 4 * units.Microsecond
)

// Rates derives the reachable rates. Where somebody measured the best matrix
// product of this GPU, that is the ceiling instead of the datasheet's.
func (g *GPU) Rates(p recipe.Precision) Rates {
	eta := gemmUnmeasured
	if g.MatmulBF16 > 0 && g.PeakBF16 > 0 {
		eta = float64(g.MatmulBF16 / g.PeakBF16)
	}
	gemm := g.Peak(p) * units.FLOPsPerSecond(eta)
	attention := gemm
	if p.IsFP8() {
		// Attention stays in 16 bits.
		attention = max(g.PeakBF16, g.PeakFP16) * units.FLOPsPerSecond(eta)
		if g.MatmulFP8 > 0 {
			gemm = g.MatmulFP8
		}
	}
	return Rates{
		Gemm:      gemm,
		Attention: attention * attentionOfGemm,
		Memory:    g.MemoryBandwidth * memoryFraction,
		Launch:    launchFloor,
	}
}

// gemmRamp is the work that a matrix product loses to filling and draining the
// GPU: the time of f operations is that of f + gemmRamp at full rate, so it
// never falls when f grows. SimuMax's B200 table has medians of 0.44 of the
// large-product rate at 4 to 16 GFLOP and no loss above 16; 3 GFLOP gives 0.77
// and 0.91 at 10 and 32. Nothing below 4 GFLOP was measured.
const gemmRamp units.FLOPs = 3e9

// MatMul is the time of one matrix product of f operations that touches b
// bytes: the slower of arithmetic and memory, and never less than a launch.
func (r Rates) MatMul(f units.FLOPs, b units.Bytes) units.Seconds {
	if f <= 0 {
		return 0
	}
	return max((f + gemmRamp).Over(r.Gemm), b.Over(r.Memory), r.Launch)
}

// Fused is the time of fused attention of f operations (already halved where
// the mask halves them).
func (r Rates) Fused(f units.FLOPs) units.Seconds {
	if f <= 0 {
		return 0
	}
	return max(f.Over(r.Attention), r.Launch)
}

// Stream is the time of an operation bound by memory that moves b bytes.
func (r Rates) Stream(b units.Bytes) units.Seconds {
	if b <= 0 {
		return 0
	}
	return max(b.Over(r.Memory), r.Launch)
}
