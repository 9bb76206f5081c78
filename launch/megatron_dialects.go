package launch

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"

	"meshscope/engine/recipe"
	"meshscope/presets"
)

// dialect is a program that takes the flags of Megatron-LM with some of its own, and defaults of its own.
type dialect struct {
	id, name string
	source   string
	// is reports whether a command is one of it, by its words and its flags.
	is       func(words []shellField, flags map[string]bool) bool
	defaults map[string]any // by flat key
	rows     []field        // before those of Megatron-LM
}

// dialects lists them; the first that knows a command counts.
func dialects() []dialect {
	full := func(key string) field { return mark(key, "recompute", string(recipe.RecomputeFull), never) }
	named := func(key string) field {
		return field{key: key, from: []string{"model"}, read: readModelName}
	}
	starts := func(words []shellField, program string, subs ...string) bool {
		at := slices.IndexFunc(words, func(f shellField) bool { return path.Base(f.text) == program })
		return at >= 0 && at+1 < len(words) && slices.Contains(subs, words[at+1].text)
	}
	return []dialect{
		{
			id: "ms-swift", name: "ms-swift",
			source: "modelscope/ms-swift@3602360a: swift/megatron/arguments/megatron_args.py",
			is: func(words []shellField, _ map[string]bool) bool {
				return starts(words, "megatron", "pt", "sft", "rlhf", "rm", "gkd")
			},
			defaults: map[string]any{
				"zero": 1, "precision": string(recipe.BF16), "mbs": 1, "gbs": 16, "dp_overlap": "off",
				"recompute": string(recipe.RecomputeSelective), "attention": string(recipe.Flash),
			},
			rows: []field{
				named("model"), numberField("max-length", "seq", nil, never).unwritten(),
				{key: "train-type", from: []string{"optimizer"}, read: fineTuned},
				{key: "tuner-type", from: []string{"optimizer"}, read: fineTuned},
			},
		},
		{
			id: "slime", name: "slime",
			source: "THUDM/slime@624b824a: slime/backends/megatron_utils/arguments.py:153-157",
			is: func(_ []shellField, flags map[string]bool) bool {
				return flags["actor-num-nodes"] || flags["rollout-batch-size"] && flags["colocate"]
			},
			defaults: map[string]any{"zero": 1, "precision": string(recipe.BF16)},
			rows: []field{
				{key: "actor-num-nodes", from: []string{"gpus"}, read: part},
				{key: "actor-num-gpus-per-node", from: []string{"gpus"}, read: part},
				{key: "rollout-batch-size", read: rollout},
				{key: "n-samples-per-prompt", read: rollout},
				{key: "rollout-num-gpus-per-engine", read: rollout},
				{key: "rollout-max-response-len", read: rollout},
				{key: "rollout-num-gpus", read: rollout},
				{key: "sglang-mem-fraction-static", read: rollout},
			},
		},
		{
			id: "megatron-deepspeed", name: "Megatron-DeepSpeed",
			source: "deepspeedai/Megatron-DeepSpeed@4efb479d: megatron/arguments.py",
			is: func(words []shellField, flags map[string]bool) bool {
				return slices.ContainsFunc([]string{
					"deepspeed", "deepspeed-config", "zero-stage",
					"checkpoint-activations", "num-key-value-heads", "ds-sequence-parallel-size",
					"no-pipeline-parallel", "deepspeed-activation-checkpointing",
				},
					func(key string) bool { return flags[key] })
			},
			rows: []field{
				{key: "pp-partition-method", from: []string{"split"}, read: func(v any, r *reader) error {
					if text, _ := v.(string); strings.Contains(text, "embedding") { // which count as layers
						for _, key := range []string{
							"account-for-loss-in-pipeline-split",
							"account-for-embedding-in-pipeline-split",
						} {
							r.values[key] = Entry{Key: key}
						}
					}
					return nil
				}},
				numberField("pad-vocab-size-to", modelPrefix+"vocab", nil, never).unwritten(),
				numberField("zero-stage", "zero", nil, never).unwritten(),
				mark("cpu-optimizer", "offload", string(recipe.OffloadOptimizer), never),
				{
					key: "num-experts", from: []string{modelPrefix + "n_experts"},
					read: func(v any, _ *reader) error {
						if n, err := wholeArgument(v, 1); err == nil && n == 1 {
							return skip("one: a dense model")
						}
						return foreign(shown(v) + ": experts in every --expert-interval layer are not read")
					},
				},
				{key: "deepspeed", from: []string{"zero"}, alone: true, read: func(_ any, r *reader) error {
					if _, said := r.Setup["zero"]; said {
						return skip("starts the file's layout")
					}
					return foreign("its JSON says what is sharded")
				}},
				full("checkpoint-activations"), full("deepspeed-activation-checkpointing"),
				{key: "ds-sequence-parallel-size", from: []string{"cp", "cp_comm"}, read: func(v any,
					r *reader,
				) error {
					n, err := wholeArgument(v, 1)
					if err != nil {
						return err
					}
					return readUlysses(n, r)
				}},
			},
		},
	}
}

