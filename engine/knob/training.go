package knob

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"meshscope/engine/layout"
	"meshscope/engine/recipe"
)

// maxRank bounds the rank of adapters.
const maxRank = 4096

// optionalChoice returns the row of a closed set of words whose first one is that of an empty field.
func optionalChoice[T ~string](k Knob, words []T, field func(*Setup) *string) Knob {
	k = choice(k, words, field)
	parse := k
	k.optional = true
	k.text = func(s *Setup) string { return cmp.Or(*field(s), string(words[0])) }
	k.read = func(s *Setup, text string) error {
		word, err := parse.parseWord(text)
		if err == nil {
			if *field(s) = word; word == string(words[0]) {
				*field(s) = ""
			}
		}
		return err
	}
	k.copy = func(to, from *Setup) { *field(to) = *field(from) }
	return k
}

// trainingKnobs returns those of what is trained.
func trainingKnobs() []Knob {
	full := func(s *Setup) (why, word string) {
		return offWhere(!s.Frozen(), "needs --lora", "full")
	}
	rank := figure(Knob{
		ID: LoRA, Label: "LoRA rank", Short: "LoRA", place: -4, memory: true, whole: true, trains: true,
		Help: "Rank of LoRA adapters, such as 16, with all other weights frozen: no gradients and moments " +
			"of those, in place of them two small products next to each; none trains all weights.",
		Choices: []string{noFigure, "8", "16", "32", "64", "128", "256"},
		Off: func(s *Setup) (why, word string) {
			return offWhere(!s.Stack.Traits().Ledger && !s.Frozen(), "PyTorch's stacks", "full")
		},
	}, 1, maxRank, func(s *Setup) *float64 { return &s.Rank })
	within := rank.fixes
	rank.fixes = func(s *Setup) []func(*Setup) { return append(within(s), adapterStacks(s)...) }
	targets := Knob{
		ID: "lora-targets", Label: "LoRA targets", Short: "targets", place: -4, memory: true, Off: full,
		trains: true,
		parts:  recipe.Products(),
		Help: "Products that have LoRA adapters, as peft names them: all linear layers, those of " +
			"attention, q and v, or a list such as q,k,v,o: each more costs activations in fp32.",
		fixes: becomes(func(t *Setup) { t.Targets = "" }),
	}
	return []Knob{
		rank,
		optionalChoice(targets, recipe.TargetWords(), func(s *Setup) *string { return &s.Targets }),
		optionalChoice(Knob{
			ID: BaseDtype, Label: "base weights", Short: "base", place: -4, memory: true, Off: full,
			trains:  true,
			advised: true,
			Help: "Format of frozen weights (QLoRA): nf4 takes 4.127 bits, int8 and fp8 (Unsloth's) 8 per " +
				"weight of the blocks, at the cost of making 16-bit copies at each use.",
			fixes: becomes(func(t *Setup) { t.BaseDtype = "" }),
		}, recipe.BaseDtypes(), func(s *Setup) *string { return (*string)(&s.BaseDtype) }),
		doraKnob(full),
		inBackwardKnob(),
		optionalChoice(Knob{
			ID: WeightDtype, Label: "weights' type", Short: "wdtype", place: -5, memory: true, trains: true,
			Help: "Format in which weights are trained on PyTorch's stacks: fp32, computed in 16 bits " +
				"(autocast, FSDP's mixed precision), or bf16 with gradients and PyTorch's moments, in half " +
				"the memory and with fewer digits.",
			Off: func(s *Setup) (why, word string) {
				switch traits := s.Stack.Traits(); {
				case !traits.Ledger && !traits.LowWeights && s.WeightDtype == "":
					return "PyTorch's stacks", "fp32"
				case traits.Ledger && s.Optimizer == recipe.AdamNoMaster:
					return "adam-no-master trains in bf16", "bf16"
				}
				return "", ""
			},
			fixes: becomes(func(t *Setup) { t.WeightDtype = "" }),
		}, recipe.WeightDtypes(), func(s *Setup) *string { return (*string)(&s.WeightDtype) }),
		compileKnob(),
	}
}

