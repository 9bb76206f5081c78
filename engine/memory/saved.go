package memory

import (
	"slices"

	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
)

// amount is a number of bytes per token: even is always divided by TP, seq only with sequence
// parallelism, and routed counts for each expert that a token goes to.
type amount struct{ even, seq, routed record.Terms }

// add adds so many bytes for each element of a tensor.
func (a *amount) add(in *Input, t *model.Tensor, bytes record.Num) {
	times := 1.0
	if bytes.V != 0 && !bytes.Named() { // written once with its number
		times, bytes = bytes.V, record.Lit(1)
	}
	switch t.Cut {
	case model.Sequence:
		a.seq.Add(times, bytes.Times(t.Width))
	case model.Columns:
		a.even.Add(times, bytes.Times(t.Width))
	// of all ranks of a TP group together: more than the model's where TP exceeds the heads
	case model.KeyValue:
		tp := in.Record.Named("t", float64(in.Layout.TP))
		a.even.Add(times, bytes.Times(t.On(tp, record.Lit(1)).Times(tp)))
	case model.Routed: // gathered over expert-TP
		etp := in.Record.Named("ETP", float64(in.Layout.ETP))
		a.routed.Add(times, bytes.Times(t.Width).Times(etp))
	case model.RoutedColumns:
		a.routed.Add(times, bytes.Times(t.Width))
	}
}

// perToken returns the bytes on one GPU; routed is for how many experts a token counts.
func (a *amount) perToken(in *Input, routed record.Num) record.Num {
	t, seq := in.Record.Named("t", float64(in.Layout.TP)), a.seq.Num()
	if a.routed.V != 0 {
		seq = seq.Plus(routed.Times(a.routed.Num()))
	}
	even := a.even.Num()
	switch {
	case in.Layout.SP:
		return even.Plus(seq).Over(t)
	case even.V == 0:
		return seq
	}
	return even.Over(t).Plus(seq)
}

// saved is a tensor that an operation keeps from its forward to its backward.
type saved struct {
	tensor   model.Ref
	by       int        // the operation
	bytes    record.Num // of an element, for a precision of 16 bits
	gathered bool       // over TP, where the sequence is cut
}

// saver collects what one layer keeps: a set of tensors by identity, so that what two
// operations keep in the same width is there once. A rule of a stack fills it.
type saver struct {
	in            *Input
	layer         *model.Layer
	recomputation model.Recomputation
	set           []saved

	exact          []record.Num                // bytes per token of each operation, of a stack that counts so
	more           [model.PartCount]amount     // what is no tensor of the list
	moreRecomputed amount                      // of it, what is made again
	parts          [model.PartCount]record.Num // bytes per token that are saved, by part of the layer
	dropped        record.Num                  // bytes per token that are not kept but made again
}

// begin empties it for another layer.
func (s *saver) begin(in *Input, l *model.Layer) {
	s.in, s.layer, s.recomputation, s.set = in, l, model.Recomputation{}, s.set[:0]
	s.exact = s.exact[:0]
	s.more, s.moreRecomputed, s.dropped = [model.PartCount]amount{}, amount{}, record.Num{}
}

// save keeps a tensor for an operation.
func (s *saver) save(by int, tensor model.Ref, bytes record.Num) {
	if tensor == 0 || bytes.V == 0 {
		return
	}
	for i := range s.set {
		if s.set[i].tensor == tensor && s.set[i].bytes.V == bytes.V {
			return
		}
	}
	s.set = append(s.set, saved{tensor: tensor, by: by, bytes: bytes})
}

// all keeps every tensor of a list.
func (s *saver) all(by int, list [3]model.Ref, bytes record.Num) {
	for _, r := range list {
		s.save(by, r, bytes)
	}
}

// drop keeps a tensor no more.
func (s *saver) drop(tensor model.Ref) {
	s.set = slices.DeleteFunc(s.set, func(e saved) bool { return e.tensor == tensor })
}

// part returns the part of the layer that a tensor is counted with.
func (s *saver) part(e *saved) model.Part { return s.layer.Ops[e.by].Part }