// keyValueHeads reads the heads of keys and values, which Megatron-DeepSpeed has a flag of its own for.
func keyValueHeads() field {
	f := numberField("num-key-value-heads", modelPrefix+"kv_heads", nil, never).unwritten()
	return f
}

// rollout is why what an actor generates is not read.
func rollout(any, *reader) error {
	return skip("of the rollout, which is not read: the training part is")
}

// fineTuned reads which weights are trained.
func fineTuned(v any, _ *reader) error {
	if text, ok := v.(string); ok && text == "full" {
		return skip("all of it")
	}
	return foreign(shown(v) + ": " + tunesAdapters)
}

// tunesAdapters is why the state of the optimizer is not known: that of adapters alone is no knob.
const tunesAdapters = "adapters are trained, which are not modelled: the figures are those of training " +
	"every weight"

// readModelName reads a model by its name, where it is one of the presets.
func readModelName(v any, r *reader) error {
	if id := modelNamed(v); id != "" {
		r.Setup["model"] = id
		return nil
	}
	return foreign(shown(v) + " is no preset: --model takes the folder of its config.json")
}

// modelNamed returns the preset of a model that a file names, such as meta-llama/Llama-3.1-8B-Instruct;
// empty: none.
func modelNamed(v any) string {
	text, _ := v.(string)
	if text == "" {
		return ""
	}
	return presetNames()[plainName(lastPart(text))]
}

// presetNames are the presets by their names without what does not tell them apart.
//
//nolint:gochecknoglobals // made once, then only read
var presetNames = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, m := range presets.Default().Models() {
		for _, name := range []string{m.Name, m.ID} {
			if key := plainName(name); key != "" && out[key] == "" {
				out[key] = m.ID
			}
		}
	}
	return out
})

// plainName returns a name without its kind of tuning, and without case and signs.
func plainName(name string) string {
	name = strings.ToLower(name)
	for again := true; again; {
		again = false
		for _, end := range []string{
			"-hf", "-instruct", "-base", "-chat", "-it", "-pt", "-v0.1", "-v0.3",
			"-2507", "-bf16", "-fp16",
		} {
			if rest, ok := strings.CutSuffix(name, end); ok {
				name, again = rest, true
			}
		}
	}
	name = strings.TrimPrefix(strings.TrimPrefix(name, "meta-"), "deepseek-ai-")
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return -1
	}, name)
}

// dialectFields returns the flags that some program takes.
func dialectFields() []field {
	out := append(megatronFields(), keyValueHeads())
	for _, d := range dialects() {
		out = append(out, d.rows...)
	}
	return out
}

// dialectOf returns whose command it is; nil: Megatron-LM's.
func dialectOf(s *script, words *training, entries []Entry) *dialect {
	flags := map[string]bool{}
	for _, e := range entries {
		flags[e.Key] = true
	}
	all := dialects()
	for i := range all {
		if all[i].is(slices.Concat(words.starter, words.args), flags) {
			s.ignored = append(s.ignored,
				Ignored{Key: "launcher", Why: all[i].name + ", whose defaults count (" + all[i].source + ")"})
			return &all[i]
		}
	}
	return nil
}

