package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
)

// savedOf returns the bytes of a token that each operation of a kind of layer saves.
func savedOf(t *testing.T, s engine.Setup, kind string) map[string]float64 {
	t.Helper()
	var e engine.Evaluator
	kinds, ok := e.Layers(s)
	if !ok {
		t.Fatalf("illegal: %v", engine.Check(s))
	}
	saved := map[string]float64{}
	for _, k := range kinds {
		for _, o := range k.Operations {
			if k.ID == kind {
				saved[o.ID] += float64(o.Activations) / s.MicroBatchTokens()
			}
		}
	}
	if len(saved) == 0 {
		t.Fatalf("no kind %s", kind)
	}
	return saved
}

// sumOf adds up some operations.
func sumOf(saved map[string]float64, ids ...string) (sum float64) {
	for _, id := range ids {
		sum += saved[id]
	}
	return sum
}

// TestSharedKeyByHand: parameters, FLOPs, saved bytes and traffic of DeepSeek-V4-Flash's kinds of layers,
// written out from the shapes of its modules.
func TestSharedKeyByHand(t *testing.T) {
	const h, a, d, rq, ro, groups, streams, seq = 4096, 64, 512, 1024, 1024, 8, 4, 4096
	const heads, index, indexDim, topK = a * d, 64, 128, 512
	s := hybrid(t, "deepseek-v4-flash", knob.Given{knob.GPUs: 64, knob.EP: 64})
	m := &s.Model
	const plain = h*rq + rq + rq*heads + h*d + d + heads*ro + groups*ro*h + a
	const hyper = 2 * ((2+streams)*streams*streams*h + (2+streams)*streams + 3)
	near := 2*h*2*d + 4*2*d + d + 2*h*2*indexDim + 4*2*indexDim + indexDim + rq*index*indexDim + h*index
	far := 2*h*d + 128*d + d
	experts := 257*3*h*2048 + 256*h
	for kind, want := range map[string]int{
		"sliding_hash": plain + experts, "near_hash": plain + near + experts,
		"near_moe": plain + near + experts + 256, "far_moe": plain + far + experts + 256,
		"sliding_moe": plain + experts + 256, // of the prediction module alone
	} {
		if got := layerOf(t, m, kind).Params().Total(); got != int64(want+hyper+2*h) {
			t.Errorf("%s: %d parameters, by hand %d", kind, got, want+hyper+2*h)
		}
	}
	const mixer = streams*streams*h + streams + 1
	if n := m.FinalNorm(); n != h+mixer {
		t.Errorf("behind the last layer: %d parameters", n)
	}
	if n := m.MTP(); n != int64(plain+experts+256+hyper+2*h)+2*h*h+3*h+mixer {
		t.Errorf("a prediction module: %d parameters", n)
	}

	// Attended keys of a token, causal means: a window of 128, of 1,024 keys of 4 tokens the 512 chosen, of
	// all keys of 128 tokens half.
	window := 128 - 128*128/(2.*seq)
	products := 2. * (h*rq + rq*heads + h*d + heads*ro + groups*ro*h)
	for kind, want := range map[string][2]float64{
		"sliding_moe": {products, 4 * heads * window},
		"far_moe":     {products + 2*2*h*d, 4 * heads * (window + seq/256.)},
		"near_moe": {
			products + 2*(2*h*2*d+2*h*2*indexDim+rq*index*indexDim+h*index),
			4*heads*(window+512-512*512/(2.*seq/4)) + 2*index*indexDim*seq/8,
		},
	} {
		f := layerOf(t, m, kind).Forward(seq, true)
		if !same(float64(f.Projections), want[0]) || !same(float64(f.Scores), want[1]) {
			t.Errorf("%s: %v and %v FLOPs, by hand %v", kind, f.Projections, f.Scores, want)
		}
	}
	if f := layerOf(t, m, "far_moe").Forward(64, true); !same(float64(f.Scores), 4*heads*(32+64/256.)) {
		t.Errorf("a sequence below the window: %v FLOPs", f.Scores)
	}

	for kind, more := range map[string]float64{
		"sliding_hash": 0,
		"far_moe":      2*2*d + 2*d/128., // keys and weights before they are summed, and the compressed key
		"near_moe":     2*2*2*d + 2*2*2*indexDim + 2*d/4. + 4*topK,
	} {
		saved := savedOf(t, s, kind)
		got := sumOf(saved, "query-down", "query-norm", "query-up", "qk-norm", "key", "attention", "rotary",
			"rotary-back", "output-down", "output", "compress", "compress-mean", "index-query",
			"index-weight",
			"index-compress", "index-compress-mean", "chosen")
		// Read: the normed stream, the latent before and behind its norm, queries and key before their norm
		// and as attention reads them, its output and sums, the output turned back, the groups.
		want := 2.*h + 4*rq + 4*(heads+d) + 2*heads + 2*a + 2*heads + 2*groups*ro + more
		if !same(got, want) {
			t.Errorf("%s: attention saves %v bytes a token, by hand %v: %v", kind, got, want, saved)
		}
		// At both sub-layers: all streams, 24 coefficients in fp32, the sub-layer's result; its input stream.
		got = sumOf(saved, "hyper-mix", "hyper-read", "hyper-write", "norms")
		if want := 2 * (2.*streams*h + 4*24 + 2*h + 2*h); !same(got, want) {
			t.Errorf("%s: streams save %v bytes a token, by hand %v: %v", kind, got, want, saved)
		}
	}
	for code, set := range map[string]func(l *engine.Setup){
		"tp-output-groups":   func(l *engine.Setup) { l.TP, l.DP = 16, 4 },
		"cp-compressed-keys": func(l *engine.Setup) { l.CP, l.DP = 64, 1 },
	} {
		other := s
		if set(&other); !hasProblem(engine.Check(other), code) {
			t.Errorf("not refused as %s: %v", code, engine.Check(other))
		}
	}
	if n := model.Lay(m, nil).Streams(); n != streams {
		t.Errorf("%v hidden states go from stage to stage", n)
	}
	s.Recompute.Mode = recipe.RecomputeFull
	deep := s
	deep.Model.Layers, deep.Model.HashLayers = 42, 2 // one layer less, of the kind near
	less := kept(t, s) - kept(t, deep)
	if want := 2 * streams * h * s.MicroBatchTokens(); !same(less, want) {
		t.Errorf("a recomputed layer keeps %v bytes, by hand %v", less, want)
	}
}

