package knob

import (
	"slices"

	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// Recipe is how the cut training is run: in what order, with which numbers and
// kernels, on which software.
type Recipe struct {
	Schedule  schedule.Kind `json:"schedule"`
	GroupSize int           `json:"group_size"` // micro-batches per group of an interleaved schedule; 0: PP

	MaxInFlight int `json:"max_in_flight"` // activations that zb-auto lets a rank hold; 0: 1.5 x PP

	Recompute recipe.Recompute `json:"recompute"`
	Precision recipe.Precision `json:"precision"`
	GradDtype recipe.GradDtype `json:"grad_dtype"`
	Attention recipe.Attention `json:"attention"`
	Optimizer recipe.Optimizer `json:"optimizer"`
	Loss      recipe.Loss      `json:"loss"`              // empty: what the stack does by default
	CPComm    recipe.CPComm    `json:"cp_comm,omitempty"` // empty: what the stack does
	Offload   recipe.Offload   `json:"offload"`           // empty: none

	// OffloadLayers is on how many layers of each pipeline rank activations are kept in host
	// memory from their forward to their backward.
	OffloadLayers int `json:"offload_layers"`

	// Imbalance is the number of routed tokens on the busiest rank in percent of
	// the even share; 0 means 100.
	Imbalance int `json:"imbalance"`

	recipe.Training // rows in training.go
	recipe.Software // what the stack is told to run; rows in software.go

	TrainMTP bool                 `json:"mtp"` // train the model's multi-token-prediction modules too
	Stack    recipe.Stack         `json:"calibration"`
	MFU      recipe.MFUConvention `json:"mfu"`
}

// choice returns the row of a closed set of words.
func choice[T ~string](k Knob, words []T, field func(*Setup) *string) Knob {
	k.Kind, k.Max, k.word = Choice, len(words)-1, field
	for _, w := range words {
		k.Choices = append(k.Choices, string(w))
	}
	return k
}

// scheduleKnob returns the knob of the pipeline's schedule.
func scheduleKnob() Knob {
	return choice(Knob{
		ID: Schedule, Label: "schedule", Short: "sched", group: RecipeGroup, searched: true, advised: true,
		Help: "Order in which pipeline ranks run their forward and backward passes: decides the bubble " +
			"and how many activations are kept.",
		moves: 12, follow: func(s, _ *Setup, _ Locks) { followSchedule(s) },
		unset: func(s *Setup) {
			if s.Schedule = schedule.OneFOneB; s.VPP > 1 {
				s.Schedule = schedule.Interleaved
			}
		},
		fixes: func(*Setup) (list []func(*Setup)) {
			for _, info := range schedule.Kinds() {
				list = append(list,
					func(t *Setup) { t.Schedule = info.Kind },
					func(t *Setup) { t.Schedule, t.VPP = info.Kind, 1 },
					func(t *Setup) { t.Schedule, t.VPP = info.Kind, 2 })
			}
			return list
		},
	}, scheduleKinds(), func(s *Setup) *string { return (*string)(&s.Schedule) })
}

// recipeKnobs returns the knobs of the pipeline's schedule and of recomputation.
func recipeKnobs() []Knob {
	return []Knob{
		scheduleKnob(),
		{
			ID: GroupSize, Label: "group size", Short: "group", place: -2, Min: 0, Max: MaxMicroBatches,
			Help: "How many micro-batches pass a chunk before the next chunk starts in an interleaved " +
				"schedule (0 means PP): larger overlaps send/recv, at the cost of activations.",
			number: func(s *Setup) *int { return &s.GroupSize },
			Off: func(s *Setup) (why, word string) {
				return offWhere(s.VPP <= 1 && s.GroupSize == 0, "interleaved only", "")
			},
			ladder: func(s *Setup, _ Locks) []int {
				return append(append([]int{0}, divisors(s.MicroBatches, 4096)...),
					multiples(s.PP, ladder(16))...)
			},
			near: func(s *Setup) []int {
				return append(multiplesNear(1, s.GroupSize, 64), 0, s.PP, s.MicroBatches)
			},
		},
		{
			ID: MaxInFlight, Label: "in flight", Unit: "activations", place: -2, Min: 0, Max: MaxDegree,
			machine: true,
			Help: "Activations that the zb-auto schedule lets a rank hold; one kept only for its weight " +
				"gradient counts half (0 means 1.5 x PP). More of them shrink the bubble.",
			number: func(s *Setup) *int { return &s.MaxInFlight },
			Off: func(s *Setup) (why, word string) {
				return offWhere(s.Schedule != schedule.ZBAuto && s.MaxInFlight == 0, "zb-auto only", "")
			},
			ladder: func(s *Setup, _ Locks) []int {
				return append([]int{0, 2*s.PP - 1},
					append(ladder(2*s.PP), multiples(s.PP, []int{1, 2, 3, 4})...)...)
			},
			near: func(s *Setup) []int { return []int{0, s.PP, 2 * s.PP} },
		},
		{
			ID: Split, Label: "split", Unit: "layers", Kind: List, place: -2, optional: true, searched: true,
			advised: true,
			Help: "Layers on each stage, such as 15,16,16,14: balances the stages with embedding and " +
				"head; the slowest stage sets the pace.",
			word: func(s *Setup) *string { return &s.Split },
			differ: func(s *Setup) []string {
				return append([]string{balancedWord}, layout.LighterEnds(s.Model.Layers, s.Stages())...)
			},
			fixes: becomes(func(t *Setup) { t.Split = layout.NearestSplit(&t.Model, t.Split, t.Stages()) },
				func(t *Setup) { t.Split = layout.BalancedSplit(t.Model.Layers, t.Stages()) }),
		},
		{
			ID: Recompute, Label: "recompute", Short: "recomp", Kind: Choice, group: RecipeGroup,
			memory: true, Max: 2, searched: true, advised: true,
			Help: "Recomputes part of the forward pass in the backward instead of keeping it: " +
				"selective recomputes core attention for little work, modules the parts that are named, " +
				"full keeps only layer inputs for about a third more work.",
			Choices: []string{
				string(recipe.RecomputeNone), string(recipe.RecomputeSelective),
				string(recipe.RecomputeFull),
			},
			recompute: func(s *Setup) *recipe.Recompute { return &s.Recompute },
			differ: func(s *Setup) []string { // parts of layers before all of them
				list := []string{string(recipe.RecomputeNone), string(recipe.RecomputeSelective)}
				for _, r := range s.Stack.ModuleSets(s.Model.IsMoE(), s.Model.IsMLA()) {
					list = append(list, r.String())
				}
				return append(list, string(recipe.RecomputeFull))
			},
			unset: func(s *Setup) { s.Recompute.Mode = recipe.RecomputeNone },
			fixes: becomes(
				func(t *Setup) { t.Recompute = recipe.Recompute{Mode: recipe.RecomputeFull} },
				func(t *Setup) { t.Recompute = recipe.Recompute{Mode: recipe.RecomputeNone} }),
		},
	}
}

// nearestFormats lists the precisions, those with products of the nearest width first.
func nearestFormats(p recipe.Precision) []recipe.Precision {
	far := func(o recipe.Precision) int {
		d := o.ProductBits() - p.ProductBits()
		return max(d, -d)
	}
	list := recipe.Precisions()
	slices.SortStableFunc(list, func(a, b recipe.Precision) int { return far(a) - far(b) })
	return list
}

// formatKnobs returns those of number formats, optimizer and loss.
func formatKnobs() []Knob {
	return []Knob{
		choice(Knob{
			ID: Precision, Label: "precision", Short: "format", group: RecipeGroup, memory: true,
			Help: "Number format of weights, activations and products: 16 bits halve memory and run on " +
				"the fast units.",
			unset: func(s *Setup) { s.Precision = defaultPrecision(&s.Cluster.GPU) },
			fixes: func(s *Setup) (list []func(*Setup)) {
				for _, w := range nearestFormats(s.Precision) {
					list = append(list, func(t *Setup) { t.Precision = w })
				}
				return list
			},
		}, recipe.Precisions(), func(s *Setup) *string { return (*string)(&s.Precision) }),
		choice(Knob{
			ID: GradDtype, Label: "gradients", Short: "grads", place: -5, memory: true, searched: true,
			advised: true,
			Help:    "How gradients are kept: fp32 takes 4 bytes per parameter, bf16 2, bf16+fp32 both.",
			unset: func(s *Setup) {
				traits := s.Stack.Traits()
				if s.GradDtype = recipe.GradFP32; traits.LowGradients || traits.Ledger &&
					s.SixteenBits(s.Optimizer) {
					s.GradDtype = recipe.GradBF16 // gradients have the weights' type
				}
			},
			fixes: becomes(func(t *Setup) { t.GradDtype = recipe.GradFP32 }),
		}, recipe.GradDtypes(), func(s *Setup) *string { return (*string)(&s.GradDtype) }),
		choice(Knob{
			ID: Optimizer, Label: "optimizer", Short: "optim", place: -5, memory: true, searched: true,
			trains:  true,
			advised: true,
			Help: "Update rule: Adam keeps 12 bytes per parameter with 16-bit weights, 8 without an " +
				"fp32 master copy, SGD with momentum 8; on PyTorch's stacks also moments of 8 bits, paged " +
				"ones, one moment (lion; muon, of matrices), sums over rows and columns (adafactor) or none.",
			unset: func(s *Setup) { s.Optimizer = recipe.Adam },
			fixes: becomes(func(t *Setup) { t.Optimizer = recipe.Adam }),
		}, recipe.Optimizers(), func(s *Setup) *string { return (*string)(&s.Optimizer) }),
		choice(Knob{
			ID: Offload, Label: "offload", place: -5, memory: true, searched: true, advised: true,
			Help: "State kept in host memory: optimizer moves its state off the GPU, at the cost of " +
				"gradients and weights crossing PCIe once per step; weights, on PyTorch's stacks, also the " +
				"shards of weights and gradients, which cross at every use; activations what the backward " +
				"reads, copied there and back; everything both; optimizer-nvme and weights-nvme have it on " +
				"drives (deepspeed), with buffers in host memory.",
			unset: func(s *Setup) { s.Offload = recipe.OffloadNone },
			fixes: becomes(func(t *Setup) { t.Offload = recipe.OffloadNone }),
		}, recipe.Offloads(), func(s *Setup) *string { return (*string)(&s.Offload) }),
		{
			ID: "offload-layers", Label: "offload layers", Short: "offlay", Unit: "layers", place: -5,
			memory: true, advised: true, Min: 0, Max: recipe.MaxRecomputeLayers,
			Help: "Layers of each pipeline rank whose activations are kept in host memory until their " +
				"backward: saves theirs, at the cost of their way over PCIe or NVLink-C2C and back, " +
				"exposed where it takes longer than the passes.",
			number: func(s *Setup) *int { return &s.OffloadLayers },
			ladder: func(s *Setup, _ Locks) []int {
				return append([]int{0}, divisors(max(s.Model.Layers/max(s.PP, 1), 1), 4096)...)
			},
			near: func(*Setup) []int { return []int{0} },
		},
		choice(Knob{
			ID: Loss, Label: "loss", place: -3, searched: true, advised: true,
			Help: "Cross-entropy over the vocabulary: fused keeps the logits in 16 bits and reads them " +
				"once, unfused also in fp32, three times as much and more passes on the last stage, native " +
				"the same memory in fewer passes; on PyTorch's stacks liger and chunked (torchtitan's " +
				"too) have logits of a part of the tokens at a time.",
			unset: func(s *Setup) { s.Loss = s.Stack.Traits().Loss },
			fixes: lossFixes,
		}, recipe.Losses(), func(s *Setup) *string { return (*string)(&s.Loss) }),
	}
}

// lossFixes are changes to the losses that a stack has.
func lossFixes(s *Setup) (list []func(*Setup)) {
	traits := s.Stack.Traits()
	losses := traits.Losses
	if !traits.Ledger {
		losses = append([]recipe.Loss{recipe.FusedLoss}, losses...)
	}
	for _, l := range losses {
		list = append(list, func(t *Setup) { t.Loss = l })
	}
	return list
}

// modelledKnobs returns those of how model and software are modelled.
func modelledKnobs() []Knob {
	return []Knob{
		{
			ID: Imbalance, Label: "imbalance", Unit: "%", place: -1, Min: recipe.EvenLoad,
			Max: recipe.MaxLoad,
			Help: "Routed tokens of the busiest expert rank in percent of the even share: 100 is " +
				"balanced, 150 is 50 % more memory and time.",
			number: func(s *Setup) *int { return &s.Imbalance },
			unset:  func(s *Setup) { s.Imbalance = recipe.EvenLoad },
			Off: func(s *Setup) (why, word string) {
				return offWhere(!s.Model.IsMoE(), "dense model", "dense")
			},
			ladder: func(*Setup, Locks) []int {
				return []int{100, 110, 120, 130, 150, 175, 200, 250, 300, 400}
			},
		},
		choice(Knob{
			ID: Attention, Label: "attention", Short: "attn", place: -4, searched: true, advised: true,
			Help: "Attention kernel: flash is the stack's own that never stores the scores (PyTorch's is " +
				"flash2; flash3 on Hopper, flash4 on Blackwell and cudnn are faster, efficient slower), " +
				"standard stores them, which grows with the square of the sequence.",
			unset: func(s *Setup) { s.Attention = s.Stack.Traits().Attention },
			fixes: becomes(func(t *Setup) { t.Attention = recipe.Flash }),
		}, recipe.Attentions(), func(s *Setup) *string { return (*string)(&s.Attention) }),
		toggle(Knob{
			ID: MTP, Label: "MTP",
			Help: "Trains the model's multi-token-prediction modules too: about one layer and one more " +
				"loss each on the last stage.",
			Off: func(s *Setup) (why, word string) {
				return offWhere(s.Model.MTPLayers == 0 && !s.TrainMTP, "model has none", "none")
			},
			fixes: becomes(func(t *Setup) { t.TrainMTP = false }),
		}, func(s *Setup) *bool { return &s.TrainMTP }),
		choice(Knob{
			ID: Calibration, Label: "stack",
			Help: "Software whose memory and step time are modelled; textbook uses plain formulas only.",
			unset: func(s *Setup) {
				if s.Stack = recipe.DefaultStack; s.Frozen() {
					s.Stack = recipe.Transformers // with DDP
				}
			},
			plain: func(s *Setup) { // a release is compared with the latest
				if s.Stack.Release() != "" {
					s.Stack = s.Stack.Resolve()
				}
			},
			fixes: func(s *Setup) []func(*Setup) {
				others := becomes(func(t *Setup) { t.Stack = recipe.DefaultStack },
					func(t *Setup) { t.Stack = recipe.Textbook }, common)(s)
				if s.Frozen() { // the adapters stay where another stack trains them
					return append([]func(*Setup){func(t *Setup) { t.Stack = recipe.PyTorch }}, others...)
				}
				return others
			},
		}, recipe.Stacks(), func(s *Setup) *string { return (*string)(&s.Stack) }),
		choice(Knob{
			ID: MFU, Label: "MFU counts", Short: "MFU",
			Help: "Attention work counted in MFU: causal counts the half that the mask needs, full counts " +
				"all of it and gives larger figures.",
			unset: func(s *Setup) { s.MFU = recipe.MFUCausal },
			fixes: becomes(func(t *Setup) { t.MFU = recipe.MFUCausal }),
		}, recipe.MFUConventions(), func(s *Setup) *string { return (*string)(&s.MFU) }),
	}
}

// becomes are changes that are the same for every setup.
func becomes(changes ...func(*Setup)) func(*Setup) []func(*Setup) {
	return func(*Setup) []func(*Setup) { return changes }
}

// scheduleKinds lists the schedules that the engine can order and simulate.
func scheduleKinds() []schedule.Kind {
	infos := schedule.Kinds()
	kinds := make([]schedule.Kind, len(infos))
	for i, info := range infos {
		kinds[i] = info.Kind
	}
	return kinds
}

// defaultVPP is 1, or 2 where the given schedule needs or wants several stages
// per rank; of those that only want them, if the layers are enough.
func defaultVPP(s *Setup) int {
	info, ok := s.Schedule.Info()
	if ok && (info.Chunks == 2 || info.Chunks == 0 && s.PP > 1 && product(2, s.PP) <= s.Model.Layers) {
		return 2
	}
	return 1
}

// defaultPrecision is bf16, or fp16 on a GPU that has no bf16 units (V100).
func defaultPrecision(g *hardware.GPU) recipe.Precision {
	if g.PeakBF16 <= 0 && g.PeakFP16 > 0 {
		return recipe.FP16
	}
	return recipe.BF16
}
