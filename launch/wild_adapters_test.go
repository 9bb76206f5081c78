package launch_test

import (
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/launch"
	"meshscope/presets"
)

// wildAdapters are files that train adapters, or every weight, in the words of each program.
func wildAdapters() []wild {
	const axolotl = "base_model: Qwen/Qwen2.5-7B\nmicro_batch_size: 2\nsequence_len: 4096\nbf16: true\n" +
		"optimizer: adamw_torch_fused\n"
	const factory = "model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\nfinetuning_type: lora\nbf16: " +
		"true\n" +
		"cutoff_len: 4096\n"
	const trl = "model_name_or_path: Qwen/Qwen2.5-7B\nper_device_train_batch_size: 2\nuse_peft: true\n"
	const swift = "CUDA_VISIBLE_DEVICES=0,1 NPROC_PER_NODE=2 swift sft --model Qwen/Qwen2.5-7B-Instruct " +
		"--torch_dtype " +
		"bfloat16 --per_device_train_batch_size 1 --max_length 2048 "
	const script = "torchrun --nproc_per_node 4 finetune.py --model_name_or_path meta-llama/Llama-2-7b-hf " +
		"--per_device_train_batch_size 4 --gradient_accumulation_steps 2 --bf16 True --model_max_length 1024 "
	return []wild{
		{
			"LoRA of axolotl", "a.yaml", axolotl + "adapter: lora\nlora_r: 32\nlora_alpha: " +
				"16\nlora_dropout: 0.05\n" +
				"lora_target_linear: true\nload_in_8bit: true\n", nil,
			map[string]any{
				"lora": 32, "lora_targets": "all", "base_dtype": "int8", "zero": 0,
				"calibration": "transformers",
				"optimizer":   "adam", "precision": "bf16",
			},
			"dropout before adapters", false,
		},
		{
			"a list of axolotl", "a.yaml", axolotl + "adapter: lora\nlora_r: 8\nlora_target_modules:\n  - " +
				"v_proj\n" +
				"  - q_proj\n  - self_attn.o_proj\n", nil,
			map[string]any{"lora": 8, "lora_targets": "q,v,o", "base_dtype": "bf16"},
			"", false,
		},
		{
			"a list beside all linear layers", "a.yaml", axolotl + "adapter: qlora\nload_in_4bit: " +
				"true\nlora_r: 16\n" +
				"lora_target_linear: true\nlora_target_modules: [q_proj, embed_tokens]\n", nil,
			map[string]any{"lora": 16, "lora_targets": "all", "base_dtype": "nf4"},
			"embed_tokens", false,
		},
		{
			"qlora without 4 bits", "a.yaml", axolotl + "adapter: qlora\nlora_r: 16\nlora_target_linear: " +
				"true\n", nil,
			map[string]any{"lora": 16, "base_dtype": open},
			"", false,
		},
		{
			"4 bits with adapter: lora", "a.yaml", axolotl + "adapter: lora\nload_in_4bit: true\nlora_r: " +
				"16\n" +
				"lora_target_linear: true\n", nil,
			map[string]any{"lora": 16, "base_dtype": "bf16"},
			"without effect", false,
		},
		{
			"axolotl without double quantisation", "a.yaml", axolotl + "adapter: qlora\nload_in_4bit: " +
				"true\nlora_r: 16\n" +
				"lora_target_linear: true\nbnb_config_kwargs:\n  bnb_4bit_use_double_quant: false\n", nil,
			map[string]any{"lora": 16, "base_dtype": open},
			"", false,
		},
		{
			"DoRA and whole modules of axolotl", "a.yaml", axolotl + "adapter: lora\nlora_r: " +
				"16\nlora_target_linear: " +
				"true\npeft_use_dora: true\npeft_use_rslora: true\nlora_modules_to_save:\n  - " +
				"embed_tokens\n  - lm_head\n",
			nil,
			map[string]any{"lora": 16, "dora": true},
			"trained whole", false,
		},
		{
			"modules that are trained whole", "a.yaml", axolotl + "adapter: lora\nlora_r: " +
				"16\nlora_target_linear: true\n" +
				"lora_modules_to_save: [embed_tokens]\n", nil,
			map[string]any{"lora": 16},
			"trained whole", false,
		},
		{
			"every weight of axolotl", "a.yaml", axolotl + "adapter:\nlora_r: 32\nload_in_8bit: false\n", nil,
			map[string]any{
				"lora": "none", "calibration": "transformers", "zero": 0, "optimizer": "adam",
				"weight_dtype": "bf16",
				"grad_dtype":   "bf16",
			},
			"every weight is trained", false,
		},
		{
			"every weight of axolotl under FSDP2", "a.yaml", axolotl + "fsdp_version: 2\nfsdp_config:\n" +
				"  reshard_after_forward: true\n", nil,
			map[string]any{"lora": "none", "calibration": "transformers", "zero": 3, "optimizer": "adam"},
			"", false,
		},
		{
			"axolotl on DeepSpeed", "a.yaml", axolotl + "adapter: lora\nlora_r: 16\nlora_target_linear: " +
				"true\n" +
				"deepspeed: deepspeed_configs/zero2.json\n", nil,
			map[string]any{"lora": 16, "calibration": "deepspeed", "zero": 2},
			"", false,
		},
		{
			"axolotl on a stage that is not known", "a.yaml", axolotl + "adapter: lora\nlora_r: 16\n" +
				"lora_target_linear: true\ndeepspeed: my/ds.json\n", nil,
			map[string]any{"lora": 16, "calibration": open, "zero": open},
			"", false,
		},
		{
			"some weights of axolotl", "a.yaml", axolotl + "unfrozen_parameters:\n  - ^lm_head.weight$\n",
			nil,
			map[string]any{"lora": open},
			"", false,
		},
		{
			"a pipeline that transformers has not", "a.yaml", axolotl + "fsdp_version: " +
				"2\ntensor_parallel_size: 2\n" +
				"dp_shard_size: 4\nfsdp_config:\n  reshard_after_forward: true\n", nil,
			map[string]any{"calibration": "default", "tp": 2, "zero": 3},
			"predicted as Megatron-Core", false,
		},
		{
			"LLaMA-Factory's defaults", "a.yaml", factory + "deepspeed: " +
				"examples/deepspeed/ds_z3_config.json\n", nil,
			map[string]any{
				"lora": 8, "lora_targets": "all", "base_dtype": "bf16", "zero": 3, "calibration": "deepspeed",
				"optimizer": "adam",
			},
			"LLaMA-Factory's default of lora_rank", false,
		},
		{
			"QLoRA of LLaMA-Factory", "a.yaml", factory + "lora_rank: 16\nlora_target: q_proj,v_proj\n" +
				"quantization_bit: 4\nquantization_method: bitsandbytes\n", nil,
			map[string]any{
				"lora": 16, "lora_targets": "q,v", "base_dtype": "nf4", "zero": open,
				"calibration": open,
			},
			"", false,
		},
		{
			"QLoRA of LLaMA-Factory, quantised once", "a.yaml", factory + "lora_rank: " +
				"16\nquantization_bit: 4\n" +
				"double_quantization: false\n", nil,
			map[string]any{"lora": 16, "base_dtype": open},
			"", false,
		},
		{
			"another quantisation of LLaMA-Factory", "a.yaml", factory + "quantization_bit: " +
				"4\nquantization_method: " +
				"hqq\n", nil,
			map[string]any{"lora": 8, "base_dtype": open},
			"", false,
		},
		{
			"LoRA+, PiSSA and DoRA of LLaMA-Factory", "a.yaml", factory + "loraplus_lr_ratio: " +
				"16.0\npissa_init: true\n" +
				"use_dora: true\n", nil,
			map[string]any{"lora": 8, "dora": true},
			"LoRA+", false,
		},
		{
			"freezing of LLaMA-Factory", "a.yaml", strings.Replace(factory, "lora", "freeze", 1) +
				"freeze_trainable_layers: 8\n", nil,
			map[string]any{"lora": open},
			"", false,
		},
		{
			"every weight of LLaMA-Factory", "a.yaml", strings.Replace(factory, "lora", "full", 1) +
				"deepspeed: examples/deepspeed/ds_z2_config.json\n", nil,
			map[string]any{"lora": "none", "zero": 2, "calibration": "deepspeed", "optimizer": "adam"},
			"", false,
		},
		{
			"a product that is none", "a.yaml", factory + "lora_target: W_pack\n", nil,
			map[string]any{"lora": 8, "lora_targets": open},
			"", false,
		},
		{
			"TRL with 4 bits", "a.yaml", trl + "lora_r: 32\nlora_target_modules: all-linear\nload_in_4bit: " +
				"true\n" +
				"dtype: bfloat16\n", nil,
			map[string]any{"lora": 32, "lora_targets": "all", "base_dtype": open},
			"", false,
		},
		{
			"TRL with 4 bits, quantised twice", "a.yaml", trl + "load_in_4bit: true\nuse_bnb_nested_quant: " +
				"true\n", nil,
			map[string]any{"lora": 16, "lora_targets": "qv", "base_dtype": "nf4"},
			"peft's default", false,
		},
		{
			"TRL in 16 bits", "a.yaml", trl + "torch_dtype: bfloat16\nlora_target_modules:\n  - q_proj\n  " +
				"- k_proj\n", nil,
			map[string]any{"lora": 16, "lora_targets": "q,k", "base_dtype": "bf16"},
			"", false,
		},
		{
			"a rank without effect", "a.yaml", strings.Replace(trl, "use_peft: true", "lora_r: 8", 1), nil,
			map[string]any{"lora": "none"},
			"without effect: every weight is trained", false,
		},
		{
			"TRL on a command line", "a.sh", "accelerate launch --multi_gpu --num_processes 4 " +
				"trl/scripts/sft.py " +
				"--model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 2 --use_peft --lora_r " +
				"64 " +
				"--lora_target_modules q_proj k_proj v_proj o_proj --dtype bfloat16\n", nil,
			map[string]any{
				"lora": 64, "lora_targets": "q,k,v,o", "base_dtype": "bf16", "zero": 0, "gpus": 4,
				"calibration": "transformers",
			},
			"", false,
		},
		{
			"ms-swift", "a.sh", swift + "--train_type lora --lora_rank 16 --target_modules all-linear " +
				"--quant_method bnb " +
				"--quant_bits 4 --deepspeed zero2\n", nil,
			map[string]any{
				"lora": 16, "lora_targets": "all", "base_dtype": "nf4", "zero": 2, "calibration": "deepspeed",
				"gpus": 2,
			},
			"", false,
		},
		{
			"bits of ms-swift without a method", "a.sh", swift + "--quant_bits 4\n", nil,
			map[string]any{"lora": 8, "base_dtype": "bf16"},
			"without effect", false,
		},
		{
			"every weight of ms-swift", "a.sh", swift + "--tuner_type full\n", nil,
			map[string]any{
				"lora": "none", "calibration": "transformers", "optimizer": "adam",
				"weight_dtype": "bf16",
			},
			"", false,
		},
		{
			"other adapters of ms-swift", "a.sh", swift + "--tuner_type adalora\n", nil,
			map[string]any{"lora": open},
			"", false,
		},
		{
			"a script of one's own", "a.sh", script + "--use_lora True --lora_r 64 --lora_target_modules " +
				"q_proj,v_proj\n",
			nil,
			map[string]any{"lora": 64, "lora_targets": "q,v", "zero": 0, "calibration": "transformers"},
			"", false,
		},
		{
			"a script that may have adapters", "a.sh", script + "--lora_r 64\n", nil,
			map[string]any{"lora": open},
			"", false,
		},
		{
			"DeepSpeed's stage in a template", "a.sh", script + "--deepspeed ds_auto.json\n", nil,
			map[string]any{"zero": open, "calibration": open, "lora": "none"},
			"", false,
		},
	}
}

