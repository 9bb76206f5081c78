package memory

import (
	"strconv"
	"strings"

	"meshscope/engine/record"
	"meshscope/engine/units"
)

// symbols says what the formulas of memory call its inputs.
func (in *Input) symbols() {
	rec := in.Record
	if !rec.On() {
		return
	}
	m, w, b := in.Model, in.widths(), in.elements()
	rec.Given(
		record.In("e", in.Precision.Bytes()/2), record.In("b_in", b.input.V), record.In("b_out", b.output.V),
		record.In("b_dy", b.gradient.V), record.In("b_read", b.read.V),
		record.In("b_weight", w.weights.bytes), record.In("b_gradient", w.gradients.bytes),
		record.In("b_master", w.master.bytes), record.In("b_moments", w.moments.bytes),
		record.In("b_fp32", 4), record.In("b_reduced", 2), record.In("b_copy", 2),
		record.In("bytes_of_a_gathered_weight", in.Precision.GatherBytes()),
		record.In("P_extra", m.Extra()), record.In("position_table", m.BeforeLayers()),
		record.In("final_norm", m.FinalNorm()),
	)
}

// live records what a stage adds.
func (n note) stageMemory(mem *StageMemory) {
	if !n.rec.On() {
		return
	}
	for _, t := range [...]struct {
		id, name, source, omits string
		value                   units.Bytes
	}{
		{
			"activations", "Activations that a stage keeps of one micro-batch",
			"layers times bytes per token " +
				"(Korthikanti et al., arXiv 2205.05198, section 4, and the stack's own tensors)", "",
			mem.Activations,
		},
		{"logits", "Logits of the stage", "bytes per logit x tokens x vocabulary / TP", "", mem.Logits},
		{
			"weight-inputs", "Activations of the stage kept until the weight gradient", "input and output " +
				"gradient of every product (zero bubble, arXiv 2401.10241, and its code's " +
				"weight_grad_store.py)",
			"", mem.WeightInputs,
		},
		{
			"forward-temporaries", "Temporaries of the forward",
			"tensors that the head makes; the stack's own",
			"workspaces of kernels", mem.Forward,
		},
		{
			"backward-temporaries", "Temporaries of the backward, with one layer's recomputed activations",
			"gradients of the widest tensors; recomputed layers one at a time", "workspaces of kernels",
			mem.Backward,
		},
		{
			"offloaded", "What the stage keeps of one micro-batch in host memory",
			"what offloaded layers keep, in host memory from their forward to their backward " +
				"(NVIDIA/TransformerEngine@d0067d0d, pytorch/cpu_offload.py: OffloadableLayerState)",
			"tensors of fewer than 2^18 elements, which stay on the GPU", mem.Offloaded,
		},
	} {
		if t.id == "offloaded" && t.value == 0 {
			continue
		}
		n.figure(record.Entry{
			ID: t.id, Name: t.name, Symbol: t.id + " of " + n.rec.What(), Unit: record.Memory,
			Formula: n.sum(t.id), Value: float64(t.value), Source: t.source, LeavesOut: t.omits,
		})
	}
}

// states records what a rank keeps from step to step.
func (n note) states(p *Parameters, out *Rank, shard *Sharding) {
	if n.rec != nil { // short enough to be inlined where nobody asks
		n.allStates(p, out, shard)
	}
}

func (n note) allStates(p *Parameters, out *Rank, shard *Sharding) {
	less := ""
	if shard.Weights.Copies > 0 {
		less = " - {memory.weights.copies-per-parameter} * " + n.rec.Ref("embedding-parameters")
	}
	n.static(p, "weights", "weights", "Memory of weights", less, out.Weights)
	n.static(p, "gradients", "gradients", "Memory of gradients", "", out.Gradients)
	n.static(p, "optimizer", "optimizer", "Memory of the optimizer's state", "", out.Optimizer)
	term := "optimizer"
	if shard.ownHost() {
		term = "host"
	}
	if out.Offloaded > 0 {
		n.term("offloaded", perParameter(term, p))
	}
}

// offloaded records what a rank keeps in host memory.
func (n note) offloaded(out *Rank) {
	if n.rec.On() {
		n.bytes("offloaded", "What is kept in host memory", n.sum("offloaded"), out.Offloaded,
			"states as ZeRO (arXiv 1910.02054) section 3.1 has them, of a paged optimizer only the moments; "+
				"of offloaded layers what the most "+
				"micro-batches keep that are between forward and backward at once", "what pinning rounds up")
	}
}

// perParameter returns the formula of a term that is kept from step to step.
func perParameter(term string, p *Parameters) string {
	formula := "{memory." + term + ".per-parameter} * P_dense"
	if p.Expert > 0 {
		formula += " + {memory." + term + ".per-expert-parameter} * P_expert"
	}
	return formula
}

// static records weights, gradients or the optimizer's state of a rank, unless it
// is kept elsewhere.
func (n note) static(p *Parameters, id, term, name, less string, value units.Bytes) {
	formula := "0"
	if value > 0 {
		formula = perParameter(term, p) + less
	}
	n.bytes(id, name, formula, value,
		"ZeRO (arXiv 1910.02054) section 3.1: bytes per parameter times parameters", "")
}

