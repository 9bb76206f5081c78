package knob

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"meshscope/engine/layout"
	"meshscope/engine/ledger"
	"meshscope/engine/memory"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// lacksKernel says why a kernel of attention does not run on a stack with a ledger; empty: it does.
func (s *Setup) lacksKernel(a recipe.Attention) string {
	g, of := &s.Cluster.GPU, a.Architecture()
	switch {
	case a == recipe.Standard:
		return "scores are never stored"
	case of != "" && g.Architecture != of:
		return fmt.Sprintf("its rates are known on %s alone, not on %s (%s)", of, g.Name,
			cmp.Or(g.Architecture, "architecture not stated"))
	case a.OnlyLedger() && g.Vendor != "NVIDIA":
		return "its rates are known on GPUs of NVIDIA alone, not on " + g.Name
	case (a == recipe.CuDNN || a == recipe.Flash2) &&
		(g.Architecture == "Volta" || g.Architecture == "Turing"):
		return fmt.Sprintf("it needs Ampere or newer, not %s (%s)", g.Name, g.Architecture)
	case s.Compile && (a == recipe.CuDNN || a == recipe.Efficient):
		return "torch.compile runs flash where it is asked for (compile off)"
	case a.OnlyLedger() && a != recipe.Efficient && s.Model.HeadDim > widestHead:
		return fmt.Sprintf("no head over %d wide, not %d", widestHead, s.Model.HeadDim)
	}
	return ""
}

// widestHead is what kernels of attention but efficient take (FlashAttention, README; cuDNN, Attention.md).
const widestHead = 256

