package step

import (
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Recomputation returns the operations of a layer that the backward runs again.
func (in *Input) Recomputation() model.Recomputation {
	return model.Recomputation{Recompute: in.Recompute, Products: in.KeepsProducts, Scores: in.StoresScores}
}

// recompute adds the forward work of what is recomputed to the backward.
func (p *Parts) recompute(c *Cost, rec *record.Recorder, stage int, st *layout.Stage) {
	k, recomputation := &p.k, p.k.in.Recomputation()
	full := recomputation.Mode == recipe.RecomputeFull
	if !full && !recomputation.Partial() {
		return
	}
	of := st.Of
	if full {
		of = st.Take(k.in.Program, recomputedLayers(k.in, stage))
	}
	for i := range p.layers {
		n := int(of[i])
		if n == 0 {
			continue
		}
		l, layer := &k.in.Program.Layers[i], &p.layers[i]
		if full {
			if rec.On() {
				rec.Given(record.In("recomputed_"+l.Name+"_layers", n))
				rec.Term("recompute", "recomputed_"+l.Name+"_layers * {layer."+l.ID+".forward}")
			}
			c.Recompute += layer.Forward * units.Seconds(n)
			c.BackwardLinks.AddTimes(&layer.ForwardLinks, float64(n))
			c.HideableExpertBackward += layer.HideableExpertForward * units.Seconds(n)
			continue
		}
		k.core = layer.core
		c.Recompute += k.recomputed(l, &recomputation) * units.Seconds(n)
		if rec.On() {
			rec.Term("recompute", l.Name+"_layers * {recompute."+l.ID+".forward}")
		}
		if l.MoE && recomputation.Experts() {
			c.BackwardLinks.EP.add(layer.ForwardLinks.EP, float64(n))
			c.BackwardLinks.ETP.add(layer.ForwardLinks.ETP, float64(n))
			c.HideableExpertBackward += layer.HideableExpertForward * units.Seconds(n)
		}
	}
}

// exchangedAgain returns the layers whose all-to-alls run again where the stack's ledger knows the times:
// checkpointing of every second product keeps no tensor of theirs either.
func (p *Parts) exchangedAgain(stage int, st *layout.Stage) layout.Counts {
	switch in := p.k.in; {
	case in.Layout.CP == 1 || in.Recompute.Mode == recipe.RecomputeNone:
		return layout.Counts{}
	case in.Recompute.Mode == recipe.RecomputeFull:
		return st.Take(in.Program, recomputedLayers(in, stage))
	}
	return st.Of
}

// recomputedLayers returns how many layers of a stage run again as a whole.
func recomputedLayers(in *Input, stage int) int {
	if in.Recompute.Mode != recipe.RecomputeFull {
		return 0
	}
	return in.Layout.RecomputedLayers(in.Recompute.Layers, stage, &in.Stages[stage])
}

// recomputed returns how long the operations of a layer take that run again, without rotary
// positions.
func (k *kernels) recomputed(l *model.Layer, recomputation *model.Recomputation) units.Seconds {
	var c Cost
	if k.in.Record.On() {
		k.begin("recompute."+l.ID, "layer's recomputed operations")
	}
	for i := range l.Ops {
		o := &l.Ops[i]
		out := recomputation.Outputs(l, o)
		if out[0] == 0 || o.Kind == model.Rotary {
			continue
		}
		if o.IsProduct() {
			part := *o
			part.Out = out
			o = &part
		}
		k.operation(&c, l, o, recomputation)
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

// Operations returns the kernels of a distinct layer.
func Operations(in *Input, l *model.Layer) []OperationTime {
	k := newKernels(in)
	k.coreAttention(l)
	if k.rec = nil; in.Record.On() {
		k.begin("layer."+l.ID, l.Name+" layer")
	}
	factor := units.Seconds(k.m.Software.Factor)
	var list []OperationTime
	for i := range l.Ops {
		o := &l.Ops[i]
		var c Cost
		k.rec.Clear()
		if k.operation(&c, l, o, nil); c.Forward == 0 && c.InputGrad == 0 {
			continue
		}
		t := OperationTime{
			ID: o.ID, Forward: c.Forward * factor,
			Backward: (c.InputGrad + c.WeightGrad) * factor,
		}
		var flops record.Num
		switch {
		case o.Kind == model.Core:
			flops = k.core.flops
		case o.Kind == model.Scan:
			flops = k.tokens.Times(o.Scan.FLOPs[0]).Over(k.t)
		case o.IsProduct():
			rows, inner, cols := k.shape(l, o)
			if o.Kind == model.Grouped {
				rows = k.routed.Times(k.etp)
			}
			flops = record.Lit(2).Times(rows).Times(inner).Times(cols)
		}
		t.FLOPs = units.FLOPs(flops.V)
		k.recordOperation(l, o, &t, flops)
		list = append(list, t)
	}
	return list
}

// recordOperation records the time and the FLOPs of an operation.
func (k *kernels) recordOperation(l *model.Layer, o *model.Op, t *OperationTime, flops record.Num) {
	if !k.rec.On() {
		return
	}
	var passes []string
	for _, pass := range [...]string{"forward", "input-gradient", "weight-gradient"} {
		if s := k.rec.Sum(pass); s != "0" {
			passes = append(passes, s)
		}
	}
	formula := record.Sum(passes...)
	if k.m.Software.Factor != 1 {
		formula = "factor_of_the_stack * (" + formula + ")"
	}
	rec, of := k.rec.Scope(o.ID, o.Name), o.Name+" of one "+l.ID+" layer"
	rec.Figure(record.Entry{
		ID: "time", Name: "forward and backward of one micro-batch: " + of, Symbol: "time of " + of,
		Unit:    record.Seconds,
		Formula: formula, Value: float64(t.Forward + t.Backward),
		Source:    "its kernels, times the factor of the stack; " + record.From(k.m.Software.From),
		LeavesOut: "exposed communication, recomputation",
	})
	if t.FLOPs > 0 {
		rec.Figure(record.Entry{
			ID: "flops", Name: "FLOPs of one micro-batch on one GPU, forward: " + of,
			Symbol: "FLOPs of " + of, Unit: record.FLOPs,
			Formula: flops.Text(), Value: flops.V,
			Source: "two per element of a matrix and row; of attention those that the kernel computes",
		})
	}
}
