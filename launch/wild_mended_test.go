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
			"LLaMA-Factory's default", "a.yaml", "model_name_or_path: Qwen/Qwen2.5-7B\ntemplate: qwen\n" +
				"cutoff_len: 4096\nlora_rank: 32\nbf16: true\n", nil,
			map[string]any{"lora": 32, "lora_targets": "all", "seq": 4096},
			"", false,
		},
		{
			"a stage that is a text", "a.json", `{"zero_optimization": {"stage": "3"}, "bf16": ` +
				`{"enabled": true}}`, nil,
			map[string]any{"zero": open, "precision": "bf16"},
			`"3" is a text; the number 3, without quotes, is understood`, false,
		},
		{
			"a container that is yours to name", "a.sh", "IMAGE=\"\"\nif [ -z \"$IMAGE\" ]; then\n  echo " +
				"set it\n  " +
				"exit 1\nfi\nsrun --container-image=$IMAGE " + torchrun + " --tensor-model-parallel-size " +
				"2\n", nil,
			map[string]any{"tp": 2, "gpus": 8},
			"as if it were filled in", false,
		},
		{
			"an exit for another reason", "a.sh", "X=\"\"\nif [ -z \"$X\" ]; then exit 0; " +
				"fi\n" + torchrun + "\n", nil, nil,
			"the script ends here", true,
		},
		{
			"a program of its own", "a.sh", "torchrun --nproc_per_node 8 --nnodes 2 00_mine.py --lr " +
				"1e-4\n", nil,
			map[string]any{"gpus": 16, "tp": open, "zero": open, "model": open, "precision": open},
			"00_mine.py", false,
		},
		{
			"overrides of one of several runs", "a.sh", "for C in \"4 1\" \"2 2\"; do\n  set -- $C\n  " +
				"torchrun " +
				"--nproc_per_node=8 scripts/training/run_recipe.py --recipe llama3_8b_pretrain_config " +
				"train.micro_batch_size=1 model.tensor_model_parallel_size=$1 " +
				"model.pipeline_model_parallel_size=$2\ndone\n", nil,
			map[string]any{"mbs": 1, "tp": open, "pp": open, "model": "llama3-8b", "gpus": 8},
			"", false,
		},
		{
			"accumulation that expr makes", "a.sh", "n=2\nNPROC_PER_NODE=$n swift sft --model " +
				"Qwen/Qwen2.5-7B " +
				"--gradient_accumulation_steps $(expr 16 / $n) --torch_dtype bfloat16\n", nil,
			map[string]any{"microbatches": 8, "gpus": 2, "lora": 8},
			"", false,
		},
		{
			"layers over the GPUs of a process", "a.sh", "CUDA_VISIBLE_DEVICES=0,1 swift sft --model " +
				"Qwen/Qwen2.5-7B\n", nil,
			map[string]any{"gpus": open, "zero": open, "calibration": open},
			"", false,
		},
		{
			"checkpoints on the host", "a.yaml", axolotl + "gradient_checkpointing: offload\n", nil,
			map[string]any{"recompute": "full"},
			"go to the host", false,
		},
		{
			"optimizers of bitsandbytes", "a.yaml", axolotl + "optimizer: paged_adamw_8bit\n", nil,
			map[string]any{
				"optimizer": "adamw-paged-8bit", "weight_dtype": "bf16",
				"calibration": "transformers",
			},
			"", false,
		},
		{
			"DeepSpeed's stage alone", "ds.json", `{"zero_optimization": {"stage": 3},
				"bf16": {"enabled": true}}`, nil,
			map[string]any{"zero": 3, "calibration": "deepspeed"},
			"", false,
		},
		{
			"DeepSpeed without ZeRO", "ds.json", `{"zero_optimization": {"stage": 0},
				"bf16": {"enabled": true}}`, nil,
			map[string]any{"zero": 0, "calibration": "default"},
			"without ZeRO", false,
		},
		{
			"FSDP2 of accelerate", "a.yaml", "distributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n" +
				"  fsdp_version: 2\n  fsdp_reshard_after_forward: true\nnum_processes: 8\n", nil,
			map[string]any{"zero": 3, "calibration": "transformers", "gpus": 8},
			"", false,
		},
		{
			"tensor parallelism of accelerate", "a.yaml", "distributed_type: FSDP\nmixed_precision: bf16\n" +
				"fsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: true\nnum_processes: 8\n" +
				"parallelism_config:\n  parallelism_config_tp_size: 2\n  parallelism_config_dp_shard_size: " +
				"4\n", nil,
			map[string]any{"zero": 3, "calibration": "default", "tp": 2},
			"predicted as Megatron-Core", false,
		},
		{
			"moments of 8 bits", "a.yaml", axolotl + "optimizer: adamw_torch_8bit\n", nil,
			map[string]any{"optimizer": open, "mbs": 1},
			"", false,
		},
		{
			"another optimizer by a switch", "a.yaml", factory + "use_galore: true\n", nil,
			map[string]any{"optimizer": open},
			"", false,
		},
		{
			"Muon by a switch", "a.yaml", factory + "use_muon: true\noptim: adamw_torch\n", nil,
			map[string]any{"optimizer": "muon"},
			"use_muon takes its place", false,
		},
		{
			"Muon of axolotl", "a.yaml", axolotl + "optimizer: muon\n", nil,
			map[string]any{"optimizer": "muon"},
			"", false,
		},
		{
			"Adafactor", "a.yaml", axolotl + "optimizer: adafactor\n", nil,
			map[string]any{"optimizer": "adafactor"},
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
			axolotl + "fsdp:\n  - full_shard\n  - auto_wrap\nfsdp_config:\n  fsdp_offload_params: " +
				"true\n", nil,
			map[string]any{"zero": 3, "offload": "weights", "calibration": "transformers"},
			"", false,
		},
		{
			"FSDP 1 on the host in a word", "a.yaml", axolotl + "fsdp:\n  - full_shard\n  - offload\n", nil,
			map[string]any{"zero": 3, "offload": "weights", "calibration": "transformers"},
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
			map[string]any{"cp": 2, "cp_comm": "a2a", "dp": 2, "gpus": 4, "zero": 3},
			"", false,
		},
		{
			"weights of torchtitan in bf16", "a.toml", "[model]\nname = \"llama3\"\nflavor = \"8B\"\n" +
				"[training]\nlocal_batch_size = 1\nseq_len = 8192\ndtype = \"bfloat16\"\n[parallelism]\n" +
				"data_parallel_shard_degree = 8\n", nil,
			map[string]any{"precision": "bf16", "weight_dtype": "bf16", "optimizer": "adam", "gpus": 8},
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
				" --train-samples $N --bf16 --moe-layer-freq '([0]*1+[1]*31)' --num-experts 8 &> " +
				"$LOG/x.log\"\n" +
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
				"set.model.qk_nope_head_dim": 96, "set.model.qk_rope_head_dim": 32,
				"set.model.v_head_dim": 128,
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
		{
			"a template of DeepSpeed", "ds.json", `{"zero_optimization": {"stage": ${zero_stage}}, ` +
				`"train_micro_batch_size_per_gpu": MBSIZE, "bf16": {"enabled": true}}`, nil,
			map[string]any{"zero": open, "mbs": open, "precision": "bf16", "gpus": open},
			"", false,
		},
		{
			"TRL without a batch", "a.yaml", "model_name_or_path:\n  Qwen/Qwen2.5-7B\ndataset_name:\n  " +
				"x/y\n", nil,
			map[string]any{"model": "qwen2.5-7b", "mbs": 8, "zero": open, "gpus": open},
			"", false,
		},
		{
			"arguments that a script looks for", "a.sh", "OUT=$1\nZ=$2\nif [ \"$Z\" == \"\" ]; then " +
				"Z=3; fi\n" +
				"if [[ -z $3 ]]; then B=4; fi\ndeepspeed main.py --model_name_or_path " +
				"meta-llama/Llama-2-7b-hf " +
				"--per_device_train_batch_size $B --zero_stage $Z --deepspeed --output_dir $OUT\n", nil,
			map[string]any{"zero": 3, "mbs": 4, "model": "llama2-7b", "gpus": open},
			"give it after --", false,
		},
		{
			"OLMo's own figures", "a.yaml", "model:\n  d_model: 4096\n  n_heads: 32\n  n_layers: 32\n" +
				"  mlp_hidden_size: 22016\n  weight_tying: false\n  rope: true\n  include_bias: false\n" +
				"  layer_norm_type: rms\n  attention_layer_norm: true\n  activation_type: swiglu\n" +
				"  max_sequence_length: 4096\n  vocab_size: 100278\n  embedding_size: 100352\n" +
				"global_train_batch_size: 1024\ndevice_train_microbatch_size: 2\nprecision: amp_bf16\n" +
				"fsdp:\n" +
				"  precision: mixed\n", nil,
			map[string]any{
				"set.model.ffn_hidden": 11008, "set.model.vocab": 100352, "set.model.qk_norm": "full-width",
				"set.model.tied_embeddings": false, "zero": 3, "gbs": 1024, "recompute": "none",
			},
			"", false,
		},
		{
			"norms without parameters", "a.yaml", "model:\n  d_model: 2048\n  n_heads: 16\n  n_layers: 16\n" +
				"  layer_norm_type: default\nglobal_train_batch_size: 8\ndevice_train_microbatch_size: " +
				"2\n", nil,
			map[string]any{"model": open, "gbs": 8},
			"", false,
		},
		{
			"all of torchtune in bf16", "a.yaml", "model:\n  _component_: " +
				"torchtune.models.llama2.llama2_13b\n" +
				"batch_size: 2\noptimizer:\n  _component_: torch.optim.AdamW\ndtype: bf16\n", nil,
			map[string]any{
				"optimizer": "adam-no-master", "calibration": "pytorch", "zero": open, "precision": "bf16",
			},
			"moments in bf16", false,
		},
		{
			"overrides of Megatron-Bridge", "a.yaml", "model:\n  seq_length: 4096\n" +
				"  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 1\n  sequence_parallel: " +
				"true\n" +
				"  teacher:\n    tensor_model_parallel_size: 4\ntrain:\n  global_batch_size: 8\n" +
				"  micro_batch_size: 1\n", nil,
			map[string]any{
				"tp": 2, "pp": 1, "sp": true, "seq": 4096, "gbs": 8, "mbs": 1, "model": open, "gpus": open,
				"zero": open, "precision": open, "recompute": open, "cp": open,
			},
			"teacher", false,
		},
		{
			"torchtitan of 2024", "a.toml", "[job]\ndescription = \"x\"\n[model]\nname = \"llama3\"\n" +
				"flavor = " +
				"\"8B\"\n[optimizer]\nname = \"AdamW\"\n[training]\nbatch_size = 8\nseq_len = 8192\n" +
				"data_parallel_degree = -1\ntensor_parallel_degree = 2\n[experimental]\n" +
				"pipeline_parallel_degree = 2\n[activation_checkpoint]\nmode = 'selective'\n", nil,
			map[string]any{
				"model": "llama3.1-8b", "tp": 2, "pp": 2, "cp": 1, "mbs": 4, "seq": 8192, "gpus": open,
				"recompute": open, "precision": "bf16",
			},
			"every second layer", false,
		},
		{
			"a recipe of NeMo in Python", "a.py", nemoRecipe, nil,
			map[string]any{
				"model": "llama3-70b", "tp": 8, "pp": 4, "vpp": 1, "cp": 8, "gpus": 256, "seq": 65536,
				"gbs": 512,
				"mbs": 1, "recompute": "full", "precision": "bf16", "zero": 1, "sp": true,
			},
			"performance_mode", false,
		},
		{
			"a script of OLMo-core", "a.py", olmoCoreScript("", ""), nil,
			map[string]any{
				"model": "olmo2-7b", "seq": 4096, "gbs": 1024, "mbs": 2, "zero": 3, "hsdp": open,
				"precision": "bf16", "recompute": "full", "gpus": open, "tp": 1,
			},
			"", false,
		},
		{
			"a script of OLMo-core that looks at its GPUs", "a.py", olmoCoreScript(
				"tp_config=TransformerTensorParallelConfig(degree=2),", "    if get_world_size() >= 1024:\n"+
					"        train_module_config.rank_microbatch_size //= 2\n        "+
					"train_module_config.ac_config"+
					" = C(mode=ActivationCheckpointingMode.budget)\n"), nil,
			map[string]any{"mbs": open, "recompute": open, "tp": open, "gbs": 1024},
			"", false,
		},
		{
			"a registry of torchtitan", "a.py", titanRecipes + "def qwen3_8b() -> Trainer.Config:\n    " +
				"return 1\n",
			nil, nil, "name one after --", true,
		},
		{
			"recipes that start from each other", "a.py", "import torchtitan\ndef a() -> Trainer.Config:\n" +
				"    return a()\n", nil, map[string]any{"model": open, "gpus": open}, "", false,
		},
		{
			"the only recipe of a registry", "a.py", titanRecipes, nil,
			map[string]any{
				"model": "qwen3-14b", "seq": 4096, "mbs": 4, "tp": 2, "recompute": "full", "zero": 3,
				"gpus": open,
			},
			"", false,
		},
	}
}

