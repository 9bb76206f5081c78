package launch

import (
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/ledger"
	"meshscope/engine/memory"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
)

// tuning is what a program does of adapters where its file is silent.
type tuning struct {
	by      string // which weights it trains; empty: all
	who     string // whose defaults these are; empty: the program's
	rank    int    // 0: it has no default
	targets string // "all", ofPeft, or empty: it has no default
	single  bool   // scales of 4 bits are fp32 unless double quantisation is asked for
	fp32    bool   // frozen weights are loaded in fp32 unless another type is asked for
}

// ofPeft is the default of peft, which has one for some families of models.
const ofPeft = "peft"

// Keys of adapters by the Trainer's words, and what they give.
const (
	howKey, peftKey                    = "finetuning_type", "use_peft"
	rankKey, targetsKey, linearKey     = "lora_r", "lora_target_modules", "lora_target_linear"
	bitsKey, in4Bits, in8Bits          = "quantization_bit", "load_in_4bit", "load_in_8bit"
	doubleKey, kindKey, quantisedByKey = "double_quantization", "quantization_type", "quantization_method"
	dtypeKey, pureKey                  = "torch_dtype", "pure_bf16"
	magnitudesKey                      = "use_dora"

	loraKey, loraTargetsKey, baseKey, doraKey = "lora", "lora_targets", "base_dtype", "dora"
)

// word returns the program's word for one of the Trainer's.
func (t *trainer) word(key string) string {
	if to := t.words[key]; to != "" {
		return to
	}
	return key
}

// is reports whether it is one of some programs.
func (t *trainer) is(ids ...string) bool { return slices.Contains(ids, t.id) }

// adapterRows returns the keys of adapters and of weights in fewer bits.
func (t *trainer) adapterRows() []field {
	row := func(key, of string, write func(s *engine.Setup) (any, bool)) field {
		return field{key: key, from: []string{of}, read: part, write: write}
	}
	// on returns what writes true where some setups of some programs have adapters
	on := func(where func(*engine.Setup) bool, ids ...string) func(*engine.Setup) (any, bool) {
		return func(s *engine.Setup) (any, bool) {
			return true, t.is(ids...) && s.Frozen() && where(s)
		}
	}
	base := func(of recipe.BaseDtype) func(*engine.Setup) bool {
		return func(s *engine.Setup) bool { return s.BaseDtype == of }
	}
	rows := []field{
		row(howKey, loraKey, func(s *engine.Setup) (any, bool) {
			how := "full"
			if s.Frozen() {
				how = "lora"
			}
			if s.BaseDtype == recipe.BaseNF4 && t.id == "axolotl" {
				how = "qlora"
			}
			return how, t.id == "llama-factory" || t.id == "axolotl" && s.Frozen()
		}),
		row(peftKey, loraKey, on(always, "trl")),
		row(rankKey, loraKey, func(s *engine.Setup) (any, bool) { return int(s.Rank), s.Frozen() }),
		row(linearKey, loraTargetsKey, on(everyProduct, "axolotl")),
		row(targetsKey, loraTargetsKey, func(s *engine.Setup) (any, bool) {
			return t.modules(s), s.Frozen() && (t.id != "axolotl" || !everyProduct(s))
		}),
		{
			key: magnitudesKey, from: []string{doraKey}, read: readMagnitudes,
			write: func(s *engine.Setup) (any, bool) { return true, s.Frozen() && s.DoRA },
		},
		row(in4Bits, baseKey, on(base(recipe.BaseNF4), "axolotl", "trl")),
		row(in8Bits, baseKey, on(base(recipe.BaseInt8), "axolotl", "trl")),
		row(bitsKey, baseKey, func(s *engine.Setup) (any, bool) {
			bits := map[recipe.BaseDtype]int{recipe.BaseNF4: 4, recipe.BaseInt8: 8}[s.BaseDtype]
			return bits, t.id == "llama-factory" && s.Frozen() && bits > 0
		}),
		row(doubleKey, baseKey, on(base(recipe.BaseNF4), "trl")),
		{
			key: dtypeKey, why: "of the weights as they are loaded", from: []string{flat(knob.Precision)},
			read: part, write: func(s *engine.Setup) (any, bool) {
				word := map[recipe.Precision]string{
					recipe.BF16: "bfloat16",
					recipe.FP16: "float16",
				}[s.Precision]
				return word, t.id == "trl" && s.Frozen() && word != ""
			},
		},
	}
	for key := range strings.FieldsSeq(kindKey + " " + quantisedByKey + " bits use_4bit use_8bit") {
		rows = append(rows, row(key, baseKey, nil))
	}
	for _, key := range adapterSwitches()[1:] {
		rows = append(rows, row(key, loraKey, nil))
	}
	return append(append(rows, t.ligerRows()...), tuningNotes()...)
}

