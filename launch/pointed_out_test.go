package launch_test

import (
	"fmt"
	"strings"
	"testing"

	"meshscope/launch"
	"meshscope/presets"
)

// pointed are what must be pointed out of a launcher's files, each in a few lines more of a file of its own:
// the kind, what is added to the file, and words that must be said.
type pointed struct{ kind, more, says string }

// pointedFile is a file of a launcher with what is to be pointed out in it.
type pointedFile struct {
	launcher, file, text string
	out                  []pointed
}

func pointedFiles() []pointedFile {
	const (
		cannotRun = "a layout that cannot run on the GPUs given"
		noEffect  = "a flag without effect"
		overrides = "a variable that another overrides"
		stale     = "a number of a comment that is not used"
		defaults  = "a default of the launcher that matters"
		lacks     = "a value that the file lacks"
	)
	const megatron = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 " +
		"--num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 " +
		"--global-batch-size 64 --tensor-model-parallel-size 1"
	const axolotl = "base_model: Qwen/Qwen2.5-7B\nmicro_batch_size: 2\n"
	const factory = "model_name_or_path: Qwen/Qwen2.5-7B\nfinetuning_type: " +
		"full\nper_device_train_batch_size: 1\n"
	const trl = "model_name_or_path: Qwen/Qwen2.5-7B\nper_device_train_batch_size: 2\n"
	const swift = "NPROC_PER_NODE=2 swift sft --model Qwen/Qwen2.5-7B"
	const accelerate = "distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 8\n"
	const titan = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nseq_len " +
		"= 8192\n"
	const nemo = "trainer:\n  devices: 8\n  num_nodes: 1\nmodel:\n  micro_batch_size: 1\n  " +
		"encoder_seq_length: 4096\n"
	const roll = "pretrain: Qwen/Qwen2.5-7B\nactor_train:\n  training_args:\n    " +
		"per_device_train_batch_size: 1\n" +
		"  strategy_args:\n    strategy_name: megatron_train\n    strategy_config:\n" +
		"      tensor_model_parallel_size: 1\n"
	return []pointedFile{
		{"megatron", "a.sh", megatron, []pointed{
			{cannotRun, " --pipeline-model-parallel-size 3\n", "cannot run as it is"},
			{noEffect, " --sequence-parallel\n", "has no effect with tp 1"},
			{overrides, " --micro-batch-size 2\n", "given twice"},
			{stale, "\n# for 512 GPUs\n", "512 GPUs"},
			{defaults, "\n", "{Key:zero Value:0"},
			{defaults, "\n", "{Key:precision Value:fp32"},
			{lacks, "\n", "vocab"},
		}},
		{"bridge", "a.sh", "torchrun --nproc_per_node=8 scripts/training/run_recipe.py --recipe " +
			"llama3_8b_pretrain_config", []pointed{
			{cannotRun, " model.tensor_model_parallel_size=3\n", "cannot run as it is"},
			{noEffect, " model.tensor_model_parallel_size=1 model.sequence_parallel=true\n", "no effect " +
				"with tp 1"},
			{overrides, " model.tensor_model_parallel_size=2 model.tensor_model_parallel_size=4\n", "given " +
				"twice"},
			{stale, "\n# seq length 512\n", "seq length 512"},
			{defaults, "\n", "the recipe"},
		}},
		{"torchtitan-toml", "a.toml", titan, []pointed{
			{stale, "# a preset for 64 A100 GPUs\n", "64 A100 GPUs"},
			{defaults, "", "{Key:zero Value:3"},
			{lacks, "", "{Key:gpus"},
		}},
		{"nanotron", "a.yaml", "parallelism:\n  dp: 2\n  tp: 1\n  pp: 1\n  pp_engine: 1f1b\n", []pointed{
			{stale, "# 64 GPUs\n", "64 GPUs"}, {
				overrides, "tokens:\n  micro_batch_size: 1\n  " +
					"micro_batch_size: 2\n",
				"given twice",
			}, {lacks, "", "{Key:model"},
		}},
		{"deepspeed", "ds.json", `{"train_batch_size": 30`, []pointed{
			{
				cannotRun, `, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}`,
				"no multiple of micro-batch",
			},
			{noEffect, `, "pipeline": {"stages": 4}}`, "nothing reads its stages"},
			{defaults, "}", "{Key:precision Value:fp32"},
			{defaults, "}", "{Key:zero Value:0"},
			{lacks, "}", "{Key:model"},
		}},
		{"accelerate", "a.yaml", accelerate, []pointed{
			{cannotRun, "parallelism_config:\n  parallelism_config_dp_shard_size: 4\n", "not the 8 " +
				"processes"},
			{overrides, "num_processes: 16\n", "given twice"},
			{stale, "# 2 nodes\n", "2 nodes"},
			{defaults, "", "accelerate's default of FSDP 1"},
			{lacks, "", "{Key:seq"},
		}},
		{"axolotl", "a.yaml", axolotl, []pointed{
			{noEffect, "lora_r: 8\n", "without effect: every weight is trained"},
			{noEffect, "adapter: lora\nlora_r: 8\nload_in_4bit: true\n", "without effect: axolotl loads"},
			{overrides, "micro_batch_size: 4\n", "given twice"},
			{stale, "# 8 GPUs\n", "8 GPUs"},
			{defaults, "", "{Key:zero Value:0"},
			{defaults, "", "{Key:precision Value:bf16"},
			{lacks, "adapter: lora\n", "{Key:lora "},
			{lacks, "", "{Key:seq"},
		}},
		{"llama-factory", "a.yaml", factory, []pointed{
			{noEffect, "lora_rank: 8\n", "without effect: every weight is trained"},
			{overrides, "cutoff_len: 1\ncutoff_len: 2\n", "given twice"},
			{stale, "# 2 nodes\n", "2 nodes"},
			{defaults, "", "{Key:seq Value:2048"},
			{defaults, "", "{Key:recompute Value:full"},
			{
				lacks, "",
				"{Key:zero",
			},
		}},
		{"trl", "a.yaml", trl, []pointed{
			{noEffect, "lora_r: 8\n", "without effect: every weight is trained"},
			{overrides, "max_length: 1\nmax_length: 2\n", "given twice"},
			{stale, "# 2 nodes\n", "2 nodes"},
			{defaults, "use_peft: true\n", "TRL's default of lora_r"},
			{defaults, "", "{Key:precision " +
				"Value:bf16"},
			{lacks, "", "{Key:zero"},
			{lacks, "use_peft: true\n", "{Key:base_dtype"},
		}},
		{"swift", "a.sh", swift, []pointed{
			{noEffect, " --quant_bits 4\n", "without effect"},
			{overrides, " --max_length 1 --max_length 2\n", "given twice"},
			{stale, "\n# 8 * 80GB: 8 " +
				"GPUs\n", "8 GPUs"},
			{defaults, "\n", "ms-swift's Trainer's default of lora_rank"},
			{lacks, "\n", "{Key:precision"},
		}},
		{"nemo", "a.yaml", nemo, []pointed{
			{cannotRun, "  tensor_model_parallel_size: 3\n", "cannot run as it is"},
			{noEffect, "  tensor_model_parallel_size: 1\n  sequence_parallel: true\n", "no effect with tp 1"},
			{overrides, "  micro_batch_size: 2\n", "given twice"},
			{stale, "# 64 GPUs\n", "64 GPUs"},
			{defaults, "", "default"},
			{lacks, "", "{Key:model"},
		}},
		{"roll", "a.yaml", roll, []pointed{
			{noEffect, "      sequence_parallel: true\n", "no effect with tp 1"},
			{
				stale, "# 64 GPUs\n",
				"64 GPUs",
			},
			{defaults, "", "default"},
			{lacks, "", "{Key:gpus"},
		}},
		{
			"llm-foundry", "a.yaml", "max_seq_len: 2048\nmodel:\n  name: hf_causal_lm\n" +
				"global_train_batch_size: 8\ndevice_train_microbatch_size: auto\nprecision: amp_bf16\n",
			[]pointed{
				{stale, "# 64 GPUs\n", "64 GPUs"}, {defaults, "", "no FSDP is in the file"}, {
					lacks, "",
					"{Key:mbs",
				},
			},
		},
		{
			"torchtune", "a.yaml", "model:\n  _component_: " +
				"torchtune.models.llama3_1.llama3_1_8b\nbatch_size: " +
				"2\n",
			[]pointed{
				{stale, "# 64 GPUs\n", "64 GPUs"}, {defaults, "", "{Key:recompute Value:none"}, {
					lacks, "",
					"{Key:zero",
				},
			},
		},
		{"gpt-neox", "a.yml", "pipe_parallel_size: 1\nmodel_parallel_size: 2\nnum_layers: 24\nhidden_size: " +
			"1024\n" +
			"num_attention_heads: 16\nseq_length: 2048\ntrain_micro_batch_size_per_gpu: 4\n", []pointed{
			{stale, "# 64 GPUs\n", "64 GPUs"}, {defaults, "", "{Key:precision Value:fp16"}, {
				lacks, "",
				"vocab",
			},
		}},
		{
			"verl", "a.sh", "python3 -m verl.trainer.main_ppo data.train_batch_size=512 trainer.nnodes=4",
			[]pointed{
				{overrides, " trainer.nnodes=2\n", "given twice"},
				{stale, "\n# 64 GPUs\n", "64 GPUs"},
				{defaults, "\n", "default"},
				{lacks, "\n", "{Key:model"},
			},
		},
		{"openrlhf", "a.sh", "deepspeed --module openrlhf.cli.train_sft --train.micro_batch_size 1 " +
			"--data.max_len 2048", []pointed{
			{overrides, " --data.max_len 4096\n", "given twice"},
			{stale, "\n# 64 GPUs\n", "64 GPUs"},
			{defaults, "\n", "default"},
			{lacks, "\n", "{Key:model"},
		}},
	}
}

// TestPointedOut: of each launcher's files it is pointed out what cannot run, has no effect, is overridden,
// stands in a comment alone, is a default that matters, or is not there.
func TestPointedOut(t *testing.T) {
	kinds, all := map[string]int{}, 0
	for _, f := range pointedFiles() {
		for _, p := range f.out {
			r := launch.Open(f.file, []byte(f.text+p.more), presets.Default())
			if len(r.Problems) == 0 {
				r.Resolve(presets.Default())
			}
			said := fmt.Sprintf("%+v %+v %+v %+v", r.Problems, r.Ignored, r.Understood, r.Unknown)
			if r.Launcher != f.launcher {
				t.Errorf("%s, %s: read by %q: %.200s", f.launcher, p.kind, r.Launcher, said)
			}
			if all++; !strings.Contains(said, p.says) {
				t.Errorf("%s, %s: %q is not said: %.1200s", f.launcher, p.kind, p.says, said)
			}
			kinds[p.kind]++
		}
	}
	t.Logf("%d of %v", all, kinds)
}
