package memory

import (
	"testing"

	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
)

// TestSelectiveOfTorchTitan: bytes per token that a compiled block keeps with every second product's output,
// which runs on an H100 confirmed to the MiB.
func TestSelectiveOfTorchTitan(t *testing.T) {
	small := model.Model{
		Layers: 1, Hidden: 2048, Heads: 32, KVHeads: 8, HeadDim: 64, FFN: 8192, Vocab: 128,
		MaxSeq: 128, Gated: true, Norm: model.NormRMS, NormsPer: 2, AttnBias: model.BiasNone,
		QKNorm: model.QKNormNone,
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
