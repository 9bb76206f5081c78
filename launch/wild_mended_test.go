package launch_test

// wildMended are what public files showed to be read wrongly or not at all, each in a few lines.
func wildMended() []wild {
	const axolotl = "base_model: Qwen/Qwen2.5-7B\nmicro_batch_size: 1\nbf16: true\n"
	const factory = "model_name_or_path: Qwen/Qwen2.5-7B\nfinetuning_type: full\nbf16: true\n"
	const plugin = "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\nnum_processes: 4\n"
	const mla = " --multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 --qk-nope-head-dim 96" +
		" --qk-rope-head-dim 32"
	return []wild{
		{
			"moments of 8 bits", "a.yaml", axolotl + "optimizer: adamw_torch_8bit\n", nil,
			map[string]any{"optimizer": open, "mbs": 1},
			"", false,
		},
		{
			"another optimizer by a switch", "a.yaml", factory + "use_muon: true\n", nil,
			map[string]any{"optimizer": open},
			"", false,
		},
		{
			"what accelerate may shard", "a.yaml", factory, nil,
			map[string]any{"zero": open, "seq": 2048},
			"",
			false,
		},
		{
			"FSDP 1 on the host", "a.yaml",
			axolotl + "fsdp:\n  - full_shard\n  - auto_wrap\nfsdp_config:\n  fsdp_offload_params: true\n", nil,
			map[string]any{"zero": 3, "offload": open},
			"", false,
		},
		{
			"FSDP 1 on the host in a word", "a.yaml", axolotl + "fsdp:\n  - full_shard\n  - offload\n", nil,
			map[string]any{"zero": 3, "offload": open},
			"", false,
		},
		{
			"experts of axolotl", "a.yaml",
			axolotl + "expert_parallel_size: 2\nfsdp_version: 2\ndp_shard_size: 2\n", nil,
			map[string]any{"ep": open, "gpus": open, "zero": 3},
			"", false,
		},
		{
			"Ulysses of accelerate", "a.yaml", plugin +
				"parallelism_config:\n  parallelism_config_sp_size: 2\n", nil,
			map[string]any{"cp": open, "dp": open, "gpus": 4, "zero": 3},
			"", false,
		},
		{
			"weights of torchtitan in bf16", "a.toml", "[model]\nname = \"llama3\"\nflavor = \"8B\"\n" +
				"[training]\nlocal_batch_size = 1\nseq_len = 8192\ndtype = \"bfloat16\"\n[parallelism]\n" +
				"data_parallel_shard_degree = 8\n", nil,
			map[string]any{"precision": open, "grad_dtype": open, "optimizer": open, "gpus": 8},
			"", false,
		},
		{
			"a batch that grows to the one that is given", "a.sh",
			torchrun + " --step-batch-size-schedule 0:16 2.4B:32 4.8B:64\n", nil,
			map[string]any{"gbs": 64},
			"last batch", false,
		},
		{
			"a batch that grows beyond", "a.sh", torchrun + " --step-batch-size-schedule 0:16 2.4B:32\n", nil,
			map[string]any{"gbs": open},
			"", false,
		},
		{
			"words that are built, cut and run", "a.sh",
			"LOG=$(date)\nN=$(( 300 * 1000000000 / 2048 ))\nCMD=\"" + torchrun +
				" --train-samples $N --bf16 --moe-layer-freq '([0]*1+[1]*31)' --num-experts 8 &> $LOG/x.log\"\n" +
				"eval $CMD\n", nil,
			map[string]any{
				"precision": "bf16", "set.model.first_k_dense_layers": 1, "set.model.n_experts": 8,
			},
			"", false,
		},
		{
			"an array that nothing fills, and numbers", "a.sh",
			torchrun + " ${EXTRA[@]} --sglang-bs 1 2 $(seq 4 2 8)\n", nil,
			map[string]any{"zero": 0, "precision": "fp32"},
			"EXTRA", false,
		},
		{
			"MLA by other names", "a.sh", torchrun + mla + "\n", nil,
			map[string]any{
				"set.model.qk_nope_head_dim": 96, "set.model.qk_rope_head_dim": 32, "set.model.v_head_dim": 128,
			},
			"", false,
		},
		{
			"layers that a flag which may be there cuts", "a.sh", "if [ $X = 1 ]; then F=\"" +
				"--decoder-first-pipeline-num-layers 2\"; fi\n" + torchrun +
				" --pipeline-model-parallel-size 3 $F\n", nil,
			map[string]any{"pp": 3, "split": open, "set.model.layers": 32},
			"do not divide", false,
		},
		{
			"one expert is none", "a.sh", torchrun + " --zero-stage 1 --num-experts 1 --cpu-optimizer\n", nil,
			map[string]any{"zero": 1, "offload": "optimizer", "set.model.layers": 32},
			"one: a dense model",
			false,
		},
	}
}