// wildPython are scripts in Python on Hugging Face's Trainer and on TRL.
func wildPython() []wild {
	const plain = "import torch\nfrom transformers import AutoModelForCausalLM, Trainer, " +
		"TrainingArguments\n" +
		"MODEL = \"Qwen/Qwen2.5-7B\"\nBATCH = 4\n\ndef main():\n    model = " +
		"AutoModelForCausalLM.from_pretrained(MODEL, torch_dtype=torch.bfloat16, attn_implementation=" +
		"\"flash_attention_2\")\n"
	const arguments = "    args = TrainingArguments(\n        output_dir=\"out\",  # where\n        " +
		"per_device_train_batch_size=BATCH,\n        gradient_accumulation_steps=2 * 4,\n        " +
		"gradient_checkpointing=True,\n        bf16=True,\n        optim=\"paged_adamw_8bit\",\n    )\n" +
		"    Trainer(model, args).train()\n\nif __name__ == \"__main__\":\n    main()\n"
	const lora = "    config = LoraConfig(\n        r=64, lora_alpha=16, lora_dropout=0.1, " +
		"bias=\"none\",\n        " +
		"target_modules=[\"q_proj\", \"v_proj\"], task_type=\"CAUSAL_LM\")\n    model = " +
		"get_peft_model(model, " +
		"config)\n"
	const quantised = "from transformers import AutoModelForCausalLM, BitsAndBytesConfig\nfrom trl import " +
		"SFTConfig, " +
		"SFTTrainer\nfrom peft import LoraConfig\nbnb = BitsAndBytesConfig(load_in_4bit=True, " +
		"bnb_4bit_quant_type=\"nf4\"%s)\nmodel = " +
		"AutoModelForCausalLM.from_pretrained(\"meta-llama/Llama-3.1-8B\"," +
		" quantization_config=bnb)\npeft_config = LoraConfig(r=16, target_modules=\"all-linear\")\ntrainer " +
		"= " +
		"SFTTrainer(model=model, args=SFTConfig(per_device_train_batch_size=2, max_length=2048), " +
		"peft_config=peft_config)\ntrainer.train()\n"
	return []wild{
		{
			"every weight by a script", "a.py", plain + arguments, nil,
			map[string]any{
				"model": "qwen2.5-7b", "mbs": 4, "microbatches": 8, "recompute": "full", "precision": "bf16",
				"optimizer": "adamw-paged-8bit", "lora": "none", "zero": open, "calibration": open,
				"gpus": open,
				"seq":  open, "attention": "flash",
			},
			"", false,
		},
		{
			"LoRA by a script", "a.py", plain + lora + arguments, nil,
			map[string]any{"lora": 64, "lora_targets": "q,v", "base_dtype": "bf16", "mbs": 4},
			"dropout before adapters", false,
		},
		{
			"peft's defaults", "a.py", plain + "    model = get_peft_model(model, " +
				"LoraConfig())\n" + arguments, nil,
			map[string]any{"lora": 8, "lora_targets": "qv"},
			"peft's default of lora_r", false,
		},
		{
			"adapters that nobody is given", "a.py", strings.Replace(strings.Replace(quantised, "%s", "", 1),
				"peft_config=peft_config", "peft_config=None", 1), nil,
			map[string]any{"lora": "none", "mbs": 2},
			"", false,
		},
		{
			"adapters that depend on an argument", "a.py",
			strings.Replace(strings.Replace(quantised, "%s", "", 1), "peft_config=peft_config",
				"peft_config=peft_config if args.lora else None", 1), nil,
			map[string]any{"lora": open, "mbs": 2},
			"", false,
		},
		{
			"adapters in brackets that depend on an argument", "a.py",
			strings.Replace(strings.Replace(quantised, "%s", "", 1), "peft_config=peft_config",
				"peft_config=(LoraConfig(r=8) if args.lora else None)", 1), nil,
			map[string]any{"lora": open, "mbs": 2},
			"", false,
		},
		{
			"adapters among other words", "a.py",
			strings.Replace(strings.Replace(quantised, "%s", "", 1), "peft_config=peft_config",
				"**{\"peft_config\": peft_config}", 1), nil,
			map[string]any{"lora": open, "mbs": 2},
			"", false,
		},
		{
			"arguments where an import fails", "a.py",
			plain + "    try:\n        import apex\n    except ImportError:\n" +
				"        args = TrainingArguments(per_device_train_batch_size=16, bf16=True)\n" +
				"    Trainer(model, args).train()\n", nil,
			map[string]any{"mbs": open},
			"", false,
		},
		{
			"4 bits once, as is the default", "a.py", strings.Replace(quantised, "%s", "", 1), nil,
			map[string]any{
				"lora": 16, "lora_targets": "all", "base_dtype": open, "mbs": 2, "seq": 2048,
				"recompute": "full", "model": "llama3.1-8b",
			},
			"", false,
		},
		{
			"4 bits twice", "a.py", strings.Replace(quantised, "%s", ", bnb_4bit_use_double_quant=True",
				1), nil,
			map[string]any{"lora": 16, "base_dtype": "nf4"},
			"", false,
		},
		{
			"adapters that a flag decides", "a.py", plain + "    if USE:\n" + strings.ReplaceAll(lora, "   "+
				" ", "        ") +
				arguments, nil,
			map[string]any{"lora": open, "mbs": 4},
			"", false,
		},
		{
			"arguments from elsewhere", "a.py", plain + "    args = TrainingArguments(**config)\n", nil,
			map[string]any{"mbs": open, "microbatches": open, "model": "qwen2.5-7b"},
			"", false,
		},
		{
			"two batches", "a.py", plain + arguments + "\nother = " +
				"TrainingArguments(per_device_train_batch_size=8)\n", nil,
			map[string]any{"mbs": open, "microbatches": 8},
			"", false,
		},
		{
			"no arguments of a trainer", "a.py", "import transformers\nmodel = " +
				"transformers.AutoModelForCausalLM.from_pretrained(\"gpt2\")\n", nil, nil, "", true,
		},
	}
}

