package explain

import (
	"fmt"

	"meshscope/engine/model"
	"meshscope/engine/recipe"
)

const sourceCut = "Megatron-LM: TP cuts the matrices, norms and router stand whole on every rank, EP deals out the experts"

// cut is by what the parts of a layer are divided on one GPU.
type cut struct {
	sharded, replicated, experts, expertReplicated *Expr
	vocab                                          *Expr
	kvCopies                                       *Expr // nil: none
}

func (b *Book) tp() *Expr { return count("t", b.w.Setup.TP) }

func (b *Book) hidden() *Expr { return count("h", b.w.Setup.Model.Hidden) }

func (b *Book) cut() cut {
	s := b.w.Setup
	m := &s.Model
	ep, etp := count("EP", s.EP), count("ETP", s.ETP)
	c := cut{
		sharded: b.tp(), replicated: lit(1), experts: mul(ep, etp), expertReplicated: ep,
		vocab: count("V", m.Vocab),
	}
	switch s.Stack.Resolve() {
	case recipe.Textbook:
		c.replicated, c.expertReplicated = b.tp(), mul(ep, etp)
		return c
	case recipe.MegatronCore, recipe.Megatron2022, recipe.Megatron2021:
		c.vocab = b.paddedVocab()
	default:
	}
	if !m.IsMLA() && m.KVHeads < s.TP {
		c.kvCopies = mul(lit(2), b.hidden(), count("d", m.HeadDim), sub(lit(1), div(count("kv heads", m.KVHeads), b.tp())))
	}
	return c
}

func (b *Book) paddedVocab() *Expr {
	return b.term("model.padded-vocabulary", about{
		name: "Vocabulary as it is allocated", symbol: "V'", unit: Count,
		source: "Megatron-LM, --make-vocab-size-divisible-by 128: a multiple of 128 per TP rank",
	}, func() *Expr {
		block := mul(lit(128), b.tp())
		return mul(ceil(div(count("V", b.w.Setup.Model.Vocab), block)), block)
	})
}

// perLayer are the parameters of one layer on one GPU, dense ones or those of
// its routed experts.
func (b *Book) perLayer(moe, experts bool) *Expr {
	l, c := b.w.Setup.Model.Layer(moe), b.cut()
	kind, what := "dense", "parameters"
	if moe {
		kind = "moe"
	}
	if experts {
		what = "expert-parameters"
	}
	return b.term("layer."+kind+"."+what+"-per-gpu", about{
		name:   fmt.Sprintf("%s of a %s layer on one GPU", map[bool]string{false: "Parameters replicated over data-parallel ranks", true: "Routed experts' parameters"}[experts], kind),
		symbol: what + " per " + kind + " layer", unit: Count, source: sourceCut,
		omits: "fractions stay where a degree does not divide a matrix",
	}, func() *Expr {
		if experts {
			return add(div(b.experts(), c.experts), div(b.expertBiases(), c.expertReplicated))
		}
		sharded := []*Expr{b.attentionMatrices(&l)}
		if n := l.MLPSharded + l.SharedExperts; n > 0 {
			sharded = append(sharded, b.mlpMatrices(moe))
		}
		replicated := []*Expr{}
		for _, p := range []struct {
			name string
			n    int64
		}{
			{"attention's whole parts", l.AttnReplicated}, {"norms", l.Norms}, {"output biases", l.MLPReplicated}, {"router", l.Router},
		} {
			if p.n > 0 {
				replicated = append(replicated, count(p.name, p.n))
			}
		}
		sum := []*Expr{div(add(sharded...), c.sharded), div(add(replicated...), c.replicated)}
		if c.kvCopies != nil {
			sum = append(sum, c.kvCopies)
		}
		return add(sum...)
	})
}

// attentionMatrices are what TP cuts of attention.
func (b *Book) attentionMatrices(l *model.LayerParams) *Expr {
	m := &b.w.Setup.Model
	return b.term("layer.attention.parameters", about{
		name: "Parameters of attention that TP cuts, in one layer", symbol: "P_attention", unit: Count,
		source: "the model's configuration; MLA: DeepSeek-V2 (arXiv 2405.04434) section 2.1",
	}, func() *Expr {
		if m.IsMLA() {
			a := count("a", m.Heads)
			up := count("d_nope + d_rope", m.QKNopeDim+m.QKRopeDim)
			q := mul(b.hidden(), a, up)
			if m.QLoraRank > 0 {
				q = mul(count("r_q", m.QLoraRank), a, up)
			}
			kv := mul(count("r_kv", m.KVLoraRank), a, count("d_nope + d_v", m.QKNopeDim+m.VHeadDim))
			return add(q, kv, mul(a, count("d_v", m.VHeadDim), b.hidden()))
		}
		x := mul(lit(2), b.hidden(), count("d", m.HeadDim), add(count("a", m.Heads), count("kv heads", m.KVHeads)))
		q, kv := int64(m.Heads)*int64(m.HeadDim), int64(m.KVHeads)*int64(m.HeadDim)
		if bias := l.AttnSharded - 2*int64(m.Hidden)*(q+kv); bias > 0 {
			x = add(x, count("biases", bias))
		}
		return x
	})
}

