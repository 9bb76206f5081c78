package engine

import (
	"slices"

	"meshscope/engine/memory"
	"meshscope/engine/schedule"
	"meshscope/engine/step"
	"meshscope/engine/units"
)

// Report is everything the engine answers about one Setup. In an illegal setup
// Legal is false, Problems says why, and the figures that cannot be had are
// nil: absent, never zero.
type Report struct {
	Legal    bool      `json:"legal"`
	Problems []Problem `json:"problems"`

	Memory        *Memory         `json:"memory,omitempty"`
	Pipeline      *Pipeline       `json:"pipeline,omitempty"`
	Communication []Communication `json:"communication,omitzero"` // empty, not nil, where nothing is sent
	Time          *Time           `json:"time,omitempty"`
	Throughput    *Throughput     `json:"throughput,omitempty"`
	Run           *Run            `json:"run,omitempty"` // where a token budget was said
	Model         *ModelFigures   `json:"model,omitempty"`

	Assumptions []string `json:"assumptions"`
	NotModelled []string `json:"not_modelled"`

	// Timeline is the simulated pipeline of one step, for drawing; its times
	// are the stage times of this setup. Those of single operations are worked
	// out by its method OpTimes, which whoever draws it calls.
	Timeline *schedule.Timeline `json:"-"`
}

// Memory is the peak of each pipeline rank and whether the worst one fits.
type Memory struct {
	Capacity units.Bytes  `json:"capacity_bytes"` // what the GPU is sold with
	Usable   units.Bytes  `json:"usable_bytes"`   // what the framework can allocate
	Peak     units.Bytes  `json:"peak_bytes"`     // largest total
	PeakRank int          `json:"peak_rank"`
	Fits     bool         `json:"fits"`             // the peak in the usable memory, and Host in HostSize
	Fit      Fit          `json:"state"`            // the same with the error band: fits, tight or over
	Reason   string       `json:"reason,omitempty"` // why it does not fit, in one sentence
	Ranks    []RankMemory `json:"ranks"`

	// Host is what an offload keeps in the host memory of a node: of its GPUs, each with what the rank that
	// keeps most there does.
	Host units.Bytes `json:"host_bytes_per_node,omitempty"`
	// HostSize is the host memory of a node; 0: nothing is offloaded, or it is not stated.
	HostSize units.Bytes `json:"host_memory_bytes_per_node,omitempty"`

	// Stages is what each model stage adds while micro-batches pass, for drawing.
	Stages []memory.StageMemory `json:"-"`

	Evidence // of allocated memory
}

// RankMemory is the memory of one pipeline rank at its peak.
type RankMemory = memory.Rank

// Pipeline is what the schedule costs. Fractions are plain numbers, not percent.
type Pipeline struct {
	Schedule     schedule.Kind `json:"schedule"`
	Ranks        int           `json:"ranks"`
	Stages       int           `json:"stages"`
	MicroBatches int           `json:"microbatches"`
	// simulated: idle over busy time of the busiest rank
	BubbleOverIdeal float64 `json:"bubble_over_ideal"`
	// simulated: idle share of all ranks' time
	BubbleOverTotal float64 `json:"bubble_over_total"`
	// (p-1)/m and its kin, over ideal; absent where none is exact
	BubbleClosedForm *float64 `json:"bubble_closed_form,omitempty"`
	// simulated, of schedules that split the backward: the wait inside the longest rank's own first start and
	// last end, over busy time
	BubbleSpan *float64      `json:"bubble_span_over_ideal,omitempty"`
	Makespan   units.Seconds `json:"makespan_seconds"`
	// in words, a formula usually quoted for the bubble that does not hold here; the assumptions have it too
	Disproved string `json:"-"`
}

// MemoryOver appends how a rank's activations grow and shrink over the step, for
// drawing: see schedule.Timeline.Memory. Of an illegal setup there is nothing.
func (r *Report) MemoryOver(into []schedule.Sample, rank int) []schedule.Sample {
	if r.Timeline == nil || r.Memory == nil || rank < 0 || rank >= len(r.Timeline.Ranks) ||
		len(r.Memory.Stages) < r.Timeline.Order.Spec.Stages() {
		return into
	}
	o := r.Timeline.Order
	chunks := make([]schedule.ChunkBytes, o.Chunks())
	for c := range chunks {
		chunks[c] = r.Memory.Stages[o.StageOf(rank, c)].Chunk()
	}
	return r.Timeline.OpTimes().Memory(into, rank, chunks)
}

