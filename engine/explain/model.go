package explain

import (
	"meshscope/engine/recipe"
)

func (b *Book) modelFigure(rest string) *Explanation {
	m := &b.w.Setup.Model
	id := "model." + rest
	switch rest {
	case "parameters":
		return b.explain(id, about{
			name: "Parameters of the model", symbol: "P", unit: Count, source: "the model's configuration, part by part",
			omits: "multi-token-prediction modules (their own figure), padding of the vocabulary",
		}, b.parameters)
	case "active-parameters":
		return b.explain(id, about{
			name: "Parameters that one token passes", symbol: "P_active", unit: Count, source: "all but the routed experts that a token is not sent to; embedding and head included",
		}, func() *Expr {
			p := ref(b.modelFigure("parameters"))
			if m.MoELayers() == 0 {
				return p
			}
			expert := b.mlpOf(m.ExpertFFN, "f_expert")
			if m.MLPBias {
				expert = add(expert, b.hidden())
			}
			idle := sub(count("E", m.Experts), count("k", m.TopK))
			if m.TopK > m.Experts {
				idle = lit(0)
			}
			return sub(p, mul(count("MoE layers", m.MoELayers()), idle, expert))
		})
	case "mtp-parameters":
		return b.explain(id, about{
			name: "Parameters of the multi-token-prediction modules", symbol: "P_mtp", unit: Count, source: "DeepSeek-V3 (arXiv 2412.19437) section 2.2: a layer, a projection of 2h x h and three norms each",
		}, func() *Expr {
			if m.MTPLayers == 0 {
				return lit(0)
			}
			module := add(count("layer", m.Layer(m.IsMoE()).Total()), mul(lit(2), b.hidden(), b.hidden()), mul(lit(3), count("norm", m.FinalNorm())))
			return mul(count("MTP modules", m.MTPLayers), module)
		})
	case "training-flops-per-token":
		return b.explain(id, about{
			name: "Model FLOPs of training on one token", symbol: "F", unit: FLOPs,
			source: "three times the forward pass: the backward has two matrix products for each of its (Narayanan et al., arXiv 2104.04473, appendix)",
			omits:  "recomputation, norms, activations, softmax, optimizer; savings of local attention windows",
		}, func() *Expr {
			forward := b.forwardFLOPs()
			if b.w.Setup.TrainMTP && m.MTPLayers > 0 {
				forward = add(forward, mul(count("MTP modules", m.MTPLayers), add(b.layerFLOPs(m.IsMoE()), b.headFLOPs())))
			}
			return mul(lit(3), forward)
		})
	}
	return nil
}

func (b *Book) parameters() *Expr {
	m := &b.w.Setup.Model
	sum := []*Expr{mul(count("V", m.Vocab), b.hidden())}
	for _, p := range []struct {
		name string
		n    int64
	}{{"position table", m.PositionTable()}, {"head", m.Head()}, {"final norm", m.FinalNorm()}, {"extra", m.Extra()}} {
		if p.n != 0 {
			sum = append(sum, count(p.name, p.n))
		}
	}
	if dense := m.Layers - m.MoELayers(); dense > 0 {
		sum = append(sum, mul(count("dense layers", dense), b.layerParameters(false)))
	}
	if moe := m.MoELayers(); moe > 0 {
		sum = append(sum, mul(count("MoE layers", moe), b.layerParameters(true)))
	}
	return add(sum...)
}

func (b *Book) layerParameters(moe bool) *Expr {
	l := b.w.Setup.Model.Layer(moe)
	kind := "dense"
	if moe {
		kind = "moe"
	}
	return b.term("layer."+kind+".parameters", about{
		name: "Parameters of one " + kind + " layer", symbol: "P_" + kind + " layer", unit: Count, source: "the model's configuration",
	}, func() *Expr {
		sum := []*Expr{b.attentionMatrices(&l)}
		if l.MLPSharded+l.SharedExperts > 0 {
			sum = append(sum, b.mlpMatrices(moe))
		}
		if l.ExpertsSharded > 0 {
			sum = append(sum, b.experts())
		}
		for _, p := range []struct {
			name string
			n    int64
		}{
			{"attention's other parts", l.AttnReplicated}, {"norms", l.Norms}, {"output biases", l.MLPReplicated + l.ExpertsReplicated}, {"router", l.Router},
		} {
			if p.n > 0 {
				sum = append(sum, count(p.name, p.n))
			}
		}
		return add(sum...)
	})
}