// amount adds what is kept of one tensor.
func (s *saver) amount(into *amount, e *saved, bytes record.Num) {
	t := s.layer.Tensor(e.tensor)
	into.add(s.in, t, bytes)
	if e.gathered {
		tp := s.in.Record.Named("t", float64(s.in.Layout.TP))
		into.even.Add(1, bytes.Times(t.Width).Times(tp.Minus(record.Lit(1))))
	}
}

// recomputed reports whether the backward recomputes a tensor, and which operation makes it.
func (s *saver) recomputed(r model.Ref) (by *model.Op, recomputation bool) {
	i := s.layer.Tensor(r).By
	if i < 0 {
		return nil, false
	}
	by = &s.layer.Ops[i]
	for _, o := range s.recomputation.Outputs(s.layer, by) {
		if o == r {
			return by, true
		}
	}
	return by, false
}

// dropRecomputed drops what named modules make again, and returns it: one layer at a time has it.
// Outputs of norms come in 16 bits, and a quantised copy of what is made again is not kept
// (NVIDIA/Megatron-LM, moe_layer.py: set_for_recompute_pre_mlp_layernorm).
func (s *saver) dropRecomputed() (recomputation amount) {
	recomputation = s.moreRecomputed
	if s.recomputation.Mode != recipe.RecomputeModules && s.recomputation.Mode != recipe.RecomputeSelective {
		return recomputation
	}
	var seen [model.MaxTensors]bool
	stored := s.set[:0]
	for i := range s.set {
		e := s.set[i]
		by, dropped := s.recomputed(e.tensor)
		switch {
		case dropped && by.Part == model.PartNorms && by.Module != 0 && !s.fused(by):
			if !seen[e.tensor] {
				s.amount(&recomputation, &e, record.Lit(2))
			}
			seen[e.tensor] = true
		case dropped:
			s.amount(&recomputation, &e, e.bytes)
		case e.bytes.V < 2 && by != nil && by.Kind == model.View && s.isRecomputed(by.In[0]):
		case e.bytes.V < 2 && s.wholeMoE(e.by):
			s.amount(&recomputation, &e, e.bytes)
		default:
			stored = append(stored, e)
		}
	}
	s.set = stored
	return recomputation
}

func (s *saver) isRecomputed(r model.Ref) bool {
	_, recomputation := s.recomputed(r)
	return recomputation
}

// fused reports whether a norm is part of the product that reads it.
func (s *saver) fused(norm *model.Op) bool { return norm.Module&moduleNorm == 0 }

// wholeMoE reports whether an operation belongs to experts that run again as a whole: what
// enters them is kept in 16 bits.
func (s *saver) wholeMoE(op int) bool {
	return s.recomputation.Has(moduleMoE) && s.layer.Ops[op].Module&moduleMoE != 0
}

// addUp fills in the parts and returns their sum.
func (s *saver) addUp() (all record.Num) {
	parts, routed := s.more, s.in.routed(s.layer)
	for i := range s.set {
		e := &s.set[i]
		s.amount(&parts[s.part(e)], e, e.bytes)
	}
	for p := range parts {
		s.parts[p] = parts[p].perToken(s.in, routed)
		for i, bytes := range s.exact {
			if s.layer.Ops[i].Part == model.Part(p) {
				s.parts[p] = s.parts[p].Plus(bytes)
			}
		}
		all = all.Plus(s.parts[p])
	}
	return all
}

// everySecondProduct keeps what selective recomputation on torchtitan does: the input, the
// output of attention, and of the products every second one.
func (s *saver) everySecondProduct() {
	two := record.Lit(2)
	s.set = s.set[:0]
	s.more = [model.PartCount]amount{}
	for i := range s.layer.Ops {
		o := &s.layer.Ops[i]
		switch {
		case i == 0:
			s.save(i, o.In[0], two)
		case o.Kind == model.Core:
			s.all(i, o.Out, two)
		}
		for j, r := range o.Out {
			if o.Number > 0 && r != 0 && (o.Apart && (o.Number+j)%2 == 1 || !o.Apart && o.Number%2 == 1) {
				s.save(i, r, two)
			}
		}
	}
}
