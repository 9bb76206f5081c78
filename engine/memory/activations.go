package memory

import (
	"slices"
	"strings"

	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

const (
	moduleNorm = recipe.ModuleNorm
	moduleMoE  = recipe.ModuleMoE
)

// LayerActivations is what one layer saves for its backward per token, in bytes on one GPU
// for 16-bit activations, by part.
type LayerActivations struct {
	Parts [model.PartCount]float64

	known      bool
	recomputed float64 // not kept but made again: alive in one layer at a time
	deferred   float64 // what its weight gradients need where a schedule puts them off
}

// Sum returns the whole layer.
func (k *LayerActivations) Sum() (sum float64) {
	for _, v := range k.Parts {
		sum += v
	}
	return sum
}

// layer returns what one layer keeps, with its formulas: computed once for all stages.
func (in *Input) layer(k Stack, l *model.Layer) *LayerActivations {
	if n := len(in.Program.Layers); len(in.activations) < n {
		in.activations = slices.Grow(in.activations, n)[:n]
		clear(in.activations)
	}
	stored := &in.activations[l.Index]
	if !stored.known || in.Record.On() {
		*stored = in.activationsOf(k, l)
	}
	return stored
}

// Forget drops what was computed for all stages. A caller that changes an Input
// after it was used calls it; all but stages and order count.
func (in *Input) Forget() { in.activations = in.activations[:0] }

// routed is for how many experts a token of a layer counts on the busiest rank.
func (in *Input) routed(l *model.Layer) record.Num {
	k := l.TopK
	if in.Load != 1 {
		k = k.Times(in.Record.Named("imbalance", in.Load))
	}
	return k
}

// save fills in what one layer keeps on a stack.
func (in *Input) save(k Stack, l *model.Layer) *saver {
	if in.scratch == nil {
		in.scratch = new(saver)
	}
	s := in.scratch
	s.begin(in, l)
	if in.Recompute.Mode != recipe.RecomputeFull { // of which keep takes the layers out
		s.recomputation.Recompute = in.Recompute
	}
	k.Save(s)
	if s.recomputation.Mode == recipe.RecomputeSelective && s.recomputation.Products {
		all := s.addUp()
		s.everySecondProduct()
		s.dropped = all.Minus(s.addUp()).AtLeast(record.Lit(0))
		return s
	}
	dropped := s.dropRecomputed()
	s.dropped = dropped.perToken(in, in.routed(l))
	s.addUp()
	return s
}

// activationsOf returns what one layer saves for its backward on a stack.
func (in *Input) activationsOf(k Stack, l *model.Layer) LayerActivations {
	s, deferred := in.save(k, l), in.deferredBy(l)
	saved := LayerActivations{known: true, recomputed: s.dropped.V, deferred: deferred.V}
	for p := range s.parts {
		saved.Parts[p] = s.parts[p].V
	}
	if note := in.layerNote(l); note.rec.On() {
		in.Record.Let(l.ID+"_recompute", "("+s.dropped.Text()+")")
		in.Record.Let(l.ID+"_weight_inputs", "("+deferred.Text()+")")
		recordParts(note, &s.parts, &saved, l)
	}
	return saved
}

// recordParts records a layer and its parts.
func recordParts(note note, parts *[model.PartCount]record.Num, saved *LayerActivations, l *model.Layer) {
	var sum []string
	for p, of := range [...]struct{ id, name string }{
		{"attention", "attention"},
		{"norms", "residual stream and norms"},
		{"mlp", "MLP"},
		{"shared", "shared experts"},
		{"router", "router"},
		{"experts", "routed experts"},
	} {
		n := parts[p]
		if n.V == 0 {
			continue
		}
		sum = append(sum, note.rec.Ref(of.id))
		note.rec.Figure(record.Entry{
			ID:      of.id,
			Name:    "Bytes that the " + of.name + " of one " + l.ID + " layer keeps per token in 16 bits",
			Symbol:  of.id,
			Formula: n.Text(), Value: n.V,
			Source:    "tensors that the stack keeps from forward to backward (engine/memory)",
			LeavesOut: "statistics of norms",
		})
	}
	note.rec.Figure(record.Entry{
		Name:    "Bytes that one " + l.ID + " layer keeps per token in 16 bits",
		Symbol:  "bytes per token of a " + l.ID + " layer",
		Formula: record.Sum(sum...), Value: saved.Sum(),
		Source: "tensors that the stack keeps from forward to backward; Korthikanti et al. (arXiv " +
			"2205.05198) section 4",
		LeavesOut: "small tensors such as norm statistics",
	})
}

// layerInput returns what a fully recomputed layer keeps, its input, in bytes per token.
func layerInput(in *Input) record.Num {
	var a amount
	a.add(in, in.Program.Hidden(), record.Lit(2*in.Program.Carried()))
	return a.perToken(in, record.Num{})
}

// microBatchActivations returns the activation memory that one micro-batch adds to a stage, without
// logits and the workspaces of products.
func microBatchActivations(in *Input, stage int, k Stack) StageMemory {
	input, full := layerInput(in), recomputed(in, stage)
	mem := StageMemory{
		Activations: stageActivations(in, stage, full, k, input), WeightInputs: weightInputs(in, stage, k),
		Backward: recompute(in, stage, full, k, input, "backward-temporaries"),
	}
	if in.OffloadedLayers > 0 {
		moving := offloadBuffers(in, stage, k)
		mem.Forward += moving
		mem.Backward += moving
		mem.Offloaded = in.OffloadedBytes(k, stage)
		for i, n := range in.Stages[stage].Take(in.Program, offloadedLayers(in, stage)) {
			if n > 0 {
				l := &in.Program.Layers[i]
				in.stageNote(stage).times("offloaded", int(n), "offloaded_"+l.Name+"_layers", "T * e * ",
					activationsRef(l.ID))
			}
		}
	}
	return mem
}

// offloadedLayers returns how many layers of a stage keep their activations in host memory.
func offloadedLayers(in *Input, stage int) int {
	if in.OffloadedLayers == 0 {
		return 0
	}
	return in.Layout.RecomputedLayers(in.OffloadedLayers, stage, &in.Stages[stage])
}

// largest returns the largest that layers have of those that are there, with its formula: that of
// a layer as its identifier makes it.
func (in *Input) largest(of *layout.Counts, k Stack, bytes func(*LayerActivations) float64,
	formula func(id string) string,
) (float64, string) {
	most, all := 0.0, []string(nil)
	for i := range in.Program.Layers {
		if l := &in.Program.Layers[i]; of[i] > 0 {
			most = max(most, bytes(in.layer(k, l)))
			if in.Record.On() {
				all = append(all, formula(l.ID))
			}
		}
	}
	if len(all) > 1 {
		return most, "max(" + strings.Join(all, ", ") + ")"
	}
	return most, strings.Join(all, "")
}

// activationsOf returns the formula of what one layer keeps.
func activationsRef(id string) string { return "{layer." + id + ".activations}" }

// offloadBuffers returns what layers on their way to or from the host keep on the GPU: the layer at
// work and the one that travels (two buffers).
func offloadBuffers(in *Input, stage int, k Stack) units.Bytes {
	n, note := min(offloadedLayers(in, stage), 2), in.stageNote(stage)
	if n == 0 {
		return 0
	}
	largest, formula := in.largest(&in.Stages[stage].Of, k, (*LayerActivations).Sum, activationsRef)
	note.given("layers_on_their_way", float64(n))
	for _, sum := range [...]string{"forward-temporaries", "backward-temporaries"} {
		note.term(sum, "layers_on_their_way * T * e * ", formula)
	}
	return units.Bytes(float64(n) * in.perElement() * largest)
}

// micro returns the tokens of a micro-batch, the TP ranks, the width of the hidden state and the bytes of an
// element over those of 16 bits.
func (in *Input) micro() (tokens, t, h, e record.Num) {
	rec := in.Record
	return rec.Named("T", in.Layout.MicroBatchTokens()), rec.Named("t", float64(in.Layout.TP)),
		in.Program.Hidden().Width, rec.Named("e", in.Precision.Bytes()/2)
}

// perElement returns the bytes of a micro-batch for each that its tokens have in 16 bits.
func (in *Input) perElement() float64 { return in.Layout.MicroBatchTokens() * in.Precision.Bytes() / 2 }

// OffloadedBytes returns what the layers of a stage send to the host in a micro-batch.
func (in *Input) OffloadedBytes(stack Stack, stage int) units.Bytes {
	sum := 0.0
	for i, n := range in.Stages[stage].Take(in.Program, offloadedLayers(in, stage)) {
		if n > 0 {
			sum += float64(n) * in.layer(stack, &in.Program.Layers[i]).Sum()
		}
	}
	return units.Bytes(sum * in.perElement())
}

// stageActivations adds up what the layers of a stage keep. So many that are fully recomputed
// keep their input only.
func stageActivations(in *Input, stage, full int, k Stack, input record.Num) units.Bytes {
	st, note, sum := &in.Stages[stage], in.stageNote(stage), 0.0
	recomputed, offloaded := st.Take(in.Program, full), st.Take(in.Program, offloadedLayers(in, stage))
	if in.Record.On() {
		in.Record.Let("layer_input", input.Text())
	}
	for i := range in.Program.Layers {
		if l := &in.Program.Layers[i]; st.Of[i] > 0 {
			n := int(st.Of[i] - recomputed[i] - offloaded[i])
			sum += float64(n) * in.layer(k, l).Sum()
			if note.rec != nil {
				note.times("layers", n, l.Name+"_layers_that_keep_all", activationsRef(l.ID))
			}
		}
	}
	sum += float64(full) * input.V
	note.times("layers", full, "recomputed_layers", "layer_input")
	if st.Head && in.TrainMTP {
		l := in.Program.Module()
		sum += float64(in.Model.MTPRuns()) * (in.layer(k, l).Sum() + 2*input.V)
		note.times("layers", in.Model.MTPRuns(), "MTP_runs", "({layer.", l.ID,
			".activations} + 2 * layer_input)")
	}
	note.term("activations", "T * e * (", note.sum("layers"), ")")
	return units.Bytes(in.perElement() * sum)
}

// recompute returns what one layer of a stage at a time recomputes in its backward, and
// adds it to a sum of formulas.
func recompute(in *Input, stage, full int, k Stack, input record.Num, sum string) units.Bytes {
	of, bytes, formula := in.Stages[stage].Of, func(k *LayerActivations) float64 { return k.recomputed },
		func(id string) string { return id + "_recompute" }
	if full > 0 {
		of, bytes, formula = in.Stages[stage].Take(in.Program, full), (*LayerActivations).Sum, activationsRef
	}
	one, text := in.largest(&of, k, bytes, formula)
	if full > 0 {
		one -= input.V
		if in.Record.On() {
			text = "(" + text + " - layer_input)"
		}
	}
	if one != 0 {
		in.stageNote(stage).term(sum, "T * e * ", text)
	}
	return units.Bytes(in.perElement() * one)
}

// recomputed returns how many layers of a stage run with full recomputation.
func recomputed(in *Input, stage int) int {
	if in.Recompute.Mode != recipe.RecomputeFull {
		return 0
	}
	return in.Layout.RecomputedLayers(in.Recompute.Layers, stage, &in.Stages[stage])
}
