package band

import (
	"math"
	"slices"
)

// Feature is what a setup can differ in from published runs.
type Feature uint8

// Features.
const (
	Same Feature = iota // in nothing
	Experts
	EP
	GPU
	Stack
	Custom
	Changed
	PCIe
	TP
	Pipeline
	CP
	ZeRO3
	Precision
	Recompute
	GPUs
	MicroBatches
	Active
	Seq
	MBS
	Load
	Release
	Layers
	Wait
	Traffic
	Features // how many there are
)

// Scales are the distances that differences count for: of a feature that is there or
// not the distance itself, of a count that of a doubling, of Wait and Traffic that of
// a factor e.
type Scales struct {
	Of [Features]float64 `toml:"-"`
	// a generation of GPUs, a stack or a kind of layer without any published run
	Unknown    float64 `toml:"unknown"`
	Generation float64 `toml:"generation"` // another GPU of the same generation
	Vendor     float64 `toml:"vendor"`     // a GPU of another vendor
	Family     float64 `toml:"family"`     // another stack of the same family
	// experts inside a scale-up domain against across domains
	EPAcross float64 `toml:"ep_across"`
	// per doubling beyond the published range, to every run
	BeyondRange float64 `toml:"beyond_range"`
	// a release newer than all published ones of its stack, dense or with experts, to every run
	Newer float64 `toml:"newer"`
}

// Range is what the published runs cover of a count, in binary logarithms.
type Range struct{ Least, Most Log }

// beyond returns by how many doublings v lies outside; 0 where nothing is published.
func (r Range) beyond(v Log) float64 {
	if r == (Range{}) {
		return 0
	}
	return float64(max(r.Least-v, v-r.Most, 0))
}

// beyond returns the distance that is the same to every run.
func (t *Table) beyond(x *Traits, k known) float64 {
	var p parts
	t.addBeyond(&p, x, k)
	return p.sum()
}

// sizes are doublings beyond all published runs, whose experts are taken to have even loads.
type sizes struct{ gpus, seq, active, mbs, load float64 }

func (t *Table) sizes(x *Traits) sizes {
	return sizes{
		t.GPUs.beyond(x.GPUs), t.Seq.beyond(x.Seq), t.Active.beyond(x.Active), t.MBS.beyond(x.MBS),
		float64(x.Load),
	}
}

// known says which traits of a setup some published run shares: generation of GPUs, stack, and the stack's
// release or a newer one with the same kind of layers (dense, or with experts).
type known struct{ generation, stack, release bool }

// knows returns what is known, with a release left out (empty: none is): a generation or a
// stack that it alone has is then one without any published run.
func (t *Table) knows(x *Traits, without string) (k known) {
	if without != "" {
		k.generation = t.outside(without, func(c *Cell) bool { return c.Generation == x.Generation })
		k.stack = t.outside(without, func(c *Cell) bool { return c.Stack == x.Stack })
	} else {
		k.generation, k.stack = slices.Contains(t.quick.gens, x.Generation),
			slices.Contains(t.quick.stacks, x.Stack)
	}
	k.release = x.Version == "" || !k.stack || t.outside(without, func(c *Cell) bool {
		return c.Version >= x.Version && c.Experts == x.Experts && c.Stack == x.Stack
	})
	return k
}

// addBeyond adds what no published run has, each to its feature: it is as far from every
// run.
func (t *Table) addBeyond(p *parts, x *Traits, k known) {
	s := &t.Scales
	if over := t.sizes(x); over != (sizes{}) {
		p[GPUs] += s.BeyondRange * over.gpus
		p[Seq] += s.BeyondRange * over.seq
		p[Active] += s.BeyondRange * over.active
		p[MBS] += s.BeyondRange * over.mbs
		p[Load] += s.BeyondRange * over.load
	}
	p[Changed] += s.Of[Changed] * x.Changed
	if !k.generation {
		p[GPU] += s.Unknown
	}
	if !k.stack {
		p[Stack] += s.Unknown
	}
	if !k.release {
		p[Release] += s.Newer
	}
	if x.Custom {
		p[Custom] += s.Of[Custom]
	}
	if x.Layers != "" {
		p[Layers] += s.Unknown
	}
	if x.Inferred {
		p[Layers] += s.Unknown
	}
}