func (b *Book) mlpMatrices(moe bool) *Expr {
	m := &b.w.Setup.Model
	width, name, id := m.FFN, "f", "mlp"
	if moe {
		width, name, id = m.SharedFFN, "f_shared", "shared"
	}
	return b.term("layer."+id+".parameters", about{
		name: "Parameters of the MLP that TP cuts, in one layer", symbol: "P_" + id, unit: Count,
		source: "the model's configuration: two matrices, three where gated",
	}, func() *Expr { return b.mlpOf(width, name) })
}

// mlpOf counts the matrices and column biases of an MLP.
func (b *Book) mlpOf(width int, name string) *Expr {
	m := &b.w.Setup.Model
	matrices := 2.0
	if m.Gated {
		matrices = 3
	}
	x := mul(lit(matrices), b.hidden(), count(name, width))
	if m.MLPBias {
		x = add(x, mul(lit(matrices-1), count(name, width)))
	}
	return x
}

func (b *Book) experts() *Expr {
	m := &b.w.Setup.Model
	return b.term("layer.experts.parameters", about{
		name: "Parameters of all routed experts of a layer", symbol: "P_experts", unit: Count,
		source: "the model's configuration: two matrices per expert, three where gated",
	}, func() *Expr { return mul(count("E", m.Experts), b.mlpOf(m.ExpertFFN, "f_expert")) })
}

func (b *Book) expertBiases() *Expr {
	m := &b.w.Setup.Model
	if !m.MLPBias {
		return lit(0)
	}
	return mul(count("E", m.Experts), b.hidden())
}

// rankParameters are the parameters on one GPU of a rank, dense or routed.
func (b *Book) rankParameters(r int, experts bool) *Expr {
	id, name, symbol := "dense-parameters", "Parameters on one GPU that all data-parallel ranks hold", "P_dense"
	if experts {
		id, name, symbol = "expert-parameters", "Parameters of routed experts on one GPU", "P_expert"
	}
	return b.term(fmt.Sprintf("memory.ranks.%d.%s", r, id), about{
		name: fmt.Sprintf("%s, pipeline rank %d", name, r), symbol: symbol, unit: Count, source: sourceCut,
	}, func() *Expr {
		var sum []*Expr
		o := b.w.Memory.Order
		tied := false
		for c := range o.Chunks() {
			stage := o.StageOf(r, c)
			sum = append(sum, b.stageParameters(stage, experts)...)
			tied = tied || b.w.Stages[stage].Head && b.w.Setup.Model.Tied
		}
		if !experts && tied && b.holdsFirst(r) {
			return sub(add(sum...), b.table()) // the tied head is the embedding itself
		}
		return add(sum...)
	})
}

// holdsFirst says whether a rank has the embedding.
func (b *Book) holdsFirst(r int) bool {
	o := b.w.Memory.Order
	for c := range o.Chunks() {
		if o.StageOf(r, c) == 0 {
			return true
		}
	}
	return false
}

// table is the embedding or the head on one GPU.
func (b *Book) table() *Expr {
	return b.term("model.embedding-per-gpu", about{
		name: "Embedding table on one GPU, and the head", symbol: "P_table", unit: Count, source: sourceCut,
	}, func() *Expr {
		c := b.cut()
		return div(mul(c.vocab, b.hidden()), c.sharded)
	})
}

