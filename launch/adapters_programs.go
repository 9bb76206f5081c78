package launch

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// tuner is a program that is not on the Trainer and trains adapters: its words for them, and what it does
// where its file is silent. A rank above 0 is its switch.
func tuner(id, name string, tunes tuning, words map[string]string) *trainer {
	return &trainer{id: id, name: name, tunes: tunes, words: words, ranked: true}
}

// tunerRows returns the keys of adapters in the program's words.
func (t *trainer) tunerRows() []field {
	var out []field
	for _, row := range t.adapterRows() {
		if to := t.words[row.key]; to != "" {
			row.key, row.write = to, nil
			out = append(out, row)
		}
	}
	return out
}

// mentions gives the words of adapters that change no figure, or what no figure has, below a program's key.
func mentions(words map[string]string, below string) map[string]string {
	for key := range strings.FieldsSeq("lora_alpha lora_dropout") {
		words[key] = below + key
		if strings.HasSuffix(below, "lora.") {
			words[key] = below + strings.TrimPrefix(key, "lora_")
		}
	}
	return words
}

// savedAdapters is the row of adapters that were trained before.
func savedAdapters(key string) field {
	return beyond(key, loraKey, "the rank of saved adapters lies in their files")
}

// verlAdapters are those of verl, whose actor is a model of transformers with peft, in fp32 unless another
// type is asked for (verl/trainer/config/model/hf_model.yaml, verl/workers/fsdp_workers.py).
func verlAdapters(model, engine string) *trainer {
	return tuner("verl", "verl", tuning{targets: "all", fp32: true}, mentions(map[string]string{
		rankKey: model + "lora_rank", targetsKey: model + "target_modules", dtypeKey: engine + "model_dtype",
	}, model))
}

// openRLHFAdapters are those of OpenRLHF, on DeepSpeed (openrlhf/cli/train_sft.py, openrlhf/models/actor.py).
func openRLHFAdapters() *trainer {
	return tuner("openrlhf", "OpenRLHF", tuning{targets: "all"}, mentions(map[string]string{
		rankKey: "ds.lora.rank", targetsKey: "ds.lora.target_modules", in4Bits: "ds.load_in_4bit",
	}, "ds.lora."))
}

// torchtuneAdapters are those of torchtune's models, in the type of the others' weights. Its NF4 has scales
// of 8 bits (torchtune/models/llama3_1/_model_builders.py, torchtune/modules/peft/lora.py).
func torchtuneAdapters() *trainer {
	return tuner("torchtune", "torchtune", tuning{rank: 8}, mentions(map[string]string{
		howKey: "model._component_", rankKey: "model.lora_rank", targetsKey: "model.lora_attn_modules",
		magnitudesKey: "model.use_dora",
	}, "model."))
}

const (
	compileKey    = "compile" // of torchtune, and of a setup
	inBackwardKey = "optimizer_in_bwd"
)

// torchtuneRows returns what torchtune's models take beside the words that others have.
func torchtuneRows() []field {
	const output = "model.apply_lora_to_output"
	return append(torchtuneAdapters().tunerRows(),
		together("model.apply_lora_to_mlp", loraTargetsKey), together("model.quantize_base", baseKey),
		mentioned(output, "adapters of the head are not modelled: it is frozen here"),
		field{key: "loss._component_", from: []string{flat(knob.Loss)}, read: func(v any, r *reader) error {
			switch lastPart(strings.ReplaceAll(fmt.Sprint(v), ".", "/")) {
			case "LinearCrossEntropyLoss", "CEWithChunkedOutputLoss":
				r.Setup[flat(knob.Loss)] = string(recipe.ChunkedLoss)
				return nil
			}
			return skip("of the loss")
		}},
		turns(compileKey, compileKey, true, nil))
}

// torchtuneUpdates reads an optimizer by its class: of torch or of bitsandbytes.
func torchtuneUpdates(v any, r *reader) error {
	class := strings.ToLower(lastPart(strings.ReplaceAll(fmt.Sprint(v), ".", "/")))
	for _, o := range recipe.Optimizers() {
		for _, name := range o.TrainerNames() {
			if class == strings.ReplaceAll(name, "_", "") {
				r.Setup[flat(knob.Optimizer)] = string(o)
				return nil
			}
		}
	}
	return updates("").read(v, r)
}

