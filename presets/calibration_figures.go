package presets

import (
	"cmp"
	"fmt"
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/ledger"
	"meshscope/engine/units"
)

// figureRange is one figure of a calibration file: its key, the range outside
// of which it is a mistake, and where it goes. The end of a key is its unit. A
// needed figure must come from the file or from one that it inherits from; the
// others mean, left out, that the effect was not measured or is not there.
type figureRange struct {
	key       string
	low, high float64
	set       func(float64)
	get       func() float64 // nil: nobody asks
	needed    bool
}

// figureKeys returns the keys of figures.
func figureKeys(known []figureRange) []string {
	keys := make([]string, len(known))
	for i := range known {
		keys[i] = known[i].key
	}
	return keys
}

// least is the smallest efficiency: a rate of zero would be one that takes no
// time.
const least = 1e-3

// efficiency returns a share of a rate, which is needed and cannot be zero.
func efficiency[T ~float64](key string, into *T) figureRange {
	return number(key, least, 1, into).need()
}

func share[T ~float64](key string, into *T) figureRange { return number(key, 0, 1, into) }

func number[T ~float64](key string, low, high float64, into *T) figureRange {
	return figureRange{
		key: key, low: low, high: high, set: func(v float64) { *into = T(v) },
		get: func() float64 { return float64(*into) },
	}
}

func micros(key string, into *units.Seconds) figureRange {
	return figureRange{
		key: key, low: 0, high: 1e6, set: func(v float64) { *into = units.Seconds(v * micro) },
		get: func() float64 { return float64(*into) / micro },
	}
}

func picos(key string, into *units.Seconds) figureRange {
	return figureRange{
		key: key, low: 0, high: 1e6, set: func(v float64) { *into = units.Seconds(v * pico) },
		get: func() float64 { return float64(*into) / pico },
	}
}

func flag(key string, into *bool) figureRange {
	return figureRange{key: key, low: 0, high: 1, set: func(v float64) { *into = v > 0 }}
}

func (r figureRange) need() figureRange {
	r.needed = true
	return r
}

// measured returns a bandwidth of the curves over nodes.
func measured(key string, into *units.BytesPerSecond) figureRange {
	return figureRange{
		key: key, low: 0.01, high: maxLinkGBps,
		set: func(v float64) { *into = units.BytesPerSecond(v) * units.GBps },
		get: func() float64 { return float64(*into / units.GBps) },
	}
}

func figureRanges(kind string) ([]figureRange, bool) {
	switch kind {
	case kindGPU:
		return opsFigures(&hardware.Ops{}), true
	case kindNetwork:
		return networkFigures(&hardware.Network{}), true
	case kindStack:
		return softwareFigures(&hardware.Software{}), true
	case kindMemory:
		return memoryFigures(&hardware.StackMemory{}, true), true
	case kindKernels:
		return kernelFigures(&ledger.Rates{}), true
	default:
		return nil, false
	}
}

// kernelFigures returns the rates of PyTorch's kernels, in the units that their keys end in.
func kernelFigures(r *ledger.Rates) (list []figureRange) {
	units := map[string]float64{"TFLOPS": 1e12, "TBps": 1e12, "GBps": 1e9, "us": 1e-6, "ps": 1e-12}
	for _, rate := range r.List() {
		unit := cmp.Or(units[rate.Key[strings.LastIndexByte(rate.Key, '_')+1:]], 1)
		list = append(list, figureRange{
			key: rate.Key, low: least, high: 1e6, needed: true,
			set: func(v float64) { *rate.Of = v * unit },
			get: func() float64 { return *rate.Of / unit },
		})
	}
	return list
}

func opsFigures(o *hardware.Ops) []figureRange {
	return append([]figureRange{
		number("sm_count", 1, 100_000, &o.SMs).need(),
		efficiency("gemm_efficiency", &o.Gemm),
		efficiency("gemm_fp8_efficiency", &o.GemmF8),
		number("gemm_fp4_efficiency", least, 1, &o.GemmF4),
		number("gemm_half_k", 0, 100_000, &o.HalfK).need(),
		share("wave_quantisation", &o.Wave).need(),
		efficiency("memory_efficiency", &o.Stream),
		efficiency("grouped_efficiency", &o.Grouped),
		number("grouped_half_rows", 0, 100_000, &o.GroupedRows).need(),
		efficiency("grouped_memory_efficiency", &o.GroupedRead),
		number("grouped_gradient_half_rows", 0, 100_000, &o.GradientRows),
		number("grouped_gradient_memory_efficiency", least, 1, &o.GradientRead),
		micros("grouped_start_us", &o.GroupedStart),
		number("scan_efficiency", least, 1, &o.Scan),
		number("unaligned_efficiency", least, 1, &o.Unaligned),
		micros("kernel_start_us", &o.Start).need(),
	}, fusedFigures("attention", &o.Attention)...)
}

// fusedFigures returns those of a kernel of fused attention, whose keys begin with its name.
func fusedFigures(name string, f *hardware.Fused) []figureRange {
	list := []figureRange{
		efficiency(name+"_wide_factor", &f.Wide), micros(name+"_start_us", &f.Forward.Start).need(),
		micros(name+"_backward_start_us", &f.Backward.Start),
	}
	for i, p := range [...]*hardware.Pass{&f.Forward, &f.Backward} {
		of := name + [...]string{"_forward", "_backward"}[i]
		list = append(list, efficiency(of+"_efficiency", &p.Share), share(of+"_narrow_factor", &p.Narrow),
			number(of+"_tiles", 0, 10, &p.Tile), picos(of+"_query_ps", &p.Query),
			picos(of+"_narrow_query_ps", &p.NarrowQuery))
	}
	return list
}

