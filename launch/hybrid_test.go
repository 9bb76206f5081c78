package launch_test

import (
	"fmt"
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/launch"
	"meshscope/presets"
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
	super := setup(t, "nemotron3-super-120b-a12b", knob.Given{knob.GPUs: 64, knob.EP: 8, knob.Seq: 8192})
	if d, refused = megatron.Export(&super, "test"); len(refused) > 0 ||
		!strings.Contains(string(d.Text()), "--moe-latent-size 1024 ") {
		t.Fatalf("%+v, no latent space of experts in\n%s", refused, d.Text())
	}
	if r = megatron.Read(d.File, d.Text()); r.Setup["set.model.moe_latent_hidden"] != 1024 {
		t.Errorf("%v, %v", r.Setup["set.model.moe_latent_hidden"], r.Problems)
	}
	s.Model.MTPLayers, s.Model.MTPPasses, s.TrainMTP = 1, 2, true
	d, refused = megatron.Export(&s, "test")
	text := string(d.Text())
	if !strings.Contains(text, "/*E/*E'") || !strings.Contains(text, "--mtp-use-repeated-layer") ||
		len(refused) > 0 {
		t.Errorf("%+v, no repeated module in\n%s", refused, text)
	}
	for _, c := range []struct {
		text            string
		modules, passes any
	}{
		{text, 1, 2},
		{strings.Replace(text, "--mtp-num-layers 2", "", 1), 1, 2},
		{strings.Replace(text, "--mtp-use-repeated-layer", "", 1), 2, 0},
	} {
		r := megatron.Read(d.File, []byte(c.text))
		if got := r.Setup; got["mtp"] != true || got["set.model.mtp_layers"] != c.modules ||
			got["set.model.mtp_passes"] != c.passes || len(r.Problems) > 0 {
			t.Errorf("%v modules, %v passes, want %v and %v: %v", got["set.model.mtp_layers"],
				got["set.model.mtp_passes"], c.modules, c.passes, r.Problems)
		}
	}
	for id, freq := range map[string]string{"deepseek-v3.2": "", "glm-5.2": "--dsa-indexer-topk-freq 4 "} {
		sparse := setup(t, id, knob.Given{knob.GPUs: 256, knob.PP: 4, knob.EP: 32, knob.Seq: 4096})
		if d, refused = megatron.Export(&sparse, "test"); len(refused) > 0 {
			t.Fatalf("%s: %+v", id, refused)
		}
		text := string(d.Text())
		if strings.Contains(text, "topk-freq") != (freq != "") || !strings.Contains(text, freq) ||
			!strings.Contains(text, "--experimental-attention-variant dsa ") {
			t.Errorf("%s:\n%s", id, text)
		}
		r = megatron.Read(d.File, d.Text())
		for key, want := range map[string]any{
			"layer_pattern": sparse.Model.Pattern, "index_heads": sparse.Model.IndexHeads,
			"index_head_dim": sparse.Model.IndexDim, "index_top_k": sparse.Model.IndexTopK,
		} {
			if got := r.Setup["set.model."+key]; got != want || len(r.Problems) > 0 {
				t.Errorf("%s: %s is %v, want %v; %v", id, key, got, want, r.Problems)
			}
		}
		if sparse.Model.Pattern = "DRD"; len(megatron.Refusals(&sparse)) == 0 {
			t.Errorf("%s: no rule of the flags gives every choice", id)
		}
	}
	other := strings.Replace(text, "--mtp-num-layers 2", "--mtp-num-layers 1", 1)
	if r := megatron.Read(d.File, []byte(other)); len(r.Problems) != 1 ||
		!strings.Contains(r.Problems[0].Message, "2 multi-token-prediction modules, --mtp-num-layers 1") {
		t.Errorf("two numbers of modules: %v", r.Problems)
	}
	granite := setup(t, "granite-4.0-h-tiny", knob.Given{
		knob.GPUs: 8, knob.EP: 8, knob.GBS: 32,
		knob.Seq: 8192,
	})
	if refused := megatron.Refusals(&granite); len(refused) == 0 || refused[0].Rule != "hybrid" {
		t.Errorf("granite: %+v", refused)
	}
}

// TestPartsWithoutFlag: what a model has that Megatron-LM has no flag for is refused by its name.
func TestPartsWithoutFlag(t *testing.T) {
	megatron, _ := launch.Find("megatron")
	for part, c := range map[string]struct {
		id  string
		set func(*model.Model)
	}{
		"layers of the kind sliding": {"gemma3-4b", func(m *model.Model) {
			m.Pattern, m.LocalRatio = "W*WW", ""
		}},
		"whose heads differ":    {"gemma3-4b", func(m *model.Model) { m.LocalKVHeads = 2 }},
		"window whose heads":    {"gemma3-4b", func(m *model.Model) { m.LocalHeadDim = 64 }},
		"another width":         {"llama3.1-8b", func(m *model.Model) { m.VHeadDim = 64 }},
		"norm of values":        {"gemma3-4b", func(m *model.Model) { m.ValueNorm = true }},
		"keys as values":        {"gemma3-4b", func(m *model.Model) { m.ValuesAreKeys = true }},
		"through a latent":      {"llama3.1-8b", func(m *model.Model) { m.QLoraRank = 512 }},
		"router and layer":      {"llama3.1-8b", func(m *model.Model) { m.LayerScalar = true }},
		"that do nothing":       {"mixtral-8x7b", func(m *model.Model) { m.ZeroExperts = 4 }},
		"of several widths":     {"llama3.1-8b", func(m *model.Model) { m.FFNWidths = "14336,8192" }},
		"of the stream":         {"llama3.1-8b", func(m *model.Model) { m.ResidualBlock = 4 }},
		"several streams":       {"llama3.1-8b", func(m *model.Model) { m.AltUpStreams = 4 }},
		"output of MLA":         {"deepseek-v3", func(m *model.Model) { m.AttnGate = model.GateChannel }},
		"experts' latent space": {"mixtral-8x7b", func(m *model.Model) { m.LatentNorm = true }},
		"more positions":        {"gpt2-124m", func(m *model.Model) { m.PositionRows = 2048 }},
		"unknown family":        {"llama3.1-8b", func(m *model.Model) { m.ReadAs = "llama" }},
		"hyper-connections":     {"llama3.1-8b", func(m *model.Model) { m.HyperStreams = 4 }},
		"bias of the output":    {"llama3.1-8b", func(m *model.Model) { m.HeadBias = true }},
		"kind Mamba 1":          {"jamba-v0.1", func(*model.Model) {}},
		"one key for all":       {"deepseek-v4-flash", func(*model.Model) {}},
		"a table of tokens":     {"mixtral-8x7b", func(m *model.Model) { m.HashLayers = 2 }},
		"norm of the embedding": {"llama3.1-8b", func(m *model.Model) { m.EmbeddingNorm = true }},
	} {
		s := presets.DefaultSetup()
		m, err := presets.Default().Model(c.id)
		if err != nil {
			t.Fatal(err)
		}
		c.set(&m)
		s.Model = m
		if refused := fmt.Sprint(megatron.Refusals(&s)); !strings.Contains(refused, part) {
			t.Errorf("%s: %s", part, refused)
		}
	}
}
