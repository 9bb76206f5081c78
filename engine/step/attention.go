package step

import (
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// coreAttention is scores, softmax and the product with the values.
func (k *kernels) coreAttention(layer *model.Layer) {
	l := k.in.Layout
	k.core = coreTimes{}
	core, ok := layer.Core()
	if !ok || layer.Pairs().V == 0 {
		return
	}
	if k.rec = k.in.Record; k.rec.On() {
		k.core.scope = layer.Scope("attention")
	}
	width := layer.Tensor(core.In[0]).Head
	if k.in.Attention != recipe.Standard {
		scores := layer.Forward(l.Seq, true).Scores
		f := scores * units.FLOPs(layer.WindowShare(l.Seq, true)*l.CausalImbalance()*k.tokens.V/k.t.V)
		k.core.flops = f
		k.core.forward, k.core.backward = k.m.Attention(f, int(width.V))
		forward, backward := k.ring(layer, core)
		k.recordFused(layer, f, scores, int(width.V), forward, backward)
		return
	}
	// Unfused: two batched products over the whole square, the mask does not
	// help, and the scores pass through memory: written, read and written by
	// the scaled masked softmax, by dropout (with its mask), read again.
	s := k.in.Record.Named("s", float64(l.Seq))
	lines := layer.Heads.Over(k.t).Times(k.tokens) // a row of scores each
	square := lines.Times(s)
	touched := square.Plus(record.Lit(2).Times(lines).Times(width))
	batched := lines.Over(s).AtLeast(record.Lit(1)) // products, one per head and sequence
	rows := lines.Over(batched)
	rec := k.recordUnfused(rows, batched, touched, width, s)
	bytes := units.Bytes(k.elem * touched.V)
	k.core.flops = units.FLOPs(4 * square.V * width.V)
	first := k.m.GroupedMatMul(rec[0], batched.V, rows.V, width.V, s.V, bytes)
	second := k.m.GroupedMatMul(rec[1], batched.V, rows.V, s.V, width.V, bytes)
	passes := (2*k.elem + 2*k.elem + 1)
	k.core.forward = first + second + k.m.Stream(units.Bytes(passes*square.V))
	k.core.backward = 2*(first+second) + k.m.Stream(units.Bytes((passes+k.elem)*square.V))
	if k.rec.On() {
		k.core.flopsFormula = record.Lit(4).Times(square).Times(width).Text()
		both := rec[0].Ref("") + " + " + rec[1].Ref("")
		k.recordScores(both+" + "+k.m.StreamFormula("bytes_per_score * "+square.Text(), 1),
			"2 * ("+both+") + "+k.m.StreamFormula("(bytes_per_score + bytes) * "+square.Text(), 1), record.In("bytes_per_score", passes))
	}
}

// recordScores records core attention; without a formula there is none.
func (k *kernels) recordScores(forward, backward string, operands ...record.Operand) {
	rec := k.rec.Scope(k.core.scope, "core attention")
	e := record.Entry{
		ID: "forward", Name: "core attention, forward", Symbol: "t(core attention)", Unit: record.Seconds, Formula: forward, Value: float64(k.core.forward),
		Source: record.From(k.m.Ops.From), LeavesOut: "clocks under load",
	}
	rec.Figure(e, operands...)
	e.ID, e.Name, e.Symbol, e.Formula, e.Value = "backward", "core attention, backward", "t(core attention, backward)", backward, float64(k.core.backward)
	rec.Figure(e, operands...)
	k.core.forwardFormula, k.core.backwardFormula = rec.Ref("forward"), rec.Ref("backward")
}

// recordFused records a fused kernel of f operations with the formulas of a ring.
func (k *kernels) recordFused(layer *model.Layer, f, perToken units.FLOPs, width int, ringForward, ringBackward string) {
	if !k.rec.On() {
		return
	}
	l := k.in.Layout
	k.core.flopsFormula = record.Ref(k.core.scope + ".core-flops")
	k.rec.Scope(k.core.scope, "core attention").Figure(record.Entry{
		ID: "core-flops", Name: "FLOPs of core attention of one micro-batch in one layer, as the kernel computes them", Symbol: "F_core",
		Unit: record.FLOPs, Value: float64(f), Formula: "FLOPs_per_token * share_inside_local_windows * imbalance_of_the_causal_split * T / t",
		Source: "2 x heads x widths x sequence / 2 per token under the causal mask, less what windows skip, times the busiest CP rank's share",
	}, record.In("FLOPs_per_token", perToken),
		record.InUnit(record.Share, "share_inside_local_windows", layer.WindowShare(l.Seq, true)), record.In("imbalance_of_the_causal_split", l.CausalImbalance()))
	if k.core.forward > 0 {
		forward, backward := k.m.AttentionFormulas(width)
		k.recordScores(forward+ringForward, backward+ringBackward)
	}
}

// recordUnfused makes the scopes of the two products of unfused attention.
func (k *kernels) recordUnfused(rows, groups, touched, width, s record.Num) (products [2]*record.Recorder) {
	if !k.rec.On() {
		return products
	}
	rec := k.rec.Scope(k.core.scope, "core attention")
	for i, p := range [...]product{{"scores", "scores", rows, width, s}, {"values", "scores times values", rows, s, width}} {
		r := rec.Scope(p.id, p.name)
		r.Let("groups", groups.Text())
		r.Let("rows", rows.Text())
		r.Let("inner", p.inner.Text())
		r.Let("cols", p.cols.Text())
		r.Let("touched", "bytes * ("+touched.Text()+")")
		products[i] = r
	}
	return products
}

// ring adds what a ring of CP ranks costs core attention next to its arithmetic:
// one kernel for every rank's keys and values instead of one in all, each with its
// own start, and the merging of their partial outputs in the forward, of the partial
// gradients of queries, keys and values in the backward: read, and the sum read and
// written (NVIDIA/TransformerEngine, context_parallel.py:
// flash_attn_fwd_out_correction). Under a causal mask each of the others' steps
// concerns half of the queries or half of the keys.
//
// The formulas are what to add to those of attention.
func (k *kernels) ring(layer *model.Layer, core *model.Op) (forward, backward string) {
	l := k.in.Layout
	if l.CP == 1 || k.core.forward <= 0 {
		return "", ""
	}
	others := float64(l.CP - 1)
	merged := 3 * k.elem * k.tokens.V * (1 + RingShare*others)
	starts := units.Seconds(others) * k.m.Ops.AttentionStart
	add := func(pass string, width record.Num, to *units.Seconds) string {
		t := starts + k.m.Stream(units.Bytes(merged*width.V))
		*to += t
		if !k.rec.On() {
			return ""
		}
		return k.recordRing(pass, width.Text(), t)
	}
	forward = add("forward", layer.Tensor(core.Out[0]).On(k.t, k.etp), &k.core.forward)
	return forward, add("backward", layer.WidthOn(core.In, k.t, k.etp), &k.core.backward)
}

// recordRing records what the ring adds to a pass.
func (k *kernels) recordRing(pass, width string, t units.Seconds) string {
	id := k.core.scope + ".ring-" + pass
	k.in.Record.Figure(record.Entry{
		ID: id, Name: "steps of the CP ring, " + pass, Symbol: "t(steps of the CP ring, " + pass + ")", Unit: record.Seconds, Value: float64(t),
		Formula: "(c - 1) * attention_start + " + k.m.StreamFormula("3 * bytes * T * (1 + share_of_a_step * (c - 1)) * ("+width+")", t),
		Source: "a kernel per CP rank, and the merging of partial results: each read, their sum read and written; " +
			"half of it under the causal mask in half of the steps (NVIDIA/TransformerEngine, context_parallel.py)",
	}, record.In("share_of_a_step", RingShare))
	return " + " + record.Ref(id)
}

// RingShare is the part of the outputs, or of the gradients, that a step of the
// ring beyond the first concerns: all or half, as often.
const RingShare = 0.75
