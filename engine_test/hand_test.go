package engine_test

import (
	"strings"
	"testing"

	"meshscope/engine/band"
	"meshscope/engine/compare"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
	"meshscope/presets"
)

// TestLayerFLOPsByHand: multiplications and additions of a layer, written out from the shapes that
// the models' papers print.
func TestLayerFLOPsByHand(t *testing.T) {
	llama := presetModel(t, "llama3.1-8b") // 4,096 wide, 32 heads of 128 and 8 of keys, MLP of 14,336
	f := llama.LayerForward(0, 8192, false)
	for _, c := range []struct {
		what      string
		got, want units.FLOPs
	}{
		{"projections", f.Projections, 2 * (4096*4096 + 2*4096*1024 + 4096*4096)},
		{"scores", f.Scores, 2 * 2 * 32 * 128 * 8192},
		{"MLP", f.MLP, 2 * 3 * 4096 * 14336},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, by hand %v", c.what, c.got, c.want)
		}
	}

	// Of DeepSeek-V3's 61 layers with 128 heads: queries from rank 1,536 to 128 + 64, keys without
	// position and values from rank 512 to 128 each.
	v3 := presetModel(t, "deepseek-v3")
	up := model.Recomputation{Recompute: recipe.Recompute{
		Mode:    recipe.RecomputeModules,
		Modules: recipe.ModuleMLAUp,
	}}
	if got, want := 61*up.FLOPs(model.Lay(&v3, nil).Module(), 0),
		units.FLOPs(2*61*128*(1536*(128+64)+512*(128+128))); got != want {
		t.Errorf("up-projections of the latents: %v, by hand %v", got, want)
	}

	// One layer of MiniMax-M1 in eight has softmax attention; the others have no scores.
	m1 := presetModel(t, "minimax-m1")
	plain := m1
	plain.Pattern = ""
	for layer := range 16 {
		want := plain.LayerForward(0, 4096, true).Scores
		if layer%8 != 7 {
			want = 0
		}
		if got := m1.LayerForward(layer, 4096, true).Scores; got != want {
			t.Errorf("scores of layer %d of a hybrid: %v, by hand %v", layer, got, want)
		}
	}
}

// TestDifferenceWords: counts in their units, shares in percent.
func TestDifferenceWords(t *testing.T) {
	for want, d := range map[string]band.Difference{
		"256 GPUs":                          {Feature: band.GPUs, Count: 256},
		"1 GPU":                             {Feature: band.GPUs, Count: 1},
		"CP 2 across domains":               {Feature: band.CP, Count: 2, Name: "across domains"},
		"12 % of the step without compute":  {Feature: band.Wait, Count: 0.12},
		"communication of 35 % of the step": {Feature: band.Traffic, Count: 0.35},
		"37B active parameters":             {Feature: band.Active, Count: 37e9},
		"dense model":                       {Feature: band.Experts},
		"8 experts":                         {Feature: band.Experts, Count: 8},
		"micro-batches of 2 sequences":      {Feature: band.MBS, Count: 2},
		"x newer than every published run":  {Feature: band.Release, Name: "x"},
		"sequences of 131072":               {Feature: band.Seq, Count: 131072},
	} {
		if got := d.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestMethodsAloneShareABatch: each method alone gets 4 micro-batches for each GPU, whatever their size.
func TestMethodsAloneShareABatch(t *testing.T) {
	s := presets.DefaultSetup()
	s.MBS = 2
	for _, m := range compare.MethodsAlone(s, 8) {
		if m.Setup.GBS != 4*8*2 {
			t.Errorf("%s: a batch of %d sequences", m.Name, m.Setup.GBS)
		}
	}
}

// TestFactsThatContradict: an activation that is gated, or not, decides the matrices of an MLP; a GPU
// without any peak can compute nothing, one with a single peak can.
func TestFactsThatContradict(t *testing.T) {
	m := presetModel(t, "llama3.1-8b")
	if errs := m.Check(); len(errs) > 0 {
		t.Fatal(errs)
	}
	m.Gated = false
	if errs := m.Check(); !strings.Contains(errs.Error(), "gated_ffn") {
		t.Errorf("swiglu without a gate: %v", errs)
	}
	c, err := presets.Default().Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	g := &c.GPU
	g.PeakBF16, g.PeakFP16, g.PeakTF32, g.PeakFP32, g.PeakFP8 = 0, 0, 0, 0, 0
	if g.Peak(recipe.BF16) != 0 {
		t.Fatal("a peak is left")
	}
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), "peak_bf16") {
		t.Errorf("no peak: %v", err)
	}
	for _, peak := range []*units.FLOPsPerSecond{&g.PeakBF16, &g.PeakFP16, &g.PeakTF32, &g.PeakFP32} {
		*peak = 1e15
		if err := c.Check(); err != nil && strings.Contains(err.Error(), "peak_bf16") {
			t.Errorf("one peak: %v", err)
		}
		*peak = 0
	}
}
