package step

import (
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
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

	rec                              *record.Recorder // scope of the piece of the model that is worked out
	scoresFormula, scoresBackFormula string           // the same as formulas
}

func newKernels(in *Input) kernels {
	l := in.Layout
	k := kernels{
		rec: in.Record, in: in, m: &in.Machine,
		tokens: l.MicroBatchTokens(), t: float64(l.TP), elem: in.Precision.Bytes(),
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
		record.In("gates", k.gates()), record.In("norms", m.NormsPer), record.In("P_extra", m.Extra()),
		record.In("bytes_of_a_gradient", k.in.GradDtype.Bytes(k.in.Precision)), record.In("biased", k.m.Software.Biased),
	)
	k.rec.Let("kv", "max(kv_heads / t, 1) * d")
	if k.in.Layout.SP {
		k.rec.Let("shard", "T / t")
	}
	k.rec.Let("shard", "T")
	k.rec.Figure(record.Entry{
		ID: "layout.hidden-states", Name: "hidden states of one micro-batch", Symbol: "hidden_states", Unit: record.Traffic,
		Formula: "bytes * T * h", Value: k.elem * k.tokens * float64(m.Hidden), Source: "bytes x tokens x hidden width",
	})
	k.rec.Figure(record.Entry{
		ID: "layer.experts.tokens", Name: "routed tokens on the busiest expert rank, over ETP", Symbol: "T_routed", Value: k.routed(),
		Formula: "shard * k * imbalance", Source: "tokens sent x experts per token x imbalance",
	})
}

// begin says which piece of the model is worked out from here on.
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
			Source: "the sum of its operations", LeavesOut: "communication that nothing hides (its own figure)",
		})
	}
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
		forward, backward := k.ring()
		k.recordFused(f, width, forward, backward)
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
	rec := k.recordUnfused()
	first := k.m.GroupedMatMul(rec[0], batched, rows, float64(width), float64(l.Seq), touched)
	second := k.m.GroupedMatMul(rec[1], batched, rows, float64(l.Seq), float64(width), touched)
	passes := (2*k.elem + 2*k.elem + 1)
	k.scores = first + second + k.m.Stream(units.Bytes(passes*square))
	k.scoresBack = 2*(first+second) + k.m.Stream(units.Bytes((passes+k.elem)*square))
	if k.rec.On() {
		both := rec[0].Ref("") + " + " + rec[1].Ref("")
		k.recordScores(both+" + "+k.m.StreamFormula("bytes_per_score * a / t * T * s", 1),
			"2 * ("+both+") + "+k.m.StreamFormula("(bytes_per_score + bytes) * a / t * T * s", 1), record.In("bytes_per_score", passes))
	}
}

// recordScores records core attention; without a formula there is none.
func (k *kernels) recordScores(forward, backward string, operands ...record.Operand) {
	rec := k.rec.Scope("layer.attention", "core attention")
	e := record.Entry{
		ID: "forward", Name: "core attention, forward", Symbol: "t(core attention)", Unit: record.Seconds, Formula: forward, Value: float64(k.scores),
		Source: record.From(k.m.Ops.From), LeavesOut: "clocks under load",
	}
	rec.Figure(e, operands...)
	e.ID, e.Name, e.Symbol, e.Formula, e.Value = "backward", "core attention, backward", "t(core attention, backward)", backward, float64(k.scoresBack)
	rec.Figure(e, operands...)
	k.scoresFormula, k.scoresBackFormula = rec.Ref("forward"), rec.Ref("backward")
}

// recordFused records a fused kernel of f operations with the formulas of a ring.
func (k *kernels) recordFused(f units.FLOPs, width int, ringForward, ringBackward string) {
	if !k.rec.On() {
		return
	}
	m, l := k.in.Model, k.in.Layout
	k.rec.Figure(record.Entry{
		ID: "layer.attention.core-flops", Name: "FLOPs of core attention of one micro-batch in one layer, as the kernel computes them", Symbol: "F_core",
		Unit: record.FLOPs, Value: float64(f), Formula: "FLOPs_per_token * share_inside_local_windows * imbalance_of_the_causal_split * T / t",
		Source: "2 x heads x widths x sequence / 2 per token under the causal mask, less what windows skip, times the busiest CP rank's share",
	}, record.In("FLOPs_per_token", m.LayerForward(false, l.Seq, true).Scores),
		record.InUnit(record.Share, "share_inside_local_windows", m.WindowShare(l.Seq, true)), record.In("imbalance_of_the_causal_split", l.CausalImbalance()))
	if k.scores > 0 {
		forward, backward := k.m.AttentionFormulas(width)
		k.recordScores(forward+ringForward, backward+ringBackward)
	}
}

