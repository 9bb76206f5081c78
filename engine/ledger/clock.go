package ledger

// clock counts two times: the host launches, the GPU runs, and a kernel starts when both are there.
type clock struct {
	host, gpu float64
	backward  bool
	rates     *Rates
}

// kernel runs for some seconds; the host launches so many.
func (c *clock) kernel(seconds float64, launches int) {
	each := c.rates.HostForward
	if c.backward {
		each = c.rates.HostBackward
	}
	c.host += float64(launches) * each
	c.device(seconds)
}

// device runs what was launched.
func (c *clock) device(seconds float64) { c.gpu = max(c.gpu, c.host) + seconds }

// mark waits for the host.
func (c *clock) mark() float64 {
	c.gpu = max(c.gpu, c.host)
	return c.gpu
}

// wait runs something that the host waits for.
func (c *clock) wait(seconds float64) {
	c.mark()
	c.kernel(seconds, 1)
	c.host = max(c.host, c.gpu)
}

// backwardCost runs the kernels of a node's backward.
func (c *clock) backwardCost(n *node) {
	cost := n.op.cost[1]
	if n.op.each {
		times := 0
		for _, w := range n.wants[:2] {
			if w {
				times++
			}
		}
		cost.seconds, cost.kernels = cost.seconds*float64(times), cost.kernels*times
	}
	c.kernel(cost.seconds, cost.kernels)
}

// Rates are what kernels reach and what launching them costs, in SI units.
type Rates struct {
	Products      [2]float64 // FLOP/s of 16-bit products inside a step, forward and backward
	Products32    float64    // of fp32 ones
	ProductBytes  float64    // byte/s of products that memory limits
	ProductLaunch float64    // seconds of each
	Stream        float64    // byte/s of element-wise kernels
	Launch        float64    // seconds of each
	Wide          float64    // byte/s of passes over fp32 copies in norms that run operation by operation
	NormForward   float64    // byte/s of fused norms
	NormBackward  float64
	NormLaunch    float64
	LogSoftmax    [2]float64 // seconds of a logit, forward and backward
	Sort          float64    // seconds of sorting indices
	// FLOP/s of experts' products: forward, gradient of the input, of the weights
	Grouped      [3]float64
	GroupedBytes [3]float64        // byte/s, the last one of what weights' gradients write
	Gather       float64           // byte/s of FSDP's copies
	HostLink     float64           // byte/s of pinned memory
	Flash, CuDNN [2]AttentionRates // heads up to 64 wide, wider ones
	Processors   int64
	Adam         map[int64]float64 // byte/s of fused AdamW by bytes of an element
	Foreach      float64           // seconds of a parameter
	ClipRead     float64
	ClipScale    float64
	HostAdam     float64 // seconds of a parameter on the host

	HostForward, HostBackward float64    // seconds of launching a kernel
	HostGather                [2]float64 // of a group of FSDP, forward and backward
	Reduce, Root              float64
	HostCompiled              float64 // of a compiled block
	Selective                 float64 // of an operation under selective checkpointing in eager code
}

// AttentionRates are FLOP/s and seconds of an element of the queries, forward and backward.
type AttentionRates struct{ FLOPs, PerQuery [2]float64 }

// pass is an element-wise kernel over so many bytes.
func (r *Rates) pass(bytes int64, rate float64) float64 { return float64(bytes)/rate + r.Launch }

func (r *Rates) product(m, n, k, e int64, backward bool) float64 {
	rate := r.Products32
	if e == 2 {
		rate = r.Products[0]
		if backward {
			rate = r.Products[1]
		}
	}
	flops, bytes := 2*float64(m)*float64(n)*float64(k), float64(e)*(float64(m*k)+float64(k*n)+float64(m*n))
	return max(flops/rate, bytes/r.ProductBytes) + r.ProductLaunch
}

// grouped returns forward and backward of one product of all experts.
func (r *Rates) grouped(rows, weights, experts, bytes int64) (forward, backward float64) {
	flops := 2 * float64(rows) * float64(weights) / float64(experts)
	forward = max(flops/r.Grouped[0], float64(bytes)/r.GroupedBytes[0]) + 10e-6
	backward = max(flops/r.Grouped[1], float64(bytes)/r.GroupedBytes[1]) + flops/r.Grouped[2] +
		float64(2*weights)/r.GroupedBytes[2] + 20e-6
	return forward, backward
}

// attention returns forward and backward: FLOPs under the causal mask, half of the longest tile on all
// processors, and passes over the queries; with fewer keys than queries their gradients are summed.
func (r *Rates) attention(w *Way, a attention, queries, keys int64) (forward, backward float64) {
	rates, wide := &r.Flash, 0
	if w.CuDNN && !w.Compile {
		rates = &r.CuDNN
	}
	if a.width > 64 {
		wide = 1
	}
	at := rates[wide]
	flops := 2*float64(w.Seq)*float64(queries) + 2*float64(w.Seq)*128*float64(a.width*r.Processors)
	forward = flops/at.FLOPs[0] + at.PerQuery[0]*float64(queries)
	backward = 2.5*flops/at.FLOPs[1] + at.PerQuery[1]*float64(queries)
	if keys != queries && rates == &r.Flash {
		backward += r.pass(4*(queries+keys), r.Stream)
	}
	return forward, backward
}

func (r *Rates) gatherHost(backward bool) float64 {
	if backward {
		return r.HostGather[1]
	}
	return r.HostGather[0]
}

// H100 returns what PyTorch 2.11 reaches on an H100 SXM 80 GB, fitted to measured training steps: products
// are limited by power; alone and sustained they reach 690e12. What the host takes is of one virtual machine.
func H100() *Rates {
	return &Rates{
		Products: [2]float64{765e12, 742e12}, Products32: 38e12, ProductBytes: 2.4e12, ProductLaunch: 4e-6,
		Stream: 2.55e12, Launch: 2e-6, Wide: 1.9e12, NormForward: 2.15e12, NormBackward: 1.45e12,
		NormLaunch: 3e-6,
		LogSoftmax: [2]float64{7.1e-12, 4.4e-12}, Sort: 100e-6,
		Grouped: [3]float64{690e12, 700e12, 790e12}, GroupedBytes: [3]float64{2.5e12, 2.7e12, 2.9e12},
		Gather: 2.7e12, HostLink: 55e9, Processors: 132,
		Flash: [2]AttentionRates{
			{FLOPs: [2]float64{300e12, 280e12}, PerQuery: [2]float64{3e-12, 20.4e-12}},
			{FLOPs: [2]float64{365e12, 300e12}, PerQuery: [2]float64{1.9e-12, 20e-12}},
		},
		CuDNN: [2]AttentionRates{
			{FLOPs: [2]float64{452e12, 440e12}, PerQuery: [2]float64{2e-12, 14.7e-12}},
			{FLOPs: [2]float64{637e12, 572e12}, PerQuery: [2]float64{1.3e-12, 11e-12}},
		},
		Adam: map[int64]float64{2: 1.95e12, 4: 2.6e12}, Foreach: 29e-12, ClipRead: 2.3e12, ClipScale: 2.7e12,
		HostAdam:    .34e-9,
		HostForward: 44e-6, HostBackward: 22e-6, HostGather: [2]float64{1.4e-3, .5e-3}, Reduce: .5e-3,
		Root:         35e-3,
		HostCompiled: .6e-3, Selective: 230e-6,
	}
}
