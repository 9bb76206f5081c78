package recipe

import (
	"slices"
	"strings"
)

// Optimizer is the update rule, which decides the optimizer state.
type Optimizer string

// Optimizers and their state per parameter; see StateBytes.
const (
	Adam Optimizer = "adam" // fp32 master copy (for 16-bit weights) and two fp32 moments
	// two fp32 moments only, as the playbook draws its figures (k = 8).
	AdamNoMaster Optimizer = "adam-no-master"
	SGDMomentum  Optimizer = "sgd" // fp32 master copy and one fp32 momentum
	SGDPlain     Optimizer = "sgd-plain"

	// PyTorch's AdamW over lists of tensors, its default: the square roots of all second moments at once.
	AdamForeach Optimizer = "adamw-foreach"
	// Of bitsandbytes: moments of 8 bits in blocks, moments in unified memory, which may leave the GPU, both.
	Adam8Bit      Optimizer = "adamw-8bit"
	AdamPaged     Optimizer = "adamw-paged"
	AdamPaged8Bit Optimizer = "adamw-paged-8bit"
	Lion          Optimizer = "lion" // bitsandbytes' too: one moment
	Lion8Bit      Optimizer = "lion-8bit"

	// Adafactor keeps sums over rows and columns of the second moment of a matrix, and no first one: of
	// transformers (optimization.py, as its Trainer makes it: no relative steps), of torch.optim on pytorch.
	Adafactor Optimizer = "adafactor"
	// Muon is torch.optim.Muon (torch/optim/_muon.py): one moment of the matrices of layers, which five
	// iterations of Newton-Schulz make orthogonal; AdamW, fused, of embedding, head, norms and biases.
	Muon Optimizer = "muon"
)

// States are the moments that an optimizer keeps of each parameter.
type States struct {
	Moments int
	// bitsandbytes' are fp32 whatever the weights are; a kernel updates one tensor, without temporaries
	BitsAndBytes bool
	Narrow       bool // a byte each, and an fp32 maximum of each block
	Paged        bool // in unified memory
	Factored     bool // a second moment as sums over rows and columns, that of a vector whole
	Matrices     bool // of the matrices of layers alone; AdamW's two of all else
}

// update is a row of the table of optimizers.
type update struct {
	word, rule Optimizer
	States
	ledger bool // only stacks whose memory is a ledger have it

	// what Hugging Face's Trainer calls it (src/transformers/training_args.py, OptimizerNames), the name to
	// write first
	trainer string
}

// updates returns the table of optimizers, the default first.
func updates() [12]update {
	const narrow, paged = true, true
	return [...]update{
		adam(),
		{AdamNoMaster, Adam, States{Moments: 2}, false, ""},
		{SGDMomentum, SGDMomentum, States{Moments: 1}, false, ""},
		{AdamForeach, Adam, States{Moments: 2}, true, "adamw_torch"},
		{Adam8Bit, Adam, bits(2, narrow, false), true, "adamw_bnb_8bit adamw_8bit"},
		{AdamPaged, Adam, bits(2, false, paged), true, "paged_adamw_32bit paged_adamw"},
		{AdamPaged8Bit, Adam, bits(2, narrow, paged), true, "paged_adamw_8bit"},
		{Lion, Lion, bits(1, false, false), true, "lion_32bit lion"},
		{Lion8Bit, Lion, bits(1, narrow, false), true, "lion_8bit"},
		{SGDPlain, SGDPlain, States{}, true, "sgd"},
		{Adafactor, Adafactor, States{Factored: true}, true, "adafactor"},
		{Muon, Muon, States{Moments: 1, Matrices: true}, true, ""},
	}
}

func adam() update {
	return update{
		Adam, Adam,
		States{Moments: 2},
		false,
		"adamw_torch_fused adamw_apex_fused adamw_torch_npu_fused adamw",
	}
}

