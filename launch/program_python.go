package launch

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// readPython reads a Python file of a program whose recipes are functions: what is literal in them counts.
// False where it has none.
func readPython(data []byte, given Given) (Reading, bool) {
	file := parsePython(data)
	imports := func(module string) bool {
		return regexp.MustCompile(`(?m)^\s*(?:from|import) ` + regexp.QuoteMeta(module) + `\b`).Match(data)
	}
	switch {
	case imports("nemo.collections.llm") && file.function("pretrain_recipe") != nil:
		return nemoPython(&file, given), true
	case imports("olmo_core"):
		return olmoCorePython(&file, given)
	case imports("torchtitan") && strings.Contains(string(data), "-> Trainer.Config") &&
		!importLine.MatchString(firstLine(data, importLine)):
		return titanRegistry(&file, given), true
	case imports("transformers"), imports("trl"), imports("peft"):
		return trainerPython(data, given)
	}
	return Reading{}, false
}

// firstLine returns the first line that a form matches; empty: none.
func firstLine(data []byte, form *regexp.Regexp) string {
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); form.MatchString(line) {
			return line
		}
	}
	return ""
}

// nemoVariant finds what a recipe's name has behind that of the model.
var nemoVariant = regexp.MustCompile(`_(?:\d+k|1m|performance|finetune)$`)

// nemoPython reads a recipe of NeMo 2: what its trainer has by default, and what pretrain_recipe changes.
func nemoPython(file *pyFile, given Given) Reading {
	keys := map[string]string{
		"tensor_parallelism":           "tensor-model-parallel-size",
		"pipeline_parallelism":         "pipeline-model-parallel-size",
		"virtual_pipeline_parallelism": "num-virtual-stages-per-pipeline-rank",
		"context_parallelism":          "context-parallel-size",
		"expert_parallelism":           "expert-model-parallel-size",
		"sequence_parallelism":         "sequence-parallel", "num_nodes": "trainer.num_nodes",
		"num_gpus_per_node": "trainer.devices", "seq_length": "seq-length",
		"global_batch_size": "global-batch-size", "micro_batch_size": "micro-batch-size",
		"recompute_granularity": "recompute-granularity", "recompute_method": "recompute-method",
		"recompute_num_layers": "recompute-num-layers",
	}
	f := nemo()
	name := strings.Trim(file.constants["NAME"], `"'`)
	stem := nemoVariant.ReplaceAllString(name, "")
	var entries []Entry
	for _, known := range recipesOf(nemoTable) {
		if known.name == stem {
			entries = append(entries, Entry{Key: "recipe", Value: stem})
		}
	}
	for _, of := range []string{"trainer", "pretrain_recipe"} {
		fn := file.function(of)
		if fn == nil {
			continue
		}
		names := map[string]string{}
		for _, p := range fn.params {
			names[p.key] = p.value
		}
		all := append(file.entries(fn.params, nil, keys), file.entries(fn.body, names, keys)...)
		for _, e := range all {
			switch e.Value.(type) {
			case bool, int:
				e.Value = fmt.Sprint(e.Value)
			case nil: // none of it
			case string:
				if !strings.HasPrefix(e.Key, "recompute") {
					continue
				}
			default:
				continue
			}
			entries = append(entries, e)
		}
		for _, called := range fn.calls {
			switch {
			case called == "bf16_mixed":
				entries = append(entries, Entry{Key: "trainer.precision", Value: "bf16-mixed"})
			case strings.HasPrefix(called, "distributed_fused_adam"):
				entries = append(entries, Entry{Key: "model.optim.name", Value: "distributed_fused_adam"})
			}
		}
	}
	last := lastOf(entries)
	entries = slices.DeleteFunc(entries, func(e Entry) bool { return last[e.Key].Line != e.Line })
	for i := range entries {
		if entries[i].Key == "trainer.num_nodes" || entries[i].Key == "trainer.devices" {
			entries[i].Value = numberOf(fmt.Sprint(entries[i].Value))
		}
	}
	r := f.of(entries, nil, amid{given: given})
	r.Ignored = append(r.Ignored, Ignored{
		Key: name, Why: "the pretraining of the recipe is read, without performance_mode; " +
			"finetune_recipe is not",
	})
	return r
}

// olmoCore returns the figures of a script of OLMo-core.
func olmoCore() form {
	const name = "OLMo-core"
	f := form{
		id: "olmo-core", name: name, source: "allenai/OLMo-core@fa6c5014 (src/scripts/official)",
		rows: []field{
			named("model"), count("sequence_length", knob.Seq), together("global_batch_size", "gbs"),
			together("rank_microbatch_size", "mbs"), formats("param_dtype"),
			together("dp", "zero"), together("shard_degree", "hsdp"), together("num_replicas", "hsdp"),
			{key: "recompute", from: []string{flat(knob.Recompute)}, read: func(v any, r *reader) error {
				text, _ := v.(string)
				if text != "full" {
					return foreign(shown(v) + " is not modelled")
				}
				r.Setup[flat(knob.Recompute)] = string(recipe.RecomputeFull)
				return nil
			}},
			count("tp", knob.TP), count("cp", knob.CP), count("pp", knob.PP), count("ep", knob.EP),
		},
	}
	f.finish = func(r *reader) {
		seq := r.number("seq", 0)
		for key, to := range map[string]string{"global_batch_size": "gbs", "rank_microbatch_size": "mbs"} {
			n, err := wholeNumber(r.values[key].Value, 1)
			switch {
			case !r.said(key) || r.lost[to]:
			case err != nil || seq == 0 || n%seq != 0:
				r.lost[to] = true
				r.unknown(to, shown(r.values[key].Value)+" tokens are no whole sequences", r.values[key].Line)
			default:
				r.Setup[to] = n / seq
			}
		}
		if kind := r.text("dp"); kind != "" {
			stage := 3
			if strings.HasSuffix(kind, "ddp") {
				stage = 0
			}
			r.Setup["zero"] = stage
			if n, err := wholeNumber(r.values["shard_degree"].Value, 1); strings.HasSuffix(kind, "hsdp") {
				if r.lost["hsdp"] = true; err == nil {
					r.shard = n
				}
				r.unknown("hsdp", "replicas follow from the number of GPUs", r.values["dp"].Line)
			}
		}
		noPipes(r, name)
		r.without(name, map[string]any{
			"recompute": string(recipe.RecomputeNone),
			"optimizer": string(recipe.Adam),
		})
	}
	return f
}

