package hardware

import (
	"cmp"
	"math"

	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Machine is a cluster with its constants for one precision and one
// software stack: it says how long an operation or a collective takes.
type Machine struct {
	Cluster  *Cluster
	Ops      Ops
	Network  Network
	Software Software

	// of products, of those that stay in 16 bits, and the peak of attention
	gemm, gemm16, attention units.FLOPsPerSecond
	stream                  units.BytesPerSecond
}

// NewMachine applies to the constants of a cluster what a stack is told to run; without
// a calibration they are those of a plain roofline.
func NewMachine(c *Cluster, p recipe.Precision, stack recipe.Stack, run *recipe.Software) Machine {
	m := Machine{Cluster: c}
	var on recipe.Software
	if cal := c.Calibration; cal != nil && !stack.Traits().Formulas {
		m.Ops, m.Network, m.Software = cal.Ops, cal.Network, *cal.For(stack)
		on = m.Software.Run(run)
		m.Software.apply(&on)
		m.Network.scale(c.linkScale())
	} else {
		m.Ops, m.Network, m.Software = plain()
		on = m.Software.Run(run)
	}
	m.Software.expose(on.Overlap)
	g := &c.GPU
	if on.GroupedMLP == recipe.GroupedFused && FusesExperts(g, p) {
		m.Software.fuseExperts()
	}
	m.attention = g.Peak(p)
	if p.Narrow() {
		m.attention = g.Peak(recipe.BF16) // attention stays in 16 bits
	} else {
		m.Software.FP8Attention = 1
	}
	m.gemm = m.attention * units.FLOPsPerSecond(m.Ops.Gemm)
	if p != recipe.FP32 && g.MatmulBF16 > 0 {
		m.gemm = min(m.gemm, g.MatmulBF16)
	}
	m.gemm16 = m.gemm
	switch measured := g.Measured(p); {
	case p == recipe.NVFP4:
		m.gemm = g.PeakFP4 * units.FLOPsPerSecond(m.Ops.shareOfFP4())
	case p.IsFP8() && g.PeakFP8 > 0:
		m.gemm = g.PeakFP8 * units.FLOPsPerSecond(m.Ops.GemmF8)
		if measured > 0 {
			m.gemm = min(m.gemm, measured)
		}
		m.gemm /= units.FLOPsPerSecond(m.Software.FP8)
	}
	m.stream = g.MemoryBandwidth * units.BytesPerSecond(m.Ops.Stream)
	return m
}

// shareOfFP4 returns the share of the fp4 peak that a large product reaches.
func (o *Ops) shareOfFP4() float64 {
	if o.GemmF4 > 0 {
		return o.GemmF4
	}
	return o.GemmF8
}

// ProductRate returns the rate that large matrix products reach.
func (m *Machine) ProductRate() units.FLOPsPerSecond { return m.gemm }

// MatMul returns the time of one product of rows x inner by inner x cols whose
// operands and result fill so many bytes: the slower of arithmetic and memory,
// and the start of a kernel. Arithmetic suffers from a short inner length (the
// pipeline of a tile fills and drains) and from a last wave of tiles that does
// not fill the GPU (tiles of 128 x 256, NVIDIA's matrix multiplication guide).
//
// The recorder's scope knows rows, inner, cols and touched, the bytes.
func (m *Machine) MatMul(rec *record.Recorder, rows, inner, cols float64, bytes units.Bytes) units.Seconds {
	return m.matMul(rec, m.gemm, "R", rows, inner, cols, bytes)
}

// HeadMatMul is MatMul for what stays in 16 bits: the head with every recipe of fp8 and NVFP4, and
// the router with NVFP4.
func (m *Machine) HeadMatMul(rec *record.Recorder, rows, inner, cols float64,
	bytes units.Bytes,
) units.Seconds {
	symbol := "R"
	if m.gemm16 != m.gemm {
		symbol = "R_head"
	}
	return m.matMul(rec, m.gemm16, symbol, rows, inner, cols, bytes)
}

func (m *Machine) matMul(rec *record.Recorder, rate units.FLOPsPerSecond, symbol string, rows, inner,
	cols float64, bytes units.Bytes,
) units.Seconds {
	if rows <= 0 || inner <= 0 || cols <= 0 {
		if rec.On() {
			m.recordMatMul(rec, symbol, 0, 1)
		}
		return 0
	}
	waves := m.waves(rows, cols)
	t := units.FLOPs(2 * rows * inner * cols).Over(rate)
	t *= units.Seconds((1 + m.Ops.HalfK/inner) * waves)
	t = max(t, bytes.Over(m.stream)) + m.Ops.Start
	if rec.On() {
		m.recordMatMul(rec, symbol, t, waves)
	}
	return t
}

// recordMatMul records what MatMul gave; nothing is multiplied in no time.
func (m *Machine) recordMatMul(rec *record.Recorder, symbol string, t units.Seconds, waves float64) {
	felt := ""
	if t > 0 && m.Ops.Wave > 0 && m.Ops.SMs > 0 {
		felt = " * waves"
		m.recordWaves(rec, waves)
	}
	e := record.Entry{
		Name: rec.What(), Symbol: "t(" + rec.What() + ")", Unit: record.Seconds, Value: float64(t),
		Formula: "max(2 * rows * inner * cols / " + symbol + " * (1 + K_half / inner)" + felt +
			", touched / BW) + start",
		Source: "the slower of arithmetic and memory; short inner lengths and last waves cost (NVIDIA's " +
			"matrix multiplication guide); " + record.From(m.Ops.From),
		LeavesOut: "clocks under load, concurrent traffic",
	}
	if t == 0 {
		e.Formula = "0"
	}
	rec.Figure(e, record.In("K_half", m.Ops.HalfK))
}

// recordWaves records what waves gave.
func (m *Machine) recordWaves(rec *record.Recorder, waves float64) {
	rec.Figure(record.Entry{
		ID: "waves", Name: "time of the product's tiles over that of full waves", Symbol: "waves",
		Value: waves,
		Formula: "1 + felt * (min(ceil(ceil(rows / 256) * ceil(cols / 128) / SMs) * SMs * 256 * 128 / " +
			"(rows * cols), " +
			"ceil(ceil(rows / 128) * ceil(cols / 256) / SMs) * SMs * 128 * 256 / (rows * cols)) - 1)",
		Source: "tiles of 128 x 256 over the streaming multiprocessors, the better orientation; " +
			record.From(m.Ops.From),
	}, record.In("felt", m.Ops.Wave), record.In("SMs", m.Ops.SMs))
}

// waves returns the time of a product's tiles against that of tiles that fill every
// wave; the better of both orientations of a tile.
func (m *Machine) waves(rows, cols float64) float64 {
	if m.Ops.Wave <= 0 || m.Ops.SMs <= 0 {
		return 1
	}
	tall := tileWaste(rows, cols, 256, 128, m.Ops.SMs)
	wide := tileWaste(rows, cols, 128, 256, m.Ops.SMs)
	return 1 + m.Ops.Wave*(min(tall, wide)-1)
}

func tileWaste(rows, cols, high, wide, sms float64) float64 {
	waves := math.Ceil(math.Ceil(rows/high) * math.Ceil(cols/wide) / sms)
	return waves * sms * high * wide / (rows * cols)
}

// GroupedMatMul returns the time of groups products of rows (each) x inner by inner
// x cols in one kernel. Short groups fill tiles badly, and every group reads a
// matrix of its own.
//
// The recorder's scope knows groups, rows, inner, cols and touched, the bytes.
func (m *Machine) GroupedMatMul(rec *record.Recorder, groups, rows, inner, cols float64,
	bytes units.Bytes,
) units.Seconds {
	o := &m.Ops
	return m.grouped(rec, o.GroupedRows, o.GroupedRead, groups*rows, rows, 2*groups*rows*inner*cols, bytes)
}

// GroupedGradient is GroupedMatMul for the gradient of the groups' matrices, whose inner length is the rows.
func (m *Machine) GroupedGradient(rec *record.Recorder, groups, rows, inner, cols float64,
	bytes units.Bytes,
) units.Seconds {
	o := &m.Ops
	half, read := o.GroupedRows, o.GroupedRead
	if o.GradientRows > 0 {
		half = o.GradientRows
	}
	if o.GradientRead > 0 {
		read = o.GradientRead
	}
	return m.grouped(rec, half, read, groups*rows, rows, 2*groups*rows*inner*cols, bytes)
}

// groupedStart is the time that a grouped product takes to start, and what formulas call it.
func (o *Ops) groupedStart() (units.Seconds, string) {
	if o.GroupedStart > 0 {
		return o.GroupedStart, "start_of_a_grouped_product"
	}
	return o.Start, "start"
}

func (m *Machine) grouped(rec *record.Recorder, half, share, all, rows, flops float64,
	bytes units.Bytes,
) units.Seconds {
	if all <= 0 {
		if rec.On() {
			m.recordGrouped(rec, 0, half, share)
		}
		return 0
	}
	rate := m.gemm * units.FLOPsPerSecond(m.Ops.Grouped/m.Ops.Gemm)
	t := units.FLOPs(flops).Over(rate)
	t *= units.Seconds(1 + half/rows)
	read := bytes.Over(m.Cluster.GPU.MemoryBandwidth * units.BytesPerSecond(share))
	start, _ := m.Ops.groupedStart()
	t = max(t, read) + start
	if rec.On() {
		m.recordGrouped(rec, t, half, share)
	}
	return t
}

// recordGrouped records what a grouped product gave; nothing is multiplied in no time.
func (m *Machine) recordGrouped(rec *record.Recorder, t units.Seconds, half, share float64) {
	start, name := m.Ops.groupedStart()
	e := record.Entry{
		Name: rec.What(), Symbol: "t(" + rec.What() + ")", Unit: record.Seconds, Value: float64(t),
		Formula: "max(2 * groups * rows * inner * cols / (R * share_of_a_grouped_product / " +
			"share_of_the_peak) * (1 + rows_half / rows), " +
			"touched / (memory_bandwidth * share_of_bandwidth)) + " + name,
		Source: "grouped matrix product; short groups fill tiles badly, and each group reads its own " +
			"matrix; " + record.From(m.Ops.From),
	}
	if t == 0 {
		e.Formula = "0"
	}
	rec.Figure(e, record.InUnit(record.Share, "share_of_a_grouped_product", m.Ops.Grouped),
		record.InUnit(record.Share, "share_of_the_peak", m.Ops.Gemm),
		record.In("rows_half", half), record.In(name, start),
		record.InUnit(record.Share, "share_of_bandwidth", share))
}

// tensorWidth is what widths of 16-bit products on tensor cores are multiples of (NVIDIA's matrix
// multiplication guide).
const tensorWidth = 8

// Unaligned returns the time of batched products of a width in 16 bits, where another one takes t: off tensor
// cores, at a share of the rate of fp32, if it is no multiple of 8.
func (m *Machine) Unaligned(t, flops record.Num, width float64) record.Num {
	g := &m.Cluster.GPU
	slow := flops.V / (float64(g.PeakFP32) * m.Ops.Unaligned)
	if math.Mod(width, tensorWidth) == 0 || g.Vendor != "NVIDIA" || math.IsInf(slow, 0) || slow <= t.V {
		return t
	}
	if !flops.Named() {
		return record.Lit(slow)
	}
	return flops.With("("+flops.Text()+") / (fp32_peak * share_of_unaligned_products)", slow)
}

// Streamed is Stream of bytes with their expression.
func (m *Machine) Streamed(bytes record.Num) record.Num {
	t := float64(m.Stream(units.Bytes(bytes.V)))
	if t == 0 || !bytes.Named() {
		return record.Lit(t)
	}
	return bytes.With("("+bytes.Text()+") / BW + start", t)
}

// Scanned is Streamed of what the kernels of a scan move, which reach a share of that rate.
func (m *Machine) Scanned(bytes record.Num) record.Num {
	t := float64(m.Stream(units.Bytes(bytes.V / cmp.Or(m.Ops.Scan, 1))))
	if t == 0 || !bytes.Named() {
		return record.Lit(t)
	}
	return bytes.With("("+bytes.Text()+") / (BW * share_of_scans) + start", t)
}

// Stream returns the time of an operation bound by memory that moves b bytes.
func (m *Machine) Stream(b units.Bytes) units.Seconds {
	if b <= 0 {
		return 0
	}
	return b.Over(m.stream) + m.Ops.Start
}
