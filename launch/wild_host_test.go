package launch_test

import (
	"fmt"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/launch"
)

// wildOnHost are files that keep something in the memory of the host, or have kernels of Liger.
func wildOnHost() []wild {
	const axolotl = "base_model: Qwen/Qwen2.5-7B\nmicro_batch_size: 1\nbf16: true\n"
	const factory = "model_name_or_path: Qwen/Qwen2.5-7B\nbf16: true\nfinetuning_type: "
	const plugin = "distributed_type: DEEPSPEED\nnum_processes: 4\ndeepspeed_config:\n  zero_stage: 3\n"
	const fsdp = "distributed_type: FSDP\nnum_processes: 8\nmixed_precision: bf16\nfsdp_config:\n"
	return []wild{
		{
			"all on the host by DeepSpeed", "a.yaml", factory + "full\noptim: adamw_torch\n" +
				"deepspeed: ds_z3_offload.json\n", nil,
			map[string]any{
				"zero": 3, "offload": "weights", "calibration": "deepspeed", "optimizer": "adam",
			},
			"", false,
		},
		{
			"the optimizer on the host by DeepSpeed", "a.yaml", factory + "full\noptim: adamw_torch\n" +
				"deepspeed: ds_z3_optimizer.json\n", nil,
			map[string]any{"zero": 3, "offload": "optimizer", "calibration": "deepspeed"},
			"", false,
		},
		{
			"adapters, and the rest on the host", "a.yaml", factory + "lora\ndeepspeed: ds_z3_offload.json\n",
			nil,
			map[string]any{"zero": 3, "offload": "weights", "calibration": "deepspeed", "lora": 8},
			"", false,
		},
		{
			"a file of DeepSpeed that is shipped", "a.yaml", factory + "lora\ndeepspeed: " +
				"examples/deepspeed/ds_z3_offload_config.json\n", nil,
			map[string]any{"zero": 3, "offload": "weights"},
			"as LLaMA-Factory ships it", false,
		},
		{
			"weights alone on the host", "a.yaml", axolotl + "deepspeed: " +
				"deepspeed_configs/zero3_bf16_cpuoffload_params.json\n", nil,
			map[string]any{"zero": 3, "offload": open},
			"", false,
		},
		{
			"weights on a disk", "ds.json", `{"zero_optimization": {"stage": 3, "offload_optimizer": ` +
				`{"device": "cpu"}, "offload_param": {"device": "nvme"}}, "bf16": {"enabled": true}}`, nil,
			map[string]any{"zero": 3, "offload": "optimizer", "calibration": "deepspeed"},
			"weights stay on the GPU here", false,
		},
		{
			"weights and optimizer on NVMe", "ds.json", `{"zero_optimization": {"stage": 3, ` +
				`"offload_optimizer": {"device": "nvme", "nvme_path": "/a", "pipeline_read": true}, ` +
				`"offload_param": {"device": "nvme", "buffer_count": 5}}, "bf16": {"enabled": true}}`, nil,
			map[string]any{"zero": 3, "offload": "weights-nvme", "calibration": "deepspeed"},
			"the figures are those of false, DeepSpeed's default", false,
		},
		{
			"buffers of NVMe of another size", "ds.json", `{"zero_optimization": {"stage": 3, ` +
				`"sub_group_size": 5e8, "offload_optimizer": {"device": "nvme"}}, ` +
				`"bf16": {"enabled": true}}`, nil,
			map[string]any{"zero": 3, "offload": "optimizer-nvme"},
			"the figures are those of 1000000000, DeepSpeed's default", false,
		},
		{
			"optimizer on NVMe, weights in host memory", "ds.json", `{"zero_optimization": {"stage": 3, ` +
				`"offload_optimizer": {"device": "nvme"}, "offload_param": {"device": "cpu"}}, ` +
				`"bf16": {"enabled": true}}`, nil,
			map[string]any{"zero": 3, "offload": open, "calibration": "deepspeed"},
			"", false,
		},
		{
			"optimizer on NVMe by accelerate's plugin", "a.yaml", plugin +
				"  offload_optimizer_device: nvme\n", nil,
			map[string]any{"zero": 3, "offload": "optimizer-nvme", "calibration": "deepspeed"},
			"", false,
		},
		{
			"optimizer on NVMe by accelerate's plugin, zero 2", "a.yaml", "distributed_type: DEEPSPEED\n" +
				"num_processes: 4\ndeepspeed_config:\n  zero_stage: 2\n  offload_optimizer_device: " +
				"nvme\n", nil, nil,
			"nvme needs stage 3: read as the memory of the host", true,
		},
		{
			"optimizer on NVMe, a stage that is not known", "ds.json",
			`{"zero_optimization": {"stage": "auto", "offload_optimizer": {"device": "nvme"}}, ` +
				`"bf16": {"enabled": true}}`, nil,
			map[string]any{"zero": open, "offload": open},
			"the stage is not known, see zero", false,
		},
		{
			"optimizer on NVMe with AutoTP", "ds.json", `{"zero_optimization": {"stage": 3, ` +
				`"offload_optimizer": {"device": "nvme"}}, "tensor_parallel": {"autotp_size": 2}, ` +
				`"bf16": {"enabled": true}}`, nil,
			map[string]any{"zero": 3, "tp": 2, "offload": open, "calibration": "default"},
			"NVMe is modelled on deepspeed alone", false,
		},
		{
			"weights and optimizer by accelerate's plugin", "a.yaml", plugin +
				"  offload_optimizer_device: cpu\n  offload_param_device: cpu\n", nil,
			map[string]any{"zero": 3, "offload": "weights", "calibration": "deepspeed"},
			"", false,
		},
		{
			"weights alone by accelerate's plugin", "a.yaml", plugin + "  offload_param_device: cpu\n", nil,
			map[string]any{"zero": 3, "offload": "none", "calibration": "deepspeed"},
			"weights stay on the GPU here", false,
		},
		{
			"FSDP2 of accelerate on the host", "a.yaml", fsdp + "  fsdp_version: 2\n" +
				"  fsdp_reshard_after_forward: true\n  fsdp_offload_params: true\n", nil,
			map[string]any{"zero": 3, "offload": "weights", "calibration": "transformers"},
			"", false,
		},
		{
			"on the host without shards", "a.yaml", fsdp + "  fsdp_sharding_strategy: NO_SHARD\n" +
				"  fsdp_offload_params: true\n", nil,
			map[string]any{"zero": 0, "offload": "none", "calibration": "transformers"},
			"FSDP shards nothing", false,
		},
		{
			"FSDP2 of axolotl on the host", "a.yaml", axolotl + "fsdp_version: 2\nfsdp_config:\n" +
				"  reshard_after_forward: true\n  offload_params: true\n", nil,
			map[string]any{"zero": 3, "offload": "weights", "calibration": "transformers"},
			"", false,
		},
		{
			"everything on the host by FSDP2 of axolotl", "a.yaml", axolotl + "fsdp_version: 2\n" +
				"fsdp_config:\n  reshard_after_forward: true\n  offload_params: true\n" +
				"activation_offloading: true\n", nil,
			map[string]any{"zero": 3, "offload": "everything", "calibration": "transformers"},
			"", false,
		},
		{
			"activations of axolotl in another way", "a.yaml", axolotl + "activation_offloading: disk\n", nil,
			map[string]any{"offload": open, "calibration": "transformers"},
			"another way than whole tensors in host memory", false,
		},
		{
			"activations of axolotl on the GPU", "a.yaml", axolotl + "activation_offloading: false\n", nil,
			map[string]any{"offload": "none"},
			"changes nothing", false,
		},
		{
			"activations on the host under DeepSpeed", "a.yaml", axolotl +
				"deepspeed: deepspeed_configs/zero3_bf16.json\nactivation_offloading: true\n", nil,
			map[string]any{"zero": 3, "offload": "none", "calibration": "deepspeed"},
			"under DeepSpeed they stay on the GPU here", false,
		},
		{
			"activations on the host, on a stack that is not modelled", "a.yaml", axolotl +
				"fsdp_version: 2\ndp_shard_size: 4\ndp_replicate_size: 2\nfsdp_config:\n" +
				"  reshard_after_forward: true\nactivation_offloading: true\n", nil,
			map[string]any{"zero": 3, "hsdp": 2, "offload": open, "calibration": "default"},
			"Key:activation_offloading Why:activations on the host are modelled on", false,
		},
		{
			"activations of TRL on the host", "a.py", "from trl import SFTConfig, SFTTrainer\n" +
				"args = SFTConfig(per_device_train_batch_size=2, max_length=4096, bf16=True, " +
				"activation_offloading=True)\n" +
				"trainer = SFTTrainer(model=\"Qwen/Qwen2.5-7B\", args=args)\n", nil,
			map[string]any{"model": "qwen2.5-7b", "mbs": 2, "offload": "activations"},
			"", false,
		},
		{
			"everything of torchtune on the host", "a.yaml", "model:\n" +
				"  _component_: torchtune.models.llama3_1.llama3_1_8b\n" +
				"batch_size: 2\ndtype: bf16\ntokenizer:\n  max_seq_len: 2048\nfsdp_cpu_offload: True\n" +
				"enable_activation_offloading: True\nenable_activation_checkpointing: True\n", nil,
			map[string]any{"zero": 3, "offload": "everything", "calibration": "pytorch", "recompute": "full"},
			"", false,
		},
		{
			"activations of torchtune on the host", "a.yaml", "model:\n" +
				"  _component_: torchtune.models.llama3_1.llama3_1_8b\n" +
				"batch_size: 2\ndtype: bf16\nenable_activation_offloading: True\n", nil,
			map[string]any{"offload": "activations", "calibration": "pytorch"},
			"", false,
		},
		{
			"torchtune on the host with tp", "a.yaml", "model:\n" +
				"  _component_: torchtune.models.llama3_1.llama3_1_8b\n" +
				"batch_size: 2\ndtype: bf16\ntensor_parallel_dim: 2\nfsdp_cpu_offload: True\n", nil,
			map[string]any{"tp": 2, "offload": open},
			"are modelled on transformers, pytorch and deepspeed alone", false,
		},
		{
			"on the host, on a stack that is not modelled", "a.yaml", axolotl + "fsdp_version: 2\n" +
				"dp_shard_size: 4\ndp_replicate_size: 2\nfsdp_config:\n  reshard_after_forward: true\n" +
				"  offload_params: true\n", nil,
			map[string]any{"zero": 3, "hsdp": 2, "offload": open, "calibration": "default"},
			"predicted as Megatron-Core", false,
		},
		{
			"Liger's loss of LLaMA-Factory", "a.yaml", factory + "lora\nenable_liger_kernel: true\n" +
				"deepspeed: ds_z3_offload.json\n", nil,
			map[string]any{"loss": "liger", "calibration": "deepspeed"},
			"loss liger alone", false,
		},
		{
			"Liger's loss of TRL", "a.sh", "accelerate launch --config_file host.yaml trl/scripts/sft.py " +
				"--model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 1 --bf16 " +
				"--use_liger_kernel --max_length 4096\n", nil,
			map[string]any{"loss": "liger", "calibration": "transformers"},
			"loss liger alone", false,
		},
		{
			"Liger's loss of axolotl", "a.yaml", axolotl +
				"plugins:\n  - axolotl.integrations.liger.LigerPlugin\n" +
				"liger_rope: true\nliger_fused_linear_cross_entropy: true\n", nil,
			map[string]any{"loss": "liger", "calibration": "transformers"},
			"its kernels are not modelled", false,
		},
		{
			"Liger's kernels without its loss", "a.yaml", axolotl + "liger_rms_norm: true\n" +
				"liger_fused_linear_cross_entropy: false\n", nil,
			map[string]any{"loss": "unfused", "calibration": "transformers"},
			"changes nothing", false,
		},
		{
			"Liger on a stack that is not modelled", "a.yaml", axolotl + "fsdp_version: 2\n" +
				"dp_shard_size: 4\ndp_replicate_size: 2\nfsdp_config:\n  reshard_after_forward: true\n" +
				"liger_fused_linear_cross_entropy: true\n" +
				"plugins:\n  - axolotl.integrations.liger.LigerPlugin\n", nil,
			map[string]any{"hsdp": 2, "calibration": "default", "loss": "unfused"},
			"loss liger is modelled on",
			false,
		},
		{
			"Liger of axolotl without its plugin", "a.yaml", axolotl + "plugins:\n  - " +
				"axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\n" +
				"liger_fused_linear_cross_entropy: true\n", nil,
			map[string]any{"loss": "unfused"},
			"without effect: axolotl reads it with plugins",
			false,
		},
		{
			"bf16 alone under DeepSpeed", "a.yaml", "model_name_or_path: Qwen/Qwen2.5-7B\n" +
				"finetuning_type: full\ncutoff_len: 2048\nper_device_train_batch_size: 1\n" +
				"pure_bf16: true\ndeepspeed: examples/deepspeed/ds_z3_config.json\n", nil,
			map[string]any{"precision": "bf16", "zero": 3},
			"Key:pure_bf16 Value:true Setup:[precision]", false,
		},
		{
			"a bare Trainer of TRL", "a.py", "from trl import SFTConfig, SFTTrainer\n" +
				"name = \"Qwen/Qwen2.5-7B\"\n" +
				"args = SFTConfig(per_device_train_batch_size=2, max_length=4096, output_dir='a(b)')\n" +
				"trainer = SFTTrainer(model=name, args=args)\n", nil,
			map[string]any{"model": "qwen2.5-7b", "mbs": 2, "seq": 4096},
			"", false,
		},
		{
			"bf16 alone", "a.yaml", "model_name_or_path: Qwen/Qwen2.5-7B\nfinetuning_type: full\n" +
				"pure_bf16: true\nenable_liger_kernel: true\n", nil,
			map[string]any{"precision": "bf16", "weight_dtype": "bf16", "zero": open, "loss": "liger"},
			"loads weights in bf16", false,
		},
		{
			"bf16 alone, of adapters", "a.yaml", "model_name_or_path: Qwen/Qwen2.5-7B\npure_bf16: true\n" +
				"finetuning_type: lora\n", nil,
			map[string]any{"precision": "bf16", "weight_dtype": "fp32", "lora": 8},
			"", false,
		},
		{
			"bf16 alone, sharded", "a.yaml", "model_name_or_path: Qwen/Qwen2.5-7B\nfinetuning_type: full\n" +
				"pure_bf16: true\ndeepspeed: ds_z3_optimizer.json\n", nil,
			map[string]any{"precision": "bf16", "weight_dtype": "fp32", "calibration": "deepspeed"},
			"", false,
		},
		{
			"FSDP of axolotl on the GPU", "a.yaml", axolotl + "fsdp:\n  - full_shard\nfsdp_config:\n" +
				"  fsdp_offload_params: false\n", nil,
			map[string]any{"zero": 3, "offload": "none", "calibration": "transformers"},
			"changes nothing", false,
		},
		{
			"a script whose configuration lies beside it", "a.sh",
			"accelerate launch --config_file host.yaml trl/scripts/sft.py " +
				"--model_name_or_path Qwen/Qwen2.5-7B " +
				"--per_device_train_batch_size 1 --bf16 --max_length 4096\n", nil,
			map[string]any{"gpus": 8, "zero": 3, "offload": "weights", "calibration": "transformers"},
			"", false,
		},
	}
}

