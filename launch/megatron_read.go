package launch

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/presets/input"
)

// sniffMegatron reports whether a file has flags of Megatron-LM as its functional tests have them.
func sniffMegatron(name string, data []byte) bool {
	return !isScript(name) && modelArgs().Match(data[:min(len(data), maxScript)])
}

// isScript reports whether a file may be a script by its name.
func isScript(name string) bool {
	return !slices.Contains([]string{".yaml", ".yml", ".json", ".toml", ".py"},
		strings.ToLower(path.Ext(name)))
}

// megatronWord finds what only a script of Megatron-LM or of a fork has.
var megatronWord = regexp.MustCompile(
	`^--?(?:tensor[-_]model[-_]parallel[-_]size|pipeline[-_]model[-_]parallel[-_]size` +
		`|num[-_]attention[-_]heads|micro[-_]batch[-_]size)\b` +
		`|(?:^|/)pretrain_(?:gpt|hybrid|mamba)\.py$`,
)

// scriptWords returns the words of a script that it runs, has in parts that are not followed, or assigns;
// where it cannot be followed to its end, all words outside comments.
func scriptWords(name string, data []byte) []string {
	s := parseScript(name, data, Given{})
	var out []string
	add := func(list []shellField) {
		for _, f := range list {
			out = append(out, strings.Fields(s.legible(f).text)...)
		}
	}
	for i := range s.calls {
		add(s.calls[i].outer)
		add(s.calls[i].fields)
	}
	for i := range s.asides {
		add(s.asides[i].words)
	}
	for _, key := range sortedKeys(s.vars) {
		add(s.vars[key])
	}
	add(s.skipped)
	if len(s.problems) > 0 || s.over > 0 {
		for line := range strings.Lines(string(data[:min(len(data), maxScript)])) {
			if code := strings.TrimSpace(line); !strings.HasPrefix(code, "#") {
				out = append(out, strings.Fields(code)...)
			}
		}
	}
	return out
}

// readMegatron reads flags of Megatron-LM from a shell script, or from the MODEL_ARGS of a YAML
// file as its functional tests have them.
func readMegatron(name string, data []byte, given Given) Reading {
	known := map[string]bool{}
	for _, row := range dialectFields() {
		known[row.key] = true
	}
	isFlag := func(f shellField) bool {
		key, _, _ := strings.Cut(strings.TrimPrefix(f.text, "--"), "=")
		return strings.HasPrefix(f.text, "--") && known[strings.ReplaceAll(key, "_", "-")]
	}
	var sh *script
	var words training
	var entries []Entry
	if modelArgs().Match(data[:min(len(data), maxScript)]) {
		sh, entries = readModelArgs(data)
	} else {
		sh = parseScript(name, data, given)
		words = sh.training(isFlag)
		entries = sh.flags(words.args)
	}
	of := dialectOf(sh, &words, entries)
	r := readDialect(of, sh, entries)
	r.Problems = append(slices.Clone(sh.problems), r.Problems...)
	r.Ignored = append(r.Ignored, sh.ignored...)
	if len(entries) == 0 {
		if len(sh.problems) == 0 {
			r.Problems = append(r.Problems, sh.noFlags(isFlag))
		}
		return r.Reading
	}
	r.world(sh, words.starter)
	r.grouped(sh)
	r.finishMegatron(of)
	r.ignoreIncomplete()
	if of != nil {
		r.Launcher = of.id
	}
	return r.Reading
}

// noFlags tells that a script has no flags, or where they are in a part that is not followed.
func (s *script) noFlags(known func(shellField) bool) Problem {
	for _, f := range s.skipped {
		if known(f) {
			return Problem{Line: f.line, Message: fmt.Sprintf("flags of Megatron-LM are only inside a %s, "+
				"which is not followed: give a script with one command line of it", f.unknown)}
		}
	}
	return Problem{Line: 1, Message: "no flags of Megatron-LM were found"}
}

