package ledger

import (
	"math"

	"meshscope/engine/recipe"
)

// clock counts two times: the host launches, the GPU runs, and a kernel starts when both are there. It
// counts them as they are; and what a phase makes of the GPU's time at its start alone and of the host's
// alone, from which the same phase after another lag follows without running it again.
type clock struct {
	now      instant
	phase    phase // at hand: what followed so far
	backward bool
	rates    *Rates
	copies   Copies // so far
}

// instant is when the host and the GPU are done with what they were given, in seconds.
type instant struct{ host, gpu float64 }

// phase is what a phase makes of the GPU's and of the host's time at its start: seconds after each.
type phase struct{ fromGPU, fromHost instant }

// after returns the end of a phase that starts when both are there: the later of what either leads to.
func (p *phase) after(start instant) instant {
	return instant{
		host: max(start.gpu+p.fromGPU.host, start.host+p.fromHost.host),
		gpu:  max(start.gpu+p.fromGPU.gpu, start.host+p.fromHost.gpu),
	}
}

// all lists the three times that are counted.
func (c *clock) all() [3]*instant { return [...]*instant{&c.now, &c.phase.fromGPU, &c.phase.fromHost} }

// begin starts a phase, when the GPU has waited for the host.
func (c *clock) begin() float64 {
	c.mark()
	early := math.Inf(-1)
	c.phase = phase{fromGPU: instant{host: early}, fromHost: instant{gpu: early}}
	return c.gpu()
}

// end ends one.
func (c *clock) end() (seconds float64, p phase) {
	c.mark()
	return c.gpu(), c.phase
}

// repeat runs two phases by turns, so many times each, and returns the GPU's time of both.
func (c *clock) repeat(forward, backward *phase, times int64) (sum [2]float64) {
	var last [2]float64
	now := &c.now
	early := now.gpu - now.host // so much the host is ahead
	for left := float64(times); left > 0; {
		middle := forward.after(instant{host: -early})
		end := backward.after(middle)
		took, next, n := [...]float64{middle.gpu, end.gpu - middle.gpu}, end.gpu-end.host, 1.0
		known := next < math.Inf(1) // or rates are zero
		if next == early || took == last && next > early || !known {
			n = left // all that follow are alike
		}
		sum[0], sum[1] = sum[0]+n*took[0], sum[1]+n*took[1]
		last, early, left = took, early+n*(next-early), left-n
	}
	now.gpu += sum[0] + sum[1]
	now.host = now.gpu - early
	return sum
}

// gpu returns when the GPU is done.
func (c *clock) gpu() float64 { return c.now.gpu }

// Copied is what moves between the GPU and another memory, there and back.
type Copied struct{ Bytes, Seconds float64 }

// Copies are what moves between the GPU, host memory and drives in a part of a step, whose time contains
// theirs: the GPU computes nothing meanwhile.
type Copies struct{ Host, Drives Copied }

// Seconds returns the time of both.
func (c *Copies) Seconds() float64 { return c.Host.Seconds + c.Drives.Seconds }

// Plus returns the sum of copies and others, these so many times.
func (c Copies) Plus(d Copies, times float64) Copies {
	c.Host.add(d.Host.Bytes*times, d.Host.Seconds*times)
	c.Drives.add(d.Drives.Bytes*times, d.Drives.Seconds*times)
	return c
}

func (c *Copied) add(bytes, seconds float64) {
	c.Bytes += bytes
	c.Seconds += seconds
}

// hostCopy notes a copy over the link to the host and returns its time.
func (r *run) hostCopy(bytes int64) float64 {
	seconds := float64(bytes) / r.rates.HostLink
	r.clock.copies.Host.add(float64(bytes), seconds)
	return seconds
}

// kernel runs for some seconds; the host launches so many.
func (c *clock) kernel(seconds float64, launches int) {
	each := c.rates.HostForward
	if c.backward {
		each = c.rates.HostBackward
	}
	c.launch(float64(launches) * each)
	c.device(seconds)
}

// launch takes the host's time alone.
func (c *clock) launch(seconds float64) {
	for _, t := range c.all() {
		t.host += seconds
	}
}

// device runs what was launched.
func (c *clock) device(seconds float64) {
	for _, t := range c.all() {
		t.gpu = max(t.gpu, t.host) + seconds
	}
}

// mark waits for the host.
func (c *clock) mark() { c.device(0) }

// wait runs something that the host waits for.
func (c *clock) wait(seconds float64) {
	c.mark()
	c.kernel(seconds, 1)
	for _, t := range c.all() {
		t.host = max(t.host, t.gpu)
	}
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

// padded is the width that FlashAttention computes heads of, which has kernels for these alone
// (Dao-AILab/flash-attention, csrc/flash_attn/src/static_switch.h, hopper/flash_api.cpp).
func padded(kernel recipe.Attention, width int64) int64 {
	least := int64(32)
	switch kernel {
	case recipe.Flash3:
		least = 64
	case recipe.Flash4, recipe.CuDNN, recipe.Efficient:
		return width
	default:
	}
	for _, of := range [...]int64{32, 64, 96, 128, 192, 256} {
		if of >= max(width, least) {
			return of
		}
	}
	return width
}

// attention returns forward and backward: FLOPs under the causal mask, half of the longest tile on all
// processors, and passes over the queries; with fewer keys than queries their gradients are summed.
func (r *Rates) attention(w *Way, a attention, queries, keys int64) (forward, backward float64) {
	kernel, wide := w.Attention, 0
	if kernel == recipe.CuDNN && w.Compile { // torch.compile runs FlashAttention-2
		kernel = recipe.Flash2
	}
	if a.width > 64 {
		wide = 1
	}
	at := r.kernel(kernel, wide)
	padding := float64(padded(kernel, a.width)) / float64(a.width)
	flops := 2*float64(w.Seq)*float64(queries) + 2*float64(w.Seq)*128*float64(a.width)*r.Processors
	flops *= padding
	forward = flops/at.FLOPs[0] + at.PerQuery[0]*float64(queries)
	backward = 2.5*flops/at.FLOPs[1] + at.PerQuery[1]*float64(queries)
	if keys != queries && kernel != recipe.CuDNN {
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
