package presets

import (
	"fmt"

	"meshscope/engine/hardware"
	"meshscope/engine/units"
)

// figureRange is one figure of a calibration file: its key, the range outside
// of which it is a mistake, and where it goes. The end of a key is its unit.
type figureRange struct {
	key       string
	low, high float64
	set       func(float64)
}

func share[T ~float64](key string, into *T) figureRange {
	return figureRange{key, 0, 1, func(v float64) { *into = T(v) }}
}

func number[T ~float64](key string, low, high float64, into *T) figureRange {
	return figureRange{key, low, high, func(v float64) { *into = T(v) }}
}

func micros(key string, into *units.Seconds) figureRange {
	return figureRange{key, 0, 1e6, func(v float64) { *into = units.Seconds(v * micro) }}
}

func flag(key string, into *bool) figureRange {
	return figureRange{key, 0, 1, func(v float64) { *into = v > 0 }}
}

func figureRanges(kind string) ([]figureRange, bool) {
	switch kind {
	case kindGPU:
		return opsFigures(&hardware.Ops{}), true
	case kindNetwork:
		return networkFigures(&hardware.Network{}), true
	case kindStack:
		return softwareFigures(&hardware.Software{}), true
	default:
		return nil, false
	}
}

func opsFigures(o *hardware.Ops) []figureRange {
	return []figureRange{
		number("sm_count", 0, 100_000, &o.SMs),
		share("gemm_efficiency", &o.Gemm),
		share("gemm_fp8_efficiency", &o.GemmF8),
		number("gemm_half_k", 0, 100_000, &o.HalfK),
		share("wave_quantisation", &o.Wave),
		share("memory_efficiency", &o.Stream),
		share("attention_forward_efficiency", &o.AttentionForward),
		share("attention_backward_efficiency", &o.AttentionBackward),
		share("attention_wide_factor", &o.AttentionWide),
		micros("attention_start_us", &o.AttentionStart),
		share("grouped_efficiency", &o.Grouped),
		number("grouped_half_rows", 0, 100_000, &o.GroupedRows),
		share("grouped_memory_efficiency", &o.GroupedRead),
		micros("kernel_start_us", &o.Start),
	}
}

func networkFigures(n *hardware.Network) []figureRange {
	list := []figureRange{
		share("all_reduce_efficiency", &n.AllReduce),
		share("gather_efficiency", &n.Gather),
		share("all_to_all_efficiency", &n.AllToAll),
		share("send_efficiency", &n.Send),
		micros("call_us", &n.Fixed),
		number("half_size_bytes", 0, 1e12, &n.HalfSize),
		share("half_node_ring_efficiency", &n.HalfRing),
		share("half_node_all_to_all_efficiency", &n.HalfAllToAll),
		share("bridge_efficiency", &n.Bridge),
		share("inter_ring_efficiency", &n.InterRing),
		share("inter_all_to_all_efficiency", &n.InterAllToAll),
		micros("inter_call_us", &n.InterFixed),
		number("rails_speedup", 0.1, 8, &n.Rails),
		micros("inter_hop_us", &n.InterHop),
	}
	for i := range hardware.CurvePoints {
		nodes := 1 << i
		list = append(list,
			figureRange{fmt.Sprintf("all_reduce_%dnode_GBps", nodes), 0, maxLinkGBps, func(v float64) { n.Curve[i] = units.BytesPerSecond(v) * units.GBps }},
			figureRange{fmt.Sprintf("gather_%dnode_GBps", nodes), 0, maxLinkGBps, func(v float64) { n.Ring[i] = units.BytesPerSecond(v) * units.GBps }},
		)
	}
	return list
}

func softwareFigures(s *hardware.Software) []figureRange {
	return []figureRange{
		number("factor", 0.5, 3, &s.Factor),
		number("memory_passes", 0.1, 20, &s.Passes),
		number("attention_slowdown", 0.5, 10, &s.Attention),
		number("fp8_slowdown", 0.5, 10, &s.FP8),
		number("optimizer_bytes", 1, 1000, &s.Optimizer),
		micros("host_layer_us", &s.HostLayer),
		micros("host_moe_layer_us", &s.HostMoE),
		micros("host_step_us", &s.HostStep),
		micros("host_tp_layer_us", &s.HostTP),
		micros("host_tp_rank_us", &s.HostTPRank),
		micros("host_tp_layer_many_nodes_us", &s.HostTPFar),
		micros("host_tp_rank_many_nodes_us", &s.HostTPRankFar),
		micros("host_tp_rank_crossing_us", &s.HostTPRankCross),
		micros("host_tp_rank_crossing_many_nodes_us", &s.HostTPRankCrossFar),
		share("tp_forward_exposed", &s.TPForward),
		share("tp_backward_exposed", &s.TPBackward),
		share("cp_exposed", &s.CP),
		share("ep_exposed", &s.EP),
		flag("ep_crosses_once", &s.Once),
		share("dp_exposed", &s.DP),
		share("gather_exposed", &s.Gather),
		share("shard_exposed", &s.Shard),
		number("shard_slowdown", 1, 100, &s.ShardSlow),
		flag("shard_kept_with_pp", &s.Keeps),
		micros("hop_us", &s.Hop),
		flag("blocking_hops", &s.Blocking),
		flag("scatter_hops", &s.Scatter),
		number("bucket_bytes", 0, 1e12, &s.Bucket),
		number("reduce_bytes", 0, 8, &s.Reduce),
	}
}