// recordUnfused makes the scopes of the two products of unfused attention.
func (k *kernels) recordUnfused() (products [2]*record.Recorder) {
	if !k.rec.On() {
		return products
	}
	width := "d"
	if k.in.Model.IsMLA() {
		width = "(d_nope + d_rope)"
	}
	rec := k.rec.Scope("layer.attention", "core attention")
	for i, p := range [...]product{{id: "scores", name: "scores", inner: width, cols: "s"}, {id: "values", name: "scores times values", inner: "s", cols: width}} {
		r := rec.Scope(p.id, p.name)
		r.Let("groups", "max(a / t * T / s, 1)")
		r.Let("rows", "a / t * T / max(a / t * T / s, 1)")
		r.Let("inner", p.inner)
		r.Let("cols", p.cols)
		r.Let("touched", "bytes * (a / t * T * s + 2 * a / t * T * "+width+")")
		products[i] = r
	}
	return products
}

// matmul adds one product of rows x inner x cols: the forward, the gradient of
// its input and that of its weight.
func (k *kernels) matmul(c *Cost, p product, rows, inner, cols float64) {
	in, weight, out := rows*inner, inner*cols, rows*cols
	touched := units.Bytes(k.elem * (in + weight + out))
	f, i, w := k.recordProduct(&p, float64(touched))
	c.Forward += k.m.MatMul(f, rows, inner, cols, touched)
	c.InputGrad += k.m.MatMul(i, rows, cols, inner, touched)
	// the weight gradient is read and written in the width of its buffer
	c.WeightGrad += k.m.MatMul(w, inner, rows, cols, units.Bytes(k.elem*(in+out)+2*k.in.GradDtype.Bytes(k.in.Precision)*weight))
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
		Formula: "bytes * (rows * inner + inner * cols + rows * cols)", Source: "read and written once each",
	})
	forward = rec.Scope("forward", p.name)
	inputGrad = rec.Scope("input-gradient", p.name+", input gradient")
	inputGrad.Let("inner", "cols")
	inputGrad.Let("cols", "inner")
	weightGrad = rec.Scope("weight-gradient", p.name+", weight gradient")
	weightGrad.Let("rows", "inner")
	weightGrad.Let("inner", "rows")
	weightGrad.Let("touched", "bytes * (rows * inner + rows * cols) + 2 * bytes_of_a_gradient * inner * cols")
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

// layer is one transformer layer, dense or with routed experts.
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

// hostForward is the part of a layer's issue time that falls on the forward.
const hostForward = 0.4

// host keeps a layer from being faster than the host can issue it, and adds what a
// layer with experts waits for the host.
func (k *kernels) host(c *Cost, moe bool) {
	soft := &k.m.Software
	if moe {
		c.Forward += soft.MoELayer * hostForward
		c.InputGrad += soft.MoELayer * (1 - hostForward)
		k.recordTokenCounts()
	}
	floor := k.issue(moe)
	forward := max(0, floor*hostForward-c.ForwardTime())
	backward := max(0, floor*(1-hostForward)-c.BackwardTime())
	if k.rec.On() && floor > 0 {
		k.recordWait("forward", "forward", forward, hostForward)
		k.recordWait("backward", "input-gradient", backward, 1-hostForward)
	}
	c.Forward += forward
	c.InputGrad += backward
}

// issue is what the host needs to issue a layer's forward and backward.
func (k *kernels) issue(moe bool) units.Seconds {
	l, soft := k.in.Layout, &k.m.Software
	floor, formula := soft.HostLayer, "host_time_per_layer"
	layer, rank := soft.HostTP, soft.HostTPRank
	if l.TP > 1 {
		if l.GPUs > k.m.Cluster.Domain() && soft.HostTPFar > 0 {
			layer, rank = soft.HostTPFar, soft.HostTPRankFar
		}
		if k.in.Groups.TP.Crosses() {
			rank = soft.HostTPRankCross
			if soft.HostTPFar > 0 {
				rank = soft.HostTPRankCrossFar
			}
		}
		floor, formula = max(floor, layer+rank*units.Seconds(l.TP)), "max(host_time_per_layer, host_time_with_TP + host_time_per_TP_rank * t)"
	}
	fp8 := moe && k.in.Precision.IsFP8()
	if fp8 {
		floor = max(floor, soft.HostMoE8)
	}
	if k.rec.On() {
		if fp8 {
			formula = "max(" + formula + ", host_time_per_layer_with_experts_in_fp8)"
		}
		k.rec.Given(record.In("host_time_per_layer", soft.HostLayer), record.In("host_time_with_TP", layer),
			record.In("host_time_per_TP_rank", rank), record.In("host_time_per_layer_with_experts_in_fp8", soft.HostMoE8))
		k.rec.Scope("host-forward", "").Let("floor", formula)
		k.rec.Scope("host-backward", "").Let("floor", formula)
	}
	return floor
}

// recordTokenCounts records what a layer with experts waits for the host.
func (k *kernels) recordTokenCounts() {
	soft := &k.m.Software
	if !k.rec.On() || soft.MoELayer <= 0 {
		return
	}
	for _, w := range [...]struct {
		id, name, pass string
		share          float64
	}{{"token-counts-forward", "forward", "forward", hostForward}, {"token-counts-backward", "backward", "input-gradient", 1 - hostForward}} {
		k.rec.Figure(record.Entry{
			ID: w.id, Name: "waiting for token counts, " + w.name, Symbol: "t(waiting for token counts, " + w.name + ")", Unit: record.Seconds,
			Formula: "wait_per_layer_with_experts * share_of_the_pass", Value: float64(soft.MoELayer) * w.share,
			Source:    "the host reads how many tokens each expert has before it goes on; " + record.From(soft.From),
			LeavesOut: "CUDA graphs",
		}, record.In("wait_per_layer_with_experts", soft.MoELayer), record.InUnit(record.Share, "share_of_the_pass", w.share))
		k.rec.Term(w.pass, k.rec.Ref(w.id))
	}
}

