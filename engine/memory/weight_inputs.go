package memory

import "meshscope/engine/units"

// weightInputs returns what the weight gradients of a stage need, bytes per token in
// 16-bit, when a schedule puts them off: of every product its input and the
// gradient of its output, which is what the zero-bubble code keeps for each
// linear layer (sail-sg/zero-bubble-pipeline-parallelism,
// megatron/core/weight_grad_store.py). Tensors as wide as the hidden state stay
// split along the sequence with SP and are gathered when the product runs. The
// head is not put off: its logits' gradient would be kept for every micro-batch.
// Any stack that keeps these tensors can use it.
func weightInputs(in *Input, stage int) units.Bytes {
	m, l, st, note := in.Model, in.Layout, in.Stages[stage], in.stageNote(stage)
	h := float64(m.Hidden)
	mlp := func(width int) split { // input, gradients of gate and up; product, gradient of the output
		return split{seq: 4 * h, even: mlpWidth(m.Gated) * float64(width)}
	}
	attention := attentionWeightInputs(in, note).bytes(l)
	total := attention * float64(st.Layers())
	note.times("weights", st.Layers(), "layers", "attention_weight_inputs")
	if st.Dense > 0 {
		total += float64(st.Dense) * mlp(m.FFN).bytes(l)
		note.times("weights", st.Dense, "dense_layers", "dense_weight_inputs")
	}
	modules := 0.0 // multi-token-prediction modules
	if st.Head && in.TrainMTP {
		modules = float64(m.MTPLayers)
	}
	if note.rec.On() {
		note.rec.Let("dense_weight_inputs", "("+formula(l, "(b_act + 2) * f", "4 * h")+")")
	}
	if !m.IsMoE() {
		total += modules * mlp(m.FFN).bytes(l)
		note.times("weights", int(modules), "MTP_modules", "dense_weight_inputs")
	} else if n := float64(st.MoE) + modules; n > 0 {
		each := split{seq: 4 * float64(m.Experts)} // the router's gradient in fp32; its input is the MLP's
		even, seq := "", "4 * E + 2 * h"
		if m.SharedFFN > 0 {
			shared := mlp(m.SharedFFN)
			each.even += shared.even
			each.seq += shared.seq
			even, seq = "(b_act + 2) * f_shared", "4 * E + 4 * h"
		} else {
			each.seq += 2 * h
		}
		expert := mlp(m.ExpertFFN)
		routed := split{seq: float64(m.TopK) * (expert.seq*float64(l.ETP) + expert.even)}
		total += n * (each.bytes(l) + routed.bytes(l))
		if note.rec.On() {
			note.rec.Let("expert_weight_inputs", "("+formula(l, even, seq)+" + "+formula(l, "", "k * (4 * h * ETP + (b_act + 2) * f_expert)")+")")
		}
		note.times("weights", st.MoE+int(modules), "layers_with_experts", "expert_weight_inputs")
	}
	total += modules * (attention + split{seq: 6 * h}.bytes(l)) // the projection of 2h to h
	if modules > 0 && note.rec.On() {
		note.times("weights", int(modules), "MTP_modules", "(attention_weight_inputs + ", formula(l, "", "6 * h"), ")")
	}
	note.term("weight-inputs", "T * e * (", note.sum("weights"), ")")
	return units.Bytes(l.MicroBatchTokens() * in.Precision.Bytes() / 2 * total)
}

// attentionWeightInputs returns those of the projections around core attention.
func attentionWeightInputs(in *Input, note note) split {
	m := in.Model
	h, a := float64(m.Hidden), float64(m.Heads)
	out := split{seq: 2*h + 2*h} // input of the first projections, gradient of the last one's output
	if !m.IsMLA() {
		width, kv := a*float64(m.HeadDim), kvWidth(in)
		out.even = 2*(width+2*kv) + 2*width // gradients of q, k, v; input of the output projection
		note.attentionInputs(in, "4 * a * d + 4 * kv_width", "4 * h")
		return out
	}
	seq := "4 * h + 2 * (r_kv + d_rope) + 2 * r_kv"
	qk, v := float64(m.QKNopeDim+m.QKRopeDim), float64(m.VHeadDim)
	if m.QLoraRank > 0 {
		out.seq += 4 * float64(m.QLoraRank) // gradient of the latent, its norm's output
		seq = "4 * h + 4 * r_q + 2 * (r_kv + d_rope) + 2 * r_kv"
	}
	out.seq += 2*float64(m.KVLoraRank+m.QKRopeDim) + 2*float64(m.KVLoraRank)
	out.even = 2*a*qk + 2*a*(float64(m.QKNopeDim)+v) + 2*a*v
	note.attentionInputs(in, "2 * a * (d_nope + d_rope) + 2 * a * (d_nope + d_v) + 2 * a * d_v", seq)
	return out
}

func (n note) attentionInputs(in *Input, even, seq string) {
	if n.rec.On() {
		n.rec.Let("attention_weight_inputs", "("+formula(in.Layout, even, seq)+")")
	}
}