// TestHostRoundTrip: what is on the host, Liger's loss and weights in bf16 come back as they are written.
func TestHostRoundTrip(t *testing.T) {
	for _, c := range []struct {
		launcher, stack string
		stage           int
		offload         recipe.Offload
		loss            recipe.Loss
		weights         recipe.WeightDtype
	}{
		{"axolotl", "transformers", 3, recipe.OffloadWeights, recipe.LigerLoss, ""},
		{"llama-factory", "deepspeed", 3, recipe.OffloadWeights, recipe.LigerLoss, ""},
		{"llama-factory", "deepspeed", 2, recipe.OffloadOptimizer, recipe.UnfusedLoss, ""},
		{"llama-factory", "transformers", 0, recipe.OffloadNone, recipe.LigerLoss, recipe.WeightsBF16},
		{"trl", "transformers", 0, recipe.OffloadNone, recipe.LigerLoss, ""},
		{"trl", "transformers", 0, recipe.OffloadActivations, recipe.UnfusedLoss, ""},
		{
			"axolotl", "transformers", 0, recipe.OffloadActivations, recipe.UnfusedLoss,
			recipe.WeightsBF16,
		},
		{"axolotl", "transformers", 3, recipe.OffloadEverything, recipe.UnfusedLoss, ""},
		{"accelerate", "transformers", 3, recipe.OffloadWeights, "", ""},
		{"accelerate-deepspeed", "deepspeed", 3, recipe.OffloadWeights, "", ""},
		{"deepspeed", "deepspeed", 3, recipe.OffloadWeights, "", ""},
	} {
		l, _ := launch.Find(c.launcher)
		given := knob.Given{
			"calibration": c.stack, knob.GPUs: 8, knob.ZeRO: c.stage, knob.GBS: 64, knob.Seq: 2048,
			knob.SP: false, knob.Recompute: "full", knob.Offload: string(c.offload),
		}
		if c.loss != "" {
			given[knob.Loss] = string(c.loss)
		}
		if c.weights != "" {
			given[knob.WeightDtype] = string(c.weights)
		}
		s := setup(t, "qwen2.5-7b", given)
		if !engine.Legal(s) {
			t.Fatalf("%s: %+v", c.launcher, knob.Check(&s))
		}
		got, _, r, err := backOf(t, l, &s)
		if err != nil {
			t.Fatalf("%s: %v", c.launcher, err)
		}
		if got.Offload != s.Offload || c.loss != "" && got.Loss != s.Loss ||
			got.WeightDtype != s.WeightDtype {
			t.Errorf("%s: offload %s, loss %s, weights %s: %v", c.launcher, got.Offload, got.Loss,
				got.WeightDtype, r.Setup)
		}
	}
}

