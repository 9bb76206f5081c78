package memory

import "meshscope/engine/units"

// weightInputs returns what the weight gradients of a stage need, bytes per token in
// 16-bit, when a schedule puts them off: of every product its input and the
// gradient of its output, which is what the zero-bubble code keeps for each
// linear layer (sail-sg/zero-bubble-pipeline-parallelism,
// megatron/core/weight_grad_store.py), as that product reads them: fp8 ones
// quantised (NVIDIA/TransformerEngine, pytorch/module/linear.py and
// grouped_linear.py). Tensors as wide as the hidden state stay
// split along the sequence with SP and are gathered when the product runs. The
// head is not put off: its logits' gradient would be kept for every micro-batch.
// Any stack that keeps these tensors can use it.
func weightInputs(in *Input, stage int) units.Bytes {
	m, l, st, note := in.Model, in.Layout, in.Stages[stage], in.stageNote(stage)
	h, x, y := float64(m.Hidden), inputWidth(in), gradientWidth(in)
	mlp := func(width int) split { // input, gradients of gate and up; product, gradient of the output
		return split{seq: (x + y) * h, even: ((mlpWidth(m.Gated)-2)/2*y + x) * float64(width)}
	}
	const inside, around = "(b_act / 2 * b_dy + b_in)", "(b_in + b_dy) * h"
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
		note.rec.Let("dense_weight_inputs", "("+formula(l, inside+" * f", around)+")")
	}
	if !m.IsMoE() {
		total += modules * mlp(m.FFN).bytes(l)
		note.times("weights", int(modules), "MTP_modules", "dense_weight_inputs")
	} else if n := float64(st.MoE) + modules; n > 0 {
		each := split{seq: 4 * float64(m.Experts)} // the router's gradient in fp32; its 16-bit input is the MLP's
		even, seq := "", "4 * E"
		if m.SharedFFN > 0 {
			shared := mlp(m.SharedFFN)
			each = each.plus(shared)
			even, seq = inside+" * f_shared", "4 * E + "+around
		}
		if m.SharedFFN == 0 || x < 2 { // the router reads 16 bits
			each.seq += 2 * h
			seq += " + 2 * h"
		}
		expert := mlp(m.ExpertFFN)
		routed := split{seq: float64(m.TopK) * (expert.seq*float64(l.ETP) + expert.even)}
		total += n * (each.bytes(l) + routed.bytes(l))
		if note.rec.On() {
			note.rec.Let("expert_weight_inputs", "("+formula(l, even, seq)+" + "+formula(l, "", "k * ("+around+" * ETP + "+inside+" * f_expert)")+")")
		}
		note.times("weights", st.MoE+int(modules), "layers_with_experts", "expert_weight_inputs")
	}
	total += modules * (attention + split{seq: (2*x + y) * h}.bytes(l)) // the projection of 2h to h
	if modules > 0 && note.rec.On() {
		note.times("weights", int(modules), "MTP_modules", "(attention_weight_inputs + ", formula(l, "", "(2 * b_in + b_dy) * h"), ")")
	}
	note.term("weight-inputs", "T * e * (", note.sum("weights"), ")")
	return units.Bytes(l.MicroBatchTokens() * in.Precision.Bytes() / 2 * total)
}

// attentionWeightInputs returns those of the projections around core attention.
func attentionWeightInputs(in *Input, note note) split {
	m := in.Model
	h, a, x, y := float64(m.Hidden), float64(m.Heads), inputWidth(in), gradientWidth(in)
	out := split{seq: (x + y) * h} // input of the first projections, gradient of the last one's output
	const seq = "(b_in + b_dy) * h"
	if !m.IsMLA() {
		width, kv := a*float64(m.HeadDim), kvWidth(in)
		out.even = y*(width+2*kv) + x*width // gradients of q, k, v; input of the output projection
		note.attentionInputs(in, "b_dy * (a * d + 2 * kv_width) + b_in * a * d", seq)
		return out
	}
	// Gradients of the latents, their norms' outputs; of q no latent has rank 0.
	out.seq += (x+y)*float64(m.QLoraRank+m.KVLoraRank) + y*float64(m.QKRopeDim)
	qk, v := float64(m.QKNopeDim+m.QKRopeDim), float64(m.VHeadDim)
	out.even = y*a*(qk+float64(m.QKNopeDim)+v) + x*a*v
	note.attentionInputs(in, "b_dy * a * (2 * d_nope + d_rope + d_v) + b_in * a * d_v", seq+" + (b_in + b_dy) * (r_q + r_kv) + b_dy * d_rope")
	return out
}

// gradientWidth returns the bytes of a kept gradient of a product's output, for a 16-bit
// element: b_dy in formulas.
func gradientWidth(in *Input) float64 {
	return 2 * in.Precision.OutputGradientBytes() / in.Precision.Bytes()
}

func (n note) attentionInputs(in *Input, even, seq string) {
	if n.rec.On() {
		n.rec.Let("attention_weight_inputs", "("+formula(in.Layout, even, seq)+")")
	}
}
