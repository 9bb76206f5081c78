package launch_test

// wildTrainers are command lines of programs on Hugging Face's Trainer.
func wildTrainers() []wild {
	const figures = " --model_name_or_path meta-llama/Llama-2-7b-hf --per_device_train_batch_size 4 --gradient_accumulation_steps 8 --model_max_length 2048 --bf16 True --gradient_checkpointing True --optim adamw_torch"
	return []wild{
		{
			"Trainer with a file of DeepSpeed that is not there", "a.sh", "deepspeed --num_gpus 8 llava/train/train_mem.py --deepspeed ./scripts/stage3.json" + figures + "\n", nil,
			map[string]any{"model": "llama2-7b", "gpus": 8, "mbs": 4, "microbatches": 8, "seq": 2048, "precision": "bf16", "recompute": "full", "optimizer": "adam", "zero": open, "pp": 1, "tp": 1},
			"", false,
		},
		{
			"Trainer with a file of DeepSpeed beside it", "a.sh", "torchrun --nproc_per_node=4 --nnodes=2 train.py --deepspeed scripts/zero2.json" + figures + "\n", nil,
			map[string]any{"gpus": 8, "zero": 2, "offload": "optimizer", "precision": "bf16"},
			"zero2.json", false,
		},
		{
			"FSDP 1 of the Trainer", "a.sh", "torchrun --nproc_per_node=4 train.py --fsdp \"full_shard auto_wrap\" --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer" + figures + "\n", nil,
			map[string]any{"gpus": 4, "zero": 3},
			"", false,
		},
		{
			"what a script may set", "a.sh", "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path gpt2 --block_size 1024 --per_device_train_batch_size 4\n", nil,
			map[string]any{"model": open, "seq": 1024, "mbs": 4, "microbatches": open, "recompute": open, "precision": open, "optimizer": open, "zero": 0},
			"", false,
		},
		{
			"GPUs by the environment", "a.sh", "export CUDA_VISIBLE_DEVICES=0,1,2,3\ndeepspeed train.py --deepspeed zero2.json" + figures + "\n", nil,
			map[string]any{"gpus": 4, "zero": 2},
			"", false,
		},
		{
			"no number of GPUs", "a.sh", "deepspeed train.py --deepspeed zero2.json" + figures + "\n", nil,
			map[string]any{"gpus": open},
			"", false,
		},
		{
			"accelerate with its file", "a.sh", "accelerate launch --config_file configs/fsdp.yaml --num_processes 16 --num_machines 2 train.py" + figures + "\n", nil,
			map[string]any{"gpus": 16, "zero": 2, "recompute": "full"},
			"", false,
		},
		{
			"accelerate with DeepSpeed", "a.sh", "accelerate launch --config_file plugin.yaml examples/scripts/sft.py --model_name_or_path Qwen/Qwen2.5-7B --max_length 4096 --per_device_train_batch_size 2\n", nil,
			map[string]any{"gpus": 16, "zero": 3, "precision": "bf16", "seq": 4096, "mbs": 2, "recompute": "full", "microbatches": 1},
			"", false,
		},
		{
			"accelerate by its flags", "a.sh", "accelerate launch --use_deepspeed --zero_stage 1 --num_processes 8 --mixed_precision fp16 train.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 2\n", nil,
			map[string]any{"gpus": 8, "zero": 1, "precision": "fp16"},
			"", false,
		},
		{
			"accelerate as the machine has it", "a.sh", "accelerate launch train.py" + figures + "\n", nil,
			map[string]any{"gpus": open, "zero": open, "mbs": 4},
			"", false,
		},
		{
			"LoRA in four bits", "a.sh", "torchrun --nproc_per_node 2 qlora.py --lora_enable True --bits 4" + figures + "\n", nil,
			map[string]any{"optimizer": open, "precision": open, "gpus": 2},
			"adapters", false,
		},
		{
			"ms-swift", "a.sh", "NNODES=2 NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-72B-Instruct --train_type full --torch_dtype bfloat16 --per_device_train_batch_size 1 --max_length 8192 --deepspeed zero3_offload\n", nil,
			map[string]any{"model": "qwen2.5-72b", "gpus": 16, "zero": 3, "offload": "optimizer", "precision": "bf16", "seq": 8192, "mbs": 1, "microbatches": 1, "recompute": "full", "optimizer": "adam"},
			"weights on the host", false,
		},
		{
			"ms-swift tunes adapters by default", "a.sh", "CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B --torch_dtype bfloat16 --max_length 2048\n", nil,
			map[string]any{"gpus": 1, "optimizer": open, "mbs": 1, "microbatches": 16},
			"", false,
		},
		{
			"LLaMA-Factory with its file", "a.sh", "FORCE_TORCHRUN=1 CUDA_VISIBLE_DEVICES=0,1,2,3 llamafactory-cli train examples/sft_llf.yaml per_device_train_batch_size=1\n", nil,
			map[string]any{"gpus": 4, "zero": 2, "seq": 4096, "mbs": 1, "microbatches": 4, "precision": "bf16", "recompute": "full", "model": "llama3-8b"},
			"sft_llf.yaml", false,
		},
		{
			"a file that is not beside it", "a.sh", "llamafactory-cli train examples/other.yaml\n", nil, nil,
			"import the file", true,
		},
		{
			"a configuration that the script writes", "a.sh", "cat > acc.yaml <<EOF\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: false\nnum_processes: 32\nEOF\naccelerate launch --config_file acc.yaml train.py" + figures + "\n", nil,
			map[string]any{"gpus": 32, "zero": 2, "mbs": 4},
			"", false,
		},
		{
			"a model of a folder", "a.sh", "torchrun --nproc_per_node 8 train.py --model_name_or_path $MODELS/Qwen2.5-7B --per_device_train_batch_size $B\n", nil,
			map[string]any{"model": "qwen2.5-7b", "mbs": open},
			"$B", false,
		},
		{
			"preferences", "a.sh", "accelerate launch --multi_gpu --num_processes 8 --mixed_precision bf16 dpo.py --per_device_train_batch_size 1 --max_prompt_length 512 --max_completion_length 1024 --model_name_or_path Qwen/Qwen2.5-7B\n", nil,
			map[string]any{"seq": 1536, "zero": 0, "gpus": 8},
			"", false,
		},
	}
}
