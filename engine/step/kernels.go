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
	routed record.Num // rows that one rank's experts work on, over ETP: tokens sent x experts of a token x load of the busiest
	t, etp record.Num

	core coreTimes        // of the layer at hand
	rec  *record.Recorder // scope of the piece of the model that is computed
}

// coreTimes is core attention in one layer.
type coreTimes struct {
	scope             string
	forward, backward units.Seconds
	flops             units.FLOPs // that its kernel computes

	forwardFormula, backwardFormula, flopsFormula string
}

func newKernels(in *Input) kernels {
	l, rec := in.Layout, in.Record
	k := kernels{
		rec: rec, in: in, m: &in.Machine, elem: in.Precision.Bytes(), input: in.Precision.OperandBytes(),
		tokens: rec.Named("T", l.MicroBatchTokens()), t: rec.Named("t", float64(l.TP)), etp: rec.Named("ETP", float64(l.ETP)),
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
		record.In("bytes_of_an_operand", k.input), record.In("P_extra", m.Extra()),
		record.In("bytes_of_a_gradient", k.in.GradDtype.Bytes(k.in.Precision)), record.In("biased", k.m.Software.Biased),
	)
	k.rec.Figure(record.Entry{
		ID: "layout.hidden-states", Name: "hidden states of one micro-batch", Symbol: "hidden_states", Unit: record.Traffic,
		Formula: "bytes * T * h", Value: k.elem * k.tokens.V * float64(m.Hidden), Source: "bytes x tokens x hidden width",
	})
	k.rec.Figure(record.Entry{
		ID: "layer.experts.tokens", Name: "routed tokens on the busiest expert rank, over ETP", Symbol: "T_routed", Value: k.routed.V,
		Formula: k.shard.Text() + " * k * imbalance", Source: "tokens sent x experts per token x imbalance",
	})
}