// Communication is the traffic of one dimension over one step, per GPU of one
// pipeline rank: traffic inside layers is that of the rank with the most work, as
// the parts of the step are; gradients and weights are those of the rank that is
// done last with them, for which the step waits; sends are those of a rank in
// the middle, which has most. The exposed times of all rows but pp, whose waiting is in
// the bubble, and host and drives, which are the step's offload, add up to that of the step.
type Communication struct {
	Dimension string `json:"dimension"` // tp, cp, ep, etp, host, drives, dp, expert-dp, mirror, pp-wait, pp
	Rank      int    `json:"pipeline_rank"`
	Operation string `json:"operation"`
	GroupSize int    `json:"group_size"`
	// node, domain, cluster: the widest link that the group crosses
	Spans   string        `json:"spans"`
	Bytes   units.Bytes   `json:"bytes_per_gpu"` // sent
	Seconds units.Seconds `json:"seconds"`
	Exposed units.Seconds `json:"exposed_seconds"`
}

// Copies reports whether it is copies to and from host memory or drives.
func (c *Communication) Copies() bool { return step.Copies(c.Dimension) }

// Time is one optimizer step on the pipeline rank with the most work. The six
// parts add up to Step; that rank's waiting is the bubble.
type Time struct {
	Step      units.Seconds `json:"step_seconds"`
	Compute   units.Seconds `json:"compute_seconds"`
	Recompute units.Seconds `json:"recompute_seconds"`
	Bubble    units.Seconds `json:"bubble_seconds"`
	Share     float64       `json:"bubble_share"` // of the step: OfBubble
	Exposed   units.Seconds `json:"exposed_communication_seconds"`
	Optimizer units.Seconds `json:"optimizer_seconds"`
	// Offload is what copies to and from host memory and drives add, in micro-batches and for the update.
	Offload  units.Seconds `json:"offload_seconds,omitempty"`
	Evidence               // of Step
}

// OfBubble returns the idle time of the slowest rank as a share of its step: what is headed bubble.
func (t *Time) OfBubble() float64 {
	if t.Step <= 0 {
		return 0
	}
	return float64(t.Bubble / t.Step)
}

// Throughput is the step time in other words. MFU counts model FLOPs only, HFU
// counts recomputation too, and no scores that local windows skip; both are fractions
// of the dense peak.
type Throughput struct {
	TokensPerSecond       float64 `json:"tokens_per_second"`
	TokensPerSecondPerGPU float64 `json:"tokens_per_second_per_gpu"`
	ModelTFLOPSPerGPU     float64 `json:"model_tflops_per_gpu"`
	MFU                   float64 `json:"mfu"`
	HFU                   float64 `json:"hfu"`
	Evidence                      // of the step time, and so of all of these
}

// ModelFigures are counts of the model alone. Parameters leaves the
// multi-token-prediction modules out; they are in MTPParameters.
type ModelFigures struct {
	Parameters       float64 `json:"parameters"`
	ActiveParameters float64 `json:"active_parameters"`
	MTPParameters    float64 `json:"mtp_parameters"`
	TrainingFLOPs    float64 `json:"training_flops_per_token"`
	Convention       string  `json:"attention_convention"`
}

// Sent adds up what a GPU sends in a step, and the exposed part of it, over the
// dimensions that are named; without a name over all. Bytes and Exposed alone are set;
// false: nothing is sent on them.
func (r *Report) Sent(dimensions ...string) (sum Communication, ok bool) {
	for i := range r.Communication {
		c := &r.Communication[i]
		if len(dimensions) > 0 && !slices.Contains(dimensions, c.Dimension) {
			continue
		}
		sum.Bytes += c.Bytes
		sum.Exposed += c.Exposed
		ok = true
	}
	return sum, ok
}
