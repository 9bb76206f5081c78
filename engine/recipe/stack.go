package recipe

import "strings"

// Stack names the software whose memory and time behaviour is modelled. What a
// stack keeps in memory stands in its file in engine/memory; all else that the
// program must know of it stands in its row here.
type Stack string

// Stacks.
const (
	Textbook     Stack = "textbook"      // the playbook's formulas and nothing else
	MegatronCore Stack = "megatron-core" // Megatron-Core with Transformer Engine
	Megatron2022 Stack = "megatron-2022" // Megatron-LM of Korthikanti et al.: SP, selective recomputation
	Megatron2021 Stack = "megatron-2021" // Megatron-LM of Narayanan et al. (SC21): neither
	Nanotron     Stack = "nanotron"      // Hugging Face nanotron, as in the playbook's sweep
	TorchTitan   Stack = "torchtitan"    // PyTorch FSDP2
	PyTorch      Stack = "pytorch"       // a training loop of plain PyTorch: FSDP2, DDP or one GPU
	Transformers Stack = "transformers"  // the same with a model of Hugging Face's transformers
	DeepSpeed    Stack = "deepspeed"     // DeepSpeed's ZeRO with a model of transformers, in 16 bits
	// MosaicML llm-foundry of 2023: PyTorch's first FSDP, Triton attention.
	LLMFoundry Stack = "llm-foundry"
)

// DefaultStack is the word for "what most people run": megatron-core.
const DefaultStack Stack = "default"

// Traits are what the rest of the program must know of a stack.
type Traits struct {
	Defaults

	// its memory is a ledger of one rank's tensors: data parallelism and Ulysses alone, legal only so
	Ledger        bool
	LowGradients  bool // gradients are in 16 bits under fp32 copies of the weights
	HostOptimizer bool // of a ledger: the optimizer may be in host memory
	LowWeights    bool // without a ledger: weights may be trained in bf16
	// of a ledger those that it has, the nearest to a fused one first; else what it has beside the usual ones
	Losses           []Loss
	Formulas         bool      // formulas alone: no calibration, no overhead, no error band
	FP8              Precision // what fp8 alone means; empty: the playbook's table of Transformer Engine
	SPAs             Stack     // the stack whose memory sequence parallelism has here; empty: it is offered
	DealsByWork      bool      // layers go on stages by their work, not their number
	FittedMemory     bool      // what it keeps is fitted as a whole, so that a calibration must give it
	DataParallelOnly bool      // it has no tensor, pipeline or expert parallelism, no ring
	KeepsProducts    bool      // selective recomputation keeps every second matrix product

	// Software lists the words of a field of Software that the stack has, by its knob and
	// a release of the stack (empty: the latest); nil: it has none.
	Software func(knob, release string) []string
}

// Offloads lists what a stack keeps on the host, none aside.
func (t *Traits) Offloads() []Offload {
	switch {
	case t.HostOptimizer:
		return []Offload{OffloadOptimizer, OffloadWeights, OffloadOptimizerNVMe, OffloadWeightsNVMe}
	case t.Ledger:
		return []Offload{OffloadWeights, OffloadActivations, OffloadEverything}
	}
	return []Offload{OffloadOptimizer}
}

// Defaults are what a stack does when nothing is given.
type Defaults struct {
	Attention Attention
	Loss      Loss
	ZeRO      int
	SP        bool // with TP
}

// row is a stack with its traits.
type row struct {
	stack  Stack
	traits func() Traits
}