// plusPlus returns the knobs of ZeRO++.
func plusPlus() []Knob {
	off := func(on func(*Setup) bool) func(*Setup) (why, word string) {
		return func(s *Setup) (why, word string) {
			return offWhere((s.Stack != recipe.DeepSpeed || s.ZeRO != 3) && !on(s), "deepspeed, zero 3", "")
		}
	}
	qwz, qgz := toggle(Knob{
		ID: QWZ, Label: "int8 gathers", Short: "qwZ", place: -3, optional: true,
		Help: "Gathers weights in int8 (qwZ of ZeRO++ on deepspeed, zero 3): half the bytes, at the cost " +
			"of making 16 bits of them at each use.",
		Off:   off(func(s *Setup) bool { return s.QWZ }),
		fixes: becomes(func(t *Setup) { t.QWZ = false }),
	}, func(s *Setup) *bool { return &s.QWZ }), toggle(Knob{
		ID: QGZ, Label: "int4 gradients", Short: "qgZ", place: -3, optional: true,
		Help: "Reduces gradients in int4 by all-to-alls inside nodes and between them (qgZ of ZeRO++ on " +
			"deepspeed, zero 3): a quarter of the bytes, at the cost of digits.",
		Off:   off(func(s *Setup) bool { return s.QGZ }),
		fixes: becomes(func(t *Setup) { t.QGZ = false }),
	}, func(s *Setup) *bool { return &s.QGZ })
	return []Knob{hpzKnob(off(func(s *Setup) bool { return s.HPZ != 0 })), qwz, qgz}
}

func hpzKnob(off func(s *Setup) (why, word string)) Knob {
	shared := func(list []int) []int { // or none, which 1 is too
		return append([]int{0}, slices.DeleteFunc(list, func(n int) bool { return n == 1 })...)
	}
	return Knob{
		ID: HPZ, Label: "second copy", Short: "hpZ", Unit: "GPUs", place: -3, memory: true, optional: true,
		machine: true, advised: true, Min: 0, Max: MaxDegree,
		Help: "How many GPUs next to each other, of a node, share a second copy of the weights (hpZ of " +
			"ZeRO++ on deepspeed, zero 3; 0: none): gathers but a step's first stay among them, at the " +
			"cost of 2 bytes per parameter over them.",
		number: func(s *Setup) *int { return &s.HPZ },
		Off:    off,
		ladder: func(s *Setup, _ Locks) []int {
			return shared(divisors(s.Cluster.Node(), s.DP))
		},
		near: func(s *Setup) []int { return shared(divisors(s.DP, s.HPZ)) },
	}
}

// zeroPlusPlus refuses what ZeRO++ does not go with.
func (s *Setup) zeroPlusPlus(refuse func(when bool, code string, field ID, format string, args ...any)) {
	node := s.Cluster.Node()
	for _, k := range [...]struct {
		id   ID
		on   bool
		what string
	}{
		{HPZ, s.HPZ != 0, "a second copy of the weights"},
		{QWZ, s.QWZ, "weights gathered in int8"},
		{QGZ, s.QGZ, "gradients reduced in int4"},
	} {
		switch {
		case !k.on:
		case s.CP > 1 && k.id != QWZ:
			refuse(true, "stack-lacks", k.id, "%s with cp 1 alone here, not %d", k.what, s.CP)
		case s.Stack != recipe.DeepSpeed:
			refuse(true, "stack-lacks", k.id, "no %s: ZeRO++ is DeepSpeed's (--calibration deepspeed "+
				"--zero 3)", strings.TrimPrefix(k.what, "a "))
		case s.ZeRO != 3:
			refuse(true, "stack-lacks", k.id, "%s with zero 3 alone, not %d", k.what, s.ZeRO)
		case k.id == HPZ && (s.HPZ < 0 || s.HPZ > MaxDegree || s.DP%min(s.HPZ, s.DP) != 0):
			refuse(true, "hpz-dp", k.id, "%s over a number of GPUs that divides dp %d, not %d", k.what, s.DP,
				s.HPZ)
		case k.id == HPZ && s.Offload.Weights():
			refuse(true, "stack-lacks", k.id, "%s with weights on the GPU, not offload %s: the copy would "+
				"be there too", k.what, s.Offload)
		case k.id == QWZ && s.BaseDtype != "":
			refuse(true, "stack-lacks", k.id, "%s of 16 bits, not of base-dtype %s", k.what, s.BaseDtype)
		case k.id == QGZ && s.GPUs > node && s.GPUs%node != 0:
			refuse(true, "qgz-nodes", k.id, "%s over whole nodes of %d, not %d GPUs", k.what, node, s.GPUs)
		}
	}
}

