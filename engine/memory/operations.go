package memory

import (
	"strings"

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
	var texts [][2][]string // of the parameters and of the saved bytes of each
	at := func(id, name string) int {
		for i := range list {
			if list[i].ID == id {
				return i
			}
		}
		list, texts = append(list, Operation{ID: id, Name: name}), append(texts, [2][]string{})
		return len(list) - 1
	}
	for i := range l.Ops {
		o := &l.Ops[i]
		if o.Kind == model.View && o.Fused { // nothing runs
			continue
		}
		n, each := at(o.ID, o.Name), perDense
		sharded, whole := l.Parameters(o)
		copied := l.Copied(o, in.Record.Named("t", float64(in.Layout.TP)))
		parameters, cuts := sharded.V/cut.sharded+whole.V/cut.replicated+copied.V*copies,
			[2]string{" / t", cut.whole()}
		if o.Kind == model.Grouped {
			parameters, each = sharded.V/cut.experts+whole.V/cut.expertReplicated, perExpert
			cuts = [2]string{" / (EP * ETP)", cut.biases()}
		}
		list[n].Parameters += parameters
		list[n].States += units.Bytes(parameters) * each
		if in.Record.On() {
			for i, p := range [...]record.Num{sharded, whole} {
				if p.V > 0 {
					texts[n][0] = append(texts[n][0], "("+p.Text()+")"+cuts[i])
				}
			}
			if copied.V*copies > 0 {
				texts[n][0] = append(texts[n][0], copied.Text())
			}
		}
	}
	s, routed := in.save(stack, l), in.routed(l)
	saved := func(id, name string, bytes record.Num) {
		n := at(id, name)
		list[n].Activations += tokens * units.Bytes(bytes.V)
		if in.Record.On() && bytes.V > 0 {
			texts[n][1] = append(texts[n][1], bytes.Text())
		}
	}
	for i, bytes := range s.exact {
		if bytes.V > 0 {
			saved(l.Ops[i].ID, l.Ops[i].Name, bytes)
		}
	}
	more := s.more
	for i := range s.set {
		e := &s.set[i]
		var one amount
		s.amount(&one, e, e.bytes)
		saved(l.Ops[e.by].ID, l.Ops[e.by].Name, one.perToken(in, routed))
	}
	for p, name := range [...]string{"attention", "norms", "MLP", "shared experts", "router", "experts"} {
		if n := more[p].perToken(in, routed); n.V != 0 {
			saved("more-"+strings.ReplaceAll(strings.ToLower(name), " ", "-"), "more of the "+name, n)
		}
	}
	in.recordOperations(l, list, texts)
	return list
}

// recordOperations records what each operation of a layer has and keeps on one GPU.
func (in *Input) recordOperations(l *model.Layer, list []Operation, texts [][2][]string) {
	if !in.Record.On() {
		return
	}
	for i := range list {
		o := &list[i]
		rec, of := in.Record.Scope("layer."+l.ID+"."+o.ID, o.Name), o.Name+" of one "+l.ID+" layer"
		if o.Parameters > 0 {
			rec.Figure(record.Entry{
				ID: "parameters", Name: "parameters on one GPU: " + of, Symbol: "parameters of " + of,
				Formula: record.Sum(texts[i][0]...), Value: o.Parameters, Source: sourceCut,
			})
		}
		if o.Activations > 0 {
			rec.Figure(record.Entry{
				ID: "saved", Name: "saved for the backward of one micro-batch: " + of,
				Symbol: "saved by " + of, Unit: record.Memory,
				Formula: "T * e * (" + record.Sum(texts[i][1]...) + ")", Value: float64(o.Activations),
				Source:    "tensors that the stack keeps from forward to backward",
				LeavesOut: "what full recomputation drops",
			})
		}
	}
}
