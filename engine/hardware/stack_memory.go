package hardware

import (
	"strconv"

	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// StackMemory are the fitted constants of what a software stack keeps on a GPU.
// They depend on the stack, not on the machine. It is data (see
// presets/calibrations, kind memory).
type StackMemory struct {
	From    string // what the constants were fitted to
	Note    string // a sentence for the assumptions, see Words
	Missing string // which needed figure no file gives; empty: none

	// Beyond allocated tensors.
	Slack              float64     // of the allocator, share of what is allocated
	Context            units.Bytes // of the driver
	Communicators      units.Bytes // fixed; a third of it with one communicator
	NodeCommunicator   units.Bytes // of a group on a single node; 0: as across nodes
	CommunicatorsShare float64     // share of what is allocated

	Saved SavedMemory
}

// SavedMemory are the bytes that a stack saves for the backward per token and unit of width, where
// they were fitted instead of counted tensor by tensor.
type SavedMemory struct {
	Layer float64 // per token and hidden width in a layer, beyond 12h + 4h_k: copies of q, k and v
	MLP   float64 // per token and MLP width, for gate and up, the activation and their product
	Logit float64 // per token and vocabulary entry, of a loss in fp32
	// per token, hidden width and micro-batch in flight, whole on every TP rank: gathered inputs
	Gathered   float64
	NoPipeline float64 // per token and hidden width, once, with TP and without a pipeline
	Between    float64 // per token and hidden width, kept between steps with TP
	Plain      float64 // per parameter, ZeRO-0: what the backward makes of gradients next to the stored ones
	Update     float64 // per parameter, ZeRO-1: what the update adds, until the next backward
}

// Words say what the memory beyond tensors is taken for.
func (m *StackMemory) Words() string {
	write := func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	share, context := write(100*(m.Slack+m.CommunicatorsShare)), write(m.Context.GiB())
	if m.Communicators == 0 {
		return "overhead is " + share + " % of allocated memory and " + context +
			" GiB for the driver context and communicators"
	}
	words := "overhead is " + share + " % of allocated memory, " + context +
		" GiB for the driver context and " + write(m.Communicators.GiB()) +
		" GiB for communicators, a third of it where replicas alone or CP alone communicate"
	if m.NodeCommunicator > 0 {
		words += ", " + write(m.NodeCommunicator.GiB()) + " GiB a group on a single node without EP"
	}
	return words
}

// StackMemories are the memory constants of software stacks. They are never
// changed once a Cluster points to them, so a Setup stays a plain value.
type StackMemories map[recipe.Stack]StackMemory

// MemoryOf returns the memory constants of a stack on this cluster. One that came
// with none has 4 % of slack and 1 GiB in addition, round numbers near what is usual,
// and lacks what a stack needs that was fitted as a whole.
func (c *Cluster) MemoryOf(stack recipe.Stack) StackMemory {
	stack = stack.Resolve()
	traits := stack.Traits()
	if traits.Formulas {
		return StackMemory{From: "formulas, which count tensors only"}
	}
	if c.Memory != nil {
		if got, ok := (*c.Memory)[stack]; ok {
			return got
		}
	}
	m := StackMemory{
		From: "round numbers", Slack: 0.04, Context: units.GiB,
		Note: "overhead is assumed to be 4 % of allocated memory and 1 GiB",
	}
	if traits.FittedMemory {
		m.Missing = "no calibration gives what " + string(stack) + " keeps"
	}
	return m
}
