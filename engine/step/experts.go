package step

import (
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// experts are router, permutation, grouped products and shared experts.
// A rank computes as many tokens as it sends, times the load of the busiest.
func (k *kernels) experts(c *Cost) {
	m, l := k.in.Model, k.in.Layout
	h := float64(m.Hidden)
	if m.SharedFFN > 0 {
		k.mlp(c, true)
	}
	k.router(c)
	routed := k.routed()
	k.stream(c, pass{"permute", "permute and unpermute", "4 * bytes * T_routed * h"}, 4*k.elem*routed*h) // read and write
	local := float64(m.Experts) / float64(l.EP)
	rows := routed * float64(l.ETP) / local
	width := float64(m.ExpertFFN) / float64(l.ETP)
	soft := &k.m.Software
	issued := func(t units.Seconds) units.Seconds { // see recordExperts
		if soft.Experts > 0 {
			t *= units.Seconds(soft.Experts)
		}
		return t + soft.Expert*units.Seconds(local)
	}
	for i, p := range [2][2]float64{{h, k.gates() * width}, {width, h}} {
		in, weight, out := rows*local*p[0], local*p[0]*p[1], rows*local*p[1]
		b, rec := k.operands(in, weight, out), k.recordExperts(i)
		c.Forward += issued(k.m.GroupedMatMul(rec[0], local, rows, p[0], p[1], b.forward))
		c.InputGrad += issued(k.m.GroupedMatMul(rec[1], local, rows, p[1], p[0], b.inputGrad))
		c.WeightGrad += issued(k.m.GroupedMatMul(rec[2], local, rows, p[0], p[1], b.weightGrad))
		if k.input < k.elem {
			id, name := "experts-up", "experts up"
			if i == 1 {
				id, name = "experts-down", "experts down"
			}
			k.castExperts(c, id, name, in, out, i == 1)
		}
	}
	if soft.FusedExperts {
		return
	}
	elements := routed * float64(m.ExpertFFN)
	k.activation(c, pass{"experts-activation", "activation of the experts", expertAct}, elements)
	if m.MLPBias && soft.Biased > 0 {
		k.activation(c, pass{"expert-biases-activation", "activation of the experts' biases, as passes of it", expertAct + " * biased"}, soft.Biased*elements)
	}
}

// recordExperts makes the scopes of a grouped product, up or down, and its two
// gradients.
func (k *kernels) recordExperts(i int) (passes [3]*record.Recorder) {
	if !k.rec.On() {
		return passes
	}
	id, name, inner, cols := "experts-up", "experts up", "h", "gates * f_expert / ETP"
	if i == 1 {
		id, name, inner, cols = "experts-down", "experts down", "f_expert / ETP", "h"
	}
	rec := k.rec.Scope(id, name)
	rec.Let("groups", "E / EP")
	rec.Let("rows", "T_routed * ETP / (E / EP)")
	rec.Let("inner", inner)
	rec.Let("cols", cols)
	soft := &k.m.Software
	for i, pass := range [...]struct{ id, name string }{{"forward", ""}, {"input-gradient", ", input gradient"}, {"weight-gradient", ", weight gradient"}} {
		r, touched := rec.Scope(pass.id, name+pass.name), "bytes_of_an_operand * (rows * groups * inner + groups * inner * cols) + bytes * rows * groups * cols"
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
			issued += " + E / EP * start_of_a_product"
		}
		k.rec.Term(pass.id, issued)
		passes[i] = r
	}
	k.rec.Given(record.In("experts_of_the_stack_over_the_best_kernels", soft.Experts), record.In("start_of_a_product", soft.Expert))
	return passes
}
