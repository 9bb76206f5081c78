package recipe

// Precision is the number format of weights and matrix products. Activations
// between products are 16-bit in every one but fp32.
type Precision string

// The precisions that the engine evaluates. The fp8 recipes differ in what they
// keep next to the fp8 products; see fp8Bytes.
const (
	BF16        Precision = "bf16"
	FP16        Precision = "fp16"
	FP32        Precision = "fp32"
	FP8         Precision = "fp8" // as the stack does it; see On
	FP8TE       Precision = "fp8:te"
	FP8DeepSeek Precision = "fp8:deepseek"
	FP8LM       Precision = "fp8:fp8-lm"
	FP8Nanotron Precision = "fp8:nanotron"
	// FP8Megatron is Transformer Engine with 8-bit weights (--fp8-param-gather), and not
	// in the table fp8Bytes: its weights are two 8-bit copies, by rows and by columns,
	// where bf16 has one of 16 bits; gradients follow --grad-dtype, and the distributed
	// optimizer keeps an fp32 master and two fp32 moments, as with bf16
	// (NVIDIA-NeMo/Megatron-Bridge, training/mixed_precision.py: fp8_param_gather).
	FP8Megatron Precision = "fp8:megatron"
	// FP8Tensor is the same with one scale per tensor (delayed or current scaling) on
	// Blackwell, whose products take 8-bit operands in any layout, so that weights are one
	// 8-bit copy (NVIDIA/TransformerEngine, csrc/quantizer.cpp: a transposed copy is made
	// only without nvte_is_non_tn_fp8_gemm_supported). On Hopper it is FP8Megatron.
	FP8Tensor Precision = "fp8:tensor"
	// NVFP4 is Transformer Engine's NVFP4BlockScaling on Blackwell: products of layers, forward
	// and both gradients, take 4-bit operands with an 8-bit scale per 16 of them; embedding,
	// head, attention and norms stay in 16 bits. Weights are gathered and updated in 16 bits
	// (NVIDIA-NeMo/Megatron-Bridge, training/mixed_precision.py: fp4_param_gather is refused).
	NVFP4 Precision = "nvfp4"
)

// NVFP4Bytes is the size of one element in NVFP4: half a byte, and its part of the scale of
// 16 (arXiv 2509.25149, section 2; the fp32 scale of the tensor is left out).
const NVFP4Bytes = 0.5 + 1.0/16

// CastBytes is what making an NVFP4 operand moves through memory per 16-bit element: read for
// the scale of the tensor, read again, and written by rows and by columns, since one product
// of the forward and backward reads it each way.
const CastBytes = 2 + 2 + 2*NVFP4Bytes

// Precisions lists every precision, the default first.
func Precisions() []Precision {
	return []Precision{
		BF16, FP16, FP32, FP8, FP8TE, FP8DeepSeek, FP8LM, FP8Nanotron, FP8Megatron, FP8Tensor,
		NVFP4,
	}
}

// On resolves what a precision means on a stack: fp8 alone is what the stack keeps
// there, else the playbook's table of Transformer Engine.
func (p Precision) On(s Stack) Precision {
	if p != FP8 {
		return p
	}
	if own := s.Traits().FP8; own != "" {
		return own
	}
	return p
}

// IsFP8 reports whether matrix products run in fp8.
func (p Precision) IsFP8() bool {
	_, ok := p.fp8()
	return ok || p.keepsEight()
}

// Narrow reports whether matrix products have operands of less than 16 bits.
func (p Precision) Narrow() bool { return p == NVFP4 || p.IsFP8() }

// ProductBits returns the width of the operands of matrix products.
func (p Precision) ProductBits() int {
	switch {
	case p == NVFP4:
		return 4
	case p.IsFP8():
		return 8
	case p == FP32:
		return 32
	}
	return 16
}

// InputBytes returns the size of one element of a product's input as it is kept for
// the weight gradient: fp8 and NVFP4 keep the quantised copy that the gradient's product
// reads (Transformer Engine, module/linear.py: the columnwise copy is saved). What
// other operations read stays in 16 bits, unless ActivationBytes and AttentionBytes say
// otherwise: inputs of norms, of the activation and of attention, whose output is kept in
// both widths.
func (p Precision) InputBytes() float64 {
	switch {
	case p == NVFP4:
		return NVFP4Bytes
	case p.keepsEight():
		return 1
	case p == FP8DeepSeek:
		return tileBytes
	}
	return p.Bytes()
}

// tileBytes is the size of one element in DeepSeek-V3's fp8: a byte, and its part of the fp32
// scale of 128 (arXiv 2412.19437 section 3.3.2).
const tileBytes = 1 + 4.0/128

