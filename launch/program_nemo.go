package launch

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
)

const nemoSource = "NVIDIA/NeMo@8cfedd72 (examples/nlp/language_modeling/conf/megatron_gpt_config.yaml, " +
	"nemo/collections/llm/recipes)"

// nemo returns NeMo: the YAML of its first version with Hydra's overrides, and the recipes and overrides of
// its second.
func nemo() form {
	const name = "NeMo"
	f := form{
		id: "nemo", name: name, source: nemoSource, parse: parseYAML, overrides: true,
		keys: func(has func(string) bool) bool {
			of := func(under string) bool {
				return has(under+"model.tensor_model_parallel_size") || has(under+"model.micro_batch_size") ||
					has(under+"model.encoder_seq_length") || has(under+"model.peft") &&
					has(under+"model.data")
			}
			return has("trainer") && of("") || has("training.model") && of("training.")
		},
		starts: func(words []string, _ map[string]bool) bool {
			return startsWith("nemo", "llm")(words, nil) || slices.ContainsFunc(words, func(w string) bool {
				return nemoScript.MatchString(path.Base(w)) || strings.HasPrefix(w, "training=") ||
					strings.HasPrefix(w, "trainer.strategy.")
			})
		},
		core: []string{
			"model.", "training.model.", "trainer.strategy.ddp.", "trainer.strategy.",
			"model.config.", "data.", "optim.config.", "model.optim.",
		},
		rename: map[string]string{
			"virtual_pipeline_model_parallel_size": "num-virtual-stages-per-pipeline-rank",
			"encoder_seq_length":                   "seq-length", "num_moe_experts": "num-experts",
			"activations_checkpoint_granularity": "recompute-granularity",
			"activations_checkpoint_method":      "recompute-method",
			"activations_checkpoint_num_layers":  "recompute-num-layers",
			"training.trainer.devices":           "trainer.devices",
			"training.trainer.num_nodes":         "trainer.num_nodes",
			"training.trainer.precision":         "trainer.precision",
			"num_layers_in_first_pipeline_stage": "decoder-first-pipeline-num-layers",
			"num_layers_in_last_pipeline_stage":  "decoder-last-pipeline-num-layers",
			"ub_tp_comm_overlap":                 "tp-comm-overlap", "fp8": "fp8", "factory": "recipe",
			"trainer.strategy.pipeline_dtype": "pipeline_dtype",
			"training.model.optim.name":       "model.optim.name", "training.model.fsdp": "model.fsdp",
			"training.model.peft.peft_scheme":  "model.peft.peft_scheme",
			"training.model.fp8":               "model.fp8",
			"training.model.restore_from_path": "model.restore_from_path",
		},
		asides: map[string]string{
			"model.": "not of a layout", "training.": "not of a layout",
			"trainer.": "of the run, not of a layout", "exp_manager.": "of the run, not of a layout",
			"hydra.": "of the run, not of a layout", "run.": "of the run, not of a layout",
			"data.": "of the data", "model.data.": "of the data", "log.": "of the run, not of a layout",
			"optim.":       "of the optimizer, not of a layout",
			"model.optim.": "of the optimizer, not of a layout",
		},
		prepare: nemoBase, finish: finishNeMo,
	}
	f.rows = []field{
		together("recipe", "model"), named("model.restore_from_path"), together("trainer.devices", "gpus"),
		together("trainer.num_nodes", "gpus"), formats("trainer.precision"),
		{key: "model.optim.name", from: []string{"zero", "optimizer"}, read: func(v any, r *reader) error {
			text, _ := v.(string)
			if !strings.Contains(text, "adam") && text != "mcore_distributed_optim" {
				return foreign(shown(v) + " is not modelled")
			}
			r.Setup["optimizer"], r.Setup["zero"] = string(recipe.Adam), 0
			if strings.Contains(text, "distributed") {
				r.Setup["zero"] = 1
			}
			return nil
		}},
		beyond("model.fsdp", "zero", "FSDP of PyTorch under Megatron is not modelled"),
		beyond("trainer.strategy.fsdp", "zero", "it is not modelled"),
		beyond("model.fp8", flat(knob.Precision), "fp8 with delayed scaling is not modelled"),
		beyond("model.peft.peft_scheme", flat(knob.Optimizer), tunesAdapters, "none", "null"),
		beyond("peft", flat(knob.Optimizer), tunesAdapters, "none", "null"),
		{
			key: "model.activation", from: []string{modelPrefix + "activation"},
			read: func(v any, r *reader) error {
				word := strings.TrimPrefix(fmt.Sprint(v), "fast-")
				is, ok := map[string]string{
					"swiglu": "swiglu", "gelu": "gelu", "geglu": "geglu",
					"squared-relu": "squared-relu",
				}[word]
				if !ok {
					return foreign(shown(v) + " is not modelled")
				}
				r.Setup[modelPrefix+"activation"] = is
				return nil
			},
		},
		word("model.normalization", modelPrefix+"norm", nil, [2]string{model.NormRMS, "rmsnorm"},
			[2]string{model.NormLayer, "layernorm"}, [2]string{model.NormLayer, "layernorm1p"}).unwritten(),
		word("model.position_embedding_type", modelPrefix+"pos_embedding", nil, [2]string{"rope", "rope"},
			[2]string{model.PositionLearned, "learned_absolute"}).unwritten(),
		{
			key: "model.share_embeddings_and_output_weights", from: []string{modelPrefix + "tied_embeddings"},
			read: func(v any, r *reader) error {
				on, err := isOn(v)
				r.Setup[modelPrefix+"tied_embeddings"] = on
				return err
			},
		},
		{
			key: "model.bias", from: []string{modelPrefix + "mlp_bias", modelPrefix + "attn_bias"},
			read: func(v any, r *reader) error {
				if on, err := isOn(v); err == nil && !on {
					r.Setup[modelPrefix+"mlp_bias"], r.Setup[modelPrefix+"attn_bias"] = false, model.BiasNone
				}
				return nil
			},
		},
		together("tokenizer-type"),
	}
	for i := range f.rows { // the launcher of the framework has them below training
		if rest, ok := strings.CutPrefix(f.rows[i].key, "model."); ok {
			f.rename["training.model."+rest] = "model." + rest
		}
	}
	f.rename["model.tokenizer.type"], f.rename["training.model.tokenizer.type"] = "tokenizer-type",
		"tokenizer-type"
	for _, row := range megatronFields() {
		if row.read != nil && !slices.ContainsFunc(f.rows, func(f field) bool { return f.key == row.key }) {
			f.rows = append(f.rows, row)
		}
	}
	return f
}

