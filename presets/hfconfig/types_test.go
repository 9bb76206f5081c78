package hfconfig_test

import (
	"fmt"
	"strings"
	"testing"

	"meshscope/presets/hfconfig"
)

// Sizes of the small models below: h 64, 4 layers, 4 heads of 16, 2 of keys and values, MLP 256, vocabulary
// 1,000.
const (
	h, layers, heads, kv, d, f, vocab = 64, 4, 4, 2, 16, 256, 1000

	grouped  = 2*h*heads*d + 2*h*kv*d // projections of attention
	multi    = 4 * h * heads * d
	embedded = vocab * h
	swiglu   = 3 * h * f
	plain    = 2 * h * f
)

// small returns a config.json of these sizes with keys more; a key that ends in "-" is left out.
func small(kind string, more ...string) []byte {
	keys := map[string]string{
		"hidden_size": "64", "num_hidden_layers": "4", "num_attention_heads": "4", "num_key_value_heads": "2",
		"vocab_size":        "1000",
		"intermediate_size": "256", "tie_word_embeddings": "false", "max_position_embeddings": "128",
	}
	for _, pair := range more {
		key, value, _ := strings.Cut(pair, "=")
		if name, gone := strings.CutSuffix(key, "-"); gone {
			delete(keys, name)
		} else {
			keys[key] = value
		}
	}
	text := `{"model_type":"` + kind + `"`
	for key, value := range keys {
		text += fmt.Sprintf(",%q:%s", key, value)
	}
	return []byte(text + "}")
}