// begin says which piece of the model is computed from here on.
func (k *kernels) begin(id, what string) {
	k.rec = k.in.Record.Scope(id, what)
	k.rec.Clear()
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
	for _, pass := range [...]struct {
		id, name string
		t        units.Seconds
	}{{"forward", "forward", c.Forward}, {"input-gradient", "input gradient", c.InputGrad}, {"weight-gradient", "weight gradient", c.WeightGrad}} {
		k.rec.Figure(record.Entry{
			ID: pass.id, Name: pass.name + " of one micro-batch in " + of, Symbol: pass.id + " of " + k.rec.What(), Unit: record.Seconds,
			Formula: k.rec.Sum(pass.id), Value: float64(pass.t),
			Source: "the sum of its operations", LeavesOut: "exposed communication (its own figure)",
		})
	}
	for _, over := range [...]struct {
		id, name string
		t        units.Seconds
	}{{"split-backward-exposed-tp", "TP traffic exposed by a split backward", c.SplitBackwardExposedTP}, {"forward-overlap", "compute of the forward that overlaps with traffic", c.ForwardOverlap}, {"input-gradient-overlap", "compute of the input gradient that overlaps with traffic", c.InputGradOverlap}} {
		if sum := k.rec.Sum(over.id); sum != "0" {
			k.rec.Figure(record.Entry{
				ID: over.id, Name: over.name + " in " + of, Symbol: over.id + " of " + k.rec.What(), Unit: record.Seconds,
				Formula: sum, Value: float64(over.t), Source: "the sum over its traffic",
			})
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
	case o.Kind == model.Grouped:
		k.grouped(c, l, o)
	case o.IsProduct():
		k.product(c, l, o)
	case o.Kind == model.Core:
		c.Forward += k.core.forward
		c.InputGrad += k.core.backward
		if k.rec.On() && k.core.forward > 0 {
			k.rec.Term("forward", k.core.forwardFormula)
			k.rec.Term("input-gradient", k.core.backwardFormula)
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
		case p != o && recomputation != nil && recomputation.Mode == recipe.RecomputeModules: // which run again one by one
			continue
		}
		if moved.V == 0 && p != o {
			return
		}
		k.moved(&moved, l, p)
	}
	all := moved.Num()
	k.stream(c, o.ID, o.Name, all)
	if biased := k.m.Software.Biased; recomputation == nil && o.Part == model.PartExperts && biased > 0 && k.in.Model.MLPBias {
		k.stream(c, "expert-biases-activation", "activation of the experts' biases, as passes of it", all.Times(k.rec.Named("biased", biased)))
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

// shape returns what a product multiplies on one GPU: a matrix of inner x cols with so many
// rows. Between cut tensors a rank has all rows of the micro-batch.
func (k *kernels) shape(l *model.Layer, o *model.Op) (rows, inner, cols record.Num) {
	if rows = k.shard; l.SplitIn(o) || l.SplitOut(o) {
		rows = k.tokens
	}
	return rows, l.Tensor(o.In[0]).On(k.t, k.etp), l.WidthOn(o.Out, k.t, k.etp)
}

// product adds a product of a layer. The router's stays in 16 bits where NVFP4 quantises
// others: it is no module of Transformer Engine (NVIDIA/Megatron-LM,
// transformer/moe/router.py). The fitted rates of fp8 have it among the products of layers.
func (k *kernels) product(c *Cost, l *model.Layer, o *model.Op) {
	rows, inner, cols := k.shape(l, o)
	k.matmul(c, &product{o.ID, o.Name, rows, inner, cols}, o.Kind == model.Gate && k.input < k.elem)
}

// product is what a matrix product is called, and its shape.
type product struct {
	id, name          string
	rows, inner, cols record.Num
}

// matmul adds one product of rows x inner x cols: the forward, the gradient of its input and
// that of its weight; a wide one in 16 bits.
func (k *kernels) matmul(c *Cost, p *product, wide bool) {
	rows, inner, cols := p.rows.V, p.inner.V, p.cols.V
	input, multiply := k.input, (*hardware.Machine).MatMul
	if wide {
		input, multiply = k.elem, (*hardware.Machine).HeadMatMul
	}
	in, out := rows*inner, rows*cols
	b := k.operands(in, inner*cols, out, input)
	f, i, w := k.recordProduct(p, input, float64(b.forward))
	c.Forward += multiply(k.m, f, rows, inner, cols, b.forward)
	c.InputGrad += multiply(k.m, i, rows, cols, inner, b.inputGrad)
	c.WeightGrad += multiply(k.m, w, inner, rows, cols, b.weightGrad)
	if input < k.elem {
		k.cast(c, p.id, p.name, in, out, true, true)
	}
}

// touched are the bytes of a product's operands and result, and of its gradients'.
type touched struct{ forward, inputGrad, weightGrad units.Bytes }

// operands returns those of a product; its weight's gradient is read and written in the
// width of its buffer.
func (k *kernels) operands(in, weight, out, input float64) touched {
	return touched{
		forward:    units.Bytes(input*(in+weight) + k.elem*out),
		inputGrad:  units.Bytes(input*(out+weight) + k.elem*in),
		weightGrad: units.Bytes(input*(in+out) + 2*k.in.GradDtype.Bytes(k.in.Precision)*weight),
	}
}

// recordProduct makes the scopes of a product and its two gradients.
func (k *kernels) recordProduct(p *product, input, touched float64) (forward, inputGrad, weightGrad *record.Recorder) {
	if !k.rec.On() {
		return nil, nil, nil
	}
	rec := k.rec.Scope(p.id, p.name)
	if input != k.input {
		rec.Given(record.In("bytes_of_an_operand", input))
	}
	rec.Let("rows", p.rows.Text())
	rec.Let("inner", p.inner.Text())
	rec.Let("cols", p.cols.Text())
	rec.Figure(record.Entry{
		ID: "bytes", Name: "operands and result of the " + p.name, Symbol: "touched", Unit: record.Memory, Value: touched,
		Formula: "bytes_of_an_operand * (rows * inner + inner * cols) + bytes * rows * cols", Source: "read and written once each",
	})
	forward = rec.Scope("forward", p.name)
	inputGrad = rec.Scope("input-gradient", p.name+", input gradient")
	inputGrad.Let("inner", "cols")
	inputGrad.Let("cols", "inner")
	inputGrad.Let("touched", "bytes_of_an_operand * (rows * cols + inner * cols) + bytes * rows * inner")
	weightGrad = rec.Scope("weight-gradient", p.name+", weight gradient")
	weightGrad.Let("rows", "inner")
	weightGrad.Let("inner", "rows")
	weightGrad.Let("touched", "bytes_of_an_operand * (rows * inner + rows * cols) + 2 * bytes_of_a_gradient * inner * cols")
	k.rec.Term("forward", forward.Ref(""))
	k.rec.Term("input-gradient", inputGrad.Ref(""))
	k.rec.Term("weight-gradient", weightGrad.Ref(""))
	return forward, inputGrad, weightGrad
}

// stream adds an element-wise operation that moves so many elements forward and
// twice as many backward, times the passes that the stack makes of it.
func (k *kernels) stream(c *Cost, id, name string, elements record.Num) {
	t := k.m.Stream(units.Bytes(k.elem * elements.V * k.m.Software.Passes))
	c.Forward += t
	c.InputGrad += 2 * t
	if k.rec.On() {
		k.rec.Figure(record.Entry{
			ID: id, Name: name, Symbol: "t(" + name + ")", Unit: record.Seconds, Value: float64(t),
			Formula: k.m.StreamFormula("passes_of_the_stack * bytes * ("+elements.Text()+")", t),
			Source:  "bytes moved through memory, forward; the backward takes twice as long; " + record.From(k.m.Software.From),
		})
		k.rec.Term("forward", k.rec.Ref(id))
		k.rec.Term("input-gradient", "2 * "+k.rec.Ref(id))
	}
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
	k.matmul(&c, &product{"output", "head projection", k.tokens, k.hidden(), cols}, true)
	c.HeadWeightGrad = c.WeightGrad
	k.loss(&c, k.tokens.Times(cols))
	k.edge(&c)
	k.end(&c)
	return c
}

// loss adds the passes of the cross-entropy over so many logits.
func (k *kernels) loss(c *Cost, logits record.Num) {
	forward, backward := k.in.Loss.LogitBytes(k.elem)
	f, b := k.m.Stream(units.Bytes(forward*logits.V)), k.m.Stream(units.Bytes(backward*logits.V))
	c.Forward += f
	c.InputGrad += b
	if k.rec.On() {
		k.recordLoss("loss", "loss over the logits", "forward", logits.Text(), forward, f)
		k.recordLoss("loss-gradient", "gradient of the logits", "input-gradient", logits.Text(), backward, b)
	}
}

func (k *kernels) recordLoss(id, name, pass, logits string, bytes float64, t units.Seconds) {
	k.rec.Figure(record.Entry{
		ID: id, Name: name, Symbol: "t(" + name + ")", Unit: record.Seconds, Value: float64(t),
		Formula:   k.m.StreamFormula("bytes_per_logit * "+logits, t),
		Source:    "fused: logits read and written once; else every operation of the loss in fp32 (NVIDIA/Megatron-LM, tensor_parallel/cross_entropy.py)",
		LeavesOut: "reductions of a number per token",
	}, record.In("bytes_per_logit", bytes))
	k.rec.Term(pass, k.rec.Ref(id))
}

func (k *kernels) mtpProjection() Cost {
	var c Cost
	k.begin("mtp-projection", "MTP projection")
	p := &k.in.Program.Projection
	k.product(&c, p, &p.Ops[0])
	k.end(&c)
	return c
}
