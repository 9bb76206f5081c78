package hardware

import (
	"math"

	"meshscope/engine/units"
)

// Members says where the ranks of a communication group are: Size in all,
// PerDomain of them in each scale-up domain, Stride ranks apart.
type Members struct{ Size, PerDomain, Stride int }

// domains is the number of scale-up domains that the group touches.
func (g Members) domains() float64 {
	return float64((g.Size + g.PerDomain - 1) / g.PerDomain)
}

// ring is the time of moving volume bytes through (n-1)/n of a ring, passes
// times (2 for an all-reduce): latency of n-1 hops and the volume at the rate.
func ring(volume, n, passes float64, hop units.Seconds, rate units.BytesPerSecond) units.Seconds {
	if n <= 1 {
		return 0
	}
	moved := units.Bytes(passes * volume * (n - 1) / n)
	return units.Seconds(passes*(n-1))*hop + moved.Over(rate)
}

// collective runs a ring inside each domain and, on 1/PerDomain of the volume
// per GPU, a ring across domains: every GPU has its own share of the node's
// network, so groups that start from one node share it evenly.
func (m *Machine) collective(volume units.Bytes, g Members, passes, eta float64, curve *Curve) units.Seconds {
	if g.Size <= 1 {
		return 0
	}
	c, net := m.Cluster, &m.Network
	in := float64(min(g.PerDomain, g.Size))
	t := net.Fixed
	if in > 1 {
		rate := c.Intra.Bandwidth * units.BytesPerSecond(m.inside(g, eta, net.HalfRing))
		if net.HalfSize > 0 {
			t += units.Seconds(float64(net.HalfSize) / float64(rate))
		}
		t += ring(float64(volume), in, passes, c.Intra.Latency, rate)
	}
	if n := g.domains(); n > 1 {
		rate := c.Inter.Bandwidth * units.BytesPerSecond(net.InterRing)
		if w := curve.at(n); w > 0 {
			w /= units.BytesPerSecond(c.Domain())
			if in < float64(c.Domain()) && net.Rails > 0 {
				w *= units.BytesPerSecond(net.Rails)
			}
			rate = min(rate, w)
		}
		hop := c.Inter.Latency
		if net.InterHop > 0 {
			hop = net.InterHop
		}
		steps := units.Seconds(n - 1)
		if passes > 1 { // all-reduces of many nodes go up and down a tree
			steps = units.Seconds(2 * math.Ceil(math.Log2(n)))
		}
		t += net.InterFixed + steps*hop + ring(float64(volume)/in, n, passes, 0, rate)
	}
	return t
}

// inside is the share of the scale-up link that a group reaches: more within
// one half of a bridged node, less when several groups cross the bridge at once.
func (m *Machine) inside(g Members, whole, half float64) float64 {
	net := &m.Network
	if net.Bridge <= 0 {
		return whole
	}
	stride := max(g.Stride, 1)
	if min(g.PerDomain, g.Size)*stride <= m.Cluster.Domain()/2 {
		return half
	}
	return min(whole, net.Bridge/float64(stride))
}

// scale makes what was measured follow the links: curves are multiplied, the time
// to get going stays.
func (n *Network) scale(intra, inter float64) {
	if intra != 1 {
		n.HalfSize *= units.Bytes(intra)
	}
	if inter == 1 {
		return
	}
	for i := range n.Curve {
		n.Curve[i] *= units.BytesPerSecond(inter)
		n.Ring[i] *= units.BytesPerSecond(inter)
	}
}

// at is the bandwidth over n nodes, between and beyond the measured points by
// the power law of the two nearest.
func (c *Curve) at(n float64) units.BytesPerSecond {
	x := math.Log2(n)
	i := min(max(int(x), 1), CurvePoints-2)
	low, high := float64(c[i]), float64(c[i+1])
	if low <= 0 || high <= 0 {
		return 0
	}
	return units.BytesPerSecond(low * math.Pow(high/low, x-float64(i)))
}

// AllReduce is the time of summing volume bytes over a group, each rank
// holding the whole result: a reduce-scatter and an all-gather.
func (m *Machine) AllReduce(volume units.Bytes, g Members) units.Seconds {
	return m.collective(volume, g, 2, m.Network.AllReduce, &m.Network.Curve)
}

// AllGather is the time of collecting volume bytes (the whole result) from the
// shards of a group. A reduce-scatter of the same volume takes as long.
func (m *Machine) AllGather(volume units.Bytes, g Members) units.Seconds {
	return m.collective(volume, g, 1, m.Network.Gather, &m.Network.Ring)
}

// AllToAll is the time in which every rank sends volume bytes, an equal part to
// each member (itself included). Traffic inside the domain and to other domains
// flows at the same time.
//
// Of the copies that every token sends, those to one rank may travel once, and
// those to one other domain too and spread there (DeepEP, arXiv 2412.19437 section
// 3.2.2; NVIDIA's HybridEP).
func (m *Machine) AllToAll(volume units.Bytes, g Members, r Routing) units.Seconds {
	if g.Size <= 1 {
		return 0
	}
	c, net := m.Cluster, &m.Network
	n, in := float64(g.Size), float64(min(g.PerDomain, g.Size))
	near := units.Bytes(float64(volume) * m.crossing(n, r) * (in - 1) / n).Over(c.Intra.Bandwidth * units.BytesPerSecond(m.inside(g, m.Spread(r), net.HalfAllToAll)))
	if n <= in {
		return net.Fixed + near
	}
	far := units.Bytes(float64(volume) * m.crossing(g.domains(), r) * (n - in) / n).Over(c.Inter.Bandwidth * units.BytesPerSecond(net.InterAllToAll))
	return net.Fixed + net.InterFixed + max(near, far)
}

// Spread is the share of the scale-up link that an all-to-all of tokens reaches.
func (m *Machine) Spread(r Routing) float64 {
	if m.Software.Once && r.Copies > 1 && m.Network.Dispatch > 0 {
		return m.Network.Dispatch
	}
	return m.Network.AllToAll
}

// Routing says how many copies of a token go to as many different experts of how
// many there are.
type Routing struct{ Copies, Experts int }

// crossing is the share of the copies that must travel: of d ranks or domains that
// hold the experts E evenly, d*(1-C(E-E/d,k)/C(E,k)) are hit by k different ones
// chosen at random.
func (m *Machine) crossing(d float64, r Routing) float64 {
	if !m.Software.Once || r.Copies <= 1 {
		return 1
	}
	e, missed := float64(r.Experts), 1.0
	for i := range r.Copies {
		missed *= max(0, e-e/d-float64(i)) / (e - float64(i))
	}
	return d * (1 - missed) / float64(r.Copies)
}

// Send is the time of one point-to-point message; far says whether it leaves
// the scale-up domain.
func (m *Machine) Send(volume units.Bytes, far bool) units.Seconds {
	l, eta := m.Cluster.Intra, m.Network.Send
	if far {
		l, eta = m.Cluster.Inter, m.Network.InterRing
	}
	return l.Latency + m.Software.Hop + volume.Over(l.Bandwidth*units.BytesPerSecond(eta))
}