// recordWait records what a pass of a layer waits because the host issues it no
// faster, and adds it to the pass.
func (k *kernels) recordWait(way, pass string, t units.Seconds, share float64) {
	busy := []string{k.rec.Sum(pass)}
	if way == "backward" {
		busy = append(busy, k.rec.Sum("weight-gradient"))
	}
	rec := k.rec.Scope("host-"+way, "")
	rec.Figure(record.Entry{
		Name: "waiting for the host, " + way, Symbol: "t(waiting for the host, " + way + ")", Unit: record.Seconds, Value: float64(t),
		Formula:   "max(0, floor * share_of_the_pass - (" + record.Sum(append(busy, k.exposed(way)...)...) + "))",
		Source:    "a layer is no faster than the host issues it; " + record.From(k.m.Software.From),
		LeavesOut: "CUDA graphs",
	}, record.InUnit(record.Share, "share_of_the_pass", share))
	k.rec.Term(pass, rec.Ref(""))
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

// gates is how many matrices an MLP has before its activation.
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

// routed is the number of rows that one rank's experts work on, times their
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

// experts are router, permutation, grouped products and shared experts.
// A rank computes as many tokens as it sends, times the load of the busiest.
func (k *kernels) experts(c *Cost) {
	m, l := k.in.Model, k.in.Layout
	h := float64(m.Hidden)
	if m.SharedFFN > 0 {
		k.mlp(c, true)
	}
	k.matmul(c, product{"router", "router", "shard", "h", "E"}, k.shard, h, float64(m.Experts))
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
		touched := units.Bytes(k.elem * (in + weight + out))
		rec := k.recordExperts(i)
		c.Forward += issued(k.m.GroupedMatMul(rec[0], local, rows, p[0], p[1], touched))
		c.InputGrad += issued(k.m.GroupedMatMul(rec[1], local, rows, p[1], p[0], touched))
		c.WeightGrad += issued(k.m.GroupedMatMul(rec[2], local, rows, p[0], p[1],
			units.Bytes(k.elem*(in+out)+2*k.in.GradDtype.Bytes(k.in.Precision)*weight)))
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
		r := rec.Scope(pass.id, name+pass.name)
		switch i {
		case 1:
			r.Let("inner", "cols")
			r.Let("cols", "inner")
		case 2:
			r.Let("touched", "bytes * (rows * groups * inner + rows * groups * cols) + 2 * bytes_of_a_gradient * groups * inner * cols")
		}
		r.Let("touched", "bytes * (rows * groups * inner + groups * inner * cols + rows * groups * cols)")
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

func (k *kernels) embedding() Cost {
	var c Cost
	k.begin("embedding", "embedding")
	k.stream(&c, pass{"look-up", "look-up", "2 * bytes * T * h"}, 2*k.elem*k.tokens*float64(k.in.Model.Hidden))
	k.edge(&c)
	k.end(&c)
	return c
}

// head is the final norm, the output projection and the loss.
func (k *kernels) head() Cost {
	var c Cost
	k.begin("head", "head")
	m := k.in.Model
	k.stream(&c, pass{"norm", "final norm", "2 * bytes * shard * h"}, 2*k.elem*k.shard*float64(m.Hidden))
	k.matmul(&c, product{"output", "head projection", "T", "h", "V / t"}, k.tokens, float64(m.Hidden), float64(m.Vocab)/k.t)
	c.HeadWeightGrad = c.WeightGrad
	// The loss is one fused pass in every stack: logits read and written forward,
	// their gradient written and read backward.
	loss := k.m.Stream(units.Bytes(2 * k.elem * k.tokens * float64(m.Vocab) / k.t))
	c.Forward += loss
	c.InputGrad += loss
	if k.rec.On() {
		k.rec.Figure(record.Entry{
			ID: "loss", Name: "loss over the logits", Symbol: "t(loss)", Unit: record.Seconds, Value: float64(loss),
			Formula: k.m.StreamFormula("2 * bytes * T * V / t", loss),
			Source:  "one fused pass: logits read and written", LeavesOut: "reductions of a number per token",
		})
		k.rec.Term("forward", k.rec.Ref("loss"))
		k.rec.Term("input-gradient", k.rec.Ref("loss"))
	}
	k.edge(&c)
	k.end(&c)
	return c
}

func (k *kernels) mtpProjection() Cost {
	var c Cost
	k.begin("mtp-projection", "MTP projection")
	h := float64(k.in.Model.Hidden)
	k.matmul(&c, product{"projection", "MTP projection", "shard", "2 * h", "h"}, k.shard, 2*h, h)
	k.end(&c)
	return c
}
