package step

import (
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// shape returns what a product multiplies on one GPU: a matrix of inner x cols with so many
// rows. Between cut tensors a rank has all rows of the micro-batch.
func (k *kernels) shape(l *model.Layer, o *model.Op) (rows, inner, cols record.Num) {
	if rows = k.shard; l.SplitIn(o) || l.SplitOut(o) {
		rows = k.tokens
	}
	// one after the other
	if inner, cols = l.Tensor(o.In[0]).On(k.t, k.etp), l.WidthOn(o.Out, k.t, k.etp); o.Blocks.V > 0 {
		cols = cols.Over(o.Blocks.Over(k.t))
	}
	return rows, inner, cols
}

// product adds a product of a layer. The router's stays in 16 bits where NVFP4 quantises
// others: it is no module of Transformer Engine (NVIDIA/Megatron-LM,
// transformer/moe/router.py). The fitted rates of fp8 have it among the products of layers.
// A rank's experts compute as many tokens as it sends, times the load of the busiest. Fused, the
// input of the down projection leaves the up projection in 4 bits, and so does the gradient on its
// way back.
func (k *kernels) product(c *Cost, l *model.Layer, o *model.Op) {
	p := product{id: o.ID, name: o.Name, wide: o.Kind == model.Gate && k.input < k.elem}
	p.rows, p.inner, p.cols = k.shape(l, o)
	if o.Kind == model.Grouped {
		p.experts = l.Experts.Over(k.in.Record.Named("EP", float64(k.in.Layout.EP)))
		p.groups, p.rows = p.experts, k.routed.Times(k.etp).Over(p.experts)
		p.fused, p.down = k.m.Software.FusedExperts, l.SplitIn(o)
	}
	k.matmul(c, &p)
}

// product is what a matrix product is called, and its shape: of a grouped one that of each group.
type product struct {
	id, name                  string
	groups, rows, inner, cols record.Num
	experts                   record.Num // on this rank, whose products these are
	wide                      bool       // in 16 bits whatever the precision
	fused, down               bool       // of experts
}

// matmul adds one product: the forward, the gradient of its input and that of its weight, which is
// read and written in the width of its buffer.
func (k *kernels) matmul(c *Cost, p *product) {
	rows, inner, cols, n, operand, narrow := p.rows.V, p.inner.V, p.cols.V, max(
		p.groups.V,
		1,
	), k.input, k.input < k.elem &&
		!p.wide
	if p.wide {
		operand = k.elem
	}
	in, weight, out := rows*n*inner, n*inner*cols, rows*n*cols
	touched := operand*(in+weight) + k.elem*out
	rec := k.recordProduct(p, operand, touched)
	k.issue(&c.Forward, rec[0], p, "forward", rows, inner, cols, touched)
	k.issue(&c.InputGrad, rec[1], p, "input-gradient", rows, cols, inner, operand*(out+weight)+k.elem*in)
	if p.groups.V == 0 {
		rows, inner = inner, rows
	}
	k.issue(
		&c.WeightGrad,
		rec[2],
		p,
		weightGradient,
		rows,
		inner,
		cols,
		operand*(in+out)+2*k.in.GradDtype.Bytes(k.in.Precision)*weight,
	)
	if narrow && (!p.fused || !p.down) {
		k.cast(&c.Forward, p, "forward", "cast", "input", "rows * inner", in)
	}
	if narrow && (!p.fused || p.down) {
		k.cast(&c.InputGrad, p, "input-gradient", "cast-gradient", "gradient", "rows * cols", out)
	}
}

// recordProduct makes the scopes of a product and its two gradients.
func (k *kernels) recordProduct(p *product, operand, touched float64) (passes [3]*record.Recorder) {
	if !k.rec.On() {
		return passes
	}
	rec, soft := k.rec.Scope(p.id, p.name), &k.m.Software
	in, weight, out, swap := "rows * inner", "inner * cols", "rows * cols", true
	if p.groups.V > 0 {
		in, weight, out, swap = "rows * groups * inner", "groups * inner * cols", "rows * groups * cols",
			false
		rec.Let("groups", p.groups.Text())
	}
	rec.Given(record.In("bytes_of_an_operand", operand))
	k.rec.Given(
		record.In("experts_of_the_stack_over_the_best_kernels", soft.Experts),
		record.In("start_of_a_product", soft.Expert),
	)
	rec.Let("rows", p.rows.Text())
	rec.Let("inner", p.inner.Text())
	rec.Let("cols", p.cols.Text())
	rec.Figure(record.Entry{
		ID: "bytes", Name: "operands and result of the " + p.name, Symbol: "touched", Unit: record.Memory,
		Value:   touched,
		Formula: "bytes_of_an_operand * (" + in + " + " + weight + ") + bytes * " + out,
		Source:  "read and written once each",
	})
	input, weights := rec.Scope(
		"input-gradient",
		p.name+", input gradient",
	), rec.Scope(
		"weight-gradient",
		p.name+", weight gradient",
	)
	input.Let("inner", "cols")
	input.Let("cols", "inner")
	input.Let("touched", "bytes_of_an_operand * ("+out+" + "+weight+") + bytes * "+in)
	if swap {
		weights.Let("rows", "inner")
		weights.Let("inner", "rows")
	}
	weights.Let("touched", "bytes_of_an_operand * ("+in+" + "+out+") + 2 * bytes_of_a_gradient * "+weight)
	return [3]*record.Recorder{rec.Scope("forward", p.name), input, weights}
}

// weightGradient is the sum that the gradients of weights add to.
const weightGradient = "weight-gradient"

// issue adds one pass of a product that touches so many bytes. The stack takes longer for those of
// experts: for their arithmetic, and for each to begin.
func (k *kernels) issue(
	to *units.Seconds,
	rec *record.Recorder,
	p *product,
	sum string,
	rows, inner, cols, bytes float64,
) {
	t, soft := k.multiply(rec, p, sum, rows, inner, cols, bytes), &k.m.Software
	if p.experts.V > 0 {
		if soft.Experts > 0 {
			t = k.rec.Named("experts_of_the_stack_over_the_best_kernels", soft.Experts).Times(t)
		}
		t = t.Plus(p.experts.Times(k.rec.Named("start_of_a_product", float64(soft.Expert))))
	}
	k.add(to, sum, t)
}

// multiply returns the time of a pass of a product.
func (k *kernels) multiply(rec *record.Recorder, p *product, pass string, rows, inner, cols, touched float64,
) record.Num {
	var t units.Seconds
	switch bytes := units.Bytes(touched); {
	case p.groups.V > 0 && pass == weightGradient:
		t = k.m.GroupedGradient(rec, p.groups.V, rows, inner, cols, bytes)
	case p.groups.V > 0:
		t = k.m.GroupedMatMul(rec, p.groups.V, rows, inner, cols, bytes)
	case p.wide:
		t = k.m.HeadMatMul(rec, rows, inner, cols, bytes)
	default:
		t = k.m.MatMul(rec, rows, inner, cols, bytes)
	}
	if rec.On() {
		return rec.Named(rec.Ref(""), float64(t))
	}
	return record.Lit(float64(t))
}

// cast adds making a 4-bit operand of a product, an element-wise operation: its input in the forward,
// the gradient of its output in the backward. Its weight is cast once per step: see OptimizerTime.
func (k *kernels) cast(to *units.Seconds, p *product, sum, id, what, formula string, elements float64) {
	rec := k.rec.Scope(p.id, p.name)
	if rec.On() && p.groups.V > 0 {
		formula += " * groups"
	}
	t := k.m.Streamed(record.Lit(recipe.CastBytes).Times(rec.Written(formula, elements)))
	if rec.On() {
		what = "cast of the " + what + " of the " + p.name
		t = rec.Figure(record.Entry{
			ID: id, Name: what, Symbol: "t(" + what + ")", Unit: record.Seconds, Value: t.V,
			Formula: t.Text(),
			Source: "read for the scale of the tensor, read again, written by rows and by columns " +
				"(NVIDIA/TransformerEngine, NVFP4BlockScaling)",
		})
	}
	k.add(to, sum, t)
}