// TestAdaptersRoundTrip: adapters that are written come back, with the stack that the file starts.
func TestAdaptersRoundTrip(t *testing.T) {
	sharded := map[string][]int{"axolotl": {0, 1, 2, 3}, "llama-factory": {0, 2, 3}, "trl": {0, 1, 2, 3}}
	for id, stages := range sharded {
		l, _ := launch.Find(id)
		for _, stage := range stages {
			for _, base := range []recipe.BaseDtype{"", recipe.BaseNF4, recipe.BaseInt8} {
				for _, targets := range []string{"", "attention", "qv", "q,k,gate"} {
					deep := stage > 0 && (id != "axolotl" || stage < 3)
					s := setup(t, "qwen2.5-7b", knob.Given{
						"calibration": map[bool]string{true: "deepspeed", false: "transformers"}[deep],
						knob.GPUs:     8, knob.ZeRO: stage, knob.GBS: 64, knob.Seq: 2048, "lora": 16,
						knob.SP:        false,
						knob.Recompute: "full",
					})
					s.Targets, s.BaseDtype = targets, base
					if !engine.Legal(s) {
						t.Fatalf("%s %d %s: %+v", id, stage, targets, knob.Check(&s))
					}
					d, refused := l.Export(&s, "test")
					if len(refused) > 0 {
						t.Fatalf("%s: %+v", id, refused)
					}
					got, _, r, err := backOf(t, l, &s)
					if err != nil {
						t.Fatal(err)
					}
					want := s.TargetsOf([]string{"q", "k", "v", "o", "gate", "up", "down"})
					if got.Rank != 16 || got.BaseDtype != base || got.Stack != s.Stack ||
						!slices.Equal(got.TargetsOf([]string{"q", "k", "v", "o", "gate", "up", "down"}),
							want) {
						t.Errorf("%s: rank %v, %s on %s, %s: %v\n%s", id, got.Rank, got.Targets, got.Stack,
							got.BaseDtype, r.Setup, d.Text())
					}
				}
			}
		}
	}
}

