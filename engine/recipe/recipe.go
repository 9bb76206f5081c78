// Package recipe names how a model is trained numerically: the number
// formats, the optimizer, what is recomputed, which software stack keeps which
// tensors. Each is a small closed set of words; the words are those of the
// command line and of the JSON documents.
package recipe

import (
	"fmt"
	"strconv"
	"strings"
)

// Precision is the number format of weights, activations and matrix products.
type Precision string

// The precisions that the engine evaluates.
const (
	BF16 Precision = "bf16"
	FP16 Precision = "fp16"
	FP32 Precision = "fp32"
	FP8  Precision = "fp8" // matrix products of linear layers in 8 bits, everything else in bf16
)

// Precisions lists every precision, the default first.
func Precisions() []Precision { return []Precision{BF16, FP16, FP32, FP8} }

// Eight says whether linear layers multiply in 8 bits, in whichever recipe.
func (p Precision) Eight() bool { return strings.HasPrefix(string(p), string(FP8)) }

// Bytes is the size of one weight or activation element.
func (p Precision) Bytes() float64 {
	if p == FP32 {
		return 4
	}
	return 2
}

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

// Bytes is the gradient storage per parameter. With fp32 weights gradients are
// fp32 whatever was asked for.
func (g GradDtype) Bytes(p Precision) float64 {
	switch {
	case p == FP32 || g == GradFP32:
		return 4
	case g == GradBF16FP32:
		return 6
	default:
		return 2
	}
}

// Optimizer is the update rule, which decides the optimizer state.
type Optimizer string

// Optimizers and their state per parameter; see StateBytes.
const (
	Adam         Optimizer = "adam"           // fp32 master copy (for 16-bit weights) and two fp32 moments
	AdamNoMaster Optimizer = "adam-no-master" // two fp32 moments only, as the playbook draws its figures (k = 8)
	SGDMomentum  Optimizer = "sgd"            // fp32 master copy and one fp32 momentum
)

// Optimizers lists every optimizer, the default first.
func Optimizers() []Optimizer { return []Optimizer{Adam, AdamNoMaster, SGDMomentum} }

// StateBytes is the optimizer state per parameter: moments and, for 16-bit
// weights, the fp32 master copy. Source: ZeRO paper (arXiv 1910.02054) section
// 3.1, K = 12 for mixed-precision Adam.
func (o Optimizer) StateBytes(p Precision) float64 {
	master := 4.0
	if p == FP32 || o == AdamNoMaster {
		master = 0
	}
	if o == SGDMomentum {
		return master + 4
	}
	return master + 8
}

// Attention is the kernel of core attention.
type Attention string

// Attention kernels.
const (
	Flash    Attention = "flash"    // fused, scores never stored
	Standard Attention = "standard" // scores, softmax and dropout mask stored (before 2022)
)

// Attentions lists every kernel, the default first.
func Attentions() []Attention { return []Attention{Flash, Standard} }

// Stack names the software whose memory and time behaviour is modelled.
type Stack string

// Stacks.
const (
	Textbook     Stack = "textbook"      // the playbook's formulas and nothing else
	MegatronCore Stack = "megatron-core" // Megatron-Core with Transformer Engine
	Megatron2021 Stack = "megatron-2021" // as of arXiv 2104.04473
	Megatron2022 Stack = "megatron-2022" // as of arXiv 2205.05198
	Nanotron     Stack = "nanotron"
	TorchTitan   Stack = "torchtitan" // PyTorch FSDP
)

// DefaultStack is the word for "what most people run": megatron-core.
const DefaultStack Stack = "default"

// Stacks lists every stack that can be asked for, the default first.
func Stacks() []Stack {
	return []Stack{DefaultStack, MegatronCore, Megatron2021, Megatron2022, Nanotron, TorchTitan, Textbook}
}

// Resolve turns the word "default" into the stack it stands for.
func (s Stack) Resolve() Stack {
	if s == DefaultStack || s == "" {
		return MegatronCore
	}
	return s
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

// RecomputeMode is how much of the forward pass runs again in the backward.
type RecomputeMode string

// Modes of recomputation.
const (
	RecomputeNone      RecomputeMode = "none"
	RecomputeSelective RecomputeMode = "selective" // core attention only (Korthikanti et al.)
	RecomputeFull      RecomputeMode = "full"      // whole layers, their input kept
)

// Recompute is a mode and, for full, the number of layers of each pipeline
// rank it applies to; 0 means all of them.
type Recompute struct {
	Mode   RecomputeMode
	Layers int
}

// MaxRecomputeLayers bounds full:N; no published model is near it.
const MaxRecomputeLayers = 100_000

// String gives the word of the command line: none, selective, full, full:4.
func (r Recompute) String() string {
	if r.Mode == RecomputeFull && r.Layers > 0 {
		return fmt.Sprintf("full:%d", r.Layers)
	}
	if r.Mode == "" {
		return string(RecomputeNone)
	}
	return string(r.Mode)
}

// MarshalText writes the word of the command line.
func (r Recompute) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the word of the command line.
func (r *Recompute) UnmarshalText(text []byte) error {
	word := string(text)
	mode, count, counted := strings.Cut(word, ":")
	switch {
	case !counted && (mode == string(RecomputeNone) || mode == string(RecomputeSelective) || mode == string(RecomputeFull)):
		*r = Recompute{Mode: RecomputeMode(mode)}
		return nil
	case counted && mode == string(RecomputeFull):
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 || n > MaxRecomputeLayers {
			return fmt.Errorf("recompute %q: the number of layers must be a whole number from 1 to %d", word, MaxRecomputeLayers)
		}
		*r = Recompute{Mode: RecomputeFull, Layers: n}
		return nil
	}
	return fmt.Errorf("unknown recompute %q: allowed are none, selective, full, full:N", word)
}
