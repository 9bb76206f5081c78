package launch_test

import (
	"testing"

	"meshscope/launch"
	"meshscope/presets"
)

// TestDocument: figures of a model become the preset that has all of them, else a model of
// their own; the other flat keys are knobs.
func TestDocument(t *testing.T) {
	llama := map[string]any{
		"set.model.layers": 80, "set.model.hidden": 8192, "set.model.heads": 64,
		"set.model.kv_heads": 8, "set.model.ffn_hidden": 28672, "set.model.vocab": 128256,
		"set.model.max_seq": 131072,
	}
	with := func(more map[string]any) map[string]any {
		out := map[string]any{}
		for _, m := range []map[string]any{llama, more} {
			for k, v := range m {
				out[k] = v
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		keys   map[string]any
		model  string
		layers int
		wrong  bool
	}{
		"a preset": {
			with(map[string]any{"gpus": 64, "tp": 8, "pp": 2}), "llama3.1-70b", 80,
			false,
		},
		"labels do not count": {
			with(map[string]any{"gpus": 8, "tp": 8, "set.model.name": "x"}),
			"llama3.1-70b", 80, false,
		},
		"a named one, changed": {
			map[string]any{"model": "llama3.1-8b", "set.model.layers": 40, "gpus": 8},
			"llama3.1-8b", 40, false,
		},
		"figures are missing": {with(map[string]any{"set.model.layers": 79, "gpus": 8}), "", 0, true},
		"a model of its own": {with(map[string]any{
			"set.model.layers": 79, "set.model.head_dim": 128,
			"set.model.norm": "rmsnorm", "set.model.attn_bias": "none", "set.model.qk_norm": "none",
			"set.model.name": "org/My Model", "gpus": 8,
		}), "My-Model", 79, false},
		"no name": {with(map[string]any{
			"set.model.layers": 79, "set.model.head_dim": 128,
			"set.model.norm": "rmsnorm", "set.model.attn_bias": "none", "set.model.qk_norm": "none",
			"gpus": 8,
		}), "imported", 79, false},
		"the name of another": {with(map[string]any{
			"set.model.layers": 79, "set.model.head_dim": 128,
			"set.model.norm": "rmsnorm", "set.model.attn_bias": "none", "set.model.qk_norm": "none",
			"set.model.name": "Llama3.1-8B", "gpus": 8,
		}), "imported-Llama3.1-8B", 79, false},
		"no model, the default":  {map[string]any{"gpus": 64, "tp": 8}, "llama3.1-70b", 80, false},
		"what no setup document": {map[string]any{"tp": []any{1}}, "", 0, true},
	} {
		r := launch.Reading{Setup: c.keys}
		d, err := r.Document(presets.Default())
		if err == nil {
			s, wrong := d.Setup(presets.Default())
			if err = wrong; err == nil && (s.Model.ID != c.model || s.Model.Layers != c.layers) {
				t.Errorf("%s: %s of %d layers", name, s.Model.ID, s.Model.Layers)
			}
			if err == nil && s.Model.Name == "" {
				t.Errorf("%s: the header has no name of the model", name)
			}
		}
		if (err != nil) != c.wrong {
			t.Errorf("%s: %v", name, err)
		}
	}
}
