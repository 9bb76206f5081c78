package step

import (
	"meshscope/engine/hardware"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// kernels works out the operations of one micro-batch on one GPU.
type kernels struct {
	in     *Input
	m      *hardware.Machine
	tokens float64 // T: tokens of a micro-batch on this rank
	shard  float64 // tokens outside the TP regions: T/t with SP, else T
	t      float64
	elem   float64 // bytes of an element

	scores, scoresBack units.Seconds // core attention in one layer
}

func newKernels(in *Input) kernels {
	l := in.Layout
	k := kernels{
		in: in, m: &in.Machine,
		tokens: l.MicroBatchTokens(), t: float64(l.TP), elem: in.Precision.Bytes(),
	}
	k.shard = k.tokens
	if l.SP {
		k.shard = k.tokens / k.t
	}
	k.coreAttention()
	return k
}

// coreAttention is scores, softmax and the product with the values.
func (k *kernels) coreAttention() {
	m, l := k.in.Model, k.in.Layout
	width := m.HeadDim
	if m.IsMLA() {
		width = m.QKNopeDim + m.QKRopeDim
	}
	if k.in.Attention != recipe.Standard {
		f := m.LayerForward(false, l.Seq, true).Scores * units.FLOPs(m.WindowShare(l.Seq, true)*l.CausalImbalance()*k.tokens/k.t)
		k.scores, k.scoresBack = k.m.Attention(f, width)
		k.ring()
		return
	}
	// Unfused: two batched products over the whole square, the mask does not
	// help, and the scores pass through memory: written, read and written by
	// the scaled masked softmax, by dropout (with its mask), read again.
	heads := float64(m.Heads) / k.t
	square := heads * k.tokens * float64(l.Seq)
	touched := units.Bytes(k.elem * (square + 2*heads*k.tokens*float64(width)))
	batched := max(heads*k.tokens/float64(l.Seq), 1) // products, one per head and sequence
	rows := heads * k.tokens / batched
	first := k.m.GroupedMatMul(batched, rows, float64(width), float64(l.Seq), touched)
	second := k.m.GroupedMatMul(batched, rows, float64(l.Seq), float64(width), touched)
	passes := (2*k.elem + 2*k.elem + 1)
	k.scores = first + second + k.m.Stream(units.Bytes(passes*square))
	k.scoresBack = 2*(first+second) + k.m.Stream(units.Bytes((passes+k.elem)*square))
}

// matmul adds one product of rows x inner x cols: the forward, the gradient of
// its input and that of its weight.
func (k *kernels) matmul(c *Cost, rows, inner, cols float64) {
	in, weight, out := rows*inner, inner*cols, rows*cols
	touched := units.Bytes(k.elem * (in + weight + out))
	c.Forward += k.m.MatMul(rows, inner, cols, touched)
	c.InputGrad += k.m.MatMul(rows, cols, inner, touched)
	// the weight gradient is read and written in the width of its buffer
	c.WeightGrad += k.m.MatMul(inner, rows, cols, units.Bytes(k.elem*(in+out)+2*k.in.GradDtype.Bytes(k.in.Precision)*weight))
}

// stream adds an element-wise operation that moves that many bytes forward and
// twice as many backward, times the passes that the stack makes of it.
func (k *kernels) stream(c *Cost, bytes float64) {
	t := k.m.Stream(units.Bytes(bytes * k.m.Software.Passes))
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
	c.InputGrad += k.scoresBack
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
	k.host(&c, moe)
	return c
}

// hostForward is the part of a layer's issue time that falls on the forward.
const hostForward = 0.4

// host keeps a layer from being faster than the host can issue it, and adds what a
// layer with experts waits for the host.
func (k *kernels) host(c *Cost, moe bool) {
	l, soft := k.in.Layout, &k.m.Software
	floor := soft.HostLayer
	if l.TP > 1 {
		layer, rank := soft.HostTP, soft.HostTPRank
		if l.GPUs > k.m.Cluster.Domain() && soft.HostTPFar > 0 {
			layer, rank = soft.HostTPFar, soft.HostTPRankFar
		}
		if k.in.Groups.TP.Crosses() {
			rank = soft.HostTPRankCross
			if soft.HostTPFar > 0 {
				rank = soft.HostTPRankCrossFar
			}
		}
		floor = max(floor, layer+rank*units.Seconds(l.TP))
	}
	if moe {
		c.Forward += soft.MoELayer * hostForward
		c.InputGrad += soft.MoELayer * (1 - hostForward)
		if k.in.Precision.IsFP8() {
			floor = max(floor, soft.HostMoE8)
		}
	}
	c.Forward += max(0, floor*hostForward-c.ForwardTime())
	c.InputGrad += max(0, floor*(1-hostForward)-c.BackwardTime())
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
	soft := &k.m.Software
	issued := func(t units.Seconds) units.Seconds {
		if soft.Experts > 0 {
			t *= units.Seconds(soft.Experts)
		}
		return t + soft.Expert*units.Seconds(local)
	}
	for _, p := range [2][2]float64{{h, k.gates() * width}, {width, h}} {
		in, weight, out := rows*local*p[0], local*p[0]*p[1], rows*local*p[1]
		touched := units.Bytes(k.elem * (in + weight + out))
		c.Forward += issued(k.m.GroupedMatMul(local, rows, p[0], p[1], touched))
		c.InputGrad += issued(k.m.GroupedMatMul(local, rows, p[1], p[0], touched))
		c.WeightGrad += issued(k.m.GroupedMatMul(local, rows, p[0], p[1],
			units.Bytes(k.elem*(in+out)+2*k.in.GradDtype.Bytes(k.in.Precision)*weight)))
	}
	elements := routed * float64(m.ExpertFFN)
	k.activation(c, elements)
	if m.MLPBias && soft.Biased > 0 {
		k.activation(c, soft.Biased*elements)
	}
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
	// The loss is one fused pass in every stack: logits read and written forward,
	// their gradient written and read backward.
	loss := k.m.Stream(units.Bytes(2 * k.elem * k.tokens * float64(m.Vocab) / k.t))
	c.Forward += loss
	c.InputGrad += loss
	k.edge(&c)
	return c
}

func (k *kernels) mtpProjection() Cost {
	var c Cost
	h := float64(k.in.Model.Hidden)
	k.matmul(&c, k.shard, 2*h, h)
	return c
}