// TestActivationsUnderDeepSpeed: a file that trains under DeepSpeed would lose activations on the host, so it
// is refused with the stages that have them.
func TestActivationsUnderDeepSpeed(t *testing.T) {
	for launcher, allowed := range map[string]string{"axolotl": "with zero 0, or 3", "trl": "with zero 0: "} {
		l, _ := launch.Find(launcher)
		for _, offload := range []recipe.Offload{recipe.OffloadActivations, recipe.OffloadEverything} {
			for _, stage := range []int{2, 3} {
				if launcher == "axolotl" && stage == 3 {
					continue
				}
				s := setup(t, "qwen2.5-7b", knob.Given{
					"calibration": "transformers", knob.GPUs: 8, knob.ZeRO: stage, knob.GBS: 64,
					knob.Seq: 2048, knob.SP: false, knob.Recompute: "full", knob.Offload: string(offload),
				})
				_, refused := l.Export(&s, "test")
				if said := fmt.Sprint(refused); !strings.Contains(said, allowed) {
					t.Errorf("%s, zero %d, %s: %s", launcher, stage, offload, said)
				}
			}
		}
	}
}

// TestDefaultsOnDrives: what DeepSpeed swaps by its own defaults is said once, and is not lost.
func TestDefaultsOnDrives(t *testing.T) {
	const zero = "zero_optimization."
	r, ok := launch.Read("ds.json", []byte(`{"zero_optimization": {"stage": 3, "sub_group_size": 1e9, `+
		`"offload_optimizer": {"device": "nvme", "buffer_count": 4}, "offload_param": {"device": "nvme", `+
		`"buffer_size": 100000000, "max_in_cpu": 1e9}}, "bf16": {"enabled": true}}`))
	if !ok {
		t.Fatal("not read")
	}
	said := map[string]int{}
	for _, i := range r.Ignored {
		if said[i.Key]++; strings.HasPrefix(i.Key, zero) && !strings.HasPrefix(i.Why, "DeepSpeed's default") {
			t.Errorf("%s: %s", i.Key, i.Why)
		}
	}
	for _, key := range []string{
		"sub_group_size", "offload_optimizer.buffer_count", "offload_param.buffer_size",
		"offload_param.max_in_cpu",
	} {
		if said[zero+key] != 1 {
			t.Errorf("%s is said %d times", key, said[zero+key])
		}
	}
}

