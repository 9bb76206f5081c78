package memory

import (
	"testing"

	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
)

// autograd keeps what PyTorch's backward formulas read, as an eager block does that repeats keys
// and values for each head; compiled, the activation's inner result is made again
// (derivatives.yaml of PyTorch: linear, rms_norm, silu, mul, scaled_dot_product_attention).
type autograd struct {
	common
	compiled bool
}

func (autograd) Stage(*Input, int) StageMemory { return StageMemory{} }

func (autograd) Assumptions(into []string, _ *layout.Layout, _ string) []string { return into }

func (a autograd) Save(s *saver) {
	two, four := record.Lit(2), record.Lit(4)
	for i := range s.layer.Ops {
		more := &s.more[s.layer.Ops[i].Part]
		switch o := &s.layer.Ops[i]; o.Kind {
		case model.Norm:
			s.all(i, o.In, two)
			more.seq.Add(4, record.Lit(1)) // a number for each row
		case model.Product, model.Grouped, model.Gate:
			s.save(i, o.In[0], two)
			if o.Kind == model.Grouped && s.layer.SplitIn(o) {
				s.save(i, o.Out[0], two) // weighted by the router, then added to its token
				more.add(s.in, s.layer.Tensor(o.Out[0]), two)
			}
		case model.Core:
			s.save(i, o.In[0], two)
			for range 2 { // keys and values of each query head
				more.add(s.in, s.layer.Tensor(o.Out[0]), two)
			}
			s.save(i, o.Out[0], two)
			s.save(i, o.Out[1], four)
		case model.Activation:
			s.all(i, o.In, two)
			if !a.compiled {
				more.add(s.in, s.layer.Tensor(o.Out[0]), two)
			}
		case model.Choice:
			s.save(i, o.Out[0], four)
			more.routed.Add(26, record.Lit(1)) // indices and weights
		default:
		}
	}
}

// TestBlocksOfPyTorch: bytes per token that one block keeps, which a ledger that follows autograd
// gives and runs on an H100 confirmed to the MiB.
func TestBlocksOfPyTorch(t *testing.T) {
	llama := func(h, a, kv, d, f int) model.Model {
		return model.Model{
			Layers: 1, Hidden: h, Heads: a, KVHeads: kv, HeadDim: d, FFN: f, Vocab: 128,
			MaxSeq: 128, Gated: true, Norm: model.NormRMS, NormsPer: 2, AttnBias: model.BiasNone,
			QKNorm: model.QKNormNone,
		}
	}
	small, large := llama(2048, 32, 8, 64, 8192), llama(4096, 32, 8, 128, 14336)
	mixture := llama(2048, 32, 4, 128, 0)
	mixture.Experts, mixture.TopK, mixture.ExpertFFN, mixture.MoEFreq = 128, 8, 768, 1
	for _, c := range []struct {
		name  string
		model model.Model
		stack autograd
		want  float64
	}{
		{"1B, eager", small, autograd{}, 98_440},
		{"8B, eager", large, autograd{}, 180_360},
		{"1B, compiled", small, autograd{compiled: true}, 82_056},
		// 6h + 4q + 4q + 4a + 8 around, and 4E + 26k + 6hk + 8mk of the mixture; the input 2h.
		{
			"30B of experts, eager", mixture,
			autograd{},
			8*2048 + 8*4096 + 4*32 + 8 + 4*128 + 26*8 + 6*2048*8 + 8*768*8,
		},
	} {
		in := &Input{
			Model: &c.model, Program: model.Lay(&c.model, nil),
			Layout:    &layout.Layout{TP: 1, EP: 1, ETP: 1, CP: 1},
			Precision: recipe.BF16, Attention: recipe.Flash, Load: 1,
		}
		kept := in.activationsOf(c.stack, &in.Program.Layers[0])
		if got := kept.Sum(); got != c.want {
			t.Errorf("%s: %v bytes per token, want %v", c.name, got, c.want)
		}
	}
	in := &Input{
		Model: &small, Program: model.Lay(&small, nil),
		Layout: &layout.Layout{TP: 1, EP: 1, ETP: 1, CP: 1}, Precision: recipe.BF16, Attention: recipe.Flash,
		Load: 1, Recompute: recipe.Recompute{Mode: recipe.RecomputeSelective},
	}
	kept := in.activationsOf(torchTitan{}, &in.Program.Layers[0])
	// Compiled, 29,832: 4q + 2k + 2f + 2h + 4a + 8; this stack counts half of the sums of the
	// softmax, no numbers of rows, and the output of the last product, which eager code keeps.
	if got, want := kept.Sum(), 29_832.0-8-2*32+2*2048; got != want {
		t.Errorf("selective: %v bytes per token, want %v", got, want)
	}
}

// TestNoLedgerIsLoud: what should have been refused does not fit in 0 bytes.
func TestNoLedgerIsLoud(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a ledger of a way that does not exist")
		}
	}()
	pyTorch{}.steps(&Input{
		Model: &model.Model{}, Layout: &layout.Layout{},
		Recompute: recipe.Recompute{Mode: recipe.RecomputeModules},
	})
}