// FourBits reports whether gradients travel in int4.
func (s *Setup) FourBits() bool { return s.Int4Gradients(s.QGZ, s.Cluster.Node()) }

// fp8Base says what frozen weights in fp8 do not go with; empty where they do. Unsloth alone has a backward
// of them (unsloth/kernels/fp8.py); of transformers neither FineGrainedFP8 nor torchao's fp8 is trainable.
func (s *Setup) fp8Base() string {
	const kernel = 128 // elements that share a scale of an input
	switch {
	case s.BaseDtype != recipe.BaseFP8 || !s.Frozen():
	case s.Stack != recipe.Transformers:
		return "classes of transformers, as Unsloth runs them (--calibration transformers), not " +
			string(s.Stack)
	case s.ZeRO > 0:
		return fmt.Sprintf("one GPU or DDP (zero 0), as Unsloth trains, not zero %d", s.ZeRO)
	case s.DoRA:
		return "LoRA: nothing makes norms of weights in fp8"
	case s.Cluster.GPU.PeakFP8 <= 0:
		return "a GPU that multiplies fp8, not " + s.Cluster.GPU.Name
	case s.Model.UnevenInputs(kernel):
		return fmt.Sprintf("inputs of products whose width is a multiple of %d", kernel)
	}
	return ""
}

func doraKnob(off func(s *Setup) (why, word string)) Knob {
	k := toggle(Knob{
		ID: DoRA, Label: "DoRA", Short: "DoRA", place: -3, memory: true, Off: off, trains: true,
		Help: "Trains a magnitude of each output beside its adapter (DoRA), at the cost of the norm of " +
			"every adapted weight in each forward, with copies of that weight.",
		fixes: becomes(func(t *Setup) { t.DoRA = false }),
	}, func(s *Setup) *bool { return &s.DoRA })
	k.optional = true
	return k
}

func inBackwardKnob() Knob {
	k := toggle(Knob{
		ID: InBackward, Label: "optimizer in bwd", Short: "opt in bwd", place: -3, memory: true,
		Help: "Updates each weight as soon as its gradient is there and frees that, so that gradients are " +
			"never all there, at the cost of accumulation over micro-batches and of clipping by their norm.",
		Off: func(s *Setup) (why, word string) {
			return offWhere(s.Stack != recipe.PyTorch && !s.InBackward, "pytorch only", "")
		},
		fixes: becomes(func(t *Setup) { t.InBackward = false }),
	}, func(s *Setup) *bool { return &s.InBackward })
	k.optional = true
	return k
}

// inBackward says what an update in the backward does not go with; empty where it does.
func (s *Setup) inBackward(trains string) string {
	switch states := s.Optimizer.States(); {
	case !s.InBackward:
	case s.Stack != recipe.PyTorch:
		return trains
	case s.Frozen():
		return "all weights trained, not adapters alone"
	case s.MicroBatches > 1:
		return fmt.Sprintf("one micro-batch, not %d", s.MicroBatches)
	case s.ZeRO == 0 && s.DenseRanks() > 1:
		return fmt.Sprintf("one GPU or FSDP2 (zero 2 or 3), not DDP on %d", s.DenseRanks())
	case s.Offload.Weights():
		return "weights on the GPU, not offload " + string(s.Offload)
	case states.Matrices || states.Factored:
		return "an optimizer that updates each element alone, not " + string(s.Optimizer)
	}
	return ""
}

func compileKnob() Knob {
	k := toggle(Knob{
		ID: "compile", Label: "torch.compile", Short: "compile", place: -3,
		Help: "Compiles each block and the loss with torch.compile: fewer passes over memory and no logits " +
			"in fp32, at the cost of compiling once.",
		Off: func(s *Setup) (why, word string) {
			return offWhere(!s.Stack.Traits().Ledger && !s.Compile, "pytorch only", "")
		},
		fixes: becomes(func(t *Setup) { t.Compile = false }),
	}, func(s *Setup) *bool { return &s.Compile })
	k.optional = true
	return k
}

// adapting says which stacks train adapters.
const adapting = "transformers, pytorch and deepspeed have (--calibration)"