// outside reports whether a cell outside a release is as wanted.
func (t *Table) outside(release string, wanted func(*Cell) bool) bool {
	for i := range t.Cells {
		if c := &t.Cells[i]; c.Release != release && wanted(c) {
			return true
		}
	}
	return false
}

// parts are the distances of all features.
type parts [Features]float64

func (p *parts) sum() float64 {
	d := 0.0
	for _, v := range p {
		d += v
	}
	return d
}

// apart fills in how far a setup is from a cell in each feature.
func (t *Table) apart(p *parts, x *Traits, c *Cell) {
	s := &t.Scales
	*p = parts{
		GPU: s.gpu(x, &c.Traits), Stack: s.stack(x, &c.Traits), EP: s.experts(x.EP, c.EP),
		TP:           s.Of[TP] * reachApart(x.TP, c.TP),
		GPUs:         s.Of[GPUs] * math.Abs(float64(x.GPUs-c.GPUs)),
		MicroBatches: s.Of[MicroBatches] * math.Abs(float64(x.MicroBatches-c.MicroBatches)),
		Active:       s.Of[Active] * math.Abs(float64(x.Active-c.Active)),
		Seq:          s.Of[Seq] * math.Abs(float64(x.Seq-c.Seq)),
		MBS:          s.Of[MBS] * math.Abs(float64(x.MBS-c.MBS)),
		Wait:         s.Of[Wait] * math.Abs(x.logWait-c.logWait),
		Traffic:      s.Of[Traffic] * math.Abs(x.logTraffic-c.logTraffic),
		Experts:      s.unless(Experts, x.Experts == c.Experts),
		PCIe:         s.unless(PCIe, x.PCIe == c.PCIe),
		Pipeline:     s.unless(Pipeline, x.Pipeline == c.Pipeline),
		CP:           s.unless(CP, (x.CP == None) == (c.CP == None)),
		ZeRO3:        s.unless(ZeRO3, x.ZeRO3 == c.ZeRO3),
		Recompute:    s.unless(Recompute, x.Recompute == c.Recompute),
	}
	p[Precision] = s.unless(Precision, (x.Bits < eightBits) == (c.Bits < eightBits) &&
		(x.Bits <= eightBits) == (c.Bits <= eightBits) && (x.Bits > sixteenBits) == (c.Bits > sixteenBits))
}

const eightBits, sixteenBits = 8, 16

func (s *Scales) unless(f Feature, same bool) float64 {
	if same {
		return 0
	}
	return s.Of[f]
}

func (s *Scales) gpu(x, c *Traits) float64 {
	switch {
	case x.GPU == c.GPU:
		return 0
	case x.Generation == c.Generation:
		return s.Generation
	case x.Vendor != c.Vendor:
		return s.Vendor
	}
	return s.Of[GPU]
}

func (s *Scales) stack(x, c *Traits) float64 {
	switch {
	case x.Stack == c.Stack:
		return 0
	case x.Family == c.Family:
		return s.Family
	}
	return s.Of[Stack]
}

func (s *Scales) experts(x, c Reach) float64 {
	switch {
	case x == c:
		return 0
	case x == None || c == None:
		return s.Of[EP]
	}
	return s.EPAcross
}

// reachApart returns how many steps two reaches are apart.
func reachApart(x, c Reach) float64 { return math.Abs(float64(x) - float64(c)) }

// Distance returns how far two setups are apart.
func (t *Table) Distance(x, y *Traits) float64 {
	var p parts
	t.apart(&p, x, &Cell{Traits: *y})
	return p.sum()
}

// Differences returns the two features in which a setup is furthest from a cell, the
// furthest first; Same where it is alike in all others. What lies outside of all
// published runs counts with its whole distance.
func (t *Table) Differences(x *Traits, c *Cell) (out [2]Feature) {
	var p parts
	t.apart(&p, x, c)
	t.addBeyond(&p, x, t.knows(x, ""))
	const least = 0.1
	for i := range out {
		most := Feature(0)
		for f := range Features {
			if p[f] > p[most] {
				most = f
			}
		}
		if p[most] < least {
			break
		}
		out[i], p[most] = most, 0
	}
	return out
}
