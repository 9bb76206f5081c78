package hardware

import "meshscope/engine/units"

// HostAdam is the HostUpdate of a stack that gives none: DeepSpeed's CPU-Adam updates 10 B
// parameters in 2.57 s on the two Xeon Platinum 8168 of a DGX-2 (ZeRO-Offload, arXiv
// 2101.06840, table 4, cited from memory). What could be read agrees: 30 bytes a parameter are
// then 117 GB/s, 46 % of twelve channels of DDR4-2666, and DeepSpeed's tutorial has it 5 to 7
// times as fast as PyTorch's Adam, 14.76 s in that table.
const HostAdam = 2.57 / 10 * units.Microsecond / 1000

// plain returns the roofline of a machine without a calibration: round numbers that
// nobody fitted to anything. It never allocates, so that it can be requested at
// every evaluation. Shares of links are those of NCCL on NVLink 5 in SimuMax's
// tables (MooreThreads/SimuMax at 4dcaae5) and of Calculon's InfiniBand.
func plain() (Ops, Network, Software) {
	ops := Ops{
		From: "no calibration: plain roofline",
		Gemm: 0.72, GemmF8: 0.6, HalfK: 100, Stream: 0.80,
		AttentionForward: 0.55, AttentionBackward: 0.45, AttentionWide: 0.8, AttentionStart: 20 * units.Microsecond,
		Grouped: 0.6, GroupedRows: 100, GroupedRead: 0.7,
		Start: 4 * units.Microsecond,
	}
	network := Network{
		From:      "no calibration: plain ring",
		AllReduce: 0.742, Gather: 0.674, AllToAll: 0.597, Send: 0.674,
		InterRing: 0.9, InterAllToAll: 0.8,
	}
	software := Software{Factor: 1, Passes: 1, Attention: 1, FP8: 1, FP8Attention: 1, Optimizer: 30, HostUpdate: HostAdam, TPForward: 1, EP: 1}
	return ops, network, software
}
