package step

import (
	"meshscope/engine/model"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// grouped adds a product by the matrices of a rank's experts. A rank computes as many tokens
// as it sends, times the load of the busiest. Fused, the input of the down projection leaves
// the up projection in 4 bits, and so does the gradient on its way back.
func (k *kernels) grouped(c *Cost, l *model.Layer, o *model.Op) {
	local := l.Experts.Over(k.in.Record.Named("EP", float64(k.in.Layout.EP)))
	inner, cols := l.Tensor(o.In[0]).On(k.t, k.etp), l.WidthOn(o.Out, k.t, k.etp)
	p := product{o.ID, o.Name, k.routed.Times(k.etp).Over(local), inner, cols}
	soft, n, rows := &k.m.Software, local.V, p.rows.V
	issued := func(t units.Seconds) units.Seconds { // see recordGrouped
		if soft.Experts > 0 {
			t *= units.Seconds(soft.Experts)
		}
		return t + soft.Expert*units.Seconds(n)
	}
	in, weight, out := rows*n*inner.V, n*inner.V*cols.V, rows*n*cols.V
	b, rec := k.operands(in, weight, out, k.input), k.recordGrouped(&p, local)
	c.Forward += issued(k.m.GroupedMatMul(rec[0], n, rows, inner.V, cols.V, b.forward))
	c.InputGrad += issued(k.m.GroupedMatMul(rec[1], n, rows, cols.V, inner.V, b.inputGrad))
	c.WeightGrad += issued(k.m.GroupedMatMul(rec[2], n, rows, inner.V, cols.V, b.weightGrad))
	if k.input < k.elem {
		down := l.SplitIn(o)
		k.cast(c, o.ID, o.Name, in, out, !down || !soft.FusedExperts, down || !soft.FusedExperts)
	}
}

// recordGrouped makes the scopes of a grouped product and its two gradients.
func (k *kernels) recordGrouped(p *product, local record.Num) (passes [3]*record.Recorder) {
	if !k.rec.On() {
		return passes
	}
	rec := k.rec.Scope(p.id, p.name)
	rec.Let("groups", local.Text())
	rec.Let("rows", p.rows.Text())
	rec.Let("inner", p.inner.Text())
	rec.Let("cols", p.cols.Text())
	soft := &k.m.Software
	for i, pass := range [...]struct{ id, name string }{{"forward", ""}, {"input-gradient", ", input gradient"}, {"weight-gradient", ", weight gradient"}} {
		r, touched := rec.Scope(pass.id, p.name+pass.name), "bytes_of_an_operand * (rows * groups * inner + groups * inner * cols) + bytes * rows * groups * cols"
		switch i {
		case 1:
			r.Let("inner", "cols")
			r.Let("cols", "inner")
			touched = "bytes_of_an_operand * (rows * groups * cols + groups * inner * cols) + bytes * rows * groups * inner"
		case 2:
			touched = "bytes_of_an_operand * (rows * groups * inner + rows * groups * cols) + 2 * bytes_of_a_gradient * groups * inner * cols"
		}
		r.Let("touched", touched)
		issued := r.Ref("")
		if soft.Experts > 0 {
			issued = "experts_of_the_stack_over_the_best_kernels * " + issued
		}
		if soft.Expert > 0 {
			issued += " + " + local.Text() + " * start_of_a_product"
		}
		k.rec.Term(pass.id, issued)
		passes[i] = r
	}
	k.rec.Given(record.In("experts_of_the_stack_over_the_best_kernels", soft.Experts), record.In("start_of_a_product", soft.Expert))
	return passes
}
