package memory

import (
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

const (
	moduleNorm = recipe.ModuleNorm
	moduleMoE  = recipe.ModuleMoE
)

// Kept is what one layer keeps per token from its forward to its backward, in bytes on one GPU
// for 16-bit activations, by part.
type Kept struct {
	Parts [model.PartCount]float64

	again    float64 // not kept but made again: alive in one layer at a time
	deferred float64 // what its weight gradients need where a schedule puts them off
}

// Sum returns the whole layer.
func (k *Kept) Sum() (sum float64) {
	for _, v := range k.Parts {
		sum += v
	}
	return sum
}

// layers is the part of a Stack that says what a layer keeps.
type layers interface {
	// Save fills in what one layer keeps when nothing runs again but core attention.
	Save(s *saver)
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

// routed is for how many experts a token counts on the busiest rank.
func (in *Input) routed() record.Num {
	k := in.Program.MoE.TopK
	if in.Load != 1 {
		k = k.Times(in.Record.Named("imbalance", in.Load))
	}
	return k
}

// save fills in what one layer keeps on a stack.
func (in *Input) save(k layers, moe bool) *saver {
	if in.scratch == nil {
		in.scratch = new(saver)
	}
	s := in.scratch
	s.begin(in, in.Program.Layer(moe))
	if in.Recompute.Mode != recipe.RecomputeFull { // of which keep takes the layers out
		s.again.Recompute = in.Recompute
	}
	k.Save(s)
	if s.again.Mode == recipe.RecomputeSelective && s.again.Products {
		whole := in.sum(s.parts(), in.routed())
		s.everySecondProduct()
		s.dropped = whole.Minus(in.sum(s.parts(), in.routed())).AtLeast(record.Lit(0))
	} else {
		dropped := s.dropRecomputed()
		s.dropped = dropped.perToken(in, in.routed())
	}
	return s
}

// keptBy returns what one layer keeps on a stack.
func (in *Input) keptBy(k layers, moe bool) (kept Kept) {
	s, routed, note := in.save(k, moe), in.routed(), in.layerNote(moe)
	parts := s.parts()
	for p := range parts {
		kept.Parts[p] = parts[p].perToken(in, routed).V
	}
	deferred := in.deferredBy(moe)
	kept.again, kept.deferred = s.dropped.V, deferred.V
	if note.rec.On() {
		in.Record.Let(kind(moe)+"_recompute", "("+s.dropped.Text()+")")
		in.Record.Let(kind(moe)+"_weight_inputs", "("+deferred.Text()+")")
		in.recordParts(note, &parts, routed, &kept, moe)
	}
	return kept
}

// sum adds up all parts.
func (in *Input) sum(parts [model.PartCount]amount, routed record.Num) (sum record.Num) {
	for p := range parts {
		sum = sum.Plus(parts[p].perToken(in, routed))
	}
	return sum
}

// recordParts records a layer and its parts.
func (in *Input) recordParts(note note, parts *[model.PartCount]amount, routed record.Num, kept *Kept, moe bool) {
	var sum []string
	for p, of := range [...]struct{ id, name string }{
		{"attention", "attention"},
		{"norms", "residual stream and norms"},
		{"mlp", "MLP"},
		{"shared", "shared experts"},
		{"router", "router"},
		{"experts", "routed experts"},
	} {
		n := parts[p].perToken(in, routed)
		if n.V == 0 {
			continue
		}
		sum = append(sum, note.rec.Ref(of.id))
		note.rec.Figure(record.Entry{
			ID: of.id, Name: "Bytes that the " + of.name + " of one " + kind(moe) + " layer keeps per token in 16 bits", Symbol: of.id,
			Formula: n.Text(), Value: n.V,
			Source: "tensors that the stack keeps from forward to backward (engine/memory)", LeavesOut: "statistics of norms",
		})
	}
	note.rec.Figure(record.Entry{
		Name: "Bytes that one " + kind(moe) + " layer keeps per token in 16 bits", Symbol: "bytes per token of a " + kind(moe) + " layer",
		Formula: record.Sum(sum...), Value: kept.Sum(),
		Source:    "tensors that the stack keeps from forward to backward; Korthikanti et al. (arXiv 2205.05198) section 4",
		LeavesOut: "small tensors such as norm statistics",
	})
}

// layerInput returns what a fully recomputed layer keeps, its input, in bytes per token.
func layerInput(in *Input) record.Num {
	var a amount
	a.add(in, in.Program.Dense.Tensor(model.Input), record.Lit(2))
	return a.perToken(in, record.Num{})
}

// pass returns what a micro-batch adds on a stage, without logits and the temporaries of
// products.
func pass(in *Input, stage int, k layers) Live {
	input, full := layerInput(in), recomputed(in, stage)
	kept, dense, moe := keep(in, stage, full, k, input)
	live := Live{
		Activations: kept, WeightInputs: weightInputs(in, stage, k),
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
func keep(in *Input, stage, full int, k layers, input record.Num) (kept units.Bytes, dense, moe Kept) {
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
	sum := float64(wholeDense)*dense.Sum() + float64(wholeMoE)*moe.Sum() + float64(full)*input.V
	if in.Record.On() {
		in.Record.Let("layer_input", input.Text())
	}
	note.times("layers", wholeDense, "dense_layers_that_keep_all", "{layer.dense.activations}")
	note.times("layers", wholeMoE, "MoE_layers_that_keep_all", "{layer.moe.activations}")
	note.times("layers", full, "recomputed_layers", "layer_input")
	if st.Head && in.TrainMTP {
		sum += float64(m.MTPLayers) * (moe.Sum() + 2*input.V)
		note.times("layers", m.MTPLayers, "MTP_modules", "({layer.", kind(m.IsMoE()), ".activations} + 2 * layer_input)")
	}
	note.term("activations", "T * e * (", note.sum("layers"), ")")
	return units.Bytes(in.Layout.MicroBatchTokens() * in.Precision.Bytes() / 2 * sum), dense, moe
}

// recompute returns what one layer of a stage at a time recomputes in its backward, and
// adds it to a sum of formulas.
func recompute(in *Input, stage, full int, dense, moe *Kept, input record.Num, sum string) units.Bytes {
	st := in.Stages[stage]
	one, formula := 0.0, ""
	if st.Dense > 0 {
		one, formula = dense.again, "dense_recompute"
	}
	if st.MoE > 0 {
		one = max(one, moe.again)
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
		one -= input.V
	}
	if one != 0 {
		in.stageNote(stage).term(sum, "T * e * ", formula)
	}
	return units.Bytes(in.Layout.MicroBatchTokens() * in.Precision.Bytes() / 2 * one)
}

// recomputed returns how many layers of a stage run with full recomputation.
func recomputed(in *Input, stage int) int {
	if in.Recompute.Mode != recipe.RecomputeFull {
		return 0
	}
	return in.Layout.RecomputedLayers(in.Recompute.Layers, stage, in.Stages[stage])
}
