package launch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"meshscope/launch"
	"meshscope/presets"
)

// flagged returns what a call of Megatron-LM with some flags is read as.
func flagged(t *testing.T, before, flags string) launch.Reading {
	t.Helper()
	text := before + "torchrun --nnodes 1 --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size " +
		"4096 --num-attention-heads 32 --seq-length 4096 --micro-batch-size 1 --global-batch-size 64 " +
		"--vocab-size 32000 --bf16 " + flags + "\n"
	r, ok := launch.Read("train.sh", []byte(text))
	if !ok || r.Launcher != "megatron" {
		t.Fatalf("read by %q", r.Launcher)
	}
	return r
}

// TestFlagsThatGoTogether: a flag means what Megatron-LM makes of it with the others.
func TestFlagsThatGoTogether(t *testing.T) {
	const moe = "--num-experts 8 "
	for flags, want := range map[string]string{
		"--num-query-groups 8":                                         "set.model.kv_heads 32",
		"--group-query-attention":                                      "set.model.kv_heads 1",
		"--group-query-attention --num-query-groups 8":                 "set.model.kv_heads 8",
		"--cross-entropy-fusion-impl te":                               "loss unfused",
		"--cross-entropy-loss-fusion --cross-entropy-fusion-impl te":   "loss fused",
		"--fp4-recipe nvfp4":                                           "precision bf16",
		"--moe-router-topk 4":                                          "set.model.top_k <nil>",
		"--v-head-dim 64":                                              "set.model.v_head_dim <nil>",
		"--use-rotary-position-embeddings --max-position-embeddings 1": "set.model.pos_embedding rope",
		moe +
			"--moe-flex-dispatcher-backend deepep --moe-token-dispatcher-type alltoall": "dispatcher alltoall",
		moe + "--moe-token-dispatcher-type flex": "dispatcher deepep",
		moe:                                      "dispatcher alltoall",
		"--rampup-batch-size 16 16 1000":         "gbs 64",
		"--cp-comm-type a2a":                     "cp 1",
		"--context-parallel-size 2 --cp-comm-type p2p --tensor-model-parallel-size 2 --tensor-parallel-num-weight-shards 2": "cp 2",
	} {
		r := flagged(t, "", flags)
		if len(r.Problems) > 0 {
			t.Errorf("%s: %+v", flags, r.Problems)
		}
		if key, value, _ := strings.Cut(want, " "); fmt.Sprint(r.Setup[key]) != value {
			t.Errorf("%s: %s is %v, want %s", flags, key, r.Setup[key], value)
		}
	}
}

// TestPatternsOfLayers: a pattern that gives no layers is named, with or without --num-layers, and what
// counts with it alone is no problem of its own.
func TestPatternsOfLayers(t *testing.T) {
	const (
		empty   = "has no letter of a layer: allowed are *GM-E"
		letters = "only the letters *GM-E are modelled"
	)
	sizes := "--hidden-size 64 --num-attention-heads 4 --vocab-size 320 --num-experts 4 " +
		"--mamba-num-heads 4 --mamba-num-groups 4 --micro-batch-size 1 --seq-length 64 " +
		"--global-batch-size 8 --bf16 "
	for pattern, want := range map[string]string{
		"/*E/*E": empty, "/M/M": empty, "": empty, "QQ": letters, "QQ/*E": letters,
		"M*EE/M*": "of prediction modules only *E is modelled",
	} {
		for _, flags := range []string{"", sizes, sizes + "--num-layers 4 "} {
			text := "torchrun --nproc-per-node 8 pretrain_hybrid.py " + flags + "--hybrid-layer-pattern '" +
				pattern + "'\n"
			r := launch.Open("p.sh", []byte(text), presets.Default())
			if len(r.Problems) == 0 {
				r.Resolve(presets.Default())
			}
			problem := want == empty
			named := slices.ContainsFunc(lacking(&r), func(p launch.Problem) bool {
				return p.Key == "hybrid-layer-pattern" && p.Line == 1 && strings.Contains(p.Message, want) &&
					strings.Contains(p.Message, pattern)
			})
			if !named || problem != (len(r.Problems) > 0) || len(r.Problems) > 1 {
				t.Errorf("%q after %q: %+v, %+v", pattern, flags, r.Problems, r.Unknown)
			}
		}
	}
}