// TestNoFileStartsAnotherStackThanItsOwn: what is not in a file of the stack is never that the setup is
// predicted as another stack than the one that the file starts, where it is that one.
func TestNoFileStartsAnotherStackThanItsOwn(t *testing.T) {
	for _, l := range launch.Launchers() {
		for _, stack := range []string{"transformers", "deepspeed"} {
			for stage := 2; stage <= 3; stage++ {
				s := setup(t, "qwen2.5-7b", knob.Given{
					"calibration": stack, knob.GPUs: 8, knob.ZeRO: stage, knob.GBS: 64, knob.Seq: 2048,
					"lora": 16, knob.SP: false, knob.Recompute: "full",
				})
				d, refused := l.Export(&s, "test")
				if len(refused) > 0 {
					continue
				}
				for _, n := range d.NotCarried {
					if n.Key == "calibration" && strings.Contains(n.Why, "another stack") &&
						(strings.Contains(n.Why, stack) || strings.Contains(n.Why, " or ")) {
						t.Errorf("%s zero %d on %s: %s", l.ID, stage, stack, n.Why)
					}
				}
			}
		}
	}
}

// TestAdaptersOfWholeTraining: a file that trains every weight never gets a key of adapters.
func TestAdaptersOfWholeTraining(t *testing.T) {
	for _, w := range wilds() {
		r := launch.OpenGiven(w.file, []byte(w.text), presets.Default(), launch.Given{Source: w.beside})
		_, rank := r.Setup["lora"]
		for _, key := range []string{"lora_targets", "base_dtype"} {
			unknown := slices.ContainsFunc(r.Unknown, func(u launch.Unknown) bool {
				return u.Key == "lora" || u.Key == key
			})
			if v, has := r.Setup[key]; has && !rank && !unknown {
				t.Errorf("%s: %s is %v without a rank", w.name, key, v)
			}
		}
	}
}
