package memory

import (
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// gathered returns what ZeRO-3 holds of whole layers: the weights of one block,
// their gradient and the fp32 buffer it is scattered from, and the weights of
// the prefetched block, if the rank has another (PyTorch's FSDP2, as in torchtitan).
func gathered(in *Input, note note, p Parameters) units.Bytes {
	w, blocks := in.Precision.GatherBytes(), float64(min(p.blocks, 2))
	if note.rec.On() {
		note.buffer(record.Entry{
			ID: "buffers.gathered", Name: "Weights that ZeRO-3 gathers: the current layer and the next one",
			Symbol:  "gathered weights",
			Formula: "blocks_at_once * bytes_of_a_gathered_weight * " + p.largest(),
			Value:   blocks * w * p.Largest,
			Source: "bytes per parameter, for the largest layer or matrix on the rank, since the stack " +
				"handles one at a time",
			LeavesOut: "parts of layers that are handled separately",
		}, record.In(p.largest(), p.Largest), record.In("blocks_at_once", blocks))
		note.scattered(&p, in.Precision.Bytes())
	}
	return units.Bytes((blocks*w + in.Precision.Bytes() + 4) * p.Largest)
}

// scattered records the whole gradients that ZeRO-2 and 3 make before they are
// summed over the replicas: as the products give them, in so many bytes, and in the
// fp32 buffer that is sent.
func (n note) scattered(p *Parameters, bytes float64) {
	if !n.rec.On() {
		return
	}
	n.buffer(record.Entry{
		ID:      "buffers.scattered",
		Name:    "Whole gradients in transit, and the fp32 buffer that they are scattered from",
		Symbol:  "whole gradients",
		Formula: "(bytes_of_a_product + 4) * " + p.largest(), Value: (bytes + 4) * p.Largest,
		Source: "bytes per parameter, for the largest layer or matrix on the rank, since the stack " +
			"handles one at a time",
		LeavesOut: "parts of layers that are handled separately",
	}, record.In("bytes_of_a_product", bytes), record.In(p.largest(), p.Largest))
}

// largest names Largest in formulas.
func (p *Parameters) largest() string {
	if p.table {
		return "parameters_of_the_embedding_or_head"
	}
	return "parameters_of_the_largest_layer"
}

// buffer records a part of a rank's persistent buffers.
func (n note) buffer(e record.Entry, operands ...record.Operand) {
	e.Unit = record.Memory
	n.figure(e, operands...)
	n.term("persistent", n.rec.Ref(e.ID))
}
