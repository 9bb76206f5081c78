// Package step says how long one optimizer step takes: the compute of each
// stage by a roofline, the traffic of each dimension on the links its groups
// cross, plain rules for what hides what, and the optimizer.
//
// The rules: TP traffic of the forward overlaps with the layer's products but for core
// attention, that of the backward with the weight-gradient products; ring attention
// overlaps with attention; expert all-to-all is exposed, or overlaps with another
// micro-batch where the software does that;
// the gradient reduce-scatter overlaps with the last micro-batch's backward and
// the rank's own tail, the weight all-gather with the first forward; send/recv
// between stages is latency in the pipeline simulation. A second of compute hides one
// thing. Of each traffic a share is exposed however much compute there is: a constant of
// the stack, some of them fitted (presets/calibrations). A backward that is split
// into input and weight gradient hides no TP traffic, because the products that
// hid it run later; the head is not split, because the gradient of its logits
// would wait. In an overlapped pair of a forward and a backward the expert
// all-to-all of each overlaps with the rest of the other.
package step

import (
	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Input is what the time of a step depends on.
type Input struct {
	Model     *model.Model
	Program   *model.Program // the same as operations
	Machine   hardware.Machine
	Layout    *layout.Layout
	Groups    layout.Groups
	Stages    []layout.Stage
	Precision recipe.Precision
	GradDtype recipe.GradDtype
	Attention recipe.Attention
	Loss      recipe.Loss
	Recompute recipe.Recompute
	// KeepsProducts is what selective recomputation means: every second matrix
	// product is kept and the rest of the layer runs again (torchtitan).
	KeepsProducts bool
	// StoresScores says that the scores of attention are stored, so that selective
	// recomputation runs core attention again. A fused kernel recomputes by itself.
	StoresScores bool

	// activations that a stage sends to the host in a micro-batch; nil: none
	OffloadedBytes func(stage int) units.Bytes
	// routed tokens of the busiest rank over the even share, at least 1
	Load    float64
	Offload recipe.Offload
	// of what is on drives, whose states it says
	Optimizer recipe.Optimizer
	TrainMTP  bool
	HPZ       int              // ranks that share a second copy of the weights; up to 1: there is none
	QWZ       bool             // gathers in int8
	Ulysses   bool             // ranks of CP exchange the sequence for heads
	QGZ       bool             // gradients in int4, where there are nodes to exchange them between
	Record    *record.Recorder // records formulas; nil: nobody asked
	// times of computing and the update that the stack's ledger gives, for a stage of all layers; nil: none
	Known *memory.StepTimes
}

// Latency returns what the simulation adds to a message between stages: nothing where the
// stages' own times hold the waiting.
func (in *Input) Latency(hop units.Seconds) units.Seconds {
	if in.Machine.Software.Blocking {
		return 0
	}
	return hop
}

// Traffic is what one dimension moves: bytes sent by one GPU, the time that
// takes, and the part of that time that is exposed.
type Traffic struct {
	Bytes   units.Bytes
	Seconds units.Seconds
	Exposed units.Seconds
}

func (t *Traffic) add(u Traffic, times float64) {
	t.Bytes += u.Bytes * units.Bytes(times)
	t.Seconds += u.Seconds * units.Seconds(times)
	t.Exposed += u.Exposed * units.Seconds(times)
}

// Links is the traffic of the dimensions that talk inside a layer.
type Links struct{ TP, CP, EP, ETP, Host, Drives Traffic }

// dimensions returns all kinds of traffic in the order of a report, by name. They are
// pointers rather than accessor functions, which would make Links escape to the heap.
func (l *Links) dimensions() [6]linkDimension {
	return [...]linkDimension{
		{"tp", &l.TP},
		{"cp", &l.CP},
		{"ep", &l.EP},
		{"etp", &l.ETP},
		{"host", &l.Host},
		{"drives", &l.Drives},
	}
}

type linkDimension struct {
	name string
	of   *Traffic
}

// LinkDimensions names the dimensions of Links in the order of a report; Of has the traffic of each.
func LinkDimensions() (names [6]string) {
	var l Links
	for i, d := range l.dimensions() {
		names[i] = d.name
	}
	return names
}

// Of returns the traffic of a dimension; nil: it does not talk inside a layer.
func (l *Links) Of(dimension string) *Traffic {
	for _, d := range l.dimensions() {
		if d.name == dimension {
			return d.of
		}
	}
	return nil
}

// Copies reports whether the traffic of a dimension is copies to and from host memory or drives: each GPU's
// own, over no link between GPUs.
func Copies(dimension string) bool { return dimension == "host" || dimension == "drives" }

// Copying returns the exposed traffic with host memory and drives.
func (l *Links) Copying() units.Seconds { return l.Host.Exposed + l.Drives.Exposed }

// AddTimes adds the traffic of that many passes.
func (l *Links) AddTimes(m *Links, times float64) {
	l.TP.add(m.TP, times)
	l.CP.add(m.CP, times)
	l.EP.add(m.EP, times)
	l.ETP.add(m.ETP, times)
	l.Host.add(m.Host, times)
	l.Drives.add(m.Drives, times)
}

// Exposed returns the time that the dimensions inside a layer add to it.
func (l *Links) Exposed() units.Seconds {
	return l.TP.Exposed + l.CP.Exposed + l.EP.Exposed + l.ETP.Exposed + l.Copying()
}

// Cost is the time of one micro-batch through a layer or a stage: arithmetic
// apart from exposed traffic.
type Cost struct {
	Forward, InputGrad, WeightGrad units.Seconds
	Recompute                      units.Seconds // forward work that the backward repeats
	ForwardLinks, BackwardLinks    Links

	// contained in WeightGrad: runs with the input gradient even where they are split
	HeadWeightGrad         units.Seconds
	SplitBackwardExposedTP units.Seconds // TP traffic that a whole backward hides and a split one does not

	// ForwardOverlap and InputGradOverlap are the seconds of the forward and of the input gradient
	// that overlap with traffic inside layers: they overlap with nothing else. Those of the
	// weight gradient are SplitBackwardExposedTP.
	ForwardOverlap, InputGradOverlap units.Seconds
	// ForwardCopies and BackwardCopies are the copies of ForwardLinks and BackwardLinks next to which weights
	// and gradients travel as next to compute: those that the stack's ledger times, but recomputation's.
	ForwardCopies, BackwardCopies units.Seconds
	// HideableExpertForward and HideableExpertBackward are the exposed expert traffic that an overlapped
	// pair can hide, without what the launch latency of the host hides already.
	HideableExpertForward, HideableExpertBackward units.Seconds
}

func (c *Cost) add(d *Cost, times float64) {
	n := units.Seconds(times)
	c.Forward += d.Forward * n
	c.InputGrad += d.InputGrad * n
	c.WeightGrad += d.WeightGrad * n
	c.Recompute += d.Recompute * n
	c.ForwardLinks.AddTimes(&d.ForwardLinks, times)
	c.BackwardLinks.AddTimes(&d.BackwardLinks, times)
	c.HeadWeightGrad += d.HeadWeightGrad * n
	c.SplitBackwardExposedTP += d.SplitBackwardExposedTP * n
	c.ForwardOverlap += d.ForwardOverlap * n
	c.InputGradOverlap += d.InputGradOverlap * n
	c.HideableExpertForward += d.HideableExpertForward * n
	c.HideableExpertBackward += d.HideableExpertBackward * n
}

// scale multiplies every time.
func (c *Cost) scale(by float64) {
	n := units.Seconds(by)
	c.Forward *= n
	c.InputGrad *= n
	c.WeightGrad *= n
	c.Recompute *= n
	c.HeadWeightGrad *= n
	c.SplitBackwardExposedTP *= n
	c.ForwardOverlap *= n
	c.InputGradOverlap *= n
	c.HideableExpertForward *= n
	c.HideableExpertBackward *= n
	for _, t := range [...]*Traffic{
		&c.ForwardLinks.TP, &c.ForwardLinks.CP, &c.ForwardLinks.EP, &c.ForwardLinks.ETP,
		&c.BackwardLinks.TP, &c.BackwardLinks.CP, &c.BackwardLinks.EP, &c.BackwardLinks.ETP,
	} {
		t.Seconds *= n
		t.Exposed *= n
	}
}

// ForwardTime returns how long the rank is busy with a forward.
func (c *Cost) ForwardTime() units.Seconds { return c.Forward + c.ForwardLinks.Exposed() }

// BackwardTime returns how long the rank is busy with a whole backward.
func (c *Cost) BackwardTime() units.Seconds {
	return c.InputGrad + c.WeightGrad + c.Recompute + c.BackwardLinks.Exposed()
}

// InputGradTime and WeightGradTime are the two halves of a split backward.
func (c *Cost) InputGradTime() units.Seconds {
	return c.BackwardTime() - c.WeightGradTime() + c.SplitBackwardExposedTP
}

// WeightGradTime returns the half of a split backward that can wait.
func (c *Cost) WeightGradTime() units.Seconds { return c.WeightGrad - c.HeadWeightGrad }

// ForwardOverlapBudget returns the compute of a forward that is free to overlap ZeRO and DP traffic:
// a second of compute hides one transfer.
func (c *Cost) ForwardOverlapBudget() units.Seconds {
	return max(0, c.Forward+c.ForwardCopies-c.ForwardOverlap)
}

// InputGradOverlapBudget returns the same of an input gradient that runs apart.
func (c *Cost) InputGradOverlapBudget() units.Seconds { return max(0, c.InputGrad-c.InputGradOverlap) }

// BackwardOverlapBudget returns the same of a whole backward, recomputation not counted, or of
// both parts of a split one, whose weight gradient hides no traffic of layers.
func (c *Cost) BackwardOverlapBudget(split bool) units.Seconds {
	if split {
		return c.InputGradOverlapBudget() + c.WeightGrad
	}
	return max(0, c.InputGrad+c.WeightGrad+c.BackwardCopies-c.InputGradOverlap-c.SplitBackwardExposedTP)
}

// Stages appends the cost of every stage to into. Layers of one kind cost the
// same, so each kind is computed once, and a stage like the one before is not
// added up again.
func (p *Parts) Stages(in *Input, into []Cost) []Cost {
	p.Set(in)
	first := len(into)
	for i := range in.Stages {
		st := &in.Stages[i]
		if i > 0 && !in.Record.On() && *st == in.Stages[i-1] &&
			recomputedLayers(in, i) == recomputedLayers(in, i-1) &&
			(in.OffloadedBytes == nil || in.OffloadedBytes(i) == in.OffloadedBytes(i-1)) {
			into = append(into, into[first+i-1])
			continue
		}
		c := p.Stage(st)
		p.Recompute(&c, i, st)
		into = append(into, c)
	}
	return into
}

// Parts are what one micro-batch costs in everything that stages are made of. They
// follow from degrees, micro-batch, sequence and SP: not from where the layers stand
// nor from what runs again.
type Parts struct {
	k                        kernels
	layers                   []layerCost // by distinct layer
	head, embedding, modules Cost        // modules: the projection of a multi-token-prediction module
}

// layerCost is one layer, and the core of its attention, which may run again.
type layerCost struct {
	Cost

	core coreTimes
}

// Set works them out, in memory that is there. The input is read again by Recompute.
func (p *Parts) Set(in *Input) {
	p.k = newKernels(in)
	p.layers = p.layers[:0]
	for i := range in.Program.Layers {
		l := &in.Program.Layers[i]
		if i == 0 || l.Mixer != in.Program.Layers[i-1].Mixer {
			p.k.coreAttention(l)
		}
		p.layers = append(p.layers, layerCost{p.k.layer(l), p.k.core})
	}
	p.head, p.embedding = p.k.head(), p.k.embedding()
	if in.TrainMTP {
		p.modules = p.k.mtpProjection()
	}
}

// Stage adds up a stage that recomputes nothing. Recompute completes it.
func (p *Parts) Stage(st *layout.Stage) Cost {
	var c Cost
	if k := p.k.in.Known; k != nil {
		c = Cost{Forward: k.Forward, InputGrad: k.Backward / 2, WeightGrad: k.Backward / 2}
		c.copied(k)
		for i := range p.layers {
			c.ForwardLinks.CP.add(p.layers[i].ForwardLinks.CP, float64(st.Of[i]))
			c.BackwardLinks.CP.add(p.layers[i].BackwardLinks.CP, float64(st.Of[i]))
		}
		return c
	}
	for i := range p.layers {
		if n := st.Of[i]; n > 0 {
			c.add(&p.layers[i].Cost, float64(n))
		}
	}
	if st.Embedding {
		c.add(&p.embedding, 1)
	}
	if st.Head {
		c.add(&p.head, 1)
		if in := p.k.in; in.TrainMTP {
			n := float64(in.Model.MTPRuns())
			c.add(&p.layers[in.Program.Module().Index].Cost, n)
			c.add(&p.modules, n)
			c.add(&p.head, n)
		}
	}
	return c
}

// Recompute adds what the input's recomputation runs again on a stage, given by its
// number and what it holds, and what the stack takes longer for all of it.
func (p *Parts) Recompute(c *Cost, stage int, st *layout.Stage) {
	rec := p.k.in.Record.At("stage", "stage", stage)
	if k := p.k.in.Known; k != nil {
		c.Recompute = k.Recompute
		in, again := p.k.in, p.exchangedAgain(stage, st)
		for i := range p.layers {
			if rec.On() && in.Ulysses && in.Recompute.Mode != recipe.RecomputeNone {
				rec.Given(record.In("recomputed_"+in.Program.Layers[i].Name+"_layers", int(again[i])))
			}
			c.BackwardLinks.CP.add(p.layers[i].ForwardLinks.CP, float64(again[i]))
		}
	} else {
		p.recompute(c, rec, stage, st)
		c.scale(p.k.m.Software.Factor)
	}
	p.k.toHost(c, rec, stage)
	if rec.On() && p.k.in.Known != nil {
		c.recordCopies(rec)
	}
	if rec.On() {
		sum := *c
		p.record(rec, &sum, stage, st)
	}
}