// inFlight records the micro-batches in flight.
func (n note) inFlight(in *Input, value float64, chunks int) {
	if !n.rec.On() {
		return
	}
	formula := "most_chunk_activations_alive"
	if in.Layout.VPP > 1 {
		formula += " / v"
	}
	n.figure(record.Entry{
		ID: "in-flight", Name: "Micro-batches in flight at the peak", Symbol: "in flight", Formula: formula,
		Value:  value,
		Source: "counted over the schedule's order " + string(in.Order.Spec.Kind), Simulated: true,
	}, record.In("most_chunk_activations_alive", chunks))
}

// alive records the terms that come and go with the micro-batches. Where the
// optimizer's update needs more than the passes, it is the peak.
func (n note) alive(out *Rank, persistent units.Bytes, update bool) {
	if !n.rec.On() {
		return
	}
	activations, logits, temporaries := n.sum("activations"), n.sum("logits"), n.sum("buffers")
	if update {
		activations, logits, temporaries = "0", "0", n.sum("update")
	}
	buffers := n.rec.Ref("buffers.persistent")
	if temporaries != "0" {
		buffers = temporaries + " + " + buffers
	}
	n.bytes("activations", "Activations kept at the peak", activations, out.Activations,
		"micro-batches in flight (schedule) times what a stage keeps of one", "")
	n.bytes("weight-inputs", "Activations kept only for deferred weight gradients", n.sum("weight-inputs"),
		out.WeightInputs, "zero bubble (arXiv 2401.10241)", "")
	n.bytes("logits", "Logits of the head and the loss, while live", logits, out.Logits,
		"counted tensor by tensor for the stack", "")
	n.bytes("buffers.persistent", "Persistent buffers", n.sum("persistent"), persistent,
		"what the stack keeps: gathered weights, gradient buckets, dummy gradients of distinct shapes",
		"what libraries allocate outside the framework")
	n.bytes("buffers", "Buffers and temporaries of the stack", buffers, out.Buffers,
		"counted tensor by tensor for the stack", "what libraries allocate outside the framework")
}

// total records the sums of a rank and what lies beyond tensors.
func (n note) total(in *Input, out *Rank) {
	if !n.rec.On() {
		return
	}
	f, from := &in.Fitted, record.From(in.Fitted.From)
	kinds, each := in.communicators()
	communicators := "kinds_of_groups * fixed_for_communicators"
	if f.CommunicatorsShare > 0 {
		communicators += " + share_for_communicators * allocated"
	}
	n.rec.Given(
		record.InUnit(record.Share, "share_of_slack", f.Slack), record.In("fixed_for_the_driver", f.Context),
		record.InUnit(record.Share, "kinds_of_groups", kinds), record.In("fixed_for_communicators", each),
		record.InUnit(record.Share, "share_for_communicators", f.CommunicatorsShare),
	)
	const sum = "the sum of its parts"
	o := &out.OverheadParts
	n.bytes("allocated", "Allocated memory at the peak",
		"weights + gradients + optimizer + activations + logits + buffers", out.Allocated, sum, "")
	slack := "share_of_slack * allocated"
	if out.Reserved > 0 {
		n.given("reserved_beyond_it_by_the_allocator", float64(in.fragments))
		slack, from = "reserved_beyond_it_by_the_allocator", "the step's allocations replayed through "+
			"PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp)"
	}
	n.bytes("overhead.allocator-slack", "Slack of the allocator", slack, o.Slack, from, "")
	n.bytes("overhead.driver-context", "Driver context", "fixed_for_the_driver", o.Context, from, "")
	n.bytes("overhead.communicators", "Communicators and libraries", communicators, o.Communicators, from, "")
	parts := []string{
		n.rec.Ref("overhead.allocator-slack"), n.rec.Ref("overhead.driver-context"),
		n.rec.Ref("overhead.communicators"),
	}
	n.bytes("overhead", "Memory beyond allocated tensors", record.Sum(parts...), out.Overhead, sum, "")
	n.figure(record.Entry{
		ID: "total", Name: "Memory", Symbol: "total of rank " + strconv.Itoa(out.Rank), Unit: record.Memory,
		Formula: "allocated + overhead", Value: float64(out.Total), Source: sum,
	})
	n.figure(record.Entry{
		ID: "layers", Name: "Transformer layers", Symbol: "layers", Formula: n.sum("layers"),
		Value:  float64(out.Layers),
		Source: "layers assigned to stages (--split)",
	})
}

// bytes records a term of a rank.
func (n note) bytes(id, name, formula string, value units.Bytes, source, omits string) {
	symbol := strings.ReplaceAll(id, "-", " ")
	if id == "buffers.persistent" {
		symbol = "persistent buffers"
	}
	n.figure(record.Entry{
		ID: id, Name: name, Symbol: symbol, Unit: record.Memory,
		Formula: formula, Value: float64(value), Source: source, LeavesOut: omits,
	})
}
