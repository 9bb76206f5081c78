package model

import "meshscope/engine/record"

// shortConvolution is the mixer of LFM2 (arXiv 2511.23404): a projection of two gates and an input, of which
// one gate multiplies the input before a convolution over the last tokens and the other its output. TP cuts
// channels; CP needs the last columns of the rank before, which is not counted.
func shortConvolution(b *builder, x Ref) Ref {
	h := b.size.h
	b.part = PartAttention
	before, after, in := b.tensor(h, Columns), b.tensor(h, Columns), b.tensor(h, Columns)
	b.add(Op{Kind: Product, ID: "linear-in", Name: "projections of the short convolution"}, refs(x),
		refs(before, after, in))
	out, y := b.tensor(h, Columns), b.tensor(h, Sequence)
	b.convolution(b.gated(in, before, "input-gate", "gated input of the convolution"), record.Lit(0), out)
	gated := b.gated(out, after, "output-gate", "gated output of the convolution")
	b.add(Op{Kind: Product, ID: "output", Name: "output projection"}, refs(gated), refs(y))
	return y
}
