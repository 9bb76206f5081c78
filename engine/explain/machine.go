package explain

import (
	"math"
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

func (b *Book) machine() *hardware.Machine { return &b.w.Step.Machine }

// from names what a constant was fitted to.
func from(what string) string {
	if what == "" {
		return "constants of the calibration"
	}
	if rest, ok := strings.CutPrefix(what, "nothing: "); ok {
		return "constants fitted to nothing: " + rest
	}
	return "fitted constants: " + what
}

// seconds is a leaf that is a time.
func seconds(name string, t units.Seconds) *Expr { return num(name, float64(t), Seconds) }

// matmulRate is what a large matrix product reaches.
func (b *Book) matmulRate() *Expr {
	s, m := b.w.Setup, b.machine()
	return b.term("gpu.matmul-rate", about{
		name: "Rate of a large matrix product", symbol: "R", unit: Rate, source: "dense peak of the datasheet times a share, at most the best product that was measured on the GPU; " + from(m.Ops.From),
	}, func() *Expr {
		g := &s.Cluster.GPU
		capped := func(x *Expr) *Expr {
			if measured := g.Measured(b.precision()); measured > 0 {
				return minOf(x, num("best measured product", float64(measured), Rate))
			}
			return x
		}
		if b.precision().IsFP8() && g.PeakFP8 > 0 {
			return div(capped(mul(num("fp8 peak", float64(g.PeakFP8), Rate), num("share of the peak", m.Ops.GemmF8, Share))), count("stack's fp8 time over the best", m.Software.FP8))
		}
		x := mul(b.peak16(), num("share of the peak", m.Ops.Gemm, Share))
		if b.precision().IsFP8() {
			return x
		}
		return capped(x)
	})
}

// peak16 is the peak of what does not run in fp8.
func (b *Book) peak16() *Expr {
	s := b.w.Setup
	p := b.precision()
	if p.IsFP8() {
		p = recipe.BF16
	}
	return num("peak", float64(s.Cluster.GPU.Peak(p)), Rate)
}

func (b *Book) streamRate() *Expr {
	m := b.machine()
	return b.term("gpu.stream-rate", about{
		name: "Memory bandwidth that operations reach", symbol: "BW", unit: Bandwidth, source: "bandwidth of the datasheet times a share; " + from(m.Ops.From),
	}, func() *Expr { return mul(b.bandwidth(), num("share of bandwidth", m.Ops.Stream, Share)) })
}

func (b *Book) bandwidth() *Expr {
	return num("memory bandwidth", float64(b.w.Setup.Cluster.GPU.MemoryBandwidth), Bandwidth)
}

func (b *Book) start() *Expr { return seconds("start", b.machine().Ops.Start) }

// product is the time of one matrix product: hardware.Machine.MatMul.
func (b *Book) product(id, name string, rows, inner, cols, bytes *Expr) *Expr {
	m := b.machine()
	return b.term(id, about{
		name: name, symbol: "t(" + name + ")", unit: Seconds,
		source: "the slower of arithmetic and memory; short inner lengths and last waves cost (NVIDIA's matrix multiplication guide); " + from(m.Ops.From),
		omits:  "clocks under load, traffic that runs beside it",
	}, func() *Expr {
		if rows.Value() <= 0 || inner.Value() <= 0 || cols.Value() <= 0 {
			return lit(0)
		}
		short := add(lit(1), div(count("K_half", m.Ops.HalfK), inner))
		work := mul(div(mul(lit(2), rows, inner, cols), b.matmulRate()), short)
		if m.Ops.Wave > 0 && m.Ops.SMs > 0 {
			work = mul(work, b.waves(id, rows, cols))
		}
		return add(maxOf(work, div(bytes, b.streamRate())), b.start())
	})
}

// waves is the cost of tiles that do not fill the last wave.
func (b *Book) waves(id string, rows, cols *Expr) *Expr {
	m := b.machine()
	return b.term(id+".waves", about{
		name: "Time of the product's tiles over that of full waves", symbol: "waves", unit: Count,
		source: "tiles of 128 x 256 over the streaming multiprocessors, the better orientation; " + from(m.Ops.From),
	}, func() *Expr {
		waste := func(high, wide float64) *Expr {
			tiles := mul(ceil(div(rows, lit(high))), ceil(div(cols, lit(wide))))
			sms := count("SMs", m.Ops.SMs)
			return div(mul(ceil(div(tiles, sms)), sms, lit(high), lit(wide)), mul(rows, cols))
		}
		return add(lit(1), mul(count("felt", m.Ops.Wave), sub(minOf(waste(256, 128), waste(128, 256)), lit(1))))
	})
}

// grouped is hardware.Machine.GroupedMatMul.
func (b *Book) grouped(id, name string, groups, rows, inner, cols, bytes *Expr) *Expr {
	m := b.machine()
	return b.term(id, about{
		name: name, symbol: "t(" + name + ")", unit: Seconds,
		source: "grouped matrix product; short groups fill tiles badly and each reads a matrix of its own; " + from(m.Ops.From),
	}, func() *Expr {
		if groups.Value() <= 0 || rows.Value() <= 0 {
			return lit(0)
		}
		rate := div(mul(b.matmulRate(), num("share of a grouped product", m.Ops.Grouped, Share)), num("share of the peak", m.Ops.Gemm, Share))
		work := mul(div(mul(lit(2), groups, rows, inner, cols), rate), add(lit(1), div(count("rows_half", m.Ops.GroupedRows), rows)))
		read := div(bytes, mul(b.bandwidth(), num("share of bandwidth", m.Ops.GroupedRead, Share)))
		return add(maxOf(work, read), b.start())
	})
}

// stream is the time of moving bytes through memory.
func (b *Book) stream(bytes *Expr) *Expr {
	if bytes.Value() <= 0 {
		return lit(0)
	}
	return add(div(bytes, b.streamRate()), b.start())
}

// sent is what a rank sends in a ring pass.
func sent(volume *Expr, g layout.Group) *Expr {
	n := count("n", g.Size)
	return div(mul(volume, sub(n, lit(1))), n)
}

// wire is the collective of a group: hardware.Machine.AllReduce and AllGather.
type wire struct {
	passes float64
	share  float64
	curve  *hardware.Curve
}

func (b *Book) gathering() wire {
	n := &b.machine().Network
	return wire{1, n.Gather, &n.Ring}
}

func (b *Book) reducing() wire {
	n := &b.machine().Network
	return wire{2, n.AllReduce, &n.Curve}
}

// collective is the time of a ring inside each domain and one across domains.
func (b *Book) collective(id, name string, volume *Expr, g layout.Group, w wire) *Expr {
	m := b.machine()
	return b.term(id, about{
		name: name, symbol: "t(" + name + ")", unit: Seconds,
		source: "ring over the scale-up link, then one over the network on each GPU's share; " + from(m.Network.From),
		omits:  "other traffic on the same links",
	}, func() *Expr {
		if g.Size <= 1 {
			return lit(0)
		}
		net, c := &m.Network, m.Cluster
		var sum []*Expr
		if net.Fixed > 0 {
			sum = append(sum, seconds("start of a call", net.Fixed))
		}
		in := min(g.PerDomain, g.Size)
		inside := count("n_in", in)
		passes := lit(w.passes)
		if in > 1 {
			rate := mul(num("link", float64(c.Intra.Bandwidth), Bandwidth), num("share of the link", b.inside(g, w.share, net.HalfRing), Share))
			if net.HalfSize > 0 {
				sum = append(sum, div(num("half-speed size", float64(net.HalfSize), Traffic), rate))
			}
			sum = append(sum, mul(passes, sub(inside, lit(1)), seconds("hop", c.Intra.Latency)), div(mul(passes, volume, sub(inside, lit(1))), mul(inside, rate)))
		}
		domains := (g.Size + g.PerDomain - 1) / g.PerDomain
		if domains > 1 {
			sum = append(sum, b.across(div(volume, inside), in < c.Domain(), domains, w)...)
		}
		return add(sum...)
	})
}

// across is the ring between domains, on what each GPU has of the volume. Groups
// that are only part of a domain have rails of their own.
func (b *Book) across(volume *Expr, part bool, domains int, w wire) []*Expr {
	m := b.machine()
	net, c := &m.Network, m.Cluster
	n := count("n_out", domains)
	rate := mul(num("network", float64(c.Inter.Bandwidth), Bandwidth), num("share of the network", net.InterRing, Share))
	if measured := b.curve(w.curve, n); measured != nil {
		own := div(measured, count("GPUs per domain", c.Domain()))
		if part && net.Rails > 0 {
			own = mul(own, count("rate of single rails", net.Rails))
		}
		rate = minOf(rate, own)
	}
	hop := c.Inter.Latency
	if net.InterHop > 0 {
		hop = net.InterHop
	}
	steps := sub(n, lit(1))
	if w.passes > 1 {
		steps = mul(lit(2), ceil(log2(n)))
	}
	sum := []*Expr{mul(steps, seconds("hop", hop)), div(mul(lit(w.passes), volume, sub(n, lit(1))), mul(n, rate))}
	if net.InterFixed > 0 {
		sum = append(sum, seconds("start over the network", net.InterFixed))
	}
	return sum
}

// curve is the measured bandwidth over n nodes, nil where nobody measured.
func (b *Book) curve(c *hardware.Curve, n *Expr) *Expr {
	i := min(max(int(math.Log2(n.Value())), 1), hardware.CurvePoints-2)
	low, high := float64(c[i]), float64(c[i+1])
	if low <= 0 || high <= 0 {
		return nil
	}
	l := num("measured at fewer nodes", low, Bandwidth)
	return mul(l, pow(div(num("measured at more nodes", high, Bandwidth), l), sub(log2(n), lit(float64(i)))))
}

// inside is the share of the scale-up link that a group reaches.
func (b *Book) inside(g layout.Group, whole, half float64) float64 {
	net := &b.machine().Network
	if net.Bridge <= 0 {
		return whole
	}
	stride := max(g.Stride, 1)
	if min(g.PerDomain, g.Size)*stride <= b.machine().Cluster.Domain()/2 {
		return half
	}
	return min(whole, net.Bridge/float64(stride))
}

// allToAll is hardware.Machine.AllToAll.
func (b *Book) allToAll(id, name string, volume *Expr, g layout.Group, r hardware.Routing) *Expr {
	m := b.machine()
	return b.term(id, about{
		name: name, symbol: "t(" + name + ")", unit: Seconds,
		source: "traffic inside the domain and out of it at the same time; copies to one rank or domain may travel once (DeepEP, arXiv 2412.19437 section 3.2.2); " + from(m.Network.From),
		omits:  "node-limited routing, other traffic on the same links",
	}, func() *Expr {
		if g.Size <= 1 {
			return lit(0)
		}
		net, c := &m.Network, m.Cluster
		n, in := count("n", g.Size), count("n_in", min(g.PerDomain, g.Size))
		// Of d places that hold the experts evenly, those that any of k different ones
		// is in: a factor for each that misses a place.
		hit := func(volume, d *Expr) *Expr {
			if !m.Software.Once || r.Copies <= 1 {
				return volume
			}
			e := count("E", r.Experts)
			var missed []*Expr
			for i := range r.Copies {
				missed = append(missed, div(maxOf(sub(sub(e, div(e, d)), lit(float64(i))), lit(0)), sub(e, lit(float64(i)))))
			}
			return mul(volume, div(mul(d, sub(lit(1), mul(missed...))), count("k", r.Copies)))
		}
		near := div(mul(hit(volume, n), sub(in, lit(1))), mul(n, num("link", float64(c.Intra.Bandwidth), Bandwidth), num("share of the link", b.inside(g, m.Spread(r), net.HalfAllToAll), Share)))
		fixed := []*Expr{seconds("start of a call", net.Fixed)}
		if g.Size <= g.PerDomain {
			return add(append(fixed, near)...)
		}
		crossing := mul(hit(volume, count("n_out", (g.Size+g.PerDomain-1)/g.PerDomain)), sub(n, in))
		far := div(crossing, mul(n, num("network", float64(c.Inter.Bandwidth), Bandwidth), num("share of the network", net.InterAllToAll, Share)))
		return add(append(fixed, seconds("start over the network", net.InterFixed), maxOf(near, far))...)
	})
}

// send is one point-to-point message.
func (b *Book) send(volume *Expr, far bool) *Expr {
	m := b.machine()
	l, share, name := m.Cluster.Intra, m.Network.Send, "link"
	if far {
		l, share, name = m.Cluster.Inter, m.Network.InterRing, "network"
	}
	return add(seconds("latency", l.Latency), seconds("stack's own latency", m.Software.Hop),
		div(volume, mul(num(name, float64(l.Bandwidth), Bandwidth), num("share of the "+name, share, Share))))
}
