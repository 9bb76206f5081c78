package hfconfig_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine_test/shared"
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

// published is a config.json of a public model with the number of its parameters and where that
// comes from.
type published struct {
	Name       string          `json:"name"`
	Parameters int64           `json:"parameters"`
	Source     string          `json:"source"`
	Config     json.RawMessage `json:"config"`
}

// configs returns those of testdata, which have the keys and gaps of the files on the hub.
func configs(t *testing.T) []published {
	t.Helper()
	data, err := os.ReadFile("testdata/configs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []published
	for line := range strings.Lines(string(data)) {
		var p published
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// TestConfigs: public models have exactly their number of parameters, every key of their files
// is known, and those with a preset, made from other sources, have its figures.
func TestConfigs(t *testing.T) {
	all, kinds := configs(t), map[string]bool{}
	for _, p := range all {
		r := hfconfig.Read(p.Config)
		for _, problem := range r.Problems {
			t.Errorf("%s: %v", p.Name, problem)
		}
		if len(r.Problems) > 0 {
			continue
		}
		if got := r.Model.Total(); got != p.Parameters || p.Source == "" {
			t.Errorf("%s: %d parameters, want %d (%s)", p.Name, got, p.Parameters, p.Source)
		}
		kinds[r.Model.Family] = true
		for _, k := range r.Ignored {
			if strings.Contains(k.Why, "no key that is known") {
				t.Errorf("%s: %s is not known", p.Name, k.Name)
			}
		}
		want, err := presets.Default().Model(p.Name)
		if err != nil {
			continue
		}
		// All but the labels, the length, which files give differently, the base of rotary positions, which
		// presets do not have, and the modules for multi-token prediction, which they count only where they
		// are published.
		got := r.Model
		got.RopeTheta, got.RopeScaling, got.RopeFactor = 0, "", 0
		got.ID, got.Name, got.Family, got.Attention, got.MaxSeq, got.MTPLayers = want.ID, want.Name,
			want.Family, want.Attention, want.MaxSeq, want.MTPLayers
		if got != want {
			t.Errorf("%s:\n%+v\nwant\n%+v", p.Name, got, want)
		}
	}
	if len(all) < 60 || len(kinds) < 40 {
		t.Errorf("%d configs of %d families", len(all), len(kinds))
	}
}

// notRead are the models of families that are refused by name, and why.
var notRead = map[string]string{}

// TestFamilies: of 50 public models of 2024 to 2026 those whose layers are of known kinds have exactly their
// number of parameters without encoders and prediction modules; the others are refused by name.
func TestFamilies(t *testing.T) {
	data, err := os.ReadFile(shared.Path(t, "families.md"))
	if err != nil {
		t.Fatal(err)
	}
	want, active, mtp, encoders := map[string]int64{}, map[string]float64{}, map[string]int64{},
		map[string]int64{}
	for _, row := range regexp.MustCompile(
		`(?m)^\| (\S+/\S+) \([a-z0-9_]+\) \| ([0-9,]+) \| (?:([0-9.]+) B|all)[^|]*\| ([0-9,]+|-) \| ([0-9,]+|-) `,
	).FindAllStringSubmatch(string(data), -1) {
		want[row[1]], _ = strconv.ParseInt(strings.ReplaceAll(row[2], ",", ""), 10, 64)
		mtp[row[1]], _ = strconv.ParseInt(strings.ReplaceAll(row[4], ",", ""), 10, 64)
		encoders[row[1]], _ = strconv.ParseInt(strings.ReplaceAll(row[5], ",", ""), 10, 64)
		active[row[1]], _ = strconv.ParseFloat(row[3], 64)
	}
	read, refused := 0, 0
	for line := range strings.Lines(string(data)) {
		var p published
		if !strings.HasPrefix(line, `{"name"`) || json.Unmarshal([]byte(line), &p) != nil {
			continue
		}
		r := hfconfig.Read(p.Config)
		switch err := r.Err(); {
		case err == nil && r.Model.Total() != want[p.Name]:
			t.Errorf("%s: %d parameters, want %d", p.Name, r.Model.Total(), want[p.Name])
		case err == nil:
			if of := active[p.Name]; of > 0 && math.Abs(float64(r.Model.Active())/(1e9*of)-1) > 0.005 {
				t.Errorf("%s: %d active parameters, want %g B", p.Name, r.Model.Active(), of)
			}
			others := map[string]int64{}
			for _, b := range r.OtherParts {
				others[b.Name] = b.Parameters
			}
			if of := others["multi-token prediction"]; of != mtp[p.Name] {
				t.Errorf("%s: %d parameters of prediction modules, want %d", p.Name, of, mtp[p.Name])
			}
			of := others["tables that send tokens to experts"]
			if p.Name == "deepseek-ai/DeepSeek-V4-Flash" && of != 2_327_040 {
				t.Errorf("%s: tables of %d numbers", p.Name, of)
			}
			if of := others["encoder (vision_config)"]; of != encoders[p.Name] {
				t.Errorf("%s: an encoder of %d parameters, want %d", p.Name, of, encoders[p.Name])
			}
			read++
		case notRead[p.Name] == "" || !strings.Contains(err.Error(), "is not known"):
			t.Errorf("%s: %v", p.Name, err)
		default:
			t.Logf("%s is not read: %s", p.Name, notRead[p.Name])
			refused++
		}
	}
	if len(want) != 50 || read+refused != 50 || read < 24 {
		t.Errorf("%d rows; %d models are read and %d refused", len(want), read, refused)
	}
	t.Logf("%d models are read, %d are of kinds of layers that are not known", read, refused)
}

// TestAccounted: every key of a file is understood, ignored for a reason or a problem, with its
// line; what the file leaves out has its source.
func TestAccounted(t *testing.T) {
	r := hfconfig.Read([]byte("{\n \"model_type\": \"gemma3\",\n \"text_config\": {\n  " +
		"\"num_hidden_layers\": 34, \"hidden_size\": 2560,\n  \"intermediate_size\": 10240,\n  " +
		"\"sliding_window\": 1024, \"odd\": 3\n },\n \"vision_config\": {},\n \"strange\": [1]\n}"))
	if len(r.Problems) > 0 || r.Model.Total() != 3_880_263_168 {
		t.Fatalf("%d parameters, %v", r.Model.Total(), r.Problems)
	}
	lines, assumed := map[string]int{}, map[string]string{}
	for _, k := range r.Understood {
		lines[k.Name], assumed[k.Name] = k.Line, k.Assumed
		if len(k.Fields) == 0 {
			t.Errorf("%s gives nothing", k.Name)
		}
	}
	if lines["text_config.hidden_size"] != 4 || lines["text_config.sliding_window"] != 6 ||
		lines["model_type"] != 2 {
		t.Errorf("lines %v", lines)
	}
	if want := "not in the file; default of Gemma3TextConfig, transformers@008f5c8c"; assumed["vocab_size"] != want || assumed["text_config.hidden_size"] != "" {
		t.Errorf("vocab_size: %q, want %q", assumed["vocab_size"], want)
	}
	whys := map[string]string{}
	for _, k := range r.Ignored {
		whys[k.Name] = k.Why
	}
	for key, want := range map[string]string{
		"text_config.odd": "no key that is known",
		"vision_config":   "not of the language model", "strange": "outside the language model",
	} {
		if !strings.Contains(whys[key], want) {
			t.Errorf("%s: %q, want %q", key, whys[key], want)
		}
	}
}

// gemmaOf returns a Gemma 3 with such layers.
func gemmaOf(kinds ...string) string {
	var words []string
	for _, kind := range kinds {
		words = append(words, `"`+kind+`_attention"`)
	}
	layers, list := 34, ""
	if len(kinds) > 0 {
		layers, list = len(kinds), `,"layer_types":[`+strings.Join(words, ",")+`]`
	}
	return fmt.Sprintf(`{"model_type":"gemma3_text","hidden_size":2560,"num_hidden_layers":%d,"num_attention_heads":8,"num_key_value_heads":4,"head_dim":256,`+
		`"intermediate_size":10240,"vocab_size":262208,"max_position_embeddings":131072,"sliding_window":1024%s}`, layers, list)
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
		r := hfconfig.Read([]byte(gemmaOf(c.kinds...)))
		m, err := r.Model, r.Err()
		if err != nil || m.LocalWindow != c.window || m.LocalRatio != c.ratio {
			t.Errorf("%v: window %d, ratio %q, %v", c.kinds, m.LocalWindow, m.LocalRatio, err)
		}
	}
}

// mla is a DeepSeek-V3 file with another text in place of one.
func mla(old, with string) string {
	return strings.Replace(`{"model_type":"deepseek_v3","hidden_size":7168,
"q_lora_rank":1536,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,
"n_routed_experts":256,"num_experts_per_tok":8}`, old, with, 1)
}

// sparse is a small model of sparse attention with keys more, kimi one of Kimi Delta Attention with lists of
// layers, late one of more layers than have letters.
func sparse(more ...string) string {
	return string(small("deepseek_v32", append([]string{
		"n_routed_experts=8", "num_experts_per_tok=2",
		"moe_intermediate_size=32", "first_k_dense_replace=1", "q_lora_rank=24", "kv_lora_rank=16",
		"qk_nope_head_dim=8", "qk_rope_head_dim=8", "v_head_dim=8", "n_shared_experts=1",
	}, more...)...))
}

func kimi(kda, full string) string {
	text := `linear_attn_config={"num_heads":4,"head_dim":16,"short_conv_kernel_size":4`
	if kda != "" {
		text += `,"kda_layers":` + kda
	}
	if full != "" {
		text += `,"full_attn_layers":` + full
	}
	return string(small("kimi_linear", text+"}", "num_experts=8", "num_experts_per_token=2",
		"moe_intermediate_size=32", "first_k_dense_replace=1", "num_shared_experts=1", "kv_lora_rank=16",
		"qk_nope_head_dim=8", "qk_rope_head_dim=8", "v_head_dim=8", "q_lora_rank=null"))
}

func late(kind string, more ...string) string {
	return string(small(kind, append(more, "num_hidden_layers=1060")...))
}

// TestSharedSelections: which layers choose their tokens, and that an offset which the file lacks is said.
func TestSharedSelections(t *testing.T) {
	for _, c := range []struct {
		text, pattern, assumed string
	}{
		{sparse(), "D", ""},
		{sparse("index_topk_freq=1"), "D", ""},
		{sparse("index_topk_freq=4", "num_hidden_layers=9", "index_skip_topk_offset=3"), "DDDRRR", ""},
		{sparse("index_topk_freq=2", "index_skip_topk_offset=0"), "DR", ""},
		{sparse("index_topk_freq=2", "index_skip_topk_offset=1"), "DR", ""},
		{sparse("index_topk_freq=2"), "DR", "layer 1 chooses and every index_topk_freq-th after it"},
		{
			strings.Replace(sparse("index_topk_freq=2"), "deepseek_v32", "glm_moe_dsa", 1), "DDR",
			"default of GlmMoeDsaConfig",
		},
		{sparse(`indexer_types=["full","full","shared","full"]`, "index_topk_freq=9"), "DDR", ""},
	} {
		r := hfconfig.Read([]byte(c.text))
		assumed := ""
		for _, k := range r.Understood {
			if k.Name == "index_skip_topk_offset" {
				assumed = k.Assumed
			}
		}
		all := strings.Repeat(r.Model.Pattern, 9)
		if err := r.Err(); err != nil || !strings.HasPrefix(all, c.pattern) ||
			(assumed == "") != (c.assumed == "") || !strings.Contains(assumed, c.assumed) {
			t.Errorf("%s: %s, assumed %q, %v", c.text, r.Model.Pattern, assumed, err)
		}
	}
	// the list of full layers alone tells the others
	if m := hfconfig.Read([]byte(kimi("", "[4]"))).Model; m.Pattern != "KKK*" {
		t.Errorf("kimi: %s", m.Pattern)
	}
}

// TestNearest: the nearest known type has the keys and words of the file, not the first name of the alphabet.
func TestNearest(t *testing.T) {
	for kind, want := range map[string]string{"odd": "llama", "mllama": "llama", "open_mistral": "mistral"} {
		text := string(small(kind, `hidden_act="silu"`, "attention_bias=false", "mlp_bias=false"))
		var unknown *hfconfig.UnknownError
		if r := hfconfig.Read([]byte(text)); !errors.As(r.Err(), &unknown) || unknown.Nearest != want {
			t.Errorf("%s: %v, want %s", kind, r.Err(), want)
		}
	}
	bert := string(small("bert", `hidden_act="gelu"`, "num_key_value_heads-=", "type_vocab_size=2"))
	var unknown *hfconfig.UnknownError
	if r := hfconfig.Read([]byte(bert)); !errors.As(r.Err(), &unknown) || unknown.Nearest != "gpt_neox" {
		t.Errorf("bert: %v", r.Err())
	}
}

// TestPredictionModulesOfSubLayers: one of attention and a mixture is of the model, another is named.
func TestPredictionModulesOfSubLayers(t *testing.T) {
	for of, modules := range map[string]int{
		`mtp_layers_block_type=null`:                2,
		`mtp_hybrid_override_pattern="*E"`:          2,
		`mtp_hybrid_override_pattern="M"`:           0,
		`mtp_layers_block_type=["attention","moe"]`: 2,
		`mtp_layers_block_type=["mamba","moe"]`:     0,
	} {
		r := hfconfig.Read(small("nemotron_h", "num_hidden_layers=2", `hybrid_override_pattern="*E"`,
			"head_dim=16", "n_routed_experts=8", "num_experts_per_tok=2", "moe_intermediate_size=32",
			"n_shared_experts=1", "moe_shared_expert_intermediate_size=48", "num_nextn_predict_layers=2", of))
		if r.Err() != nil || r.Model.MTPLayers != modules || len(r.OtherParts) != 1 ||
			(r.OtherParts[0].Parameters == 0) != (modules == 0) {
			t.Errorf("%s: %d modules, %+v, %v", of, r.Model.MTPLayers, r.OtherParts, r.Err())
		}
	}
}

// TestOtherPartsBeyondAnyModel: an encoder of the largest widths has no parameters that wrap around.
func TestOtherPartsBeyondAnyModel(t *testing.T) {
	n := "16777216"
	keys := ""
	for _, key := range []string{
		"depth", "hidden_size", "intermediate_size", "patch_size",
		"temporal_patch_size", "spatial_merge_size", "out_hidden_size", "num_position_embeddings",
	} {
		keys += `,"` + key + `":` + n
	}
	text := `{"model_type":"qwen3_vl","text_config":` + string(small("qwen3_vl_text")) +
		`,"vision_config":{` + keys[1:] + `}}`
	r := hfconfig.Read([]byte(text))
	if err := r.Err(); err != nil || len(r.OtherParts) != 1 || r.OtherParts[0].Parameters != 0 {
		t.Errorf("%+v, %v", r.OtherParts, err)
	}
	empty := hfconfig.Read([]byte(`{"model_type":"qwen3_vl","text_config":{"model_type":"qwen3_vl_text"}}`))
	if empty.Lacking() == nil {
		t.Error("a language model without sizes has those of its class")
	}
}

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
		"experts, then none": {`{"model_type":"glm4_moe_lite","num_hidden_layers":3,"mlp_layer_types":["dense","sparse","odd"]}`, []string{`mlp_layer_types: layer 3 is "odd"; allowed: dense, sparse, moe`}},
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
		"a list that is short": {`{"model_type":"granitemoehybrid","num_hidden_layers":8,"layer_types":["attention"]}`, []string{"layer_types: 1 layers, where num_hidden_layers is 8"}},
		"part of a layer": {
			`{"model_type":"exaone4","sliding_window_pattern":4.7}`,
			[]string{"sliding_window_pattern: 4.7: a whole number"},
		},
		"a list of patterns": {
			`{"model_type":"exaone4","sliding_window_pattern":[4]}`,
			[]string{"sliding_window_pattern: a whole number or letters"},
		},
		"a bias without others": {`{"model_type":"seed_oss","attention_bias":false,"attention_out_bias":true}`, []string{"attention_out_bias: true without attention_bias"}},
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
			[]string{`line 2, column 18: architectures: "MixtralForCausalLM" is a class of mixtral, but model_type is llama`},
		},
		"not worked out": {
			`{"model_type":"hy_v3","hidden_size":8}`,
			[]string{`model_type "hy_v3" is known by name, but its layers are not worked out; nearest known: `},
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

// TestLarge: a file of many keys and lines is read, each key with its line; counting the lines anew
// for each key took minutes.
func TestLarge(t *testing.T) {
	var text strings.Builder
	text.WriteString(`{"model_type":"llama"`)
	for i := range 5_000 {
		fmt.Fprintf(&text, ",\n\"k%d\": %q", i, strings.Repeat("x", 200))
	}
	text.WriteString("}")
	r := hfconfig.Read([]byte(text.String()))
	if len(r.Problems) > 0 || len(r.Ignored) != 5_000 || r.Ignored[4_999].Line != 5_001 {
		t.Errorf("%d ignored, %v", len(r.Ignored), r.Problems)
	}
	text.WriteString(strings.Repeat(" ", hfconfig.MaxBytes-text.Len()))
	if r = hfconfig.Read([]byte(text.String())); len(r.Problems) > 0 {
		t.Errorf("at the limit: %v", r.Problems)
	}
	r = hfconfig.Read([]byte(text.String() + " "))
	if len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Error(), "longer than 8388608 bytes") {
		t.Errorf("beyond the limit: %v", r.Problems)
	}
}

// TestDefaults: a file that leaves all out is the model that its class makes, as the library does.
func TestDefaults(t *testing.T) {
	for kind, want := range map[string]int64{
		"gpt2": 124_439_808, "gpt_neox": 20_554_567_680,
		"gpt_oss": 116_829_156_672, "mistral": 7_241_732_096, "gemma": 8_537_680_896,
		"llama4": 107_769_861_120,
	} {
		r := hfconfig.Read([]byte(`{"model_type":"` + kind + `"}`))
		if len(r.Problems) > 0 || r.Model.Total() != want || !strings.Contains(r.Assumed(), "vocab_size") {
			t.Errorf("%s: %d parameters, want %d, %v", kind, r.Model.Total(), want, r.Problems)
		}
	}
}

// TestNested: the language model inside another one counts, under either name, in files of version
// 4 and 5 of the library alike.
func TestNested(t *testing.T) {
	for _, text := range []string{
		`{"model_type":"internvl_chat","llm_config":{"model_type":"qwen3","hidden_size":4096,"intermediate_size":12288,"num_hidden_layers":36,"num_key_value_heads":8,"torch_dtype":"bfloat16","rope_theta":1e6}}`,
		`{"model_type":"x","text_config":{"model_type":"qwen3","hidden_size":4096,"intermediate_size":12288,"num_hidden_layers":36,"num_key_value_heads":8,"dtype":"bfloat16","rope_parameters":{"rope_theta":1e6}}}`,
	} {
		r := hfconfig.Read([]byte(text))
		if len(r.Problems) > 0 || r.Model.Total() != 8_190_735_360 || r.Model.Family != "qwen3" {
			t.Errorf("%d parameters of %s, %v", r.Model.Total(), r.Model.Family, r.Problems)
		}
	}
}

// FuzzModel: no file makes the reader panic, what it takes can be counted, and every key is
// accounted for once.
func FuzzModel(f *testing.F) {
	f.Add([]byte(llama32))
	f.Add([]byte(neox))
	f.Add([]byte(mla("", "")))
	f.Add([]byte(gemmaOf("sliding", "full")))
	f.Add([]byte(`{"model_type":"gemma3","text_config":{"hidden_size":9}}`))
	f.Add([]byte(`{"model_type":"llama4_text","moe_layers":[0,1,3],"no_rope_layers":[1,0,0]}`))
	f.Add([]byte(`{"model_type":"qwen3_moe","decoder_sparse_step":2,"mlp_only_layers":[]}`))
	f.Add([]byte(`{"model_type":"hunyuan_v1_moe","num_experts":64,"moe_topk":[8,8],"num_shared_expert":[1]}`))
	f.Add([]byte(`{"model_type":"exaone4","sliding_window_pattern":"LLLG"}`))
	for _, kind := range []string{
		"falcon", "mpt", "opt", "gemma4_text", "step3p5", "step3_text",
		"longcat_flash", "mimo_v2", "jamba", "falcon_h1", "afmoe", "exaone_moe", "dbrx",
	} {
		f.Add(small(kind, "num_experts=8", "num_experts_per_tok=2", "moe_intermediate_size=32",
			"share_q_dim=8", "moe_layers_enum=[1,3]", "hybrid_layer_pattern=[0,1,1,0]",
			"hidden_size_per_layer_input=0"))
	}
	f.Add([]byte(`{"model_type":"granitemoehybrid","layer_types":["attention"],"num_local_experts":0}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := hfconfig.Read(data)
		if len(r.Problems) == 0 && (r.Model.Total() <= 0 || len(r.Model.Check()) > 0) {
			t.Errorf("%d parameters of %+v", r.Model.Total(), r.Model)
		}
		seen := map[string]bool{}
		for _, k := range r.Ignored {
			if seen[k.Name] {
				t.Errorf("%q is ignored twice", k.Name)
			}
			seen[k.Name] = true
		}
	})
}
