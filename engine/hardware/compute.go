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

// Fractions of the dense peak. gemmUnmeasured is the A100 large-product figure
// of Calculon's and SimuMax's tables (0.70-0.75); attentionOfGemm is fused
// attention against GEMM of the same GPU (FlashAttention-2 and 3 report 0.55 to
// 0.75 forward); memoryFraction is RAPID-LLM's 0.80; launch as RAPID-LLM's
// 6 microseconds less what asynchronous launching hides.
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

// sizeFactor is the share of the large-product rate that a product of f
// operations reaches: the medians by size of SimuMax's B200 and A100 tables
// (flat above 16 GFLOP, half below).
func sizeFactor(f units.FLOPs) units.FLOPsPerSecond {
	switch {
	case f >= 64e9:
		return 1
	case f >= 16e9:
		return 0.92
	case f >= 4e9:
		return 0.6
	default:
		return 0.35
	}
}

// MatMul is the time of one matrix product of f operations that touches b
// bytes: the slower of arithmetic and memory, and never less than a launch.
func (r Rates) MatMul(f units.FLOPs, b units.Bytes) units.Seconds {
	if f <= 0 {
		return 0
	}
	return max(f.Over(r.Gemm*sizeFactor(f)), b.Over(r.Memory), r.Launch)
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