const (
	nemoRecipe = "from nemo.collections.llm.recipes import llama3_70b\nNAME = \"llama3_70b_64k\"\n" +
		"def trainer(\n    num_nodes: int = 32,\n    num_gpus_per_node: int = 8,\n) -> run.Config:\n" +
		"    \"\"\"tensor_parallelism=1\"\"\"\n    return llama3_70b.trainer(\n        " +
		"tensor_parallelism=8,\n" +
		"        pipeline_parallelism=4,\n        virtual_pipeline_parallelism=None,\n" +
		"        context_parallelism=8,\n        sequence_parallelism=True,\n        " +
		"num_nodes=num_nodes,\n    )\n" +
		"def pretrain_recipe(name: str = \"default\", num_nodes: int = 32, num_gpus_per_node: int = 8):\n" +
		"    recipe = llama3_70b.pretrain_recipe(name=name)\n" +
		"    recipe.data = run.Config(M, seq_length=65536, global_batch_size=512, micro_batch_size=1)\n" +
		"    recipe.model.config.recompute_granularity = \"full\"\n" +
		"    recipe.model.config.recompute_method = \"uniform\"\n" +
		"    recipe.model.config.recompute_num_layers = 1\n    return recipe\n" +
		"def finetune_recipe():\n    recipe.trainer.strategy.tensor_parallelism = 2\n"
	titanRecipes = "from torchtitan.config import TrainingConfig\ndef qwen3_14b() -> Trainer.Config:\n" +
		"    spec = model_registry(\"14B\")\n    return Trainer.Config(\n        training=TrainingConfig(\n" +
		"            num_tokens_per_microbatch_per_dp_rank=4 * 4096,\n            " +
		"max_context_length=4096,\n" +
		"        ),\n        parallelism=ParallelismConfig(tensor_parallel_degree=2),\n" +
		"        activation_checkpoint=FullAC.Config(),\n    )\n"
)

// olmoCoreScript is a script of OLMo-core with something more in its configuration and after it.
func olmoCoreScript(more, after string) string {
	return "from olmo_core.config import DType\nDEFAULT_LENGTH = 4096\ndef build_config(opts):\n" +
		"    sequence_length = opts.sequence_length or DEFAULT_LENGTH\n" +
		"    model_config = TransformerConfig.olmo2_7B(vocab_size=v())\n" +
		"    data = NumpyDataLoaderConfig(global_batch_size=1024 * 4096, seed=1)\n" +
		"    train_module_config = TransformerTrainModuleConfig(\n        rank_microbatch_size=2 * 4096,\n" +
		"        dp_config=TransformerDataParallelConfig(\n            name=DataParallelType.hsdp," +
		" param_dtype=DType.bfloat16\n        ),\n        " + more + "\n        ac_config=C(\n" +
		"            ActivationCheckpointingMode.full\n        ),\n    )\n" + after + "    return 1\n"
}
