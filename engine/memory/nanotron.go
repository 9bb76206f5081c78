package memory

import (
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// nanotron is Hugging Face's trainer as the Ultra-Scale Playbook's sweep ran
// it. Static bytes per parameter are read off the allocated memory after a
// step, which they meet within 0.6 % without TP and 1.8 % in all (medians over
// the 1B and 8B runs): with Adam 18 on one data-parallel rank, 20 on more, and
// 10 + 14/dp with ZeRO-1.
//
// What is kept beyond that was chosen by what PyTorch keeps; the bytes are fitted
// to the peak reserved memory of the sweep's 1B and 8B rows and to which of those
// ran out of memory (presets/calibrations/memory-nanotron.toml). Reserved memory
// is what was measured, so blocks that the allocator cannot reuse are in them.
// engine_test/sweep_test.go states the error, also with half of the rows and with
// one model held out.
type nanotron struct{ common }

func (nanotron) Offers() [4]bool { return [4]bool{0: true, 1: true} }

func (nanotron) Assumptions(l *layout.Layout, overhead string, say func(bool, string)) {
	say(true, "memory follows nanotron in the playbook's sweep; peak reserved memory is fitted to its 1B and 8B runs, with a median error of 6 %")
	say(l.TP > 1 && l.PP == 1, "without a pipeline it is that of nanotron's code of late 2024, which kept more gathered tensors")
	say(l.PP > 1 && l.Split == "", "layers are dealt out by their work, as nanotron does, so the last stage with the head has fewer")
	say(true, overhead)
}

// zeroStage is the stage that runs: ZeRO-1 over one rank shards nothing.
func (nanotron) zeroStage(in *Input) int {
	if in.Layout.ZeRO == 1 && in.Layout.DenseShards() == 1 {
		return 0
	}
	return in.Layout.ZeRO
}

// Shard is 2+4+12 on one rank; more ranks reduce 16-bit gradients beside the
// fp32 buffer that accumulates them. ZeRO-1 has 8 + 14/dp during the backward
// and 10 + 14/dp after the update.
func (n nanotron) Shard(in *Input) Sharding {
	l := in.Layout
	whole := func(bytes float64) PerParam { return PerParam{bytes, bytes} }
	state := in.Optimizer.StateBytes(in.Precision)
	s := Sharding{
		Weights:   whole(in.Precision.WeightBytes()),
		Gradients: whole(in.GradDtype.Bytes(in.Precision)),
		Optimizer: whole(state),
		Master:    whole(in.Optimizer.MasterBytes(in.Precision)),
	}
	if l.DP*l.CP > 1 {
		const reduced = 2
		s.Gradients = whole(s.Gradients.Dense + reduced)
	}
	switch n.zeroStage(in) {
	case 0:
	case 1:
		s.Optimizer = flattened(in, state)
		s.Master = flattened(in, in.Optimizer.MasterBytes(in.Precision))
	default:
		return zero(in)
	}
	return s
}

// flattened are optimizer bytes per parameter where they are sharded, with a
// 16-bit copy of each shard.
func flattened(in *Input, bytes float64) PerParam {
	const extra = 2
	p := over(in, bytes+extra)
	if in.Layout.ExpertShards() == 1 {
		p.Expert = bytes
	}
	return p
}

// Layer is what Megatron-Core keeps of one and the fitted rest.
func (nanotron) Layer(in *Input, moe bool) Kept {
	kept := megatronCore{}.Layer(in, moe)
	m, l := in.Model, in.Layout
	more := in.Fitted.Kept.MLP - mlpWidth(true)
	width := float64(m.FFN)
	if moe {
		width = float64(m.SharedFFN)
		kept.Experts += split{seq: float64(m.TopK) * in.Load * more * float64(m.ExpertFFN)}.bytes(l)
	}
	kept.MLP += split{even: more * width}.bytes(l)
	kept.Attention += split{even: in.Fitted.Kept.Layer * float64(m.Hidden)}.bytes(l)
	return kept
}

// Stage adds up the layers, and with TP what stays whole.
func (n nanotron) Stage(in *Input, stage int) Live {
	m, l, st := in.Model, in.Layout, in.Stages[stage]
	h, tokens, e := float64(m.Hidden), l.MicroBatchTokens(), in.Precision.Bytes()/2
	live := keep(in, stage, n, split{seq: 2 * h}.bytes(l))
	work := 0.0
	if l.TP > 1 {
		live.Activations += units.Bytes(in.Fitted.Kept.Gathered * h * tokens * e)
		if l.PP == 1 {
			work = in.Fitted.Kept.NoPipeline * h * tokens * e
		}
	}
	if st.Head {
		perLogit := in.Fitted.Kept.Logit
		if in.Loss == recipe.FusedLoss {
			perLogit = logits(in.Loss)
		}
		live.Logits = units.Bytes(perLogit * tokens * float64(m.Vocab) / float64(l.TP) * e)
	}
	live.Forward += units.Bytes(work)
	live.Backward += units.Bytes(work)
	return live
}

// Buffers are the all-gather buffer of TP and the buckets of plain data
// parallelism.
func (n nanotron) Buffers(in *Input, _ int, p Parameters) units.Bytes {
	var total units.Bytes
	if l := in.Layout; l.TP > 1 {
		total += units.Bytes(in.Fitted.Kept.Between * float64(in.Model.Hidden) * l.MicroBatchTokens())
	}
	if n.zeroStage(in) == 0 {
		total += units.Bytes(in.Fitted.Kept.Plain * (p.Dense + p.Expert))
	}
	return total
}

// Update is what ZeRO-1 makes in the optimizer's step.
func (n nanotron) Update(in *Input, p Parameters) units.Bytes {
	if n.zeroStage(in) != 1 {
		return 0
	}
	return units.Bytes(in.Fitted.Kept.Update * (p.Dense + p.Expert))
}
