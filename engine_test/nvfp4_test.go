package engine_test

import (
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// NVFP4 keeps 3.125 bytes of a layer's weight, 2 of one of embedding and head, and 0.5625 of a product's
// input, runs the products of layers alone in 4 bits, is explained, and is refused where the GPU has no such
// format.
func TestNVFP4(t *testing.T) {
	at := func(gpu string, p recipe.Precision) engine.Setup {
		g, err := presets.Default().GPU(gpu)
		if err != nil {
			t.Fatal(err)
		}
		d := knob.DraftOf(presetModel(t, "llama3-8b"), presets.Default().NodeOf(g),
			knob.Given{knob.GPUs: 8, knob.TP: 1, knob.MicroBatches: 4, knob.Seq: 8192, knob.Precision: p})
		s, err := d.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	four, eight := at("gb300", recipe.NVFP4), at("gb300", recipe.FP8)
	agrees(t, four)
	moe := four
	moe.Model = presetModel(t, "qwen3-30b-a3b")
	agrees(t, moe)
	agrees(t, eight)
	r, r8 := engine.Evaluate(four), engine.Evaluate(eight)
	rank, rank8 := r.Memory.Ranks[0], r8.Memory.Ranks[0]
	near(t, "bytes of weights", float64(rank.Weights), 3.125*rank.Parameters-1.125*rank.EmbeddingParameters,
		1e-12)
	near(t, "bytes per kept input", recipe.NVFP4.InputBytes(), 0.5+1.0/16, 0)
	if rank.Activations >= rank8.Activations || r.Time.Step >= r8.Time.Step ||
		r.Throughput.MFU >= r8.Throughput.MFU {
		t.Errorf("activations %v of %v, step %v of %v, MFU %v of %v of the larger peak",
			rank.Activations, rank8.Activations, r.Time.Step, r8.Time.Step, r.Throughput.MFU,
			r8.Throughput.MFU)
	}
	for gpu, words := range map[string]string{
		"h100-sxm": "no published nvfp4 rate",
		"mi355x":   "format of NVIDIA's",
	} {
		r := engine.Evaluate(at(gpu, recipe.NVFP4))
		if r.Legal || !strings.Contains(r.Problems[0].Message, words) {
			t.Errorf("%s: %+v", gpu, r.Problems)
		}
	}
}