func (b *Book) stageParameters(stage int, experts bool) []*Expr {
	st, s, c := b.w.Stages[stage], b.w.Setup, b.cut()
	m := &s.Model
	var sum []*Expr
	if st.Dense > 0 && !experts {
		sum = append(sum, mul(count(fmt.Sprintf("dense layers of stage %d", stage), st.Dense), b.perLayer(false, false)))
	}
	if st.MoE > 0 {
		sum = append(sum, mul(count(fmt.Sprintf("MoE layers of stage %d", stage), st.MoE), b.perLayer(true, experts)))
	}
	mtp := st.Head && s.TrainMTP && m.MTPLayers > 0
	l := m.Layer(m.IsMoE())
	perModule := float64(l.ExpertsSharded + l.ExpertsReplicated)
	if experts {
		if mtp {
			sum = append(sum, div(mul(count("MTP modules", m.MTPLayers), count("their experts", perModule)), c.experts))
		}
		return sum
	}
	if m.Extra() > 0 {
		sum = append(sum, div(mul(count("P_extra", m.Extra()), count("layers of the stage", st.Layers())), mul(count("L", m.Layers), c.sharded)))
	}
	if st.Embedding {
		sum = append(sum, b.table())
		if n := m.PositionTable(); n > 0 {
			sum = append(sum, div(count("position table", n), c.replicated))
		}
	}
	if st.Head {
		sum = append(sum, b.table(), div(count("final norm", m.FinalNorm()), c.replicated))
		if mtp {
			rest := float64(m.MTP()) - float64(m.MTPLayers)*perModule
			sum = append(sum, div(count("MTP modules without experts", rest), c.sharded))
		}
	}
	return sum
}

// embeddingParameters are those of embedding, position table and head.
func (b *Book) embeddingParameters(r int) *Expr {
	o, m := b.w.Memory.Order, &b.w.Setup.Model
	var sum []*Expr
	head := false
	for c := range o.Chunks() {
		st := b.w.Stages[o.StageOf(r, c)]
		if st.Embedding {
			sum = append(sum, b.table())
			if n := m.PositionTable(); n > 0 {
				sum = append(sum, div(count("position table", n), b.cut().replicated))
			}
		}
		if st.Head {
			head = true
			sum = append(sum, b.table())
		}
	}
	if head && m.Tied && b.holdsFirst(r) {
		return sub(add(sum...), b.table())
	}
	return add(sum...)
}

// perParam are the bytes per parameter of a static term.
func (b *Book) perParam(term string, experts bool) *Expr {
	s := b.w.Setup
	shards, shardName, symbol := float64(s.DenseShards()), "DP x CP / replicas", "bytes per dense parameter"
	if experts {
		shards, shardName, symbol = float64(s.ExpertShards()), "expert-DP / replicas", "bytes per expert parameter"
	}
	id := "memory." + term + ".per-parameter"
	if experts {
		id = "memory." + term + ".per-expert-parameter"
	}
	return b.term(id, about{
		name: "Bytes of " + term + " per parameter on the GPU", symbol: symbol, unit: Count,
		source: "ZeRO (arXiv 1910.02054) sections 3.1 and 5: weights, gradients, optimizer state of mixed precision; the stack's own widths",
	}, func() *Expr {
		bytes, sharded := b.width(term, experts)
		if !sharded {
			return bytes
		}
		return div(bytes, count(shardName, shards))
	})
}

// width is the bytes of a term before sharding, and whether it is sharded.
func (b *Book) width(term string, experts bool) (*Expr, bool) {
	s := b.w.Setup
	weight, grad := count("b_weight", b.precision().WeightBytes()), count("b_gradient", s.GradDtype.Bytes(b.precision()))
	master, moment := count("b_master", s.Optimizer.MasterBytes(b.precision())), count("b_moments", s.Optimizer.MomentBytes(b.precision()))
	zero := map[string]struct {
		bytes *Expr
		from  int
	}{"weights": {weight, 3}, "gradients": {grad, 2}, "optimizer": {add(master, moment), 1}}[term]
	plain := func() (*Expr, bool) { return zero.bytes, s.ZeRO >= zero.from }
	switch s.Stack.Resolve() {
	case recipe.TorchTitan:
		if b.precision().WeightBytes() < 2 {
			return plain()
		}
		if term == "optimizer" {
			return moment, s.ZeRO >= 1
		}
		return count("b_fp32", 4), s.ZeRO >= 2
	case recipe.Nanotron:
		stage := s.ZeRO
		if stage == 1 && s.DenseShards() == 1 {
			stage = 0
		}
		switch {
		case stage >= 2:
			return plain()
		case term == "gradients" && s.DP*s.CP > 1:
			return add(grad, count("b_reduced", 2)), false
		case term == "optimizer" && stage == 1:
			if experts && s.ExpertShards() == 1 {
				return zero.bytes, false
			}
			return add(zero.bytes, count("b_copy", 2)), true
		}
		return zero.bytes, false
	default:
		return plain()
	}
}

// static is weights, gradients or optimizer state of a rank.
func (b *Book) static(r int, term string) *Expr {
	p := b.w.Parameters[r]
	var sum []*Expr
	if p.Dense > 0 {
		sum = append(sum, mul(b.perParam(term, false), b.rankParameters(r, false)))
	}
	if p.Expert > 0 {
		sum = append(sum, mul(b.perParam(term, true), b.rankParameters(r, true)))
	}
	return add(sum...)
}