// TestTypes: small models of types of which no exact count is published, or of which published files have one
// form only, against sums over the tensors of their modeling files written by hand.
func TestTypes(t *testing.T) {
	moe := []string{"num_experts=8", "num_experts_per_tok=2", "moe_intermediate_size=32"}
	const routed = 8*3*h*32 + 8*h // eight experts of width 32 and the router
	for name, c := range map[string]struct {
		text []byte
		want int64
	}{
		"gptj": {
			small("gptj", "num_key_value_heads-="),
			2*embedded + vocab + 2*h + layers*(multi+plain+f+h+2*h),
		},
		"gpt_bigcode": {
			small("gpt_bigcode", "tie_word_embeddings=true", "num_key_value_heads-="),
			embedded + 128*h + 2*h + layers*(2*h*h+2*h*d+h+2*d+h+plain+f+h+4*h),
		},
		"bloom": {small("bloom", "intermediate_size-=", "num_key_value_heads-=",
			"tie_word_embeddings=true"), embedded + 2*h + 2*h + layers*(multi+4*h+plain+f+h+4*h)},
		"opt": {
			small("opt", "num_key_value_heads-=", "tie_word_embeddings=true"),
			embedded + 130*h + 2*h + layers*(multi+4*h+plain+f+h+4*h),
		},
		"phi": {
			small("phi", "num_key_value_heads-="),
			2*embedded + vocab + 2*h + layers*(multi+4*h+plain+f+h+2*h),
		},
		"phimoe": {
			small("phimoe", "num_local_experts=8", "num_experts_per_tok=2",
				"attention_bias=true", "lm_head_bias=true"),
			2*embedded + vocab + 2*h + layers*(grouped+heads*d+2*kv*d+h+8*swiglu+8*h+4*h),
		},
		"mpt": {[]byte(
			`{"model_type":"mpt","d_model":64,"n_layers":4,"n_heads":4,"vocab_size":1000,"expansion_ratio":4,"max_seq_len":128,"attn_config":{"alibi":true}}`,
		), embedded + h + layers*(multi+plain+2*h)},
		"mpt, positions": {[]byte(
			`{"model_type":"mpt","d_model":64,"n_layers":4,"n_heads":4,"vocab_size":1000,"max_seq_len":128,"no_bias":false,"attn_config":{"kv_n_heads":2,"alibi":false}}`,
		), embedded + 128*h + 2*h + layers*(grouped+heads*d+2*kv*d+h+plain+f+h+4*h)},
		"falcon, one head": {small("falcon", "intermediate_size-=", "num_key_value_heads-=",
			"tie_word_embeddings=true"), embedded + 2*h + layers*(2*h*h+2*h*d+plain+2*h)},
		"falcon, two norms": {
			small("falcon", "intermediate_size-=", "num_key_value_heads-=",
				"num_kv_heads=2", "new_decoder_architecture=true", "tie_word_embeddings=true"),
			embedded + 2*h + layers*(grouped+plain+4*h),
		},
		"falcon, 11B": {
			small("falcon", "intermediate_size-=", "num_kv_heads=2",
				"num_key_value_heads-=", "num_ln_in_parallel_attn=1", "new_decoder_architecture=true"),
			2*embedded + 2*h + layers*(grouped+plain+2*h),
		},
		"falcon, 1B": {
			small("falcon", "intermediate_size-=", "num_key_value_heads-=",
				"multi_query=false", "parallel_attn=false", "alibi=true", "bias=true"),
			2*embedded + 2*h + layers*(multi+4*h+plain+f+h+4*h),
		},
		"dbrx": {[]byte(
			`{"model_type":"dbrx","d_model":64,"n_layers":4,"n_heads":4,"vocab_size":1000,"attn_config":{"kv_n_heads":2},"ffn_config":{"ffn_hidden_size":32,"moe_num_experts":8,"moe_top_k":2}}`,
		), 2*embedded + h + layers*(grouped+routed+2*h)},
		"internlm3": {
			small("internlm3", "qkv_bias=true"),
			2*embedded + h + layers*(grouped+heads*d+2*kv*d+swiglu+2*h),
		},
		"qwen2_moe": {
			small("qwen2_moe",
				append(moe, "shared_expert_intermediate_size=48", "decoder_sparse_step=2")...),
			2*embedded + h + layers*(grouped+heads*d+2*kv*d+2*h) + 2*swiglu + 2*(routed+3*h*48+h),
		},
		"qwen3_moe, dense": {
			small("qwen3_moe", append(moe, "head_dim=16", "mlp_only_layers=[0,3]")...),
			2*embedded + h + layers*(grouped+2*d+2*h) + 2*swiglu + 2*routed,
		},
		"cohere": {
			small("cohere", "use_qk_norm=true", "tie_word_embeddings=true"),
			embedded + h + layers*(grouped+(heads+kv)*d+swiglu+h),
		},
		"stablelm": {small("stablelm", "qk_layernorm=true", "use_parallel_residual=true",
			"use_qkv_bias=false"), 2*embedded + 2*h + layers*(grouped+(heads+kv)*d+swiglu+2*h)},
		"afmoe": {
			small("afmoe", append(moe, "head_dim=16", "num_shared_experts=1",
				"num_dense_layers=1")...),
			2*embedded + h + layers*(grouped+h*heads*d+2*d+4*h) + swiglu + 3*(routed+8+3*h*32),
		},
		"exaone_moe": {
			small("exaone_moe",
				append(moe, "num_shared_experts=1", "is_moe_layer=[false,true,true,false]",
					"sliding_window=8",
					`sliding_window_pattern="LG"`)...),
			2*embedded + h + layers*(grouped+2*d+2*h) + 2*swiglu + 2*(routed+8+3*h*32),
		},
		"gemma4": {
			small("gemma4_text", "head_dim=16", "global_head_dim=32",
				"num_global_key_value_heads=1", "attention_k_eq_v=true", "hidden_size_per_layer_input=0",
				`layer_types=["sliding_attention","sliding_attention","sliding_attention","full_attention"]`,
				"tie_word_embeddings=true"),
			embedded + h + layers*(swiglu+4*h+1) + 3*(grouped+2*d) + 2*h*heads*32 + h*32 + 2*32,
		},
		"step3p5": {small("step3p5",
			append(moe, "head_dim=16", "share_expert_dim=48", "moe_layers_enum=[2,3]",
				"use_head_wise_attn_gate=true",
				`attention_other_setting={"num_attention_heads":8,"num_attention_groups":2,"head_dim":16}`,
				`layer_types=["full_attention","sliding_attention","sliding_attention","full_attention"]`)...), 2*embedded + h + layers*(2*d+2*h) + 2*(grouped+h*heads) + 2*(2*h*8*d+2*h*kv*d+h*8) + 2*swiglu + 2*(routed+8+3*h*48)},
		"step3": {
			small("step3_text",
				append(moe, "num_key_value_heads-=", "num_attention_groups=1", "head_dim=16",
					"share_q_dim=24",
					"share_expert_dim=48", `moe_layers_enum="1,2"`)...),
			2*embedded + h + layers*(h*24+24+24*heads*d+2*h*d+heads*d*h+2*h) + 2*swiglu + 2*(routed+3*h*48),
		},
		"mimo_v2": { // windowed layers have other heads of keys and values, and sinks; narrower values
			small("mimo_v2_flash", append(moe, "num_experts-=", "n_routed_experts=8", "n_shared_experts=null",
				"head_dim=16", "v_head_dim=8", "swa_num_key_value_heads=4", "moe_layer_freq=[0,1,1,1]",
				"hybrid_layer_pattern=[0,1,0,1]")...),
			2*embedded + h + layers*2*h + 2*(h*heads*d+h*kv*(d+8)+heads*8*h) + // full
				2*(h*heads*d+h*4*(d+8)+heads*8*h+heads) + swiglu + 3*(routed+8),
		},
		"nemotron-nas": { // an MLP of 2*2*64/3 = 85 is 256 wide
			small("nemotron-nas", "num_key_value_heads=null", "intermediate_size=null", `block_configs=[`+
				`{"attention":{"n_heads_in_group":2,"no_op":false},"ffn":{"ffn_mult":2.0,"no_op":false}},`+
				`{"attention":{"n_heads_in_group":null,"no_op":true},"ffn":{"ffn_mult":7.0,"no_op":false}},`+
				`{"attention":{"n_heads_in_group":2,"no_op":false},"ffn":{"ffn_mult":null,"no_op":true}},`+
				`{"attention":{"n_heads_in_group":2,"no_op":false},"ffn":{"ffn_mult":2.0,"no_op":false}}]`),
			2*embedded + h + 3*(grouped+h) + 2*(3*h*256+h) + 3*h*512 + h, // 2*7*64/3 = 298, up to 512
		},
		"minimax_m3": { // an indexer of 4 heads of 8, one of keys, a norm of each
			small("minimax_m3", "head_dim=16", "num_local_experts=8", "num_experts_per_tok=2",
				"intermediate_size=32",
				"dense_intermediate_size=256", "shared_intermediate_size=32", "moe_layer_freq=[0,1,1,1]",
				`sparse_attention_config={"sparse_attention_freq":[0,1,1,1],"sparse_num_index_heads":4,`+
					`"sparse_index_dim":8,"sparse_topk_blocks":2,"sparse_block_size":128}`),
			2*embedded + h + layers*(grouped+2*d+2*h) + 3*(h*4*8+h*8+2*8) + swiglu + 3*(routed+8+3*h*32),
		},
		"kimi_k3": { // linear heads: 4 of 16; latents of 16 and, of experts, 24, which are normed; snapshots
			[]byte(strings.Replace(kimi("[1,2,3]", "[4]"), `"kimi_linear"`,
				`"kimi_k3","mla_use_output_gate":true,`+
					`"attn_res_block_size":2,"routed_expert_hidden_size":24,"latent_moe_use_norm":true,`+
					`"hidden_act":"situ"`, 1)),
			2*embedded + h + 2*h + layers*(2*h+4*h) +
				3*(3*h*64+3*64*4+2*(h*16+16*64)+h*4+4+64+16+64*h) + // decay and gate through 16
				h*4*16 + h*(16+8) + 16 + 16*4*(8+8) + 4*8*h + h*4*8 + // latent attention and its gate
				swiglu + 3*(8*3*24*32+8*h+8+2*h*24+24+3*h*32),
		},
		"deepseek_v32": { // an indexer of 4 heads of 8
			[]byte(sparse("index_n_heads=4", "index_head_dim=8", "index_topk=16")),
			2*embedded + h + layers*(2*h+h*24+24+24*4*16+h*(16+8)+16+16*4*(8+8)+4*8*h+24*4*8+h*8+2*8+h*4) +
				swiglu + 3*(routed+8+3*h*32),
		},
		"kimi_k25": {
			[]byte(`{"model_type":"kimi_k25","text_config":` + strings.Replace(strings.Replace(sparse(
				"vocab_size=1000"), "deepseek_v32", "kimi_k2", 1), `"q_lora_rank"`,
				`"index":0,"q_lora_rank"`, 1) + `,"tie_word_embeddings":false}`),
			2*embedded + h + layers*(2*h+h*24+24+24*4*16+h*(16+8)+16+16*4*(8+8)+4*8*h) + swiglu +
				3*(routed+8+3*h*32),
		},
		"minimax_m1": { // lightning attention has keys of all heads, a gate and a norm of its output
			small("minimax_m1", "head_dim=16", "num_local_experts=8", "num_experts_per_tok=2",
				"intermediate_size=32",
				"attn_type_list=[0,0,0,1]", "shared_intermediate_size=0"),
			2*embedded + h + layers*(2*h+routed) + 3*(4*h*64+64+64*h) + grouped,
		},
		"minimax_m2": {
			small("minimax_m2", "head_dim=16", "num_local_experts=8", "num_experts_per_tok=2",
				"intermediate_size=32",
				"use_mtp=true", "num_mtp_modules=3", "use_routing_bias=true"),
			2*embedded + h + layers*(2*h+grouped+heads*d+kv*d+routed+8),
		},
		"bamba": { // 8 heads of 16, one group of a state of 8
			small("bamba", "attn_layer_indices=[2]", "mamba_n_heads=8", "mamba_d_head=16", "mamba_d_state=8",
				"mamba_conv_bias=true", "mamba_proj_bias=false"),
			2*embedded + h + layers*(2*h+swiglu) + grouped + 3*(h*(2*128+2*8+8)+(128+2*8)*5+3*8+128+128*h),
		},
		"olmoe": {
			small("olmoe", "num_experts=8", "num_experts_per_tok=2", "intermediate_size=32", "clip_qkv=null"),
			2*embedded + h + layers*(2*h+grouped+heads*d+kv*d+routed),
		},
		"seed_oss": {
			small("seed_oss", "head_dim=32", "attention_bias=true", "attention_out_bias=false"),
			2*embedded + h + layers*(2*h+2*h*heads*32+2*h*kv*32+heads*32+2*kv*32+swiglu),
		},
		"glm": {
			small("glm", "head_dim=16", "attention_bias=true"),
			2*embedded + h + layers*(2*h+grouped+heads*d+2*kv*d+swiglu),
		},
		"gemma3": { // its text_config leaves out 8 heads of 256, 4 of keys and values
			[]byte(`{"model_type":"gemma3","text_config":{"model_type":"gemma3_text","hidden_size":64,` +
				`"num_hidden_layers":4,"intermediate_size":256,"vocab_size":1000,"sliding_window":8}}`),
			embedded + h + layers*(4*h+2*h*8*256+2*h*4*256+2*256+swiglu),
		},
		"step3p7": { // more heads in windowed layers, a gate for each
			small("step3p7", append(moe, "head_dim=16", "num_attention_groups=2", "share_expert_dim=32",
				`layer_types=["full_attention","sliding_attention","sliding_attention","sliding_attention"]`,
				`attention_other_setting={"num_attention_heads":8,"num_attention_groups":2,"head_dim":16}`,
				"use_head_wise_attn_gate=true", `moe_layers_enum="1,2,3"`)...),
			2*embedded + h + layers*(2*h+2*d) + grouped + h*heads + 3*(2*h*8*d+2*h*kv*d+h*8) + swiglu +
				3*(routed+8+3*h*32),
		},
		"gemma3n": { // 4 streams, a path of rank 6, an input of 10 for each layer from a table of 90 rows
			small("gemma3n_text", "head_dim=16", "altup_num_inputs=4", "laurel_rank=6",
				"hidden_size_per_layer_input=10", "vocab_size_per_layer_input=90", "num_kv_shared_layers=2",
				"intermediate_size=[256,256,256,256]", "tie_word_embeddings=true", "sliding_window=8"),
			embedded + h + 90*layers*10 + h*layers*10 + 10 + 2*3*h*h + layers*(grouped+2*d+swiglu+4*h+
				h+16+64+h*4+h+2*h*6+h+2*h*10+h),
		},
		"gemma4, double-wide": { // the last two have twice the MLP, and weights of keys that they do not use
			small("gemma4_text", "head_dim=16", "global_head_dim=16", "hidden_size_per_layer_input=10",
				"vocab_size_per_layer_input=90", "num_kv_shared_layers=2", "use_double_wide_mlp=true",
				"tie_word_embeddings=true"),
			embedded + h + 90*layers*10 + h*layers*10 + 10 + layers*(grouped+2*d+4*h+1+2*h*10+h) + 2*swiglu +
				2*2*swiglu,
		},
		"of architectures alone": {
			[]byte(strings.Replace(string(small("olmo2")), `"model_type":"olmo2"`,
				`"architectures":["Olmo2ForCausalLM"]`, 1)),
			2*embedded + h + layers*(2*h+grouped+heads*d+kv*d+swiglu),
		},
		"a thinker": {
			[]byte(`{"model_type":"x","thinker_config":{"model_type":"y","text_config":` +
				string(small("qwen3_moe", append(moe, "head_dim=16")...)) +
				`,"vision_config":{}},"talker_config":{"hidden_size":9}}`),
			2*embedded + h + layers*(2*h+grouped+2*d+routed),
		},
		"longcat_flash": {
			small("longcat_flash", "num_hidden_layers-=", "num_layers=2",
				"num_key_value_heads-=", "q_lora_rank=12", "kv_lora_rank=8", "qk_nope_head_dim=6",
				"qk_rope_head_dim=4", "v_head_dim=6", "n_routed_experts=8", "zero_expert_num=4", "moe_topk=3",
				"expert_ffn_hidden_size=32"),
			2*embedded + h + 4*(h*12+12+12*heads*10+h*12+8+8*heads*12+heads*6*h+swiglu+2*h) + 2*
				(8*3*h*32+12*h+12),
		},
		"falcon_h1": {
			small("falcon_h1", "mamba_d_ssm=32", "mamba_n_heads=4", "mamba_d_head=8",
				"mamba_d_state=6", "mamba_n_groups=2", "mamba_d_conv=4", "mamba_rms_norm=true"),
			2*embedded + h + layers*(grouped+swiglu+2*h+h*(2*32+2*12+4)+(32+24)*5+3*4+32+32*h),
		},
		"jamba": {
			small("jamba", "num_experts=2", "num_experts_per_tok=1",
				"attn_layer_period=4", "attn_layer_offset=1", "expert_layer_period=4",
				"expert_layer_offset=3",
				"mamba_d_state=6", `mamba_dt_rank="auto"`),
			2*embedded + h + layers*2*h + grouped + 3*swiglu + 2*swiglu + 2*h + 3*
				(h*256+128*5+128*(4+12)+4*128+128+128*6+128+128*h+4+12),
		},
		"nemotron_h, latent": {small("nemotron_h", "num_hidden_layers=2", `hybrid_override_pattern="*E"`,
			"n_routed_experts=8", "num_experts_per_tok=2", "moe_intermediate_size=32",
			"moe_shared_expert_intermediate_size=48", "n_shared_experts=1", "moe_latent_size=16",
			"head_dim=16"), 2*embedded + h + 2*h + grouped + 8*2*16*32 + 8*h + 8 + 2*h*16 + 2*h*48},
		"llama4, own layers": {
			small("llama4_text", "intermediate_size=32", "intermediate_size_mlp=256",
				"num_local_experts=8", "num_experts_per_tok=1", "moe_layers=[1,2]", "head_dim=16"),
			2*embedded + h + layers*(grouped+2*h) + 2*swiglu + 2*(routed+3*h*32),
		},
		"hunyuan_v1_moe": {
			small("hunyuan_v1_moe", "num_experts=8", "moe_topk=[2,2,2,2]",
				"num_shared_expert=1", "moe_intermediate_size=32", "moe_layer_num_skipped=1", "head_dim=16",
				"tie_word_embeddings=true"),
			embedded + h + layers*(grouped+2*d+2*h) + swiglu + 3*(routed+3*h*32),
		},
		"ernie4_5_moe": {
			small("ernie4_5_moe", "head_dim=16", "moe_num_experts=8", "moe_k=2",
				"moe_intermediate_size=32", "moe_num_shared_experts=1", "moe_layer_start_index=1",
				"moe_layer_end_index=2", "moe_layer_interval=1"),
			2*embedded + h + layers*(grouped+2*h) + 2*swiglu + 2*(routed+8+3*h*32),
		},
		"qwen2, a late window": {small("qwen2", "use_sliding_window=true", "sliding_window=8",
			"max_window_layers=3"), 2*embedded + h + layers*(grouped+heads*d+2*kv*d+swiglu+2*h)},
	} {
		r := hfconfig.Read(c.text)
		if err := r.Err(); err != nil || r.Model.Total() != c.want {
			t.Errorf("%s: %d parameters, want %d, %v", name, r.Model.Total(), c.want, err)
		}
	}
}

