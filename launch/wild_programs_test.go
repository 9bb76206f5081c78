package launch_test

// wildTrainers are command lines of programs on Hugging Face's Trainer.
func wildTrainers() []wild {
	const figures = " --model_name_or_path meta-llama/Llama-2-7b-hf --per_device_train_batch_size 4 " +
		"--gradient_accumulation_steps 8 --model_max_length 2048 --bf16 True --gradient_checkpointing True " +
		"--optim adamw_torch"
	return []wild{
		{
			"Trainer with a file of DeepSpeed that is not there", "a.sh",
			"deepspeed --num_gpus 8 llava/train/train_mem.py --deepspeed ./scripts/stage3.json" + figures +
				"\n", nil,
			map[string]any{
				"model": "llama2-7b", "gpus": 8, "mbs": 4, "microbatches": 8, "seq": 2048,
				"precision": "bf16", "recompute": "full", "optimizer": "adamw-foreach", "zero": open, "pp": 1,
				"tp": 1,
			},
			"", false,
		},
		{
			"Trainer with a file of DeepSpeed beside it", "a.sh",
			"torchrun --nproc_per_node=4 --nnodes=2 train.py --deepspeed scripts/zero2.json" + figures + "\n",
			nil,
			map[string]any{"gpus": 8, "zero": 2, "offload": "optimizer", "precision": "bf16"},
			"zero2.json", false,
		},
		{
			"FSDP 1 of the Trainer", "a.sh", "torchrun --nproc_per_node=4 train.py --fsdp \"full_shard " +
				"auto_wrap\" --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer" + figures + "\n", nil,
			map[string]any{"gpus": 4, "zero": 3},
			"", false,
		},
		{
			"what a script may set", "a.sh", "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path " +
				"gpt2 --block_size 1024 --per_device_train_batch_size 4\n", nil,
			map[string]any{
				"model": open, "seq": 1024, "mbs": 4, "microbatches": open, "recompute": open,
				"precision": open, "optimizer": open, "zero": 0,
			},
			"", false,
		},
		{
			"GPUs by the environment", "a.sh",
			"export CUDA_VISIBLE_DEVICES=0,1,2,3\ndeepspeed train.py --deepspeed zero2.json" + figures + "\n",
			nil,
			map[string]any{"gpus": 4, "zero": 2},
			"", false,
		},
		{
			"no number of GPUs", "a.sh", "deepspeed train.py --deepspeed zero2.json" + figures + "\n", nil,
			map[string]any{"gpus": open},
			"", false,
		},
		{
			"accelerate with its file", "a.sh", "accelerate launch --config_file configs/fsdp.yaml " +
				"--num_processes 16 --num_machines 2 train.py" + figures + "\n", nil,
			map[string]any{"gpus": 16, "zero": 2, "recompute": "full"},
			"", false,
		},
		{
			"accelerate with DeepSpeed", "a.sh", "accelerate launch --config_file plugin.yaml " +
				"examples/scripts/sft.py --model_name_or_path Qwen/Qwen2.5-7B --max_length 4096 " +
				"--per_device_train_batch_size 2\n", nil,
			map[string]any{
				"gpus": 16, "zero": 3, "precision": "bf16", "seq": 4096, "mbs": 2,
				"recompute": "full", "microbatches": 1,
			},
			"", false,
		},
		{
			"accelerate by its flags", "a.sh", "accelerate launch --use_deepspeed --zero_stage 1 " +
				"--num_processes 8 --mixed_precision fp16 train.py --model_name_or_path Qwen/Qwen2.5-7B " +
				"--per_device_train_batch_size 2\n", nil,
			map[string]any{"gpus": 8, "zero": 1, "precision": "fp16"},
			"", false,
		},
		{
			"accelerate as the machine has it", "a.sh", "accelerate launch train.py" + figures + "\n", nil,
			map[string]any{"gpus": open, "zero": open, "mbs": 4},
			"", false,
		},
		{
			"LoRA in four bits", "a.sh",
			"torchrun --nproc_per_node 2 qlora.py --lora_enable True --bits 4" + figures + "\n", nil,
			map[string]any{
				"optimizer": "adamw-foreach", "precision": "bf16", "gpus": 2, "lora": open,
				"base_dtype":   open,
				"lora_targets": open, "calibration": "transformers", "zero": 0,
			},
			"", false,
		},
		{
			"ms-swift", "a.sh", "NNODES=2 NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-72B-Instruct " +
				"--train_type full --torch_dtype bfloat16 --per_device_train_batch_size 1 --max_length " +
				"8192 --deepspeed zero3_offload\n", nil,
			map[string]any{
				"model": "qwen2.5-72b", "gpus": 16, "zero": 3, "offload": "weights",
				"precision": "bf16", "seq": 8192, "mbs": 1, "microbatches": 1, "recompute": "full",
				"optimizer": "adam",
			},
			"as ms-swift's Trainer ships it", false,
		},
		{
			"ms-swift tunes adapters by default", "a.sh", "CUDA_VISIBLE_DEVICES=0 swift sft --model " +
				"Qwen/Qwen2.5-7B --torch_dtype bfloat16 --max_length 2048\n", nil,
			map[string]any{
				"gpus": 1, "optimizer": "adam", "mbs": 1, "microbatches": 16, "lora": 8,
				"lora_targets": "all", "calibration": "transformers",
			},
			"", false,
		},
		{
			"LLaMA-Factory with its file", "a.sh", "FORCE_TORCHRUN=1 CUDA_VISIBLE_DEVICES=0,1,2,3 " +
				"llamafactory-cli train examples/sft_llf.yaml per_device_train_batch_size=1\n", nil,
			map[string]any{
				"gpus": 4, "zero": 2, "seq": 4096, "mbs": 1, "microbatches": 4,
				"precision": "bf16", "recompute": "full", "model": "llama3-8b",
			},
			"sft_llf.yaml", false,
		},
		{
			"a file that is not beside it", "a.sh", "llamafactory-cli train examples/other.yaml\n", nil, nil,
			"import the file", true,
		},
		{
			"a configuration that the script writes", "a.sh", "cat > acc.yaml <<EOF\ndistributed_type: " +
				"FSDP\nfsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: " +
				"false\nnum_processes: 32\nEOF\naccelerate launch --config_file acc.yaml train.py" + figures +
				"\n", nil,
			map[string]any{"gpus": 32, "zero": 2, "mbs": 4},
			"", false,
		},
		{
			"a model of a folder", "a.sh", "torchrun --nproc_per_node 8 train.py --model_name_or_path " +
				"$MODELS/Qwen2.5-7B --per_device_train_batch_size $B\n", nil,
			map[string]any{"model": "qwen2.5-7b", "mbs": open},
			"$B", false,
		},
		{
			"any script that accelerate starts", "a.sh", "python -u -m accelerate.commands.launch " +
				"--config_file elsewhere.yml --main_process_port 1 sp.py\n", nil,
			map[string]any{"gpus": open, "zero": open, "mbs": open, "model": open, "pp": 1},
			"", false,
		},
		{
			"TRL's file says nothing of sharding", "a.yaml", "model_name_or_path: " +
				"Qwen/Qwen2.5-7B\nper_device_train_batch_size: 2\nbf16: true\nmax_length: 4096\n", nil,
			map[string]any{"zero": open, "mbs": 2, "seq": 4096, "precision": "bf16"},
			"", false,
		},
		{
			"preferences", "a.sh", "accelerate launch --multi_gpu --num_processes 8 --mixed_precision bf16 " +
				"dpo.py --per_device_train_batch_size 1 --max_prompt_length 512 --max_completion_length " +
				"1024 --model_name_or_path Qwen/Qwen2.5-7B\n", nil,
			map[string]any{"seq": 1536, "zero": 0, "gpus": 8},
			"", false,
		},
	}
}