// modelArgs matches what begins the flags of a functional test of Megatron-LM
// (tests/functional_tests/test_cases/*/model_config.yaml).
func modelArgs() *regexp.Regexp { return regexp.MustCompile(`(?m)^MODEL_ARGS:\s*$`) }

// readModelArgs returns the flags of such a file, each a key with its value.
func readModelArgs(data []byte) (*script, []Entry) {
	s := &script{shellState: newShellState(), sbatch: map[string]string{}}
	all, err := parseYAML(data)
	if err != nil {
		p := Problem{Line: 1, Message: err.Error()}
		if at, ok := errors.AsType[*input.Error](err); ok {
			p = Problem{Line: at.Line, Column: at.Column, Message: at.Err.Error()}
		}
		s.problems = append(s.problems, p)
	}
	var out []Entry
	for _, e := range all {
		if key, ok := strings.CutPrefix(e.Key, "MODEL_ARGS.--"); ok {
			e.Key = strings.ReplaceAll(key, "_", "-")
			out = append(out, e)
		} else {
			s.ignored = append(s.ignored, Ignored{Key: e.Key, Why: "no flag", Line: e.Line})
		}
	}
	return s, out
}

// flags returns the entries of words: a flag with the words up to the next one.
func (s *script) flags(words []shellField) []Entry {
	var out []Entry
	for _, f := range words {
		switch key, value, given := strings.Cut(f.text, "="); {
		case strings.HasPrefix(f.text, "--") && len(f.text) > 2:
			e := Entry{Key: strings.ReplaceAll(key[2:], "_", "-"), Line: f.line}
			switch {
			case strings.HasPrefix(f.unknown, whether):
				e.Value = unresolved(f.unknown)
			case given:
				e.Value = valueOf(shellField{text: value, unknown: f.unknown})
			}
			out = append(out, e)
		case f.bare && !strings.HasPrefix(f.unknown, whether) && (len(out) == 0 || full(&out[len(out)-1])):
			s.ignored = append(s.ignored, Ignored{Key: f.text, Why: "the file gives it no value: it may be " +
				"any flags, so what is not in the file is not known to have its default", Line: f.line})
			s.anyFlags = cmp.Or(s.anyFlags, f.unknown)
		case len(out) == 0:
			s.ignored = append(s.ignored, Ignored{Key: f.text, Why: "no flag before it", Line: f.line})
		default:
			last := &out[len(out)-1]
			switch have := last.Value.(type) {
			case nil:
				last.Value = valueOf(f)
			case []any:
				last.Value = append(have, valueOf(f))
			case unresolved:
				if string(have) != f.unknown { // not a word of a flag that may be there
					last.Value = []any{have, valueOf(f)}
				}
			default:
				last.Value = []any{have, valueOf(f)}
			}
		}
	}
	return out
}

// full reports whether a flag has all its values: it takes none, or has one of a kind that takes no more.
func full(e *Entry) bool {
	if strings.HasSuffix(e.Key, "data-path") {
		return false
	}
	return e.Value != nil || flagAlone()[e.Key]
}

// flagAlone lists the flags of Megatron-LM without a value.
var flagAlone = sync.OnceValue(func() map[string]bool { //nolint:gochecknoglobals // made once, then only read
	out := map[string]bool{
		"mock-data": true, "log-throughput": true, "no-load-optim": true,
		"no-load-rng": true, "use-flash-attn": true, "use-mcore-models": true, "moe-grouped-gemm": true,
		"manual-gc": true, "disable-bias-linear": true, "qk-layernorm": true, "use-megatron-fsdp": true,
		"overlap-param-gather": true, "fp8-param-gather": true, "recompute-activations": true,
		"use-rotary-position-embeddings": true, "deepspeed": true, "no-masked-softmax-fusion": true,
	}
	for _, row := range megatronFields() {
		if row.alone {
			out[row.key] = true
		}
	}
	return out
})

// valueOf returns a word as the value of an entry.
func valueOf(f shellField) any {
	if f.unknown != "" {
		return unresolved(f.unknown)
	}
	return f.text
}

