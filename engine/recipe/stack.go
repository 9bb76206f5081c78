package recipe

// Stack names the software whose memory and time behaviour is modelled.
type Stack string

// Stacks.
const (
	Textbook     Stack = "textbook"      // the playbook's formulas and nothing else
	MegatronCore Stack = "megatron-core" // Megatron-Core with Transformer Engine
	Megatron2022 Stack = "megatron-2022" // Megatron-LM of Korthikanti et al.: SP, selective recomputation
	Megatron2021 Stack = "megatron-2021" // Megatron-LM of Narayanan et al. (SC21): neither
	Nanotron     Stack = "nanotron"      // Hugging Face nanotron, as in the playbook's sweep
	TorchTitan   Stack = "torchtitan"    // PyTorch FSDP2
)

// DefaultStack is the word for "what most people run": megatron-core.
const DefaultStack Stack = "default"

// Stacks lists every stack that can be asked for, the default first.
func Stacks() []Stack {
	return []Stack{DefaultStack, MegatronCore, Megatron2022, Megatron2021, Nanotron, TorchTitan, Textbook}
}

// Resolve turns the word "default" into the stack it stands for.
func (s Stack) Resolve() Stack {
	if s == DefaultStack || s == "" {
		return MegatronCore
	}
	return s
}

// Defaults are what a stack does when nobody says otherwise.
type Defaults struct {
	Attention Attention
	Loss      Loss
	ZeRO      int
	SP        bool // with TP
}

// Defaults of the stack:
//
//	megatron-core   flash attention, fused loss, ZeRO-1, SP with TP
//	megatron-2022   scores stored, unfused loss, plain data parallelism, SP with TP
//	megatron-2021   the same without SP, which came in 2022
//	nanotron        flash attention, unfused loss, ZeRO-1, SP with TP
//	torchtitan      flash attention, unfused loss, ZeRO-3 (FSDP2), SP with TP
//	textbook        scores stored, plain data parallelism, SP with TP
func (s Stack) Defaults() Defaults {
	switch s.Resolve() {
	case Megatron2022:
		return Defaults{Standard, UnfusedLoss, 0, true}
	case Megatron2021:
		return Defaults{Standard, UnfusedLoss, 0, false}
	case Nanotron:
		return Defaults{Flash, UnfusedLoss, 1, true}
	case TorchTitan:
		return Defaults{Flash, UnfusedLoss, 3, true}
	case Textbook:
		return Defaults{Standard, FusedLoss, 0, true}
	default:
		return Defaults{Flash, FusedLoss, 1, true}
	}
}
