package memory

import (
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// PerParam are bytes per dense and per expert parameter after sharding. Copies are those of
// them that embedding and head do not have: NVFP4 quantises the products of layers alone.
type PerParam struct{ Dense, Expert, Copies float64 }

func (b PerParam) of(p Parameters) units.Bytes {
	return units.Bytes(b.Dense*p.Dense + b.Expert*p.Expert - b.Copies*p.Embedding)
}

// Sharding is the bytes per parameter of the static terms.
type Sharding struct {
	Weights, Gradients, Optimizer PerParam
	// Master is the part of Optimizer that exists before the first update: the
	// master copy of the weights. Moments come with the update.
	Master PerParam
	// Host is what a ledger counts in host memory, for an offload or a paged optimizer; without a ledger
	// that is the optimizer's state.
	Host PerParam
}

// onHost returns what is kept in host memory.
func (s *Sharding) onHost() PerParam {
	if s.ownHost() {
		return s.Host
	}
	return s.Optimizer
}

// ownHost reports whether a ledger says what is in host memory.
func (s *Sharding) ownHost() bool { return s.Host != (PerParam{}) }

// Bytes returns what a rank with these parameters keeps from step to step on the GPU:
// weights, gradients and the optimizer state that is not offloaded.
func (s *Sharding) Bytes(p Parameters, o recipe.Offload) units.Bytes {
	stored := s.Weights.of(p) + s.Gradients.of(p)
	if !o.Optimizer() {
		stored += s.Optimizer.of(p)
	}
	return stored
}

// width is bytes per parameter before sharding.
type width struct {
	bytes   float64
	formula string
}

// widths are those of the precision, the gradients and the optimizer.
type widths struct{ weights, gradients, optimizer, master, moments width }

func (in *Input) widths() widths {
	p, o := in.Precision, in.Optimizer
	return widths{
		weights: width{p.WeightBytes(), "b_weight"}, gradients: width{in.GradDtype.Bytes(p), "b_gradient"},
		optimizer: width{o.StateBytes(p), "b_master + b_moments"},
		master:    width{o.MasterBytes(p), "b_master"}, moments: width{o.MomentBytes(p), "b_moments"},
	}
}

// zero shards static bytes as the ZeRO paper does (arXiv 1910.02054 section
// 5): stage 1 the optimizer state, 2 also the gradients, 3 also the weights.
// Dense parameters are sharded over DP*CP ranks, experts over expert-DP ranks,
// of which HSDP leaves the replicas out.
func zero(in *Input) Sharding {
	w, stage := in.widths(), in.Layout.ZeRO
	return Sharding{
		Weights:   in.perParam("weights", w.weights, stage >= 3),
		Gradients: in.perParam("gradients", w.gradients, stage >= 2),
		Optimizer: in.perParam("optimizer", w.optimizer, stage >= 1),
		Master:    in.perParam("", w.master, stage >= 1),
	}
}

// whole returns what every data-parallel rank keeps in full.
func (in *Input) whole(term string, w width) PerParam { return in.perParam(term, w, false) }

// perParam returns a term's bytes per parameter, divided over the ranks that shard it.
func (in *Input) perParam(term string, w width, sharded bool) PerParam {
	p := PerParam{Dense: w.bytes, Expert: w.bytes}
	if sharded {
		p = over(in, w.bytes)
	}
	if term == "weights" && in.Precision == recipe.NVFP4 {
		p.Copies = p.Dense * recipe.NVFP4Copies / w.bytes
		if in.Record.On() {
			in.Record.Figure(record.Entry{
				ID: "memory.weights.copies-per-parameter",
				Name: "Bytes of the 4-bit copies per dense parameter, which embedding and head do not " +
					"have",
				Symbol:  "bytes of copies per dense parameter",
				Formula: "{memory.weights.per-parameter} * b_copies / b_weight", Value: p.Copies,
				Source: "embedding and head stay in 16 bits (NVIDIA/TransformerEngine, " +
					"pytorch/module/base.py: get_weight_workspace)",
			}, record.In("b_copies", recipe.NVFP4Copies))
		}
	}
	in.recordPerParam(term, p, w, w, sharded, sharded)
	return p
}

// over is bytes per parameter divided over the ranks that shard them.
func over(in *Input, bytes float64) PerParam {
	l := in.Layout
	return PerParam{Dense: bytes / float64(l.DenseShards()), Expert: bytes / float64(l.ExpertShards())}
}

// recordPerParam records bytes per parameter of a term that has a name.
func (in *Input) recordPerParam(term string, p PerParam, dense, expert width, denseOver, expertOver bool) {
	if !in.Record.On() || term == "" {
		return
	}
	for _, of := range [...]struct {
		id, what, shards string
		width            width
		sharded          bool
		n                int
		value            float64
	}{
		{"per-parameter", "dense parameter", "shards", dense, denseOver, in.Layout.DenseShards(), p.Dense},
		{
			"per-expert-parameter", "expert parameter", "expert_shards", expert, expertOver,
			in.Layout.ExpertShards(), p.Expert,
		},
	} {
		formula := of.width.formula
		if of.sharded {
			formula = "(" + formula + ") / " + of.shards
		}
		in.Record.Figure(record.Entry{
			ID: "memory." + term + "." + of.id, Name: "Bytes of " + term + " per " + of.what + " on the GPU",
			Symbol:  "bytes per " + of.what,
			Formula: formula, Value: of.value,
			Source: "ZeRO (arXiv 1910.02054) sections 3.1 and 5: weights, gradients, optimizer state of " +
				"mixed precision; the stack's own widths",
		}, record.In(of.shards, of.n))
	}
}
