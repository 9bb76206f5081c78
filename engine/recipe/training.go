package recipe

import (
	"slices"
	"strings"
)

// Training is what is trained of the weights and how plain PyTorch runs it; the zero value trains all of
// them, in eager code.
type Training struct {
	Rank      float64   `json:"lora,omitempty"`         // of adapters; 0: all weights are trained
	Targets   string    `json:"lora_targets,omitempty"` // products that have adapters; empty: all
	BaseDtype BaseDtype `json:"base_dtype,omitempty"`   // of frozen weights; empty: bf16
	DoRA      bool      `json:"dora,omitempty"`         // adapters with magnitudes
	Compile   bool      `json:"compile,omitempty"`
	// InBackward updates each weight as soon as its gradient is there, which is then freed.
	InBackward bool `json:"optimizer_in_backward,omitempty"`

	// WeightDtype is the format of weights that are trained, of their gradients and of moments that have
	// none of their own; empty: fp32.
	WeightDtype WeightDtype `json:"weight_dtype,omitempty"`

	// HPZ is how many ranks next to each other share a second copy of the weights (DeepSpeed's
	// zero_hpz_partition_size: ZeRO++, arXiv 2306.10209, section 3.2); up to 1: there is none.
	HPZ int `json:"hpz,omitempty"`

	// QWZ gathers weights in int8 (zero_quantized_weights, section 3.1), QGZ reduces gradients in int4
	// (zero_quantized_gradients, section 3.3).
	QWZ bool `json:"qwz,omitempty"`
	QGZ bool `json:"qgz,omitempty"`
}

// WeightDtype is the format in which weights are trained.
type WeightDtype string

// Formats of trained weights: fp32 ones compute in 16 bits (autocast, FSDP's mixed precision).
const (
	WeightsFP32 WeightDtype = "fp32"
	WeightsBF16 WeightDtype = "bf16"
)

// WeightDtypes lists every format, the default first.
func WeightDtypes() []WeightDtype { return []WeightDtype{WeightsFP32, WeightsBF16} }

// SixteenBits reports whether weights, gradients and moments have 16 bits, without an fp32 copy.
func (t *Training) SixteenBits(o Optimizer) bool {
	return t.WeightDtype == WeightsBF16 || o == AdamNoMaster
}

// BaseDtype is the format of weights that are frozen.
type BaseDtype string

// Formats of frozen weights.
const (
	BaseBF16 BaseDtype = "bf16"
	BaseInt8 BaseDtype = "int8" // LLM.int8 of bitsandbytes: a byte, and 4 a row
	BaseFP8  BaseDtype = "fp8"  // e4m3 as Unsloth trains adapters on it: a byte, and 4 a block of 128 x 128
	BaseNF4  BaseDtype = "nf4"  // 4 bits, and the scales of blocks of 64, quantised themselves
)

// BaseDtypes lists every format, the default first.
func BaseDtypes() []BaseDtype { return []BaseDtype{BaseBF16, BaseFP8, BaseInt8, BaseNF4} }

// Frozen reports whether adapters alone are trained.
func (t *Training) Frozen() bool { return t.Rank > 0 }

// TargetWords lists the sets of products that have adapters, the default first.
func TargetWords() []string { return []string{"all", "attention", "qv"} }

// Products lists the products that can have adapters, by the names of peft's modules without _proj; some
// classes have one product for several.
func Products() []string { return []string{"q", "k", "v", "qkv", "o", "gate", "up", "gate_up", "down"} }

// ParseTargets reads a set, or a list of products, which comes back in their order; false for neither.
func ParseTargets(text string) (string, bool) {
	var list []string
	for part := range strings.SplitSeq(strings.ToLower(text), ",") {
		part = strings.TrimSuffix(strings.TrimSpace(part), "_proj")
		if !slices.Contains(Products(), part) {
			return "", false
		}
		list = append(list, part)
	}
	slices.SortFunc(list, func(a, b string) int {
		return slices.Index(Products(), a) - slices.Index(Products(), b)
	})
	return strings.Join(slices.Compact(list), ","), true
}

// TargetsOf returns the products that have adapters, of those that a model has.
func (t *Training) TargetsOf(has []string) []string {
	switch t.Targets {
	case "", "all":
		return has
	case "attention":
		return slices.DeleteFunc(slices.Clone(has), func(p string) bool {
			return !slices.Contains([]string{"q", "k", "v", "qkv", "o"}, p)
		})
	case "qv":
		return []string{"q", "v"}
	}
	return strings.Split(t.Targets, ",")
}
