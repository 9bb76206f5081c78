package step

import (
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// cast adds making the 4-bit operands of a product, an element-wise operation each: its
// input in the forward, the gradient of its output in the backward. Its weight is cast once
// per step: see OptimizerTime.
func (k *kernels) cast(c *Cost, id, name string, in, out float64) {
	forward := k.m.Stream(units.Bytes(recipe.CastBytes * in))
	backward := k.m.Stream(units.Bytes(recipe.CastBytes * out))
	c.Forward += forward
	c.InputGrad += backward
	if !k.rec.On() {
		return
	}
	rec := k.rec.Scope(id, name)
	groups := ""
	if id == "experts-up" || id == "experts-down" {
		groups = " * groups"
	}
	for _, p := range [...]struct {
		id, what, elements, pass string
		t                        units.Seconds
	}{
		{"cast", "input of the " + name, "rows * inner" + groups, "forward", forward},
		{"cast-gradient", "gradient of the " + name, "rows * cols" + groups, "input-gradient", backward},
	} {
		rec.Figure(record.Entry{
			ID: p.id, Name: "cast of the " + p.what, Symbol: "t(cast of the " + p.what + ")", Unit: record.Seconds, Value: float64(p.t),
			Formula: k.m.StreamFormula("bytes_of_a_cast * "+p.elements, p.t),
			Source:  "read for the scale of the tensor, read again, written by rows and by columns (NVIDIA/TransformerEngine, NVFP4BlockScaling)",
		}, record.In("bytes_of_a_cast", recipe.CastBytes))
		k.rec.Term(p.pass, rec.Ref(p.id))
	}
}

// headProduct adds the product of the head, of so many columns, which stays in 16 bits with
// fp8 and NVFP4 (DeepSeek-V3, arXiv 2412.19437, section 3.3.1; in Megatron-LM it is no module
// of Transformer Engine: tensor_parallel/layers.py).
func (k *kernels) headProduct(c *Cost, cols float64) {
	rows, inner := k.tokens, float64(k.in.Model.Hidden)
	input := k.input
	k.input = k.elem
	b := k.operands(rows*inner, inner*cols, rows*cols)
	k.rec.Given(record.In("bytes_of_an_operand", k.input))
	f, i, w := k.recordProduct(&product{"output", "head projection", "T", "h", "V / t"}, float64(b.forward))
	k.input = input
	c.Forward += k.m.HeadMatMul(f, rows, inner, cols, b.forward)
	c.InputGrad += k.m.HeadMatMul(i, rows, cols, inner, b.inputGrad)
	c.WeightGrad += k.m.HeadMatMul(w, inner, rows, cols, b.weightGrad)
}
