package hardware

import "meshscope/engine/units"

// Fractions of a link's nominal bandwidth that collectives reach for large
// messages. Scale-up: NCCL on NVLink 5, fitted by SimuMax (MooreThreads/SimuMax
// at 4dcaae5, configs/system/b200: all-reduce 0.742, all-gather 0.674,
// reduce-scatter 0.673, all-to-all 0.597). Scale-out: Calculon's InfiniBand
// constant 0.9 (calculon-ai/calculon at caa4b11) for rings; 0.8 for all-to-all,
// between DeepEP's 42-58 of 50 GB/s (arXiv 2505.09343) and a plain one.
const (
	intraAllReduce = 0.742
	intraGather    = 0.674
	intraAllToAll  = 0.597
	interRing      = 0.90
	interAllToAll  = 0.80
)

// Members says where the ranks of a communication group are: Size in all,
// PerDomain of them in each scale-up domain.
type Members struct{ Size, PerDomain int }

// domains is the number of scale-up domains that the group touches.
func (g Members) domains() float64 {
	return float64((g.Size + g.PerDomain - 1) / g.PerDomain)
}

// ring is the time of moving volume bytes through (n-1)/n of a ring, twice for
// an all-reduce: latency of n-1 hops and the volume at the link's rate.
func ring(volume, n float64, passes float64, l Link, eta float64) units.Seconds {
	if n <= 1 {
		return 0
	}
	moved := units.Bytes(passes * volume * (n - 1) / n)
	return units.Seconds(passes*(n-1))*l.Latency + moved.Over(l.Bandwidth*units.BytesPerSecond(eta))
}

// hierarchical runs a ring inside each domain and, on 1/PerDomain of the
// volume per GPU, a ring across domains (every GPU has its own NIC).
func (c *Cluster) hierarchical(volume units.Bytes, g Members, passes, eta float64) units.Seconds {
	if g.Size <= 1 {
		return 0
	}
	in := float64(min(g.PerDomain, g.Size))
	return ring(float64(volume), in, passes, c.Intra, eta) +
		ring(float64(volume)/in, g.domains(), passes, c.Inter, interRing)
}

// AllReduce is the time of summing volume bytes over a group, each rank
// holding the whole result: a reduce-scatter and an all-gather.
func (c *Cluster) AllReduce(volume units.Bytes, g Members) units.Seconds {
	return c.hierarchical(volume, g, 2, intraAllReduce)
}

// AllGather is the time of collecting volume bytes (the whole result) from the
// shards of a group. A reduce-scatter of the same volume takes as long.
func (c *Cluster) AllGather(volume units.Bytes, g Members) units.Seconds {
	return c.hierarchical(volume, g, 1, intraGather)
}

// AllToAll is the time in which every rank sends volume bytes, an equal part to
// each member (itself included). Traffic inside the domain and to other domains
// flows at the same time.
func (c *Cluster) AllToAll(volume units.Bytes, g Members) units.Seconds {
	if g.Size <= 1 {
		return 0
	}
	n, in := float64(g.Size), float64(min(g.PerDomain, g.Size))
	near := units.Bytes(float64(volume) * (in - 1) / n).Over(c.Intra.Bandwidth * intraAllToAll)
	far := units.Bytes(float64(volume) * (n - in) / n).Over(c.Inter.Bandwidth * interAllToAll)
	lat := c.Intra.Latency
	if n > in {
		lat = c.Inter.Latency
	}
	return lat + max(near, far)
}

// Send is the time of one point-to-point message; far says whether it leaves
// the scale-up domain.
func (c *Cluster) Send(volume units.Bytes, far bool) units.Seconds {
	l, eta := c.Intra, intraGather
	if far {
		l, eta = c.Inter, interRing
	}
	return l.Latency + volume.Over(l.Bandwidth*units.BytesPerSecond(eta))
}
