package knob

import (
	"slices"

	"meshscope/engine/memory"
)

// degree returns the row of a degree of parallelism: 1 where it is not given.
func degree(k Knob, field func(*Setup) *int) Knob {
	k.Kind, k.Min, k.Max, k.group, k.searched, k.machine, k.number = Number, 1, MaxDegree, LayoutGroup, true,
		true, field
	if k.unset == nil {
		k.unset = func(s *Setup) { *field(s) = 1 }
	}
	return k
}

// degrees returns the knobs that cut model, batch and sequence over the GPUs.
func degrees() []Knob {
	return []Knob{
		degree(Knob{
			ID: DP, Label: "DP",
			Help: "Replicas of the model that each process a share of the batch: more throughput, at the " +
				"cost of an all-reduce of all gradients.",
			Fixed: func(l Locks) bool { return !l.GPUs }, Lock: GPULock, moves: 6,
			follow: func(s, _ *Setup, l Locks) {
				s.GPUs = product(s.DP, s.TP, s.PP, s.CP)
				followDP(s, l)
			},
			ladder: func(s *Setup, l Locks) []int {
				if !l.Batch {
					return ladder(16384)
				}
				return append(ladder(4096), divisors(quotientOf(s.GBS, s.MBS), 4096)...)
			},
		}, func(s *Setup) *int { return &s.DP }),
		degree(Knob{
			ID: TP, Label: "TP", advised: true,
			Help: "How many GPUs share every matrix of a layer: cuts weights and activations, at the cost " +
				"of traffic twice per layer each way, so keep it inside the node.",
			Lock: GPULock, moves: 1, follow: followDegree,
			ladder: func(s *Setup, l Locks) []int { return cuts(s, product(s.PP, s.CP), s.Model.Heads, l) },
			near:   func(s *Setup) []int { return divisors(s.Model.Heads, s.Model.Heads) },
		}, func(s *Setup) *int { return &s.TP }),
		degree(Knob{
			ID: PP, Label: "PP", advised: true,
			Help: "Pipeline ranks that hold consecutive layers: cuts weights with little traffic, at the " +
				"cost of idle time, the bubble.",
			Lock: GPULock, moves: 2, follow: followDegree,
			ladder: func(s *Setup, l Locks) []int { return cuts(s, product(s.TP, s.CP), s.Model.Layers, l) },
			near:   func(s *Setup) []int { return counting(1, min(s.Model.Layers, 512)) },
		}, func(s *Setup) *int { return &s.PP }),
		degree(Knob{
			ID: VPP, Label: "VPP", advised: true,
			Help: "Stages per pipeline rank: divides the bubble by this number, at the cost of as many " +
				"times the send/recv traffic and somewhat more activations.",
			Off:    needsPipeline,
			moves:  11,
			unset:  func(s *Setup) { s.VPP = defaultVPP(s) },
			follow: func(s, _ *Setup, _ Locks) { followVPP(s) },
			ladder: func(s *Setup, _ Locks) []int {
				return append(ladder(32), divisors(quotientOf(s.Model.Layers, s.PP), 256)...)
			},
			near: func(s *Setup) []int { return counting(1, min(s.Model.Layers, 128)) },
		}, func(s *Setup) *int { return &s.VPP }),
		degree(Knob{
			ID: CP, Label: "CP", advised: true,
			Help: "How many GPUs share one long sequence: cuts activations, at the cost of keys and values " +
				"sent around a ring in every attention layer.",
			Lock: GPULock, moves: 3, follow: followDegree,
			ladder: func(s *Setup, l Locks) []int { return cuts(s, product(s.TP, s.PP), 0, l) },
			near:   func(s *Setup) []int { return divisors(s.Seq, 4096) },
		}, func(s *Setup) *int { return &s.CP }),
	}
}

// expertDegrees returns those of routed experts.
func expertDegrees() []Knob {
	return []Knob{
		degree(Knob{
			ID: EP, Label: "EP", advised: true,
			Help: "Over how many GPUs the routed experts are distributed: cuts expert weights, at the " +
				"cost of two all-to-alls per MoE layer each way.",
			Off: needsExperts,
			ladder: func(s *Setup, _ Locks) []int {
				return append(ladder(8), divisors(s.Model.Experts, 1024)...)
			},
			near: func(s *Setup) []int { return append(divisors(s.Model.Experts, s.Model.Experts), 1) },
		}, func(s *Setup) *int { return &s.EP }),
		degree(Knob{
			ID: ETP, Label: "ETP", advised: true,
			Help: "Tensor parallelism inside each expert: cuts its matrices, at the cost of small matrix " +
				"products and more traffic.",
			Off:    needsExperts,
			ladder: func(s *Setup, _ Locks) []int { return append(ladder(8), divisors(s.TP, 1024)...) },
			near:   func(s *Setup) []int { return append(divisors(s.Model.ExpertFFN, 64), 1) },
		}, func(s *Setup) *int { return &s.ETP }),
	}
}