// readDialect reads flags of Megatron-LM, or of a program with some of its own.
func readDialect(of *dialect, s *script, entries []Entry) *reader {
	rows := megatronFields()
	if of != nil {
		rows = slices.Concat(of.rows, rows, []field{keyValueHeads()})
	}
	for i := range entries { // Pai-Megatron-Patch, megatron_patch/arguments.py
		entries[i].Key = cmp.Or(map[string]string{
			"qk-nope-head-dim": "qk-head-dim", "qk-rope-head-dim": "qk-pos-emb-head-dim",
		}[entries[i].Key], entries[i].Key)
	}
	entries = slices.DeleteFunc(merged(entries), func(e Entry) bool { return e.Key == "" })
	r := readEntriesWith("megatron", rows, entries, amid{open: s.anyFlags})
	abbreviated(r, rows)
	return r
}

// merged returns the entries of keys that are given more than once as one each: the last one counts, and one
// that may be there or not makes it one of several.
func merged(entries []Entry) []Entry {
	last := map[string]int{}
	out := slices.Clone(entries)
	for i, e := range out {
		if at, twice := last[e.Key]; twice {
			before := out[at]
			if why, waits := e.Value.(unresolved); waits && strings.HasPrefix(string(why), whether) &&
				before.Value != e.Value {
				if had, also := before.Value.(unresolved); !also || !strings.HasPrefix(string(had), whether) {
					out[i].Value = unresolved(string(why) + " (else " + shown(before.Value) + ")")
				}
			}
		}
		last[e.Key] = i
	}
	return out
}

// abbreviated takes what a shortened flag gives for unknown: some versions take it, Megatron-LM does not.
func abbreviated(r *reader, rows []field) {
	for _, i := range r.Ignored {
		if i.Why != unknownKey || len(i.Key) < 4 {
			continue
		}
		var of []*field
		for j := range rows {
			if strings.HasPrefix(rows[j].key, i.Key) && len(rows[j].from) > 0 &&
				!slices.ContainsFunc(of, func(f *field) bool { return f.key == rows[j].key }) {
				of = append(of, &rows[j])
			}
		}
		for _, row := range of {
			for _, key := range row.from {
				if _, given := r.values[row.key]; !given {
					r.lost[key] = true
					r.unknown(key,
						"--"+i.Key+" may be short for --"+row.key+", which Megatron-LM does not take", i.Line)
				}
			}
		}
	}
}

// vocabulary resolves a vocabulary that the file does not give: that of a tokenizer that is known here.
func (r *reader) vocabulary() {
	const key = modelPrefix + "vocab"
	if _, given := r.Setup[key]; given || r.lost[key] {
		r.guess(key, 128256)
		return
	}
	why, line, sized := "the file has no --vocab-size", 0, 128256
	for _, name := range []string{
		"tokenizer-model", "tokenizer-name-or-path", "hf-checkpoint",
		"tokenizer-path", "load", "vocab-file", "tokenizer-type",
	} {
		e, given := r.values[name]
		text, ok := e.Value.(string)
		if !given || !ok || text == "" {
			continue
		}
		if id := modelNamed(text); id != "" {
			if m, err := presets.Default().Model(id); err == nil {
				r.assume(key, m.Vocab, "the vocabulary of the tokenizer "+shown(text))
				return
			}
		}
		if name != "load" && name != "hf-checkpoint" && line == 0 {
			why, line = "only the tokenizer knows it ("+name+" "+text+")", e.Line
		}
		switch {
		case strings.HasPrefix(text, "GPT2BPE"):
			sized = 50257
		case strings.HasPrefix(text, "Llama2Tokenizer"):
			sized = 32000
		}
	}
	r.lost[key] = true
	r.unknown(key, why, line)
	r.guess(key, sized)
}