// adapterSwitches are what scripts call the switch of adapters; those with a q have 4 bits below them.
func adapterSwitches() []string {
	return []string{peftKey, "use_lora", "lora_enable", "q_lora", "use_qlora"}
}

// everyProduct reports whether every product has adapters.
func everyProduct(s *engine.Setup) bool { return s.Targets == "" || s.Targets == "all" }

// modules returns the products with adapters as the program names them.
func (t *trainer) modules(s *engine.Setup) any {
	if everyProduct(s) {
		return map[bool]string{true: "all", false: "all-linear"}[t.id == "llama-factory"]
	}
	names := []any{}
	for _, p := range s.TargetsOf(productsOf(s)) {
		names = append(names, p+"_proj")
	}
	if t.id == "llama-factory" {
		return strings.Join(listOf(names), ",")
	}
	return names
}

// productsOf returns the products of a setup's model that can have adapters.
func productsOf(s *engine.Setup) []string {
	class := ""
	if stack, ok := memory.For(s.Stack); ok {
		class = memory.Class(&s.Model, stack)
	}
	code, err := ledger.CodeOf(class)
	if err != nil {
		return nil
	}
	return ledger.Targets(model.Lay(&s.Model, nil), code)
}

// adapterRules returns what its file cannot ask for of adapters.
func (t *trainer) adapterRules() []Rule {
	// without sharding, and with every weight trained
	may := func(s *engine.Setup) bool { return s.ZeRO == 0 && s.Precision == recipe.BF16 && !s.Frozen() }
	low := func(s *engine.Setup) bool { return t.id == "axolotl" && may(s) }
	return outsideSearch(refusesWith("optimizer", knob.Optimizer, t.source, func(s *engine.Setup) bool {
		return !t.optimizes(s.Optimizer)
	}, func(s *engine.Setup) string {
		return string(s.Optimizer) + " is no optimizer of the Trainer (accepted: " + t.optimizers() + ")"
	}), refusesWith("weight-dtype", knob.WeightDtype, t.source, func(s *engine.Setup) bool {
		if s.WeightDtype == recipe.WeightsBF16 && t.id == "llama-factory" && may(s) { // pure_bf16
			return false
		}
		return s.Stack.Traits().Ledger && (s.WeightDtype == recipe.WeightsBF16) != low(s)
	}, func(s *engine.Setup) string {
		if low(s) {
			return "axolotl loads weights in bf16, and without sharding nothing copies them in fp32 " +
				"(accepted: bf16)"
		}
		return "its file asks for weights in fp32, or for copies of them (accepted: fp32)"
	}), refuses("base-dtype", "base-dtype", t.source, "the Trainer trains no adapters on weights in fp8, of "+
		"which transformers has no backward (accepted: bf16, int8, nf4)", func(s *engine.Setup) bool {
		return s.BaseDtype == recipe.BaseFP8
	}), refuses("lora-targets", "lora-targets", t.source,
		"the products of GPT-2 have names of their own: all of them alone",
		func(s *engine.Setup) bool {
			return s.Frozen() && !everyProduct(s) && s.Model.Position == model.PositionLearned
		}))
}

