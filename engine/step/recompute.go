package step

import (
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// recompute adds the forward work of what is recomputed to the backward.
func (k *kernels) recompute(c *Cost, rec *record.Recorder, stage int, st layout.Stage, dense, moe *Cost) {
	switch k.in.Recompute.Mode {
	case recipe.RecomputeFull:
		n := recomputedLayers(k.in, stage)
		nDense := min(n, st.Dense)
		if rec.On() {
			rec.Given(record.In("recomputed_dense_layers", nDense), record.In("recomputed_MoE_layers", n-nDense))
		}
		if nDense > 0 {
			rec.Term("recompute", "recomputed_dense_layers * {layer.dense.forward}")
		}
		if n > nDense {
			rec.Term("recompute", "recomputed_MoE_layers * {layer.moe.forward}")
		}
		c.addForward(dense, nDense)
		c.addForward(moe, n-nDense)
	case recipe.RecomputeSelective:
		if k.in.KeepsProducts && !k.in.Model.IsMLA() {
			c.Recompute += k.halfOfProducts() * units.Seconds(st.Dense)
			rec.Term("recompute", "dense_layers * {recompute.products.forward}")
		} else if k.in.StoresScores {
			c.Recompute += k.scores * units.Seconds(st.Layers())
			rec.Term("recompute", "layers * {layer.attention.forward}")
		}
	case recipe.RecomputeModules:
		c.Recompute += k.modules(false) * units.Seconds(st.Dense)
		if st.Dense > 0 {
			rec.Term("recompute", "dense_layers * {recompute.dense-modules.forward}")
		}
		if st.MoE > 0 {
			c.Recompute += k.modules(true) * units.Seconds(st.MoE)
			rec.Term("recompute", "MoE_layers * {recompute.moe-modules.forward}")
		}
	case recipe.RecomputeNone:
	}
}

// recomputedLayers returns how many layers of a stage run again as a whole.
func recomputedLayers(in *Input, stage int) int {
	if in.Recompute.Mode != recipe.RecomputeFull {
		return 0
	}
	return in.Layout.RecomputedLayers(in.Recompute.Layers, stage, in.Stages[stage])
}

// addForward adds the forward of layers to the backward.
func (c *Cost) addForward(layer *Cost, times int) {
	c.Recompute += layer.Forward * units.Seconds(times)
	c.BackwardLinks.AddTimes(&layer.ForwardLinks, float64(times))
	c.PairBackward += layer.PairForward * units.Seconds(times)
}

// halfOfProducts returns what runs again of a dense layer when every second matrix
// product is kept: k, the output projection, the up projection, and what is not
// a product.
func (k *kernels) halfOfProducts() units.Seconds {
	m := k.in.Model
	h, q, kv := float64(m.Hidden), float64(m.Heads*m.HeadDim)/k.t, m.KVHeadsPerRank(k.in.Layout.TP)*float64(m.HeadDim)
	var c Cost
	k.begin("recompute.products", "recomputed half of a layer")
	k.matmul(&c, product{"key", "key projection", "T", "h", "kv"}, k.tokens, h, kv)
	k.matmul(&c, product{"output", "output projection", "T", "a / t * d", "h"}, k.tokens, q, h)
	if m.Gated {
		k.matmul(&c, product{"up", "up projection", "T", "h", "f / t"}, k.tokens, h, float64(m.FFN)/k.t)
	}
	k.stream(&c, pass{"norms", "both norms", "bytes * shard * h * 4"}, k.elem*k.shard*h*2*2)
	k.activation(&c, pass{"mlp-activation", "activation of the MLP", mlpAct}, k.tokens*float64(m.FFN)/k.t)
	k.end(&c)
	return c.Forward
}

// modules returns the forward time of the recomputed parts of one layer.
func (k *kernels) modules(moe bool) units.Seconds {
	var c Cost
	if moe {
		k.beginLayer(true, "recompute.moe-modules", "layer's recomputed modules")
	} else {
		k.beginLayer(false, "recompute.dense-modules", "layer's recomputed modules")
	}
	k.addModules(&c, moe)
	k.end(&c)
	return c.Forward
}

func (k *kernels) addModules(c *Cost, moe bool) {
	m, r := k.in.Model, k.in.Recompute
	if r.Has(recipe.ModuleNorm) { // those that are no part of a product; read and written
		if m.IsMLA() {
			k.stream(c, pass{"attention-norm", "attention's norm", "bytes * shard * h * 2"}, k.elem*k.shard*float64(m.Hidden)*2)
		}
		if moe {
			k.stream(c, pass{"mlp-norm", "norm before the experts", "bytes * shard * h * 2"}, k.elem*k.shard*float64(m.Hidden)*2)
		}
	}
	if r.Has(recipe.ModuleMLAUp) && m.IsMLA() {
		k.latentUp(c)
	}
	switch {
	case !moe:
		if r.Has(recipe.ModuleAct) {
			k.activation(c, pass{"mlp-activation", "activation of the MLP", mlpAct}, k.tokens*float64(m.FFN)/k.t)
		}
		return
	case r.Has(recipe.ModuleShared) && m.SharedFFN > 0:
		k.mlp(c, true)
	case r.Has(recipe.ModuleAct) && m.SharedFFN > 0:
		k.activation(c, pass{"shared-activation", "activation of the shared experts", sharedAct}, k.tokens*float64(m.SharedFFN)/k.t)
	}
	if r.Has(recipe.ModuleMoEAct) {
		k.activation(c, pass{"experts-activation", "activation of the experts", expertAct}, k.routed()*float64(m.ExpertFFN))
	}
}
