package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// TestPartlyUsedNode: the last node may be partly used where dp asks for it, and only that one.
func TestPartlyUsedNode(t *testing.T) {
	for dp, gpus := range map[int]int{16: 16, 15: 15, 9: 9, 8: 0, 17: 0} {
		s, err := draftOf(t, fmt.Sprintf("nodes=2 dp=%d", dp)).Resolve()
		var conflict *knob.ConflictError
		if errors.As(err, &conflict) != (gpus == 0) || gpus > 0 && s.GPUs != gpus {
			t.Errorf("dp %d on 2 nodes of 8: %d GPUs, %v", dp, s.GPUs, err)
		}
	}
}

// TestWarningsAtTheirLimits: what is odd about a setup is said from the first value on that is, and of an
// even load, a rank's own layers and a plain GPU nothing is.
func TestWarningsAtTheirLimits(t *testing.T) {
	for _, c := range []struct {
		code       string
		at, beyond func(s *engine.Setup)
	}{
		{
			"out-of-range", func(s *engine.Setup) { s.Imbalance = recipe.MaxLoad },
			func(s *engine.Setup) { s.Imbalance = recipe.MaxLoad + 1 },
		},
		{
			"out-of-range", func(s *engine.Setup) { s.Imbalance = 0 },
			func(s *engine.Setup) { s.Imbalance = recipe.EvenLoad - 1 },
		},
		{
			"recompute-all",
			func(s *engine.Setup) { s.Recompute = recipe.Recompute{Mode: recipe.RecomputeFull, Layers: 40} },
			func(s *engine.Setup) { s.Recompute = recipe.Recompute{Mode: recipe.RecomputeFull, Layers: 41} },
		},
		{
			"offload-all", func(s *engine.Setup) { s.OffloadLayers = 40 },
			func(s *engine.Setup) { s.OffloadLayers = 41 },
		},
		{
			"stack-lacks", func(s *engine.Setup) { s.Stack = recipe.TorchTitan },
			func(s *engine.Setup) { s.Stack, s.OffloadLayers = recipe.TorchTitan, 1 },
		},
		{
			"offload-bandwidth", func(s *engine.Setup) { s.Cluster.GPU.HostBandwidth = 0 },
			func(s *engine.Setup) { s.Cluster.GPU.HostBandwidth, s.OffloadLayers = 0, 1 },
		},
		{
			"hsdp-without-zero", func(s *engine.Setup) { s.HSDP, s.ZeRO = 2, 1 },
			func(s *engine.Setup) { s.HSDP, s.ZeRO = 2, 0 },
		},
		{
			"hsdp-without-zero", func(s *engine.Setup) { s.HSDP, s.ZeRO = 1, 0 },
			func(s *engine.Setup) { s.HSDP, s.ZeRO = 4, 0 },
		},
		{
			"degree-not-offered",
			func(s *engine.Setup) { s.TP, s.PP, s.SP, s.Stack = 1, 1, false, recipe.LLMFoundry },
			func(s *engine.Setup) { s.Stack = recipe.LLMFoundry },
		},
		{
			"mtp", func(s *engine.Setup) { s.Model.MTPLayers, s.TrainMTP = 1, true },
			func(s *engine.Setup) { s.TrainMTP = true },
		},
		{"run-plan", func(s *engine.Setup) { s.PUE = 10 }, func(s *engine.Setup) { s.PUE = 10.5 }},
		{"run-plan", func(s *engine.Setup) { s.PUE = 1 }, func(s *engine.Setup) { s.PUE = 0.5 }},
		{"precision-gpu", func(*engine.Setup) {}, func(s *engine.Setup) { s.Cluster.GPU.PeakBF16 = 0 }},
		{
			"precision-gpu",
			func(s *engine.Setup) { nvfp4(&s.Cluster.GPU, "NVIDIA"); s.Precision = recipe.NVFP4 },
			func(s *engine.Setup) { nvfp4(&s.Cluster.GPU, "AMD"); s.Precision = recipe.NVFP4 },
		},
	} {
		for beyond, change := range map[bool]func(*engine.Setup){false: c.at, true: c.beyond} {
			s := startSetup(t)
			s.Cluster.GPU.HostBandwidth = 50e9
			change(&s)
			if got := hasProblem(engine.Check(s), c.code); got != beyond {
				t.Errorf("%s beyond its limit: %v, want %v: %+v", c.code, got, beyond, engine.Check(s))
			}
		}
	}
}

// nvfp4 gives a GPU of a vendor the rate of 4-bit products.
func nvfp4(g *hardware.GPU, vendor string) { g.PeakFP4, g.PeakFP8, g.Vendor = 9e15, 4e15, vendor }

// TestVastBatchSaysTokens: billions below a thousand of them, then trillions.
func TestVastBatchSaysTokens(t *testing.T) {
	for seq, want := range map[int]string{1 << 13: "8.59 billion tokens", 1 << 20: "1.1 trillion tokens"} {
		s := startSetup(t)
		s.GBS, s.Seq = 1<<20, seq
		s.MicroBatches = s.GBS / s.DP
		problems := engine.Check(s)
		if i := slices.IndexFunc(problems,
			func(p engine.Problem) bool { return p.Code == "vast-batch" }); i < 0 ||
			!strings.Contains(problems[i].Message, want) {
			t.Errorf("sequences of %d: %+v, want %q", seq, problems, want)
		}
	}
}