// ActivationBytes returns the size of one element of what an MLP's activation read, as it is
// kept: DeepSeek-V3 keeps the inputs of SwiGLU in fp8 (arXiv 2412.19437 section 3.3.3).
func (p Precision) ActivationBytes() float64 {
	if p == FP8DeepSeek {
		return tileBytes
	}
	return p.Bytes()
}

// AttentionBytes returns the size of one element of attention's output, as attention's backward
// and the output projection keep it between them: two copies where products read fewer bits,
// one where both read the same. DeepSeek-V3 keeps one of 12 bits, E5M6, with a scale per 128
// (arXiv 2412.19437 section 3.3.3).
func (p Precision) AttentionBytes() float64 {
	switch in := p.InputBytes(); {
	case p == FP8DeepSeek:
		return 12.0/8 + 4.0/128
	case in < p.Bytes():
		return p.Bytes() + in
	}
	return p.Bytes()
}

// OutputGradientBytes returns the size of one element of the gradient of a product's output, as
// it is kept for a weight gradient that is put off. Transformer Engine keeps the quantised
// gradient by rows and by columns (pytorch/module/linear.py: wgrad_store.put after both
// update_usage), where products need a transposed copy; of DeepSeek-V3 only what its product
// reads is counted.
func (p Precision) OutputGradientBytes() float64 {
	if p == FP8Megatron || p == NVFP4 {
		return 2 * p.InputBytes()
	}
	return p.InputBytes()
}

// keepsEight reports whether weights and the inputs of products are kept in 8 bits as
// Megatron-Core keeps them.
func (p Precision) keepsEight() bool { return p == FP8Megatron || p == FP8Tensor }

// Bytes returns the size of one activation, and of one element that a collective
// inside a layer moves: fp8 recipes keep and send them in 16 bits.
func (p Precision) Bytes() float64 {
	if p == FP32 {
		return 4
	}
	return 2
}

// DispatchBytes returns the size of one element of a token on its way to its experts, and
// of the gradient on its way back to them: DeepSeek-V3 sends 8 bits with an fp32 scale per
// 128 elements, and combines in 16 (arXiv 2412.19437 section 3.3.3).
func (p Precision) DispatchBytes() float64 {
	if p == FP8DeepSeek {
		return tileBytes
	}
	return p.Bytes()
}

// OperandBytes returns the size of one element that a product reads: fp8's counts as 16 bits,
// since what its casts move is part of its fitted rate.
func (p Precision) OperandBytes() float64 {
	if p == NVFP4 {
		return NVFP4Bytes
	}
	return p.Bytes()
}

// NVFP4Copies is the size of the copies of a weight of a layer, by rows and by columns.
const NVFP4Copies = 2 * NVFP4Bytes

// WeightBytes returns the size of one stored weight. With NVFP4 it has 16 bits, and in layers 4-bit
// copies by rows and by columns that are made once per step and kept for its micro-batches
// (NVIDIA/TransformerEngine, pytorch/module/base.py: get_weight_workspace).
func (p Precision) WeightBytes() float64 {
	if f, ok := p.fp8(); ok {
		return f.weights
	}
	switch p {
	case FP8Tensor:
		return 1
	case NVFP4:
		return 2 + NVFP4Copies
	default:
		return p.Bytes()
	}
}

// GatherBytes returns the size of one weight on its way between data-parallel ranks:
// fp32 weights of a mixed-precision recipe travel in 16 bits.
func (p Precision) GatherBytes() float64 { return min(p.WeightBytes(), p.Bytes()) }

// fp8Bytes is what an fp8 recipe keeps per parameter, in bytes. Gradients
// include the buffer in which they are accumulated.
type fp8Bytes struct {
	master, weights float64
	gradients, own  float64 // own: before they are accumulated
	first, second   float64
}

// fp8 returns the table of the Ultra-Scale Playbook, "FP8 pretraining": master copy,
// weights, gradients (own and accumulated), both moments. The sums are 16, 15,
// 9 and 10 bytes.
func (p Precision) fp8() (fp8Bytes, bool) {
	switch p {
	case FP8, FP8TE: // fp32 weights and gradients; the weights are the master
		return fp8Bytes{0, 4, 4, 0, 4, 4}, true
	case FP8DeepSeek:
		return fp8Bytes{4, 1, 2 + 4, 2, 2, 2}, true
	case FP8LM: // O3
		return fp8Bytes{2, 1, 1 + 2, 1, 1, 2}, true
	case FP8Nanotron:
		return fp8Bytes{2, 1, 1 + 4, 1, 1, 1}, true
	default:
		return fp8Bytes{}, false
	}
}