// ledger checks a setup of a stack whose memory is a ledger: what that has no rules for is refused by name,
// with what it has. Mute: codes alone, no messages.
func (s *Setup) ledger(into []Problem, stack memory.Stack, mute bool) []Problem {
	// without a ring no two parts a rank balance it
	into = slices.DeleteFunc(into, func(p Problem) bool { return p.Code == "cp-zigzag" })
	before := len(into)
	refuse := func(when bool, code string, field ID, format string, args ...any) {
		if !when {
			return
		}
		p := Problem{Code: code, Severity: layout.Error, Field: string(field)}
		if !mute {
			p.Message = s.StackName() + " has " + fmt.Sprintf(format, args...)
		}
		into = append(into, p)
	}
	for _, d := range [...]struct {
		id    ID
		given int
	}{{TP, s.TP}, {PP, s.PP}, {EP, s.EP}, {ETP, s.ETP}} {
		refuse(d.given > 1, "degree-not-offered", d.id,
			"data parallelism and CP (Ulysses) alone, no %s of %d", d.id, d.given)
	}
	refuse(s.Schedule != schedule.OneFOneB, "stack-lacks", Schedule, "no pipeline: schedule %s, not %s",
		schedule.OneFOneB, s.Schedule)
	offers, traits := stack.Offers(), s.Stack.Traits()
	stages := "ZeRO 0 (DDP), 2 and 3 (FSDP2), not %d"
	if offers[1] {
		stages = "ZeRO 1, 2 and 3, not %d"
	}
	refuse(!offers[s.ZeRO], "zero-not-offered", ZeRO, stages, s.ZeRO)
	refuse(s.Replicas() > 1, "stack-lacks", HSDP, "no replicas of shards here: hsdp 1")
	refuse(s.Precision != recipe.BF16 && s.Precision != recipe.FP16, "stack-lacks", Precision,
		"bf16 and fp16 here, not %s", s.Precision)
	whole := s.SixteenBits(s.Optimizer)
	gradients := recipe.GradFP32
	if whole || traits.LowGradients {
		gradients = recipe.GradBF16
	}
	refuse(s.GradDtype != gradients, "stack-lacks", GradDtype,
		"gradients in the weights' type, %s with %s, not %s", gradients, s.trained(), s.GradDtype)
	refuse(s.WeightDtype == recipe.WeightsBF16 && s.Precision == recipe.FP16, "stack-lacks", WeightDtype,
		"weights of bf16 with precision bf16, not %s", s.Precision)
	if why := s.Optimizer.Whole(); why != "" && !offers[1] && s.ZeRO > 0 {
		allowed := recipe.ShardedOptimizers()
		if s.Model.IsMoE() {
			allowed = elementOptimizers()
		}
		refuse(true, "stack-lacks", Optimizer, "no %s under FSDP2: %s; allowed with zero %d: %s", s.Optimizer,
			why, s.ZeRO, wordsOf(allowed))
	}
	matrices := s.Optimizer.States().Matrices
	refuse(matrices && offers[1], "stack-lacks", Optimizer, "no %s here: DeepSpeed's own is not modelled; "+
		"allowed: %s", s.Optimizer, wordsOf(recipe.FlatOptimizers()))
	refuse(matrices && s.Offload.Weights() && !offers[1], "stack-lacks", Optimizer,
		"no %s on the host; allowed with offload %s: %s", s.Optimizer, s.Offload,
		wordsOf(elementOptimizers()))
	refuse(matrices && s.Model.IsMoE(), "stack-lacks", Optimizer, "no %s of experts: torch.optim.Muon takes "+
		"2-D weights alone, those of experts are stacked", s.Optimizer)
	refuse(!s.Frozen() && s.Targets != "", "stack-lacks", "lora-targets", "adapters only with "+adapters)
	refuse(!s.Frozen() && s.DoRA, "stack-lacks", DoRA, "magnitudes of adapters only with "+adapters)
	only := s.inBackward("pytorch, as torchtune runs it, not " + string(s.Stack))
	refuse(only != "", "stack-lacks", InBackward, "no update in the backward here but with %s", only)
	s.zeroPlusPlus(refuse)
	refuse(!s.Frozen() && s.BaseDtype != "", "stack-lacks", BaseDtype,
		"weights of %s only with %s", s.BaseDtype, adapters)
	only = s.fp8Base()
	refuse(only != "", "stack-lacks", BaseDtype, "frozen weights in fp8 only with %s; allowed "+
		"elsewhere: bf16, int8, nf4", only)
	if lacks := s.lacksKernel(s.Attention); lacks != "" {
		allowed := slices.DeleteFunc(recipe.Attentions(),
			func(a recipe.Attention) bool { return s.lacksKernel(a) != "" })
		refuse(true, "stack-lacks", Attention, "no attention %s here: %s; allowed: %s", s.Attention, lacks,
			wordsOf(allowed))
	}
	offloads := s.Offload.Optimizer()
	refuse(s.Offload == recipe.OffloadOptimizer && !traits.HostOptimizer, "stack-lacks", Offload,
		"no optimizer alone on the host; allowed: none, activations, and under FSDP2 (zero 2 or 3) weights "+
			"(with it) and everything")
	drives := s.Offload.NVMe()
	refuse(drives && !traits.HostOptimizer, "stack-lacks", Offload, "nothing on NVMe, which is DeepSpeed's "+
		"with zero 3 (--calibration deepspeed --zero 3); allowed here: none, activations, and under FSDP2 "+
		"(zero 2 or 3) weights and everything")
	refuse(drives && traits.HostOptimizer && s.ZeRO != 3, "stack-lacks", Offload,
		"NVMe with zero 3 alone, not %d; allowed: none, optimizer", s.ZeRO)
	refuse(s.Offload.Weights() && !drives && !traits.HostOptimizer && s.ZeRO == 0, "stack-lacks", Offload,
		"weights on the host under FSDP2 alone (zero 2 or 3), not under DDP; allowed: none, activations")
	refuse(s.Offload == recipe.OffloadWeights && traits.HostOptimizer && s.ZeRO != 3, "stack-lacks", Offload,
		"weights on the host with zero 3 alone, not %d; allowed: none, optimizer", s.ZeRO)
	refuse(s.Offload.Activations() && traits.HostOptimizer, "stack-lacks", Offload,
		"no activations on the host here; allowed: none, optimizer, and with zero 3 weights, "+
			"optimizer-nvme, weights-nvme")
	refuse(offloads && traits.HostOptimizer && s.Optimizer.OnlyLedger(), "stack-lacks", Optimizer,
		"DeepSpeedCPUAdam on the host, not %s; allowed: adam, sgd", s.Optimizer)
	refuse(!slices.Contains(traits.Losses, s.LossKernel()), "stack-lacks", Loss,
		"no loss %s: %s; allowed: %s", s.Loss, notHere(s.Loss), wordsOf(traits.Losses))
	refuse(s.TrainMTP, "stack-lacks", MTP, "no multi-token-prediction modules")
	if len(into) > before {
		return into
	}
	in := memory.Input{
		Model: &s.Model, Program: model.Lay(&s.Model, nil), Layout: &s.Layout,
		Precision: s.Precision, Optimizer: s.Optimizer, Loss: s.LossKernel(), Recompute: s.Recompute,
		Offload: s.Offload, Training: s.Training,
	}
	if err := memory.Refuses(&in, stack); err != nil {
		refuse(true, "stack-lacks", fieldOf(err), "no such training: %s", err)
	}
	return into
}

// fieldOf returns the knob that asks for what a stack has no rules for: the stack, where the model does.
func fieldOf(err error) ID {
	var part *ledger.PartError
	if errors.As(err, &part) && part.Part != "" {
		return ID(part.Part)
	}
	return Calibration
}

// elementOptimizers lists those of FSDP2 that update element by element: on the host, and of experts.
func elementOptimizers() []recipe.Optimizer {
	return slices.DeleteFunc(recipe.ShardedOptimizers(), func(o recipe.Optimizer) bool {
		return o.States().Matrices
	})
}

// notHere returns where a loss is that a stack does not have.
func notHere(l recipe.Loss) string {
	switch l {
	case recipe.ChunkedLoss:
		return "its code is torchtune's, on pytorch, and torchtitan's"
	case recipe.NativeLoss:
		return "its code is Megatron-Core's"
	default:
		return "its classes compute it operation by operation, or by Liger's kernel"
	}
}

// wordsOf lists words of a knob.
func wordsOf[T ~string](list []T) string {
	words := make([]string, len(list))
	for i := range list {
		words[i] = string(list[i])
	}
	return strings.Join(words, ", ")
}

// trained names what decides the type of trained weights.
func (s *Setup) trained() string {
	if s.WeightDtype != "" {
		return "weight-dtype " + string(s.WeightDtype)
	}
	return string(s.Optimizer)
}
