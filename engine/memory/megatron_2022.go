package memory

import (
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// megatron2022 is the Megatron-LM of Korthikanti et al. (arXiv 2205.05198):
// sequence parallelism and selective recomputation, attention scores stored
// where nothing says otherwise, dropout with its masks, fp32 main gradients, a
// loss over fp32 logits, no sharded optimizer.
type megatron2022 struct{ common }

func (megatron2022) Offers() [4]bool { return [4]bool{0: true} }

func (megatron2022) Assumptions(into []string, _ *layout.Layout, overhead string) []string {
	into = append(into, "memory follows the Megatron-LM of Korthikanti et al.: dropout with its masks, loss over fp32 logits, optimizer states on every rank")
	into = append(into, overhead)
	return into
}

func (megatron2022) Cut(in *Input) Divisors { return megatronCore{}.Cut(in) }

// Layer adds to what every Megatron keeps the dropout masks of one byte per
// element behind attention and MLP. For GELU and as many kv heads as heads this
// is s*b*h*(34 + 5as/h), 10 of the 34 outside the TP regions (section 4 there).
func (megatron2022) Layer(in *Input, moe bool) Kept {
	kept, note := megatronCore{}.Layer(in, moe), in.layerNote(moe)
	attention := note.part("attention")
	mask := split{seq: float64(in.Model.Hidden)}.bytes(in.Layout)
	const dropout = 3 // scores' mask and output
	kept.Attention += mask + split{even: scores(in, dropout)}.bytes(in.Layout)
	attention.seq("h")
	if scores(in, dropout) > 0 {
		attention.even("3 * a * s")
	}
	if in.Attention != recipe.Flash {
		kept.Attention -= logSumExp(in)
		attention.less("2 * a")
	}
	if moe {
		kept.Experts += mask
		note.part("experts").seq("h")
	} else {
		kept.MLP += mask
		note.part("mlp").seq("h")
	}
	return kept
}

// logSumExp returns what only flash attention keeps next to its output.
func logSumExp(in *Input) float64 { return split{even: 2 * float64(in.Model.Heads)}.bytes(in.Layout) }

// Stage adds up the layers, the temporaries, and on the first stage the mask of
// the embedding's dropout, which lives as long as the micro-batch.
func (k megatron2022) Stage(in *Input, stage int) Live {
	live := pass(in, stage, k)
	if in.Stages[stage].Embedding {
		mask := split{seq: float64(in.Model.Hidden)}.bytes(in.Layout)
		live.Activations += units.Bytes(in.Layout.MicroBatchTokens() * mask)
		in.stageNote(stage).term("activations", "T * ", formula(in.Layout, "", "h"))
	}
	transient(in, stage, &live, logits(in.Loss), headWork)
	return live
}
