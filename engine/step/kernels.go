package step

import (
	"meshscope/engine/hardware"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// kernels works out the operations of one micro-batch on one GPU.
type kernels struct {
	in     *Input
	rates  hardware.Rates
	tokens float64 // T: tokens of a micro-batch on this rank
	shard  float64 // tokens outside the TP regions: T/t with SP, else T
	t      float64
	elem   float64 // bytes of an element

	scores units.Seconds // forward of core attention in one layer
}

func newKernels(in *Input) kernels {
	l := in.Layout
	k := kernels{
		in: in, rates: in.Cluster.GPU.Rates(in.Precision),
		tokens: l.MicroBatchTokens(), t: float64(l.TP), elem: in.Precision.Bytes(),
	}
	k.shard = k.tokens
	if l.SP {
		k.shard = k.tokens / k.t
	}
	window := in.Model.WindowShare(l.Seq, true)
	work := in.Model.LayerForward(false, l.Seq, true).Scores * units.FLOPs(window*l.CausalImbalance()*k.tokens/k.t)
	k.scores = k.rates.Fused(work)
	if in.Attention == recipe.Standard {
		// the scores pass through memory: written, read by softmax, dropout and the second product
		k.scores += k.rates.Stream(units.Bytes(4 * k.elem * float64(in.Model.Heads) * float64(l.Seq) * k.tokens / k.t))
	}
	return k
}

// matmul adds one product of rows x inner x cols: the forward, the gradient of
// its input and that of its weight cost the same.
func (k *kernels) matmul(c *Cost, rows, inner, cols float64) {
	t := k.product(rows, inner, cols)
	c.Forward += t
	c.InputGrad += t
	c.WeightGrad += t
}

func (k *kernels) product(rows, inner, cols float64) units.Seconds {
	flops := units.FLOPs(2 * rows * inner * cols)
	bytes := units.Bytes(k.elem * (rows*inner + inner*cols + rows*cols))
	return k.rates.MatMul(flops, bytes)
}

// stream adds an element-wise operation that moves that many bytes forward and
// twice as many backward.
func (k *kernels) stream(c *Cost, bytes float64) {
	t := k.rates.Stream(units.Bytes(bytes))
	c.Forward += t
	c.InputGrad += 2 * t
}

// layer is one transformer layer, dense or with routed experts.
func (k *kernels) layer(moe bool) Cost {
	m := k.in.Model
	var c Cost
	h := float64(m.Hidden)
	k.projections(&c)
	c.Forward += k.scores
	c.InputGrad += k.scores * 5 / 2 // five products instead of two (FlashAttention-2, arXiv 2307.08691)
	// norms and residual additions: 4h and 6h bytes each in 16-bit
	k.stream(&c, k.elem*k.shard*h*(2*float64(m.NormsPer)+6))
	if extra := float64(m.Extra()) / float64(m.Layers) / k.t; extra > 0 {
		k.matmul(&c, k.tokens, extra/h, h) // what fits no other part, as one matrix
	}
	if moe {
		k.experts(&c)
	} else {
		k.mlp(&c, float64(m.FFN))
	}
	k.tensorParallel(&c, moe)
	k.contextParallel(&c)
	if moe {
		k.expertParallel(&c)
	}
	return c
}

// projections are the products around core attention.
func (k *kernels) projections(c *Cost) {
	m := k.in.Model
	h, a := float64(m.Hidden), float64(m.Heads)/k.t
	if !m.IsMLA() {
		q, kv := a*float64(m.HeadDim), m.KVHeadsPerRank(k.in.Layout.TP)*float64(m.HeadDim)
		k.matmul(c, k.tokens, h, q+2*kv)
		k.matmul(c, k.tokens, q, h)
		k.stream(c, k.elem*2*k.tokens*(q+kv)) // rotary positions
		return
	}
	qk, v := float64(m.QKNopeDim+m.QKRopeDim), float64(m.VHeadDim)
	if m.QLoraRank > 0 {
		k.matmul(c, k.shard, h, float64(m.QLoraRank))
	}
	k.matmul(c, k.shard, h, float64(m.KVLoraRank+m.QKRopeDim))
	k.latentUp(c)
	k.matmul(c, k.tokens, a*v, h)
	k.stream(c, k.elem*2*k.tokens*a*2*qk)
}

// latentUp are MLA's projections from the latents to queries, keys and values.
func (k *kernels) latentUp(c *Cost) {
	m := k.in.Model
	a, rank := float64(m.Heads)/k.t, m.QLoraRank
	if rank == 0 {
		rank = m.Hidden // queries come from the hidden state directly
	}
	k.matmul(c, k.tokens, float64(rank), a*float64(m.QKNopeDim+m.QKRopeDim))
	k.matmul(c, k.tokens, float64(m.KVLoraRank), a*float64(m.QKNopeDim+m.VHeadDim))
}

// gates is how many matrices an MLP has before its activation.
func (k *kernels) gates() float64 {
	if k.in.Model.Gated {
		return 2
	}
	return 1
}

// activation is that of an MLP over so many elements: gate and up read, the
// product written.
func (k *kernels) activation(c *Cost, elements float64) {
	k.stream(c, k.elem*(k.gates()+1)*elements)
}

// routed is the number of rows that one rank's experts work on, times their
// width over ETP: tokens sent times experts per token, and the load of the
// busiest rank.
func (k *kernels) routed() float64 {
	return k.shard * float64(k.in.Model.TopK) * k.in.Load
}

// mlp is a dense MLP (or the shared experts) of the given width.
func (k *kernels) mlp(c *Cost, width float64) {
	h := float64(k.in.Model.Hidden)
	k.matmul(c, k.tokens, h, k.gates()*width/k.t)
	k.matmul(c, k.tokens, width/k.t, h)
	k.activation(c, k.tokens*width/k.t)
}

// grouped is how much of the rate of one large product a grouped product
// reaches: the B200 medians 0.30 against 0.49 of SimuMax's tables.
const grouped = 0.61

// experts are router, permutation, grouped products and shared experts.
// A rank computes as many tokens as it sends, times the load of the busiest.
func (k *kernels) experts(c *Cost) {
	m, l := k.in.Model, k.in.Layout
	h := float64(m.Hidden)
	if m.SharedFFN > 0 {
		k.mlp(c, float64(m.SharedFFN))
	}
	k.matmul(c, k.shard, h, float64(m.Experts))
	routed := k.routed()
	k.stream(c, 4*k.elem*routed*h) // permute and unpermute, read and write
	local := float64(m.Experts) / float64(l.EP)
	rows := routed * float64(l.ETP) / local
	width := float64(m.ExpertFFN) / float64(l.ETP)
	for _, p := range [2][2]float64{{h, k.gates() * width}, {width, h}} {
		t := k.product(rows*local, p[0], p[1])
		read := units.Bytes(k.elem * local * p[0] * p[1]).Over(k.rates.Memory)
		t = max(t/grouped, read)
		c.Forward += t
		c.InputGrad += t
		c.WeightGrad += t
	}
	k.activation(c, routed*float64(l.ETP)*width)
}

func (k *kernels) embedding() Cost {
	var c Cost
	k.stream(&c, 2*k.elem*k.tokens*float64(k.in.Model.Hidden))
	k.edge(&c)
	return c
}

// head is the final norm, the output projection and the loss.
func (k *kernels) head() Cost {
	var c Cost
	m := k.in.Model
	k.stream(&c, 2*k.elem*k.shard*float64(m.Hidden))
	k.matmul(&c, k.tokens, float64(m.Hidden), float64(m.Vocab)/k.t)
	c.HeadWeightGrad = c.WeightGrad
	k.stream(&c, 2*k.elem*k.tokens*float64(m.Vocab)/k.t)
	k.edge(&c)
	return c
}

func (k *kernels) mtpProjection() Cost {
	var c Cost
	h := float64(k.in.Model.Hidden)
	k.matmul(&c, k.shard, 2*h, h)
	return c
}
