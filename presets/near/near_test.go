package near_test

import (
	"slices"
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/presets/near"
)

func TestWords(t *testing.T) {
	known := []string{
		"tp", "pp", "cp", "vpp", "zero", "recompute", "cluster.gpus_per_node", "1f1b",
		"interleaved",
	}
	cases := map[string][]string{
		"recmpute":       {"recompute"},
		"Re-Compute":     {"recompute"},
		"gpus_pernode":   {"cluster.gpus_per_node"}, // the part after the dot
		"cluster.gpus":   {"cluster.gpus_per_node"}, // contained
		"1f1":            {"1f1b"},
		"pt":             {"tp", "pp"}, // exchanged letters are one slip
		"zer":            {"zero"},
		"leaved":         {"interleaved"},
		"":               {},
		"x":              {},
		"completely off": {},
	}
	for typed, want := range cases {
		if got := near.Words(typed, known, 3); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
	if got := near.Words(strings.Repeat("é", 1<<20), known, 3); len(got) > 0 {
		t.Errorf("a paste is near %q", got)
	}
	if got := near.Question("vp", known) + near.Question("zzz", known); got != ": did you mean tp?" {
		t.Errorf("%q", got)
	}
}

// TestLauncherWords: what launchers call a knob is that knob, however it is written.
func TestLauncherWords(t *testing.T) {
	known := []string{"gpus_per_node", "node-bandwidth"}
	for _, k := range knob.All() {
		known = append(known, string(k.ID))
	}
	for typed, want := range map[string]string{
		"data-parallel-size": "dp",
		"tensor_parallel":    "tp", "tensor-model-parallel-size": "tp", "tp_size": "tp",
		"pipelineModelParallelSize": "pp", "virtual-pipeline-model-parallel-size": "vpp", "cp-size": "cp",
		"expert_model_parallel_size": "ep", "expert-tensor-parallel-size": "etp", "sequence_parallel": "sp",
		"zero_stage": "zero", "use-distributed-optimizer": "zero=1", "fsdp": "zero=3",
		"data_parallel_replicate_degree": "hsdp", "micro-batch-size": "mbs", "batch_size": "mbs gbs",
		"per_device_train_batch_size": "mbs", "global-batch-size": "gbs", "num_micro_batches": "",
		"gradient_accumulation_steps": "microbatches", "seq-length": "seq", "seq_len": "seq",
		"block_size": "seq",
		"num-gpus":   "gpus", "num_nodes": "nodes", "nnodes": "nodes", "nproc_per_node": "gpus_per_node",
		"dtype": "precision", "fp8": "precision=fp8", "fp16": "precision=fp16", "bf16": "precision=bf16",
		"fp4": "precision=nvfp4", "gradient_checkpointing": "recompute", "use-flash-attn": "attention",
		"cross-entropy-loss-fusion": "loss", "lora_r": "lora", "target_modules": "lora-targets",
		"torch_compile": "compile", "moe-token-dispatcher-type": "dispatcher",
		"tp-comm-overlap":     "tp-overlap",
		"overlap-grad-reduce": "dp-overlap", "cpu-offload": "offload", "train_tokens": "tokens",
		"framework": "calibration", "node-network": "node-bandwidth", "epochs": "", "size": "", "": "",
	} {
		if got := strings.Join(knob.Meant(typed, known), " "); got != want {
			t.Errorf("%q is %q, want %q", typed, got, want)
		}
	}
	if got := near.Words("tensor_parallel", []string{"lessons", "report"}, 3); len(got) > 0 {
		t.Errorf("a knob where none is known: %q", got)
	}
}