// TestSharedKeyHasItsKinds: beside its own three kinds of layers any other is refused.
func TestSharedKeyHasItsKinds(t *testing.T) {
	for _, letter := range model.Letters() {
		m := presetModel(t, "deepseek-v4-flash")
		m.Pattern = "WQX" + string(letter)
		refused := strings.Contains(fmt.Sprint(m.Check()), "output_groups")
		if refused == strings.ContainsRune("WQX", letter) {
			t.Errorf("%c: refused %t: %v", letter, refused, m.Check())
		}
	}
}

// TestCompressionIsTold: keys of one token, or of as many in both kinds of layers, are refused by name.
func TestCompressionIsTold(t *testing.T) {
	for want, c := range map[string][2]int{
		"compress_ratio is 1;": {1, 128}, "compress_ratio_heavy is 4;": {4, 4},
		"compress_ratio_heavy is 2;": {4, 2},
		"<nil>":                      {4, 128},
	} {
		m := presetModel(t, "deepseek-v4-flash")
		m.CompressRatio, m.CompressHeavy = c[0], c[1]
		if got := fmt.Sprint(m.Check().Err()); !strings.Contains(got, want) {
			t.Errorf("%v: %s, want %s", c, got, want)
		}
	}
}

// TestSharedKeyTravels: a ring of CP carries the key and its compressed ones, twice backward, and what is
// inferred is said and widens the band.
func TestSharedKeyTravels(t *testing.T) {
	s := hybrid(t, "deepseek-v4-flash", knob.Given{knob.GPUs: 128, knob.EP: 64, knob.CP: 2})
	r := engine.Evaluate(s)
	if !r.Legal {
		t.Fatal(r.Problems)
	}
	const d = 512
	want := 3 * 2 * s.MicroBatchTokens() * float64(s.MicroBatches) * (2*d + 21*(d+d/4) + 20*(d+d/128))
	at := slices.IndexFunc(r.Communication, func(c engine.Communication) bool { return c.Dimension == "cp" })
	if got := float64(r.Communication[at].Bytes); !same(got, want) {
		t.Errorf("cp sends %v, by hand %v", got, want)
	}
	plain := s
	m := &plain.Model
	m.Pattern, m.LocalWindow, m.HyperStreams, m.OutputGroups, m.OutputRank, m.HashLayers = "", 0, 0, 0, 0, 0
	m.CompressRatio, m.CompressHeavy, m.IndexHeads, m.IndexDim, m.IndexTopK = 0, 0, 0, 0, 0
	if q := engine.Evaluate(plain); q.Time == nil || r.Time.ErrorBand <= q.Time.ErrorBand {
		t.Errorf("a band of %v, of layers that were measured %v", r.Time.ErrorBand, q.Time.ErrorBand)
	}
	for _, part := range []string{"compressed keys saves what", "hyper-connections keep 4 streams"} {
		if !strings.Contains(strings.Join(r.Assumptions, "\n"), part) {
			t.Errorf("nothing of %q in %q", part, r.Assumptions)
		}
	}
}