// TestWordsOfLayers: layers of two kinds that a key of a class counts are the same in the words that older
// and newer versions of the library write.
func TestWordsOfLayers(t *testing.T) {
	for kind, c := range map[string]struct {
		key, old string
		more     []string
		want     string
	}{
		"bamba": {"attn_layer_indices=[2]", "mamba", []string{"mamba_n_heads=8", "mamba_d_head=16"}, "MM*"},
		"jamba": {"attn_layer_period=4", "mamba", []string{"attn_layer_offset=2", "num_experts=1"}, "SS*"},
		"kimi_linear": {
			`linear_attn_config={"kda_layers":[1,2,4],"full_attn_layers":[3],"num_heads":4,"head_dim":16,` +
				`"short_conv_kernel_size":4}`, "", []string{
				"qk_nope_head_dim=16", "qk_rope_head_dim=8",
				"q_lora_rank=null", "kv_lora_rank=16", "v_head_dim=16", "num_experts=8",
				"num_experts_per_token=2",
				"num_shared_experts=1", "moe_intermediate_size=32", "first_k_dense_replace=1",
			}, "KK*",
		},
		"minimax": {"attn_type_list=[0,0,1,0]", "", []string{"num_local_experts=8"}, "LL*"},
	} {
		r := hfconfig.Read(small(kind, append(c.more, c.key)...))
		if len(r.Problems) > 0 || r.Model.Pattern != c.want {
			t.Errorf("%s: %s, %v", kind, r.Model.Pattern, r.Problems)
		}
		for _, words := range [][2]string{{"linear_attention", "full_attention"}, {c.old, "attention"}} {
			if words[0] == "" {
				continue
			}
			list := fmt.Sprintf("layer_types=[%q,%q,%q,%q]", words[0], words[0], words[1], words[0])
			more := append(c.more, list)
			if kind == "kimi_linear" {
				more = append(more,
					`linear_attn_config={"num_heads":4,"head_dim":16,"short_conv_kernel_size":4}`)
			}
			of := hfconfig.Read(small(kind, more...))
			if len(of.Problems) > 0 || of.Model != r.Model {
				t.Errorf("%s in the word %s: %+v, %v", kind, words[0], of.Model, of.Problems)
			}
			all := strings.ReplaceAll(list, words[1], words[0])
			if of = hfconfig.Read(small(kind, append(more, all)...)); of.Model.Pattern == c.want {
				t.Errorf("%s: its words say nothing", kind)
			}
		}
	}
}

