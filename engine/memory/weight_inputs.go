package memory

import "meshscope/engine/layout"

// weightInputs is what the weight gradients of a stage need, bytes per token in
// 16-bit, when a schedule puts them off: of every product its input and the
// gradient of its output, which is what the zero-bubble code keeps for each
// linear layer (sail-sg/zero-bubble-pipeline-parallelism,
// megatron/core/weight_grad_store.py). Tensors as wide as the hidden state stay
// split along the sequence with SP and are gathered when the product runs. The
// head is not put off: its logits' gradient would be kept for every micro-batch.
// Any stack that keeps these tensors can use it.
func weightInputs(in *Input, st layout.Stage) float64 {
	m, l := in.Model, in.Layout
	h := float64(m.Hidden)
	mlp := func(width int) split { // input, gradients of gate and up; product, gradient of the output
		return split{seq: 4 * h, even: mlpWidth(m.Gated) * float64(width)}
	}
	attention := attentionWeightInputs(in).bytes(l)
	total := attention * float64(st.Layers())
	if st.Dense > 0 {
		total += float64(st.Dense) * mlp(m.FFN).bytes(l)
	}
	modules := 0.0 // multi-token-prediction modules
	if st.Head && in.TrainMTP {
		modules = float64(m.MTPLayers)
	}
	if !m.IsMoE() {
		total += modules * mlp(m.FFN).bytes(l)
	} else if n := float64(st.MoE) + modules; n > 0 {
		each := split{seq: 4 * float64(m.Experts)} // the router's gradient in fp32; its input is the MLP's
		if m.SharedFFN > 0 {
			shared := mlp(m.SharedFFN)
			each.even += shared.even
			each.seq += shared.seq
		} else {
			each.seq += 2 * h
		}
		expert := mlp(m.ExpertFFN)
		routed := split{seq: float64(m.TopK) * (expert.seq*float64(l.ETP) + expert.even)}
		total += n * (each.bytes(l) + routed.bytes(l))
	}
	return total + modules*(attention+split{seq: 6 * h}.bytes(l)) // the projection of 2h to h
}

// attentionWeightInputs are those of the projections around core attention.
func attentionWeightInputs(in *Input) split {
	m := in.Model
	h, a := float64(m.Hidden), float64(m.Heads)
	out := split{seq: 2*h + 2*h} // input of the first projections, gradient of the last one's output
	if !m.IsMLA() {
		width := a * float64(m.HeadDim)
		kv := kvWidth(in)
		out.even = 2*(width+2*kv) + 2*width // gradients of q, k, v; input of the output projection
		return out
	}
	qk, v := float64(m.QKNopeDim+m.QKRopeDim), float64(m.VHeadDim)
	if m.QLoraRank > 0 {
		out.seq += 4 * float64(m.QLoraRank) // gradient of the latent, its norm's output
	}
	out.seq += 2*float64(m.KVLoraRank+m.QKRopeDim) + 2*float64(m.KVLoraRank)
	out.even = 2*a*qk + 2*a*(float64(m.QKNopeDim)+v) + 2*a*v
	return out
}
