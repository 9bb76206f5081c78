package step

import (
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// cast adds making the 4-bit operands of a product, an element-wise operation each: its
// input in the forward, the gradient of its output in the backward. Its weight is cast once
// per step: see OptimizerTime.
func (k *kernels) cast(c *Cost, id, name string, in, out float64, forward, backward bool) {
	if forward {
		t := k.m.Stream(units.Bytes(recipe.CastBytes * in))
		c.Forward += t
		k.recordCast("cast", id, name, t)
	}
	if backward {
		t := k.m.Stream(units.Bytes(recipe.CastBytes * out))
		c.InputGrad += t
		k.recordCast("cast-gradient", id, name, t)
	}
}

// recordCast records one cast of a product: of its input, or of the gradient of its output.
func (k *kernels) recordCast(which, id, name string, t units.Seconds) {
	if !k.rec.On() {
		return
	}
	rec := k.rec.Scope(id, name)
	what, elements, pass := "input of the "+name, "rows * inner", "forward"
	if which == "cast-gradient" {
		what, elements, pass = "gradient of the "+name, "rows * cols", "input-gradient"
	}
	if id == "experts-up" || id == "experts-down" {
		elements += " * groups"
	}
	rec.Figure(record.Entry{
		ID: which, Name: "cast of the " + what, Symbol: "t(cast of the " + what + ")", Unit: record.Seconds, Value: float64(t),
		Formula: k.m.StreamFormula("bytes_of_a_cast * "+elements, t),
		Source:  "read for the scale of the tensor, read again, written by rows and by columns (NVIDIA/TransformerEngine, NVFP4BlockScaling)",
	}, record.In("bytes_of_a_cast", recipe.CastBytes))
	k.rec.Term(pass, rec.Ref(which))
}