// TestWindows: which layers attend to a window alone, in any order, and which have experts: of letters that
// end as they begin the end is left out.
func TestWindows(t *testing.T) {
	for _, c := range []struct {
		text                    []byte
		ratio, pattern, experts string
	}{
		{
			small("qwen2", "use_sliding_window=true", "sliding_window=8", "max_window_layers=3"), "", "***W",
			"",
		},
		// the last one is global in any case
		{small("exaone4", "sliding_window=8", `sliding_window_pattern="LLG"`), "", "WW**", ""},
		{
			small("olmo3", "sliding_window=8",
				`layer_types=["full_attention","sliding_attention","sliding_attention","full_attention"]`),
			"",
			"*WW", "",
		},
		{small("olmo3", "sliding_window=8"), "3:1", "", ""},
		{small("qwen3_moe", "num_experts=8", "num_experts_per_tok=2", "moe_intermediate_size=32",
			"mlp_only_layers=[1]"), "", "", "E-E"},
		{small("glm4_moe", "n_routed_experts=8", "moe_intermediate_size=32", "num_experts_per_tok=2",
			`mlp_layer_types=["dense","dense","sparse","sparse"]`), "", "", ""},
	} {
		r := hfconfig.Read(c.text)
		m, err := r.Model, r.Err()
		if err != nil || m.LocalRatio != c.ratio || m.Pattern != c.pattern || m.MoEPattern != c.experts {
			t.Errorf("%s: ratio %q, pattern %q, experts %q, %v", c.text, m.LocalRatio, m.Pattern,
				m.MoEPattern, err)
		}
	}
}
