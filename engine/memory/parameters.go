package memory

import (
	"meshscope/engine/model"
	"meshscope/engine/record"
)

// Parameters on one GPU, by the ranks that hold the same ones: dense parameters
// are replicated over DP*CP ranks, routed experts over the expert-DP ranks.
type Parameters struct {
	Dense, Expert float64
	Embedding     float64 // embedding, position table and head; contained in Dense
	Largest       float64 // the largest layer (or embedding) on the GPU: what ZeRO-3 gathers at once
	Layer         float64 // the largest layer alone
	tiedCopy      float64 // a tied head that is a copy only if the embedding is on another rank
	table         bool    // Largest is embedding or head
	blocks        int     // what ZeRO-3 gathers one after the other: layers, embedding, head
	Layers        int     // transformer layers
}

func (p *Parameters) add(q Parameters) {
	p.Dense += q.Dense
	p.Expert += q.Expert
	p.Embedding += q.Embedding
	p.table = p.table && p.Largest >= q.Largest || q.table && q.Largest >= p.Largest
	p.Largest = max(p.Largest, q.Largest)
	p.Layer = max(p.Layer, q.Layer)
	p.tiedCopy += q.tiedCopy
	p.blocks += q.blocks
	p.Layers += q.Layers
}

// formula returns that of all parameters.
func (p *Parameters) formula() string {
	if p.Expert > 0 {
		return "(P_dense + P_expert)"
	}
	return "P_dense"
}

// share drops the tied head's copy where the rank holds the embedding too.
func (p *Parameters) share(in *Input, rank int) (shared bool) {
	for c := range in.Order.Chunks() {
		if p.tiedCopy > 0 && in.Order.StageOf(rank, c) == 0 {
			p.Dense -= p.tiedCopy
			p.Embedding -= p.tiedCopy
			p.tiedCopy = 0
			shared = true
		}
	}
	return shared
}

// Divisors are by what the parts of a layer are divided on one GPU.
type Divisors struct {
	sharded, replicated       float64
	experts, expertReplicated float64
	vocab                     float64 // rows of the embedding
	padded                    bool    // paddedVocab says how many
	copies                    bool    // a rank has a whole key-value head at least
}

// part returns what one GPU has of parameters that TP cuts and of others.
func (d *Divisors) part(sharded, replicated int64) float64 {
	return float64(sharded)/d.sharded + float64(replicated)/d.replicated
}

// expert returns what one GPU has of a layer's routed experts.
func (d *Divisors) expert(l *model.LayerParams) float64 {
	return float64(l.ExpertsSharded)/d.experts + float64(l.ExpertsReplicated)/d.expertReplicated
}

// whole returns what formulas divide by that which is replicated.
func (d *Divisors) whole() string {
	if d.replicated == 1 {
		return ""
	}
	return " / t"
}

// biases returns what formulas divide the experts' output biases by.
func (d *Divisors) biases() string {
	if d.expertReplicated == d.experts {
		return " / (EP * ETP)"
	}
	return " / EP"
}

// tensorParallel returns how TP and expert parallelism cut parameters: norms,
// router and what a row-parallel layer adds stand whole on every rank.
func tensorParallel(in *Input, vocab float64) Divisors {
	l := in.Layout
	return Divisors{
		sharded: float64(l.TP), replicated: 1,
		experts: float64(l.EP * l.ETP), expertReplicated: float64(l.EP), vocab: vocab,
		copies: true,
	}
}

// paddedVocab returns the vocabulary that Megatron allocates: a multiple of 128*TP
// (megatron/training/tokenizer, --make-vocab-size-divisible-by 128).
func (in *Input) paddedVocab() record.Num {
	block := 128 * in.Layout.TP
	v := float64((in.Model.Vocab + block - 1) / block * block)
	if !in.Record.On() {
		return record.Lit(v)
	}
	return in.Record.Figure(record.Entry{
		ID: "model.padded-vocabulary", Name: "Vocabulary as it is allocated", Symbol: "V'",
		Formula: "ceil(V / (128 * t)) * (128 * t)", Value: v,
		Source: "Megatron-LM, --make-vocab-size-divisible-by 128: a multiple of 128 per TP rank",
	})
}
