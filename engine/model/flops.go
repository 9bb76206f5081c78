package model

import (
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// LayerFLOPs are the forward operations of one token in one layer. Only
// matrix products count (2 per weight that the token meets), convolutions and
// scans as their chunks compute them; norms, activations, softmax and biases are
// not model FLOPs in any convention.
type LayerFLOPs struct {
	Projections units.FLOPs // attention's q, k, v and output projections
	Scores      units.FLOPs // core attention: q*k and scores*v
	MLP         units.FLOPs // dense MLP
	Experts     units.FLOPs // TopK routed experts
	Shared      units.FLOPs // shared experts
	Router      units.FLOPs
}

// Total returns the sum of the parts.
func (f LayerFLOPs) Total() units.FLOPs {
	return f.Projections + f.Scores + f.MLP + f.Experts + f.Shared + f.Router
}

// TokenFLOPs are the forward operations of one token in the whole model. The
// input embedding is a look-up and counts 0.
type TokenFLOPs struct {
	LayerFLOPs // over all layers

	Head  units.FLOPs
	Extra units.FLOPs // ExtraParams, taken as matrices
}

// Total returns the sum of the parts.
func (f TokenFLOPs) Total() units.FLOPs { return f.LayerFLOPs.Total() + f.Head + f.Extra }

// FLOPs returns what an operation costs a token in its matrices, convolution or scan, forward.
func (l *Layer) FLOPs(o *Op) record.Num {
	n := record.Lit(2).Times(l.Weights(o))
	switch o.Kind {
	case Grouped:
		return l.TopK.Times(n)
	case Convolution:
		return record.Lit(2).Times(o.Taps).Times(l.Width(o.Out))
	case Scan:
		return o.Scan.FLOPs[0]
	default:
		return n
	}
}

// countFLOPs reads the FLOPs off the operations, but for the scores.
func (l *Layer) countFLOPs() (f LayerFLOPs) {
	of := [PartCount]*units.FLOPs{
		PartAttention: &f.Projections, PartMLP: &f.MLP, PartShared: &f.Shared, PartRouter: &f.Router,
		PartExperts: &f.Experts,
	}
	for i := range l.Ops {
		if o := &l.Ops[i]; of[o.Part] != nil {
			*of[o.Part] += units.FLOPs(l.FLOPs(o).V)
		}
	}
	return f
}

// Pairs returns the FLOPs of core attention for each token that a token attends to: the
// products of a query with a key, and of its share with a value.
func (l *Layer) Pairs() record.Num {
	core, ok := l.Core()
	if !ok {
		return record.Num{}
	}
	return record.Lit(2).Times(l.Tensors[core.In[0]].Width.Plus(l.Tensors[core.Out[0]].Width))
}

// Forward counts one token in one layer that attends to seq tokens.
// Causal halves the scores: on average a token attends to half of the
// sequence.
//
// A local window is not subtracted: every layer counts as global. That is the
// convention of the printed figures that MFU is compared with: the TFLOP/s of
// Megatron-Bridge for gpt-oss-120b (window 128 on every second layer) grow by
// 3.56e9 per token from sequence 4,096 to 8,192, and 36 global layers give
// 3.62e9, 18 of them 1.81e9. What a kernel with a window computes is the share
// that WindowShare gives.
func (l *Layer) Forward(seq int, causal bool) LayerFLOPs {
	f := l.flops
	f.Scores = units.FLOPs(l.Pairs().V * float64(max(seq, 0)))
	if l.sparse {
		f.Scores *= units.FLOPs(l.windowShare(seq, causal))
	}
	f.Scores += l.Choosing(seq)
	if causal {
		f.Scores /= 2
	}
	return f
}

// Choosing counts the choice of tokens that a token of an indexer's layer attends to, without a causal mask.
func (l *Layer) Choosing(seq int) units.FLOPs { return units.FLOPs(l.index.V * float64(max(seq, 0))) }

// recordForward records the formula of Forward.
func (l *Layer) recordForward(rec *record.Recorder, seq int, causal bool) {
	f, core := l.Forward(seq, causal), l.figure("attention", "score-flops-per-token")
	scores := l.Pairs().Text() + " * s"
	var share []record.Operand
	if l.sparse {
		scores = "(" + l.Pairs().Text() + " * share_of_chosen_tokens + " + l.index.Text() + ") * s"
		share = append(share, record.InUnit(record.Share, "share_of_chosen_tokens",
			l.windowShare(seq, causal)))
	}
	if causal {
		scores += " / 2"
	}
	rec.Figure(record.Entry{
		ID: core, Name: "Model FLOPs of core attention of one token in one layer, forward",
		Symbol: "F_scores", Unit: record.FLOPs,
		Formula: scores, Value: float64(f.Scores),
		Source: "2 x heads x (query and value widths) x sequence; half of it where the causal mask is " +
			"counted (--mfu)",
		LeavesOut: SkippedByWindows + ", as the printed figures of Megatron-Bridge",
	}, share...)
	var products record.Terms
	for i := range l.Ops {
		if o := &l.Ops[i]; o.Part != PartExtra {
			products.Add(1, l.FLOPs(o))
		}
	}
	rec.Figure(record.Entry{
		ID:   "layer." + l.ID + ".flops-per-token",
		Name: "Model FLOPs of one token in one " + l.ID + " layer, forward", Symbol: "F_" + l.ID,
		Unit:    record.FLOPs,
		Formula: products.Num().Text() + " + " + record.Ref(core), Value: float64(f.Total()),
		Source: "two per weight of attention and MLP, and the scores",
	})
}

// LayerForward is Layer.Forward of one layer of the stack.
func (m *Model) LayerForward(layer, seq int, causal bool) LayerFLOPs {
	p := Lay(m, nil)
	return p.Layers[p.At(layer)].Forward(seq, causal)
}

// HeadForward counts one token in the output projection, tied or not.
func (m *Model) HeadForward() units.FLOPs { return 2 * units.FLOPs(m.Embedding()) }

// ForwardFLOPs is Program.ForwardFLOPs.
func (m *Model) ForwardFLOPs(seq int, causal bool) TokenFLOPs {
	return Lay(m, nil).ForwardFLOPs(seq, causal)
}

// MTPForward is Program.MTPForward.
func (m *Model) MTPForward(seq int, causal bool) units.FLOPs {
	return Lay(m, nil).MTPForward(seq, causal)
}

// TrainingFLOPs is Program.TrainingFLOPs.
func (m *Model) TrainingFLOPs(seq int, causal, mtp bool) units.FLOPs {
	return Lay(m, nil).TrainingFLOPs(seq, causal, mtp)
}

// ForwardFLOPs counts one token in the whole model, by part, without
// multi-token prediction.
func (p *Program) ForwardFLOPs(seq int, causal bool) TokenFLOPs {
	m := &p.of
	var sum LayerFLOPs
	for i := range p.Layers {
		sum.add(p.Layers[i].Forward(seq, causal), p.Layers[i].Count)
	}
	return TokenFLOPs{LayerFLOPs: sum, Head: m.HeadForward(), Extra: 2 * units.FLOPs(m.Extra())}
}

// recordForward records the formula of ForwardFLOPs.
func (p *Program) recordForward(rec *record.Recorder, seq int, causal bool) {
	var sum []string
	m := &p.of
	for i := range p.Layers {
		l := &p.Layers[i]
		l.recordForward(rec, seq, causal)
		sum = append(sum, l.Name+"_layers * {layer."+l.ID+".flops-per-token}")
	}
	sum = append(sum, "2 * h * V")
	if m.Extra() > 0 {
		sum = append(sum, "2 * P_extra")
	}
	rec.Figure(record.Entry{
		ID: "model.forward-flops-per-token", Name: "Model FLOPs of the forward pass of one token",
		Symbol: "F_forward", Unit: record.FLOPs,
		Formula: record.Sum(sum...), Value: float64(p.ForwardFLOPs(seq, causal).Total()),
		Source: "two per active weight, and the scores",
	})
}

// MTPForward counts one token in the multi-token-prediction modules: a layer
// and the head each. Their 2h x h projection is left out, as in the figures
// that Megatron-Bridge prints for DeepSeek-V3; it would add 0.2 %.
func (p *Program) MTPForward(seq int, causal bool) units.FLOPs {
	module := p.Module().Forward(seq, causal).Total() + p.of.HeadForward()
	return units.FLOPs(p.of.MTPRuns()) * module
}

// TrainingFLOPs counts forward and backward of one token: three times the
// forward pass, since the backward has two matrix products for each of the
// forward. Recomputation is not model FLOPs and not counted.
func (p *Program) TrainingFLOPs(seq int, causal, mtp bool) units.FLOPs {
	f := p.ForwardFLOPs(seq, causal).Total()
	if mtp {
		f += p.MTPForward(seq, causal)
	}
	f *= 3
	for i := range p.Layers {
		f -= units.FLOPs(p.Layers[i].Count) * p.Layers[i].untrained(seq, causal)
	}
	if mtp {
		f -= units.FLOPs(p.of.MTPRuns()) * p.Module().untrained(seq, causal)
	}
	return f
}

// untrained returns what three times the forward has of an indexer too much: its products have a gradient of
// their matrices alone, its scores those of the chosen tokens (Megatron-Bridge at 067f987d,
// training/utils/flop_utils.py, with the sparse loss of the indexer).
func (l *Layer) untrained(seq int, causal bool) units.FLOPs {
	scores := l.Choosing(seq)
	if causal {
		scores /= 2
	}
	if l.untaught {
		return 2 * (units.FLOPs(l.indexer.V) + scores)
	}
	return units.FLOPs(l.indexer.V) + 2*scores*units.FLOPs(1-l.chosenShare(seq, causal))
}

// untrainedFormula is the text of untrained; empty without an indexer.
func (l *Layer) untrainedFormula(causal bool) string {
	if l.index.V == 0 {
		return ""
	}
	products, scores := l.indexer.Text(), "2 * (1 - share_of_chosen_tokens) * "+l.index.Text()+" * s"
	if l.untaught {
		products, scores = "2 * "+products, "2 * "+l.index.Text()+" * s"
	}
	if causal {
		scores += " / 2"
	}
	return "(" + products + " + " + scores + ")"
}

// AdapterFLOPs counts forward and backward of one token where so many parameters of adapters are trained in
// place of all weights: no gradients of these.
func (p *Program) AdapterFLOPs(seq int, causal bool, adapters float64) units.FLOPs {
	f := p.ForwardFLOPs(seq, causal)
	return 2*f.Total() + f.Scores + units.FLOPs(6*adapters)
}

// Record records the formulas of the model's counts; adapters are trained in place of all weights, if there
// are any.
func (p *Program) Record(rec *record.Recorder, seq int, causal, mtp bool, adapters float64) {
	if !rec.On() {
		return
	}
	for i := range p.Layers {
		rec.Given(p.Layers[i].names...)
	}
	p.recordTotal(rec)
	p.recordForward(rec, seq, causal)
	formula := "3 * F_forward"
	if mtp && p.of.MTPLayers > 0 {
		rec.Given(record.In("MTP_runs", p.of.MTPRuns()))
		formula = "3 * (F_forward + MTP_runs * (F_" + p.Module().ID + " + 2 * h * V))"
	}
	for i := range p.Layers {
		l := &p.Layers[i]
		if text := l.untrainedFormula(causal); text != "" {
			rec.Given(record.InUnit(record.Share, "share_of_chosen_tokens", l.chosenShare(seq, causal)))
			if formula += " - " + l.Name + "_layers * " + text; mtp && l == p.Module() {
				formula += " - MTP_runs * " + text
			}
		}
	}
	value, source := p.TrainingFLOPs(seq, causal, mtp), "three times the forward pass: the backward has two "+
		"matrix products for each of its (Narayanan et al., arXiv 2104.04473, appendix); an indexer of "+
		"sparse attention has fewer"
	if adapters > 0 {
		formula, value = "2 * F_forward + forward_of_scores + 6 * parameters_of_adapters",
			p.AdapterFLOPs(seq, causal, adapters)
		source = "forward and gradients of activations, of scores and adapters all three: frozen weights " +
			"have no gradients"
		scores := float64(p.ForwardFLOPs(seq, causal).Scores)
		rec.Given(record.InUnit(record.FLOPs, "forward_of_scores", scores),
			record.In("parameters_of_adapters", adapters))
	}
	rec.Figure(record.Entry{
		ID: "model.training-flops-per-token", Name: "Model FLOPs of training on one token", Symbol: "F",
		Unit:    record.FLOPs,
		Formula: formula, Value: float64(value), Source: source,
		LeavesOut: "recomputation, norms, activations, softmax, optimizer; " + SkippedByWindows +
			"; the scores that an indexer's loss computes once more",
	})
}

// SkippedByWindows is what model FLOPs leave out of layers with a window.
const SkippedByWindows = "savings of local attention windows"

// WindowShare returns the part of the counted scores (see Layer.Forward) that a kernel with the
// window of the layer computes: 1 without a window. A causal token attends to at most Window tokens,
// itself among them.
func (l *Layer) WindowShare(seq int, causal bool) float64 {
	if l.sparse { // whose scores are of chosen tokens only
		return 1
	}
	return l.windowShare(seq, causal)
}

func (l *Layer) windowShare(seq int, causal bool) float64 {
	share := windowShare(float64(l.Window), float64(seq), causal)
	if m := float64(l.every); m > 0 {
		share += windowShare(float64(l.chosen), float64(seq)/m, causal) / m
	}
	return share
}

// chosenShare returns the part of what an indexer scores that it chooses.
func (l *Layer) chosenShare(seq int, causal bool) float64 {
	if l.every > 0 {
		return windowShare(float64(l.chosen), float64(seq)/float64(l.every), causal)
	}
	return l.windowShare(seq, causal)
}

// windowShare returns the part of s tokens that a window of w lets one see: 1 without a window.
func windowShare(w, s float64, causal bool) float64 {
	if w <= 0 || w >= s || s <= 0 {
		return 1
	}
	if causal {
		// The first w tokens see half a window on average; the rest a whole
		// one. Counted against s/2 per token.
		return (2*s - w) * w / (s * s)
	}
	return w / s
}

func (f *LayerFLOPs) add(g LayerFLOPs, layers int) {
	n := units.FLOPs(max(layers, 0))
	f.Projections += n * g.Projections
	f.Scores += n * g.Scores
	f.MLP += n * g.MLP
	f.Experts += n * g.Experts
	f.Shared += n * g.Shared
	f.Router += n * g.Router
}
