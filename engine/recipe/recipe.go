// Package recipe names how a model is trained numerically: the number
// formats, the optimizer, what is recomputed, which software stack keeps which
// tensors. Each is a small closed set of words; the words are those of the
// command line and of the JSON documents.
package recipe

// GradDtype is how gradients are kept between the backward pass and the
// optimizer when weights are 16-bit.
type GradDtype string

// Gradient storage, in bytes per parameter: 4, 2, and 2+4.
const (
	GradFP32     GradDtype = "fp32"      // accumulated in an fp32 buffer (Megatron's main grad)
	GradBF16     GradDtype = "bf16"      // kept in 16 bits (the ZeRO paper's textbook case)
	GradBF16FP32 GradDtype = "bf16+fp32" // 16-bit gradients and an fp32 accumulation buffer
)

// GradDtypes lists every gradient storage, the default first.
func GradDtypes() []GradDtype { return []GradDtype{GradFP32, GradBF16, GradBF16FP32} }

// Bytes returns the gradient storage per parameter. With fp32 weights gradients are
// fp32 whatever was requested, and an fp8 recipe says itself what it keeps.
func (g GradDtype) Bytes(p Precision) float64 {
	if f, ok := p.fp8(); ok {
		return f.gradients
	}
	switch {
	case p == FP32 || g == GradFP32:
		return 4
	case g == GradBF16FP32:
		return 6
	default:
		return 2
	}
}

// ReduceBytes returns the width in which gradients are summed over data-parallel
// ranks: that of the buffer that accumulates them.
func (g GradDtype) ReduceBytes(p Precision) float64 {
	if f, ok := p.fp8(); ok {
		return f.gradients - f.own
	}
	if g == GradBF16 && p != FP32 {
		return 2
	}
	return 4
}

// Attention is the kernel of core attention.
type Attention string

// Attention kernels.
const (
	Flash    Attention = "flash"    // fused, scores never stored: the stack's own
	Standard Attention = "standard" // scores, softmax and dropout mask stored (before 2022)

	// Fused ones by name, under PyTorch, whose Flash is Flash2.
	Flash2    Attention = "flash2"
	Flash3    Attention = "flash3"
	Flash4    Attention = "flash4"
	CuDNN     Attention = "cudnn"
	Efficient Attention = "efficient" // PyTorch's memory-efficient one
)

// Attentions lists every kernel, the default first.
func Attentions() []Attention {
	return []Attention{Flash, Standard, Flash2, Flash3, Flash4, CuDNN, Efficient}
}

// OnlyLedger reports whether stacks with a ledger alone have a kernel.
func (a Attention) OnlyLedger() bool { return a != Flash && a != Standard }

// Architecture is the generation of GPUs that a kernel's rates are known of; empty: any.
func (a Attention) Architecture() string {
	switch a {
	case Flash3:
		return "Hopper"
	case Flash4:
		return "Blackwell"
	default:
		return ""
	}
}

// MFUConvention says how core attention is counted in model FLOPs.
type MFUConvention string

// Conventions: the causal mask halves the scores that are needed.
const (
	MFUCausal MFUConvention = "causal"
	MFUFull   MFUConvention = "full"
)

// MFUConventions lists every convention, the default first.
func MFUConventions() []MFUConvention { return []MFUConvention{MFUCausal, MFUFull} }

// Loss is how the cross-entropy over the vocabulary is computed.
type Loss string

// Losses: a fused kernel (Transformer Engine's, Liger's) keeps the logits in 16 bits only,
// the others also an fp32 copy. Native is Megatron-Core's own fusion: the unfused operations
// compiled in groups (cross_entropy_fusion_impl).
const (
	FusedLoss   Loss = "fused"
	UnfusedLoss Loss = "unfused"
	NativeLoss  Loss = "native"

	// The head's product and the loss of a part of the tokens at a time: Liger's kernel, which makes the
	// gradients in the forward, and torchtune's CEWithChunkedOutputLoss or torchtitan's ChunkedLossWrapper.
	LigerLoss   Loss = "liger"
	ChunkedLoss Loss = "chunked"
)

// Losses lists every loss, the default of most stacks first.
func Losses() []Loss {
	return []Loss{FusedLoss, UnfusedLoss, NativeLoss, LigerLoss, ChunkedLoss}
}

// InParts reports whether head and loss take a part of the tokens at a time.
func (l Loss) InParts() bool { return l == LigerLoss || l == ChunkedLoss }

// LossChunks are the parts of the chunked loss: torchtune's num_output_chunks, torchtitan's num_chunks.
const LossChunks = 8

// LogitBytes returns what the loss moves through memory per logit of elem bytes, forward and
// backward (NVIDIA/Megatron-LM, tensor_parallel/cross_entropy.py and
// fusions/fused_cross_entropy.py).
func (l Loss) LogitBytes(elem float64) (forward, backward float64) {
	const f = 4.0 // fp32
	cast := 0.0
	if elem < f {
		cast = elem + f
	}
	switch l {
	case UnfusedLoss, ChunkedLoss: // cast; max; subtracted; exponential; sum; divided. Scaled; cast back.
		return cast + f + 2*f + 2*f + f + 2*f, 2*f + cast
	case NativeLoss: // cast and max; subtracted and exponential; sum; divided
		return max(cast, f) + 2*f + f + 2*f, 2*f + cast
	case FusedLoss, LigerLoss:
	}
	return 2 * elem, 2 * elem
}

// Offload is what is kept in host memory instead of on the GPU.
type Offload string

// Offloads: with the optimizer's state its update runs on the host, and gradients and weights cross PCIe once
// per step.
const (
	OffloadNone      Offload = "none"
	OffloadOptimizer Offload = "optimizer"
	// OffloadWeights is weights and gradients too: FSDP2's CPUOffloadPolicy, DeepSpeed's offload_param.
	OffloadWeights Offload = "weights"
	// OffloadActivations is what the backward reads: torch.autograd.graph.save_on_cpu.
	OffloadActivations Offload = "activations"
	OffloadEverything  Offload = "everything" // weights and activations
	// OffloadOptimizerNVMe is the optimizer's state on the drives of the node, with buffers in host memory.
	OffloadOptimizerNVMe Offload = "optimizer-nvme"
	OffloadWeightsNVMe   Offload = "weights-nvme" // and weights: DeepSpeed's ZeRO-Infinity
)

// Offloads lists every offload, the default first.
func Offloads() []Offload {
	return []Offload{
		OffloadNone, OffloadOptimizer, OffloadWeights, OffloadActivations, OffloadEverything,
		OffloadOptimizerNVMe, OffloadWeightsNVMe,
	}
}

// Optimizer reports whether the optimizer's state is off the GPU and its update runs on the host.
func (o Offload) Optimizer() bool {
	return o == OffloadOptimizer || o == OffloadOptimizerNVMe || o.Weights()
}

// Weights reports whether shards of weights and gradients are off the GPU, with the optimizer's state.
func (o Offload) Weights() bool {
	return o == OffloadWeights || o == OffloadEverything || o == OffloadWeightsNVMe
}

// NVMe reports whether what is off the GPU is on the drives of the node.
func (o Offload) NVMe() bool { return o == OffloadOptimizerNVMe || o == OffloadWeightsNVMe }

// Activations reports whether what the backward reads is.
func (o Offload) Activations() bool { return o == OffloadActivations || o == OffloadEverything }

// Bounds of the load of the busiest rank of routed experts, in percent of the
// even share.
const (
	EvenLoad = 100
	MaxLoad  = 10_000
)
