package recipe

import "slices"

// Software is what a software stack is told to run beyond its defaults. A field that is
// empty or Auto takes the value of the stack's release (presets/calibrations).
type Software struct {
	Dispatcher Dispatcher         `json:"dispatcher"`
	EPOverlap  Setting            `json:"ep_overlap"`
	TPOverlap  TPOverlap          `json:"tp_overlap"`
	CUDAGraphs CUDAGraphs         `json:"cuda_graph"`
	Attending  AttentionPrecision `json:"attention_precision"`
	DPOverlap  Setting            `json:"dp_overlap"`
	Overlap    Overlap            `json:"comm_overlap"`
	GroupedMLP GroupedMLP         `json:"grouped_mlp"`
}

// Auto is the word of every field of Software for the value of the stack's release.
const Auto = "auto"

// CPComm is how the ranks of context parallelism exchange what attention needs of the sequence.
type CPComm string

// Kinds of exchange, as Megatron-LM's --cp-comm-type has them.
const (
	CPCommAuto CPComm = Auto
	Ring       CPComm = "p2p" // keys and values travel around a ring
	Ulysses    CPComm = "a2a" // all-to-alls give each rank the whole sequence of a share of the heads
)

// CPComms lists every one, the default first.
func CPComms() []CPComm { return []CPComm{CPCommAuto, Ring, Ulysses} }

// CPComms lists those that a stack has, the one that it takes first. In Megatron-Core they are Transformer
// Engine's (NVIDIA/Megatron-LM@91a8a4c8 of 2024-10-21, transformer_config.py: cp_comm_type).
func (s Stack) CPComms() []CPComm {
	of := s.Resolve()
	switch {
	case of.Traits().Ledger:
		return []CPComm{Ulysses}
	case of == Textbook, of == MegatronCore && (s.Release() == "" || s.Release() >= release2410):
		return []CPComm{Ring, Ulysses}
	}
	return []CPComm{Ring}
}

// Setting is on, off or what the stack's release does.
type Setting string

// Settings.
const (
	SettingAuto Setting = Auto
	Off         Setting = "off"
	On          Setting = "on"
)

// Settings lists every setting, the default first.
func Settings() []Setting { return []Setting{SettingAuto, Off, On} }

// Dispatcher sends routed tokens to their experts and back.
type Dispatcher string

// Dispatchers. DeepEP and HybridEP send a token once to each rank and domain that holds
// one of its experts (arXiv 2412.19437 section 3.2.2); the plain all-to-all sends every
// copy.
const (
	DispatcherAuto Dispatcher = Auto
	AllToAll       Dispatcher = "alltoall"
	DeepEP         Dispatcher = "deepep"
	HybridEP       Dispatcher = "hybridep"
)

// Dispatchers lists every dispatcher, the default first.
func Dispatchers() []Dispatcher { return []Dispatcher{DispatcherAuto, AllToAll, DeepEP, HybridEP} }

// TPOverlap is how TP collectives overlap with the products next to them.
type TPOverlap string

// TP overlaps.
const (
	TPOverlapAuto TPOverlap = Auto
	TPPlain       TPOverlap = "none"
	UserBuffers   TPOverlap = "user-buffers" // Transformer Engine: products and collectives cut into chunks
	AsyncTP       TPOverlap = "async"        // torchtitan: the same by PyTorch's symmetric memory
)

// TPOverlaps lists every TP overlap, the default first.
func TPOverlaps() []TPOverlap {
	return []TPOverlap{TPOverlapAuto, TPPlain, UserBuffers, AsyncTP}
}

// AttentionPrecision is the number format of fused attention next to products of 8 or 4 bits.
type AttentionPrecision string

// Attention precisions.
const (
	AttentionAuto AttentionPrecision = Auto
	Attention16   AttentionPrecision = "bf16"
	Attention8    AttentionPrecision = "fp8"
)

// AttentionPrecisions lists every one, the default first.
func AttentionPrecisions() []AttentionPrecision {
	return []AttentionPrecision{AttentionAuto, Attention16, Attention8}
}

