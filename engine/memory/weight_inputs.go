package memory

import (
	"meshscope/engine/model"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// weightInputs returns what the weight gradients of a stage need, bytes per token in
// 16-bit, when a schedule puts them off: of every product its input and the
// gradient of its output, which is what the zero-bubble code keeps for each
// linear layer (sail-sg/zero-bubble-pipeline-parallelism,
// megatron/core/weight_grad_store.py), as that product reads them: fp8 ones
// quantised (NVIDIA/TransformerEngine, pytorch/module/linear.py and
// grouped_linear.py). Tensors as wide as the hidden state stay
// split along the sequence with SP and are gathered when the product runs. The
// head is not put off: its logits' gradient would be kept for every micro-batch.
// Any stack that keeps these tensors can use it.
func weightInputs(in *Input, stage int, k Stack) units.Bytes {
	m, st, note := in.Model, &in.Stages[stage], in.stageNote(stage)
	total := 0.0
	for i := range in.Program.Layers {
		if l, n := &in.Program.Layers[i], int(st.Of[i]); n > 0 {
			total += float64(n) * in.layer(k, l).deferred
			if note.rec != nil {
				note.times("weights", n, l.Name+"_layers", l.ID, "_weight_inputs")
			}
		}
	}
	if st.Head && in.TrainMTP && m.MTPLayers > 0 {
		module := in.Program.Module()
		var inputs amount
		in.deferred(&inputs, &in.Program.Projection)
		projection := inputs.perToken(in, record.Num{})
		total += float64(m.MTPRuns()) * (in.layer(k, module).deferred + projection.V)
		if note.rec.On() {
			note.times("weights", m.MTPRuns(), "MTP_runs", "(", module.ID, "_weight_inputs + ",
				projection.Text(), ")")
		}
	}
	note.term("weight-inputs", "T * e * (", note.sum("weights"), ")")
	return units.Bytes(in.perElement() * total)
}

// deferredBy returns what the weight gradients of one layer need.
func (in *Input) deferredBy(l *model.Layer) record.Num {
	var all amount
	in.deferred(&all, l)
	return all.perToken(in, l.TopK)
}

// deferred adds the inputs of a layer's products and the gradients of their outputs: each
// tensor once, also where several products read it.
func (in *Input) deferred(into *amount, l *model.Layer) {
	w, x, two := in.elements(), [model.MaxTensors]bool{}, [model.MaxTensors]bool{}
	for i := range l.Ops {
		o := &l.Ops[i]
		if !o.IsProduct() || o.Part == model.PartExtra {
			continue
		}
		from, bytes, seen := o.In[0], w.input, &x
		if by := l.Tensor(from).By; by >= 0 && l.Ops[by].Kind == model.View &&
			l.Ops[by].Part == model.PartShared {
			from = l.Ops[by].In[0]
		}
		if o.Kind == model.Gate && w.input.V < 2 { // it reads 16 bits
			bytes, seen = record.Lit(2), &two
		}
		if !seen[from] {
			into.add(in, l.Tensor(from), bytes)
		}
		seen[from] = true
		for _, r := range o.Out {
			switch {
			case r == 0:
			case l.Tensor(r).FP32:
				into.add(in, l.Tensor(r), record.Lit(4))
			default:
				into.add(in, l.Tensor(r), w.gradient)
			}
		}
	}
}

// elements are the bytes in which tensors of an element of 16 bits are kept.
type elements struct {
	input    record.Num // of a product
	output   record.Num // of attention, which attention and the output projection keep
	read     record.Num // by an activation
	gradient record.Num // of a product's output
}

func (in *Input) elements() elements {
	p, r := in.Precision, in.Record
	of := func(name string, bytes float64) record.Num { return r.Named(name, 2*bytes/p.Bytes()) }
	return elements{
		input: of("b_in", p.InputBytes()), output: of("b_out", p.AttentionBytes()),
		read: of("b_read", p.ActivationBytes()), gradient: of("b_dy", p.OutputGradientBytes()),
	}
}
