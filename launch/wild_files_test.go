package launch_test

import "strings"

func wildFiles() []wild {
	fsdp := func(lines string) string {
		return "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n" + lines +
			"mixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n"
	}
	return []wild{
		{
			"W5 nanotron with experts", "a.yaml", "model:\n  model_config:\n    is_qwen2_config: true\n    " +
				"hidden_size: 512\n    num_hidden_layers: 8\n    num_attention_heads: 8\n    " +
				"num_key_value_heads: 8\n    intermediate_size: 1024\n    vocab_size: 32000\n    " +
				"moe_config:\n      num_experts: 64\n      top_k: 8\n      moe_intermediate_size: " +
				"256\nparallelism:\n  dp: 8\n  tp: 1\n  pp: 1\n  pp_engine: 1f1b\n  expert_parallel_size: " +
				"1\ntokens:\n  sequence_length: 2048\n  micro_batch_size: 1\n  " +
				"batch_accumulation_per_replica: 2\n", nil,
			map[string]any{"set.model.n_experts": 64, "set.model.top_k": 8, "gpus": 8},
			"", false,
		},
		{
			"W6 SHARD_GRAD_OP", "a.yaml", fsdp("  fsdp_sharding_strategy: SHARD_GRAD_OP\n"), nil,
			map[string]any{"zero": 2, "gpus": 8, "dp": 8, "precision": "bf16", "seq": open, "model": open},
			"", false,
		},
		{
			"W6 NO_SHARD", "a.yaml", fsdp("  fsdp_sharding_strategy: NO_SHARD\n"), nil,
			map[string]any{"zero": 0},
			"", false,
		},
		{
			"W6 FULL_SHARD", "a.yaml", fsdp("  fsdp_sharding_strategy: FULL_SHARD\n  fsdp_version: 1\n"), nil,
			map[string]any{"zero": 3, "hsdp": 1},
			"", false,
		},
		{
			"W6 a number", "a.yaml", fsdp("  fsdp_sharding_strategy: 2\n"), nil,
			map[string]any{"zero": 2},
			"",
			false,
		},
		{
			"W6 HYBRID_SHARD", "a.yaml",
			strings.Replace(strings.Replace(fsdp("  fsdp_sharding_strategy: HYBRID_SHARD\n"),
				"num_machines: 1", "num_machines: 2", 1), "num_processes: 8", "num_processes: 16", 1), nil,
			map[string]any{"zero": 3, "hsdp": 2, "gpus": 16},
			"", false,
		},
		{
			"W8 torchtitan without a batch", "a.toml", "[model]\nname = \"llama3\"\nflavor = " +
				"\"8B\"\n[training]\nlocal_batch_size = 1\nseq_len = " +
				"8192\n[parallelism]\ndata_parallel_shard_degree = -1\ntensor_parallel_degree = 4\n",
			[][2]string{{"gpus", "128"}},
			map[string]any{"gbs": 32, "tp": 4, "gpus": 128},
			"", false,
		},
		{
			"W10 DeepSpeed alone", "ds.json",
			`{"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, ` +
				`"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}}`, nil,
			map[string]any{
				"zero": 2, "mbs": 2, "microbatches": 4, "model": open, "gpus": open, "seq": open,
				"recompute": open,
			},
			"", false,
		},
		{
			"W12 MiCS", "ds.json",
			`{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3, "mics_shard_size": 8}}`,
			[][2]string{{"gpus", "64"}},
			map[string]any{"hsdp": 8, "zero": 3},
			"", false,
		},
		{
			"W12 hpZeRO", "ds.json",
			`{"train_micro_batch_size_per_gpu": 2, "zero_optimization": ` +
				`{"stage": 3, "zero_hpz_partition_size": 8}}`,
			[][2]string{{"gpus", "64"}},
			map[string]any{"zero": 3, "hpz": 8},
			"", false,
		},
		{
			"W12 hpZeRO of another stage", "ds.json",
			`{"train_micro_batch_size_per_gpu": 2, "zero_optimization": ` +
				`{"zero_hpz_partition_size": 8, "zero_quantized_weights": true, "stage": 2}}`,
			[][2]string{{"gpus", "64"}},
			map[string]any{"zero": 2, "hpz": 0, "qwz": false},
			"zero_hpz_partition_size", false,
		},
		{
			"W12 ZeRO++", "ds.json",
			`{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"zero_quantized_weights": true, ` +
				`"zero_quantized_gradients": true, "zero_hpz_partition_size": 1, "stage": 3}}`,
			[][2]string{{"gpus", "64"}},
			map[string]any{"zero": 3, "hpz": 0, "qwz": true, "qgz": true},
			"", false,
		},
		{
			"R4 NeMo's YAML", "a.yaml", "a: 'x--{y}'\nb: ${multiply:${c.tensor_model_parallel_size}, 2}\n",
			nil,
			nil, "", true,
		},
		{
			"R7 weights on the host", "ds.json",
			`{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3, ` +
				`"offload_param": {"device": "cpu"}, "offload_optimizer": {"device": "cpu"}}}`, nil,
			map[string]any{"zero": 3, "offload": "optimizer"},
			"offload_param", false,
		},
		{
			"R7 FSDP on the host", "a.yaml",
			fsdp("  fsdp_offload_params: true\n  fsdp_sharding_strategy: FULL_SHARD\n"), nil,
			map[string]any{"zero": 3, "offload": "weights"},
			"fsdp_offload_params", false,
		},
		{
			"R10 a launcher that is not read", "a.yaml",
			"base_model: meta-llama/Llama-3.1-8B\nload_in_8bit: " +
				"false\nsequence_len: 4096\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nbf16: " +
				"auto\ndatasets:\n  - path: x\n    type: alpaca\n", nil,
			map[string]any{"mbs": 2, "microbatches": 4, "seq": 4096, "model": "llama3.1-8b"},
			"axolotl",
			false,
		},
		{
			"R10 LLaMA-Factory", "a.yaml",
			"model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\nstage: " +
				"sft\nfinetuning_type: full\ndeepspeed: examples/deepspeed/ds_z3_config.json\ncutoff_len: " +
				"2048\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 2\nbf16: true\n", nil,
			map[string]any{
				"mbs": 1, "microbatches": 2, "seq": 2048, "model": "llama3-8b",
				"precision": "bf16", "recompute": "full", "zero": 3, "gpus": open,
			},
			"ds_z3_config.json",
			false,
		},
		{
			"a file of one's own", "a.yaml", "model_name_or_path: Qwen/Qwen2.5-7B\nfinetuning_type: " +
				"full\ndeepspeed: my_z3.json\nbf16: true\n", nil,
			map[string]any{"zero": open, "mbs": 8, "seq": 2048},
			"my_z3.json", false,
		},
		{"FSDP2 of axolotl", "a.yaml", "base_model: Qwen/Qwen2.5-7B\nmicro_batch_size: 2\nbf16: " +
			"true\nfsdp_version: 2\nfsdp_config:\n  reshard_after_forward: false\ntensor_parallel_size: " +
			"2\ndp_shard_size: 4\n", nil, map[string]any{"zero": 2, "tp": 2, "dp": 4, "gpus": 8}, "", false},
		{
			"float8 of axolotl", "a.yaml",
			"base_model: meta-llama/Llama-3.2-3B\nmicro_batch_size: 16\nfp8: " +
				"true\nfsdp_version: 2\nfsdp_config:\n  reshard_after_forward: true\n", nil,
			map[string]any{"zero": 3, "precision": open},
			"float8", false,
		},
		{
			"a debug flavour", "a.toml", "[model]\nname = \"llama3\"\nflavor = " +
				"\"debugmodel\"\n[training]\nlocal_batch_size = 8\nseq_len = " +
				"2048\n[parallelism]\ntensor_parallel_degree = 2\n", nil,
			map[string]any{"model": open, "seq": 2048, "mbs": 8, "tp": 2},
			"debugmodel", false,
		},
		{
			"R10 TRL", "a.yaml", "model_name_or_path: Qwen/Qwen2.5-7B\nbf16: " +
				"true\ngradient_accumulation_steps: 8\nper_device_train_batch_size: 4\nmax_seq_length: " +
				"4096\ngradient_checkpointing: true\nuse_peft: true\n", nil,
			map[string]any{
				"mbs": 4, "microbatches": 8, "seq": 4096, "model": "qwen2.5-7b",
				"recompute": "full", "zero": open, "optimizer": "adam", "lora": 16,
				"lora_targets": "qv", "base_dtype": open, "calibration": open,
			},
			"TRL's default of lora_r", false,
		},
		{
			"QLoRA", "a.yaml", "base_model: Qwen/Qwen2.5-7B\nmicro_batch_size: " +
				"2\ngradient_accumulation_steps: 4\nadapter: qlora\nload_in_4bit: true\nbf16: " +
				"true\noptimizer: " +
				"adamw_torch_fused\n", nil,
			map[string]any{
				"mbs": 2, "precision": "bf16", "optimizer": "adam", "base_dtype": "nf4", "lora": open,
				"lora_targets": open, "zero": 0, "calibration": "transformers",
			},
			"", false,
		},
		{
			"LoRA of ms-swift", "a.sh",
			"NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen2.5-7B --train_type " +
				"lora --micro_batch_size 1 --global_batch_size 16 --max_length 2048\n", nil,
			map[string]any{"gpus": 8, "optimizer": open},
			"adapters", false,
		},
		{
			"R10 gpt-neox", "a.yml", "{\n  # a comment\n  \"pipe_parallel_size\": 1\n}\n", nil,
			map[string]any{"pp": 1, "tp": open},
			"gpt-neox", false,
		},
		{
			"words of a comment", "a.yaml", "# tensor_model_parallel_size: 2 --micro-batch-size\nname: x\n",
			nil,
			nil, "no share string", true,
		},
		{"words of a script that only says them", "a.sh", "#!/bin/bash\n# torchrun pretrain_gpt.py " +
			"--tensor-model-parallel-size 2\ncurl --retry 3 http://x\n", nil, nil, "no share string", true},
		{
			"MaxText", "a.yml", "base_config: base.yml\nici_fsdp_parallelism: 16\nper_device_batch_size: 4\n",
			nil, nil, "MaxText", true,
		},
		{
			"FlagScale", "a.yaml",
			"defaults:\n  - train: 7b\nexperiment:\n  task:\n    type: train\n    backend: megatron\n", nil,
			nil, "FlagScale", true,
		},
		{
			"OLMo-core", "OLMo2.py", "from olmo_core.config import DType\nprint(1)\n", nil, nil, "OLMo-core",
			true,
		},
		{
			"OLMo-core's command", "a.sh",
			"torchrun --nproc-per-node=8 src/scripts/train/OLMo2-7B.py train run --train_module.x=1\n", nil,
			nil, "OLMo-core", true,
		},
		{
			"a chat", "a.yaml",
			"messages:\n  - role: user\n    content: 'use train_batch_size and zero_optimization'\n", nil,
			nil, "no share string", true,
		},
		{"R10 NeMo", "a.yaml", "model:\n  tensor_model_parallel_size: 2\n  x: --y\n", nil, nil, "NeMo", true},
		{
			"X5 default under a pipeline", "a.toml", "[model]\nname = \"llama3\"\nflavor = " +
				"\"8B\"\n[training]\nlocal_batch_size = 2\nglobal_batch_size = 8\nseq_len = " +
				"8192\n[parallelism]\ndata_parallel_shard_degree = 4\npipeline_parallel_degree = " +
				"2\nfsdp_reshard_after_forward = \"default\"\n", nil,
			map[string]any{"zero": 2, "pp": 2, "dp": 4},
			"", false,
		},
		{
			"R7 Lamb", "ds.json",
			`{"train_batch_size": 8, "zero_optimization": {"stage": 1}, "optimizer": {"type": "Lamb"}}`, nil,
			map[string]any{"zero": 1, "optimizer": open},
			"Lamb", false,
		},
		{"R8 accelerate with DeepSpeed", "a.yaml", "compute_environment: LOCAL_MACHINE\ndistributed_type: " +
			"DEEPSPEED\ndeepspeed_config:\n  gradient_accumulation_steps: 4\n  offload_optimizer_device: " +
			"none\n  offload_param_device: none\n  zero_stage: 2\nmixed_precision: bf16\nnum_machines: " +
			"1\nnum_processes: 8\n", nil, map[string]any{
			"zero": 2, "gpus": 8, "microbatches": 4,
			"precision": "bf16", "dp": 8,
		}, "", false},
	}
}