// wildPrograms are files and command lines of programs that are read and not written.
func wildPrograms() []wild {
	const actor = "actor_rollout_ref.actor."
	const grpo = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=512 " +
		"data.max_prompt_length=1024 data.max_response_length=2048 " +
		"actor_rollout_ref.model.path=$HOME/models/Qwen3-8B " +
		actor + "ppo_mini_batch_size=64 actor_rollout_ref.rollout.n=8 " +
		"actor_rollout_ref.rollout.tensor_model_parallel_size=4 trainer.n_gpus_per_node=8 trainer.nnodes=4 "
	return []wild{
		{
			"verl on FSDP", "a.sh",
			grpo + actor + "ppo_micro_batch_size_per_gpu=2 " + actor + "fsdp_config.optimizer_offload=True " +
				"actor_rollout_ref.model.enable_gradient_checkpointing=True\n", nil,
			map[string]any{
				"model": "qwen3-8b", "gbs": 512, "mbs": 2, "seq": 3072, "gpus": 32, "zero": 3,
				"precision": "bf16", "recompute": "full", "tp": 1, "pp": 1, "offload": "none",
			},
			"while the rollout runs", false,
		},
		{
			"verl on Megatron", "a.sh",
			grpo + "--config-name='ppo_megatron_trainer.yaml' " + actor + "ppo_micro_batch_size_per_gpu=1 " +
				actor + "megatron.tensor_model_parallel_size=4 " + actor +
				"megatron.pipeline_model_parallel_size=2 +" +
				actor + "megatron.override_transformer_config.recompute_granularity=full +" + actor +
				"megatron.override_transformer_config.recompute_method=uniform +" + actor +
				"megatron.override_transformer_config.recompute_num_layers=1\n", nil,
			map[string]any{
				"tp": 4, "pp": 2, "gbs": 512, "seq": 3072, "gpus": 32, "zero": 1, "sp": true,
				"recompute": "full", "precision": "bf16",
			},
			"which is not read: the training of the actor is", false,
		},
		{
			"verl fills micro-batches with tokens", "a.sh",
			grpo + actor + "use_dynamic_bsz=True " + actor + "ppo_max_token_len_per_gpu=16384 " + actor +
				"ulysses_sequence_parallel_size=2 " + actor + "fsdp_config.fsdp_size=8\n", nil,
			map[string]any{"mbs": open, "cp": 2, "cp_comm": "a2a", "hsdp": 4},
			"", false,
		},
		{
			"verl shards over more than the GPUs have", "a.sh",
			grpo + actor + "fsdp_config.fsdp_size=5\n", nil,
			map[string]any{"hsdp": open},
			"", false,
		},
		{
			"verl shards over ranks of an unknown number", "a.sh",
			"python -m verl.trainer.main_ppo trainer.nnodes=$N trainer.n_gpus_per_node=8 " + actor +
				"fsdp_config.fsdp_size=8\n", nil,
			map[string]any{"gpus": open, "hsdp": open},
			"", false,
		},
		{
			"verl with words that are not known", "a.sh", "source conf.sh\npython -m verl.trainer.main_ppo " +
				"data.max_prompt_length=1024 trainer.nnodes=2 $ACTOR\n", nil,
			map[string]any{"gbs": open, "seq": open, "gpus": open, "zero": open, "model": open},
			"", false,
		},
		{
			"verl's supervised training", "a.sh", "torchrun --nnodes=1 --nproc_per_node=8 -m " +
				"verl.trainer.fsdp_sft_trainer data.train_batch_size=128 data.micro_batch_size_per_gpu=4 " +
				"data.max_length=4096 model.partial_pretrain=Qwen/Qwen2.5-7B model.lora_rank=32\n", nil,
			map[string]any{
				"gpus": 8, "gbs": 128, "mbs": 4, "seq": 4096, "model": "qwen2.5-7b", "zero": 3,
				"optimizer": "adam", "lora": 32, "lora_targets": "all", "base_dtype": open,
				"calibration": "transformers",
			},
			"loads frozen weights in fp32 where model.fsdp_config.model_dtype is not given", false,
		},
		{
			"OpenRLHF with today's flags", "a.sh", "read -r -d '' cmd <<EOF\nopenrlhf.cli.train_sft " +
				"--data.max_len 4096 --train.batch_size 256 --train.micro_batch_size 2 " +
				"--model.model_name_or_path meta-llama/Meta-Llama-3-8B --ds.zero_stage 2 --ds.param_dtype " +
				"bf16 --model.gradient_checkpointing_enable\nEOF\ndeepspeed --num_gpus 8 --module $cmd\n",
			nil,
			map[string]any{
				"gpus": 8, "seq": 4096, "gbs": 256, "mbs": 2, "model": "llama3-8b", "zero": 2,
				"precision": "bf16", "recompute": "full",
			},
			"", false,
		},
		{
			"OpenRLHF with flags of 0.9", "a.sh", "ray job submit --address=x -- python3 -m " +
				"openrlhf.cli.train_ppo_ray --actor_num_nodes 2 --actor_num_gpus_per_node 8 " +
				"--vllm_num_engines 4 --pretrain Qwen/Qwen2.5-7B --micro_train_batch_size 4 " +
				"--train_batch_size 128 --prompt_max_len 1024 --generate_max_len 1024 --zero_stage 3 " +
				"--bf16 --adam_offload --ring_attn_size 2\n", nil,
			map[string]any{
				"gpus": 16, "seq": 2048, "gbs": 128, "mbs": 4, "zero": 3, "precision": "bf16",
				"offload": "optimizer", "recompute": "none", "cp": 2,
			},
			"is not read", false,
		},
		{
			"ROLL on Megatron", "a.yaml", "pretrain: Qwen/Qwen2.5-7B\nprompt_length: " +
				"2048\nresponse_length: 4096\nnum_gpus_per_node: 8\nactor_train:\n  model_args:\n    " +
				"dtype: bf16\n  training_args:\n    per_device_train_batch_size: 1\n    " +
				"gradient_accumulation_steps: 32\n  strategy_args:\n    strategy_name: megatron_train\n    " +
				"strategy_config:\n      tensor_model_parallel_size: 2\n      use_distributed_optimizer: " +
				"true\n      recompute_granularity: full\n  device_mapping: " +
				"list(range(0,16))\nactor_infer:\n  strategy_args:\n    strategy_name: vllm\n", nil,
			map[string]any{
				"model": "qwen2.5-7b", "seq": 6144, "mbs": 1, "microbatches": 32, "tp": 2, "pp": 1,
				"zero": 1, "recompute": "full", "gpus": 16, "precision": "bf16",
			},
			"is not read", false,
		},
		{
			"ROLL on DeepSpeed", "a.yaml", "pretrain: Qwen/Qwen2.5-7B\nsequence_length: " +
				"4096\nactor_train:\n  training_args:\n    per_device_train_batch_size: 1\n    " +
				"gradient_accumulation_steps: 8\n  strategy_args:\n    strategy_name: deepspeed_train\n    " +
				"strategy_config: ${deepspeed_zero3}\n  device_mapping: list(range(8,16))\n", nil,
			map[string]any{"seq": 4096, "zero": open, "gpus": 8, "microbatches": 8},
			"another file", false,
		},
		{
			"NeMo 1", "a.yaml", "trainer:\n  devices: 8\n  num_nodes: 4\n  precision: bf16\nmodel:\n  " +
				"micro_batch_size: 1\n  global_batch_size: 256\n  tensor_model_parallel_size: 4\n  " +
				"pipeline_model_parallel_size: 2\n  virtual_pipeline_model_parallel_size: null\n  " +
				"encoder_seq_length: 4096\n  max_position_embeddings: ${.encoder_seq_length}\n  " +
				"num_layers: 32\n  hidden_size: 4096\n  ffn_hidden_size: 11008\n  num_attention_heads: " +
				"32\n  normalization: rmsnorm\n  bias: false\n  activation: fast-swiglu\n  " +
				"position_embedding_type: rope\n  share_embeddings_and_output_weights: false\n  " +
				"sequence_parallel: true\n  activations_checkpoint_granularity: selective\n  " +
				"cpu_offloading: false\n  cpu_offloading_num_layers: ${sum:${.num_layers},-1}\n  optim:\n  " +
				"  name: distributed_fused_adam\n", nil,
			map[string]any{
				"gpus": 32, "precision": "bf16", "mbs": 1, "gbs": 256, "tp": 4, "pp": 2,
				"seq": 4096, "sp": true, "recompute": "selective", "zero": 1, "set.model.vocab": open,
				"set.model.ffn_hidden": 11008, "set.model.activation": "swiglu", "set.model.norm": "rmsnorm",
				"set.model.tied_embeddings": false,
			},
			"", false,
		},
		{
			"NeMo 1 over a file that is not there", "a.sh", "python megatron_gpt_pretraining.py " +
				"--config-path=conf --config-name=gpt_5b trainer.devices=8 trainer.num_nodes=2 " +
				"model.tensor_model_parallel_size=2 model.micro_batch_size=4\n", nil,
			map[string]any{
				"gpus": 16, "tp": 2, "mbs": 4, "pp": open, "gbs": open, "seq": open,
				"precision": open, "zero": open, "model": open,
			},
			"gpt_5b.yaml", false,
		},
		{
			"a recipe of NeMo 2", "a.sh", "nemo llm pretrain --factory \"llama3_70b(num_nodes=4)\" " +
				"trainer.strategy.context_parallel_size=1 data.global_batch_size=256 -y\n", nil,
			map[string]any{
				"model": "llama3-70b", "gpus": 32, "tp": 4, "pp": 4, "vpp": 5, "cp": 1, "gbs": 256,
				"mbs": 1, "seq": 8192, "sp": true, "zero": 1, "precision": "bf16",
			},
			"the recipe", false,
		},
		{
			"a recipe that is not known", "a.sh",
			"nemo llm pretrain --factory hyena_7b trainer.num_nodes=2 trainer.devices=8\n", nil,
			map[string]any{"model": open, "gpus": 16, "tp": open, "zero": open},
			"", false,
		},
		{
			"llm-foundry", "a.yaml", "variables:\n  max_seq_len: 2048\nmax_seq_len: " +
				"${variables.max_seq_len}\nmodel:\n  name: mpt_causal_lm\n  d_model: 4096\n  n_heads: 32\n " +
				" n_layers: 32\n  expansion_ratio: 4\n  vocab_size: 50368\nglobal_train_batch_size: " +
				"1024\ndevice_train_microbatch_size: auto\nprecision: amp_bf16\nfsdp_config:\n  " +
				"sharding_strategy: SHARD_GRAD_OP\n  activation_checkpointing: true\noptimizer:\n  name: " +
				"decoupled_adamw\n", nil,
			map[string]any{
				"set.model.layers": 32, "set.model.ffn_hidden": 16384, "seq": 2048, "gbs": 1024,
				"mbs": open, "precision": "bf16", "zero": 2, "recompute": "full", "optimizer": "adam",
				"gpus": open,
			},
			"", false,
		},
		{
			"anchors and aliases", "a.yaml", "max_seq_len: &len 2048\nmodel:\n  name: hf_causal_lm\n  " +
				"pretrained_model_name_or_path: Qwen/Qwen2.5-7B\ndataset: &d\n  name: x\n  <<: " +
				"*other\nglobal_train_batch_size: *len\ndevice_train_microbatch_size: 8\nprecision: " +
				"amp_bf16\n", nil,
			map[string]any{"seq": 2048, "gbs": open, "mbs": 8, "model": "qwen2.5-7b", "zero": 0},
			"", false,
		},
		{
			"NeMo's degrees that the GPUs do not have", "a.yaml", "trainer:\n  devices: 1\n  num_nodes: " +
				"1\n  precision: bf16\nmodel:\n  tensor_model_parallel_size: 2\n  micro_batch_size: 1\n  " +
				"global_batch_size: 8\n  encoder_seq_length: 512\n", nil,
			map[string]any{"gpus": open, "tp": 2, "mbs": 1},
			"", false,
		},
		{
			"torchtune", "a.yaml", "model:\n  _component_: " +
				"torchtune.models.llama3_1.llama3_1_70b\ntokenizer:\n  max_seq_len: null\nbatch_size: " +
				"2\ntensor_parallel_dim: 2\ngradient_accumulation_steps: 4\noptimizer:\n  _component_: " +
				"torch.optim.AdamW\nenable_activation_checkpointing: True\ndtype: bf16\n", nil,
			map[string]any{
				"model": "llama3.1-70b", "mbs": 2, "microbatches": 4, "tp": 2, "seq": open,
				"zero": 3, "recompute": "full", "precision": "bf16", "optimizer": "adam", "gpus": open,
			},
			"", false,
		},
		{
			"gradients that torchtune frees one by one", "a.yaml", "model:\n  _component_: " +
				"torchtune.models.llama3.llama3_8b\nbatch_size: 2\ngradient_accumulation_steps: 1\n" +
				"optimizer:\n  _component_: bitsandbytes.optim.PagedAdamW8bit\noptimizer_in_bwd: True\n" +
				"dtype: bf16\n", nil,
			map[string]any{
				"model": "llama3-8b", "mbs": 2, "microbatches": 1, "optimizer": "adamw-paged-8bit",
				"optimizer_in_backward": true, "precision": "bf16", "weight_dtype": "bf16", "zero": open,
				"calibration": "pytorch",
			},
			"", false,
		},
		{
			"adapters of torchtune, whose gradients stay", "a.yaml", "model:\n  _component_: " +
				"torchtune.models.llama3.lora_llama3_8b\n  lora_attn_modules: ['q_proj']\n" +
				"batch_size: 2\noptimizer:\n  _component_: torch.optim.AdamW\noptimizer_in_bwd: True\n" +
				"dtype: bf16\n", nil,
			map[string]any{
				"model": "llama3-8b", "optimizer": "adam-no-master", "optimizer_in_backward": "off",
				"lora": 8, "lora_targets": "q", "precision": "bf16", "zero": open, "calibration": "pytorch",
			},
			"recipes of adapters do not read it", false,
		},
		{
			"adapters of torchtune", "a.yaml", "model:\n  _component_: " +
				"torchtune.models.llama3.qlora_llama3_8b\n  lora_attn_modules: ['q_proj', 'v_proj', " +
				"'output_proj']\n  apply_lora_to_mlp: False\n  apply_lora_to_output: True\n  lora_rank: " +
				"16\nbatch_size: 2\noptimizer:\n  _component_: bitsandbytes.optim.PagedAdamW8bit\n" +
				"loss:\n  _component_: torchtune.modules.loss.LinearCrossEntropyLoss\ncompile: True\n" +
				"dtype: bf16\n", nil,
			map[string]any{
				"model": "llama3-8b", "optimizer": "adamw-paged-8bit", "precision": "bf16", "zero": open,
				"lora": 16, "lora_targets": "q,v,o", "base_dtype": "nf4", "weight_dtype": "bf16",
				"loss": "chunked", "compile": true, "calibration": "pytorch",
			},
			"adapters of the head are not modelled", false,
		},
		{
			"adapters of torchtune, all modules, cut over TP", "a.yaml", "model:\n  _component_: " +
				"torchtune.models.qwen2_5.lora_qwen2_5_7b\n  lora_attn_modules: ['q_proj', 'k_proj', " +
				"'v_proj', 'output_proj']\n  apply_lora_to_mlp: True\n  quantize_base: False\n" +
				"batch_size: 1\ntensor_parallel_dim: 2\nloss:\n  _component_: " +
				"torchtune.modules.loss.LinearCrossEntropyLoss\noptimizer:\n  _component_: " +
				"torch.optim.AdamW\ndtype: bf16\n", nil,
			map[string]any{
				"model": "qwen2.5-7b", "lora": 8, "lora_targets": "q,k,v,o,gate,up,down", "tp": 2,
				"optimizer": "adam",
			},
			"modelled in bf16 alone, without tp and cp", false,
		},
		{
			"adapters of OpenRLHF in four bits", "a.sh", "deepspeed --num_gpus 4 --module " +
				"openrlhf.cli.train_sft --data.max_len 2048 --train.batch_size 64 " +
				"--train.micro_batch_size 1 --model.model_name_or_path meta-llama/Meta-Llama-3-8B " +
				"--ds.zero_stage 2 --ds.param_dtype bf16 --ds.lora.rank 16 --ds.load_in_4bit\n", nil,
			map[string]any{
				"gpus": 4, "zero": 2, "lora": 16, "lora_targets": "all", "base_dtype": "nf4",
				"calibration": "deepspeed",
			},
			"", false,
		},
		{
			"adapters of verl that were trained before", "a.sh", "python3 -m verl.trainer.main_ppo " +
				"actor_rollout_ref.model.path=Qwen/Qwen2.5-7B " +
				"actor_rollout_ref.model.lora_adapter_path=/x/y trainer.nnodes=1 " +
				"trainer.n_gpus_per_node=8\n", nil,
			map[string]any{"gpus": 8, "lora": open},
			"the rank of saved adapters lies in their files", false,
		},
		{
			"gpt-neox", "a.yml", "{\n  # comment\n  \"pipe-parallel-size\": 0,\n  \"model-parallel-size\": " +
				"2,\n  \"num-layers\": 32,\n  \"hidden-size\": 4096,\n  \"num-attention-heads\": 32,\n  " +
				"\"seq-length\": 2048,\n  \"norm\": \"rmsnorm\",\n  \"pos-emb\": \"rotary\",\n  " +
				"\"no-weight-tying\": true,\n  \"activation\": \"swiglu\",\n  \"intermediate-size\": " +
				"32768,\n  \"mlp-multiple-of\": 256,\n  \"zero_optimization\": {\"stage\": 1, " +
				"\"overlap_comm\": True,},\n  \"train_micro_batch_size_per_gpu\": 4,\n  " +
				"\"checkpoint-activations\": true,\n  \"fp16\": {\"enabled\": true, \"type\": " +
				"\"bfloat16\"},\n}\n", nil,
			map[string]any{
				"tp": 2, "pp": 1, "seq": 2048, "mbs": 4, "zero": 1, "recompute": "full",
				"precision": "bf16", "set.model.ffn_hidden": 11008, "set.model.layers": 32,
				"set.model.vocab": open, "gpus": open, "microbatches": 1,
			},
			"", false,
		},
		{
			"another part of gpt-neox's files", "a.yml", "{\"train_micro_batch_size_per_gpu\": 4, " +
				"\"train_iters\": 320000, \"zero_optimization\": {\"stage\": 1}, " +
				"\"checkpoint_activations\": true, \"fp16\": {\"enabled\": true}}\n", nil,
			map[string]any{
				"mbs": 4, "zero": 1, "recompute": "full", "precision": "fp16", "tp": open,
				"pp": open, "seq": open, "model": open,
			},
			"", false,
		},
		{
			"preferences in OpenRLHF", "a.sh", "deepspeed --module openrlhf.cli.train_dpo " +
				"--train.batch_size 256 --train.micro_batch_size 1 --data.max_len 8192 --ds.zero_stage 3 " +
				"--model.model_name_or_path x/y\n", nil,
			map[string]any{"mbs": 1, "gbs": 256, "seq": 8192, "zero": 3, "gpus": open, "model": open},
			"reference models", false,
		},
		{
			"layers of experts that are recomputed", "a.yaml",
			"pretrain: Qwen/Qwen3-30B-A3B\nactor_train:\n  training_args:\n    " +
				"per_device_train_batch_size: 1\n  strategy_args:\n    strategy_name: megatron_train\n    " +
				"strategy_config:\n      tensor_model_parallel_size: 1\n      sequence_parallel: true\n    " +
				"  moe_layer_recompute: true\n", nil,
			map[string]any{"recompute": open, "sp": false, "tp": 1},
			"no effect with tp 1", false,
		},
		{
			"a part of gpt-neox's files", "a.yml", "pipe_parallel_size: 1\nmodel_parallel_size: " +
				"2\nnum_layers: 24\nhidden_size: 1024\nnum_attention_heads: 16\nseq_length: 2048\n", nil,
			map[string]any{"tp": 2, "zero": open, "precision": open, "recompute": open, "mbs": open},
			"", false,
		},
	}
}