// forwardFLOPs is the forward pass of one token.
func (b *Book) forwardFLOPs() *Expr {
	m := &b.w.Setup.Model
	return b.term("model.forward-flops-per-token", about{
		name: "Model FLOPs of the forward pass of one token", symbol: "F_forward", unit: FLOPs, source: "two per weight that the token meets, and the scores",
	}, func() *Expr {
		var sum []*Expr
		if dense := m.Layers - m.MoELayers(); dense > 0 {
			sum = append(sum, mul(count("dense layers", dense), b.layerFLOPs(false)))
		}
		if moe := m.MoELayers(); moe > 0 {
			sum = append(sum, mul(count("MoE layers", moe), b.layerFLOPs(true)))
		}
		sum = append(sum, b.headFLOPs())
		if m.Extra() > 0 {
			sum = append(sum, mul(lit(2), count("extra", m.Extra())))
		}
		return add(sum...)
	})
}

func (b *Book) headFLOPs() *Expr {
	return mul(lit(2), b.hidden(), count("V", b.w.Setup.Model.Vocab))
}

// layerFLOPs is the forward pass of one token through one layer.
func (b *Book) layerFLOPs(moe bool) *Expr {
	s := b.w.Setup
	m := &s.Model
	kind := "dense"
	if moe {
		kind = "moe"
	}
	return b.term("layer."+kind+".flops-per-token", about{
		name: "Model FLOPs of one token in one " + kind + " layer, forward", symbol: "F_" + kind, unit: FLOPs,
		source: "two per weight of attention and MLP, and the scores",
	}, func() *Expr {
		f := m.LayerForward(moe, s.Seq, s.MFU != recipe.MFUFull)
		sum := []*Expr{mul(lit(2), count("weights of attention", float64(f.Projections)/2)), b.scoreFLOPs()}
		matrices := count("matrices", 2)
		if m.Gated {
			matrices = count("matrices", 3)
		}
		if !moe {
			return add(append(sum, mul(lit(2), matrices, b.hidden(), count("f", m.FFN)))...)
		}
		sum = append(sum, mul(lit(2), count("k", m.TopK), matrices, b.hidden(), count("f_expert", m.ExpertFFN)))
		if m.SharedFFN > 0 {
			sum = append(sum, mul(lit(2), matrices, b.hidden(), count("f_shared", m.SharedFFN)))
		}
		return add(append(sum, mul(lit(2), b.hidden(), count("E", m.Experts)))...)
	})
}

// scoreFLOPs are q*k and scores*v of one token in one layer.
func (b *Book) scoreFLOPs() *Expr {
	s := b.w.Setup
	m := &s.Model
	causal := s.MFU != recipe.MFUFull
	return b.term("layer.attention.score-flops-per-token", about{
		name: "Model FLOPs of core attention of one token in one layer, forward", symbol: "F_scores", unit: FLOPs,
		source: "2 x heads x (query and value widths) x sequence; half of it where the causal mask is counted (--mfu)",
		omits:  "savings of local attention windows, as the printed figures of Megatron-Bridge",
	}, func() *Expr {
		width := mul(lit(2), count("d", m.HeadDim))
		if m.IsMLA() {
			width = add(count("d_nope", m.QKNopeDim), count("d_rope", m.QKRopeDim), count("d_v", m.VHeadDim))
		}
		x := mul(lit(2), count("a", m.Heads), width, count("s", s.Seq))
		if causal {
			x = div(x, lit(2))
		}
		whole := x.Value()
		if share := float64(m.LayerForward(false, s.Seq, causal).Scores) / whole; whole > 0 && share != 1 {
			x = mul(num("share of layers with softmax attention", share, Share), x)
		}
		return x
	})
}