// TestFoldersOfDrives: both files of DeepSpeed have a folder on the drives, which the site sets, and read it.
func TestFoldersOfDrives(t *testing.T) {
	s := setup(t, "llama3.1-8b", knob.Given{
		knob.GPUs: 8, knob.ZeRO: 3, knob.Calibration: "deepspeed", knob.Offload: "weights-nvme",
		knob.GBS: 64,
	})
	for id, keys := range map[string][]string{
		"deepspeed": {
			"zero_optimization.offload_optimizer.nvme_path", "zero_optimization.offload_param.nvme_path",
		},
		"accelerate-deepspeed": {
			"deepspeed_config.offload_optimizer_nvme_path", "deepspeed_config.offload_param_nvme_path",
		},
	} {
		l, _ := launch.Find(id)
		d, refused := l.Export(&s, "test")
		if len(refused) > 0 {
			t.Fatal(refused)
		}
		sites := map[string]bool{}
		for _, e := range d.Entries {
			sites[e.Key] = e.Site
		}
		for _, key := range keys {
			if !sites[key] || id == "deepspeed" && !strings.Contains(strings.Join(d.Warnings, "\n"), key) {
				t.Errorf("%s: %s is not the site's to set: %v", id, key, d.Warnings)
			}
		}
	}
}
