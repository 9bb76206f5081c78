package engine_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
	"meshscope/presets"
)

// hybrid returns a model on H100 with a layout of sequences of 4,096.
func hybrid(t *testing.T, id string, given knob.Given) engine.Setup {
	t.Helper()
	c, err := presets.Default().Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	given[knob.Seq] = 4096
	s, err := knob.DraftOf(presetModel(t, id), c, given).Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestMixersByHand: parameters, FLOPs of a token forward and bytes that a token saves of the mixer of each
// kind of layer, written out from the shapes of a published model.
func TestMixersByHand(t *testing.T) {
	// Qwen3-Next: 16 heads of queries and keys and 32 of values, of 128; attention of 16 and 2 heads of 256
	const h = 2048
	const keys, values, heads = 16 * 128, 32 * 128, 32
	const wide = 32 * 128
	const latents = 6144*2048 + 2048 + 2048*64*256 + 6144*(512+64) + 512 + 512*64*(192+256) + 64*256*6144
	const index = 2048*32*128 + 6144*128 + 256 + 6144*32
	const inner, groups = 64 * 64, 8 * 128 // Nemotron 3 Nano: 64 heads of 64, and 8 groups of a state of 128
	const state = 2048*(2*4096+256+64) + (4096+256)*5 + 3*64 + 4096 + 4096*2048
	// of which some is whole on each rank of TP
	whole := []string{"jamba-v0.1", "falcon-h1-0.5b", "glm-5.2", "zamba2-1.2b", "kimi-linear-48b-a3b"}
	for _, c := range []struct {
		model, kind              string
		parameters, flops, saved float64
	}{
		{
			"qwen3-next-80b-a3b", "delta_moe",
			h*(2*keys+2*values+2*heads) + 4*(2*keys+values) + 2*heads + 128 + values*h,
			2*h*(2*keys+2*values+2*heads) + 2*values*h + 2*4*(2*keys+values) + heads*
				(6*128*128+64*(6*128+4*128)),
			4*h + 8*keys + 4*2*keys + 14*values + 150*heads,
		},
		{
			"qwen3-next-80b-a3b", "full_moe",
			h*(2*16*256+2*2*256) + 2*256 + 16*256*h,
			2*h*(2*16*256+2*2*256) + 2*16*256*h,
			// Input of the norm and of the projection, queries and keys before and after their norm, values,
			// output and its sums, gate and gated output.
			4*h + 4*16*256 + 4*2*256 + 2*2*256 + 2*16*256 + 2*16 + 4*16*256,
		},
		{
			"nemotron3-nano-30b-a3b", "mamba2",
			2688*(2*inner+2*groups+64) + (inner+2*groups)*(4+1) + 3*64 + inner + inner*2688,
			2*2688*(2*inner+2*groups+64) + 2*inner*2688 + 2*4*(inner+2*groups) +
				4*inner*128 + 128*(groups+inner) + 2*inner*128/128, // scores of half a chunk
			4*2688 + 10*inner + 4*groups + 2*64 + 4*8,
		},
		// LFM2 8B A1B: three parts of the stream's width, of which gates multiply the input and the output of
		// a convolution
		{
			"lfm2-8b-a1b", "conv_moe", 2048*3*2048 + 2048*3 + 2048*2048, 2*2048*4*2048 + 2*3*2048,
			4*2048 + 6*2048 + 2*2048 + 2*2048 + 2*2048,
		},
		{ // Kimi Linear: 32 heads of 128; decay and gate through a width of 128
			"kimi-linear-48b-a3b", "kimi_moe",
			3*2304*wide + 3*wide*4 + 2*(2304*128+128*wide) + 2304*32 + 32 + wide + 128 + wide*2304,
			2 * (3*2304*wide + 2*(2304*128+128*wide) + 2304*32 + wide*2304 + 4*3*wide + 32*
				(3*128*128+5*64*128)),
			4*2304 + 20*wide + 270*32 + 4*128,
		},
		{ // MiniMax: 64 heads of 128
			"minimax-m1", "lightning_moe", 6144*4*8192 + 8192 + 8192*6144,
			2*6144*5*8192 + 64*(4*128*128+2*256*128),
			4*6144 + 20*8192,
		},
		{ // Jamba: 8192 channels with a state of 16, a step of rank 256
			"jamba-v0.1", "mamba1_dense",
			4096*2*8192 + 8192*5 + 8192*(256+32) + 256 + 32 + 256*8192 + 8192 + 8192*16 + 8192 + 8192*4096,
			2*(4096*2*8192+8192*288+256*8192+8192*4096) + 2*4*8192 + 9*8192*16,
			4*4096 + 4*8192 + 2*8192 + 2*8192 + 2*8192 + 2*8192 + 4*(256+32),
		},
		// Falcon-H1: 8 heads of 64 (2 of keys) beside 24 of Mamba-2, one group of a state of 128, chunks of
		// 128
		{
			"falcon-h1-0.5b", "dense",
			1024*(2*512+2*128) + 1024*(2*1536+2*128+24) + (1536+2*128)*(4+1) + 3*24 + 1536*1024,
			2*(1024*(2*512+2*128)+1024*(2*1536+2*128+24)+1536*1024) + 2*4*(1536+2*128) + 4*1536*128 +
				128*(128+1536) + 2*1536*128/128,
			// without a norm of the output the gated one is saved once, for the projection
			4*1024 + 4*512 + 4*128 + 2*8 + 8*1536 + 4*128 + 2*24 + 4*1,
		},
		{ // Zamba2 1.2B: a shared block of 32 heads of 128 that reads 2h, adapters of rank 128, then Mamba-2
			"zamba2-1.2b", "block", 2*3*4096*128 + 2048*2048 + state,
			2*(4*4096*4096-4096*2048+2*3*4096*128+2048*2048) + 2*(2048*(2*4096+256+64)+4096*2048) +
				2*4*(4096+256) + 4*4096*128 + 256*(128+4096) + 2*4096*128/256,
			18*2048 + 8*4096 + 2*32 + 2*4*128 + 6*8192 + 10*4096 + 4*128 + 2*64 + 4,
		},
		// GLM-5.2: 64 heads of 192 + 64, latents of 2048 and 512; an indexer of 32 heads of 128 chooses 2048
		// tokens
		{
			"glm-5.2", "sparse_moe", latents + index, 2 * (latents - 2048 - 512 + index - 256),
			4*6144 + 4*2048 + 2*512 + 64*(2*192+2*576+2*512+2*256+2) + 2*576 + 4*2048 + 2*128,
		},
		{
			"glm-5.2", "reselected_moe", latents, 2 * (latents - 2048 - 512),
			4*6144 + 4*2048 + 2*512 + 64*(2*192+2*576+2*512+2*256+2) + 2*576 + 4*2048,
		},
	} {
		ep := 1
		if m := presetModel(t, c.model); m.IsMoE() {
			ep = 8
		}
		s := hybrid(t, c.model, knob.Given{knob.GPUs: 8, knob.EP: ep})
		p := model.Lay(&s.Model, nil)
		for i := range p.Layers {
			l := &p.Layers[i]
			if l.ID != c.kind {
				continue
			}
			n := l.Params()
			if got := float64(n.AttnSharded + n.AttnReplicated); got != c.parameters {
				t.Errorf("%s: %v parameters, by hand %v", c.kind, got, c.parameters)
			}
			if got := float64(l.Forward(s.Seq, true).Projections); got != c.flops {
				t.Errorf("%s: %v FLOPs, by hand %v", c.kind, got, c.flops)
			}
		}
		saved := savedByMixer(t, s, c.kind)
		if got := float64(saved / units.Bytes(s.MicroBatchTokens())); !same(got, c.saved) {
			t.Errorf("%s: %v bytes of a token, by hand %v", c.kind, got, c.saved)
		}
		if slices.Contains(whole, c.model) {
			continue
		}
		s = hybrid(t, c.model, knob.Given{knob.GPUs: 8, knob.EP: ep, knob.TP: 2})
		if got := savedByMixer(t, s, c.kind); !same(float64(got), float64(saved)/2) {
			t.Errorf("%s: TP 2 with SP saves %v of %v", c.kind, got, saved)
		}
	}
}

// savedByMixer returns what the mixer of a kind of layer saves, with the norm before it.
func savedByMixer(t *testing.T, s engine.Setup, kind string) (saved units.Bytes) {
	t.Helper()
	var e engine.Evaluator
	kinds, ok := e.Layers(s)
	if !ok {
		t.Fatalf("illegal: %v", engine.Check(s))
	}
	for i, k := range kinds {
		if k.ID != kind {
			continue
		}
		last := ""
		for _, o := range model.Lay(&s.Model, nil).Layers[i].Ops {
			if o.Part == model.PartAttention {
				last = o.ID
			}
		}
		for _, o := range k.Operations {
			if o.ID == "norms" && !s.Model.Flat() { // also the norm of the other half
				o.Activations /= 2
			}
			if saved += o.Activations; o.ID == last {
				return saved
			}
		}
	}
	t.Fatalf("no kind %s", kind)
	return 0
}

// TestLinearAttentionDoesNotGrowWithTheSequence: a token of Gated DeltaNet takes as long whatever the
// sequence is, and the scan as long as its kernels move bytes; softmax attention takes longer.
func TestLinearAttentionDoesNotGrowWithTheSequence(t *testing.T) {
	times := func(seq int) map[string]float64 {
		s := hybrid(t, "qwen3-next-80b-a3b", knob.Given{knob.GPUs: 8, knob.EP: 8})
		s.Seq = seq
		var e engine.Evaluator
		kinds, _ := e.Layers(s)
		out := map[string]float64{}
		for _, k := range kinds {
			for _, o := range k.Operations {
				out[k.ID+" "+o.ID] = float64(o.Forward) / float64(seq)
			}
		}
		return out
	}
	short, long := times(8192), times(65536)
	if scan := "delta_moe scan"; long[scan] <= 0 || long[scan] > short[scan] {
		t.Errorf("a token of the scan takes %v, then %v", short[scan], long[scan])
	}
	if core := "full_moe attention"; long[core] < 4*short[core] {
		t.Errorf("a token of attention takes %v, then %v", short[core], long[core])
	}
	// Bytes of a token that the kernels of a value head of 128 x 128 read and write in chunks of 64.
	s := hybrid(t, "qwen3-next-80b-a3b", knob.Given{knob.GPUs: 8, knob.EP: 8})
	bytes := 32 * 2 * (7*128 + 6*128 + 2*128*128/64 + 6*64)
	const share = 0.2 // of the bandwidth of streams, which scans reach
	bound := float64(bytes) / float64(s.Cluster.GPU.MemoryBandwidth) / share
	if scan := long["delta_moe scan"]; scan < bound || scan > 1.5*bound {
		t.Errorf("a token of the scan takes %v, its bytes %v", scan, bound)
	}
}

// TestLinearAttentionIsCut: TP and CP give each rank whole heads of linear attention; CP sends the
// projection's part and the output's part of what other ranks compute, forward and backward, whatever the
// sequence.
func TestLinearAttentionIsCut(t *testing.T) {
	s := hybrid(t, "qwen3-next-80b-a3b", knob.Given{knob.GPUs: 64, knob.EP: 8, knob.TP: 2, knob.CP: 4})
	r := engine.Evaluate(s)
	if !r.Legal {
		t.Fatal(r.Problems)
	}
	const layers, keys, values = 36, 2048, 4096
	tokens := s.MicroBatchTokens()
	want := 2 * layers * 3. / 4 * tokens * 2 * (2*keys + 2*values + 2*32 + values) / 2 *
		float64(s.MicroBatches)
	// softmax attention: a ring of one head each of keys and values, twice backward
	kv := 12 * 3 * 3 * tokens * 2 * 2 * 256 / 1 * float64(s.MicroBatches)
	at := slices.IndexFunc(r.Communication, func(c engine.Communication) bool { return c.Dimension == "cp" })
	if got := float64(r.Communication[at].Bytes); !same(got, want+kv) {
		t.Errorf("cp sends %v, by hand %v + %v", got, want, kv)
	}
	for what, change := range map[string]func(*engine.Setup){
		"tp-linear-heads: tp 32 does not divide the 16 heads of linear attention": func(s *engine.Setup) {
			s.TP, s.CP, s.Model.Heads, s.Model.KVHeads = 32, 1, 32, 32
		},
		"cp-linear-heads: tp x cp = 2 x 16": func(s *engine.Setup) { s.CP = 16 },
	} {
		bad := s
		change(&bad)
		code, words, _ := strings.Cut(what, ": ")
		words = strings.Replace(words, "2 x 16", "32 does not divide the 16 heads", 1)
		found := false
		for _, p := range engine.Check(bad) {
			found = found || p.Severity == layout.Error && p.Code == code && strings.Contains(p.Message,
				strings.TrimPrefix(words, "tp x cp = "))
		}
		if !found {
			t.Errorf("%s: %v", what, engine.Check(bad))
		}
	}
}

// TestUnmeasuredLayersWidenTheBand: no published run has layers of linear attention; of each kind it is said
// whose code gives what it saves, and where nobody's does, that it is inferred.
func TestUnmeasuredLayersWidenTheBand(t *testing.T) {
	for id, want := range map[string]string{
		"qwen3-next-80b-a3b":     "Gated DeltaNet save what Megatron-LM's code saves",
		"nemotron3-nano-30b-a3b": "Mamba 2 save what Megatron-LM's code saves",
		"falcon-h1-0.5b":         "attention and Mamba 2 save what Megatron-LM's code saves, each",
		"zamba2-1.2b":            "saves of Mamba-2, and of the block what their operations read, which",
		"kimi-linear-48b-a3b":    "Kimi Delta save what the layer of flash-linear-attention",
		"minimax-m1":             "lightning save what their operations read, which is inferred",
		"jamba-v0.1":             "Mamba 1 save what their operations read, which is inferred",
		"lfm2-8b-a1b":            "short convolution save what their operations read, which is",
	} {
		s := hybrid(t, id, knob.Given{knob.GPUs: 8})
		r := engine.Evaluate(s)
		said := strings.Join(r.Assumptions, "\n")
		if !strings.Contains(said, want) || strings.Contains(said, "Megatron-LM's code") !=
			strings.Contains(want, "saves") {
			t.Errorf("%s: no %q, or the wrong code, in %q", id, want, said)
		}
		plain := s
		m := &plain.Model
		m.Pattern, m.NormsPer, m.LinearKeyHeads, m.LinearKeyDim, m.LinearValueHeads = "", 2, 0, 0, 0
		m.LinearValueDim, m.ConvWidth, m.LinearChunk, m.LinearRank, m.SharedBlocks = 0, 0, 0, 0, 0
		m.AdapterRank, m.AttnAdapter, m.LinearBare, m.LinearFullGate = 0, false, false, false
		q := engine.Evaluate(plain)
		if !r.Legal || !q.Legal {
			t.Fatalf("%s: %v, without its kinds %v", id, r.Problems, q.Problems)
		}
		if r.Time.ErrorBand <= q.Time.ErrorBand || r.Memory.ErrorBand <= q.Memory.ErrorBand {
			t.Errorf("%s: bands of %v and %v, without its kinds %v and %v", id, r.Time.ErrorBand,
				r.Memory.ErrorBand, q.Time.ErrorBand, q.Memory.ErrorBand)
		}
	}
}

// TestInferredKindsWidenTheBand: what a kind saves or takes is read from code that trains it, or it is said
// to be inferred and both bands are those of a setup that no published run is like.
func TestInferredKindsWidenTheBand(t *testing.T) {
	wider := 0
	for id, inferred := range map[string]bool{
		"llama3.1-8b": false, "gpt-oss-20b": false, "gemma3-4b": false, "qwen3-next-80b-a3b": false,
		"nemotron3-nano-30b-a3b": false, "falcon-h1-0.5b": false,
		"kimi-linear-48b-a3b": true, "minimax-m1": true, "jamba-v0.1": true, "lfm2-8b-a1b": true,
		"zamba2-1.2b": true, "deepseek-v3.2": true, "glm-5.2": true, "deepseek-v4-flash": true,
	} {
		s := hybrid(t, id, knob.Given{knob.GPUs: 32})
		r := engine.Evaluate(s)
		for memory, got := range map[bool]engine.Evidence{false: r.Time.Evidence, true: r.Memory.Evidence} {
			x, table := engine.Traits(&s, &r, memory), &s.Cluster.Published.Time
			if memory {
				table = &s.Cluster.Published.Memory
			}
			said := strings.Contains(got.Differs.Words(), ", inferred")
			if x.Inferred != inferred || said != inferred {
				t.Errorf("%s: inferred is %v, %q", id, x.Inferred, got.Differs.Words())
			}
			x.Inferred = false
			read := table.Of(&x)
			if got.ErrorBand < read.Error || !inferred && got.ErrorBand != read.Error {
				t.Errorf("%s: %v, where nothing is inferred %v", id, got.ErrorBand, read.Error)
			}
			if got.ErrorBand > 1.02*read.Error {
				wider++
			}
		}
		if text := strings.Join(r.Assumptions, "\n"); inferred && !strings.Contains(text, "inferred") {
			t.Errorf("%s: does not say what is inferred: %s", id, text)
		}
	}
	if wider < 6 {
		t.Errorf("%d bands are wider", wider)
	}
	kimi := hybrid(t, "kimi-linear-48b-a3b", knob.Given{knob.GPUs: 8}).Model
	gemma := model.Model{AltUpStreams: 4, Layers: 1}
	if kimi.Layers = 0; kimi.Inferred() || !gemma.Inferred() {
		t.Error("no layer is of an inferred kind, or streams are read")
	}
}

// TestNarrowProjectionsOfScans: products in 8 and 4 bits need widths of 16, of MXFP8 32; what the rule counts
// is what the layer's product has.
func TestNarrowProjectionsOfScans(t *testing.T) {
	for _, c := range []struct {
		id, cluster string
		tp, width   int
		precision   recipe.Precision
		warned      bool
	}{
		{"qwen3-next-80b-a3b", "dgx-h100", 4, 12352, recipe.FP8, false}, // 3,088 = 193 x 16
		{"qwen3-next-80b-a3b", "dgx-h100", 8, 12352, recipe.FP8, true},  // 1,544 = 96.5 x 16
		{"qwen3-next-80b-a3b", "dgx-h100", 8, 12352, recipe.BF16, false},
		{"nemotron3-nano-30b-a3b", "dgx-b200", 2, 10304, recipe.FP8, false}, // 5,152 = 161 x 32
		{"nemotron3-nano-30b-a3b", "dgx-b200", 4, 10304, recipe.FP8, true},  // 2,576 = 80.5 x 32
		{"nemotron3-nano-30b-a3b", "dgx-b200", 4, 10304, recipe.NVFP4, false},
	} {
		s := hybrid(t, c.id, knob.Given{knob.GPUs: 8, knob.EP: 8 / c.tp, knob.TP: c.tp})
		cluster, err := presets.Default().Cluster(c.cluster)
		if err != nil {
			t.Fatal(err)
		}
		s.Cluster, s.Precision = cluster, c.precision
		if got := hasProblem(engine.Check(s), "narrow-scan"); got != c.warned {
			t.Errorf("%s, tp %d, %s: warned %t: %v", c.id, c.tp, c.precision, got, engine.Check(s))
		}
		p := model.Lay(&s.Model, nil)
		for i := range p.Layers {
			for _, o := range p.Layers[i].Ops {
				if w := p.Layers[i].Tensor(o.Out[0]).Width.V; o.ID == "linear-in" && w != float64(c.width) {
					t.Errorf("%s: a projection of %v, counted %d", c.id, w, c.width)
				}
			}
		}
		if said := strings.Join(engine.Evaluate(s).Assumptions, "\n"); c.precision.Narrow() !=
			strings.Contains(said, "have their projections alone in fewer") {
			t.Errorf("%s: %s", c.id, said)
		}
	}
}

// TestFormulasOfHybrids: each recorded formula of every kind of layer gives its figure, under TP, CP and
// recomputation.
func TestFormulasOfHybrids(t *testing.T) {
	seen := ""
	for _, id := range []string{ // some with a pattern that their presets have not
		"qwen3-next-80b-a3b", "qwen3.5-27b", "nemotron3-nano-30b-a3b",
		"nemotron-nano-9b-v2", "granite-4.0-h-tiny", "lfm2-8b-a1b", "kimi-linear-48b-a3b", "minimax-m1",
		"jamba-v0.1", "falcon-h1-0.5b", "glm-5.2", "zamba2-1.2b", "deepseek-v4-flash",
		"gemma3-4b WW*",
	} {
		id, pattern, _ := strings.Cut(id, " ")
		for _, recompute := range []recipe.RecomputeMode{
			recipe.RecomputeNone, recipe.RecomputeSelective,
			recipe.RecomputeFull,
		} {
			given := knob.Given{knob.GPUs: 16, knob.TP: 2, knob.CP: 2, knob.PP: 2}
			ungrouped := strings.Contains(id, "jamba") || strings.Contains(id, "falcon") ||
				strings.Contains(id, "zamba")
			if ungrouped || strings.Contains(id, "granite") {
				given[knob.TP] = 1
			}
			if ungrouped {
				given[knob.CP] = 1
			}
			s := hybrid(t, id, given)
			s.Recompute.Mode, s.TrainMTP = recompute, s.Model.MTPLayers > 0
			s.Model.Pattern = cmp.Or(pattern, s.Model.Pattern)
			seen += s.Model.Pattern
			if !engine.Legal(s) {
				t.Fatalf("%s: %v", id, engine.Check(s))
			}
			holds(t, s)
		}
	}
	for _, letter := range model.Letters() {
		if !strings.ContainsRune(seen, letter) {
			t.Errorf("no model here has layers of %c: name one, or one with a pattern that has them", letter)
		}
	}
}

// TestFormulasOfSizes: with each size of a model that no preset has, each recorded formula gives its figure.
func TestFormulasOfSizes(t *testing.T) {
	for name, c := range map[string]struct {
		id  string
		set func(*model.Model)
	}{
		"windowed widths": {"gpt-oss-20b", func(m *model.Model) {
			m.LocalHeads, m.LocalKVHeads, m.LocalHeadDim, m.LocalVHeadDim = 32, 4, 128, 64
		}},
		"values are keys": {"gemma3-27b", func(m *model.Model) { m.ValuesAreKeys = true }},
		"latent queries":  {"llama3.1-8b", func(m *model.Model) { m.QLoraRank, m.VHeadDim = 512, 64 }},
		"norm by head":    {"qwen3-8b", func(m *model.Model) { m.QKNorm = model.QKNormOwn }},
		"latent experts":  {"mixtral-8x7b", func(m *model.Model) { m.ExpertLatent = 1024 }},
		"zero experts":    {"mixtral-8x7b", func(m *model.Model) { m.ZeroExperts = 4 }},
		"normed latent": {"mixtral-8x7b", func(m *model.Model) {
			m.ExpertLatent, m.LatentNorm = 1024, true
		}},
		"widths of MLPs": {"llama3.1-8b", func(m *model.Model) {
			m.FFNWidths, m.FFN = "14336,8192,8192", 14336
		}},
		"MLPs alone": {"llama3.1-8b", func(m *model.Model) {
			m.FFNWidths, m.FFN, m.Pattern, m.NormsPer = "14336,8192", 14336, "*--*-", 1
		}},
		"streams": {"gemma3-4b", func(m *model.Model) {
			m.AltUpStreams, m.LaurelRank, m.LayerInput, m.LayerVocab, m.ReusedKV = 4, 64, 256, 1000, 10
		}},
		"hyper-connections": {"llama3.1-8b", func(m *model.Model) { m.HyperStreams = 4 }},
		"snapshots":         {"llama3.1-8b", func(m *model.Model) { m.ResidualBlock = 12 }},
		"window's sinks":    {"gemma3-27b", func(m *model.Model) { m.LocalSinks = true }},
		"blocks of tokens": {"qwen3-8b", func(m *model.Model) {
			m.Pattern, m.IndexHeads, m.IndexDim, m.IndexTopK = "*DDD", 4, 128, 2048
		}},
		"gated latent attention": {"kimi-linear-48b-a3b", func(m *model.Model) {
			m.AttnGate, m.LinearFullGate = model.GateChannel, true
		}},
		"pattern of MoE": {"mixtral-8x7b", func(m *model.Model) {
			m.FFN, m.MoEPattern = 8192, strings.Repeat("-E", m.Layers/2)
		}},
		"scales": {
			"mixtral-8x7b",
			func(m *model.Model) { m.RouterScale, m.LayerScalar = true, true },
		},
		"ends with a bias": {
			"llama3.1-8b",
			func(m *model.Model) { m.EmbeddingNorm, m.HeadBias = true, true },
		},
		"norm of values":    {"gemma4-26b-a4b", func(*model.Model) {}},
		"rows of positions": {"gpt2-124m", func(m *model.Model) { m.MaxSeq, m.PositionRows = 4096, 4098 }},
	} {
		s := hybrid(t, c.id, knob.Given{knob.GPUs: 4, knob.TP: 2, knob.PP: 2})
		if c.set(&s.Model); !engine.Legal(s) {
			t.Fatalf("%s: %v", name, engine.Check(s))
		}
		holds(t, s)
	}
}
