package memory

import (
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// Parameters on one GPU, by the ranks that hold the same ones: dense parameters
// are replicated over DP*CP ranks, routed experts over the expert-DP ranks.
type Parameters struct {
	Dense, Expert float64
	Embedding     float64 // embedding, position table and head; contained in Dense
	Largest       float64 // the largest layer (or embedding) on the GPU: what ZeRO-3 gathers at once
	tiedCopy      float64 // a tied head that is a copy only if the embedding is on another rank
}

func (p *Parameters) add(q Parameters) {
	p.Dense += q.Dense
	p.Expert += q.Expert
	p.Embedding += q.Embedding
	p.Largest = max(p.Largest, q.Largest)
	p.tiedCopy += q.tiedCopy
}

// share drops the tied head's copy where the rank holds the embedding too.
func (p *Parameters) share(in *Input, rank int) {
	for c := range in.Order.Chunks() {
		if p.tiedCopy > 0 && in.Order.StageOf(rank, c) == 0 {
			p.Dense -= p.tiedCopy
			p.Embedding -= p.tiedCopy
			p.tiedCopy = 0
		}
	}
}

// Divisors say by what the parts of a layer are divided on one GPU.
type Divisors struct {
	sharded, replicated       float64
	experts, expertReplicated float64
	vocab                     float64 // rows of the embedding, padded as the stack pads them
	kvCopies                  float64 // parameters of a layer's kv projections kept beyond their share
}

// part is what one GPU has of parameters that TP cuts and of others.
func (d *Divisors) part(sharded, replicated int64) float64 {
	return float64(sharded)/d.sharded + float64(replicated)/d.replicated
}

// expert is what one GPU has of a layer's routed experts.
func (d *Divisors) expert(l *model.LayerParams) float64 {
	return float64(l.ExpertsSharded)/d.experts + float64(l.ExpertsReplicated)/d.expertReplicated
}

// CountRank counts the parameters of one pipeline rank.
func CountRank(in *Input, rank int, cut Divisors) Parameters {
	c := counter{in: in, cut: cut, last: -1}
	return c.rank(rank)
}

// counter counts rank after rank. Most stages are like the one before.
type counter struct {
	in   *Input
	cut  Divisors
	last int        // the stage counted last; -1: none
	of   Parameters // of it
}

func (c *counter) rank(r int) Parameters {
	var p Parameters
	for chunk := range c.in.Order.Chunks() {
		stage := c.in.Order.StageOf(r, chunk)
		if c.last < 0 || c.in.Stages[stage] != c.in.Stages[c.last] {
			c.of = stageParameters(c.in, stage, c.cut)
		}
		c.last = stage
		p.add(c.of)
	}
	p.share(c.in, r)
	return p
}

// stageParameters counts the parameters of one stage on one GPU.
func stageParameters(in *Input, s int, d Divisors) Parameters {
	m, st := in.Model, in.Stages[s]
	var p Parameters
	addLayers := func(count int, l model.LayerParams) {
		dense := d.kvCopies + d.part(l.AttnSharded+l.MLPSharded+l.SharedExperts, l.AttnReplicated+l.Norms+l.MLPReplicated+l.Router)
		expert := d.expert(&l)
		p.Dense += float64(count) * dense
		p.Expert += float64(count) * expert
		if count > 0 {
			p.Largest = max(p.Largest, dense+expert)
		}
	}
	addLayers(st.Dense, m.Layer(false))
	addLayers(st.MoE, m.Layer(true))
	p.Dense += float64(m.Extra()) * float64(st.Layers()) / float64(max(m.Layers, 1)) / d.sharded

	table := d.vocab * float64(m.Hidden) / d.sharded
	if st.Embedding {
		p.Embedding += table + float64(m.PositionTable())/d.replicated
	}
	if st.Head {
		p.Embedding += table
		if m.Tied {
			p.tiedCopy = table
		}
		p.Dense += float64(m.FinalNorm()) / d.replicated
		if in.TrainMTP {
			addMTP(in, &p, d)
		}
	}
	p.Dense += p.Embedding
	if st.Embedding || st.Head {
		p.Largest = max(p.Largest, table)
	}
	return p
}

// addMTP adds the multi-token-prediction modules: layers of the kind of the
// last layer, and what else they own (projection and norms). They share the
// embedding and the head.
func addMTP(in *Input, p *Parameters, d Divisors) {
	m := in.Model
	l := m.Layer(m.IsMoE())
	experts := float64(l.ExpertsSharded + l.ExpertsReplicated)
	rest := float64(m.MTP()) - float64(m.MTPLayers)*experts
	p.Dense += rest / d.sharded
	p.Expert += float64(m.MTPLayers) * experts / d.experts
}

// PerParam are bytes per dense and per expert parameter after sharding.
type PerParam struct{ Dense, Expert float64 }

func (b PerParam) of(p Parameters) units.Bytes {
	return units.Bytes(b.Dense*p.Dense + b.Expert*p.Expert)
}

// Sharding is the bytes per parameter of the static terms.
type Sharding struct {
	Weights, Gradients, Optimizer PerParam
	// Master is the part of Optimizer that exists before the first update: the
	// master copy of the weights. Moments come with the update.
	Master PerParam
}

// Bytes is what a rank with these parameters keeps from step to step on the GPU:
// weights, gradients and the optimizer state that is not offloaded.
func (s *Sharding) Bytes(p Parameters, o recipe.Offload) units.Bytes {
	kept := s.Weights.of(p) + s.Gradients.of(p)
	if o != recipe.OffloadOptimizer {
		kept += s.Optimizer.of(p)
	}
	return kept
}

// zero shards static bytes as the ZeRO paper does (arXiv 1910.02054 section
// 5): stage 1 the optimizer state, 2 also the gradients, 3 also the weights.
// Dense parameters are sharded over DP*CP ranks, experts over expert-DP ranks,
// of which HSDP leaves the replicas out.
func zero(in *Input) Sharding {
	l := in.Layout
	return ZeRO(l.ZeRO, in.Precision, in.GradDtype, in.Optimizer, float64(l.DenseShards()), float64(l.ExpertShards()))
}

// over is bytes per parameter divided over the ranks that shard them.
func over(in *Input, bytes float64) PerParam {
	l := in.Layout
	return PerParam{bytes / float64(l.DenseShards()), bytes / float64(l.ExpertShards())}
}

// ZeRO is the bytes per parameter of a ZeRO stage over denseDP ranks (and
// expertDP ranks for routed experts).
func ZeRO(stage int, p recipe.Precision, g recipe.GradDtype, o recipe.Optimizer, denseDP, expertDP float64) Sharding {
	term := func(bytes float64, from int) PerParam {
		if stage < from {
			return PerParam{bytes, bytes}
		}
		return PerParam{bytes / denseDP, bytes / expertDP}
	}
	return Sharding{
		Weights:   term(p.WeightBytes(), 3),
		Gradients: term(g.Bytes(p), 2),
		Optimizer: term(o.StateBytes(p), 1),
		Master:    term(o.MasterBytes(p), 1),
	}
}

// recomputed is how many layers of a stage run with full recomputation.
func recomputed(in *Input, stage int) int {
	if in.Recompute.Mode != recipe.RecomputeFull {
		return 0
	}
	return in.Layout.RecomputedLayers(in.Recompute.Layers, stage, in.Stages[stage])
}