// rows returns the table of stacks, what DefaultStack means first.
func rows() [10]row {
	return [...]row{
		{MegatronCore, megatronCore},
		{Megatron2022, func() Traits {
			return Traits{Defaults: Defaults{Standard, UnfusedLoss, 0, true}}
		}},
		{Megatron2021, func() Traits {
			return Traits{Defaults: Defaults{Standard, UnfusedLoss, 0, false}, SPAs: Megatron2022}
		}},
		{Nanotron, func() Traits {
			return Traits{
				Defaults: Defaults{Flash, UnfusedLoss, 1, true}, DealsByWork: true,
				FittedMemory: true,
			}
		}},
		{TorchTitan, func() Traits { // FSDP2
			return Traits{
				Defaults: Defaults{Flash, UnfusedLoss, 3, true}, KeepsProducts: true,
				Software: torchTitanSoftware, Losses: []Loss{ChunkedLoss}, LowWeights: true,
			}
		}},
		{LLMFoundry, func() Traits {
			return Traits{Defaults: Defaults{Flash, FusedLoss, 3, true}, DataParallelOnly: true}
		}},
		{PyTorch, func() Traits {
			return Traits{
				Defaults: Defaults{Flash, UnfusedLoss, 3, false}, KeepsProducts: true,
				DataParallelOnly: true, Ledger: true,
				Losses: []Loss{FusedLoss, UnfusedLoss, LigerLoss, ChunkedLoss},
			}
		}},
		{Transformers, func() Traits {
			return Traits{
				Defaults: Defaults{Flash, UnfusedLoss, 3, false}, DataParallelOnly: true,
				Ledger: true, Losses: []Loss{LigerLoss, UnfusedLoss},
			}
		}},
		{DeepSpeed, func() Traits {
			return Traits{
				Defaults: Defaults{Flash, UnfusedLoss, 2, false}, DataParallelOnly: true,
				Ledger: true, LowGradients: true, HostOptimizer: true,
				Losses: []Loss{LigerLoss, UnfusedLoss},
			}
		}},
		{Textbook, func() Traits {
			return Traits{Defaults: Defaults{Standard, FusedLoss, 0, true}, Formulas: true}
		}},
	}
}

// Stacks lists every stack that can be requested, the default first.
func Stacks() []Stack {
	list := []Stack{DefaultStack}
	for _, r := range rows() {
		list = append(list, r.stack)
		if r.stack == MegatronCore {
			for _, release := range megatronReleases() {
				list = append(list, MegatronCore+atRelease+Stack(release))
			}
		}
	}
	return list
}

// atRelease stands between the name of a stack and a release of it.
const atRelease = "@"

// megatronReleases lists the releases of Megatron-Core that have values of their own, by
// the month of their container: what ran in MLPerf, in NVIDIA's benchmarks and in its
// tables of Megatron-Bridge then.
func megatronReleases() []string {
	return []string{release2306, release2410, release2504, release2509, release2511, release2602, release2604}
}

// Releases of Megatron-Core: 2024.10 has version 0.9, 2025.04 version 0.12.
const (
	release2306 = "2023.06"
	release2410 = "2024.10"
	release2504 = "2025.04"
	release2509 = "2025.09"
	release2511 = "2025.11"
	release2602 = "2026.02"
	release2604 = "2026.04"
)

// Resolve turns the word "default" into the stack it means, and a release of a stack
// into the stack.
func (s Stack) Resolve() Stack {
	if s == DefaultStack || s == "" || s == MegatronCore {
		return MegatronCore
	}
	if i := strings.Index(string(s), atRelease); i >= 0 {
		return s[:i]
	}
	return s
}

// Release returns the release that a stack's name ends in; empty: none, which is the latest.
func (s Stack) Release() string {
	_, release, _ := strings.Cut(string(s), atRelease)
	return release
}

// Traits looks a stack up; of an unknown one they are those of the default.
func (s Stack) Traits() Traits {
	s = s.Resolve()
	if s == MegatronCore { // the usual one, without making the table: each evaluation asks several times
		return megatronCore()
	}
	table := rows()
	for i := range table {
		if table[i].stack == s {
			return table[i].traits()
		}
	}
	return megatronCore()
}

func megatronCore() Traits {
	return Traits{
		Defaults: Defaults{Flash, UnfusedLoss, 1, true}, FP8: FP8Megatron,
		Software: megatronSoftware,
	}
}

// Family names the software that several stacks are generations of: the part of the
// name before its first dash.
func (s Stack) Family() string {
	family, _, _ := strings.Cut(string(s.Resolve()), "-")
	return family
}