// TestFlagsThatAreNotModelled: what a setup cannot say is unknown or a problem, not a default.
func TestFlagsThatAreNotModelled(t *testing.T) {
	for _, flags := range []string{
		"--use-torch-fsdp2", "--tensor-parallel-num-weight-shards 2", "--step-batch-size-schedule foo",
		"--exp-avg-dtype bf16",
		"--recompute-granularity selective --recompute-modules nope", "--overlap-param-gather",
		"--hybrid-layer-pattern M-M*/MM", "--hybrid-layer-pattern MDM-",
		"--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*3|t*3L",
		"--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*4|t*4mL",
		"--pipeline-model-parallel-size 2 --position-embedding-type rope --mtp-num-layers 1 " +
			"--pipeline-model-parallel-layout Et*4|t*4L",
	} {
		r := flagged(t, "", flags)
		if all := lacking(&r); len(all) == 0 || !strings.Contains(flags, "--"+all[0].Key) ||
			all[0].Line != 1 {
			t.Errorf("%s: %+v", flags, all)
		}
	}
	if r := flagged(t, "",
		"--recompute-granularity selective --recompute-modules mlp moe"); r.Setup["recompute"] != "modules:mlp,moe" || len(r.Problems)+len(r.Ignored) > 0 {
		t.Errorf("modules mlp and moe: %v %+v %+v", r.Setup["recompute"], r.Problems, r.Ignored)
	}
}

// TestPartsThatMayRun: words that a branch may append do not hide those before it; training in a
// part is read.
func TestPartsThatMayRun(t *testing.T) {
	const args = "ARGS=(--tensor-model-parallel-size 2)\n"
	r := flagged(t, args+"if [ -n \"$PROFILE\" ]; then ARGS+=(--profile); fi\n", `"${ARGS[@]}"`)
	if len(r.Problems) > 0 || fmt.Sprint(r.Setup["tp"]) != "2" {
		t.Errorf("tp %v: %+v %+v", r.Setup["tp"], r.Problems, r.Ignored)
	}
	for before, flags := range map[string]string{
		args +
			"if [ $X = 1 ]; then\nARGS+=(--context-parallel-size 2); fi\n": `"${ARGS[@]}"`,
		"ARGS=\"--tensor-model-parallel-size 2\"\ncase $X in\n1) ARGS+=\" --context-parallel-size 2\";; esac\n": "$ARGS",
	} {
		r := flagged(t, before, flags)
		if all := lacking(&r); len(all) == 0 || all[0].Key != "context-parallel-size" || all[0].Line < 2 ||
			fmt.Sprint(r.Setup["tp"]) != "2" {
			t.Errorf("%s: tp %v: %+v", before, r.Setup["tp"], r.Problems)
		}
	}
	for what, text := range map[string]string{
		"function": "run() {\n%s}\nrun\n", "loop": "for i in 1; do\n%sdone\n", "if": "if true; then\n%sfi\n",
		"function, not called": "run() {\n%s}\n",
	} {
		text = fmt.Sprintf("ARGS=\"--tensor-model-parallel-size 2 --num-layers 8 --hidden-size 4096 "+
			"--num-attention-heads 32\"\n"+text,
			"torchrun --nproc_per_node 8 pretrain_gpt.py $ARGS --context-parallel-size 2\n")
		r, _ := launch.Read("train.sh", []byte(text))
		if len(r.Problems) > 0 || fmt.Sprint(r.Setup["cp"]) != "2" || fmt.Sprint(r.Setup["tp"]) != "2" {
			t.Errorf("%s: cp %v: %+v", what, r.Setup["cp"], r.Problems)
		}
	}
}
