package hardware

import (
	"cmp"

	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Record says where the rates of NewMachine come from, and what formulas call the
// constants of the machine.
func (m *Machine) Record(rec *record.Recorder, p recipe.Precision) {
	if !rec.On() {
		return
	}
	m.recordConstants(rec)
	g := &m.Cluster.GPU
	formula, share := "peak * share_of_the_peak", m.Ops.Gemm
	measured := g.Measured(p)
	fp8 := p.IsFP8() && g.PeakFP8 > 0
	if fp8 {
		formula, share = "fp8_peak * share_of_the_peak", m.Ops.GemmF8
	}
	if measured > 0 && fp8 == p.IsFP8() {
		formula = "min(" + formula + ", best_measured_product)"
	}
	switch {
	case fp8:
		formula += " / fp8_time_of_the_stack_over_the_best"
	case p == recipe.NVFP4:
		formula, share = "fp4_peak * share_of_the_peak", m.Ops.shareOfFP4()
	}
	if p.Narrow() {
		m.recordHead(rec)
	}
	rec.Figure(record.Entry{
		ID: "gpu.matmul-rate", Name: "rate of a large matrix product", Symbol: "R", Unit: record.Rate,
		Formula: formula, Value: float64(m.gemm),
		Source: "dense peak of the datasheet times a share, at most the best product that was measured on " +
			"the GPU; " + record.From(m.Ops.From),
	}, record.In("fp8_peak", g.PeakFP8), record.In("fp4_peak", g.PeakFP4),
		record.InUnit(record.Share, "share_of_the_peak", share), record.In("best_measured_product", measured),
		record.In("fp8_time_of_the_stack_over_the_best", m.Software.FP8))
	rec.Figure(record.Entry{
		ID: "gpu.stream-rate", Name: "memory bandwidth that operations reach", Symbol: "BW",
		Unit:    record.Bandwidth,
		Formula: "memory_bandwidth * share_of_bandwidth", Value: float64(m.stream),
		Source: "bandwidth of the datasheet times a share; " + record.From(m.Ops.From),
	}, record.InUnit(record.Share, "share_of_bandwidth", m.Ops.Stream))
}

// recordHead records the rate of products that fp8 and NVFP4 leave in 16 bits.
func (m *Machine) recordHead(rec *record.Recorder) {
	formula, measured := "peak * share_of_the_peak", m.Cluster.GPU.MatmulBF16
	if measured > 0 {
		formula = "min(" + formula + ", best_measured_product)"
	}
	rec.Figure(record.Entry{
		ID: "gpu.head-rate", Name: "rate of a large matrix product in 16 bits, the head's", Symbol: "R_head",
		Unit: record.Rate, Formula: formula, Value: float64(m.gemm16),
		Source: "as in bf16; " + record.From(m.Ops.From),
	}, record.InUnit(record.Share, "share_of_the_peak", m.Ops.Gemm),
		record.In("best_measured_product", measured))
}

// recordConstants names what formulas of operations and messages share.
func (m *Machine) recordConstants(rec *record.Recorder) {
	g, o, n, s := &m.Cluster.GPU, &m.Ops, &m.Network, &m.Software
	a := &o.Attention
	rate := func(t units.Seconds) float64 { // of what takes too little time to be written
		if t == 0 {
			return 0
		}
		return 1 / float64(t)
	}
	rec.Given(
		record.In("peak", m.attention),
		record.In("rate_of_fp8_attention_over_16_bits", m.Software.FP8Attention),
		record.In("memory_bandwidth", g.MemoryBandwidth), record.In("start", o.Start),
		record.InUnit(record.Share, "share_forward", a.Forward.Share),
		record.InUnit(record.Share, "share_backward", a.Backward.Share),
		record.InUnit(record.Share, "share_of_wide_heads", a.Wide),
		record.InUnit(record.Share, "share_of_narrow_heads_forward", a.Forward.Narrow),
		record.InUnit(record.Share, "share_of_narrow_heads_backward", a.Backward.Narrow),
		record.In("queries_a_second_of_narrow_heads_forward", rate(a.Forward.NarrowQuery)),
		record.In("queries_a_second_of_narrow_heads_backward", rate(a.Backward.NarrowQuery)),
		record.In("tiles_felt_forward", a.Forward.Tile), record.In("tiles_felt_backward", a.Backward.Tile),
		record.InUnit(record.Share, "share_of_scans", cmp.Or(o.Scan, 1)),
		record.In("fp32_peak", g.PeakFP32),
		record.InUnit(record.Share, "share_of_unaligned_products", o.Unaligned),
		record.In("queries_a_second_forward", rate(a.Forward.Query)),
		record.In("queries_a_second_backward", rate(a.Backward.Query)), record.In("SMs", o.SMs),
		record.In("attention_start", a.Forward.Start),
		record.In("attention_start_backward", a.Backward.Start),
		record.In("attention_of_the_stack_over_the_best", s.Attention),
		record.In("passes_of_the_stack", s.Passes), record.In("factor_of_the_stack", s.Factor),
		record.In("link", m.Cluster.Intra.Bandwidth), record.In("link_latency", m.Cluster.Intra.Latency),
		record.In("network", m.Cluster.Inter.Bandwidth),
		record.In("network_latency", m.Cluster.Inter.Latency),
		record.InUnit(record.Share, "share_of_the_link_for_messages", n.Send),
		record.InUnit(record.Share, "share_of_the_network", n.InterRing),
		record.In("latency_of_the_stack", s.Hop), record.In("GPUs_per_domain", m.Cluster.Domain()),
		record.In("start_of_a_call", n.Fixed), record.In("start_over_the_network", n.InterFixed),
	)
}
