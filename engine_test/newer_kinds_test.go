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

	s = hybrid(t, "nemotron3-nano-30b-a3b", knob.Given{knob.GPUs: 8, knob.EP: 8})
	turned, full := s, layerOf(t, &s.Model, "full")
	turned.Model.Position = "rope"
	ops := layerOf(t, &turned.Model, "full").Ops
	if len(ops) != len(full.Ops)+1 || savedByMixer(t, s, "full") != savedByMixer(t, turned, "full") {
		t.Errorf("attention without positions has %d operations, with them %d", len(full.Ops), len(ops))
	}

	// a norm of values keeps what it reads; where keys are values the norm of keys keeps the same
	s = hybrid(t, "gemma4-26b-a4b", knob.Given{knob.GPUs: 8, knob.EP: 8})
	bare := s
	bare.Model.ValueNorm = false
	for kind, want := range map[string]float64{"sliding_moe": 2 * 8 * 256, "full_moe": 0} {
		more := float64(savedByMixer(t, s, kind)-savedByMixer(t, bare, kind)) / s.MicroBatchTokens()
		if a, b := layerOf(t, &s.Model, kind), layerOf(t, &bare.Model, kind); !same(more, want) ||
			*a.Params() != *b.Params() || a.Forward(seq, true) != b.Forward(seq, true) {
			t.Errorf("%s: a norm of values saves %v bytes, by hand %v", kind, more, want)
		}
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

// TestOptionsByHand: what an option adds to a layer of Qwen3 8B or Mixtral in parameters, FLOPs of a token
// and bytes that it saves, written out from the shapes.
func TestOptionsByHand(t *testing.T) {
	const h, q, kv, heads = 4096, 32 * 128, 8 * 128, 32
	const latent, expert, topK = 1024, 14336, 2
	for name, c := range map[string]struct {
		id, kind                 string
		set                      func(m *model.Model)
		parameters, flops, saved float64
	}{
		"gate of each head": { // the gate and the gated output
			"qwen3-8b", "dense", func(m *model.Model) { m.AttnGate = model.GateHead },
			h * heads, 2 * h * heads, 2*q + 2*heads,
		},
		"gate of each channel": {
			"qwen3-8b", "dense", func(m *model.Model) { m.AttnGate = model.GateChannel },
			h * q, 2 * h * q, 4 * q,
		},
		"sinks":        {"qwen3-8b", "dense", func(m *model.Model) { m.AttnSinks = true }, heads, 0, 0},
		"no positions": {"qwen3-8b", "dense", func(m *model.Model) { m.Position = "none" }, 0, 0, 0},
		"window": { // whose savings are those of the kernel, not of the counted FLOPs
			"qwen3-8b", "dense", func(m *model.Model) { m.Pattern, m.LocalWindow = "W", 1024 }, 0, 0, 0,
		},
		"keys are values": { // values are another tensor, behind their norm
			"qwen3-8b", "dense", func(m *model.Model) { m.ValuesAreKeys = true }, -h * kv, -2 * h * kv, 0,
		},
		"keys of an earlier layer": { // keys before and behind their norm, and values
			"qwen3-8b", "full_reused_dense", func(m *model.Model) { m.ReusedKV = 35 },
			0, -2 * 2 * h * kv, -6 * kv,
		},
		"MFA": { // one key head, a latent of 2,048: its norm's input and output; three tensors lose 7 heads
			"qwen3-8b", "dense", func(m *model.Model) { m.QLoraRank, m.KVHeads = 2048, 1 },
			h*2048 + 2048 + 2048*q - h*q - 2*h*(kv-128), 2 * (h*2048 + 2048*q - h*q - 2*h*(kv-128)),
			4*2048 - 6*(kv-128),
		},
		"latent experts": { // the latent as it is sent and as it comes back, narrower inputs of the experts
			"mixtral-8x7b", "moe", func(m *model.Model) { m.ExpertLatent = latent },
			2*h*latent - 8*3*(h-latent)*expert, 2*2*h*latent - topK*2*3*(h-latent)*expert,
			4*latent - topK*2*(h-latent),
		},
		"zero experts": { // of 12 that the router knows 4 do nothing: a third of the choices
			"mixtral-8x7b", "moe", func(m *model.Model) { m.ZeroExperts = 4 },
			4 * h, 2*4*h - topK*2*3*h*expert/3., 8*4 - topK*(2*h+6*expert)/3.,
		},
	} {
		ep := map[string]int{"moe": 8}[c.kind]
		s := hybrid(t, c.id, knob.Given{knob.GPUs: 8, knob.EP: max(ep, 1)})
		first := "dense"
		if ep > 0 {
			first = "moe"
		}
		of := func(kind string) (parameters, flops, saved float64) {
			l := layerOf(t, &s.Model, kind)
			for _, bytes := range savedOf(t, s, kind) {
				saved += bytes
			}
			return float64(l.Params().Total()), float64(l.Forward(s.Seq, true).Total()), saved
		}
		p, f, b := of(first)
		c.set(&s.Model)
		p2, f2, b2 := of(c.kind)
		if !same(p2-p, c.parameters) || !same(f2-f, c.flops) || !same(b2-b, c.saved) {
			t.Errorf("%s: %v parameters, %v FLOPs and %v bytes more, by hand %v, %v and %v", name, p2-p, f2-f,
				b2-b, c.parameters, c.flops, c.saved)
		}
	}
}

// TestChecksOfFamilies: the figures that the reference of families gives as checks.
func TestChecksOfFamilies(t *testing.T) {
	near := func(what string, got, want, within float64) {
		t.Helper()
		if math.Abs(got/want-1) > within {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	s := hybrid(t, "deepseek-v3.2", knob.Given{knob.GPUs: 8, knob.EP: 8})
	sparse := layerOf(t, &s.Model, "moe")
	// index scores of 64 heads of 128, without their one weight each, and attention in the latent to 2,048
	near("scores of V3.2", float64(sparse.Forward(4096, true).Scores), 33.8e6+427.9e6, 0.002)
	index := 1536*64*128 + 7168*128 + 2*128 + 7168*64.
	near("an indexer", index, 13.96e6, 0.001)
	whole := float64(sparse.Params().Total())
	saved := float64(savedByMixer(t, s, "moe")) / s.MicroBatchTokens()
	m := &s.Model
	m.Pattern, m.IndexHeads, m.IndexDim, m.IndexTopK = "", 0, 0, 0
	near("without its indexer", whole-float64(layerOf(t, m, "moe").Params().Total()), index, 1e-9)
	near("scores of dense MLA", float64(layerOf(t, m, "moe").Forward(4096, true).Scores), 167.8e6, 0.002)
	near("bytes of DSA", saved, 391e3, 0.01)

	s = hybrid(t, "nemotron-nano-9b-v2", knob.Given{knob.GPUs: 8})
	m = &s.Model // with the widths of Nemotron-H 8B
	m.Hidden, m.LinearKeyHeads, m.LinearKeyDim, m.LinearValueHeads, m.LinearValueDim = 4096, 8, 128, 128, 64
	near("bytes of Mamba-2", float64(savedByMixer(t, s, "mamba2"))/s.MicroBatchTokens(), 102.7e3, 0.001)
	f := layerOf(t, m, "mamba2").Forward(4096, true).Projections
	scan := float64(f) - 2*(4096*(2*8192+2*8*128+128)+8192*4096) - 2*4*(8192+2*8*128)
	if scan < 5.35e6 || scan > 6.6e6 {
		t.Errorf("a scan of Nemotron-H 8B has %v FLOPs, want 5.4 to 6.6 million", scan)
	}

	s = hybrid(t, "qwen3-next-80b-a3b", knob.Given{knob.GPUs: 8, knob.EP: 8})
	near("bytes of DeltaNet", float64(savedByMixer(t, s, "delta_moe"))/s.MicroBatchTokens(), 103e3, 0.01)
	near("bytes of its attention", float64(savedByMixer(t, s, "full_moe"))/s.MicroBatchTokens(), 52e3, 0.01)
	if n := layerOf(t, &s.Model, "delta_moe").Scanned().Scan; 4*n.State.V != 2<<20 ||
		math.Abs(n.FLOPs[0].V-32*180_224) > 0 {
		t.Errorf("the state of Qwen3-Next has %v numbers, its recurrence %v FLOPs", n.State.V, n.FLOPs[0].V)
	}
}
