package band

import (
	"math"
	"slices"
)

// The distance to a cell is needed for every cell on each evaluation: what is alike or
// not is packed into bits whose sums are looked up, and names become numbers. A test
// holds it equal to the sum of the parts that apart gives.

// Bits of the features that are alike or not.
const (
	bitExperts = 1 << iota
	bitPCIe
	bitPipeline
	bitCP
	bitZeRO3
	bitRecompute
	bitEight // products of at most 8 bits
	bitFour  // 4-bit products
	bitWide  // 32-bit products
	bits     = iota
)

const reaches = 3

// quick are sums of distances, ready to look up.
type quick struct {
	flags   [1 << bits]float64
	tp, ep  [reaches * reaches]float64
	scale   [counts]float64 // of the counts, in the order of packed.counts
	gpu     [4]float64      // the same GPU, the same generation, the same vendor, another
	stack   [3]float64
	gpus    []string
	gens    []string
	vendors []string
	stacks  []string
	parents []string
	near    [far*decaySteps + 2]float64 // weights by distance, in steps of it
}

// decaySteps is how many weights are kept for each unit of distance.
const decaySteps = 64

// packed are traits as numbers.
type packed struct {
	flags                          uint16
	gpu, gen, vendor, stack, above int16
	tp, ep                         uint8
	counts                         [counts]float64 // times their scales

	weight, off float64 // of a cell: Weight and Error
	runs        int32
	source      uint8
}

// counts is how many features count by how much they differ.
const counts = 7

func (t *Table) prepare() {
	q, s := &t.quick, &t.Scales
	*q = quick{
		gpu: [4]float64{0, s.Generation, s.Of[GPU], s.Vendor}, stack: [3]float64{0, s.Family, s.Of[Stack]},
		scale: [counts]float64{
			s.Of[GPUs], s.Of[MicroBatches], s.Of[Active], s.Of[Seq], s.Of[MBS], s.Of[Wait],
			s.Of[Traffic],
		},
	}
	for f := range q.flags {
		for bit, feature := range [...]Feature{Experts, PCIe, Pipeline, CP, ZeRO3, Recompute} {
			if f&(1<<bit) != 0 {
				q.flags[f] += s.Of[feature]
			}
		}
		if f&(bitEight|bitFour|bitWide) != 0 {
			q.flags[f] += s.Of[Precision]
		}
	}
	for x := range Reach(reaches) {
		for c := range Reach(reaches) {
			q.tp[x*reaches+c], q.ep[x*reaches+c] = s.Of[TP]*reachApart(x, c), s.experts(x, c)
		}
	}
	for i := range q.near {
		q.near[i] = max(math.Exp(-float64(i)/decaySteps)-math.Exp(-far), 0)
	}
	t.packed = make([]packed, len(t.Cells))
	for i := range t.Cells {
		c := &t.Cells[i]
		number(&q.gpus, c.GPU)
		number(&q.gens, c.Generation)
		number(&q.vendors, c.Vendor)
		number(&q.stacks, c.Stack)
		number(&q.parents, c.Family)
		p := q.pack(&c.Traits)
		p.weight, p.off, p.runs, p.source = c.Weight, c.Error, int32(c.Runs), uint8(c.Source)
		t.packed[i] = p
	}
}

// number adds a name to a list that does not have it.
func number(list *[]string, name string) {
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

func (q *quick) pack(x *Traits) packed {
	at := func(list []string, name string) int16 { return int16(slices.Index(list, name)) }
	return packed{
		gpu: at(q.gpus, x.GPU), gen: at(q.gens, x.Generation), vendor: at(q.vendors, x.Vendor),
		stack: at(q.stacks, x.Stack), above: at(q.parents, x.Family),
		tp: uint8(x.TP), ep: uint8(x.EP), flags: x.flags(), counts: q.countsOf(x),
	}
}

// countsOf returns the counts times their scales.
func (q *quick) countsOf(x *Traits) [counts]float64 {
	return [counts]float64{
		q.scale[0] * float64(x.GPUs), q.scale[1] * float64(x.MicroBatches), q.scale[2] * float64(x.Active),
		q.scale[3] * float64(x.Seq),
		q.scale[4] * float64(x.MBS), q.scale[5] * x.logWait, q.scale[6] * x.logTraffic,
	}
}

// flags packs what is alike or not.
func (x *Traits) flags() (out uint16) {
	for bit, on := range [bits]bool{
		x.Experts, x.PCIe, x.Pipeline, x.CP != None, x.ZeRO3, x.Recompute,
		x.Bits <= eightBits, x.Bits < eightBits, x.Bits > sixteenBits,
	} {
		if on {
			out |= 1 << bit
		}
	}
	return out
}

// key tells kinds of setups with the same names apart.
func (x *Traits) key() uint32 { return uint32(x.flags())<<16 | uint32(x.TP)<<8 | uint32(x.EP) }

// kind returns the distance of all that is alike or not; x.gpu and its like are negative
// where no cell has the name.
func (q *quick) kind(x, c *packed) float64 {
	gpu, stack := 2, 2
	switch {
	case x.gpu == c.gpu:
		gpu = 0
	case x.gen == c.gen:
		gpu = 1
	case x.vendor != c.vendor:
		gpu = 3
	}
	switch {
	case x.stack == c.stack:
		stack = 0
	case x.above == c.above:
		stack = 1
	}
	return q.flags[x.flags^c.flags] + q.tp[x.tp*reaches+c.tp] + q.ep[x.ep*reaches+c.ep] + q.gpu[gpu] +
		q.stack[stack]
}

// size returns the distance of all that counts by how much it differs.
func size(x, c *[counts]float64) float64 {
	return math.Abs(x[0]-c[0]) + math.Abs(x[1]-c[1]) + math.Abs(x[2]-c[2]) + math.Abs(x[3]-c[3]) +
		math.Abs(x[4]-c[4]) + math.Abs(x[5]-c[5]) + math.Abs(x[6]-c[6])
}

// decay returns exp(-d) - exp(-far) for d from 0 to far, linear between the values that are
// kept: it is off by less than 4e-5. A distance that is no number weighs nothing.
func (q *quick) decay(d float64) float64 {
	if math.IsNaN(d) {
		return 0
	}
	at := d * decaySteps
	i := int(at)
	return q.near[i] + (at-float64(i))*(q.near[i+1]-q.near[i])
}