// ofDeepSpeed says where ZeRO-3's extensions are.
const ofDeepSpeed = "deepspeed has, with zero 3 (--calibration deepspeed --zero 3)"

// adapters is what formats of frozen weights, targets and magnitudes of adapters need.
const adapters = "--lora, such as --lora 16"

// adapterStacks are changes of a setup with adapters to the stacks that train them; none where one is given.
func adapterStacks(s *Setup) (list []func(*Setup)) {
	if !s.Frozen() || s.Stack.Traits().Ledger {
		return nil
	}
	for _, stack := range [...]recipe.Stack{recipe.Transformers, recipe.PyTorch, recipe.DeepSpeed} {
		list = append(list, func(t *Setup) {
			traits := stack.Traits()
			if t.Stack = stack; traits.LowGradients {
				t.GradDtype = recipe.GradBF16
			}
			if !slices.Contains(traits.Losses, t.LossKernel()) {
				t.Loss = traits.Losses[0]
			}
		})
	}
	return list
}

// training checks what is trained on stacks without a ledger, which train all weights.
func (s *Setup) training(into []Problem) []Problem {
	frozen := adapting
	if !s.Frozen() {
		frozen = "it needs " + adapters
	}
	lacks := func(is bool, field ID, what, have string) {
		if is {
			into = append(into, Problem{
				Code: "stack-lacks", Severity: layout.Error, Field: string(field),
				Message: s.StackName() + " has no " + what + " here; " + have,
			})
		}
	}
	lacks(s.Frozen(), LoRA, "LoRA", adapting)
	lacks(s.BaseDtype != "", BaseDtype, "frozen weights", frozen)
	lacks(s.Targets != "", "lora-targets", "LoRA", frozen)
	lacks(s.DoRA, DoRA, "DoRA", frozen)
	lacks(s.Attention.OnlyLedger(), Attention, "attention kernel to choose",
		"pytorch, transformers and deepspeed have; allowed: flash, standard")
	lacks(s.Compile, "compile", "switch of torch.compile", "pytorch has (--calibration pytorch)")
	lacks(s.InBackward, InBackward, "update in the backward", "pytorch has (--calibration pytorch)")
	lacks(s.HPZ != 0, HPZ, "second copy of weights", ofDeepSpeed)
	lacks(s.QWZ, QWZ, "int8 gathers of weights", ofDeepSpeed)
	lacks(s.QGZ, QGZ, "int4 gradients", ofDeepSpeed)
	if s.WeightDtype != "" {
		low := s.Stack.Traits().LowWeights
		lacks(!low, WeightDtype, "weights in bf16",
			"transformers, pytorch and torchtitan have (--calibration)")
		lacks(low && s.Precision != recipe.BF16, WeightDtype, "weights in bf16 with another precision",
			"it has with bf16")
	}
	lacks(s.Offload.NVMe(), Offload, "offload to NVMe", ofDeepSpeed)
	lacks(s.Offload.Weights() && !s.Offload.NVMe(), Offload, "weights on the host", adapting)
	lacks(s.Offload == recipe.OffloadActivations, Offload, "offload activations",
		"pytorch and transformers have (--calibration); of megatron-core see --offload-layers")
	loss := s.LossKernel()
	lacks(loss == recipe.LigerLoss, Loss, "loss liger", adapting)
	lacks(loss == recipe.ChunkedLoss && !slices.Contains(s.Stack.Traits().Losses, loss), Loss, "loss chunked",
		"pytorch and torchtitan have (--calibration)")
	lacks(loss == recipe.ChunkedLoss && s.TrainMTP, Loss, "loss chunked",
		"its modules of multi-token prediction take unfused")
	lacks(s.Optimizer.OnlyLedger(), Optimizer, string(s.Optimizer), adapting)
	return into
}

// common makes the stack the default one, without what stacks with a ledger alone have.
func common(t *Setup) {
	t.Stack, t.Training = recipe.DefaultStack, recipe.Training{}
	if t.Attention.OnlyLedger() {
		t.Attention = recipe.Flash
	}
	if t.Optimizer.OnlyLedger() {
		t.Optimizer = recipe.Adam
	}
	if t.Loss.InParts() {
		t.Loss = recipe.FusedLoss
	}
	if t.Offload.Weights() || t.Offload.Activations() || t.Offload.NVMe() {
		t.Offload = recipe.OffloadNone
	}
}
