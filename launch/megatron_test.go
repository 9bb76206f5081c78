package launch_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/launch"
)

// TestEveryRuleOfMegatron: each rule accepts a setup and refuses its kin, with a reason and a source.
func TestEveryRuleOfMegatron(t *testing.T) {
	l, _ := launch.Find("megatron")
	dense := setup(t, "llama3.1-70b", knob.Given{knob.GPUs: 64, knob.TP: 4, knob.PP: 4, knob.GBS: 512})
	flat := setup(t, "llama3.1-70b", knob.Given{knob.GPUs: 64, knob.TP: 4, knob.GBS: 512})
	moe := setup(t, "deepseek-v3", knob.Given{
		knob.GPUs: 1024, knob.TP: 2, knob.PP: 16, knob.VPP: 2,
		knob.EP: 64, knob.GBS: 4096, knob.Seq: 4096,
	})
	interleaved := setup(t, "llama3.1-70b", knob.Given{
		knob.GPUs: 64, knob.TP: 4, knob.PP: 4, knob.VPP: 10,
		knob.GBS: 512,
	})
	offloaded := flat
	offloaded.Offload = recipe.OffloadOptimizer
	narrow := flat
	narrow.Precision = recipe.FP8
	recompute := func(word string) func(*engine.Setup) {
		return func(s *engine.Setup) { _ = s.Recompute.UnmarshalText([]byte(word)) }
	}
	cases := map[string]struct {
		accepted engine.Setup
		refused  func(s *engine.Setup)
	}{
		"order":            {dense, func(s *engine.Setup) { s.Schedule = schedule.ZBH1 }},
		"virtual-stages":   {dense, func(s *engine.Setup) { s.VPP = 2 }},
		"layers":           {interleaved, func(s *engine.Setup) { s.VPP = 3 }},
		"group":            {interleaved, func(s *engine.Setup) { s.GroupSize = 2 }},
		"sequence":         {flat, func(s *engine.Setup) { s.CP, s.Seq = 2, 8190 }},
		"exchange":         {flat, func(s *engine.Setup) { s.CP, s.CPComm = 16, recipe.Ulysses }},
		"experts-sp":       {moe, func(s *engine.Setup) { s.SP = false }},
		"zero-pipeline":    {dense, func(s *engine.Setup) { s.ZeRO = 3 }},
		"in-flight":        {dense, func(s *engine.Setup) { s.MaxInFlight = 8 }},
		"offload-layers":   {flat, func(s *engine.Setup) { s.OffloadLayers = 80 }},
		"recompute-layers": {interleaved, recompute("full:7")},
		"tp-overlap-sp": {
			flat,
			func(s *engine.Setup) { s.TPOverlap, s.SP = recipe.UserBuffers, false },
		},
		"fp16-experts":        {moe, func(s *engine.Setup) { s.Precision = recipe.FP16 }},
		"attention-fp8":       {narrow, func(s *engine.Setup) { s.Attending = recipe.Attention8 }},
		"fp8-weights":         {flat, func(s *engine.Setup) { s.Precision, s.ZeRO = recipe.FP8, 0 }},
		"offload-weights":     {flat, func(s *engine.Setup) { s.Offload = recipe.OffloadWeights }},
		"offload-nvme":        {flat, func(s *engine.Setup) { s.Offload = recipe.OffloadOptimizerNVMe }},
		"offload-activations": {flat, func(s *engine.Setup) { s.Offload = recipe.OffloadActivations }},
		"offload-zero":        {offloaded, func(s *engine.Setup) { s.ZeRO = 0 }},
		"fp8-scan": {
			flat,
			func(s *engine.Setup) {
				s.Precision, s.Model.Pattern, s.TP = recipe.FP8, "M", 8
				s.Model.LinearKeyHeads, s.Model.LinearKeyDim = 8, 128
				s.Model.LinearValueHeads, s.Model.LinearValueDim = 64, 64
			},
		},
		"fp8-offload": {
			flat,
			func(s *engine.Setup) { s.Precision, s.Offload = recipe.FP8, recipe.OffloadOptimizer },
		},
		"graphs-recompute": {
			flat,
			func(s *engine.Setup) { s.CUDAGraphs = recipe.GraphsIteration; recompute("full")(s) },
		},
		"ep-overlap":        {moe, func(s *engine.Setup) { s.EPOverlap = recipe.On; recompute("full")(s) }},
		"recompute-modules": {flat, recompute("modules:mla-up")},
		"heads":             {flat, func(s *engine.Setup) { s.TP = 3 }},
		"query-groups":      {flat, func(s *engine.Setup) { s.TP = 12 }},
		"experts":           {moe, func(s *engine.Setup) { s.EP = 3 }},
		"world":             {flat, func(s *engine.Setup) { s.PP = 5 }},
		"expert-world":      {moe, func(s *engine.Setup) { s.GPUs, s.PP, s.DP = 64, 8, 4 }},
		"batch":             {flat, func(s *engine.Setup) { s.GBS = 513 }},
		"fp8-bytes":         {flat, func(s *engine.Setup) { s.Precision = recipe.FP8DeepSeek }},
		"gradients":         {flat, func(s *engine.Setup) { s.GradDtype = recipe.GradBF16FP32 }},
		"optimizer":         {flat, func(s *engine.Setup) { s.Optimizer = recipe.AdamNoMaster }},
		"lora":              {flat, func(s *engine.Setup) { s.Rank = 8 }},
		"lora-targets":      {flat, func(s *engine.Setup) { s.Targets = "attention" }},
		"base-dtype":        {flat, func(s *engine.Setup) { s.BaseDtype = recipe.BaseNF4 }},
		"async-tp":          {flat, func(s *engine.Setup) { s.TPOverlap = recipe.AsyncTP }},
		"mtp-positions":     {moe, func(s *engine.Setup) { s.TrainMTP, s.Model.Position = true, "learned" }},
		"positions":         {flat, func(s *engine.Setup) { s.Model.Position = "alibi" }},
		"norms":             {flat, func(s *engine.Setup) { s.Model.NormsPer = 4 }},
		"biases":            {flat, func(s *engine.Setup) { s.Model.MLPBias = true }},
		"qk-norm":           {flat, func(s *engine.Setup) { s.Model.QKNorm = "full-width" }},
		"activation":        {flat, func(s *engine.Setup) { s.Model.Activation = "geglu" }},
		"parts":             {flat, func(s *engine.Setup) { s.Model.EmbeddingNorm = true }},
		"gate":              {flat, func(s *engine.Setup) { s.Model.AttnGate = "head" }},
		"hybrid":            {flat, func(s *engine.Setup) { s.Model.Pattern = "M*" }},
		"block":             {flat, func(s *engine.Setup) { s.Model.ParallelBlock = true }},
		"windows": {
			flat,
			func(s *engine.Setup) { s.Model.LocalWindow, s.Model.LocalRatio = 128, "3:2" },
		},
	}
	for _, rule := range l.Rules() {
		c, ok := cases[rule.ID]
		if !ok {
			t.Errorf("rule %s has no case", rule.ID)
			continue
		}
		delete(cases, rule.ID)
		if refused := l.Refusals(&c.accepted); len(refused) > 0 {
			t.Errorf("%s: refused before the change: %+v", rule.ID, refused)
		}
		c.refused(&c.accepted)
		found := false
		for _, r := range l.Refusals(&c.accepted) {
			if r.Because == "" || r.Source == "" || r.Field == "" {
				t.Errorf("%s: %+v", rule.ID, r)
			}
			found = found || r.Rule == rule.ID
		}
		if !found {
			t.Errorf("%s: not refused: %+v", rule.ID, l.Refusals(&c.accepted))
		}
	}
	for id := range cases {
		t.Errorf("no rule %s", id)
	}
}

// TestWorldOfExperts: EP is no factor of the world's size.
func TestWorldOfExperts(t *testing.T) {
	l, _ := launch.Find("megatron")
	s := setup(t, "deepseek-v3", knob.Given{
		knob.GPUs: 1024, knob.TP: 2, knob.PP: 16, knob.EP: 64,
		knob.GBS: 4096, knob.Seq: 4096,
	})
	if refused := l.Refusals(&s); len(refused) > 0 || !engine.Legal(s) {
		t.Errorf("1024 GPUs, TP2 PP16 EP64: %+v", refused)
	}
	s.GPUs, s.PP, s.DP, s.MicroBatches = 64, 8, 4, 1024
	if engine.Legal(s) {
		t.Error("64 GPUs, TP2 PP8 EP64 ETP1 are legal")
	}
	if refused := l.Refusals(&s); len(refused) != 1 || refused[0].Rule != "expert-world" {
		t.Errorf("64 GPUs, TP2 PP8 EP64 ETP1: %+v", refused)
	}
}
