package model

import "meshscope/engine/record"

// shortConvolution is the mixer of LFM2 (arXiv 2511.23404): a projection of two gates and an input, of which
// one gate multiplies the input before a convolution over the last tokens and the other its output. TP cuts
// channels; CP needs the last columns of the rank before, which is not counted.
func shortConvolution(b *builder, x Ref) Ref {
	h := b.size.h
	b.part = PartAttention
	before, after, in := b.tensor(h, Columns), b.tensor(h, Columns), b.tensor(h, Columns)
	b.product("linear-in", "projections of the short convolution", x, before, after, in)
	out := b.tensor(h, Columns)
	b.convolution(b.gated(in, before, "input-gate", "gated input of the convolution"), record.Lit(0), out)
	gated := b.gated(out, after, "output-gate", "gated output of the convolution")
	return b.output(gated)
}
