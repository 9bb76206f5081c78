package model

import (
	"strings"

	"meshscope/engine/record"
)

// LayerParams are the parameters of one layer, split by what tensor
// parallelism does to them. Sharded parts divide by TP, replicated ones stand
// whole on every rank of a TP group. The experts are all routed experts of the
// layer: ExpertsSharded divides by EP*ETP, ExpertsReplicated by EP only.
type LayerParams struct {
	AttnSharded    int64 // projections, and the biases of the column-parallel ones
	AttnReplicated int64 // output bias, q/k norms, MLA down-projections and their norms
	Norms          int64 // norms around attention and MLP

	MLPSharded    int64 // dense layers: matrices and column-parallel biases
	MLPReplicated int64 // row-parallel bias of the dense MLP or of the shared experts

	SharedExperts     int64 // MoE layers: matrices and column-parallel biases
	Router            int64
	ExpertsSharded    int64
	ExpertsReplicated int64
}

// Total returns the number of parameters of the layer, all experts included.
func (p LayerParams) Total() int64 {
	return p.AttnSharded + p.AttnReplicated + p.Norms + p.MLPSharded + p.MLPReplicated +
		p.SharedExperts + p.Router + p.ExpertsSharded + p.ExpertsReplicated
}

// Layer counts one layer, dense or with routed experts.
func (m *Model) Layer(moe bool) LayerParams {
	p := LayerParams{Norms: int64(m.NormsPer) * m.norm()}
	p.AttnSharded, p.AttnReplicated = m.attention()
	if !moe {
		p.MLPSharded, p.MLPReplicated = m.mlp(m.FFN)
		return p
	}
	if m.SharedFFN > 0 {
		p.SharedExperts, p.MLPReplicated = m.mlp(m.SharedFFN)
	}
	p.Router = m.router()
	sharded, replicated := m.mlp(m.ExpertFFN)
	p.ExpertsSharded = int64(m.Experts) * sharded
	p.ExpertsReplicated = int64(m.Experts) * replicated
	return p
}

// recordLayer records the formulas of Layer.
func (m *Model) recordLayer(rec *record.Recorder, moe bool) {
	p, kind := m.Layer(moe), "dense"
	figure := func(id, name, symbol, formula string, value int64, source string, operands ...record.Operand) {
		rec.Figure(record.Entry{ID: "layer." + id + ".parameters", Name: name, Symbol: symbol, Formula: formula, Value: float64(value), Source: source}, operands...)
	}
	attention := m.attentionFormula()
	q, kv := m.queryWidth(), m.kvWidth()
	biases := p.AttnSharded - 2*int64(m.Hidden)*(q+kv)
	if !m.IsMLA() && biases > 0 {
		attention += " + biases"
	}
	figure("attention", "Parameters of attention that TP splits, in one layer", "P_attention", attention, p.AttnSharded,
		"the model's configuration; MLA: DeepSeek-V2 (arXiv 2405.04434) section 2.1", record.In("biases", biases))
	sum := []string{"{layer.attention.parameters}"}
	of := func(value int64, id, name, symbol, formula, source string) {
		if value > 0 {
			figure(id, name, symbol, formula, value, source)
			sum = append(sum, "{layer."+id+".parameters}")
		}
	}
	const matrices, perExpert = "the model's configuration: two matrices, three where gated", "the model's configuration: two matrices per expert, three where gated"
	of(p.MLPSharded, "mlp", "Parameters of the MLP that TP splits, in one layer", "P_mlp", m.mlpFormula("f"), matrices)
	if moe {
		kind = "moe"
		of(p.SharedExperts, "shared", "Parameters of the MLP that TP splits, in one layer", "P_shared", m.mlpFormula("f_shared"), matrices)
		of(p.ExpertsSharded, "experts", "Parameters of all routed experts of a layer", "P_experts", "E * ("+m.mlpFormula("f_expert")+")", perExpert)
	}
	var operands []record.Operand
	for _, part := range [...]struct {
		name string
		n    int64
	}{
		{"other_parts_of_attention", p.AttnReplicated},
		{"norms_of_the_layer", p.Norms},
		{"output_biases", p.MLPReplicated + p.ExpertsReplicated},
		{"router", p.Router},
	} {
		if part.n > 0 {
			sum, operands = append(sum, part.name), append(operands, record.In(part.name, part.n))
		}
	}
	figure(kind, "Parameters of one "+kind+" layer", "P_"+kind+" layer", record.Sum(sum...), p.Total(), "the model's configuration", operands...)
}

// Embedding returns the input embedding, vocabulary x hidden, without the padding
// that a launcher adds to divide it.
func (m *Model) Embedding() int64 { return int64(m.Vocab) * int64(m.Hidden) }

