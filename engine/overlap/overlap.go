package overlap

import (
	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Overlap is one of the ratios by which the Ultra-Scale Playbook (appendix,
// "Math for compute/communication overlap") checks whether traffic can hide: time of the traffic
// over time of the work that runs next to it. At 1 or below it hides. Times are
// those of the rates that large matrix products and large messages reach in this model, so
// the ratio is about proportions; the step model has its own rules.
type Overlap struct {
	ID        string  // O1 gradients, O2 sharded weights, O3 tensor parallelism, O4 send/recv between stages
	Dimension string  // as in Communication
	Moves     string  // what travels
	Under     string  // the work that would hide it
	Ratio     float64 // traffic over work
	Formula   string  // as corrected
	Erratum   string  // what was corrected in the printed formula
	LeavesOut string
	Input     Input
	// Needs is what would make it hide, one quantity at a time.
	Needs []Need
	// Exposed is the share of the dimension's time that is exposed in this
	// report's step; nil where the report has no such traffic.
	Exposed *float64
}

// Need is the value of one quantity at which a ratio is 1.
type Need struct {
	Quantity    string // tokens, bandwidth, hidden, layers, tp
	Unit        string
	Now, Needed float64
}

// Input is what the ratios depend on.
type Input struct {
	Members float64 // ranks of the group
	Tokens  float64 // of one micro-batch on one GPU: seq * mbs / cp
	Hidden  float64
	Layers  float64 // of the next stage
	Element float64 // bytes of one element that travels
	Passes  float64 // O1: 2 for an all-reduce or a scatter and a gather, 1 for a scatter alone
	// O4: how many TP ranks send the same message whole, 1 where each sends its shard
	Whole     float64
	Rate      units.FLOPsPerSecond // of matrix products, as reached
	Bandwidth units.BytesPerSecond // per GPU and direction, as reached
}

// balance returns the operations that a GPU could do while one byte travels.
func (in *Input) balance() float64 { return float64(in.Rate) / float64(in.Bandwidth) }

// Gradients is O1: the gradients of all N parameters, N g passes (d-1)/(d W),
// under the backward of one micro-batch, 4 T N / F. N cancels; as printed the
// ratio keeps it.
func (in *Input) Gradients() float64 {
	return in.Passes / 4 * in.Element * (in.Members - 1) / in.Members * in.balance() / in.Tokens
}

// Weights is O2: the gather of one layer's weights, 16 h^2 e (d-1)/(d W), under
// the forward of the layer before, 32 T h^2 / F. Printed for one byte per
// element.
func (in *Input) Weights() float64 {
	return in.Element / 2 * (in.Members - 1) / in.Members * in.balance() / in.Tokens
}

// Linear is O3: the gather of a layer's input, T h e (t-1)/(t W), under the next
// product of h x h, 2 T h^2 / (t F). Printed for one byte per element.
func (in *Input) Linear() float64 {
	return in.Element / 2 * (in.Members - 1) * in.balance() / in.Hidden
}

// Stage is O4: one message between stages, T h e / W, under the next stage's
// forward, 32 T h^2 layers / F. Printed for one byte per element. TP divides
// the work, and the message only where each rank sends its shard.
func (in *Input) Stage() float64 {
	return in.Element / 32 * in.Whole * in.balance() / (in.Hidden * in.Layers)
}

// Ratios returns the ratios that apply to a legal setup, O1 to O4 in this
// order; the report says how much the step model hides.
func Ratios(s *engine.Setup, r *engine.Report) []Overlap {
	if r == nil || !r.Legal || s.Cluster.GPU.Peak(s.Precision) <= 0 {
		return nil
	}
	m, g := hardware.NewMachine(&s.Cluster, s.Precision, s.Stack, &s.Software), s.Groups(&s.Cluster)
	base := Input{
		Tokens: s.MicroBatchTokens(), Hidden: float64(s.Model.Hidden),
		Layers:  float64(s.Model.Layers) / float64(s.Stages()),
		Element: s.Precision.Bytes(), Whole: 1, Rate: m.ProductRate(),
	}
	out := make([]Overlap, 0, 4)
	if s.ZeRO < 3 && g.DenseDP.Size > 1 {
		out = append(out, gradientOverlap(s, &m, &g, base))
	}
	if s.ZeRO == 3 && g.DenseShard.Size > 1 {
		out = append(out, weightOverlap(s, &m, &g, base))
	}
	if g.TP.Size > 1 {
		out = append(out, linearOverlap(&m, &g, base))
	}
	if g.PP.Size > 1 {
		out = append(out, stageOverlap(s, &m, &g, base))
	}
	kept := out[:0]
	for _, o := range out {
		if o.Input.Bandwidth <= 0 {
			continue
		}
		o.Exposed = exposedShare(r, o.Dimension)
		kept = append(kept, o)
	}
	return kept
}

func gradientOverlap(s *engine.Setup, m *hardware.Machine, g *layout.Groups, in Input) Overlap {
	in.Members, in.Passes = float64(g.DenseDP.Size), 2
	in.Element = m.Software.ReduceBytes(s.GradDtype, s.Precision.On(s.Stack))
	moves := "gradients, summed over the data-parallel ranks"
	switch s.ZeRO {
	case 1: // each one pass, of elements of its own width
		in.Element = (in.Element + s.Precision.On(s.Stack).GatherBytes()) / 2
		moves = "gradients scattered and weights gathered"
	case 2:
		in.Passes, moves = 1, "gradients scattered after each micro-batch"
	}
	in.Bandwidth = reached(m.AllGather, g.DenseDP)
	if s.ZeRO == 0 {
		in.Bandwidth = 2 * reached(m.AllReduce, g.DenseDP)
	}
	o := Overlap{
		ID: "O1", Dimension: "dp", Moves: moves, Under: "the backward of one micro-batch",
		Ratio: in.Gradients(), Input: in,
		Formula:   "passes/4 * bytes * (d-1)/d * F / (W * tokens)",
		Erratum:   "the printed ratio keeps the number of parameters, which cancels",
		LeavesOut: "attention scores, which add work; latency",
	}
	if s.ZeRO == 1 {
		o.Formula += ", bytes the mean of both"
	}
	if s.Model.IsMoE() {
		o.LeavesOut = "routed experts, whose gradients are large for their compute; attention scores; latency"
	}
	o.need("tokens", "per GPU and micro-batch", in.Tokens)
	o.need("bandwidth", "GB/s", float64(in.Bandwidth/units.GBps))
	return o
}

func weightOverlap(s *engine.Setup, m *hardware.Machine, g *layout.Groups, in Input) Overlap {
	in.Members, in.Element = float64(g.DenseShard.Size), s.Precision.On(s.Stack).GatherBytes()
	in.Bandwidth = reached(m.AllGather, g.DenseShard)
	o := Overlap{
		ID: "O2", Dimension: "dp", Moves: "the next layer's weights, gathered",
		Under: "the forward of one layer",
		Ratio: in.Weights(), Input: in,
		Formula:   "bytes/2 * (d-1)/d * F / (W * tokens)",
		Erratum:   "printed for elements of one byte",
		LeavesOut: "attention scores, which add work; latency; the backward moves and computes twice as much",
	}
	o.need("tokens", "per GPU and micro-batch", in.Tokens)
	o.need("bandwidth", "GB/s", float64(in.Bandwidth/units.GBps))
	return o
}

func linearOverlap(m *hardware.Machine, g *layout.Groups, in Input) Overlap {
	in.Members, in.Bandwidth = float64(g.TP.Size), reached(m.AllGather, g.TP)
	o := Overlap{
		ID: "O3", Dimension: "tp", Moves: "the input of a layer, gathered",
		Under: "the next product of hidden x hidden",
		Ratio: in.Linear(), Input: in,
		Formula:   "bytes/2 * (t-1) * F / (hidden * W)",
		Erratum:   "printed for elements of one byte",
		LeavesOut: "latency; a whole region of attention or MLP has about 12 times this work",
	}
	o.need("bandwidth", "GB/s", float64(in.Bandwidth/units.GBps))
	o.need("hidden", "size", in.Hidden)
	o.Needs = append(o.Needs, Need{
		Quantity: "tp", Unit: "GPUs", Now: in.Members,
		Needed: 1 + (in.Members-1)/o.Ratio,
	})
	return o
}

func stageOverlap(s *engine.Setup, m *hardware.Machine, g *layout.Groups, in Input) Overlap {
	in.Members = float64(g.PP.Size)
	if !s.SP && !m.Software.Scatter {
		in.Whole = float64(s.TP)
	}
	const volume = units.GB
	far := g.PP.Crosses()
	in.Bandwidth = rate(volume, m.Send(2*volume, far)-m.Send(volume, far))
	o := Overlap{
		ID: "O4", Dimension: "pp", Moves: "one micro-batch's hidden states",
		Under: "the next stage's forward",
		Ratio: in.Stage(), Input: in,
		Formula: "bytes/32 * F / (hidden * layers of a stage * W), times tp where each rank sends the " +
			"whole",
		Erratum:   "printed for elements of one byte",
		LeavesOut: "latency; layers are counted as 16 hidden^2 parameters",
	}
	o.need("bandwidth", "GB/s", float64(in.Bandwidth/units.GBps))
	o.need("hidden", "size", in.Hidden)
	o.need("layers", "per stage", in.Layers)
	return o
}

// need adds a quantity that the ratio is inversely proportional to.
func (o *Overlap) need(quantity, unit string, now float64) {
	o.Needs = append(o.Needs, Need{Quantity: quantity, Unit: unit, Now: now, Needed: now * o.Ratio})
}

// Reached returns the bandwidth that large messages of a group reach: what a GPU
// passes on of a gathered volume over the time that grows with it.
func Reached(s *engine.Setup, g layout.Group) units.BytesPerSecond {
	m := hardware.NewMachine(&s.Cluster, s.Precision, s.Stack, &s.Software)
	return reached(m.AllGather, g)
}

func reached(time func(*record.Recorder, units.Bytes, hardware.Members) units.Seconds,
	g layout.Group,
) units.BytesPerSecond {
	if g.Size < 2 {
		return 0
	}
	const volume = units.GB
	of := hardware.Members{Size: g.Size, PerDomain: g.PerDomain, Stride: g.Stride}
	sent := volume * units.Bytes(g.Size-1) / units.Bytes(g.Size)
	return rate(sent, time(nil, 2*volume, of)-time(nil, volume, of))
}

func rate(b units.Bytes, t units.Seconds) units.BytesPerSecond {
	if t <= 0 {
		return 0
	}
	return units.BytesPerSecond(float64(b) / float64(t))
}

func exposedShare(r *engine.Report, dimension string) *float64 {
	for i := range r.Communication {
		if c := &r.Communication[i]; c.Dimension == dimension && c.Seconds > 0 {
			share := float64(c.Exposed / c.Seconds)
			return &share
		}
	}
	return nil
}

// ScaleBandwidth returns a setup the same machine with faster or slower links:
// datasheet figures are multiplied, measured curves follow, latencies stay. A link
// that there is not stays away.
func ScaleBandwidth(s engine.Setup, intra, inter float64) engine.Setup {
	c := &s.Cluster
	c.Intra.Bandwidth *= units.BytesPerSecond(intra)
	c.Inter.Bandwidth *= units.BytesPerSecond(inter)
	return s
}
