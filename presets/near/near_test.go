package near_test

import (
	"errors"
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
		"fp4": "precision=nvfp4", "gpipe": "schedule=afab", "sdpa": "attention=flash", "cpu": "",
		"gradient_checkpointing": "recompute", "use-flash-attn": "attention",
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

// TestValueWords: what papers, people and launchers call a value is taken where it means just that, else the
// value is proposed, alone and in a list.
func TestValueWords(t *testing.T) {
	for _, c := range []struct {
		knob, taken, proposed string // typed=value
	}{
		{"zero", "", "ddp=0 Off=0 distributed_optimizer=1 stage1=1 SHARD_GRAD_OP=2 fsdp=3 FULL_SHARD=3"},
		{
			"schedule", "gpipe=afab GPipe=afab 1F1B-interleaved=interleaved vpp=interleaved ZB1P=zb-1p",
			"ZBVZeroBubble=zb-v InterleavedZeroBubble=interleaved-zb dual-pip=dualpipe",
		},
		{
			"precision", "bfloat16=bf16 float16=fp16 half=fp16 float32=fp32 FP8=fp8",
			"mixed=bf16 bf16-mixed=bf16 16-mixed= fp16-mixed=fp16 e4m3=fp8 hybrid=fp8 fp4=nvfp4 " +
				"mxfp8=fp8:megatron",
		},
		{"grad-dtype", "float32=fp32 bfloat16=bf16", "float16="},
		{"weight-dtype", "float32=fp32 bfloat16=bf16", ""},
		{"attention-precision", "bfloat16=bf16", ""},
		{"base-dtype", "", "4bit=nf4 qlora=nf4 load_in_8bit=int8"},
		{
			"recompute", "off=none False=none",
			"uniform=full block=full true=full core_attn=selective full:0=full:1",
		},
		{
			"attention", "flash_attn=flash flash_attention_2=flash2 FA3=flash3 fa4=flash4",
			"sdpa=flash fused=flash eager=standard local=standard xformers=efficient",
		},
		{"loss", "", "te=fused cut_cross_entropy=liger"},
		{"offload", "off=none", "cpu=optimizer nvme=optimizer-nvme params=weights activation=activations"},
		{"comm-overlap", "cautious=pessimistic", ""},
		{"cuda-graph", "full_iteration=iteration", ""},
		{"calibration", "Megatron-Bridge=megatron-core nemo=megatron-core", ""},
		{"optimizer", "adamw=adam adamw_8bit=adamw-8bit sgd=sgd", ""},
	} {
		k, _ := knob.Find(knob.ID(c.knob))
		for pair := range strings.FieldsSeq(c.taken) {
			typed, want, _ := strings.Cut(pair, "=")
			s, err := k.Set(knob.Setup{}, typed)
			many, listed := k.ParseValues(typed)
			if err != nil || k.Text(s) != want || listed != nil || many.Text() != want {
				t.Errorf("%s %s is %s, %v, in a list %s, %v", c.knob, typed, k.Text(s), err, many.Text(),
					listed)
			}
		}
		for pair := range strings.FieldsSeq(c.proposed) {
			typed, want, _ := strings.Cut(pair, "=")
			_, err := k.Set(knob.Setup{}, typed)
			_, listed := k.ParseValues(typed)
			for _, err := range []error{err, listed} {
				if bad, ok := errors.AsType[*knob.ValueError](err); !ok || bad.Nearest != want {
					t.Errorf("%s %s: %v, want nearest %s", c.knob, typed, err, want)
				}
			}
			if _, err := k.Set(knob.Setup{}, want); want != "" && err != nil {
				t.Errorf("the nearest of %s %s: %v", c.knob, typed, err)
			}
		}
	}
}