// PositionTable returns the learned position embedding, 0 for rotary and other
// positions that have no table.
func (m *Model) PositionTable() int64 {
	if m.Position != PositionLearned {
		return 0
	}
	return int64(m.MaxSeq) * int64(m.Hidden)
}

// Head returns the output projection, 0 when it shares the embedding matrix.
func (m *Model) Head() int64 {
	if m.Tied {
		return 0
	}
	return m.Embedding()
}

// FinalNorm returns the norm before the head.
func (m *Model) FinalNorm() int64 { return m.norm() }

// Extra returns what fits no other part (ExtraParamsWhat says what it is). It is
// mostly spread evenly over the layers.
func (m *Model) Extra() int64 { return m.ExtraParams }

// MoELayers returns the number of layers with routed experts.
func (m *Model) MoELayers() int {
	if !m.IsMoE() || m.Layers <= m.FirstDense {
		return 0
	}
	return (m.Layers - m.FirstDense) / max(m.MoEFreq, 1)
}

// Total returns the number of parameters. The multi-token-prediction modules are
// left out, as in most published counts; see MTP.
func (m *Model) Total() int64 {
	n := m.Embedding() + m.PositionTable() + m.Head() + m.FinalNorm() + m.Extra()
	moe := m.MoELayers()
	if dense := m.Layers - moe; dense > 0 {
		n += int64(dense) * m.Layer(false).Total()
	}
	if moe > 0 {
		n += int64(moe) * m.Layer(true).Total()
	}
	return n
}

// recordTotal records the formula of Total.
func (m *Model) recordTotal(rec *record.Recorder) {
	formula := "V * h"
	for _, part := range [...]struct {
		name string
		n    int64
	}{{"position_table", m.PositionTable()}, {"head", m.Head()}, {"final_norm", m.FinalNorm()}, {"P_extra", m.Extra()}} {
		if part.n != 0 {
			formula += " + " + part.name
		}
		rec.Given(record.In(part.name, part.n))
	}
	moe := m.MoELayers()
	rec.Given(record.In("dense_layers", m.Layers-moe), record.In("MoE_layers", moe))
	if m.Layers > moe {
		m.recordLayer(rec, false)
		formula += " + dense_layers * {layer.dense.parameters}"
	}
	if moe > 0 {
		m.recordLayer(rec, true)
		formula += " + MoE_layers * {layer.moe.parameters}"
	}
	rec.Figure(record.Entry{
		ID: "model.parameters", Name: "Parameters of the model", Symbol: "P", Formula: formula, Value: float64(m.Total()),
		Source: "the model's configuration, part by part", LeavesOut: "multi-token-prediction modules (their own figure), padding of the vocabulary",
	})
}

// Active returns the number of parameters that one token passes: Total with TopK
// routed experts per MoE layer, embedding and head included.
func (m *Model) Active() int64 {
	sharded, replicated := m.mlp(m.ExpertFFN)
	idle := int64(max(m.Experts-m.TopK, 0)) * (sharded + replicated)
	return m.Total() - int64(m.MoELayers())*idle
}

// recordActive records the formula of Active.
func (m *Model) recordActive(rec *record.Recorder) {
	formula := "P"
	if m.MoELayers() > 0 {
		expert := m.mlpFormula("f_expert")
		if m.MLPBias {
			expert += " + h"
		}
		formula = "P - MoE_layers * max(E - k, 0) * (" + expert + ")"
	}
	rec.Figure(record.Entry{
		ID: "model.active-parameters", Name: "Active parameters of one token", Symbol: "P_active", Formula: formula, Value: float64(m.Active()),
		Source: "all but the routed experts that do not receive the token; embedding and head included",
	})
}

// MTP returns the number of parameters of the multi-token-prediction modules: each
// is one more layer, a projection of 2h x h and three norms; embedding and
// head are shared with the model. Source: DeepSeek-V3 (arXiv 2412.19437)
// section 2.2.
func (m *Model) MTP() int64 {
	if m.MTPLayers == 0 {
		return 0
	}
	module := m.Layer(m.IsMoE()).Total() + m.mtpProjection() + 3*m.norm()
	return int64(m.MTPLayers) * module
}

// recordMTP records the formula of MTP.
func (m *Model) recordMTP(rec *record.Recorder) {
	formula := "0"
	if m.MTPLayers > 0 {
		formula = "MTP_modules * (layer + 2 * h * h + 3 * norm)"
	}
	rec.Given(record.In("MTP_modules", m.MTPLayers))
	rec.Figure(record.Entry{
		ID: "model.mtp-parameters", Name: "Parameters of the multi-token-prediction modules", Symbol: "P_mtp", Formula: formula, Value: float64(m.MTP()),
		Source: "DeepSeek-V3 (arXiv 2412.19437) section 2.2: a layer, a projection of 2h x h and three norms each",
	}, record.In("layer", m.Layer(m.IsMoE()).Total()), record.In("norm", m.norm()))
}

