package engine_test

import (
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
)

// TestFamiliesAreCut: what each kind of layer asks of TP, CP and PP is refused by name where it does not
// hold, and runs where it does.
func TestFamiliesAreCut(t *testing.T) {
	for name, c := range map[string]struct {
		id, code string
		set      func(s *engine.Setup)
	}{
		"groups of Mamba-2": {"granite-4.0-h-tiny", "tp-linear-heads", func(s *engine.Setup) { s.TP = 2 }},
		"Mamba-2 over a sequence": {"nemotron-nano-9b-v2", "cp-linear-heads", func(s *engine.Setup) {
			s.TP, s.CP = 2, 8 // 4 groups a rank, of which 8 make none and copies need 8 to be their multiple
			s.Model.LinearKeyHeads, s.Model.LinearValueHeads = 6, 66
		}},
		"Gated DeltaNet":  {"qwen3.5-27b", "tp-linear-heads", func(s *engine.Setup) { s.TP = 32 }},
		"its heads":       {"qwen3.5-27b", "cp-linear-heads", func(s *engine.Setup) { s.CP = 32 }},
		"Mamba-1":         {"jamba-v0.1", "cp-scan", func(s *engine.Setup) { s.CP = 2 }},
		"side by side":    {"falcon-h1-0.5b", "cp-scan", func(s *engine.Setup) { s.CP = 2 }},
		"a shared block":  {"zamba2-1.2b", "cp-scan", func(s *engine.Setup) { s.CP = 2 }},
		"selections":      {"glm-5.2", "stages-exceed-selections", func(s *engine.Setup) { s.PP = 26 }},
		"a key's tokens":  {"deepseek-v4-flash", "cp-compressed-keys", func(s *engine.Setup) { s.CP = 64 }},
		"groups of heads": {"deepseek-v4-flash", "tp-output-groups", func(s *engine.Setup) { s.TP = 16 }},
		"channels": {"lfm2-350m", "tp-conv-channels", func(s *engine.Setup) {
			s.TP, s.Model.Hidden, s.Model.Heads, s.Model.KVHeads = 8, 1020, 16, 8
		}},
		"reused keys": {"gemma3-4b", "stages-exceed-keys", func(s *engine.Setup) {
			s.PP, s.Model.ReusedKV = 4, 32 // the first 2 are of windows, and none is full
			s.Model.LocalRatio = "1:1"
		}},
		"a split of them": {"gemma3-4b", "split-keys", func(s *engine.Setup) {
			s.PP, s.Model.ReusedKV, s.Split = 2, 4, "32,2"
		}},
	} {
		s := hybrid(t, c.id, knob.Given{knob.GPUs: 8})
		s.TP, s.CP, s.PP, s.EP, s.DP, s.Split = 1, 1, 1, 1, 1, ""
		if hasProblem(engine.Check(s), c.code) {
			t.Errorf("%s: %v", name, engine.Check(s))
		}
		if c.set(&s); !hasProblem(engine.Check(s), c.code) {
			t.Errorf("%s: not refused as %s: %v", name, c.code, engine.Check(s))
		}
	}
	// a pipeline whose last stage has all layers that share keys, with their sources
	s := hybrid(t, "gemma3-4b", knob.Given{knob.GPUs: 2, knob.PP: 2})
	s.Model.ReusedKV, s.Split = 4, ""
	for _, p := range engine.Check(s) {
		if strings.Contains(p.Code, "keys") {
			t.Errorf("%+v", p)
		}
	}
	begins := s.Model.Begins()
	for layer, want := range map[int]bool{0: true, 28: true, 29: false, 33: false} {
		if got := begins(layer); got != want {
			t.Errorf("a stage begins with layer %d: %v", layer, got)
		}
	}
	// thousands of layers are no work, and one kind without a source is refused
	s.Model.Layers, s.Model.ReusedKV, s.Model.LocalRatio = 10_000, 5_000, "9999:1"
	if list := s.Model.Check(); len(list) != 1 || list[0].Field != "reused_kv_layers" {
		t.Errorf("keys that no layer makes: %v", list)
	}
	s.Model.Layers, s.Model.ReusedKV = 1<<40, 1<<40-1
	if len(s.Model.Check()) == 0 {
		t.Error("layers without end are taken")
	}
}
