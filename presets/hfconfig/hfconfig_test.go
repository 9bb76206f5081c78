package hfconfig_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
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
		if err != nil || slices.Contains([]string{
			"LGAI-EXAONE/EXAONE-4.0-1.2B", // its card gives the windows to the 32B alone
			"mosaicml/mpt-7b",             // the preset is the benchmark of llm-foundry
		}, p.Name) {
			continue
		}
		// All but the labels, the length, which files give differently, the base of rotary positions, which
		// presets do not have, and the modules for multi-token prediction, which they count only where they
		// are published.
		got := r.Model
		got.RopeTheta, got.RopeScaling, got.RopeFactor, got.NormEps = 0, "", 0, 0
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
