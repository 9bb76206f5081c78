package hardware

import (
	"meshscope/engine/ledger"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// Calibration is what was measured or fitted about one machine: its GPU's
// kernels, its links, the software stacks that ran on it. It is data (see
// presets/calibrations); the engine holds no fitted constant. A Calibration is
// never changed once a Cluster points to it, so a Setup stays a plain value.
type Calibration struct {
	ID       string // of the cluster or the GPU that it belongs to
	Ops      Ops
	Network  Network
	Software []Software // by stack; the first is used for a stack that is not listed
	Kernels  Kernels
	Custom   CustomParts // the parts that the user gave
	// Of is the machine that the figures speak of, as its preset has it; nil for one
	// that no preset has. Where a setup changes its links, measured curves follow.
	Of *Cluster
	// NetworkID is the file that the links' constants come from.
	NetworkID string
	// what the kernels and links were fitted to, and what was inherited; for the assumptions
	Notes []string

	// Missing says which needed figure of the kernels or links no file gives; empty:
	// none. A step time would then be computed from zero.
	Missing string
}

// Kernels are those of PyTorch's own, and where they were measured.
type Kernels struct {
	ledger.Rates

	From    string
	Missing string // which needed figure no file gives; empty: none
	On      *GPU   // nil: no file speaks of them
}

// Note says for the assumptions of a GPU where the rates come from.
func (k *Kernels) Note(g *GPU) string {
	note := "kernels of PyTorch: " + k.From
	if g.ID == k.On.ID {
		return note
	}
	return note + "; on " + g.Name + " their rates grow with its peak, its memory bandwidth and its link " +
		"to the host, launches take as long"
}

// Rates returns what PyTorch's kernels reach on the GPU of a machine: what was measured on another grows with
// its peaks and bandwidths. The second value is false where nothing was measured.
func (c *Cluster) Rates(p recipe.Precision) (ledger.Rates, bool) {
	if c.Calibration == nil || c.Calibration.Kernels.On == nil {
		return ledger.Rates{}, false
	}
	k, g := &c.Calibration.Kernels, &c.GPU
	times := func(is, was float64) float64 {
		if is <= 0 || was <= 0 {
			return 1
		}
		return is / was
	}
	peak := times(float64(g.Peak(p)), float64(k.On.Peak(p)))
	by := [...]float64{
		ledger.NoLimit: 1, ledger.Peak: peak,
		ledger.Peak32: times(float64(g.PeakFP32), float64(k.On.PeakFP32)),
		ledger.Memory: times(float64(g.MemoryBandwidth), float64(k.On.MemoryBandwidth)),
		ledger.Link:   times(float64(g.Host()), float64(k.On.Host())),
	}
	return k.Times(by), true
}

// Lacks says what a stack on this machine lacks; empty: nothing.
func (c *Calibration) Lacks(stack recipe.Stack) string {
	if c.Missing != "" {
		return c.Missing
	}
	if missing := c.Kernels.Missing; missing != "" && stack.Traits().Ledger {
		return missing
	}
	return c.For(stack).Missing
}

// Ops are the constants of one GPU's kernels. Shares are fractions of the
// datasheet's dense peak or bandwidth.
type Ops struct {
	From   string  // what the constants were fitted to
	SMs    float64 // streaming multiprocessors, for wave quantisation
	Gemm   float64 // share of the peak that a large product reaches
	GemmF8 float64 // the same of the fp8 peak
	GemmF4 float64 // the same of the fp4 peak, casts of the operands apart; 0: as GemmF8
	HalfK  float64 // inner length at which a product needs twice the time of a long one
	Wave   float64 // how much of wave quantisation is felt: 0 none, 1 all
	Stream float64 // share of memory bandwidth

	Attention Fused // the best kernel of fused attention

	Grouped     float64 // share of the peak of a grouped product with long groups
	GroupedRows float64 // rows per group at which it needs twice the time
	GroupedRead float64 // share of memory bandwidth of a grouped product
	// the same of the gradient of the groups' matrices; 0: as the others
	GradientRows, GradientRead float64
	Scan                       float64       // share of the rate of Stream that scans reach; 0: all
	GroupedStart               units.Seconds // of a grouped product; 0: as every kernel

	// share of the fp32 peak of batched products whose widths are no multiple of 8; 0: as others
	Unaligned float64

	Start units.Seconds // of every kernel
}

// Network are the constants of a machine's links. Shares are fractions of the
// link's bandwidth as the cluster file gives it.
type Network struct {
	From      string
	AllReduce float64 // inside the scale-up domain, large messages
	Gather    float64 // all-gather and reduce-scatter, inside
	AllToAll  float64 // inside
	Dispatch  float64 // inside, of kernels that send a token to a rank once; 0: as AllToAll
	Send      float64
	Fixed     units.Seconds // of every collective call
	HalfSize  units.Bytes   // message size that reaches half of the bandwidth

	// A node of two halves joined by a bridge (two CPU sockets): what groups
	// inside one half reach, and what all groups that cross share. 0: no bridge.
	HalfRing     float64
	HalfAllToAll float64
	Bridge       float64

	InterRing     float64 // rings across domains
	InterAllToAll float64
	InterFixed    units.Seconds
	// rate of groups with one rank in each domain over a whole node's share of the measured curve; 0: 1
	Rails    float64
	InterHop units.Seconds // of one step of a ring across domains; 0: the link's latency

	// Curve is the measured bus bandwidth over 1, 2, 4, ... 64 nodes in bytes
	// per second; 0 where nobody measured. Ring is that of all-gather and
	// reduce-scatter.
	Curve, Ring Curve
}

// CurvePoints is the number of node counts of a Curve: 1, 2, 4, ... 64.
const CurvePoints = 7

// Curve is a bandwidth by number of nodes, in powers of two.
type Curve [CurvePoints]units.BytesPerSecond

// Software is the time behaviour of one software stack on one machine.
type Software struct {
	Stack  recipe.Stack
	From   string
	Note   string // a sentence for the assumptions
	Fitted bool   // Factor was fitted to runs

	Missing string // which needed figure no file gives; empty: none

	Defaults recipe.Software // what runs where a setup gives nothing

	Factor float64 // multiplies the step: host, stragglers, everything unmodelled

	Passes    float64 // memory passes of element-wise operations, against fused ones
	Attention float64 // time of its fused attention over that of the best kernel
	// time of the routed experts' products over that of the best kernels, casts and uneven groups included;
	// 0: 1
	Experts   float64
	FP8       float64       // time of its fp8 products over that of the best kernels, casts included
	Optimizer float64       // bytes of memory traffic per updated parameter
	HostLayer units.Seconds // what the host needs to issue one layer's forward and backward
	HostStep  units.Seconds // once per step
	// HostUpdate is what the processors of a node need to update one parameter with Adam;
	// the GPUs of the node share them.
	HostUpdate units.Seconds
	// MoELayer is added to the forward and backward of every layer with routed
	// experts: the host waits there for the number of tokens of each expert, so that
	// what it issues next overlaps with nothing.
	MoELayer units.Seconds
	// Expert is added to a grouped product for every expert of the rank: the start of
	// its product and of the kernels that prepare its rows.
	Expert units.Seconds
	// HostMoE8 is what the host needs to issue the forward and backward of a layer with
	// experts in fp8, whose rows are cast in many small kernels; 0: never waited for.
	HostMoE8 units.Seconds
	// Biased is how many times the activation's memory traffic experts with biases have
	// next to it: biases are added expert by expert in unfused operations.
	Biased float64
	// What the host needs to issue one layer's forward and backward with TP:
	// a part per layer and a part per rank of the group. Far is for jobs of
	// several scale-up domains, where these differ; Cross for groups that leave
	// theirs.
	HostTP, HostTPRank, HostTPRankCross          units.Seconds
	HostTPFar, HostTPRankFar, HostTPRankCrossFar units.Seconds

	TPForward  float64 // share of forward TP traffic that is exposed
	TPBackward float64 // share of backward TP traffic that is exposed
	// The same where TP traffic is cut into chunks that overlap with those of products
	// (user buffers, async TP), and where it is not. 0 of a backward: it overlaps with the
	// weight gradient.
	TPChunkedForward, TPChunkedBackward float64
	TPPlainForward, TPPlainBackward     float64
	CP                                  float64 // the same of CP traffic beyond what attention hides
	EP                                  float64 // share of expert traffic that is exposed
	// EPOverlap is the share that is felt where the expert traffic of one micro-batch runs
	// next to the work of another: pipelines with virtual stages or without a pipeline, and
	// no full recomputation. 0 on a Machine: it does not overlap.
	EPOverlap float64
	// on a Machine: share of copies of activations to the host that compute can never hide
	HostCopies   float64
	FusedExperts bool // on a Machine: activation and casts of experts are part of their products
	// rate of the forward of attention in fp8 over that in 16 bits; on a Machine 1 where it does not run
	FP8Attention float64
	// Pair is the share of expert traffic that an overlapped pair of a forward and a
	// backward cannot hide: its kernels hold that share of the multiprocessors.
	Pair      float64
	Once      bool    // a token travels to another rank or domain once, however many of its experts are there
	DP        float64 // share of gradient traffic that compute can never hide
	Gather    float64 // share of ZeRO-1's weight gather that compute can never hide
	Shard     float64 // share of ZeRO-3's traffic that compute can never hide
	ShardSlow float64 // time of ZeRO-3's collectives over that of large ones: many small tensors
	Keeps     bool    // ZeRO-3 keeps gathered weights and unreduced gradients over a step with PP
	Hop       units.Seconds
	Blocking  bool        // a stage waits while its message travels
	Scatter   bool        // messages between stages travel as TP shards also without SP
	Bucket    units.Bytes // gradients per collective call; 0: all at once
	Reduce    float64     // bytes per gradient on the wire; 0: that of the buffer
}

// ReduceBytes returns the width in which gradients are summed: the stack's own, else
// that of the buffer that accumulates them.
func (s *Software) ReduceBytes(g recipe.GradDtype, p recipe.Precision) float64 {
	if s.Reduce > 0 {
		return s.Reduce
	}
	return g.ReduceBytes(p)
}

// For finds the behaviour of a stack: that of its release, or of the stack.
func (c *Calibration) For(stack recipe.Stack) *Software {
	for _, want := range [...]recipe.Stack{stack, stack.Resolve()} {
		for i := range c.Software {
			if c.Software[i].Stack == want {
				return &c.Software[i]
			}
		}
	}
	return &c.Software[0]
}

// Run returns what the stack is told to run: what is given, else its own.
func (s *Software) Run(given *recipe.Software) recipe.Software { return given.Or(s.Defaults) }

// expose leaves communication exposed that is not taken to overlap.
func (s *Software) expose(o recipe.Overlap) {
	if o == recipe.OverlapNone {
		s.TPForward, s.TPBackward, s.CP, s.DP, s.Gather, s.HostCopies = 1, 1, 1, 1, 1, 1
	}
	if o == recipe.OverlapNone || o == recipe.OverlapPessimistic {
		s.EP, s.EPOverlap, s.Pair, s.Shard = 1, 0, 1, 1
	}
}

// FusesExperts reports whether a GPU has the kernel that runs all experts of a rank with
// their activation and casts: Blackwell, with block-scaled operands of 8 or 4 bits
// (NVIDIA/TransformerEngine, ops/fused: compute capability 10, MXFP8 and NVFP4).
func FusesExperts(g *GPU, p recipe.Precision) bool {
	return g.Architecture == "Blackwell" && (p == recipe.FP8 || p == recipe.FP8Megatron || p == recipe.NVFP4)
}

// fuseExperts makes the constants those of the fused kernel: one start for all experts, token
// counts that stay on the GPU, biases and activation in its epilogue. The rate of the
// products is left as it is.
func (s *Software) fuseExperts() {
	s.FusedExperts, s.Expert, s.Biased, s.HostMoE8, s.MoELayer = true, 0, 0, 0, 0
}

// apply sets the constants of the features that the run turns on or off.
func (s *Software) apply(run *recipe.Software) {
	s.Once = run.Dispatcher == recipe.DeepEP || run.Dispatcher == recipe.HybridEP
	if run.EPOverlap != recipe.On {
		s.EPOverlap = 0
	}
	switch run.TPOverlap {
	case recipe.TPPlain:
		s.TPForward, s.TPBackward = s.TPPlainForward, s.TPPlainBackward
	case recipe.UserBuffers, recipe.AsyncTP:
		s.TPForward, s.TPBackward = s.TPChunkedForward, s.TPChunkedBackward
	default:
	}
	if run.CUDAGraphs == recipe.GraphsIteration { // the host issues one graph
		s.HostLayer, s.HostMoE8, s.MoELayer = 0, 0, 0
	}
	if run.DPOverlap == recipe.Off {
		s.DP, s.Gather = 1, 1
	}
	if run.Attending != recipe.Attention8 || s.FP8Attention <= 0 {
		s.FP8Attention = 1
	}
}
