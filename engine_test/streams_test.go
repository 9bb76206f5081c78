package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// TestStreamsSaveByHand: what AltUp's streams, the paths of Gemma 3n and the snapshots of Kimi K3 save of a
// token beyond a plain layer, and what a fully recomputed layer keeps, written out from what is read.
func TestStreamsSaveByHand(t *testing.T) {
	const h, streams, rank, inputs, block = 4096, 4, 64, 128, 8
	plain := hybrid(t, "llama3.1-8b", knob.Given{knob.GPUs: 8})
	plain.ZeRO, plain.Recompute.Mode = 1, recipe.RecomputeNone
	whole := func(s engine.Setup) (sum float64) {
		for _, n := range savedOf(t, s, "dense") {
			sum += n
		}
		return sum
	}
	before := whole(plain)
	for name, c := range map[string]struct {
		set  func(s *engine.Setup)
		want float64
		ids  []string
	}{
		// all streams, what is predicted of them, and the one that was computed
		"streams": {
			func(s *engine.Setup) { s.Model.AltUpStreams = streams },
			2*streams*h + 2*streams*h + 2*h,
			[]string{"predict", "correct"},
		},
		// the stream, what it is made narrow, what it is made wide again, before its norm
		"path": {
			func(s *engine.Setup) { s.Model.LaurelRank = rank },
			2*h + 2*rank + 2*h,
			[]string{"laurel-down", "laurel-up", "laurel-norm"},
		},
		// the same with both factors of a product between
		"inputs": {
			func(s *engine.Setup) { s.Model.LayerInput, s.Model.LayerVocab = inputs, 1000 },
			2*h + 2*2*inputs + 2*inputs + 2*h,
			[]string{
				"layer-input-down", "layer-input-own", "layer-input", "layer-input-up", "layer-input-norm",
			},
		},
		// one stream for each block of layers
		"snapshots": {func(s *engine.Setup) { s.Model.ResidualBlock = block }, 2. * h / block, nil},
	} {
		s := plain
		if c.set(&s); !same(whole(s)-before, c.want) {
			t.Errorf("%s: %v bytes more, by hand %v", name, whole(s)-before, c.want)
		}
		if got := sumOf(savedOf(t, s, "dense"), c.ids...); c.ids != nil && !same(got, c.want) {
			t.Errorf("%s: its operations save %v bytes, by hand %v", name, got, c.want)
		}
	}

	full := plain
	full.Recompute.Mode = recipe.RecomputeFull
	wide := full
	wide.Model.AltUpStreams = streams
	tokens := plain.MicroBatchTokens()
	if got, want := kept(t, wide)-kept(t, full), 32*2*(streams-1)*h*tokens; !same(got, want) {
		t.Errorf("fully recomputed layers keep %v bytes more of several streams, by hand %v", got, want)
	}
}

// kept returns what rank 0 keeps of a micro-batch for its backward.
func kept(t *testing.T, s engine.Setup) float64 {
	t.Helper()
	r := engine.Evaluate(s)
	if !r.Legal {
		t.Fatalf("illegal: %v", r.Problems)
	}
	return float64(r.Memory.Ranks[0].Activations)
}
