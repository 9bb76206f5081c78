package engine_test

import (
	"slices"
	"testing"

	"meshscope/engine/recipe"
	"meshscope/engine/search"
	"meshscope/presets"
)

// TestTriedIsWhatIsSearched: searching the listed values and searching freely is
// the same; leaving out the value of the best layout is not.
func TestTriedIsWhatIsSearched(t *testing.T) {
	p := search.Problem{Setup: presets.DefaultSetup(), Top: 1}
	p.Setup.GPUs, p.Setup.GBS = 32, 64
	free := search.Run(t.Context(), p, nil)
	listed := p
	listed.Space = search.Tried(p)
	if all := search.Run(t.Context(), listed, nil); all.Best[0].Setup != free.Best[0].Setup {
		t.Errorf("the listed values give %+v, all of them %+v", all.Best[0].Setup.Layout,
			free.Best[0].Setup.Layout)
	}
	best := free.Best[0].Setup
	for _, field := range []struct {
		name  string
		list  []int
		value int
	}{
		{"tp", listed.Space.TP, best.TP},
		{"pp", listed.Space.PP, best.PP},
		{"vpp", listed.Space.VPP, best.VPP},
		{"cp", listed.Space.CP, best.CP},
		{"ep", listed.Space.EP, best.EP},
		{"zero", listed.Space.ZeRO, best.ZeRO},
		{"mbs", listed.Space.MBS, best.MBS},
	} {
		if !slices.Contains(field.list, field.value) || !slices.IsSorted(field.list) ||
			len(slices.Compact(slices.Clone(field.list))) != len(field.list) {
			t.Errorf("%s: %v, the best has %d", field.name, field.list, field.value)
		}
	}
}

// TestModulesAreTried: parts of layers are recomputed in a search where experts make them
// worth it and the stack's launcher can.
func TestModulesAreTried(t *testing.T) {
	for _, c := range []struct {
		model string
		stack recipe.Stack
		sets  int
	}{
		{"deepseek-v3", recipe.MegatronCore, 2},
		{"qwen3-30b-a3b", recipe.MegatronCore + "@2025.04", 1},
		{"qwen3-30b-a3b", recipe.MegatronCore + "@2024.10", 0},
		{"qwen3-30b-a3b", recipe.TorchTitan, 0},
		{"llama3.1-8b", recipe.MegatronCore, 0},
	} {
		p := search.Problem{Setup: presets.DefaultSetup()}
		var err error
		if p.Setup.Model, err = presets.Default().Model(c.model); err != nil {
			t.Fatal(err)
		}
		p.Setup.Stack, p.Setup.GPUs = c.stack, 8
		sets := 0
		for _, r := range search.Tried(p).Recompute {
			if r.Mode == recipe.RecomputeModules {
				sets++
			}
		}
		if sets != c.sets {
			t.Errorf("%s on %s: %d sets of parts, want %d", c.model, c.stack, sets, c.sets)
		}
	}
}

// TestExpertTensorIsTried: where TP splits experts in fewer parts than all else, a search finds it unasked.
func TestExpertTensorIsTried(t *testing.T) {
	p := search.Problem{Setup: presets.DefaultSetup(), Top: 1, Margin: true}
	var err error
	if p.Setup.Model, err = presets.Default().Model("kimi-k2"); err != nil {
		t.Fatal(err)
	}
	p.Setup.GPUs, p.Setup.GBS, p.Setup.Seq = 256, 512, 4096
	free := search.Run(t.Context(), p, nil).Best
	p.Space.ETP = []int{2}
	two := search.Run(t.Context(), p, nil).Best
	if len(free) == 0 || len(two) == 0 || free[0].PessimisticStep > two[0].PessimisticStep {
		t.Errorf("unasked %d layouts, with etp 2 %d; or a slower one", len(free), len(two))
	}
	if len(free) > 0 && free[0].Setup.ETP == 1 {
		t.Errorf("the best has etp 1, which is what the test wants to see beaten: %+v", free[0].Setup.Layout)
	}
}
