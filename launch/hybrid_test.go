package launch_test

import (
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/launch"
)

// TestHybridsOfMegatron: what Megatron-LM is told of layers of linear attention is read as the same model; a
// pattern that no number says is a list.
func TestHybridsOfMegatron(t *testing.T) {
	megatron, _ := launch.Find("megatron")
	for _, pattern := range []string{"GGG*", "*GGGG", "GG*G"} {
		s := setup(t, "qwen3-next-80b-a3b", knob.Given{
			knob.GPUs: 16, knob.TP: 2, knob.EP: 8, knob.GBS: 32,
			knob.Seq: 8192,
		})
		s.Model.Pattern = pattern
		d, refused := megatron.Export(&s, "test")
		if len(refused) > 0 {
			t.Fatalf("%s: %+v", pattern, refused)
		}
		r := megatron.Read(d.File, d.Text())
		if len(r.Problems) > 0 {
			t.Fatalf("%s: %+v", pattern, r.Problems)
		}
		if got := r.Setup["set.model.layer_pattern"]; got != pattern {
			t.Errorf("%s is read as %v", pattern, got)
		}
		for key, want := range map[string]any{
			"linear_key_heads": 16, "linear_value_heads": 32,
			"linear_key_head_dim": 128, "linear_value_head_dim": 128, "conv_width": 4, "attn_gate": "channel",
			"shared_expert_gate": true,
		} {
			if got := r.Setup["set.model."+key]; got != want {
				t.Errorf("%s: %s is %v, want %v", pattern, key, got, want)
			}
		}
	}
}

// TestSubLayersOfMegatron: a model whose layers are sub-layers goes through --hybrid-layer-pattern, with a
// line between the stages of its pipeline; Mamba-2 beside an MLP in one layer has no flags.
func TestSubLayersOfMegatron(t *testing.T) {
	megatron, _ := launch.Find("megatron")
	s := setup(t, "nemotron3-nano-30b-a3b", knob.Given{
		knob.GPUs: 16, knob.TP: 2, knob.PP: 2, knob.EP: 4,
		knob.GBS: 32, knob.Seq: 8192,
	})
	d, refused := megatron.Export(&s, "test")
	if len(refused) > 0 {
		t.Fatalf("%+v", refused)
	}
	r := megatron.Read(d.File, d.Text())
	if len(r.Problems) > 0 {
		t.Fatalf("%+v", r.Problems)
	}
	for key, want := range map[string]any{
		"layer_pattern": s.Model.Pattern, "layers": 52,
		"norms_per_layer": 1, "linear_key_heads": 8, "linear_key_head_dim": 128, "linear_value_heads": 64,
		"linear_value_head_dim": 64, "conv_width": 4, "linear_chunk": 128,
	} {
		if got := r.Setup["set.model."+key]; got != want {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
	if text := string(d.Text()); !strings.Contains(text, "MEM*|E") && strings.Count(text, "|") != 1 ||
		!strings.Contains(text, "pretrain_hybrid.py") {
		t.Errorf("no stages in\n%s", text)
	}
	granite := setup(t, "granite-4.0-h-tiny", knob.Given{
		knob.GPUs: 8, knob.EP: 8, knob.GBS: 32,
		knob.Seq: 8192,
	})
	if refused := megatron.Refusals(&granite); len(refused) == 0 || refused[0].Rule != "hybrid" {
		t.Errorf("granite: %+v", refused)
	}
}
