package launch

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/presets/input"
)

// sniffMegatron reports whether a file has flags of Megatron-LM.
func sniffMegatron(_ string, data []byte) bool {
	text := string(data[:min(len(data), maxScript)])
	for _, key := range []string{"--tensor-model-parallel-size", "--pipeline-model-parallel-size", "--num-attention-heads", "--micro-batch-size", "pretrain_gpt.py"} {
		if strings.Contains(text, key) || strings.Contains(text, strings.ReplaceAll(key[2:], "-", "_")) && strings.Contains(text, "--") {
			return true
		}
	}
	return false
}

// readMegatron reads flags of Megatron-LM from a shell script, or from the MODEL_ARGS of a YAML
// file as its functional tests have them.
func readMegatron(name string, data []byte) Reading {
	known := map[string]bool{}
	for _, row := range megatronFields() {
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
		sh = parseScript(name, data)
		words = sh.training(isFlag)
		entries = sh.flags(words.args)
	}
	r := readEntries("megatron", megatronFields(), entries)
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
	r.finishMegatron()
	return r.Reading
}

// noFlags tells that a script has no flags, or where they are in a part that is not followed.
func (s *script) noFlags(known func(shellField) bool) Problem {
	for _, f := range s.skipped {
		if known(f) {
			return Problem{Line: f.line, Message: fmt.Sprintf("flags of Megatron-LM are only inside a %s, which is not followed: give a script with one command line of it", f.unknown)}
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
		case f.unknown != "" && (strings.HasPrefix(f.text, "$@") || strings.HasPrefix(f.text, "$*") || strings.HasPrefix(f.text, "${@") || f.unknown == f.text && len(out) > 0 && takesNone(out[len(out)-1].Key)):
			s.ignored = append(s.ignored, Ignored{Key: f.text, Why: "the file gives it no value", Line: f.line})
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

// takesNone reports whether a flag of Megatron-LM has no value.
func takesNone(key string) bool {
	return slices.Contains([]string{"bf16", "fp16", "swiglu", "sequence-parallel", "use-distributed-optimizer", "overlap-grad-reduce", "overlap-param-gather", "untie-embeddings-and-output-weights", "group-query-attention", "disable-bias-linear"}, key)
}

// valueOf returns a word as the value of an entry.
func valueOf(f shellField) any {
	if f.unknown != "" {
		return unresolved(f.unknown)
	}
	return f.text
}

// processes is the name of what starts training has, and no key of its own.
const processes = "number of processes"

// world settles the number of GPUs from the command that starts the processes.
func (r *reader) world(s *script, starter []shellField) {
	options, torchrun := map[string]shellField{}, false
	for i, f := range starter {
		name := path.Base(f.text)
		torchrun = torchrun || name == "torchrun" || strings.HasPrefix(name, "torch.distributed")
		key, value, given := strings.Cut(strings.TrimLeft(f.text, "-"), "=")
		if !given && i+1 < len(starter) {
			value = starter[i+1].text
		}
		if strings.HasPrefix(f.text, "-") {
			key = strings.ReplaceAll(key, "_", "-")
			if long := map[string]string{"N": "nodes", "n": "ntasks"}[key]; long != "" {
				key = long
			}
			options[key] = shellField{text: value, line: f.line}
		}
	}
	line := 0
	of := func(keys ...string) int {
		for _, key := range keys {
			if n, err := strconv.Atoi(options[key].text); err == nil && n > 0 && n <= layout.MaxGPUs {
				line = cmp.Or(line, options[key].line)
				return n
			}
			if n, err := strconv.Atoi(s.sbatch[key]); err == nil && n > 0 && n <= layout.MaxGPUs && options[key].text == "" {
				line = cmp.Or(line, s.lines[key])
				return n
			}
		}
		return 0
	}
	gpus := 0
	if torchrun {
		nodes := max(of("nnodes"), 1)
		if options["nnodes"].text != "" && of("nnodes") == 0 { // 1:4, or a variable
			nodes = of("nodes")
		}
		gpus = nodes * of("nproc-per-node")
	} else if gpus = of("ntasks"); gpus == 0 {
		gpus = of("nodes") * of("ntasks-per-node", "gpus-per-node")
	}
	r.processes(gpus, line)
}

// processes settles the number of GPUs from the processes that are started, one for each. It is a
// problem where the degrees do not divide it.
func (r *reader) processes(gpus, line int) {
	if r.started = line; gpus <= 0 || gpus > layout.MaxGPUs {
		r.Problems = append(r.Problems, Problem{Key: "gpus", lacks: "gpus", Message: "the number of GPUs is not in the file: give --gpus"})
		return
	}
	r.Setup["gpus"] = gpus
	r.Understood = append(r.Understood, Understood{Key: processes, Value: gpus, Setup: []string{"gpus"}, Line: line})
	tp, pp, cp := r.number("tp", 1), r.number("pp", 1), r.number("cp", 1)
	if rank := times(tp, pp, cp); gpus%rank != 0 && !r.lost["tp"] && !r.lost["pp"] && !r.lost["cp"] {
		r.Problems = append(r.Problems, Problem{Line: line, Key: processes, Message: fmt.Sprintf("%d is no multiple of tp %d x pp %d x cp %d = %d", gpus, tp, pp, cp, rank)})
	}
}

// grouped settles what runs the experts of a rank, which a variable says.
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
	r.Understood = append(r.Understood, Understood{Key: fusedVariable, Value: on, Setup: []string{"grouped_mlp"}, Line: v[0].line})
}

// finishMegatron settles what flags mean together, and what Megatron-LM does without them.
func (r *reader) finishMegatron() {
	const without = "Megatron-LM's default"
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
		{"microbatches", 1, !r.has("global-batch-size")},
	} {
		if d.where {
			r.assume(d.key, d.value, without)
		}
	}
	if r.has("bf16") && r.has("fp16") {
		r.wrongf("fp16", "--bf16 and --fp16 exclude each other")
	}
	if r.Setup["precision"] == string(recipe.FP16) {
		r.assume("grad_dtype", string(recipe.GradBF16), without)
	}
	if p := r.Setup["precision"]; p != string(recipe.BF16) && p != string(recipe.FP16) && p != string(recipe.FP32) {
		r.assume("attention_precision", string(recipe.Attention16), without)
	}
	r.finishModel(without, moe)
	r.readSplit()
	if r.number("pp", 1) > 1 && r.number("vpp", 1) > 1 {
		r.assume("schedule", string(schedule.Interleaved), "what runs virtual stages")
	} else {
		r.assume("schedule", string(schedule.OneFOneB), without)
	}
}

// finishModel settles the figures of the model that no flag gives. Without the number of layers
// the file is about no model.
func (r *reader) finishModel(without string, moe bool) {
	layers := r.number(modelPrefix+"layers", 0)
	if layers == 0 {
		for key := range r.Setup {
			if strings.HasPrefix(key, modelPrefix) {
				delete(r.Setup, key)
			}
		}
		if r.lost[modelPrefix+"layers"] { // which is a problem already
			return
		}
		r.Problems = append(r.Problems, Problem{Key: "num-layers", lacks: "model", Message: "the file names no model: give --model"})
		return
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
	for _, d := range []struct {
		key   string
		value any
		where bool
	}{
		{"ffn_hidden", ffn, !noHidden && (!moe || r.number(modelPrefix+"first_k_dense_layers", 0) > 0 || r.number(modelPrefix+"moe_layer_freq", 1) > 1)},
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
		{"shared_ffn_hidden_total", 0, moe},
		{"first_k_dense_layers", 0, moe},
		{"moe_layer_freq", 1, moe},
		{"moe_ffn_hidden", r.number(modelPrefix+"ffn_hidden", ffn), moe && !noHidden},
		{"top_k", 2, moe},
		{"router_bias", false, moe},
		{"expert_groups", 0, moe},
		{"routed_groups", 0, moe},
	} {
		if d.where {
			r.assume(modelPrefix+d.key, d.value, without)
		}
	}
}