// torchtuneTunes derives which weights torchtune trains: its functions that build a model say it.
func torchtuneTunes(r *reader) {
	t, component := torchtuneAdapters(), r.values["model._component_"]
	name := lastPart(strings.ReplaceAll(fmt.Sprint(component.Value), ".", "/"))
	how := "full"
	on := func(key string) bool {
		is, err := isOn(r.values[key].Value)
		return r.said(key) && is && err == nil
	}
	switch {
	case strings.HasPrefix(name, "qlora_"), strings.HasPrefix(name, "lora_") && on("model.quantize_base"):
		how = "qlora"
	case strings.HasPrefix(name, "lora_"):
		how = "lora"
	}
	if how == "full" { // whose function takes no words of adapters
		return
	}
	if on(inBackwardKey) {
		delete(r.Setup, flat(knob.InBackward))
		t.noEffect(r, "its recipes of adapters do not read it", inBackwardKey)
	}
	modules, key := r.values[t.word(targetsKey)], t.word(targetsKey)
	words := listOf(modules.Value)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "output_proj", "o_proj")
	}
	if on("model.apply_lora_to_mlp") {
		words = append(words, "gate_proj", "up_proj", "down_proj")
	}
	component.Value, modules.Value = how, words
	r.values[t.word(howKey)] = component
	if len(words) > 0 {
		r.values[key] = Entry{Key: key, Value: strings.Join(words, ","), Line: modules.Line}
	}
	t.adapts(r)
}

// torchtuneActivationsKey is its switch by which what the backward reads goes to the host.
const torchtuneActivationsKey = "enable_activation_offloading"

// torchtuneOffloads takes what is in host memory.
func torchtuneOffloads(r *reader) {
	const weights = "fsdp_cpu_offload"
	if on, err := isOn(r.values[weights].Value); r.said(weights) && on && err == nil {
		if r.Setup[flat(knob.Offload)] = string(recipe.OffloadWeights); r.Setup[flat(knob.ZeRO)] == 0 {
			r.onHostWithoutShards(weights)
		}
	}
	r.hostActivations(torchtuneActivationsKey, false)
}

// torchtuneStack gives what trains in bf16 alone the stack whose operations are counted, with its loss and
// its compiler, which are not modelled elsewhere.
func torchtuneStack(r *reader) {
	const why = "torchtune keeps weights, gradients and moments in bf16"
	over := r.amid.given.Over
	precision := cmp.Or(strings.ToLower(over["precision"]), fmt.Sprint(r.Setup["precision"]))
	one := func(key string) bool { return cmp.Or(over[key], strconv.Itoa(r.number(key, 1))) == "1" }
	if precision == string(recipe.BF16) && one("tp") && one("cp") {
		switch r.Setup["optimizer"] {
		case nil:
		case string(recipe.Adam):
			r.Setup["optimizer"] = string(recipe.AdamNoMaster)
		default:
			r.assume(flat(knob.WeightDtype), string(recipe.WeightsBF16), why)
		}
		r.assume(flat(knob.Calibration), string(recipe.PyTorch), why)
		return
	}
	reason := "modelled in bf16 alone, without tp and cp"
	if !r.said("dtype") && over["precision"] == "" {
		reason += ": the file has no dtype"
	}
	for key, of := range map[string]string{
		"loss._component_": flat(knob.Loss), compileKey: compileKey, inBackwardKey: flat(knob.InBackward),
	} {
		if r.Setup[of] != nil {
			delete(r.Setup, of)
			torchtuneAdapters().noEffect(r, reason, key)
		}
	}
	r.plainOffload(recipe.PyTorch)
	r.plainOptimizer(recipe.Optimizer(fmt.Sprint(r.Setup[flat(knob.Optimizer)])))
	if precision == string(recipe.BF16) && !r.lost["optimizer"] {
		r.Ignored = append(r.Ignored, Ignored{
			Key: "dtype", Why: "weights, gradients and moments are all kept in bf16, which is not modelled " +
				"with tp or cp: the memory is that of fp32 moments and a master copy",
			Line: r.values["dtype"].Line,
		})
	}
}