// olmoCorePython reads a script of OLMo-core by what is literal in it.
func olmoCorePython(file *pyFile, given Given) (Reading, bool) {
	keys := map[string]string{
		"sequence_length": "sequence_length", "SEQUENCE_LENGTH": "sequence_length",
		"global_batch_size": "global_batch_size", "rank_microbatch_size": "rank_microbatch_size",
		"param_dtype": "param_dtype", "shard_degree": "shard_degree", "num_replicas": "num_replicas",
	}
	var entries []Entry
	for i := range file.functions {
		fn := &file.functions[i]
		names := map[string]string{}
		for _, p := range fn.body {
			if _, had := names[p.key]; !had && !strings.Contains(p.key, ".") {
				names[p.key] = p.value
			}
		}
		for _, e := range file.entries(fn.body, names, keys) {
			if text, ok := e.Value.(string); ok { // DType.bfloat16
				e.Value = text[strings.LastIndexByte(text, '.')+1:]
			}
			entries = append(entries, e)
		}
		for _, w := range fn.words {
			at := Entry{Value: w.value, Line: w.line}
			switch {
			case w.key == "DataParallelType":
				at.Key = "dp"
			case strings.HasSuffix(w.key, "ActivationCheckpointingMode"):
				if at.Key = "recompute"; w.maybe {
					at.Value = unresolved("what the program finds while it runs")
				}
			default:
				continue
			}
			entries = append(entries, at)
		}
		for _, c := range fn.calls {
			if of, ok := strings.CutPrefix(c, "TransformerConfig."); ok {
				entries = append(entries, Entry{Key: "model", Value: strings.ReplaceAll(of, "_", "-")})
			}
			class, _, _ := strings.Cut(c, ".")
			if to := map[string]string{
				"TransformerTensorParallelConfig": "tp", "TransformerContextParallelConfig": "cp",
				"TransformerPipelineParallelConfig": "pp", "TransformerExpertParallelConfig": "ep",
			}[class]; to != "" {
				entries = append(entries, Entry{Key: to, Value: unresolved("the degree of its " + class)})
			}
		}
	}
	if !slices.ContainsFunc(entries, func(e Entry) bool { return e.Key == "rank_microbatch_size" }) {
		return Reading{}, false // parts that scripts share
	}
	for key, e := range lastOf(entries) { // one that may be changed is not known
		if _, waits := e.Value.(unresolved); waits {
			entries = slices.DeleteFunc(entries, func(o Entry) bool {
				return o.Key == key &&
					o.Line != e.Line
			})
		}
	}
	f := olmoCore()
	return f.of(entries, nil, amid{given: given}), true
}

// lastOf returns the last entry of each key.
func lastOf(entries []Entry) map[string]Entry {
	out := map[string]Entry{}
	for _, e := range entries {
		out[e.Key] = e
	}
	return out
}

// titanRegistry reads a recipe function of torchtitan's own: the one that is named after --, or the only one.
func titanRegistry(file *pyFile, given Given) Reading {
	var names []string
	for i := range file.functions {
		names = append(names, file.functions[i].name)
	}
	if len(names) == 0 {
		return failed("torchtitan", errors.New("no recipe function"))
	}
	if len(names) == 1 && len(given.Args) == 0 {
		given.Args = names
	}
	if len(given.Args) != 1 || file.function(given.Args[0]) == nil {
		return failed("torchtitan", fmt.Errorf("%d recipe functions: name one after --, such as -- %s; "+
			"they are %s",
			len(names), names[len(names)-1], strings.Join(names, ", ")))
	}
	keys := map[string]string{"activation_checkpoint": "config.activation_checkpoint"}
	f := titanMain()
	for _, row := range f.rows {
		keys[row.key[strings.LastIndexByte(row.key, '.')+1:]] = row.key
	}
	delete(keys, "recipe")
	delete(keys, "def")
	var entries []Entry
	name := given.Args[0]
	seen := map[*pyFunction]bool{}
	for fn := file.function(name); fn != nil; {
		seen[fn] = true
		entries = append(file.entries(fn.body, nil, keys), entries...)
		next := (*pyFunction)(nil)
		for _, c := range fn.calls { // that it starts from
			if of := file.function(c); of != nil && !seen[of] && next == nil {
				next = of
			}
		}
		fn = next
	}
	for i := range entries {
		if text, ok := entries[i].Value.(string); ok && entries[i].Key == "config.activation_checkpoint" {
			entries[i].Value = call(text + "()")
		}
	}
	for _, of := range flavors() {
		if of.recipe == name {
			entries = append([]Entry{{Key: "recipe", Value: of.folder + "." + of.recipe}}, entries...)
		}
	}
	r := f.of(slices.DeleteFunc(merged(entries), func(e Entry) bool { return e.Key == "" }), nil,
		amid{given: given})
	return r
}
