package step

import (
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// kernels computes the operations of one micro-batch on one GPU.
type kernels struct {
	in    *Input
	m     *hardware.Machine
	elem  float64 // bytes of an element
	input float64 // bytes of an element that a product reads

	tokens record.Num // T: tokens of a micro-batch on this rank
	shard  record.Num // those outside the TP regions: T/t with SP, else T
	// rows that one rank's experts work on, over ETP: tokens sent x experts of a token x load of the busiest
	routed record.Num
	t, etp record.Num

	core coreTimes        // of the layer at hand
	rec  *record.Recorder // scope of the piece of the model that is computed
}

// coreTimes is core attention in one layer; FLOPs are those that its kernel computes.
type coreTimes struct {
	scope                    string
	forward, backward, flops record.Num
}

func newKernels(in *Input) kernels {
	l, rec := in.Layout, in.Record
	k := kernels{
		rec: rec, in: in, m: &in.Machine, elem: in.Precision.Bytes(), input: in.Precision.OperandBytes(),
		tokens: rec.Named(
			"T",
			l.MicroBatchTokens(),
		), t: rec.Named("t", float64(l.TP)), etp: rec.Named("ETP", float64(l.ETP)),
	}
	if k.shard = k.tokens; l.SP {
		k.shard = k.tokens.Over(k.t)
	}
	k.routed = rec.Named("T_routed", k.shard.V*in.Model.Copies()*in.Load)
	k.symbols()
	return k
}

// symbols says what the formulas of this package call its quantities.
func (k *kernels) symbols() {
	if !k.rec.On() {
		return
	}
	m := k.in.Model
	k.rec.Given(
		record.In("bytes_of_an_operand", k.input),
		record.In("P_extra", m.Extra()),
		record.In(
			"bytes_of_a_gradient",
			k.in.GradDtype.Bytes(k.in.Precision),
		),
		record.In("biased", k.m.Software.Biased),
	)
	k.rec.Figure(record.Entry{
		ID: "layout.hidden-states", Name: "hidden states of one micro-batch", Symbol: "hidden_states",
		Unit:    record.Traffic,
		Formula: "bytes * T * h", Value: k.hiddenStates().V, Source: "bytes x tokens x hidden width",
	})
	if !m.IsMoE() {
		return
	}
	k.rec.Figure(record.Entry{
		ID: "layer.experts.tokens", Name: "routed tokens on the busiest expert rank, over ETP",
		Symbol: "T_routed", Value: k.routed.V,
		Formula: k.shard.Times(k.in.Program.Module().TopK).Text() + " * imbalance",
		Source:  "tokens sent x experts per token x imbalance",
	})
}

// begin starts the record of a part of the model: kernels added from here on belong to it.
func (k *kernels) begin(id, what string) {
	k.rec = k.in.Record.Scope(id, what)
	k.rec.Clear()
}

// Sums of a piece, and of a stage.
const (
	forwardOverlap         = "forward-overlap"
	inputGradOverlap       = "input-gradient-overlap"
	splitBackwardExposedTP = "split-backward-exposed-tp"
)

// timeSum is one of the times of a Cost that are recorded: in a piece and in a stage.
type timeSum struct {
	id, name string
	t        units.Seconds
	overlap  bool
}

// sums lists the passes, and the compute that overlaps with traffic.
func (c *Cost) sums() [6]timeSum {
	return [...]timeSum{
		{"forward", "forward", c.Forward, false},
		{"input-gradient", "input gradient", c.InputGrad, false},
		{"weight-gradient", "weight gradient", c.WeightGrad, false},
		{splitBackwardExposedTP, "TP traffic exposed by a split backward", c.SplitBackwardExposedTP, true},
		{forwardOverlap, "compute of the forward that overlaps with traffic", c.ForwardOverlap, true},
		{
			inputGradOverlap,
			"compute of the input gradient that overlaps with traffic",
			c.InputGradOverlap,
			true,
		},
	}
}

// add adds a time to one of the sums of the piece at hand.
func (k *kernels) add(to *units.Seconds, sum string, t record.Num) {
	*to += units.Seconds(t.V)
	if k.rec.On() {
		k.rec.Term(sum, t.Text())
	}
}

// sum returns a sum of the piece at hand so far, of that value.
func (k *kernels) sum(id string, v units.Seconds) record.Num {
	return k.rec.Written(k.rec.Sum(id), float64(v))
}

// end records the sums of a piece.
func (k *kernels) end(c *Cost) {
	if !k.rec.On() {
		return
	}
	of := "the " + k.rec.What()
	if strings.HasSuffix(of, "layer") {
		of = "one " + k.rec.What()
	}
	for _, sum := range c.sums() {
		e := record.Entry{
			ID: sum.id, Name: sum.name + " of one micro-batch in " + of,
			Symbol: sum.id + " of " + k.rec.What(), Unit: record.Seconds,
			Formula: k.rec.Sum(sum.id), Value: float64(sum.t),
			Source: "the sum of its operations", LeavesOut: "exposed communication (its own figure)",
		}
		if sum.overlap {
			e.Name, e.Source, e.LeavesOut = sum.name+" in "+of, "the sum over its traffic", ""
		}
		if e.Formula != "0" || !sum.overlap {
			k.rec.Figure(e)
		}
	}
}

// layer returns one transformer layer: its operations, then its traffic.
func (k *kernels) layer(l *model.Layer) Cost {
	var c Cost
	if k.in.Record.On() {
		k.begin("layer."+l.ID, l.Name+" layer")
	}
	for i := range l.Ops {
		k.operation(&c, l, &l.Ops[i], nil)
	}
	k.tensorParallel(&c, l)
	k.contextParallel(&c, l)
	if l.MoE {
		k.expertParallel(&c)
	}
	k.host(&c, l.MoE)
	k.end(&c)
	return c
}

// operation adds one operation of a layer. What moves memory is one kernel with the operations
// of the same ID among those that run: all of the layer, or only what runs again.
func (k *kernels) operation(c *Cost, l *model.Layer, o *model.Op, recomputation *model.Recomputation) {
	switch {
	case o.Fused:
	case o.IsProduct():
		k.product(c, l, o)
	case o.Kind == model.Core:
		if k.core.forward.V > 0 {
			k.add(&c.Forward, "forward", k.core.forward)
			k.add(&c.InputGrad, "input-gradient", k.core.backward)
		}
	case o.Kind == model.Scan:
		k.scan(c, o)
	case recomputation == nil && o.Part == model.PartExperts && k.m.Software.FusedExperts:
	default:
		k.move(c, l, o, recomputation)
	}
}

// move adds the kernel that an operation is the first of.
func (k *kernels) move(c *Cost, l *model.Layer, o *model.Op, recomputation *model.Recomputation) {
	var moved record.Terms
	for i := o.Kernel; i < len(l.Ops); i++ {
		p := &l.Ops[i]
		switch {
		case p.Kernel != o.Kernel, recomputation != nil && recomputation.Outputs(l, p)[0] == 0:
			continue
		// which run again one by one
		case p != o && recomputation != nil && recomputation.Mode == recipe.RecomputeModules:
			continue
		}
		if moved.V == 0 && p != o {
			return
		}
		k.moved(&moved, l, p)
	}
	all := moved.Num()
	k.stream(c, o.ID, o.Name, all)
	if biased := k.m.Software.Biased; recomputation == nil && o.Part == model.PartExperts && biased > 0 &&
		k.in.Model.MLPBias {
		k.stream(
			c,
			"expert-biases-activation",
			"activation of the experts' biases, as passes of it",
			all.Times(k.rec.Named("biased", biased)),
		)
	}
}

// moved adds the elements that an operation reads and writes. A permutation reads and writes
// a row for each expert of a token.
func (k *kernels) moved(sum *record.Terms, l *model.Layer, o *model.Op) {
	for _, list := range [...][3]model.Ref{o.In, o.Out} {
		for _, r := range list {
			if r == 0 {
				continue
			}
			t, times := l.Tensor(r), 1.0
			if o.Kind == model.Permute {
				if times = 2; t.Cut != model.Routed {
					continue
				}
			}
			switch t.Cut {
			case model.Sequence:
				sum.Add(times, k.shard.Times(t.Width))
			case model.Columns, model.KeyValue:
				sum.Add(times, k.tokens.Times(t.On(k.t, k.etp)))
			case model.Routed, model.RoutedColumns:
				sum.Add(times, k.routed.Times(t.Width))
			}
		}
	}
}

// bytes are those of so many elements.
func (k *kernels) bytes(elements record.Num) record.Num {
	return k.rec.Named("bytes", k.elem).Times(elements)
}

// kernel returns the time of a kernel that moves so many bytes through memory.
func (k *kernels) kernel(id, name, source, omits string, bytes record.Num) record.Num {
	t := k.m.Streamed(bytes)
	if k.rec.On() {
		t = k.rec.Figure(record.Entry{
			ID: id, Name: name, Symbol: "t(" + name + ")", Unit: record.Seconds, Value: t.V,
			Formula: t.Text(), Source: source, LeavesOut: omits,
		})
	}
	return t
}

// stream adds an element-wise operation that moves so many elements forward and
// twice as many backward, times the passes that the stack makes of it.
func (k *kernels) stream(c *Cost, id, name string, elements record.Num) {
	source := "bytes moved through memory, forward; the backward takes twice as long"
	if k.rec.On() {
		source += "; " + record.From(k.m.Software.From)
	}
	t := k.kernel(
		id,
		name,
		source,
		"",
		k.rec.Named("passes_of_the_stack", k.m.Software.Passes).Times(k.bytes(elements)),
	)
	k.add(&c.Forward, "forward", t)
	k.add(&c.InputGrad, "input-gradient", record.Lit(2).Times(t))
}

func (k *kernels) embedding() Cost {
	var c Cost
	k.begin("embedding", "embedding")
	k.stream(&c, "look-up", "look-up", record.Lit(2).Times(k.tokens).Times(k.hidden()))
	k.edge(&c)
	k.end(&c)
	return c
}

// hidden is the width of the hidden state.
func (k *kernels) hidden() record.Num { return k.in.Program.Hidden().Width }

// head returns the final norm, the output projection and the loss. The projection stays in 16
// bits with fp8 and NVFP4 (DeepSeek-V3, arXiv 2412.19437, section 3.3.1; in Megatron-LM it is no
// module of Transformer Engine: tensor_parallel/layers.py).
func (k *kernels) head() Cost {
	var c Cost
	k.begin("head", "head")
	cols := k.in.Record.Named("V", float64(k.in.Model.Vocab)).Over(k.t)
	k.stream(&c, "norm", "final norm", record.Lit(2).Times(k.shard).Times(k.hidden()))
	k.matmul(
		&c,
		&product{
			id:    "output",
			name:  "head projection",
			rows:  k.tokens,
			inner: k.hidden(),
			cols:  cols,
			wide:  true,
		},
	)
	c.HeadWeightGrad = c.WeightGrad
	k.loss(&c, k.tokens.Times(cols))
	k.edge(&c)
	k.end(&c)
	return c
}

// loss adds the passes of the cross-entropy over so many logits.
func (k *kernels) loss(c *Cost, logits record.Num) {
	forward, backward := k.in.Loss.LogitBytes(k.elem)
	const source = "fused: logits read and written once; else every operation of the loss in fp32 " +
		"(NVIDIA/Megatron-LM, tensor_parallel/cross_entropy.py)"
	const omits = "reductions of a number per token"
	k.add(
		&c.Forward,
		"forward",
		k.kernel("loss", "loss over the logits", source, omits, record.Lit(forward).Times(logits)),
	)
	k.add(
		&c.InputGrad,
		"input-gradient",
		k.kernel(
			"loss-gradient",
			"gradient of the logits",
			source,
			omits,
			record.Lit(backward).Times(logits),
		),
	)
}

func (k *kernels) mtpProjection() Cost {
	var c Cost
	k.begin("mtp-projection", "MTP projection")
	p := &k.in.Program.Projection
	k.product(&c, p, &p.Ops[0])
	k.end(&c)
	return c
}