// nemoScript finds the scripts that train with its first version.
var nemoScript = regexp.MustCompile(
	`^megatron_(?:gpt|llama|mamba|t5|retro)_?` +
		`(?:pretraining|continue_training|finetuning|sft|peft_tuning)\w*\.py$`,
)

// factoryForm finds a recipe with its arguments: llama3_8b(num_nodes=2).
var factoryForm = regexp.MustCompile(`^(\w+)(?:\((.*)\))?$`)

// nemoBase puts what a recipe sets, or the file that a command line begins with, before its own keys.
func nemoBase(entries []Entry, around *amid) []Entry {
	var base []Entry
	folder, file := ".", ""
	for i := range entries {
		e := &entries[i]
		text, ok := e.Value.(string)
		switch {
		case !ok:
		case e.Key == "factory" || e.Key == "recipe":
			m := factoryForm.FindStringSubmatch(text)
			if m == nil {
				continue
			}
			e.Value = m[1]
			for _, r := range recipesOf(nemoTable) {
				if r.name == m[1] {
					base = r.sets
				}
			}
			for argument := range strings.SplitSeq(m[2], ",") {
				key, value, _ := strings.Cut(argument, "=")
				if to := map[string]string{
					"num_nodes":         "trainer.num_nodes",
					"num_gpus_per_node": "trainer.devices",
				}[strings.TrimSpace(key)]; to != "" {
					base = append(slices.Clone(base),
						Entry{
							Key: to, Value: typed(shellField{text: strings.TrimSpace(value)}),
							Line: e.Line,
						})
				}
			}
		case e.Key == "config_path":
			folder = text
		case e.Key == "config_name":
			file = strings.TrimSuffix(text, ".yaml") + ".yaml"
		case e.Key == "training":
			file = text + ".yaml"
		}
	}
	if file != "" {
		if data, ok := []byte(nil), false; around.given.Source != nil {
			if data, ok = around.given.Source(path.Join(folder, file)); ok {
				base, _ = parseYAML(data)
				for i := range base {
					base[i].Line = 0
				}
			}
		}
		if base == nil {
			around.script.anyFlags = firstOf(around.script.anyFlags, file)
			around.open = around.script.anyFlags
		}
	}
	given := map[string]bool{}
	for _, e := range entries {
		given[e.Key] = true
		given["off"] = given["off"] || strings.HasSuffix(e.Key, "model.cpu_offloading") && e.Value == false
	}
	entries = slices.DeleteFunc(entries,
		func(e Entry) bool {
			return given["off"] && strings.HasSuffix(e.Key, "model.cpu_offloading_num_layers")
		})
	base = slices.DeleteFunc(slices.Clone(base), func(e Entry) bool { return given[e.Key] })
	return append(base, entries...)
}