// grouped resolves what runs the experts of a rank, which a variable says.
func (r *reader) grouped(s *script) {
	v := s.vars[fusedVariable]
	if len(v) != 1 || v[0].text != "0" && v[0].text != "1" {
		return
	}
	on, how := 0, recipe.GroupedLoop
	if v[0].text == "1" {
		on, how = 1, recipe.GroupedFused
	}
	r.Setup["grouped_mlp"] = string(how)
	r.Understood = append(r.Understood,
		Understood{Key: fusedVariable, Value: on, Setup: []string{"grouped_mlp"}, Line: v[0].line})
}

// finishMegatron resolves what flags mean together, and what Megatron-LM does without them.
func (r *reader) finishMegatron(of *dialect) {
	without := "Megatron-LM's default"
	if of != nil {
		without, r.unevenly = of.name+"'s default", of.id == "megatron-deepspeed"
		for _, key := range slices.Sorted(maps.Keys(of.defaults)) {
			r.assume(key, of.defaults[key], without)
		}
	}
	moe := r.number(modelPrefix+"n_experts", 0) > 1 || r.number("ep", 1) > 1
	if moe {
		r.assume("dispatcher", string(recipe.AllToAll), "allgather, Megatron-LM's default, is not modelled")
	}
	for _, d := range []struct {
		key   string
		value any
		where bool
	}{
		{"tp", 1, true},
		{"pp", 1, true},
		{"cp", 1, true},
		{"ep", 1, moe},
		{"etp", r.number("tp", 1), moe && !r.lost["tp"]}, // megatron/training/arguments.py:587-588
		{"sp", false, true},
		{"zero", 0, true},
		{"dp_overlap", "off", true},
		{"tp_overlap", string(recipe.TPPlain), r.number("tp", 1) > 1},
		{"ep_overlap", "off", moe},
		{"grouped_mlp", string(recipe.GroupedLoop), moe},
		{"cuda_graph", string(recipe.GraphsNone), true},
		{"precision", string(recipe.FP32), true},
		{"recompute", string(recipe.RecomputeNone), true},
		{"optimizer", string(recipe.Adam), true},
		{"attention", string(recipe.Flash), true},
		{"loss", string(recipe.UnfusedLoss), true},
		{"microbatches", 1, !r.has("global-batch-size") && r.Setup["gbs"] == nil},
	} {
		if d.where {
			r.assume(d.key, d.value, without)
		}
	}
	if r.has("bf16") && r.has("fp16") && !r.lost["precision"] {
		r.wrongf("fp16", "--bf16 and --fp16 exclude each other")
	}
	if r.Setup["precision"] == string(recipe.FP16) {
		r.assume("grad_dtype", string(recipe.GradBF16), without)
	}
	if p := r.Setup["precision"]; p != string(recipe.BF16) && p != string(recipe.FP16) &&
		p != string(recipe.FP32) {
		r.assume("attention_precision", string(recipe.Attention16), without)
	}
	r.spAlone()
	r.finishModel(without, moe)
	r.readSplit()
	if r.number("pp", 1) > 1 && r.number("vpp", 1) > 1 {
		r.assume("schedule", string(schedule.Interleaved), "what runs virtual stages")
	} else {
		r.assume("schedule", string(schedule.OneFOneB), without)
	}
}

// spAlone takes sequence parallelism for off where nothing is cut by tp.
func (r *reader) spAlone() {
	if r.Setup["sp"] != true || r.number("tp", 1) > 1 || r.lost["tp"] {
		return
	}
	r.Setup["sp"] = false
	r.Ignored = append(r.Ignored, Ignored{
		Key: "sequence-parallel", Why: "has no effect with tp 1", Line: r.values["sequence-parallel"].Line,
	})
}

