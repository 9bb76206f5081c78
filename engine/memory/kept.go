package memory

import (
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Kept is what one layer keeps per token from its forward to its backward, in
// bytes on one GPU for 16-bit activations, part by part.
type Kept struct {
	Attention float64 // projections and core attention, with their input
	MLP       float64 // dense MLP and shared experts, with their input
	Experts   float64 // routed experts
	Router    float64
	Norms     float64 // inputs of the norms: the residual stream

	recompute float64 // not kept but recomputed: alive in one layer at a time
	products  bool    // of its products every second one alone is kept
}

// Sum returns the whole layer.
func (k *Kept) Sum() float64 { return k.Attention + k.MLP + k.Experts + k.Router + k.Norms }

// layers is the part of a Stack that keep needs.
type layers interface {
	Layer(in *Input, moe bool) Kept
}

// layer returns what one layer keeps, with its formulas: computed once for all stages.
func (in *Input) layer(k layers, moe bool) *Kept {
	n := 0
	if moe {
		n = 1
	}
	if !in.known[n] || in.Record.On() {
		in.known[n], in.kept[n] = true, in.keptBy(k, moe)
	}
	return &in.kept[n]
}

// Forget drops what was computed for all stages. A caller that changes an Input
// after it was used calls it; all but stages and order count.
func (in *Input) Forget() { in.known = [2]bool{} }

// keptBy returns what one layer keeps on a stack.
func (in *Input) keptBy(k layers, moe bool) Kept {
	note := in.layerNote(moe)
	kept := k.Layer(in, moe)
	if !note.rec.On() {
		return kept
	}
	if !kept.products { // else the stack has recorded its own
		in.Record.Let(kind(moe)+"_recompute", note.part("recompute").formula(in.Layout))
	}
	note.rec.Figure(record.Entry{
		Name: "Bytes that one " + kind(moe) + " layer keeps per token in 16 bits", Symbol: "bytes per token of a " + kind(moe) + " layer",
		Formula: in.recordParts(note, &kept, moe), Value: kept.Sum(),
		Source:    "tensors that the stack keeps from forward to backward; Korthikanti et al. (arXiv 2205.05198) section 4",
		LeavesOut: "small tensors such as norm statistics",
	})
	return kept
}

// recordParts records the parts of a layer; their sum is its answer.
func (in *Input) recordParts(note note, kept *Kept, moe bool) string {
	var sum []string
	for _, p := range [...]struct {
		id, name string
		products bool
		value    float64
	}{
		{"attention", "attention", false, kept.Attention},
		{"norms", "residual stream and norms", false, kept.Norms},
		{"mlp", "MLP", false, kept.MLP},
		{"router", "router", false, kept.Router},
		{"shared", "shared experts", false, kept.MLP},
		{"experts", "routed experts", false, kept.Experts},
		{"half-attention", "attention", true, kept.Attention},
		{"half-mlp", "MLP", true, kept.MLP},
		{"input", "input", true, kept.Norms},
	} {
		text := note.part(p.id).formula(in.Layout)
		if text == "0" || p.products != kept.products {
			continue
		}
		sum = append(sum, note.rec.Ref(p.id))
		note.rec.Figure(record.Entry{
			ID: p.id, Name: "Bytes that the " + p.name + " of one " + kind(moe) + " layer keeps per token in 16 bits", Symbol: p.id,
			Formula: text, Value: p.value,
			Source: "tensors that the stack keeps from forward to backward (engine/memory)", LeavesOut: "statistics of norms",
		})
	}
	return record.Sum(sum...)
}

// input is what a fully recomputed layer keeps, in bytes per token.
type input struct {
	bytes   float64
	formula string
}

// layerInput returns the layer's input, which sequence parallelism cuts.
func layerInput(in *Input) input {
	whole := input{2 * float64(in.Model.Hidden), "2 * h"}
	if in.Layout.SP {
		return input{whole.bytes / float64(in.Layout.TP), "2 * h / t"}
	}
	return whole
}

// pass returns what a micro-batch adds on a stage, without logits and the temporaries of
// products.
func pass(in *Input, stage int, k layers) Live {
	input, full := layerInput(in), recomputed(in, stage)
	kept, dense, moe := keep(in, stage, full, k, input)
	live := Live{
		Activations: kept, WeightInputs: weightInputs(in, stage),
		Backward: recompute(in, stage, full, &dense, &moe, input, "backward-temporaries"),
	}
	if in.Away > 0 {
		moving := transit(in, stage, &dense, &moe)
		live.Forward += moving
		live.Backward += moving
	}
	return live
}

// away returns how many layers of a stage keep their activations in host memory.
func away(in *Input, stage int) int {
	if in.Away == 0 {
		return 0
	}
	return in.Layout.RecomputedLayers(in.Away, stage, in.Stages[stage])
}

// transit returns what layers on their way to or from the host keep on the GPU: the layer at
// work and the one that travels (two buffers).
func transit(in *Input, stage int, dense, moe *Kept) units.Bytes {
	st, note := in.Stages[stage], in.stageNote(stage)
	n := min(away(in, stage), 2)
	if n == 0 {
		return 0
	}
	largest, formula := dense.Sum(), "{layer.dense.activations}"
	switch {
	case st.MoE > 0 && st.Dense > 0:
		largest, formula = max(largest, moe.Sum()), "max({layer.dense.activations}, {layer.moe.activations})"
	case st.MoE > 0:
		largest, formula = moe.Sum(), "{layer.moe.activations}"
	}
	note.given("layers_on_their_way", float64(n))
	for _, sum := range [...]string{"forward-temporaries", "backward-temporaries"} {
		note.term(sum, "layers_on_their_way * T * e * ", formula)
	}
	return units.Bytes(float64(n) * in.Layout.MicroBatchTokens() * in.Precision.Bytes() / 2 * largest)
}

// AwayBytes returns what the layers of a stage send to the host in a micro-batch.
func (in *Input) AwayBytes(stack Stack, stage int) units.Bytes {
	st, n := in.Stages[stage], away(in, stage)
	dense := min(n, st.Dense)
	sum := float64(dense) * in.layer(stack, false).Sum()
	if n > dense {
		sum += float64(n-dense) * in.layer(stack, true).Sum()
	}
	return units.Bytes(sum * in.Layout.MicroBatchTokens() * in.Precision.Bytes() / 2)
}

// keep adds up what the layers of a stage keep. So many that are fully recomputed
// keep their input only.
func keep(in *Input, stage, full int, k layers, input input) (kept units.Bytes, dense, moe Kept) {
	m, st, note := in.Model, in.Stages[stage], in.stageNote(stage)
	dense = *in.layer(k, false)
	if st.MoE > 0 || in.TrainMTP && st.Head {
		moe = *in.layer(k, m.IsMoE())
	}
	fullDense := min(full, st.Dense)
	fullMoE := full - fullDense
	off := away(in, stage)
	offDense := min(off, st.Dense)
	wholeDense, wholeMoE := st.Dense-fullDense-offDense, st.MoE-fullMoE-(off-offDense)
	sum := float64(wholeDense)*dense.Sum() + float64(wholeMoE)*moe.Sum() + float64(full)*input.bytes
	in.Record.Let("layer_input", input.formula)
	note.times("layers", wholeDense, "dense_layers_that_keep_all", "{layer.dense.activations}")
	note.times("layers", wholeMoE, "MoE_layers_that_keep_all", "{layer.moe.activations}")
	note.times("layers", full, "recomputed_layers", "layer_input")
	if st.Head && in.TrainMTP {
		sum += float64(m.MTPLayers) * (moe.Sum() + 2*input.bytes)
		note.times("layers", m.MTPLayers, "MTP_modules", "({layer.", kind(m.IsMoE()), ".activations} + 2 * layer_input)")
	}
	note.term("activations", "T * e * (", note.sum("layers"), ")")
	return units.Bytes(in.Layout.MicroBatchTokens() * in.Precision.Bytes() / 2 * sum), dense, moe
}

// recompute returns what one layer of a stage at a time recomputes in its backward, and
// adds it to a sum of formulas.
func recompute(in *Input, stage, full int, dense, moe *Kept, input input, sum string) units.Bytes {
	st := in.Stages[stage]
	one, formula := 0.0, ""
	if st.Dense > 0 {
		one, formula = dense.recompute, "dense_recompute"
	}
	if st.MoE > 0 {
		one = max(one, moe.recompute)
		if formula == "" {
			formula = "moe_recompute"
		} else {
			formula = "max(dense_recompute, moe_recompute)"
		}
	}
	if full > 0 {
		one, formula = dense.Sum(), "({layer.dense.activations} - layer_input)"
		if full > st.Dense {
			one, formula = max(one, moe.Sum()), "(max({layer.dense.activations}, {layer.moe.activations}) - layer_input)"
		}
		one -= input.bytes
	}
	if one != 0 {
		in.stageNote(stage).term(sum, "T * e * ", formula)
	}
	return units.Bytes(in.Layout.MicroBatchTokens() * in.Precision.Bytes() / 2 * one)
}

// mlpWidth returns how many bytes per token and unit of width an MLP keeps: the
// product, and what the activation read (gate and up where gated), b_mlp in
// formulas.
func mlpWidth(gated bool) float64 {
	if gated {
		return 6
	}
	return 4
}

// kvWidth returns the width of the keys of all ranks of a TP group together, and of
// their values, kv_width in formulas: more than the model's where TP exceeds the kv
// heads. It is divided by TP where bytes are counted.
func kvWidth(in *Input) float64 {
	m, tp := in.Model, in.Layout.TP
	return m.KVHeadsPerRank(tp) * float64(m.HeadDim) * float64(tp)
}

// scores returns what standard attention stores per token, unless selective
// recomputation drops it: the softmax in 2 bytes per head and key, and with
// dropout its mask and output, 5 in all (Korthikanti et al., arXiv 2205.05198,
// section 4.1).
func scores(in *Input, bytes float64) float64 {
	if in.Attention != recipe.Standard || in.Recompute.Mode == recipe.RecomputeSelective {
		return 0
	}
	return bytes * float64(in.Model.Heads) * float64(in.Layout.Seq)
}

// recomputed returns how many layers of a stage run with full recomputation.
func recomputed(in *Input, stage int) int {
	if in.Recompute.Mode != recipe.RecomputeFull {
		return 0
	}
	return in.Layout.RecomputedLayers(in.Recompute.Layers, stage, in.Stages[stage])
}