// CUDAGraphs is what the host replays from a graph in place of launching kernel by kernel.
type CUDAGraphs string

// CUDA graphs.
const (
	GraphsAuto      CUDAGraphs = Auto
	GraphsNone      CUDAGraphs = "none"
	GraphsLayer     CUDAGraphs = "layer"     // of layers or modules; experts are launched kernel by kernel
	GraphsIteration CUDAGraphs = "iteration" // one graph for the forward and backward of a step
)

// CUDAGraphKinds lists every kind of CUDA graphs, the default first.
func CUDAGraphKinds() []CUDAGraphs {
	return []CUDAGraphs{GraphsAuto, GraphsNone, GraphsLayer, GraphsIteration}
}

// Overlap is how much of the overlap of communication with computing is taken to work.
type Overlap string

// Overlaps. Pessimistic exposes what few published runs show to overlap: the all-to-all of
// experts, and the ZeRO traffic of every micro-batch.
const (
	OverlapAuto        Overlap = Auto
	OverlapAssumed     Overlap = "assumed" // as the stack's calibration has it
	OverlapPessimistic Overlap = "pessimistic"
	OverlapNone        Overlap = "none" // all communication inside a step is exposed
)

// Overlaps lists every overlap, the default first.
func Overlaps() []Overlap {
	return []Overlap{OverlapAuto, OverlapAssumed, OverlapPessimistic, OverlapNone}
}

// GroupedMLP is how the MLPs of a rank's experts run.
type GroupedMLP string

// Grouped MLPs.
const (
	GroupedAuto GroupedMLP = Auto
	// a product per expert on several streams, casts and activation in kernels of their own.
	GroupedLoop GroupedMLP = "loop"
	// one kernel for all experts, activation and casts in its epilogue (NVTE_CUTEDSL_FUSED_GROUPED_MLP).
	GroupedFused GroupedMLP = "fused"
)

// GroupedMLPs lists every one, the default first.
func GroupedMLPs() []GroupedMLP { return []GroupedMLP{GroupedAuto, GroupedLoop, GroupedFused} }

// Or returns the software with what is not given taken from other.
func (s Software) Or(other Software) Software {
	s.Dispatcher = given(s.Dispatcher, other.Dispatcher)
	s.EPOverlap = given(s.EPOverlap, other.EPOverlap)
	s.TPOverlap = given(s.TPOverlap, other.TPOverlap)
	s.CUDAGraphs = given(s.CUDAGraphs, other.CUDAGraphs)
	s.Attending = given(s.Attending, other.Attending)
	s.DPOverlap = given(s.DPOverlap, other.DPOverlap)
	s.Overlap = given(s.Overlap, other.Overlap)
	s.GroupedMLP = given(s.GroupedMLP, other.GroupedMLP)
	return s
}

func given[T ~string](value, other T) T {
	if value == "" || value == Auto {
		return other
	}
	return value
}

// SoftwareField is one field of Software by the name of its knob.
type SoftwareField struct {
	Knob  string
	Words []string
	Of    func(*Software) *string
}

// SoftwareFields lists the fields of Software.
func SoftwareFields() [8]SoftwareField {
	return [...]SoftwareField{
		{
			knobDispatcher, wordsOf(Dispatchers()),
			func(s *Software) *string { return (*string)(&s.Dispatcher) },
		},
		{knobEPOverlap, wordsOf(Settings()), func(s *Software) *string { return (*string)(&s.EPOverlap) }},
		{knobTPOverlap, wordsOf(TPOverlaps()), func(s *Software) *string { return (*string)(&s.TPOverlap) }},
		{
			knobCUDAGraphs, wordsOf(CUDAGraphKinds()),
			func(s *Software) *string { return (*string)(&s.CUDAGraphs) },
		},
		{
			knobAttending, wordsOf(AttentionPrecisions()),
			func(s *Software) *string { return (*string)(&s.Attending) },
		},
		{knobDPOverlap, wordsOf(Settings()), func(s *Software) *string { return (*string)(&s.DPOverlap) }},
		{KnobOverlap, wordsOf(Overlaps()), func(s *Software) *string { return (*string)(&s.Overlap) }},
		{
			knobGroupedMLP, wordsOf(GroupedMLPs()),
			func(s *Software) *string { return (*string)(&s.GroupedMLP) },
		},
	}
}

