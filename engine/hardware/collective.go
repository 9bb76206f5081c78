package hardware

import (
	"fmt"
	"math"

	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Members says where the ranks of a communication group are: Size in all,
// PerDomain of them in each scale-up domain, Stride ranks apart.
type Members struct{ Size, PerDomain, Stride int }

// domains returns the number of scale-up domains that the group touches.
func (g Members) domains() float64 {
	return float64((g.Size + g.PerDomain - 1) / g.PerDomain)
}

// ring returns the time of moving volume bytes through (n-1)/n of a ring, passes
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
func (m *Machine) collective(rec *record.Recorder, volume units.Bytes, g Members, passes, eta float64,
	curve *Curve,
) units.Seconds {
	if g.Size <= 1 {
		if rec.On() {
			m.recordCollective(rec, g, passes, eta, curve, 0)
		}
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
	if rec.On() {
		m.recordCollective(rec, g, passes, eta, curve, t)
	}
	return t
}

// recordCollective records what collective gave, of the volume that the scope knows.
func (m *Machine) recordCollective(rec *record.Recorder, g Members, passes, eta float64, curve *Curve,
	t units.Seconds,
) {
	net, in, n := &m.Network, min(g.PerDomain, g.Size), g.domains()
	whole := "volume"
	if passes > 1 {
		whole = "2 * volume"
	}
	var sum []string
	if net.Fixed > 0 && g.Size > 1 {
		sum = append(sum, "start_of_a_call")
	}
	if in > 1 {
		if net.HalfSize > 0 {
			sum = append(sum, "half_speed_size / (link * share_of_the_link)")
		}
		hops := "(n_in - 1) * link_latency"
		if passes > 1 {
			hops = "2 * " + hops
		}
		sum = append(sum, hops, whole+" * (n_in - 1) / (n_in * link * share_of_the_link)")
	}
	low, high, i := curve.around(math.Log2(n))
	hop := m.Cluster.Inter.Latency
	if net.InterHop > 0 {
		hop = net.InterHop
	}
	if n > 1 {
		rate, steps := "network * share_of_the_network", "(n_out - 1)"
		if curve.at(n) > 0 {
			measured := fmt.Sprintf("measured_at_fewer_nodes * pow(measured_at_more_nodes / "+
				"measured_at_fewer_nodes, log2(n_out) - %d) / GPUs_per_domain", i)
			if in < m.Cluster.Domain() && net.Rails > 0 {
				measured += " * rate_of_single_rails"
			}
			rate = "min(" + rate + ", " + measured + ")"
		}
		if passes > 1 {
			steps = "2 * ceil(log2(n_out))"
		}
		if net.InterFixed > 0 {
			sum = append(sum, "start_over_the_network")
		}
		sum = append(sum, steps+" * hop_over_the_network", whole+" / n_in * (n_out - 1) / (n_out * "+rate+")")
	}
	rec.Figure(record.Entry{
		Name: rec.What(), Symbol: "t(" + rec.What() + ")", Unit: record.Seconds, Formula: record.Sum(sum...),
		Value: float64(t),
		Source: "ring over the scale-up link, then one over the network on each GPU's share; " +
			record.From(net.From),
		LeavesOut: "other traffic on the same links",
	}, record.In("n_in", in), record.In("n_out", n),
		record.InUnit(record.Share, "share_of_the_link", m.inside(g, eta, net.HalfRing)),
		record.InUnit(record.Traffic, "half_speed_size", net.HalfSize),
		record.In("hop_over_the_network", hop), record.In("rate_of_single_rails", net.Rails),
		record.In("measured_at_fewer_nodes", low), record.In("measured_at_more_nodes", high))
}

// inside returns the share of the scale-up link that a group reaches: more within
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

// at returns the bandwidth over n nodes, between and beyond the measured points by
// the power law of the two nearest.
func (c *Curve) at(n float64) units.BytesPerSecond {
	x := math.Log2(n)
	low, high, i := c.around(x)
	if low <= 0 || high <= 0 {
		return 0
	}
	return units.BytesPerSecond(float64(low) * math.Pow(float64(high/low), x-float64(i)))
}

// around returns the pair of measured points next to 2^x nodes, the first at 2^i.
func (c *Curve) around(x float64) (low, high units.BytesPerSecond, i int) {
	i = min(max(int(x), 1), CurvePoints-2)
	return c[i], c[i+1], i
}

// AllReduce returns the time of summing volume bytes over a group, each rank
// holding the whole result: a reduce-scatter and an all-gather.
func (m *Machine) AllReduce(rec *record.Recorder, volume units.Bytes, g Members) units.Seconds {
	return m.collective(rec, volume, g, 2, m.Network.AllReduce, &m.Network.Curve)
}

// AllGather returns the time of collecting volume bytes (the whole result) from the
// shards of a group. A reduce-scatter of the same volume takes as long.
func (m *Machine) AllGather(rec *record.Recorder, volume units.Bytes, g Members) units.Seconds {
	return m.collective(rec, volume, g, 1, m.Network.Gather, &m.Network.Ring)
}

// Send returns the time of one point-to-point message; far reports whether it leaves
// the scale-up domain.
func (m *Machine) Send(volume units.Bytes, far bool) units.Seconds {
	l, eta := m.Cluster.Intra, m.Network.Send
	if far {
		l, eta = m.Cluster.Inter, m.Network.InterRing
	}
	return l.Latency + m.Software.Hop + volume.Over(l.Bandwidth*units.BytesPerSecond(eta))
}

// Sent is Send of a volume with its expression.
func (m *Machine) Sent(volume record.Num, far bool) record.Num {
	t := float64(m.Send(units.Bytes(volume.V), far))
	switch {
	case !volume.Named():
		return record.Lit(t)
	case far:
		return volume.With("network_latency + latency_of_the_stack + ("+volume.Text()+
			") / (network * share_of_the_network)", t)
	}
	return volume.With("link_latency + latency_of_the_stack + ("+volume.Text()+
		") / (link * share_of_the_link_for_messages)", t)
}
