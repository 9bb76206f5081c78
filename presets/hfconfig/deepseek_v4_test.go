package hfconfig_test

import (
	"strings"
	"testing"

	"meshscope/presets/hfconfig"
)

// smallV4 is a small DeepSeek-V4 of 4 heads of 16 in 2 groups, with keys more.
func smallV4(more ...string) string {
	return string(small("deepseek_v4", append([]string{
		"num_key_value_heads=1", "head_dim=16", "q_lora_rank=24", "o_groups=2", "o_lora_rank=8", "hc_mult=2",
		"n_routed_experts=8", "num_experts_per_tok=2", "moe_intermediate_size=32", "index_n_heads=4",
		"index_head_dim=8", "index_topk=16", "intermediate_size-=",
	}, more...)...))
}

// TestDeepSeekV4: both spellings of a small model give the sum over its tensors.
func TestDeepSeekV4(t *testing.T) {
	const plain = h*24 + 24 + 24*4*16 + h*16 + 16 + 4*16*8 + 2*8*h + 4 // latent, key, groups, sinks
	const hyper = 2 * (4*2*2*h + 4*2 + 3)
	const near = 2*h*32 + 4*32 + 16 + 2*h*16 + 4*16 + 8 + 24*4*8 + h*4
	const far = 2*h*16 + 128*16 + 16
	const mixture, mixer = 9*3*h*32 + 8*h, 4*h + 3
	const want = 2*embedded + h + mixer + layers*(plain+hyper+2*h+mixture) + 2*8 + 2*near + far
	const module = plain + hyper + 2*h + mixture + 8 + 2*h*h + 3*h + mixer
	for name, text := range map[string]string{
		"ratios": smallV4("compress_ratios=[0,4,128,4,0]", "num_hash_layers=2"),
		"ratios of layers alone": smallV4("compress_ratios=[0,4,128,4]", "num_hash_layers=2",
			`compress_rates={"compressed_sparse_attention":4}`),
		"words": smallV4(`layer_types=["sliding_attention","compressed_sparse_attention",`+
			`"heavily_compressed_attention","compressed_sparse_attention"]`,
			`mlp_layer_types=["hash_moe","hash_moe","moe","moe"]`),
	} {
		r := hfconfig.Read([]byte(text))
		others := map[string]int64{}
		for _, o := range r.OtherParts {
			others[o.Name] = o.Parameters
		}
		if err := r.Err(); err != nil || r.Model.Total() != want || r.Model.Pattern != "WQXQ" ||
			others["multi-token prediction"] != module ||
			others["tables that send tokens to experts"] != 2*vocab*2 {
			t.Errorf("%s: %d parameters of %d, %d of a module of %d, %s, %v", name, r.Model.Total(), want,
				others["multi-token prediction"], module, r.Model.Pattern, err)
		}
	}
	m := hfconfig.Read([]byte(smallV4("num_hidden_layers=6"))).Model
	if m.Pattern != "XXQXQ" { // a sixth begins anew
		t.Errorf("without a list: %s", m.Pattern)
	}
	for text, want := range map[string]string{
		smallV4("compress_ratios=[0,4]"):       "compress_ratios: 2 layers, where num_hidden_layers is 4",
		smallV4("compress_ratios=[0,4,8,4,0]"): "compress_ratios: layer 3 has 8; allowed: 0, 4, 128",
		smallV4("compress_ratios=[0,4,4,4,4]"): "compress_ratios: layer 5 has 4",
		smallV4(`layer_types=["full_attention","x","x","x"]`): `layer_types: layer 1 is "full_attention"; ` +
			"allowed: compressed_sparse_attention, heavily_compressed_attention, sliding_attention",
		smallV4(`mlp_layer_types=["moe","hash_moe","moe","moe"]`): "layer 2 is \"hash_moe\"; allowed: " +
			"hash_moe in the first layers, then moe",
		smallV4("compress_ratios=[0,4,4,4]", "compress_rate_hca=4"): "compress_ratios: keys of 4 " +
			"(compress_rate_csa) and of 4 tokens (compress_rate_hca) do not tell",
		smallV4("compress_ratios=[0,4,4,4]", "compress_rate_csa=0"): "compress_ratios: keys of 0 ",

		smallV4("compress_rate_csa=128"): "compress_rate_hca: 128; allowed: more than",
		smallV4("compress_rate_csa=1"):   "compress_rate_csa: 1; allowed: at least 2",
		smallV4("o_groups=3"):            "o_groups: 3; allowed: a divisor of heads",
	} {
		r := hfconfig.Read([]byte(text))
		err := r.Err()
		if err == nil {
			err = r.Model.Check().Err()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