// finishNeMo derives what its keys mean together.
func finishNeMo(r *reader) {
	if text := r.text("recipe"); text != "" {
		found := false
		for _, known := range recipesOf(nemoTable) {
			if known.name == text {
				r.assume("model", known.model, "of the recipe "+text)
				found = true
			}
		}
		if !found && r.open == "" {
			r.open = "what the recipe " + text + " sets is not known here"
		}
	}
	if !r.lost["gpus"] {
		r.gpusOf("trainer.num_nodes", "trainer.devices", 0, 0)
	}
	r.Ignored = slices.DeleteFunc(r.Ignored,
		func(i Ignored) bool { return i.Key == "trainer.devices" && i.Why == unknownKey })
	defaults := map[string]any{"optimizer": string(recipe.Adam)}
	if r.said("recipe") {
		defaults["precision"], defaults["dp_overlap"] = string(recipe.BF16), "on"
	}
	for key, why := range map[string]string{
		"precision": "the file has no trainer.precision",
		"zero":      "the file has no model.optim.name",
	} {
		if _, said := r.Setup[key]; !said && !r.said("recipe") && !r.lost[key] {
			r.lost[key] = true
			r.unknown(key, why, 0)
			r.guess(key, map[string]any{"precision": string(recipe.BF16), "zero": 1}[key])
		}
	}
	if r.Setup["gbs"] == nil && !r.lost["gbs"] {
		r.lost["microbatches"] = true
	}
	r.finishMegatron(&dialect{id: "nemo", name: "NeMo", defaults: defaults})
}

