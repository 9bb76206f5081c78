package hfconfig_test

import (
	"errors"
	"strings"
	"testing"

	"meshscope/presets"
	"meshscope/presets/hfconfig"
)

// The fields of published config.json files that say how large a model is.
const (
	llama32 = `{"model_type":"llama","hidden_size":3072,"num_hidden_layers":28,"num_attention_heads":24,"num_key_value_heads":8,"head_dim":128,
		"intermediate_size":8192,"vocab_size":128256,"max_position_embeddings":131072,"tie_word_embeddings":true,"hidden_act":"silu","attention_bias":false,"mlp_bias":false,"torch_dtype":"bfloat16"}`
	neox = `{"model_type":"gpt_neox","hidden_size":6144,"num_hidden_layers":44,"num_attention_heads":64,"intermediate_size":24576,
		"vocab_size":50432,"max_position_embeddings":2048,"tie_word_embeddings":false,"hidden_act":"gelu_fast","use_parallel_residual":true}`
)

// TestAsThePresets: what is read of a checkpoint's file has the parameters of the
// preset that was made from other sources.
func TestAsThePresets(t *testing.T) {
	for id, text := range map[string]string{
		"llama3.2-3b":  llama32,
		"llama3.1-8b":  `{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,"vocab_size":128256,"max_position_embeddings":131072,"hidden_act":"silu","rope_scaling":{"factor":8.0}}`,
		"llama2-7b":    `{"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"intermediate_size":11008,"vocab_size":32000,"max_position_embeddings":4096,"num_key_value_heads":null}`,
		"mistral-7b":   `{"model_type":"mistral","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,"vocab_size":32000,"max_position_embeddings":32768,"hidden_act":"silu","sliding_window":4096}`,
		"mixtral-8x7b": `{"model_type":"mixtral","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,"num_local_experts":8,"num_experts_per_tok":2,"vocab_size":32000,"max_position_embeddings":32768,"sliding_window":null}`,
		"qwen2.5-7b":   `{"model_type":"qwen2","hidden_size":3584,"num_hidden_layers":28,"num_attention_heads":28,"num_key_value_heads":4,"intermediate_size":18944,"vocab_size":152064,"max_position_embeddings":131072,"use_sliding_window":false,"sliding_window":131072}`,
		"qwen3-8b":     `{"model_type":"qwen3","hidden_size":4096,"num_hidden_layers":36,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"intermediate_size":12288,"vocab_size":151936,"max_position_embeddings":40960,"attention_bias":false}`,
		"qwen3-30b-a3b": `{"model_type":"qwen3_moe","hidden_size":2048,"num_hidden_layers":48,"num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"intermediate_size":6144,"num_experts":128,"num_experts_per_tok":8,
			"moe_intermediate_size":768,"decoder_sparse_step":1,"mlp_only_layers":[],"vocab_size":151936,"max_position_embeddings":40960}`,
		"deepseek-v3": `{"model_type":"deepseek_v3","hidden_size":7168,"num_hidden_layers":61,"num_attention_heads":128,"num_key_value_heads":128,"intermediate_size":18432,"moe_intermediate_size":2048,"n_routed_experts":256,
			"n_shared_experts":1,"num_experts_per_tok":8,"n_group":8,"topk_group":4,"first_k_dense_replace":3,"moe_layer_freq":1,"q_lora_rank":1536,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,
			"num_nextn_predict_layers":1,"vocab_size":129280,"max_position_embeddings":163840,"quantization_config":{"fmt":"e4m3"}}`,
		"deepseek-v2-lite": `{"model_type":"deepseek_v2","hidden_size":2048,"num_hidden_layers":27,"num_attention_heads":16,"num_key_value_heads":16,"intermediate_size":10944,"moe_intermediate_size":1408,"n_routed_experts":64,
			"n_shared_experts":2,"num_experts_per_tok":6,"first_k_dense_replace":1,"q_lora_rank":null,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"vocab_size":102400,"max_position_embeddings":32768}`,
		"glm-4.5-air": `{"model_type":"glm4_moe","hidden_size":4096,"num_hidden_layers":46,"num_attention_heads":96,"num_key_value_heads":8,"head_dim":128,"intermediate_size":10944,"moe_intermediate_size":1408,"n_routed_experts":128,
			"n_shared_experts":1,"num_experts_per_tok":8,"first_k_dense_replace":1,"attention_bias":true,"use_qk_norm":false,"num_nextn_predict_layers":1,"vocab_size":151552,"max_position_embeddings":131072}`,
		"gpt2-124m": `{"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12,"n_positions":1024,"n_inner":null,"vocab_size":50257,"activation_function":"gelu_new"}`,
		"gemma2-2b": `{"model_type":"gemma2","hidden_size":2304,"num_hidden_layers":26,"num_attention_heads":8,"num_key_value_heads":4,"head_dim":256,"intermediate_size":9216,"vocab_size":256000,"max_position_embeddings":8192,
			"hidden_activation":"gelu_pytorch_tanh","sliding_window":4096}`,
		"gemma3-4b": `{"model_type":"gemma3","text_config":{"model_type":"gemma3_text","hidden_size":2560,"num_hidden_layers":34,"num_attention_heads":8,"num_key_value_heads":4,"head_dim":256,"intermediate_size":10240,"vocab_size":262208,
			"max_position_embeddings":131072,"sliding_window":1024,"layer_types":["sliding_attention","sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention"]},"vision_config":{"hidden_size":1152}}`,
		"gpt-oss-20b": `{"model_type":"gpt_oss","hidden_size":2880,"num_hidden_layers":24,"num_attention_heads":64,"num_key_value_heads":8,"head_dim":64,"intermediate_size":2880,"num_local_experts":32,"num_experts_per_tok":4,
			"vocab_size":201088,"max_position_embeddings":131072,"sliding_window":128,"attention_bias":true}`,
		"olmo2-7b":   `{"model_type":"olmo2","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":32,"intermediate_size":11008,"vocab_size":100278,"max_position_embeddings":4096}`,
		"smollm3-3b": `{"model_type":"smollm3","hidden_size":2048,"num_hidden_layers":36,"num_attention_heads":16,"num_key_value_heads":4,"intermediate_size":11008,"vocab_size":128256,"max_position_embeddings":65536}`,
	} {
		want, err := presets.Default().Model(id)
		if err != nil {
			t.Fatal(err)
		}
		got, err := hfconfig.Model([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		// All but the labels and the length, which files give differently.
		got.ID, got.Name, got.Family, got.Attention, got.MaxSeq = want.ID, want.Name, want.Family, want.Attention, want.MaxSeq
		if got != want {
			t.Errorf("%s:\n%+v\nwant\n%+v", id, got, want)
		}
	}
}

// TestNeoX: GPT-NeoX-20B has no preset; its authors count 20,554,567,680
// parameters (arXiv 2204.06745).
func TestNeoX(t *testing.T) {
	m, err := hfconfig.Model([]byte(neox))
	if err != nil || m.Total() != 20_554_567_680 || !m.ParallelBlock {
		t.Errorf("%d parameters, %v", m.Total(), err)
	}
}

// gemmaOf returns a Gemma 3 with such layers.
func gemmaOf(kinds ...string) string {
	var words []string
	for _, kind := range kinds {
		words = append(words, `"`+kind+`_attention"`)
	}
	return `{"model_type":"gemma3_text","hidden_size":2560,"num_hidden_layers":34,"num_attention_heads":8,"num_key_value_heads":4,"head_dim":256,` +
		`"intermediate_size":10240,"vocab_size":262208,"max_position_embeddings":131072,"sliding_window":1024,"layer_types":[` + strings.Join(words, ",") + `]}`
}

// TestLayerTypes: the pattern of local and global layers is counted.
func TestLayerTypes(t *testing.T) {
	for _, c := range []struct {
		kinds  []string
		window int
		ratio  string
	}{
		{[]string{"sliding", "sliding", "full", "sliding", "sliding", "full", "sliding"}, 1024, "2:1"},
		{[]string{"full", "full", "full"}, 0, ""},
		{[]string{"sliding", "sliding"}, 1024, ""},
		{nil, 1024, "5:1"},
	} {
		m, err := hfconfig.Model([]byte(gemmaOf(c.kinds...)))
		if err != nil || m.LocalWindow != c.window || m.LocalRatio != c.ratio {
			t.Errorf("%v: window %d, ratio %q, %v", c.kinds, m.LocalWindow, m.LocalRatio, err)
		}
	}
}

// TestRefused: what cannot be counted is refused by name, and everything that is
// missing is said at once.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"unknown architecture":  {`{"model_type":"mamba2","hidden_size":1}`, []string{`model_type "mamba2" is not known`, "llama", "write a preset"}},
		"no config":             {`{"tp":8}`, []string{"no model_type"}},
		"not JSON":              {`hidden: 1`, []string{"not a JSON document"}},
		"text for a number":     {`{"model_type":"llama","hidden_size":"big"}`, []string{"hidden_size", "string"}},
		"two missing":           {`{"model_type":"llama","hidden_size":4096,"num_hidden_layers":2,"num_attention_heads":32,"intermediate_size":8}`, []string{"missing", "max_position_embeddings, vocab_size"}},
		"no key-value heads":    {strings.Replace(strings.Replace(llama32, `"llama"`, `"mistral"`, 1), `"num_key_value_heads":8,`, "", 1), []string{"num_key_value_heads"}},
		"another activation":    {strings.Replace(llama32, "silu", "relu6", 1), []string{`hidden_act "relu6"`}},
		"zero layers":           {strings.Replace(llama32, `"num_hidden_layers":28`, `"num_hidden_layers":0`, 1), []string{"layers is 0"}},
		"heads do not divide":   {strings.Replace(strings.Replace(llama32, `"head_dim":128,`, "", 1), ":24", ":23", 1), []string{"head_dim"}},
		"dense here and there":  {`{"model_type":"qwen3_moe","mlp_only_layers":[3]}`, []string{"mlp_only_layers"}},
		"no pattern of layers":  {gemmaOf("full", "sliding", "full"), []string{"layer_types: layer 2", "sliding_attention"}},
		"two patterns":          {gemmaOf("sliding", "full", "sliding", "sliding", "full"), []string{"layer_types: layer 4"}},
		"an unknown layer":      {gemmaOf("sliding", "chunked"), nil},
		"unsaid query rank":     {`{"model_type":"deepseek_v2"}`, []string{"q_lora_rank is missing: a number, or null"}},
		"text for a query rank": {`{"model_type":"deepseek_v2","q_lora_rank":"x"}`, []string{"q_lora_rank: a whole number or null"}},
		"a window from a layer": {`{"model_type":"qwen2","use_sliding_window":true}`, []string{"use_sliding_window"}},
	} {
		m, err := hfconfig.Model([]byte(c.text))
		if err == nil {
			t.Errorf("%s: accepted as %+v", name, m)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
	var unknown *hfconfig.UnknownError
	if _, err := hfconfig.Model([]byte(`{"model_type":"x"}`)); !errors.As(err, &unknown) {
		t.Errorf("%T", err)
	}
}

// FuzzModel: no file makes the reader panic, and what it takes can be counted.
func FuzzModel(f *testing.F) {
	f.Add([]byte(llama32))
	f.Add([]byte(neox))
	f.Add([]byte(`{"model_type":"gemma3","text_config":{"hidden_size":9}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := hfconfig.Model(data)
		if err == nil && (m.Total() <= 0 || len(m.Check()) > 0) {
			t.Errorf("%d parameters of %+v", m.Total(), m)
		}
	})
}