func (m *Model) mtpProjection() int64 { return 2 * int64(m.Hidden) * int64(m.Hidden) }

// norm returns one norm over the hidden width: LayerNorm has a bias, RMSNorm not.
func (m *Model) norm() int64 {
	h := int64(m.Hidden)
	if strings.HasPrefix(m.Norm, NormLayer) && m.Norm != NormLayerNoBias {
		return 2 * h
	}
	return h
}

func (m *Model) attention() (sharded, replicated int64) {
	if m.IsMLA() {
		return m.latentAttention()
	}
	h, q, kv := int64(m.Hidden), m.queryWidth(), m.kvWidth()
	sharded = m.attentionMatrices()
	switch m.AttnBias {
	case BiasAll:
		sharded += q + 2*kv
		replicated += h
	case BiasQKV:
		sharded += q + 2*kv
	}
	switch m.QKNorm {
	case QKNormPerHead:
		replicated += 2 * int64(m.HeadDim)
	case QKNormFullWidth:
		replicated += q + kv
	}
	return sharded, replicated
}

// latentAttention counts multi-head latent attention (DeepSeek-V2, arXiv
// 2405.04434, section 2.1): what goes down to the latent width is replicated
// under TP, what comes up to the heads is sharded.
func (m *Model) latentAttention() (sharded, replicated int64) {
	h, ql, kvl := int64(m.Hidden), int64(m.QLoraRank), int64(m.KVLoraRank)
	replicated = h*(kvl+int64(m.QKRopeDim)) + kvl
	if ql > 0 {
		replicated += h*ql + ql
	}
	norms := ql + kvl
	return m.attentionMatrices() - (replicated - norms), replicated
}

// attentionMatrices returns the weights that multiply a token in attention,
// without biases and norms.
func (m *Model) attentionMatrices() int64 {
	h := int64(m.Hidden)
	if !m.IsMLA() {
		return 2*h*m.queryWidth() + 2*h*m.kvWidth()
	}
	a, ql, kvl := int64(m.Heads), int64(m.QLoraRank), int64(m.KVLoraRank)
	nope, rope, v := int64(m.QKNopeDim), int64(m.QKRopeDim), int64(m.VHeadDim)
	query := h * a * (nope + rope)
	if ql > 0 {
		query = h*ql + ql*a*(nope+rope)
	}
	return query + h*(kvl+rope) + kvl*a*(nope+v) + a*v*h
}

// attentionFormula returns that of attentionMatrices, of what TP cuts.
func (m *Model) attentionFormula() string {
	switch {
	case !m.IsMLA():
		return "2 * h * d * (a + kv_heads)"
	case m.QLoraRank > 0:
		return "r_q * a * (d_nope + d_rope) + r_kv * a * (d_nope + d_v) + a * d_v * h"
	}
	return "h * a * (d_nope + d_rope) + r_kv * a * (d_nope + d_v) + a * d_v * h"
}

// KVHeadsPerRank returns how many key-value heads each rank of a TP group holds: at
// least one, so that TP beyond KVHeads keeps copies.
func (m *Model) KVHeadsPerRank(tp int) float64 {
	return max(float64(m.KVHeads)/float64(tp), 1)
}

func (m *Model) queryWidth() int64 { return int64(m.Heads) * int64(m.HeadDim) }

func (m *Model) kvWidth() int64 { return int64(m.KVHeads) * int64(m.HeadDim) }

// mlp counts one MLP of the given width: two matrices, three when gated, and
// their biases.
func (m *Model) mlp(width int) (sharded, replicated int64) {
	sharded = m.mlpMatrices(width)
	if m.MLPBias {
		sharded += (m.matricesPerMLP() - 1) * int64(width)
		replicated = int64(m.Hidden)
	}
	return sharded, replicated
}

func (m *Model) mlpMatrices(width int) int64 {
	return m.matricesPerMLP() * int64(m.Hidden) * int64(width)
}

// mlpFormula returns that of the matrices and column biases of an MLP.
func (m *Model) mlpFormula(width string) string {
	switch {
	case m.Gated && m.MLPBias:
		return "3 * h * " + width + " + 2 * " + width
	case m.Gated:
		return "3 * h * " + width
	case m.MLPBias:
		return "2 * h * " + width + " + " + width
	}
	return "2 * h * " + width
}

func (m *Model) matricesPerMLP() int64 {
	if m.Gated {
		return 3
	}
	return 2
}

// router returns the matrix that scores the experts, its bias where the MLPs have
// one (gpt-oss), and the balancing bias of auxiliary-loss-free routing
// (RouterBias, DeepSeek-V3).
func (m *Model) router() int64 {
	e := int64(m.Experts)
	n := int64(m.Hidden) * e
	if m.MLPBias {
		n += e
	}
	if m.RouterBias {
		n += e
	}
	return n
}
