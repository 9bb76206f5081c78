package memory

import (
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// megatron2022 is the Megatron-LM of Korthikanti et al. (arXiv 2205.05198):
// sequence parallelism and selective recomputation, attention scores stored
// where nothing says otherwise, dropout with its masks, fp32 main gradients, a
// loss over fp32 logits, no sharded optimizer.
type megatron2022 struct{ common }

func (megatron2022) Offers() [4]bool { return [4]bool{0: true} }

func (megatron2022) Assumptions(into []string, _ *layout.Layout, overhead string) []string {
	into = append(into, "memory follows the Megatron-LM of Korthikanti et al.: dropout with its masks, "+
		"loss over fp32 logits, optimizer states on every rank")
	into = append(into, overhead)
	return into
}

func (megatron2022) Cut(in *Input) Divisors { return megatronCore{}.Cut(in) }

// Save adds to what every Megatron keeps the dropout masks of one byte per
// element behind attention and MLP. For GELU and as many kv heads as heads this
// is s*b*h*(34 + 5as/h), 10 of the 34 outside the TP regions (section 4 there).
func (megatron2022) Save(s *saver) {
	megatronCore{}.Save(s)
	part := model.PartAttention
	for i := range s.layer.Ops {
		switch o := &s.layer.Ops[i]; o.Kind {
		case model.Residual:
			s.more[part].add(s.in, s.layer.Tensor(o.In[1]), record.Lit(1))
			if part = model.PartMLP; s.layer.MoE {
				part = model.PartExperts
			}
		case model.Core:
			const dropout = 3 // scores' mask and output
			s.scores(o.Part, record.Lit(dropout))
			if s.in.Attention != recipe.Flash {
				s.drop(o.Out[1]) // only flash attention keeps its sums
			}
		default:
		}
	}
}

// Stage adds up the layers, the temporaries, and on the first stage the mask of
// the embedding's dropout, which lives as long as the micro-batch.
func (k megatron2022) Stage(in *Input, stage int) StageMemory {
	mem := microBatchActivations(in, stage, k)
	if in.Stages[stage].Embedding {
		var mask amount
		mask.add(in, in.Program.Hidden(), record.Lit(1))
		n := mask.perToken(in, record.Num{})
		mem.Activations += units.Bytes(in.Layout.MicroBatchTokens() * n.V)
		if in.Record.On() {
			in.stageNote(stage).term("activations", "T * ", n.Text())
		}
	}
	transient(in, stage, &mem, logits(in.Loss), headWork)
	return mem
}
