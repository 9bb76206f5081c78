package memory

import (
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// torchTitan is PyTorch's FSDP2 as torchtitan runs it: fp32 weights, gradients
// and moments, sharded, and 16-bit copies gathered block by block. ZeRO-3 frees
// the copies after each use, ZeRO-2 keeps them (reshard_after_forward off),
// ZeRO-0 is plain DDP. With HSDP every replica holds all shards.
type torchTitan struct{}

func (torchTitan) Offers() [4]bool { return [4]bool{true, false, true, true} }

func (torchTitan) LazyGradients() bool { return true }

func (torchTitan) Update(*Input, Parameters) units.Bytes { return 0 }

func (torchTitan) Cut(in *Input) Divisors { return tensorParallel(in, float64(in.Model.Vocab)) }

// Shard: the stored weights are the fp32 master copy, so 4+4+8 with Adam. An
// fp8 recipe that stores narrower weights is sharded as in the ZeRO paper.
func (torchTitan) Shard(in *Input) Sharding {
	stage := in.Layout.ZeRO
	if in.Precision.WeightBytes() < 2 {
		return zero(in)
	}
	whole := func(bytes float64) PerParam { return PerParam{bytes, bytes} }
	moments := in.Optimizer.MomentBytes(in.Precision)
	s := Sharding{Weights: whole(4), Gradients: whole(4), Optimizer: whole(moments)}
	if stage >= 1 {
		s.Optimizer = over(in, moments)
	}
	if stage >= 2 {
		s.Weights, s.Gradients = over(in, 4), over(in, 4)
	}
	return s
}

// Layer keeps the tensors that Megatron-Core keeps: the same attention kernel,
// norms and MLP compiled into fused kernels.
func (torchTitan) Layer(in *Input, moe bool) Kept { return megatronCore{}.Layer(in, moe) }

// Stage adds up the layers and the temporaries.
func (k torchTitan) Stage(in *Input, stage int) Live {
	live := keep(in, stage, k, split{seq: 2 * float64(in.Model.Hidden)}.bytes(in.Layout))
	transient(in, in.Stages[stage], &live, 0)
	return live
}

// Buffers are the 16-bit copies and what gradients are scattered from.
func (torchTitan) Buffers(in *Input, _ int, p Parameters) units.Bytes {
	if in.Precision == recipe.FP32 && in.Layout.DenseShards() == 1 {
		return 0
	}
	all := in.Precision.GatherBytes() * (p.Dense + p.Expert)
	switch in.Layout.ZeRO {
	case 3:
		return gathered(in, p)
	case 2:
		return units.Bytes(all + (in.Precision.Bytes()+4)*p.Largest)
	default:
		return units.Bytes(all) // autocast's copies of the weights
	}
}

// Overhead: PyTorch's allocator is the same as under Megatron-Core.
func (torchTitan) Overhead(in *Input, allocated units.Bytes) Overhead {
	return megatronCore{}.Overhead(in, allocated)
}
