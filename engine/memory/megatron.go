package memory

import (
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// megatronCore is the memory of Megatron-Core with Transformer Engine: flash
// attention, no dropout, fused cross-entropy, fp32 main gradients, the
// distributed optimizer (ZeRO-1). ZeRO 2 and 3 mean Megatron-FSDP.
//
// The terms are a closed form without fitted constants, chosen while looking at
// SimuMax's 43 published B200 measurements (MooreThreads/SimuMax at 4dcaae5,
// docs/b200), so the error there is in-sample.
type megatronCore struct{ common }

func (megatronCore) Assumptions(into []string, l *layout.Layout, overhead string) []string {
	into = append(
		into,
		"memory follows Megatron-Core with Transformer Engine: no dropout, one dummy weight gradient per "+
			"weight shape",
	)
	into = append(into, overhead)
	if l.ZeRO >= 2 {
		into = append(
			into,
			"ZeRO-2 and 3 on this stack mean Megatron-FSDP: one gathered and one prefetched layer at a time",
		)
	}
	return into
}

func (megatronCore) Cut(in *Input) Divisors {
	d := tensorParallel(in, in.paddedVocab().V)
	d.padded = true
	return d
}

// Save keeps what Transformer Engine does: a norm its input, a product its input as it reads it
// (a norm that one product alone reads is made again inside it), flash attention queries, keys,
// values, output and the sums of its softmax, an activation and a product of elements what they read, a scan
// also the inverse that it made (megatron/core/ssm/gated_delta_net/gdn.py; counted from the code, not
// measured).
func (megatronCore) Save(s *saver) {
	in, two, four := s.in, record.Lit(2), record.Lit(4)
	w := in.elements()
	for i := range s.layer.Ops {
		switch o := &s.layer.Ops[i]; o.Kind {
		case model.Norm:
			s.all(i, o.In, two)
		case model.Product, model.Grouped:
			if from := s.layer.Tensor(o.In[0]).By; o.Part == model.PartExtra ||
				from >= 0 && s.layer.Ops[from].Kind == model.Core {
				continue // attention keeps its output
			}
			s.save(i, o.In[0], w.input)
		case model.Gate:
			s.save(i, o.In[0], two)
		case model.Permute:
			s.save(i, in16(s, o.In[0]), w.input)
		case model.Choice:
			s.all(i, o.In, four)
			s.all(i, o.Out, four)
		case model.Core:
			s.all(i, o.In, two)
			s.save(i, o.Out[0], w.output)
			s.save(i, o.Out[1], two)
			s.scores(o.Part, two)
			if y := s.outputOf(o); in.Layout.CP > 1 { // on both sides of the exchange
				s.more[o.Part].add(in, y, two)
			}
		case model.Activation:
			s.all(i, o.In, w.read)
		case model.Multiply:
			for _, r := range o.In {
				bytes := two
				if s.layer.Tensor(r).FP32 {
					bytes = four
				}
				s.save(i, r, bytes)
			}
		case model.Convolution: // its input is part of a projection's output, which stays whole
			s.save(i, o.In[0], two)
		case model.Scan:
			if !o.Scan.Again {
				s.all(i, o.In, two)
			}
			s.save(i, o.Out[1], two)
		case model.Rotary, model.Residual, model.View:
		}
	}
}

// in16 returns what a dispatch of tokens to experts keeps; the way back keeps nothing.
func in16(s *saver, r model.Ref) model.Ref {
	if s.layer.Tensor(r).Cut == model.Sequence {
		return r
	}
	return 0
}

// outputOf returns the tensor that attention adds to the residual stream.
func (s *saver) outputOf(core *model.Op) *model.Tensor {
	at := core.Out[0]
	for i := range s.layer.Ops {
		switch o := &s.layer.Ops[i]; {
		case o.In[0] == at && (o.Kind == model.Multiply || o.Kind == model.Rotary || o.Blocks.V > 0):
			at = o.Out[0]
		case o.In[0] == at:
			return s.layer.Tensor(o.Out[0])
		}
	}
	return s.layer.Tensor(model.Input)
}

// scores adds what standard attention stores, unless selective recomputation drops it: the
// softmax in 2 bytes per head and key, and with dropout its mask and output, 5 in all
// (Korthikanti et al., arXiv 2205.05198, section 4.1).
func (s *saver) scores(part model.Part, bytes record.Num) {
	in := s.in
	if in.Attention != recipe.Standard || in.Recompute.Mode == recipe.RecomputeSelective ||
		s.layer.Pairs().V == 0 {
		return
	}
	s.more[part].even.Add(bytes.V, s.layer.Heads.Times(in.Record.Named("s", float64(in.Layout.Seq))))
}

// Stage adds up the layers and the temporaries.
func (k megatronCore) Stage(in *Input, stage int) StageMemory {
	mem := microBatchActivations(in, stage, k)
	transient(in, stage, &mem, logits(in.Loss), headWork)
	return mem
}

// headWork returns what the head makes next to the logits: the weight's gradient and,
// with TP, the gathers of SP.
func headWork(in *Input) record.Num {
	tokens, t, h, _ := in.micro()
	extra := record.Lit(2).Times(in.paddedVocab()).Times(h).Over(t)
	if t.V > 1 {
		extra = extra.Plus(record.Lit(4).Times(tokens).Times(h))
	}
	return extra
}

// noWork returns a head that makes nothing next to the logits.
func noWork(*Input) record.Num { return record.Num{} }

// logits returns the bytes per token and vocabulary entry of the loss: in 16 bits
// where it is fused, else next to them in fp32.
func logits(loss recipe.Loss) float64 {
	if loss != recipe.FusedLoss {
		return 6
	}
	return 2
}

// transient adds the temporaries: on the last stage the head (logits, the final
// norm's input and output, and what else the stack's head makes), on others the
// gradients of the MLP's inner width and of the hidden state.
func transient(in *Input, stage int, mem *StageMemory, perLogit float64, headWork func(*Input) record.Num) {
	st, note, four := &in.Stages[stage], in.stageNote(stage), record.Lit(4)
	tokens, t, h, e := in.micro()
	if !st.Head {
		work := tokens.Times(in.inner(st).Plus(four.Times(h))).Over(t).Times(e)
		mem.Backward += units.Bytes(work.V)
		note.add("backward-temporaries", work)
		return
	}
	logits := note.named("bytes_per_logit", perLogit).Times(tokens).Times(in.paddedVocab()).Over(t).Times(e)
	if in.Loss == recipe.ChunkedLoss {
		logits = logits.Over(note.named("parts_of_the_tokens", recipe.LossChunks))
	}
	if n := in.Model.MTPRuns(); in.TrainMTP && n > 0 {
		logits = logits.Times(record.Lit(float64(1 + n)))
	}
	mem.Logits = units.Bytes(logits.V)
	note.add("logits", logits)
	note.temporary(mem, four.Times(tokens).Times(h).Over(t).Plus(headWork(in)).Times(e))
}

// inner returns the bytes of what activations read, of the largest kind of layer of a stage.
func (in *Input) inner(st *layout.Stage) (inner record.Num) {
	two := record.Lit(2)
	for i := range in.Program.Layers {
		l := &in.Program.Layers[i]
		if st.Of[i] == 0 {
			continue
		}
		of := two.Times(l.Inner(model.PartMLP))
		if l.MoE {
			of = in.routed(l).Times(two.Times(l.Inner(model.PartExperts)))
		}
		if inner.V > 0 {
			of = inner.AtLeast(of)
		}
		inner = of
	}
	return inner
}

// Buffers are Transformer Engine's dummy weight gradients, one in 16-bit per
// distinct weight shape on the rank, and what ZeRO 2 and 3 gather and scatter.
func (megatronCore) Buffers(in *Input, rank int, p Parameters) units.Bytes {
	l, note := in.Layout, in.rankNote(rank)
	total := units.Bytes(2 * in.shapeElements(rank) * in.Precision.Bytes() / 2)
	if note.rec.On() {
		shapes := in.shapes(in.kinds(rank), nil)
		formula, operands := shapes.formula()
		note.buffer(record.Entry{
			ID: "buffers.dummies", Name: "Dummy weight gradients", Symbol: "dummy gradients",
			Formula: "bytes * (" + formula + ")", Value: float64(total),
			Source: "Transformer Engine returns one in 16 bits per distinct weight shape to autograd, " +
				"since it accumulates the real ones itself",
			LeavesOut: "shapes of embedding and head",
		}, operands...)
	}
	switch {
	case l.ZeRO == 3 && l.DenseShards() > 1:
		total += gathered(in, note, p)
	case l.ZeRO == 2 && l.DenseShards() > 1:
		total += units.Bytes((2 + 4) * p.Largest)
		note.scattered(&p, 2)
	}
	return total
}
