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
	forward, backward := k.m.Stream(units.Bytes(recipe.CastBytes*in)), k.m.Stream(units.Bytes(recipe.CastBytes*out))
	c.Forward += forward
	c.InputGrad += backward
	if k.rec.On() {
		k.recordCast("cast", id, name, forward)
		k.recordCast("cast-gradient", id, name, backward)
	}
}

// castExperts is cast for a product of the experts. Fused, the input of the down projection
// leaves the up projection in 4 bits, and so does the gradient on its way back.
func (k *kernels) castExperts(c *Cost, id, name string, in, out float64, down bool) {
	if !k.m.Software.FusedExperts {
		k.cast(c, id, name, in, out)
		return
	}
	if down {
		t := k.m.Stream(units.Bytes(recipe.CastBytes * out))
		c.InputGrad += t
		if k.rec.On() {
			k.recordCast("cast-gradient", id, name, t)
		}
		return
	}
	t := k.m.Stream(units.Bytes(recipe.CastBytes * in))
	c.Forward += t
	if k.rec.On() {
		k.recordCast("cast", id, name, t)
	}
}

// recordCast records one cast of a product: of its input, or of the gradient of its output.
func (k *kernels) recordCast(which, id, name string, t units.Seconds) {
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

// headProduct adds the product of the head, of so many columns, which stays in 16 bits with
// fp8 and NVFP4 (DeepSeek-V3, arXiv 2412.19437, section 3.3.1; in Megatron-LM it is no module
// of Transformer Engine: tensor_parallel/layers.py).
func (k *kernels) headProduct(c *Cost, cols float64) {
	k.wideProduct(c, product{"output", "head projection", "T", "h", "V / t"}, k.tokens, float64(k.in.Model.Hidden), cols)
}

// router adds the router's product, which NVFP4 leaves in 16 bits like the head's: it is no module
// of Transformer Engine (NVIDIA/Megatron-LM, transformer/moe/router.py). The fitted rates of fp8
// have it among the products of layers.
func (k *kernels) router(c *Cost) {
	m, p := k.in.Model, product{"router", "router", "shard", "h", "E"}
	if k.input < k.elem {
		k.wideProduct(c, p, k.shard, float64(m.Hidden), float64(m.Experts))
		return
	}
	k.matmul(c, p, k.shard, float64(m.Hidden), float64(m.Experts))
}

// wideProduct is matmul in 16 bits, without casts.
func (k *kernels) wideProduct(c *Cost, p product, rows, inner, cols float64) {
	input := k.input
	k.input = k.elem
	b := k.operands(rows*inner, inner*cols, rows*cols)
	k.rec.Scope(p.id, p.name).Given(record.In("bytes_of_an_operand", k.input))
	f, i, w := k.recordProduct(&p, float64(b.forward))
	k.input = input
	c.Forward += k.m.HeadMatMul(f, rows, inner, cols, b.forward)
	c.InputGrad += k.m.HeadMatMul(i, rows, cols, inner, b.inputGrad)
	c.WeightGrad += k.m.HeadMatMul(w, inner, rows, cols, b.weightGrad)
}
