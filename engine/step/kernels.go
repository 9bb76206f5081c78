package step

import (
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// kernels computes the operations of one micro-batch on one GPU.
type kernels struct {
	in     *Input
	m      *hardware.Machine
	tokens float64 // T: tokens of a micro-batch on this rank
	shard  float64 // tokens outside the TP regions: T/t with SP, else T
	t      float64
	elem   float64 // bytes of an element
	input  float64 // bytes of an element that a product reads

	scores, scoresBack units.Seconds // core attention in one layer

	rec                              *record.Recorder // scope of the piece of the model that is computed
	scoresFormula, scoresBackFormula string           // the same as formulas
}

func newKernels(in *Input) kernels {
	l := in.Layout
	k := kernels{
		rec: in.Record, in: in, m: &in.Machine,
		tokens: l.MicroBatchTokens(), t: float64(l.TP), elem: in.Precision.Bytes(), input: in.Precision.OperandBytes(),
	}
	k.shard = k.tokens
	if l.SP {
		k.shard = k.tokens / k.t
	}
	k.symbols()
	k.coreAttention()
	return k
}

// symbols says what the formulas of this package call its quantities.
func (k *kernels) symbols() {
	if !k.rec.On() {
		return
	}
	m := k.in.Model
	k.rec.Given(
		record.In("bytes_of_an_operand", k.input), record.In("gates", k.gates()), record.In("norms", m.NormsPer), record.In("P_extra", m.Extra()),
		record.In("bytes_of_a_gradient", k.in.GradDtype.Bytes(k.in.Precision)), record.In("biased", k.m.Software.Biased),
	)
	k.rec.Let("kv", "max(kv_heads / t, 1) * d")
	k.rec.Let("shard", map[bool]string{false: "T", true: "T / t"}[k.in.Layout.SP])
	k.rec.Figure(record.Entry{
		ID: "layout.hidden-states", Name: "hidden states of one micro-batch", Symbol: "hidden_states", Unit: record.Traffic,
		Formula: "bytes * T * h", Value: k.elem * k.tokens * float64(m.Hidden), Source: "bytes x tokens x hidden width",
	})
	k.rec.Figure(record.Entry{
		ID: "layer.experts.tokens", Name: "routed tokens on the busiest expert rank, over ETP", Symbol: "T_routed", Value: k.routed(),
		Formula: "shard * k * imbalance", Source: "tokens sent x experts per token x imbalance",
	})
}

// begin says which piece of the model is computed from here on.
func (k *kernels) begin(id, what string) {
	k.rec = k.in.Record.Scope(id, what)
	k.rec.Clear()
}

// beginLayer is begin for a kind of layer; of one that the model does not have
// nothing is recorded.
func (k *kernels) beginLayer(moe bool, id, what string) {
	if k.begin(id, what); moe != k.in.Model.IsMoE() && (moe || k.in.Model.MoELayers() == k.in.Model.Layers) {
		k.rec = nil
	}
}

// end records the sums of a piece.
func (k *kernels) end(c *Cost) {
	if !k.rec.On() {
		return
	}
	of := "the " + k.rec.What()
	if strings.HasSuffix(of, "layer") {
		of = "one " + k.rec.What()
	}
	for _, pass := range [...]struct {
		id, name string
		t        units.Seconds
	}{{"forward", "forward", c.Forward}, {"input-gradient", "input gradient", c.InputGrad}, {"weight-gradient", "weight gradient", c.WeightGrad}} {
		k.rec.Figure(record.Entry{
			ID: pass.id, Name: pass.name + " of one micro-batch in " + of, Symbol: pass.id + " of " + k.rec.What(), Unit: record.Seconds,
			Formula: k.rec.Sum(pass.id), Value: float64(pass.t),
			Source: "the sum of its operations", LeavesOut: "exposed communication (its own figure)",
		})
	}
	for _, over := range [...]struct {
		id, name string
		t        units.Seconds
	}{{"unhidden", "TP traffic exposed by a split backward", c.Unhidden}, {"over-forward", "compute of the forward that overlaps with traffic", c.OverForward}, {"over-input", "compute of the input gradient that overlaps with traffic", c.OverInput}} {
		if sum := k.rec.Sum(over.id); sum != "0" {
			k.rec.Figure(record.Entry{
				ID: over.id, Name: over.name + " in " + of, Symbol: over.id + " of " + k.rec.What(), Unit: record.Seconds,
				Formula: sum, Value: float64(over.t), Source: "the sum over its traffic",
			})
		}
	}
}

// matmul adds one product of rows x inner x cols: the forward, the gradient of
// its input and that of its weight.
func (k *kernels) matmul(c *Cost, p product, rows, inner, cols float64) {
	in, weight, out := rows*inner, inner*cols, rows*cols
	b := k.operands(in, weight, out)
	f, i, w := k.recordProduct(&p, float64(b.forward))
	c.Forward += k.m.MatMul(f, rows, inner, cols, b.forward)
	c.InputGrad += k.m.MatMul(i, rows, cols, inner, b.inputGrad)
	c.WeightGrad += k.m.MatMul(w, inner, rows, cols, b.weightGrad)
	if k.input < k.elem {
		k.cast(c, p.id, p.name, in, out)
	}
}

// touched are the bytes of a product's operands and result, and of its gradients'.
type touched struct{ forward, inputGrad, weightGrad units.Bytes }

// operands returns those of a product; its weight's gradient is read and written in the
// width of its buffer.
func (k *kernels) operands(in, weight, out float64) touched {
	return touched{
		forward:    units.Bytes(k.input*(in+weight) + k.elem*out),
		inputGrad:  units.Bytes(k.input*(out+weight) + k.elem*in),
		weightGrad: units.Bytes(k.input*(in+out) + 2*k.in.GradDtype.Bytes(k.in.Precision)*weight),
	}
}

// product is what a matrix product is called and the formulas of its shape.
type product struct{ id, name, rows, inner, cols string }

// recordProduct makes the scopes of a product and its two gradients.
func (k *kernels) recordProduct(p *product, touched float64) (forward, inputGrad, weightGrad *record.Recorder) {
	if !k.rec.On() {
		return nil, nil, nil
	}
	rec := k.rec.Scope(p.id, p.name)
	rec.Let("rows", p.rows)
	rec.Let("inner", p.inner)
	rec.Let("cols", p.cols)
	rec.Figure(record.Entry{
		ID: "bytes", Name: "operands and result of the " + p.name, Symbol: "touched", Unit: record.Memory, Value: touched,
		Formula: "bytes_of_an_operand * (rows * inner + inner * cols) + bytes * rows * cols", Source: "read and written once each",
	})
	forward = rec.Scope("forward", p.name)
	inputGrad = rec.Scope("input-gradient", p.name+", input gradient")
	inputGrad.Let("inner", "cols")
	inputGrad.Let("cols", "inner")
	inputGrad.Let("touched", "bytes_of_an_operand * (rows * cols + inner * cols) + bytes * rows * inner")
	weightGrad = rec.Scope("weight-gradient", p.name+", weight gradient")
	weightGrad.Let("rows", "inner")
	weightGrad.Let("inner", "rows")
	weightGrad.Let("touched", "bytes_of_an_operand * (rows * inner + rows * cols) + 2 * bytes_of_a_gradient * inner * cols")
	k.rec.Term("forward", forward.Ref(""))
	k.rec.Term("input-gradient", inputGrad.Ref(""))
	k.rec.Term("weight-gradient", weightGrad.Ref(""))
	return forward, inputGrad, weightGrad
}

// stream adds an element-wise operation that moves that many bytes forward and
// twice as many backward, times the passes that the stack makes of it.
func (k *kernels) stream(c *Cost, p pass, bytes float64) {
	t := k.m.Stream(units.Bytes(bytes * k.m.Software.Passes))
	c.Forward += t
	c.InputGrad += 2 * t
	if k.rec.On() {
		k.rec.Figure(record.Entry{
			ID: p.id, Name: p.name, Symbol: "t(" + p.name + ")", Unit: record.Seconds, Value: float64(t),
			Formula: k.m.StreamFormula("passes_of_the_stack * "+p.bytes, t),
			Source:  "bytes moved through memory, forward; the backward takes twice as long; " + record.From(k.m.Software.From),
		})
		k.rec.Term("forward", k.rec.Ref(p.id))
		k.rec.Term("input-gradient", "2 * "+k.rec.Ref(p.id))
	}
}

// pass is what an element-wise operation is called and the formula of its bytes, a
// product.
type pass struct{ id, name, bytes string }

// layer returns one transformer layer, dense or with routed experts.
func (k *kernels) layer(moe bool) Cost {
	m := k.in.Model
	var c Cost
	if moe {
		k.beginLayer(true, "layer.moe", "MoE layer")
	} else {
		k.beginLayer(false, "layer.dense", "dense layer")
	}
	h := float64(m.Hidden)
	k.projections(&c)
	c.Forward += k.scores
	c.InputGrad += k.scoresBack
	if k.rec.On() && k.scores > 0 {
		k.rec.Term("forward", k.scoresFormula)
		k.rec.Term("input-gradient", k.scoresBackFormula)
	}
	// norms and residual additions: 4h and 6h bytes each in 16-bit
	k.stream(&c, pass{"norms", "norms and residuals", "bytes * shard * h * (2 * norms + 6)"}, k.elem*k.shard*h*(2*float64(m.NormsPer)+6))
	if extra := float64(m.Extra()) / float64(m.Layers) / k.t; extra > 0 {
		k.matmul(&c, product{"extra", "extra parameters", "T", "P_extra / (L * h * t)", "h"}, k.tokens, extra/h, h) // what fits no other part, as one matrix
	}
	if moe {
		k.experts(&c)
	} else {
		k.mlp(&c, false)
	}
	k.tensorParallel(&c, moe)
	k.contextParallel(&c)
	if moe {
		k.expertParallel(&c)
	}
	k.host(&c, moe)
	k.end(&c)
	return c
}

// projections are the products around core attention.
func (k *kernels) projections(c *Cost) {
	m := k.in.Model
	h, a := float64(m.Hidden), float64(m.Heads)/k.t
	if !m.IsMLA() {
		q, kv := a*float64(m.HeadDim), m.KVHeadsPerRank(k.in.Layout.TP)*float64(m.HeadDim)
		k.matmul(c, product{"qkv", "query, key and value projections", "T", "h", "a / t * d + 2 * kv"}, k.tokens, h, q+2*kv)
		k.matmul(c, product{"output", "output projection", "T", "a / t * d", "h"}, k.tokens, q, h)
		k.stream(c, pass{"rotary", "rotary positions", "bytes * 2 * T * (a / t * d + kv)"}, k.elem*2*k.tokens*(q+kv))
		return
	}
	qk, v := float64(m.QKNopeDim+m.QKRopeDim), float64(m.VHeadDim)
	if m.QLoraRank > 0 {
		k.matmul(c, product{"query-down", "query down-projection", "shard", "h", "r_q"}, k.shard, h, float64(m.QLoraRank))
	}
	k.matmul(c, product{"kv-down", "key-value down-projection", "shard", "h", "r_kv + d_rope"}, k.shard, h, float64(m.KVLoraRank+m.QKRopeDim))
	k.latentUp(c)
	k.matmul(c, product{"output", "output projection", "T", "a / t * d_v", "h"}, k.tokens, a*v, h)
	k.stream(c, pass{"rotary", "rotary positions", "bytes * 2 * T * a / t * 2 * (d_nope + d_rope)"}, k.elem*2*k.tokens*a*2*qk)
}

// latentUp are MLA's projections from the latents to queries, keys and values.
func (k *kernels) latentUp(c *Cost) {
	m := k.in.Model
	a, rank, wide := float64(m.Heads)/k.t, m.QLoraRank, "r_q"
	if rank == 0 {
		rank, wide = m.Hidden, "h" // queries come from the hidden state directly
	}
	k.matmul(c, product{"query-up", "query up-projection", "T", wide, "a / t * (d_nope + d_rope)"}, k.tokens, float64(rank), a*float64(m.QKNopeDim+m.QKRopeDim))
	k.matmul(c, product{"kv-up", "key-value up-projection", "T", "r_kv", "a / t * (d_nope + d_v)"}, k.tokens, float64(m.KVLoraRank), a*float64(m.QKNopeDim+m.VHeadDim))
}

// gates returns how many matrices an MLP has before its activation.
func (k *kernels) gates() float64 {
	if k.in.Model.Gated {
		return 2
	}
	return 1
}

// activation is that of an MLP over so many elements: gate and up read, the
// product written.
func (k *kernels) activation(c *Cost, p pass, elements float64) {
	k.stream(c, p, k.elem*(k.gates()+1)*elements)
}

// The bytes of the activations of a dense MLP, of the shared and of the routed
// experts, as formulas.
const (
	mlpAct    = "bytes * (gates + 1) * T * f / t"
	sharedAct = "bytes * (gates + 1) * T * f_shared / t"
	expertAct = "bytes * (gates + 1) * T_routed * f_expert"
)

// routed returns the number of rows that one rank's experts work on, times their
// width over ETP: tokens sent times experts per token, and the load of the
// busiest rank.
func (k *kernels) routed() float64 {
	return k.shard * float64(k.in.Model.TopK) * k.in.Load
}

// mlp is a dense MLP, or the shared experts.
func (k *kernels) mlp(c *Cost, shared bool) {
	m := k.in.Model
	act, width := pass{"mlp-activation", "activation of the MLP", mlpAct}, float64(m.FFN)
	up, down := product{"mlp-up", "MLP up", "T", "h", "gates * f / t"}, product{"mlp-down", "MLP down", "T", "f / t", "h"}
	if shared {
		act, width = pass{"shared-activation", "activation of the shared experts", sharedAct}, float64(m.SharedFFN)
		up = product{"shared-up", "shared experts up", "T", "h", "gates * f_shared / t"}
		down = product{"shared-down", "shared experts down", "T", "f_shared / t", "h"}
	}
	h := float64(m.Hidden)
	k.matmul(c, up, k.tokens, h, k.gates()*width/k.t)
	k.matmul(c, down, k.tokens, width/k.t, h)
	k.activation(c, act, k.tokens*width/k.t)
}

func (k *kernels) embedding() Cost {
	var c Cost
	k.begin("embedding", "embedding")
	k.stream(&c, pass{"look-up", "look-up", "2 * bytes * T * h"}, 2*k.elem*k.tokens*float64(k.in.Model.Hidden))
	k.edge(&c)
	k.end(&c)
	return c
}

// head returns the final norm, the output projection and the loss.
func (k *kernels) head() Cost {
	var c Cost
	k.begin("head", "head")
	m := k.in.Model
	k.stream(&c, pass{"norm", "final norm", "2 * bytes * shard * h"}, 2*k.elem*k.shard*float64(m.Hidden))
	k.headProduct(&c, float64(m.Vocab)/k.t)
	c.HeadWeightGrad = c.WeightGrad
	k.loss(&c, k.tokens*float64(m.Vocab)/k.t)
	k.edge(&c)
	k.end(&c)
	return c
}

// loss adds the passes of the cross-entropy over so many logits.
func (k *kernels) loss(c *Cost, logits float64) {
	forward, backward := k.in.Loss.LogitBytes(k.elem)
	f, b := k.m.Stream(units.Bytes(forward*logits)), k.m.Stream(units.Bytes(backward*logits))
	c.Forward += f
	c.InputGrad += b
	if k.rec.On() {
		k.recordLoss("loss", "loss over the logits", "forward", forward, f)
		k.recordLoss("loss-gradient", "gradient of the logits", "input-gradient", backward, b)
	}
}

func (k *kernels) recordLoss(id, name, pass string, bytes float64, t units.Seconds) {
	k.rec.Figure(record.Entry{
		ID: id, Name: name, Symbol: "t(" + name + ")", Unit: record.Seconds, Value: float64(t),
		Formula:   k.m.StreamFormula("bytes_per_logit * T * V / t", t),
		Source:    "fused: logits read and written once; else every operation of the loss in fp32 (NVIDIA/Megatron-LM, tensor_parallel/cross_entropy.py)",
		LeavesOut: "reductions of a number per token",
	}, record.In("bytes_per_logit", bytes))
	k.rec.Term(pass, k.rec.Ref(id))
}

func (k *kernels) mtpProjection() Cost {
	var c Cost
	k.begin("mtp-projection", "MTP projection")
	h := float64(k.in.Model.Hidden)
	k.matmul(&c, product{"projection", "MTP projection", "shard", "2 * h", "h"}, k.shard, 2*h, h)
	k.end(&c)
	return c
}