// tuningNotes returns keys that are named, since no figure has what they change; or since they change none.
func tuningNotes() []field {
	var out []field
	for _, n := range [...]struct{ keys, why string }{
		{
			"lora_modules_to_save modules_to_save additional_target peft_trainable_token_indices " +
				"trainable_token_indices", "these are trained whole beside the adapters, which is not " +
				"modelled: " +
				"they are frozen here, without gradients and moments",
		},
		{"lora_bias train_bias", "biases that are trained are not modelled: they are frozen here"},
		{
			"lora_rank_pattern rank_pattern peft_layers_to_transform layers_to_transform " +
				"peft_layer_replication",
			"ranks of some layers are not modelled: every layer has the same here",
		},
		{
			"lora_target_parameters target_parameters",
			"adapters of parameters that are no linear layers, such as experts, are not modelled: there " +
				"are none",
		},
		{"relora relora_prune_ratio", "ReLoRA is not modelled: the adapters stay what they are"},
		{
			"lora_dropout", "dropout before adapters is not modelled: its masks and its copies of inputs " +
				"are " +
				"not counted",
		},
		{
			"use_rslora peft_use_rslora lora_alpha", "scales what adapters add: no figure depends on it",
		},
		{
			"loraplus_lr_ratio loraplus_lr_embedding lorap_lr_ratio",
			"LoRA+ has learning rates of its own: no figure depends on it",
		},
		{
			"pissa_init pissa_iter pissa_convert init_lora_weights peft_init_lora_weights init_weights " +
				"peft.loftq_config.loftq_bits", "where adapters begin: no figure depends on it",
		},
		{
			"liger_rope liger_rms_norm liger_glu_activation liger_swiglu use_unsloth",
			"its kernels are not modelled: operation by operation here",
		},
		{"torch_compile", "torch.compile of a model of transformers is not modelled: eager code here"},
		{"lora_on_cpu", "of loading, not of a step"},
	} {
		for key := range strings.FieldsSeq(n.keys) {
			out = append(out, mentioned(key, n.why))
		}
	}
	for key := range strings.FieldsSeq("unfrozen_parameters freeze_parameters freeze_parameters_regex " +
		"freeze_parameters_ratio trainable_parameters trainable_parameters_regex freeze_llm use_llama_pro") {
		row := beyond(key, loraKey, "some weights alone are trained, "+otherTuning, 0.0, "")
		read := row.read
		row.read = func(v any, r *reader) error {
			if list, ok := v.([]any); ok && len(list) > 0 { // of names
				v = strings.Join(listOf(list), ",")
			}
			return read(v, r)
		}
		out = append(out, row)
	}
	return out
}

// mentioned returns the row of a key that changes what no setup has.
func mentioned(key, why string) field {
	return field{key: key, read: func(v any, _ *reader) error {
		list, isList := v.([]any)
		if isList && len(list) == 0 ||
			!isList && slices.Contains([]any{nil, false, 0, 0.0, "", "none", "null"}, v) {
			return skip("changes nothing")
		}
		return uncarried(why)
	}}
}

// otherTuning is why it is not known what is trained.
const otherTuning = "which is not modelled: the figures are those of training every weight"

// folded joins the items of lists of words to one value each, as a command line has them.
func folded(keys func(key string) bool) func(entries []Entry, _ *amid) []Entry {
	return func(entries []Entry, _ *amid) []Entry {
		var out []Entry
		for _, e := range entries {
			at := strings.LastIndexByte(e.Key, '.')
			if at < 0 || !keys(e.Key[:at]) {
				out = append(out, e)
				continue
			}
			if _, err := strconv.Atoi(e.Key[at+1:]); err != nil {
				out = append(out, e)
				continue
			}
			name := e.Key[:at]
			if n := len(out) - 1; n >= 0 && out[n].Key == name {
				if list, ok := out[n].Value.([]any); ok {
					out[n].Value = append(list, e.Value)
					continue
				}
			}
			out = append(out, Entry{Key: name, Value: []any{e.Value}, Line: e.Line})
		}
		return out
	}
}
