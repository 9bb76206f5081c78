package step

import (
	"meshscope/engine/hardware"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// coreAttention is scores, softmax and the product with the values.
func (k *kernels) coreAttention(layer *model.Layer) {
	k.core = coreTimes{}
	core, ok := layer.Core()
	if !ok || layer.Pairs().V == 0 {
		return
	}
	if k.rec = k.in.Record; k.rec.On() {
		k.core.scope = layer.Scope("attention")
	}
	if rec := k.rec.Scope(k.core.scope, "core attention"); k.in.Attention == recipe.Standard {
		k.unfused(rec, layer, core)
	} else {
		k.fused(rec, layer, core)
	}
}

// fused is core attention in one kernel.
func (k *kernels) fused(rec *record.Recorder, layer *model.Layer, core *model.Op) {
	l := k.in.Layout
	width, share, imbalance, scores := layer.Tensor(
		core.In[0],
	).Head, layer.WindowShare(
		l.Seq,
		true,
	), k.imbalance(), layer.Forward(
		l.Seq,
		true,
	).Scores
	whole := layer.Choosing(l.Seq) / 2 // of an indexer, which TP does not cut
	all, formula := scores*units.FLOPs(share*imbalance*k.tokens.V/k.t.V),
		"FLOPs_per_token * share_inside_local_windows"
	if whole > 0 {
		all += whole * units.FLOPs((k.t.V-1)*imbalance*k.tokens.V/k.t.V)
		formula = "(" + formula + " + FLOPs_of_the_indexer * (t - 1))"
		rec.Given(record.In("FLOPs_of_the_indexer", whole))
	}
	k.core.flops = record.Lit(float64(all))
	if rec.On() {
		k.core.flops = rec.Figure(
			record.Entry{
				ID: "core-flops",
				Name: "FLOPs of core attention of one micro-batch in one layer, as the kernel computes " +
					"them",
				Symbol: "F_core",
				Unit:   record.FLOPs, Value: k.core.flops.V,
				Formula: formula + " * imbalance_of_the_causal_split * T / t",
				Source: "2 x heads x widths x sequence / 2 per token under the causal mask, less what " +
					"windows skip, times the busiest CP rank's share",
			},
			record.In("FLOPs_per_token", scores),
			record.InUnit(
				record.Share,
				"share_inside_local_windows",
				share,
			),
			record.In("imbalance_of_the_causal_split", imbalance),
		)
	}
	c := hardware.Core{
		FLOPs: k.core.flops, Width: int(width.V),
		Queries: k.tokens.Times(layer.Tensor(core.In[0]).On(k.t, k.etp)),
	}
	if share == 1 { // else tiles are equally long
		c.Seen = k.in.Record.Named("s", float64(l.Seq))
	}
	if rec.On() {
		rec.Given(record.In("head_width", width.V))
	}
	forward, backward := k.m.Attention(&c)
	if forward.V > 0 {
		k.attended(
			rec,
			forward.Plus(k.ring(rec, "forward", layer.Tensor(core.Out[0]).On(k.t, k.etp))),
			backward.Plus(k.ring(rec, "backward", layer.WidthOn(core.In, k.t, k.etp))),
		)
	}
}

// imbalance is the work of the busiest CP rank in attention over the mean: ranks that share heads are alike.
func (k *kernels) imbalance() float64 {
	if k.in.Ulysses {
		return 1
	}
	return k.in.Layout.CausalImbalance()
}

// unfused is two batched products over the whole square: the mask does not help, and the
// scores pass through memory: written, read and written by the scaled masked softmax, by
// dropout (with its mask), read again.
func (k *kernels) unfused(rec *record.Recorder, layer *model.Layer, core *model.Op) {
	two, s, width := record.Lit(
		2,
	), k.in.Record.Named(
		"s",
		float64(k.in.Layout.Seq),
	), layer.Tensor(
		core.In[0],
	).Head
	lines := layer.Heads.Over(k.t).Times(k.tokens) // a row of scores each
	square := lines.Times(s)
	touched := square.Plus(two.Times(lines).Times(width))
	batched := lines.Over(s).AtLeast(record.Lit(1)) // products, one per head and sequence
	rows := lines.Over(batched)
	k.core.flops = record.Lit(4).Times(square).Times(width)
	product := func(id, name string, inner, cols record.Num) record.Num {
		r := rec.Scope(id, name)
		if r.On() {
			for i, of := range [...]record.Num{batched, rows, inner, cols, k.bytes(touched)} {
				r.Let([...]string{"groups", "rows", "inner", "cols", "touched"}[i], of.Text())
			}
		}
		t := k.multiply(r, &product{groups: batched}, id, rows.V, inner.V, cols.V, k.elem*touched.V)
		if k.elem != 2 {
			return t
		}
		return k.m.Unaligned(t, two.Times(square).Times(width), width.V)
	}
	both := product("scores", "scores", width, s).Plus(product("values", "scores times values", s, width))
	passes := 2*k.elem + 2*k.elem + 1
	k.attended(
		rec,
		both.Plus(k.m.Streamed(record.Lit(passes).Times(square))),
		two.Times(both).Plus(k.m.Streamed(record.Lit(passes+k.elem).Times(square))),
	)
}

// attended records the times of core attention.
func (k *kernels) attended(rec *record.Recorder, forward, backward record.Num) {
	if rec.On() {
		e := record.Entry{
			ID: "forward", Name: "core attention, forward", Symbol: "t(core attention)", Unit: record.Seconds,
			Formula: forward.Text(), Value: forward.V,
			Source: record.From(k.m.Ops.From), LeavesOut: "clocks under load",
		}
		forward = rec.Figure(e)
		e.ID, e.Name, e.Symbol, e.Formula, e.Value = "backward", "core attention, backward",
			"t(core attention, backward)", backward.Text(), backward.V
		backward = rec.Figure(e)
	}
	k.core.forward, k.core.backward = forward, backward
}

// ring returns what a ring of CP ranks costs a pass of core attention next to its arithmetic:
// one kernel for every rank's keys and values instead of one in all, each with its
// own start, and the merging of their partial outputs in the forward, of the partial
// gradients of queries, keys and values in the backward: read, and the sum read and
// written (NVIDIA/TransformerEngine, context_parallel.py:
// flash_attn_fwd_out_correction). Under a causal mask each of the others' steps
// concerns half of the queries or half of the keys.
func (k *kernels) ring(rec *record.Recorder, pass string, width record.Num) record.Num {
	if k.in.Layout.CP == 1 || k.in.Ulysses {
		return record.Num{}
	}
	others := k.rec.Named("c", float64(k.in.Layout.CP)).Minus(record.Lit(1))
	merged := k.rec.Written(
		"3 * bytes * T * (1 + 0.75 * (c - 1))",
		3*k.elem*k.tokens.V*(1+RingShare*others.V),
	)
	t := others.Times(k.rec.Named("attention_start", float64(k.m.Ops.Attention.Forward.Start))).
		Plus(k.m.Streamed(merged.Times(width)))
	if !rec.On() {
		return t
	}
	return rec.Figure(record.Entry{
		ID: "ring-" + pass, Name: "steps of the CP ring, " + pass,
		Symbol: "t(steps of the CP ring, " + pass + ")", Unit: record.Seconds, Value: t.V,
		Formula: t.Text(),
		Source: "a kernel per CP rank, and the merging of partial results: each read, their sum read and " +
			"written; " +
			"half of it under the causal mask in half of the steps (NVIDIA/TransformerEngine, " +
			"context_parallel.py)",
	})
}

// RingShare is the part of the outputs, or of the gradients, that a step of the
// ring beyond the first concerns: all or half, as often.
const RingShare = 0.75
