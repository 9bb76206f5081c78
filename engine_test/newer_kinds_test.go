package engine_test

import (
	"math"
	"testing"

	"meshscope/engine/knob"
	"meshscope/engine/model"
)

// TestNewerKindsByHand: parameters of a layer, FLOPs of a token, bytes that it saves in a mixer, and what
// goes from stage to stage, of sizes that no preset has, written out from the shapes.
func TestNewerKindsByHand(t *testing.T) {
	const h, q, kv, seq = 4096, 32 * 128, 8 * 128, 4096 // Qwen3 8B
	s := hybrid(t, "qwen3-8b", knob.Given{knob.GPUs: 1})
	m := &s.Model
	m.Pattern, m.IndexHeads, m.IndexDim, m.IndexTopK = "*DDD", 4, 128, 2048
	l := layerOf(t, m, "sparse_dense")
	const index = h*4*128 + h*128
	if n := l.Params(); n.AttnSharded+n.AttnReplicated != 2*h*q+2*h*kv+2*128+index+2*128 {
		t.Errorf("blocks of tokens: %+v", n)
	}
	// scores over all tokens choose, those of 2,048 count: the causal mean of a token
	chosen := 2048 - 2048.*2048/(2*seq)
	if f := l.Forward(seq, true); float64(f.Projections) != 2*(2*h*q+2*h*kv+index) ||
		!same(float64(f.Scores), 4*q*chosen+2*4*128*seq/2) {
		t.Errorf("blocks of tokens: %+v", f)
	}
	p := model.Lay(m, nil)
	extra := 3*float64(p.ForwardFLOPs(seq, true).Total()) - float64(p.TrainingFLOPs(seq, true, false))
	if want := 27 * 2. * (2*index + 2*4*128*seq/2); !same(extra, want) { // choosing has no backward
		t.Errorf("training of the choice: %v less, by hand %v", extra, want)
	}
	got := float64(savedByMixer(t, s, "sparse_dense")-savedByMixer(t, s, "full_dense")) / s.MicroBatchTokens()
	if want := 2.*(4*128+128) + 4*4*2048/128; !same(got, want) {
		t.Errorf("blocks of tokens save %v bytes more, by hand %v", got, want)
	}

	s = hybrid(t, "kimi-linear-48b-a3b", knob.Given{knob.GPUs: 8, knob.EP: 8})
	m = &s.Model
	before := layerOf(t, m, "full_moe").Params().Total()
	linear := layerOf(t, m, "kimi_moe").Params().Total()
	m.AttnGate, m.LinearFullGate, m.ResidualBlock = model.GateChannel, true, 9
	m.ExpertLatent, m.LatentNorm = 1024, true
	const latent = 256*3*(2304-1024)*1024 - 2*2304*1024 - 1024
	for kind, want := range map[string]int64{
		"full_moe": before + 2304*32*128 + 4*2304 - latent,
		"kimi_moe": linear + 2304*4096 - 2304*128 - 128*4096 + 4*2304 - latent,
	} {
		if got := layerOf(t, m, kind).Params().Total(); got != want {
			t.Errorf("%s: %d parameters, by hand %d", kind, got, want)
		}
	}
	if n := model.Lay(m, nil).Streams(); n != 1+27/9/2. {
		t.Errorf("%v hidden states go from stage to stage", n)
	}

	m.AttnGate, m.LinearFullGate, m.ResidualBlock, m.ExpertLatent, m.LatentNorm = "", false, 0, 0, false
	s = hybrid(t, "llama3.1-8b", knob.Given{knob.GPUs: 2, knob.PP: 2})
	m = &s.Model
	// the last 16 take keys and values of an earlier one: no product of them; streams and inputs are sent
	m.ReusedKV, m.AltUpStreams, m.LayerInput, m.LayerVocab = 16, 4, 128, 1000
	used, reused := layerOf(t, m, "full_dense"), layerOf(t, m, "full_reused_dense")
	if used.Params().Total() != reused.Params().Total() {
		t.Errorf("unused projections: %d parameters of %d", reused.Params().Total(), used.Params().Total())
	}
	less := used.Forward(seq, true).Projections - reused.Forward(seq, true).Projections
	if less != 2*2*4096*1024 {
		t.Errorf("keys of an earlier layer: %v FLOPs less", less)
	}
	if n := model.Lay(m, nil).Streams(); n != 4+32*128/4096. {
		t.Errorf("%v hidden states go from stage to stage", n)
	}
	m.ReusedKV, m.AltUpStreams, m.LayerInput, m.LayerVocab = 0, 0, 0, 0
	m.FFNWidths = "14336,4096" // by turns
	total := float64(m.Total())
	m.FFNWidths = ""
	if want := float64(m.Total()) - 16*3*4096*(14336-4096); math.Abs(total-want) > 0 {
		t.Errorf("MLPs of two widths: %v parameters, by hand %v", total, want)
	}
}

func layerOf(t *testing.T, m *model.Model, kind string) *model.Layer {
	t.Helper()
	if err := m.Check().Err(); err != nil {
		t.Fatal(err)
	}
	p := model.Lay(m, nil)
	for i := range p.Layers {
		if p.Layers[i].ID == kind {
			return &p.Layers[i]
		}
	}
	t.Fatalf("no kind %s", kind)
	return nil
}