// sharding returns the knobs of what ranks of TP and DP share without a degree of its own.
func sharding() []Knob {
	return []Knob{
		toggle(Knob{
			ID: SP, Label: "SP", group: LayoutGroup, place: 1, searched: true, advised: true,
			Help: "Splits what TP leaves whole (norms, dropout, residuals) along the sequence: cuts " +
				"activations by up to TP, at the cost of one more all-gather per region in the backward.",
			Off: func(s *Setup) (why, word string) {
				return offWhere(s.TP <= 1 && !s.SP, "needs TP > 1", "TP = 1")
			},
			unset: func(s *Setup) { s.SP = s.TP > 1 && s.Stack.Traits().SP },
		}, func(s *Setup) *bool { return &s.SP }),
		{
			ID: ZeRO, Label: "ZeRO", group: LayoutGroup, searched: true, advised: true, Min: 0, Max: 3,
			machine: true,
			Help: "What data-parallel replicas shard, 0 to 3: 1 optimizer state, 2 gradients too, 3 " +
				"weights too; 2 reduce-scatters gradients and 3 also all-gathers weights for every " +
				"micro-batch.",
			number: func(s *Setup) *int { return &s.ZeRO },
			unset: func(s *Setup) {
				s.ZeRO = s.Stack.Traits().ZeRO
				// adapters are few: DDP, where the stack has it
				if stack, ok := memory.For(s.Stack); ok && s.Frozen() && stack.Offers()[0] {
					s.ZeRO = 0
				}
			},
			ladder: func(*Setup, Locks) []int { return []int{0, 1, 2, 3} },
			near:   func(*Setup) []int { return []int{0, 1, 2, 3} },
		},
		{
			ID: HSDP, Label: "replicas", place: -1, advised: true, Min: 1, Max: MaxDegree, machine: true,
			Help: "Replicas over which ZeRO does not shard (HSDP): keeps weight all-gathers inside each " +
				"replica, at the cost of memory.",
			number: func(s *Setup) *int { return &s.HSDP },
			unset:  func(s *Setup) { s.HSDP = 1 },
			Off: func(s *Setup) (why, word string) {
				return offWhere((s.ZeRO == 0 || s.DP <= 1) && s.Replicas() == 1, "needs ZeRO and DP > 1",
					"off")
			},
			ladder: func(s *Setup, _ Locks) []int { return divisors(s.DP, 1024) },
		},
	}
}

// offWhere returns the reasons why a knob has no effect where it has none.
func offWhere(off bool, why, word string) (whyOff, wordOff string) {
	if !off {
		return "", ""
	}
	return why, word
}

func needsExperts(s *Setup) (why, word string) {
	return offWhere(!s.Model.IsMoE() && s.EP <= 1 && s.ETP <= 1, "dense model", "dense")
}

func needsPipeline(s *Setup) (why, word string) {
	return offWhere(s.PP <= 1 && s.VPP <= 1, "needs PP > 1", "PP = 1")
}

// toggle returns the row of a switch.
func toggle(k Knob, field func(*Setup) *bool) Knob {
	k.Kind, k.toggle, k.Choices, k.Max = Switch, field, []string{"off", "on"}, 1
	return k
}

// cuts are degrees that may be legal: with the GPUs kept only what divides them
// can be; without, what divides the thing that is cut, and the plain ladder.
func cuts(s *Setup, rest, thing int, l Locks) []int {
	if l.GPUs {
		return divisors(quotientOf(s.GPUs, rest), 4096)
	}
	return append(ladder(128), divisors(thing, 1024)...)
}

