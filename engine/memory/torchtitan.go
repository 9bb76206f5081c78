package memory

import (
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// torchTitan is PyTorch's FSDP2 as torchtitan runs it: fp32 weights, gradients
// and moments, sharded, and 16-bit copies gathered block by block. ZeRO-3 frees
// the copies after each use, ZeRO-2 keeps them (reshard_after_forward off),
// ZeRO-0 is plain DDP. With HSDP every replica holds all shards.
type torchTitan struct{ common }

func (torchTitan) Offers() [4]bool { return [4]bool{0: true, 2: true, 3: true} }

func (torchTitan) LazyGradients() bool { return true }

func (torchTitan) Assumptions(_ *layout.Layout, overhead string, say func(bool, string)) {
	say(true, "memory follows PyTorch's FSDP2: fp32 weights, gradients and moments, 16-bit copies of one gathered and one prefetched block")
	say(true, overhead)
}

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
// norms and MLP compiled into fused kernels. Selective recomputation means
// another thing here (torchtitan/distributed/activation_checkpoint.py at
// b5bcd76): of every layer the input, the output of attention and every second
// matrix product are kept, which are q, v, the gate and the MLP's output.
func (torchTitan) Layer(in *Input, moe bool) Kept {
	all := megatronCore{}.Layer(in, moe)
	m, l := in.Model, in.Layout
	if in.Recompute.Mode != recipe.RecomputeSelective || m.IsMLA() || moe {
		return all
	}
	h, a := float64(m.Hidden), float64(m.Heads)
	width := a * float64(m.HeadDim)
	kv := kvWidth(in)
	kept := Kept{
		Attention: split{even: 4*width + 2*kv + 2*a}.bytes(l),
		MLP:       split{seq: 2 * h, even: 2 * float64(m.FFN)}.bytes(l),
		Norms:     split{seq: 2 * h}.bytes(l),
	}
	kept.again = max(0, all.Sum()-kept.Sum())
	return kept
}

// Stage adds up the layers and the temporaries. The loss that is not fused has
// the logits, their log-softmax and its gradient in fp32, 12 bytes per logit.
func (k torchTitan) Stage(in *Input, stage int) Live {
	live := keep(in, stage, k, split{seq: 2 * float64(in.Model.Hidden)}.bytes(in.Layout))
	transient(in, in.Stages[stage], &live, 0)
	if in.Loss == recipe.UnfusedLoss {
		live.Logits *= 12 / units.Bytes(logits(in.Loss))
	}
	return live
}

// Buffers are the 16-bit copies and what gradients are scattered from.
func (torchTitan) Buffers(in *Input, _ int, p Parameters) units.Bytes {
	if in.Precision == recipe.FP32 && (in.Layout.ZeRO < 2 || in.Layout.DenseShards() == 1) {
		return 0 // the stored weights are the ones that are used
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