// nemoTable has the recipes of its library whose layouts are plain (nemo/collections/llm/recipes of
// 8cfedd72): what trainer and pretrain_recipe have by default.
const nemoTable = `
deepseek_v2 deepseek-v2 tp=1 pp=4 ep=32 trainer.num_nodes=16 trainer.devices=8 seq=4096 gbs=512 mbs=1
  recompute=full
deepseek_v2_lite deepseek-v2-lite tp=1 ep=8 trainer.num_nodes=1 trainer.devices=8 seq=4096 gbs=512 mbs=1
gemma2_27b gemma2-27b tp=8 pp=2 cp=1 trainer.num_nodes=2 trainer.devices=8 seq=4096 gbs=32 mbs=2
gemma2_2b gemma2-2b tp=2 pp=1 cp=1 trainer.num_nodes=1 trainer.devices=8 seq=4096 gbs=32 mbs=2
gemma2_9b gemma2-9b tp=8 pp=1 cp=1 trainer.num_nodes=1 trainer.devices=8 seq=4096 gbs=32 mbs=2
gemma3_1b gemma3-1b tp=1 pp=1 cp=1 trainer.num_nodes=1 trainer.devices=8 seq=8192 gbs=512 mbs=1
gpt3_175b gpt3-175b tp=4 pp=8 vpp=6 cp=1 sp=true trainer.num_nodes=1 trainer.devices=8 seq=2048 gbs=2048 mbs=2
llama2_7b llama2-7b tp=2 pp=1 cp=1 trainer.num_nodes=1 trainer.devices=8 seq=4096 gbs=512 mbs=1
llama31_405b llama3.1-405b tp=8 pp=8 vpp=2 cp=4 sp=true trainer.num_nodes=1 trainer.devices=8 seq=8192
  gbs=512 mbs=1 embedding=true loss=true
llama31_70b llama3.1-70b tp=4 pp=4 vpp=5 cp=2 sp=true trainer.num_nodes=1 trainer.devices=8 seq=8192 gbs=512
  mbs=1
llama31_8b llama3.1-8b tp=1 pp=1 cp=2 trainer.num_nodes=1 trainer.devices=8 seq=8192 gbs=512 mbs=1
llama32_1b llama3.2-1b tp=1 pp=1 cp=1 trainer.num_nodes=1 trainer.devices=8 seq=8192 gbs=512 mbs=1
llama32_3b llama3.2-3b tp=1 pp=1 cp=1 trainer.num_nodes=1 trainer.devices=8 seq=8192 gbs=512 mbs=1
llama3_70b llama3-70b tp=4 pp=4 vpp=5 cp=2 sp=true trainer.num_nodes=1 trainer.devices=8 seq=8192 gbs=512
  mbs=1
llama3_8b llama3-8b tp=1 pp=1 cp=2 trainer.num_nodes=1 trainer.devices=8 seq=8192 gbs=512 mbs=1
mistral_7b mistral-7b tp=1 pp=1 cp=2 trainer.num_nodes=1 trainer.devices=8 seq=4096 gbs=512 mbs=1
mistral_nemo_12b mistral-nemo-12b tp=2 pp=1 cp=2 sp=true trainer.num_nodes=1 trainer.devices=8 seq=8192
  gbs=512 mbs=1
mixtral_8x22b mixtral-8x22b tp=2 pp=4 vpp=14 cp=2 ep=8 sp=true trainer.num_nodes=16 trainer.devices=8
  seq=4096 gbs=512 mbs=1
mixtral_8x7b mixtral-8x7b tp=1 pp=4 vpp=8 cp=1 ep=8 trainer.num_nodes=8 trainer.devices=8 seq=4096 gbs=512
  mbs=1
nemotron3_22b nemotron3-22b tp=2 pp=4 vpp=10 cp=1 trainer.num_nodes=1 trainer.devices=8 seq=4096 gbs=32 mbs=1
nemotron3_8b nemotron3-8b tp=2 pp=1 cp=1 trainer.num_nodes=1 trainer.devices=8 seq=4096 gbs=32 mbs=2
nemotron4_15b nemotron4-15b tp=4 pp=1 cp=1 sp=true trainer.num_nodes=1 trainer.devices=8 seq=4096 gbs=32 mbs=2
nemotron4_340b nemotron4-340b tp=8 pp=12 vpp=8 cp=2 sp=true trainer.num_nodes=768 trainer.devices=8 seq=4096
  gbs=2304 mbs=1
nemotron_nano_9b_v2 nemotron-nano-9b-v2 tp=2 pp=1 cp=1 sp=true trainer.num_nodes=8 trainer.devices=8 seq=8192
  gbs=768 mbs=1
qwen25_32b qwen2.5-32b tp=8 pp=2 cp=1 trainer.num_nodes=2 trainer.devices=8 seq=4096 gbs=32 mbs=2
qwen25_72b qwen2.5-72b tp=8 pp=4 cp=1 trainer.num_nodes=4 trainer.devices=8 seq=4096 gbs=32 mbs=2
qwen25_7b qwen2.5-7b tp=2 pp=1 cp=1 trainer.num_nodes=1 trainer.devices=8 seq=4096 gbs=32 mbs=2
qwen3_14b qwen3-14b tp=8 pp=1 cp=1 ep=1 trainer.num_nodes=1 trainer.devices=8 seq=4096 gbs=32 mbs=2
qwen3_235b_a22b qwen3-235b-a22b tp=4 pp=16 cp=2 ep=8 sp=true trainer.num_nodes=16 trainer.devices=8 seq=4096
  gbs=32 mbs=1 embedding=true loss=true
qwen3_30b_a3b qwen3-30b-a3b tp=4 pp=2 cp=1 ep=4 sp=true trainer.num_nodes=1 trainer.devices=8 seq=4096 gbs=32
  mbs=2 recompute=full
qwen3_32b qwen3-32b tp=8 pp=2 cp=1 ep=1 trainer.num_nodes=2 trainer.devices=8 seq=4096 gbs=32 mbs=2
  recompute=full
qwen3_8b qwen3-8b tp=4 pp=1 cp=1 ep=1 trainer.num_nodes=1 trainer.devices=8 seq=4096 gbs=32 mbs=2
`