// bits returns the moments of an optimizer of bitsandbytes.
func bits(moments int, narrow, paged bool) States {
	return States{Moments: moments, BitsAndBytes: true, Narrow: narrow, Paged: paged}
}

// Optimizers lists every optimizer, the default first.
func Optimizers() []Optimizer {
	table := updates()
	list := make([]Optimizer, len(table))
	for i := range table {
		list[i] = table[i].word
	}
	return list
}

// Known reports whether there is such an optimizer.
func (o Optimizer) Known() bool { return o.row().word == o }

// row looks an optimizer up; of an unknown one it is the default's.
func (o Optimizer) row() update {
	if o == Adam { // the usual one, without making the table: each evaluation asks several times
		return adam()
	}
	table := updates()
	for i := range table {
		if table[i].word == o {
			return table[i]
		}
	}
	return table[0]
}

// TrainerNames returns what Hugging Face's Trainer calls the optimizer, the name to write first; none: it
// does not have it.
func (o Optimizer) TrainerNames() []string { return strings.Fields(o.row().trainer) }

// Whole returns why an optimizer needs whole tensors, which FSDP2 shards; empty: it runs on shards.
func (o Optimizer) Whole() string {
	switch s := o.States(); {
	case s.BitsAndBytes:
		return "kernels of bitsandbytes take no DTensor"
	case s.Factored: // pytorch/pytorch#109581
		return "its sums over rows and columns are those of whole matrices"
	}
	return ""
}

// ShardedOptimizers lists those that run on the shards of FSDP2.
func ShardedOptimizers() []Optimizer {
	return slices.DeleteFunc(Optimizers(), func(o Optimizer) bool { return o.Whole() != "" })
}

// FlatOptimizers lists those that DeepSpeed runs on flat fp32 copies of the weights.
func FlatOptimizers() []Optimizer {
	return slices.DeleteFunc(Optimizers(), func(o Optimizer) bool {
		return o.States().Matrices || o == AdamNoMaster
	})
}

// Rule returns the update rule, whatever the widths of its states.
func (o Optimizer) Rule() Optimizer { return o.row().rule }

// States returns the moments.
func (o Optimizer) States() States { return o.row().States }

// OnlyLedger reports whether only stacks whose memory is a ledger have an optimizer.
func (o Optimizer) OnlyLedger() bool { return o.row().ledger }

// StateBytes returns the optimizer state per parameter: moments and, for 16-bit
// weights, the fp32 master copy. Source: ZeRO paper (arXiv 1910.02054) section
// 3.1, K = 12 for mixed-precision Adam; fp8 recipes have their own widths.
func (o Optimizer) StateBytes(p Precision) float64 { return o.MasterBytes(p) + o.MomentBytes(p) }

// MasterBytes returns the master copy of the weights per parameter: it exists from
// the start of training.
func (o Optimizer) MasterBytes(p Precision) float64 {
	if o == AdamNoMaster || p == FP32 {
		return 0
	}
	if f, ok := p.fp8(); ok {
		return f.master
	}
	return 4
}

// MomentBytes returns the moments per parameter: they appear with the first update.
func (o Optimizer) MomentBytes(p Precision) float64 {
	first, second := 4.0, 4.0
	if f, ok := p.fp8(); ok {
		first, second = f.first, f.second
	}
	s := o.States()
	if s.Narrow {
		first, second = NarrowBytes, NarrowBytes
	}
	switch s.Moments {
	case 0:
		return 0
	case 1:
		return first
	}
	return first + second
}

// What bitsandbytes keeps of a moment of 8 bits, since release 0.45 (bitsandbytes/optim/optimizer.py:
// Optimizer2State.init_state): an fp32 maximum of each block; tensors of fewer elements have fp32 moments.
const (
	NarrowBlock = 256
	NarrowFrom  = 4096
	NarrowBytes = 1 + 4./NarrowBlock
)

// PagedFrom is how many elements a moment has at least that is kept in unified memory (the same file:
// get_state_buffer).
const PagedFrom = 100_000