func wordsOf[T ~string](words []T) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return list
}

// Has reports whether a stack has a word of a field of Software.
func (s Stack) Has(knob, word string) bool {
	return word == "" || word == Auto || slices.Contains(s.Words(knob), word)
}

// Words lists the words of a field of Software that a stack has in its release, Auto first.
func (s Stack) Words(knob string) []string {
	if knob == KnobOverlap {
		return wordsOf(Overlaps())
	}
	words := []string{Auto}
	if of := s.Traits().Software; of != nil {
		words = append(words, of(knob, s.Release())...)
	}
	return words
}

// megatronSoftware is what Megatron-Core has in a release (NVIDIA/Megatron-LM,
// CHANGELOG.md: graphs of layers in 0.9, DeepEP in 0.12; what the recipes of the tables of
// Megatron-Bridge use: overlapped expert traffic and graphs of an iteration in 25.09,
// HybridEP after it; the fused grouped MLP in Megatron-Core 26.04, NVIDIA's blog on fusion
// kernels for experts of June 2026).
func megatronSoftware(knob, release string) []string {
	since := func(first string) bool { return release == "" || release >= first }
	var words []string
	add := func(first string, of ...string) {
		if since(first) {
			words = append(words, of...)
		}
	}
	switch knob {
	case knobDispatcher:
		add(release2306, string(AllToAll))
		add(release2504, string(DeepEP))
		add(release2511, string(HybridEP))
	case knobEPOverlap:
		add(release2306, string(Off))
		add(release2509, string(On))
	case knobTPOverlap:
		add(release2306, string(TPPlain), string(UserBuffers))
	case knobCUDAGraphs:
		add(release2306, string(GraphsNone))
		add(release2410, string(GraphsLayer))
		add(release2509, string(GraphsIteration))
	case knobDPOverlap:
		add(release2306, string(Off), string(On))
	case knobAttending:
		add(release2306, string(Attention16))
		add(release2410, string(Attention8))
	case knobGroupedMLP:
		add(release2306, string(GroupedLoop))
		add(release2604, string(GroupedFused))
	}
	return words
}

// torchTitanSoftware is what torchtitan has.
func torchTitanSoftware(knob, _ string) []string {
	switch knob {
	case knobDispatcher:
		return []string{string(AllToAll), string(DeepEP)}
	case knobTPOverlap:
		return []string{string(TPPlain), string(AsyncTP)}
	}
	return nil
}

// Runs reports whether a stack has the kernels of a precision; false with the words for what
// has them. NVFP4 came to Megatron-Core with what ran in MLPerf Training 5.1
// (presets/published, mlperf-5.1-llama31_8b), FP8 products to it with Hopper: the stacks of
// 2021 and 2022 ran on A100 (arXiv 2104.04473, 2205.05198). Formulas run everything.
func (s Stack) Runs(p Precision) (ok bool, has string) {
	of := s.Resolve()
	switch {
	case of == Textbook:
	case p == NVFP4 && (of != MegatronCore || s.Release() != "" && s.Release() < release2509):
		return false, string(MegatronCore) + " since " + release2509
	case p.IsFP8() && (of == Megatron2021 || of == Megatron2022):
		return false, string(MegatronCore) + " since " + release2306
	}
	return true, ""
}

// Names of the knobs of Software.
const (
	knobDispatcher = "dispatcher"
	knobEPOverlap  = "ep-overlap"
	knobTPOverlap  = "tp-overlap"
	knobCUDAGraphs = "cuda-graph"
	knobAttending  = "attention-precision"
	knobDPOverlap  = "dp-overlap"
	knobGroupedMLP = "grouped-mlp"
)

// KnobOverlap is the knob of how much traffic hides behind compute.
const KnobOverlap = "comm-overlap"
