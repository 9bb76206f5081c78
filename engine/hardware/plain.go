package hardware

import "meshscope/engine/units"

// HostAdam is the HostUpdate of a stack that gives none: DeepSpeed's CPU-Adam takes 8.2 s for
// the optimizer of a GPT-2 of 11.6 B parameters, PyTorch's Adam 56 s on the same machine, which
// is not named (its author, deepspeedai/DeepSpeed, pull request 735). Two reports of whole nodes
// lie below: about 10 s for a quarter of 72 B on a node of A100 (the same, issue 6834, 0.55 ns
// a parameter), 9.6 s with a profiler for a quarter of 106 B on one of H100 (THUDM/slime, issue
// 1139, 0.36 ns).
const HostAdam = 8.2 / 11.6 * units.Microsecond / 1000

// plain returns the roofline of a machine without a calibration: round numbers that
// nobody fitted to anything. It never allocates, so that it can be requested at
// every evaluation. Shares of links are those of NCCL on NVLink 5 in SimuMax's
// tables (MooreThreads/SimuMax at 4dcaae5) and of Calculon's InfiniBand.
func plain() (Ops, Network, Software) {
	ops := Ops{
		From: "no calibration: plain roofline",
		Gemm: 0.72, GemmF8: 0.6, HalfK: 100, Stream: 0.80,
		Attention: Fused{
			Forward:  Pass{Share: 0.55, Start: 20 * units.Microsecond},
			Backward: Pass{Share: 0.45}, Wide: 0.8,
		},
		Grouped: 0.6, GroupedRows: 100, GroupedRead: 0.7,
		Start: 4 * units.Microsecond,
	}
	network := Network{
		From:      "no calibration: plain ring",
		AllReduce: 0.742, Gather: 0.674, AllToAll: 0.597, Send: 0.674,
		InterRing: 0.9, InterAllToAll: 0.8,
	}
	software := Software{
		Factor: 1, Passes: 1, Attention: 1, FP8: 1, FP8Attention: 1, Optimizer: 30,
		HostUpdate: HostAdam, TPForward: 1, EP: 1,
	}
	return ops, network, software
}
