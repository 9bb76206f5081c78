package hfconfig_test

import (
	"errors"
	"strings"
	"testing"

	"meshscope/presets/hfconfig"
)

// TestRefusedOnce: layers that no key tells rightly are one problem, of a key that the file has.
func TestRefusedOnce(t *testing.T) {
	for key, kinds := range map[string][]string{
		"hybrid_override_pattern": {`""`, "null", "5"},
		"layer_types":             {"[1,2]", `[["mlp"],2]`, "5"},
		"layers_block_type":       {"[1,2]", `[["mlp"],2]`},
	} {
		for _, kind := range kinds {
			for _, layers := range [][]string{{"num_hidden_layers-="}, {"num_hidden_layers=2"}} {
				r := hfconfig.Read(small("nemotron_h", append(layers, key+"="+kind)...))
				if len(r.Problems) != 1 || !strings.HasSuffix(r.Problems[0].Key, key) {
					t.Errorf("%s %s %v: %v", key, kind, layers, r.Problems)
				}
			}
		}
	}
}

// TestRefused: what cannot be counted, or contradicts itself, is refused by name and place, and
// all of it at once.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"unknown architecture": {
			`{"model_type":"mamba2","hidden_size":1}`,
			[]string{
				`line 1, column 15: model_type "mamba2" is not known`, "nearest known: llama",
				"--as llama reads it as that",
			},
		},
		"the width of an expert": {
			`{"model_type":"minimax_m3","num_hidden_layers":4,"dense_intermediate_size":256}`,
			[]string{"moe_intermediate_size: is missing; MiniMaxM3Config has no default for it"},
		},
		"a pattern of no layer": {
			`{"model_type":"gemma3_text","sliding_window":512,"sliding_window_pattern":0}`,
			[]string{"sliding_window_pattern: 0: a whole number of at least 1"},
		},
		"a type of a family": {
			`{"model_type":"deepseek_v5","kv_lora_rank":1,"n_group":8,"topk_group":4}`,
			[]string{`"deepseek_v5" is not known`, "nearest known: deepseek_v32;"},
		},
		"layers of Mamba-2": {
			`{"model_type":"granitemoehybrid","num_hidden_layers":2,"layer_types":["attention","mamba1"]}`,
			[]string{
				`layer_types: layer 2 is "mamba1"; allowed: attention, full_attention, linear_attention, `,
			},
		},
		"a short pattern": {
			`{"model_type":"nemotron_h","num_hidden_layers":4,"hybrid_override_pattern":"M-*"}`,
			[]string{"hybrid_override_pattern: 3 letters, where num_hidden_layers is 4"},
		},
		"an unknown letter": {
			`{"model_type":"nemotron_h","hybrid_override_pattern":"M-X"}`,
			[]string{`hybrid_override_pattern: "M-X": allowed are the letters`},
		},
		"mixers alone": {
			`{"model_type":"nemotron_h","hybrid_override_pattern":"M*"}`,
			[]string{"hybrid_override_pattern: no layer is an MLP or a mixture"},
		},
		"a third kind of attention": {
			`{"model_type":"minimax_m1","num_hidden_layers":2,"attn_type_list":[0,2]}`,
			[]string{"attn_type_list: layer 2 has 2; allowed: 0 and 1"},
		},
		"no kind of attention": {
			`{"model_type":"minimax_m1","num_hidden_layers":3,"attn_type_list":[0,1,null]}`,
			[]string{"attn_type_list: item 3 is null; allowed: a list of whole numbers"},
		},
		"no kind of layer": {
			`{"model_type":"qwen3_next","num_hidden_layers":2,"layer_types":["full_attention", null]}`,
			[]string{"layer_types: item 2 is null; allowed: a list of texts"},
		},
		"no width of a layer": {
			`{"model_type":"hunyuan_v1_moe","num_hidden_layers":2,"moe_topk":[null,8]}`,
			[]string{"moe_topk: item 1 is null; allowed: a whole number, or one for each layer"},
		},
		"no mixture said": {
			`{"model_type":"exaone_moe","num_hidden_layers":2,"is_moe_layer":[true,null]}`,
			[]string{"is_moe_layer: item 2 is null; allowed: true or false for each layer"},
		},
		"a third kind of window": {
			`{"model_type":"mimo_v2_flash","num_hidden_layers":2,"hybrid_layer_pattern":[0,-1]}`,
			[]string{"hybrid_layer_pattern: layer 2 has -1; allowed: 0 and 1"},
		},
		"no layers at all": {
			`{"model_type":"nemotron_h"}`,
			[]string{"no layer is an MLP or a mixture"},
		},
		"heads of Mamba-2": {
			`{"model_type":"bamba","mamba_d_head":32}`,
			[]string{"mamba_d_head: 128 heads of 32 are not mamba_expand x hidden_size = 8192"},
		},
		"attention nowhere": {
			`{"model_type":"bamba","attn_layer_indices":[99]}`,
			[]string{"attn_layer_indices: 99: a layer from 0 to 31"},
		},
		"an interval of 0": {
			`{"model_type":"qwen3_next","full_attention_interval":0}`,
			[]string{"full_attention_interval: 0: a whole number from 1"},
		},
		"heads of a delta rule": {
			`{"model_type":"qwen3_next","linear_num_value_heads":24}`,
			[]string{"linear_num_value_heads: 24; allowed: a multiple of linear_num_key_heads = 16"},
		},
		"experts, then none": {
			`{"model_type":"glm4_moe_lite","num_hidden_layers":3,"mlp_layer_types":["dense","sparse","odd"]}`,
			[]string{`mlp_layer_types: layer 3 is "odd"; allowed: dense, sparse, moe`},
		},
		"experts by layer": {
			`{"model_type":"hunyuan_v1_moe","num_hidden_layers":2,"moe_topk":[8,4]}`,
			[]string{"moe_topk: layer 2 has 4, layer 1 8"},
		},
		"letters of windows": {
			`{"model_type":"exaone4","sliding_window_pattern":"LXG"}`,
			[]string{`sliding_window_pattern: "LXG": letters L and G`},
		},
		"no layer of experts": {
			`{"model_type":"qwen3_moe","num_hidden_layers":2,"mlp_only_layers":[0,1]}`,
			[]string{"mlp_only_layers: no layer has experts; allowed: at least one of the 2 layers"},
		},
		"a layer beyond": {
			`{"model_type":"llama4_text","moe_layers":[0,99]}`,
			[]string{"moe_layers: layer 99: from 0 to 47"},
		},
		"a list that is short": {
			`{"model_type":"granitemoehybrid","num_hidden_layers":8,"layer_types":["attention"]}`,
			[]string{"layer_types: 1 layers, where num_hidden_layers is 8"},
		},
		"part of a layer": {
			`{"model_type":"exaone4","sliding_window_pattern":4.7}`,
			[]string{"sliding_window_pattern: 4.7: a whole number"},
		},
		"a list of patterns": {
			`{"model_type":"exaone4","sliding_window_pattern":[4]}`,
			[]string{"sliding_window_pattern: a whole number or letters"},
		},
		"a bias without others": {
			`{"model_type":"seed_oss","attention_bias":false,"attention_out_bias":true}`,
			[]string{"attention_out_bias: true without attention_bias"},
		},
		"lightning attention": {
			`{"model_type":"minimax_m2","attn_type_list":[1,0]}`,
			[]string{"attn_type_list: layer 2 is of lightning attention"},
		},
		"a bias of the output": {
			`{"model_type":"bailing_moe","use_bias":true}`,
			[]string{"use_bias: true without use_qkv_bias"},
		},
		"a class of another": {
			`{"model_type":"llama",` + "\n" +
				` "architectures":["MixtralForCausalLM"]}`,
			[]string{`line 2, column 18: architectures: "MixtralForCausalLM" is a class of mixtral` +
				`, but model_type is llama`},
		},
		"not worked out": {
			`{"model_type":"hy_v3","hidden_size":8}`,
			[]string{`model_type "hy_v3" is known by name, but its layers are not worked out` +
				`; nearest known: `},
		},
		"no config": {`{"tp":8}`, []string{"no model_type"}},
		"not JSON":  {`hidden: 1`, []string{"not a JSON document"}},
		"cut":       {llama32[:80], []string{"ends too early"}},
		"binary":    {"\x7fELF\x00\x01", []string{"zero byte"}},
		"UTF-16":    {"\xff\xfe{\x00}\x00", []string{"UTF-16"}},
		"deep":      {strings.Repeat(`{"text_config":`, 100), []string{"nested more than"}},
		"a list":    {`[1]`, []string{"an object of keys"}},
		"a list for an object": {
			`{"model_type":"gemma3","text_config":[1]}`,
			[]string{"line 1, column 38: text_config: allowed: an object"},
		},
		"a key twice": {
			`{"model_type":"llama",` + "\n" + `"hidden_size":1,"hidden_size":2}`,
			[]string{"line 2, column 31: hidden_size: comes twice"},
		},
		"text for a number": {
			`{"model_type":"llama","hidden_size":"big"}`,
			[]string{`line 1, column 37: hidden_size: a whole number, not "\"big\""`},
		},
		"half a layer": {
			`{"model_type":"llama","num_hidden_layers":2.5}`,
			[]string{"num_hidden_layers: a whole number"},
		},
		"two wrong": {
			`{"model_type":"llama","num_hidden_layers":2.5,"tie_word_embeddings":1}`,
			[]string{"num_hidden_layers: a whole number", "tie_word_embeddings: true or false"},
		},
		"another activation": {
			strings.Replace(llama32, "silu", "relu6", 1),
			[]string{`hidden_act: "relu6" is no activation`},
		},
		"zero layers": {strings.Replace(llama32, `"num_hidden_layers":28`, `"num_hidden_layers":0`,
			1), []string{"num_hidden_layers: 0; allowed"}},
		"heads do not divide": {
			strings.Replace(strings.Replace(llama32, `"head_dim":128,`, "", 1), ":24",
				":23", 1),
			[]string{"line 1, column", "num_attention_heads: 23 does not divide hidden_size 3072"},
		},
		"key-value heads": {
			strings.Replace(llama32, `"num_key_value_heads":8`,
				`"num_key_value_heads":7`, 1),
			[]string{"num_key_value_heads: 7; allowed: a divisor of num_attention_heads = 24"},
		},
		"experts of no mixture": {
			strings.Replace(llama32, `"vocab_size"`,
				`"num_local_experts":8,"vocab_size"`, 1),
			[]string{"num_local_experts: 8, but LlamaConfig has no such key"},
		},
		"too many per token": {
			mla(`"num_experts_per_tok":8`, `"num_experts_per_tok":300`),
			[]string{"line 3, column 46: num_experts_per_tok: 300; allowed: a whole number from 1 to 256"},
		},
		"half latent": {
			mla(`,"v_head_dim":128`, ""),
			[]string{"line 2, column 35: kv_lora_rank: latent attention is half there: v_head_dim is " +
				"missing"},
		},
		"text for a query rank": {mla("1536", `"x"`), []string{"q_lora_rank: a whole number"}},
		"biases of latent": {
			mla(`"q_lora_rank"`, `"attention_bias":true,"q_lora_rank"`),
			[]string{`attention_bias: "all"; allowed: none with kv_lora_rank`},
		},
		"no pattern of rope": {
			`{"model_type":"llama4_text","no_rope_layers":[1,0,0]}`,
			[]string{"no_rope_layers: 3 layers, where num_hidden_layers is 48"},
		},
		"no pattern of layers": {
			strings.Replace(gemmaOf("full", "sliding", "full"), `layers":3`, `layers":34`, 1),
			[]string{"layer_types: 3 layers, where num_hidden_layers is 34"},
		},
		"two patterns": {
			strings.Replace(gemmaOf("sliding", "full", "sliding", "sliding", "full"), `layers":5`,
				`layers":34`, 1),
			[]string{"layer_types: 5 layers, where num_hidden_layers is 34"},
		},
		"layers beyond the last": {strings.Replace(gemmaOf("sliding", "full", "sliding"), `layers":3`,
			`layers":2`, 1), []string{"layer_types: 3 layers, where num_hidden_layers is 2"}},
		"a window of 0": {
			strings.Replace(gemmaOf("sliding", "full"), `window":1024`, `window":0`, 1),
			[]string{"sliding_window: 0 tokens; allowed: a window of 1 or more, or null for none"},
		},
		"a switched window of 0": {
			string(small("qwen2", "use_sliding_window=true", "sliding_window=0", "max_window_layers=0")),
			[]string{"sliding_window: 0 tokens; allowed: a window of 1 or more, or null for none"},
		},
		"chunks of 0": {
			`{"model_type":"llama4_text","attention_chunk_size":0}`,
			[]string{"attention_chunk_size: 0 tokens; allowed: a window of 1 or more, or null for none"},
		},
		"no window": {
			strings.Replace(gemmaOf("sliding", "full"), `window":1024`, `window":null`, 1),
			[]string{"layer_types: layer 1 is sliding_attention, without a sliding_window; allowed is a " +
				"window of 1 or more"},
		},
		"a period of 0": {
			string(small("jamba", "attn_layer_period=0", "attn_layer_offset=0")),
			[]string{"attn_layer_period: 0: a whole number of at least 1"},
		},
		"experts, and none": {
			`{"model_type":"qwen3_moe","num_experts":0,"num_experts_per_tok":8,"moe_intermediate_size":768}`,
			[]string{"num_experts: 0; allowed: a whole number of at least 1 in a mixture"},
		},
		"layers of llama": {
			string(small("llama", `layer_types=["full_attention"]`)),
			[]string{"layer_types: 1 layers, where num_hidden_layers is 4"},
		},
		"too many of llama": {
			string(small("llama", `layer_types=[0,0,0,0,0]`)),
			[]string{"layer_types: 5 layers, where num_hidden_layers is 4"},
		},
		"layers of gpt-oss": {
			string(small("gpt_oss", `layer_types=["sliding_attention","full_attention"]`)),
			[]string{"layer_types: 2 layers, where num_hidden_layers is 4"},
		},
		"none of gpt-oss": {
			string(small("gpt_oss", `layer_types=[]`)),
			[]string{"layer_types: 0 layers, where num_hidden_layers is 4"},
		},
		"layers of qwen2": {
			string(small("qwen2", `layer_types=["full_attention"]`)),
			[]string{"layer_types: 1 layers, where num_hidden_layers is 4"},
		},
		"an offset below 0": {
			sparse("index_topk_freq=2", "index_skip_topk_offset=-1"),
			[]string{"index_skip_topk_offset: -1: a whole number from 0"},
		},
		"a frequency of 0": {
			sparse("index_topk_freq=0"),
			[]string{"index_topk_freq: 0: a whole number from 1"},
		},
		"layer 99 of kimi": {
			kimi("[1,2,3]", "[4,99]"),
			[]string{"full_attn_layers: 99: a layer from 1 to 4"},
		},
		"layer 0 of kimi": {kimi("[1,2,3]", "[4,0]"), []string{"full_attn_layers: 0: a layer from 1 to 4"}},
		"all layers of kimi": {kimi("[1,2,3]", "[1,2,3,4]"), []string{
			"full_attn_layers: layer 1 is in this list and in linear_attn_config.kda_layers",
		}},
		"no layer of kimi": {kimi("[1,2,3]", "[]"), []string{
			"full_attn_layers: layer 4 is in neither this list nor in linear_attn_config.kda_layers",
		}},
		"layer 9 of kimi":  {kimi("[1,9]", ""), []string{"kda_layers: 9: a layer from 1 to 4"}},
		"no lists of kimi": {kimi("", ""), []string{"full_attn_layers: is missing"}},
		"a late layer of lfm2": {
			late("lfm2", `full_attn_idxs=[1059]`),
			[]string{"full_attn_idxs: ", "at most 1024 letters"},
		},
		"a late layer of bamba": {late("bamba", `attn_layer_indices=[1059]`, "mamba_n_heads=16",
			"mamba_d_head=8"), []string{"attn_layer_indices: ", "at most 1024 letters"}},
		"a late layer of jamba": {
			late("jamba", "num_experts=1", "attn_layer_period=1060", "attn_layer_offset=1059"),
			[]string{"attn_layer_", "at most 1024 letters"},
		},
		"heads that do not divide": {
			string(small("granitemoehybrid", `layer_types=["mamba","mamba","mamba","attention"]`,
				"mamba_n_heads=48", `mamba_d_head="auto"`, "mamba_expand=2")),
			[]string{"mamba_n_heads: 48 does not divide mamba_expand x hidden_size = 128"},
		},
		"an expansion that overflows": {
			string(small("jamba", "mamba_expand=1000000000000")),
			[]string{"mamba_expand: 1000000000000: a whole number from 1 to 262144"},
		},
		"a section that is a text": {
			`{"model_type":"dbrx","ffn_config":"x"}`,
			[]string{"ffn_config: an object of keys, not \"x\""},
		},
		"a section that is a list": {
			`{"model_type":"dbrx","attn_config":[1]}`,
			[]string{"attn_config: an object of keys, not [1]"},
		},
		"a type that is a number": {
			`{"model_type":5,"hidden_size":64}`,
			[]string{`model_type: a text such as "llama", not 5`},
		},
		"Infinity": {
			`{"model_type":"llama","hidden_size":Infinity}`,
			[]string{"hidden_size: a whole number, not \"Infinity\""},
		},
		"-Infinity": {
			`{"model_type":"llama","hidden_size":-Infinity}`,
			[]string{"hidden_size: a whole number, not \"-Infinity\""},
		},
		"NaN": {
			`{"model_type":"llama","hidden_size":NaN}`,
			[]string{"hidden_size: a whole number, not \"NaN\""},
		},
		"an unknown layer": {gemmaOf("sliding", "chunked"), []string{"layer_types"}},
		"no default": {
			`{"model_type":"deepseek_v2"}`,
			[]string{"num_experts_per_tok: is missing; DeepseekV2Config has no default"},
		},
	} {
		r := hfconfig.Read([]byte(c.text))
		err := r.Err()
		if err == nil {
			t.Errorf("%s: accepted as %+v", name, r.Model)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
	var unknown *hfconfig.UnknownError
	if r := hfconfig.Read([]byte(`{"model_type":"x"}`)); !errors.As(r.Err(), &unknown) {
		t.Errorf("%v", r.Problems)
	}
}
