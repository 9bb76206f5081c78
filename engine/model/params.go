package model

import (
	"cmp"
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

// Layer counts one layer of the stack.
func (m *Model) Layer(layer int) LayerParams {
	p := Lay(m, nil)
	return p.Layers[p.At(layer)].params
}

// Params returns the parameters of a layer.
func (l *Layer) Params() *LayerParams { return &l.params }

// Parameters returns those of an operation, in what TP (expert-TP) cuts and in what stands
// whole on each rank: matrices whose input or output is cut, and the biases of cut outputs.
// Of experts they are those of all.
func (l *Layer) Parameters(o *Op) (sharded, whole record.Num) {
	n, matrices := record.Lit(1), l.Weights(o)
	if o.Kind == Grouped {
		n = l.Experts
	}
	switch {
	case o.Kind == Convolution || o.Kind == Scan || o.Kind == Core:
		return o.Other, whole
	case !o.IsProduct() || !l.SplitIn(o) && !l.SplitOut(o) && o.Kind != Grouped:
		return sharded, matrices.Plus(o.Other)
	case l.SplitOut(o):
		return n.Times(matrices.Plus(o.Other)), whole
	}
	return n.Times(matrices), n.Times(o.Other)
}

// part sums the parameters of a part of the layer.
func (l *Layer) part(p Part) (sharded, whole record.Num) {
	return l.sum(func(o *Op) bool { return o.Part == p && !o.Shared })
}

// sum sums the parameters of some of its operations.
func (l *Layer) sum(of func(o *Op) bool) (sharded, whole record.Num) {
	var cut, rest record.Terms
	for i := range l.Ops {
		if o := &l.Ops[i]; of(o) {
			a, b := l.Parameters(o)
			cut.Add(1, a)
			rest.Add(1, b)
		}
	}
	return cut.Num(), rest.Num()
}

// Block returns the parameters of a block that the layer shares with others, which are no part of its own.
func (l *Layer) Block() (sharded, whole record.Num) {
	return l.sum(func(o *Op) bool { return o.Shared })
}

// countParams reads the parameters off the operations.
func (l *Layer) countParams() (p LayerParams) {
	of := func(part Part, sharded, whole *int64) {
		a, b := l.part(part)
		l.total += a.V + b.V
		*sharded += int64(a.V)
		*whole += int64(b.V)
	}
	of(PartAttention, &p.AttnSharded, &p.AttnReplicated)
	of(PartNorms, &p.Norms, &p.Norms)
	of(PartMLP, &p.MLPSharded, &p.MLPReplicated)
	of(PartShared, &p.SharedExperts, &p.MLPReplicated)
	of(PartRouter, &p.Router, &p.Router)
	of(PartExperts, &p.ExpertsSharded, &p.ExpertsReplicated)
	return p
}

// record records the formulas of the parameters of a layer.
func (l *Layer) record(rec *record.Recorder) {
	var sum []string
	for _, of := range [...]struct {
		part             Part
		id, name, symbol string
	}{
		{PartAttention, "attention", "Parameters of attention that TP splits, in one layer", "P_attention"},
		{PartMLP, "mlp", "Parameters of the MLP that TP splits, in one layer", "P_mlp"},
		{PartShared, "shared", "Parameters of the MLP that TP splits, in one layer", "P_shared"},
		{PartExperts, "experts", "Parameters of all routed experts of a layer", "P_experts"},
	} {
		if n, _ := l.part(of.part); n.V > 0 {
			rec.Figure(record.Entry{
				ID: l.figure(of.id, "parameters"), Name: of.name, Symbol: of.symbol, Formula: n.Text(),
				Value:  n.V,
				Source: "the model's configuration: the matrices of its operations (docs/physics.md)",
			})
			sum = append(sum, record.Ref(l.figure(of.id, "parameters")))
		}
	}
	p := &l.params
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
	rec.Figure(record.Entry{
		ID: "layer." + l.ID + ".parameters", Name: "Parameters of one " + l.ID + " layer",
		Symbol:  "P_" + l.ID + " layer",
		Formula: record.Sum(sum...), Value: float64(p.Total()), Source: "the model's configuration",
	}, operands...)
}

// Embedding returns the input embedding, vocabulary x hidden, without the padding
// that a launcher adds to divide it.
func (m *Model) Embedding() int64 { return int64(m.Vocab) * int64(m.Hidden) }

// BeforeLayers returns what stands between embedding and layers: a learned table of positions, and a norm.
func (m *Model) BeforeLayers() (n int64) {
	if m.Position == PositionLearned {
		n = int64(cmp.Or(m.PositionRows, m.MaxSeq)) * int64(m.Hidden)
	}
	if m.EmbeddingNorm {
		n += m.norm()
	}
	h := int64(m.Hidden)
	n += int64(max(m.AltUpStreams-1, 0)) * h * h
	if p := int64(m.LayerInput); p > 0 { // a table of inputs of all layers, and a norm of what joins them
		n += int64(m.LayerVocab)*int64(m.Layers)*p + p
	}
	return n
}

// Head returns the output projection, 0 when it shares the embedding matrix.
func (m *Model) Head() int64 {
	if m.Tied {
		return 0
	}
	return m.Embedding()
}

// FinalNorm returns the norm before the head, with the head's bias.
func (m *Model) FinalNorm() int64 {
	n := m.norm()
	if m.HeadBias {
		n += int64(m.Vocab)
	}
	n += m.streamMixer()
	if m.ResidualBlock > 0 { // the head mixes the snapshots too
		n += 2 * int64(m.Hidden)
	}
	n += int64(max(m.AltUpStreams-1, 0)) * int64(m.Hidden) * int64(m.Hidden) // the streams become one
	return n
}

// norm returns one norm over the hidden width: LayerNorm has a bias, RMSNorm not.
func (m *Model) norm() int64 {
	h := int64(m.Hidden)
	if strings.HasPrefix(m.Norm, NormLayer) && m.Norm != NormLayerNoBias {
		return 2 * h
	}
	return h
}

// Extra returns what fits no other part (ExtraParamsWhat says what it is). It is
// mostly spread evenly over the layers.
func (m *Model) Extra() int64 { return m.ExtraParams }

// MoELayers returns the number of layers with routed experts.
func (m *Model) MoELayers() int {
	switch {
	case !m.IsMoE() || m.Layers <= m.FirstDense:
		return 0
	case m.Flat() || m.MoEPattern != "":
		n := 0
		for i := range m.Layers {
			if m.MoELayer(i) {
				n++
			}
		}
		return n
	}
	return (m.Layers - m.FirstDense) / max(m.MoEFreq, 1)
}

// Total returns the number of parameters. The multi-token-prediction modules are
// left out, as in most published counts; see MTP.
func (m *Model) Total() int64 { return int64(Lay(m, nil).sums.total) }

// Active returns the number of parameters that one token passes: Total with TopK
// routed experts per MoE layer, embedding and head included.
func (m *Model) Active() int64 { return int64(Lay(m, nil).sums.active) }

// MTPRuns returns how often a multi-token-prediction module runs in all.
func (m *Model) MTPRuns() int { return m.MTPLayers * max(m.MTPPasses, 1) }

// MTP returns the number of parameters of the multi-token-prediction modules: each
// is one more layer, a projection of 2h x h and three norms; embedding and
// head are shared with the model. Source: DeepSeek-V3 (arXiv 2412.19437)
// section 2.2.
func (m *Model) MTP() int64 { return int64(Lay(m, nil).sums.mtp) }

// Total returns Model.Total.
func (p *Program) Total() float64 { return p.sums.total }

// Active returns Model.Active.
func (p *Program) Active() float64 { return p.sums.active }

// MTP returns Model.MTP.
func (p *Program) MTP() float64 { return p.sums.mtp }

// count sums the parameters of the model up.
func (p *Program) count() (s sums) {
	m := &p.of
	s.total = float64(m.Embedding() + m.BeforeLayers() + m.Head() + m.FinalNorm() + m.Extra())
	for i := range p.Layers {
		l := &p.Layers[i]
		sharded, whole := l.Block()
		s.total += float64(l.Count)*l.total + float64(m.SharedBlocks)*(sharded.V+whole.V)
		if l.MoE {
			s.active -= float64(l.Count) * max(l.Experts.V-l.TopK.V, 0) * l.experts().V / l.Experts.V
		}
	}
	s.active += s.total
	if m.MTPLayers > 0 {
		projection := p.Projection.Weights(&p.Projection.Ops[0])
		s.mtp = float64(m.MTPLayers) * (p.Module().total + projection.V + float64(3*m.norm()+
			m.streamMixer()))
	}
	return s
}

// experts returns the parameters of all routed experts.
func (l *Layer) experts() record.Num {
	sharded, whole := l.part(PartExperts)
	return sharded.Plus(whole)
}

// recordTotal records the formula of Total.
func (p *Program) recordTotal(rec *record.Recorder) {
	m, formula := &p.of, "V * h"
	for _, part := range [...]struct {
		name string
		n    int64
	}{
		{"position_table", m.BeforeLayers()},
		{"head", m.Head()},
		{"final_norm", m.FinalNorm()},
		{"P_extra", m.Extra()},
	} {
		if part.n != 0 {
			formula += " + " + part.name
		}
		rec.Given(record.In(part.name, part.n))
	}
	active := "P"
	for i := range p.Layers {
		l := &p.Layers[i]
		rec.Given(record.In(l.Name+"_layers", l.Count))
		l.record(rec)
		formula += " + " + l.Name + "_layers * {layer." + l.ID + ".parameters}"
		if sharded, whole := l.Block(); sharded.V > 0 {
			rec.Given(record.In("shared_blocks", m.SharedBlocks))
			formula += " + shared_blocks * (" + sharded.Plus(whole).Text() + ")"
		}
		if l.MoE {
			active += " - " + l.Name + "_layers * max(E - " + l.TopK.Text() + ", 0) * (" +
				l.experts().Text() +
				") / E"
		}
	}
	rec.Figure(record.Entry{
		ID: "model.parameters", Name: "Parameters of the model", Symbol: "P", Formula: formula,
		Value:     p.sums.total,
		Source:    "the model's configuration, part by part",
		LeavesOut: "multi-token-prediction modules (their own figure), padding of the vocabulary",
	})
	rec.Figure(record.Entry{
		ID: "model.active-parameters", Name: "Active parameters of one token", Symbol: "P_active",
		Formula: active, Value: p.sums.active,
		Source: "all but the routed experts that do not receive the token; embedding and head included",
	})
	formula = "0"
	if m.MTPLayers > 0 {
		formula = "MTP_modules * (layer + " + p.Projection.Weights(&p.Projection.Ops[0]).Text() +
			" + 3 * norm)"
		if m.HyperStreams > 0 {
			formula = strings.Replace(formula, "3 * norm", "3 * norm + stream_mixer", 1)
			rec.Given(record.In("stream_mixer", m.streamMixer()))
		}
	}
	rec.Given(record.In("MTP_modules", m.MTPLayers))
	rec.Figure(record.Entry{
		ID: "model.mtp-parameters", Name: "Parameters of the multi-token-prediction modules", Symbol: "P_mtp",
		Formula: formula, Value: p.sums.mtp,
		Source: "DeepSeek-V3 (arXiv 2412.19437) section 2.2: a layer, a projection of 2h x h and three " +
			"norms each",
	}, record.In("layer", p.Module().params.Total()), record.In("norm", m.norm()))
}