func networkFigures(n *hardware.Network) []figureRange {
	list := []figureRange{
		efficiency("all_reduce_efficiency", &n.AllReduce),
		efficiency("gather_efficiency", &n.Gather),
		efficiency("all_to_all_efficiency", &n.AllToAll),
		number("dispatch_efficiency", least, 1, &n.Dispatch),
		efficiency("send_efficiency", &n.Send),
		micros("call_us", &n.Fixed).need(),
		number("half_size_bytes", 0, 1e12, &n.HalfSize),
		number("half_node_ring_efficiency", least, 1, &n.HalfRing),
		number("half_node_all_to_all_efficiency", least, 1, &n.HalfAllToAll),
		number("bridge_efficiency", least, 1, &n.Bridge),
		efficiency("inter_ring_efficiency", &n.InterRing),
		efficiency("inter_all_to_all_efficiency", &n.InterAllToAll),
		micros("inter_call_us", &n.InterFixed).need(),
		number("rails_speedup", 0.1, 8, &n.Rails),
		micros("inter_hop_us", &n.InterHop),
	}
	for i := range hardware.CurvePoints {
		nodes := 1 << i
		list = append(list,
			measured(fmt.Sprintf("all_reduce_%dnode_GBps", nodes), &n.Curve[i]),
			measured(fmt.Sprintf("gather_%dnode_GBps", nodes), &n.Ring[i]),
		)
	}
	return list
}

func softwareFigures(s *hardware.Software) []figureRange {
	return []figureRange{
		number("factor", 0.5, 3, &s.Factor),
		number("memory_passes", 0.1, 20, &s.Passes).need(),
		number("attention_slowdown", 0.5, 10, &s.Attention),
		number("fp8_slowdown", 0.5, 10, &s.FP8),
		number("fp8_attention_speedup", 1, 4, &s.FP8Attention),
		number("experts_slowdown", 0.5, 10, &s.Experts),
		number("optimizer_bytes", 1, 1000, &s.Optimizer).need(),
		micros("host_layer_us", &s.HostLayer).need(),
		micros("moe_layer_us", &s.MoELayer),
		micros("expert_product_us", &s.Expert),
		micros("host_moe_layer_fp8_us", &s.HostMoE8),
		number("biased_experts_passes", 0, 100, &s.Biased),
		micros("host_step_us", &s.HostStep).need(),
		micros("host_update_us", &s.HostUpdate),
		micros("host_tp_layer_us", &s.HostTP),
		micros("host_tp_rank_us", &s.HostTPRank),
		micros("host_tp_layer_many_nodes_us", &s.HostTPFar),
		micros("host_tp_rank_many_nodes_us", &s.HostTPRankFar),
		micros("host_tp_rank_crossing_us", &s.HostTPRankCross),
		micros("host_tp_rank_crossing_many_nodes_us", &s.HostTPRankCrossFar),
		share("tp_forward_exposed", &s.TPForward).need(),
		share("tp_backward_exposed", &s.TPBackward).need(),
		share("tp_chunked_forward_exposed", &s.TPChunkedForward),
		share("tp_chunked_backward_exposed", &s.TPChunkedBackward),
		share("tp_plain_forward_exposed", &s.TPPlainForward),
		share("tp_plain_backward_exposed", &s.TPPlainBackward),
		share("cp_exposed", &s.CP).need(),
		share("ep_exposed", &s.EP).need(),
		share("ep_overlapped_exposed", &s.EPOverlap),
		share("dp_exposed", &s.DP).need(),
		share("gather_exposed", &s.Gather).need(),
		share("shard_exposed", &s.Shard).need(),
		share("pair_exposed", &s.Pair),
		number("shard_slowdown", 1, 100, &s.ShardSlow),
		flag("shard_kept_with_pp", &s.Keeps),
		micros("hop_us", &s.Hop).need(),
		flag("blocking_hops", &s.Blocking).need(),
		flag("scatter_hops", &s.Scatter).need(),
		number("bucket_bytes", 0, 1e12, &s.Bucket),
		number("reduce_bytes", 0, 8, &s.Reduce),
	}
}

// memoryFigures returns those of a stack's memory. A stack whose layers were fitted
// instead of counted needs what they keep.
func memoryFigures(m *hardware.StackMemory, fitted bool) []figureRange {
	const (
		mostGiB   = 1000
		mostBytes = 1000 // per token and unit of width, or per parameter
	)
	gib := func(key string, into *units.Bytes) figureRange {
		return figureRange{
			key: key, low: 0, high: mostGiB,
			set: func(v float64) { *into = units.Bytes(v) * units.GiB },
		}
	}
	list := []figureRange{
		share("allocator_slack", &m.Slack).need(),
		gib("driver_context_GiB", &m.Context).need(),
		gib("communicators_GiB", &m.Communicators).need(),
		gib("node_communicator_GiB", &m.NodeCommunicator),
		share("communicators_share", &m.CommunicatorsShare),
	}
	k := &m.Saved
	for _, f := range []struct {
		key  string
		into *float64
	}{
		{"layer_bytes_per_hidden", &k.Layer},
		{"mlp_bytes_per_width", &k.MLP},
		{"head_bytes_per_logit", &k.Logit},
		{"gathered_bytes_per_hidden", &k.Gathered},
		{"gathered_without_pipeline_bytes_per_hidden", &k.NoPipeline},
		{"between_steps_bytes_per_hidden", &k.Between},
		{"plain_gradient_bytes_per_parameter", &k.Plain},
		{"update_bytes_per_parameter", &k.Update},
	} {
		r := number(f.key, 0, mostBytes, f.into)
		r.needed = fitted
		list = append(list, r)
	}
	return list
}
