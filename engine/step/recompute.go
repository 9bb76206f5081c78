package step

import (
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Again returns what of a layer the backward runs again.
func (in *Input) Again() model.Again {
	return model.Again{Recompute: in.Recompute, Products: in.KeepsProducts, Scores: in.StoresScores}
}

// recompute adds the forward work of what is recomputed to the backward.
func (k *kernels) recompute(c *Cost, rec *record.Recorder, stage int, st layout.Stage, dense, moe *Cost) {
	again, program := k.in.Again(), k.in.Program
	if again.Mode == recipe.RecomputeFull {
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
		return
	}
	if !again.Part() {
		return
	}
	if st.Dense > 0 {
		c.Recompute += k.again(&program.Dense, &again) * units.Seconds(st.Dense)
		rec.Term("recompute", "dense_layers * {recompute.dense.forward}")
	}
	if st.MoE > 0 {
		c.Recompute += k.again(&program.MoE, &again) * units.Seconds(st.MoE)
		rec.Term("recompute", "MoE_layers * {recompute.moe.forward}")
		if again.Experts() {
			c.BackwardLinks.EP.add(moe.ForwardLinks.EP, float64(st.MoE))
			c.BackwardLinks.ETP.add(moe.ForwardLinks.ETP, float64(st.MoE))
			c.PairBackward += moe.PairForward * units.Seconds(st.MoE)
		}
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

// again returns how long the operations of a layer take that run again, without rotary
// positions.
func (k *kernels) again(l *model.Layer, again *model.Again) units.Seconds {
	var c Cost
	k.beginLayer(l, "recompute.", "layer's recomputed operations")
	for i := range l.Ops {
		o := &l.Ops[i]
		out := again.Outputs(l, o)
		if out[0] == 0 || o.Kind == model.Rotary {
			continue
		}
		if o.IsProduct() {
			part := *o
			part.Out = out
			o = &part
		}
		k.operation(&c, l, o, again)
	}
	k.end(&c)
	return c.Forward
}

// OperationTime is what the kernel of an operation, or of several with one ID, does of one
// micro-batch in one layer.
type OperationTime struct {
	ID                string
	FLOPs             units.FLOPs // of products and scores, forward
	Forward, Backward units.Seconds
}

// Operations returns the kernels of a kind of layer.
func Operations(in *Input, moe bool) []OperationTime {
	k, l := newKernels(in), in.Program.Layer(moe)
	k.rec = nil
	factor := units.Seconds(k.m.Software.Factor)
	var list []OperationTime
	for i := range l.Ops {
		o := &l.Ops[i]
		var c Cost
		if k.operation(&c, l, o, nil); c.Forward == 0 && c.InputGrad == 0 {
			continue
		}
		t := OperationTime{ID: o.ID, Forward: c.Forward * factor, Backward: (c.InputGrad + c.WeightGrad) * factor}
		switch {
		case o.Kind == model.Core:
			t.FLOPs = k.core
		case o.IsProduct():
			rows, inner, cols := k.shape(l, o)
			if o.Kind == model.Grouped {
				rows = k.routed.Times(k.etp)
			}
			t.FLOPs = units.FLOPs(2 * rows.V * inner.V * cols.V)
		}
		list = append(list, t)
	}
	return list
}