// finishModel resolves the figures of the model that no flag gives. Without the number of layers
// the file is about no model.
func (r *reader) finishModel(without string, moe bool) {
	layers := r.number(modelPrefix+"layers", 0)
	if id := modelNamed(r.values["hf-checkpoint"].Value); id != "" && layers == 0 && !r.lost["model"] {
		r.assume("model", id, "by the name of hf-checkpoint, "+shown(r.values["hf-checkpoint"].Value))
	}
	_, named := r.Setup["model"]
	if sizes := layers > 0 && r.number(modelPrefix+"hidden", 0) > 0 && r.number(modelPrefix+"heads",
		0) > 0; !sizes || named || r.lost["model"] {
		for key := range r.Setup {
			if strings.HasPrefix(key, modelPrefix) {
				delete(r.Setup, key)
			}
		}
		why, line := "the file names no model", 0
		r.Unknown = slices.DeleteFunc(r.Unknown, func(u Unknown) bool {
			if strings.HasPrefix(u.Key, modelPrefix) {
				if line == 0 && slices.Contains([]string{"layers", "hidden", "heads", "layer_pattern"},
					strings.TrimPrefix(u.Key, modelPrefix)) {
					why, line = u.Why, u.Line
				}
				return true
			}
			return false
		})
		if !named {
			r.unknown("model", why, line)
		}
		return
	}
	if r.lost[modelPrefix+"layer_pattern"] { // which alone tells the layers that have these
		maps.DeleteFunc(r.Setup, func(key string, _ any) bool {
			return strings.HasPrefix(key, modelPrefix+"linear_") || key == modelPrefix+"conv_width"
		})
	}
	mla := r.has("multi-latent-attention")
	noHidden, noHeads := r.lost[modelPrefix+"hidden"], r.lost[modelPrefix+"heads"]
	hidden, heads := r.number(modelPrefix+"hidden", 0), max(r.number(modelPrefix+"heads", 1), 1)
	activation, _ := r.Setup[modelPrefix+"activation"].(string)
	gated, _ := model.GatedActivation(activation)
	groups := heads
	if r.has("group-query-attention") {
		groups = 1 // A, num_query_groups
	}
	ffn := 4 * hidden // A, ffn_hidden_size
	if activation == "swiglu" {
		ffn = 4 * hidden * 2 / 3 / 64 * 64
	}
	r.vocabulary()
	for _, d := range []struct {
		key   string
		value any
		where bool
	}{
		{"ffn_hidden", ffn, !noHidden && (!moe || r.number(modelPrefix+"first_k_dense_layers", 0) > 0 ||
			r.number(modelPrefix+"moe_layer_freq", 1) > 1)},
		{"kv_heads", groups, !mla && !noHeads},
		{"head_dim", hidden / heads, !mla && !noHeads && !noHidden},
		{"attention", "mha", true},
		{"activation", "gelu", true},
		{"gated_ffn", gated, true},
		{"norm", model.NormLayer, true},
		{"norms_per_layer", 2, true},
		{"pos_embedding", model.PositionLearned, true},
		{"attn_bias", model.BiasAll, true},
		{"mlp_bias", true, true},
		{"qk_norm", model.QKNormNone, true},
		{"parallel_block", false, true},
		{"tied_embeddings", true, true},
		{"local_window", 0, true},
		{"local_to_global_ratio", "", true},
		{"q_lora_rank", 0, mla},
		{"kv_lora_rank", 32, mla}, // A, --kv-lora-rank
		{"qk_nope_head_dim", 128, mla},
		{"qk_rope_head_dim", 64, mla},
		{"v_head_dim", 128, mla},
		{"shared_ffn_hidden_total", 0, moe},
		{"first_k_dense_layers", 0, moe},
		{"moe_layer_freq", 1, moe},
		{"moe_ffn_hidden", r.number(modelPrefix+"ffn_hidden", ffn), moe && !noHidden},
		{"top_k", 2, moe},
		{"router_bias", false, moe},
		{"expert_groups", 0, moe},
		{"routed_groups", 0, moe},
	} {
		if reason := without; d.where {
			if d.key == "gated_ffn" && activation != "" {
				reason = "as the activation is"
			}
			r.assume(modelPrefix+d.key, d.value, reason)
		}
	}
	r.finishRoPE()
}