// batch returns the knobs of what one step trains on.
func batch() []Knob {
	return []Knob{
		{
			ID: MBS, Label: "micro-batch", Short: "mbs", Unit: "sequences", group: BatchGroup, searched: true,
			advised: true, Min: 1, Max: MaxDegree,
			Help: "Sequences that go through the layers together: larger matrices run faster, at the " +
				"cost of activations in proportion.",
			number: func(s *Setup) *int { return &s.MBS },
			unset:  func(s *Setup) { s.MBS = 1 },
			Lock:   BatchLock, moves: 8, follow: func(s, _ *Setup, l Locks) { followDP(s, l) },
			ladder: func(s *Setup, l Locks) []int {
				if l.Batch {
					return append(ladder(64), divisors(quotientOf(s.GBS, s.DP), 4096)...)
				}
				return ladder(64)
			},
		},
		{
			ID: MicroBatches, Label: "micro-batches", Short: "m", group: BatchGroup, searched: true, Min: 1,
			Max: MaxMicroBatches,
			Help: "How many micro-batches go through each pipeline per step: more of them make the " +
				"bubble a smaller share, at the cost of a larger global batch.",
			Fixed:  func(l Locks) bool { return !l.Batch },
			number: func(s *Setup) *int { return &s.MicroBatches },
			Lock:   BatchLock, moves: 10, follow: func(s, _ *Setup, _ Locks) {
				s.GBS = product(s.MBS, s.MicroBatches, s.DP)
			},
			ladder: func(s *Setup, _ Locks) []int {
				return append(ladder(4096), multiples(s.PP, ladder(256))...)
			},
			near: func(s *Setup) []int {
				return append(multiplesNear(max(s.PP, 1), s.MicroBatches, 16),
					multiplesNear(1, s.MicroBatches, 64)...)
			},
		},
		{
			ID: GBS, Label: "global batch", Short: "gbs", Unit: "sequences", group: BatchGroup,
			searched: true, Min: 1, Max: MaxBatch,
			Help: "Sequences per optimizer step over all GPUs: larger batches shrink the share of the " +
				"bubble and of once-per-step work, up to the batch that training can use (large models: 4 " +
				"to 60 M tokens). In tokens: 4Mtok.",
			Fixed:  func(l Locks) bool { return l.Batch },
			number: func(s *Setup) *int { return &s.GBS },
			Lock:   BatchLock, moves: 9, follow: func(s, _ *Setup, _ Locks) {
				s.MicroBatches = microBatchesOf(s)
			},
			ladder: func(s *Setup, _ Locks) []int {
				return multiples(product(s.MBS, s.DP), append(ladder(1024), multiples(s.PP, ladder(32))...))
			},
			near: func(s *Setup) []int { return multiplesNear(max(s.MBS*s.DP, 1), s.GBS, 64) },
		},
		{
			ID: Seq, Label: "sequence", Short: "seq", Unit: "tokens", group: BatchGroup, searched: true,
			Min: 1, Max: MaxSeq, Binary: true,
			Help: "Tokens per sequence: activations grow in proportion, the work of attention per token " +
				"too.",
			number: func(s *Setup) *int { return &s.Seq },
			Lock:   TokenLock, moves: 7, follow: followSeq,
			unset: func(s *Setup) {
				if s.Seq = DefaultSeq; s.Model.MaxSeq > 0 {
					s.Seq = min(s.Seq, s.Model.MaxSeq)
				}
			},
			// 512 768 1024 ... 1 Mi
			ladder: func(*Setup, Locks) []int { return multiples(512, ladder(2048)) },
			near: func(s *Setup) []int {
				unit := max(s.CP*s.TP, 1)
				return append(multiplesNear(unit, min(s.Seq, s.Model.MaxSeq), 8),
					multiplesNear(unit, s.Seq, 16)...)
			},
		},
	}
}

// machine returns the knobs of how much of the cluster is used.
func machine() []Knob {
	return []Knob{
		{
			ID: Nodes, Label: "nodes", group: MachineGroup, searched: true, Min: 1, Max: MaxGPUs,
			machine: true, optional: true,
			Help: "How many machines take part: more of them split the batch further, at the cost of " +
				"traffic over the slower links between them.",
			Lock: GPULock, moves: 4, follow: followGPUs,
			ladder: func(s *Setup, _ Locks) []int {
				top := MaxGPUs
				if s.Cluster.MaxGPUs > 0 {
					top = min(top, s.Cluster.MaxGPUs)
				}
				values := multiples(quotientOf(product(s.TP, s.PP, s.CP), s.Cluster.Node()), ladder(4096))
				return upTo(min(top/s.Cluster.Node(), 16384), values)
			},
		},
		{
			ID: GPUs, Label: "GPUs", group: MachineGroup, searched: true, Min: 1, Max: MaxGPUs, machine: true,
			Help:   "How many GPUs take part: always DP x TP x PP x CP.",
			Fixed:  func(l Locks) bool { return l.GPUs },
			number: func(s *Setup) *int { return &s.GPUs },
			Lock:   GPULock, moves: 5, follow: followGPUs,
			ladder: func(s *Setup, _ Locks) []int {
				return upTo(1<<17, multiples(product(s.TP, s.PP, s.CP), ladder(4096)))
			},
			near: func(s *Setup) []int {
				plane := max(s.TP*s.PP*s.CP, 1)
				list := multiplesNear(plane, s.GPUs, 64)
				if s.Cluster.Inter.Bandwidth <= 0 {
					list = append(list, multiplesNear(plane, s.Cluster.Domain(), 64)...)
				}
				return list
			},
		},
	}
}

// upTo leaves out what is larger than top.
func upTo(top int, values []int) []int {
	return slices.DeleteFunc(values, func(v int) bool { return v > top })
}
