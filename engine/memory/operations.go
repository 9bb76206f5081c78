package memory

import (
	"meshscope/engine/model"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Operation is one operation of a layer on one GPU: its parameters, and the bytes that it
// keeps of one micro-batch.
type Operation struct {
	ID          string      `json:"id"`
	Name        string      `json:"name"`
	Parameters  float64     `json:"parameters"`
	States      units.Bytes `json:"state_bytes"` // weights, gradients and optimizer on the GPU
	Activations units.Bytes `json:"activation_bytes"`
}

// Operations takes a distinct layer to pieces: operations in order, those
// that run as one kernel together. The sums are what the layer adds to a stage when nothing is
// recomputed in full. What the stack keeps beyond their tensors comes last.
func Operations(in *Input, stack Stack, l *model.Layer) []Operation {
	cut, copies := stack.Cut(in), 0.0
	shard := stack.Shard(in)
	perDense := units.Bytes(shard.Weights.Dense + shard.Gradients.Dense + shard.Optimizer.Dense)
	perExpert := units.Bytes(shard.Weights.Expert + shard.Gradients.Expert + shard.Optimizer.Expert)
	tokens := units.Bytes(in.Layout.MicroBatchTokens() * in.Precision.Bytes() / 2)
	if cut.copies {
		copies = 1
	}
	var list []Operation
	at := func(id, name string) *Operation {
		for i := range list {
			if list[i].ID == id {
				return &list[i]
			}
		}
		list = append(list, Operation{ID: id, Name: name})
		return &list[len(list)-1]
	}
	for i := range l.Ops {
		o := &l.Ops[i]
		if o.Kind == model.View {
			continue
		}
		row, each := at(o.ID, o.Name), perDense
		sharded, whole := l.Parameters(o)
		n := sharded.V/cut.sharded + whole.V/cut.replicated + l.Copied(o, record.Lit(float64(in.Layout.TP))).V*copies
		if o.Kind == model.Grouped {
			n, each = sharded.V/cut.experts+whole.V/cut.expertReplicated, perExpert
		}
		row.Parameters += n
		row.States += units.Bytes(n) * each
	}
	s, routed := in.save(stack, l), in.routed(l)
	more := s.more
	for i := range s.set {
		e := &s.set[i]
		var one amount
		s.amount(&one, e, e.bytes)
		o := &l.Ops[e.by]
		at(o.ID, o.Name).Activations += tokens * units.Bytes(one.perToken(in, routed).V)
	}
	for p, name := range [...]string{"attention", "norms", "MLP", "shared experts", "router", "experts"} {
		if n := more[p].perToken(in, routed); n.V != 0 {
			at("more-"+name, "more of the "+name).Activations += tokens * units.Bytes(n.V)
		}
	}
	return list
}
