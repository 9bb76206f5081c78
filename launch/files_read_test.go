package launch_test

import (
	"fmt"
	"strings"
	"testing"

	"meshscope/launch"
)

// TestReadFiles: what is said another way than it is written here, what is unknown and what
// contradicts itself.
func TestReadFiles(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		launcher   string
		setup      map[string]any
		problem    string // part of one, with its line
		ignored    string // a key
	}{
		"torchtitan, the ranks that are left": {
			"run.py", "from torchtitan.models.llama3.config_registry import llama3_8b\ndef f():\n  config " +
				"= llama3_8b()\n  config.parallelism.data_parallel_shard_degree = -1\n  " +
				"config.parallelism.tensor_parallel_degree = 8\n",
			"torchtitan",
			map[string]any{"model": "llama3.1-8b", "tp": 8, "recompute": "selective", "zero": 3},
			"", "p.data_parallel_shard_degree",
		},
		"torchtitan, what would be executed": {
			"run.py", "from torchtitan.models.llama3.config_registry import llama3_8b\nimport os\ndef " +
				"f():\n  config = llama3_8b()\n  p = config.parallelism\n  p.tensor_parallel_degree = " +
				"int(os.environ['TP'])\n  p.pipeline_parallel_degree = 2\n  os.system('rm -rf /')\n",
			"torchtitan",
			map[string]any{"pp": 2, "tp": nil},
			"6: ", "",
		},
		"torchtitan, an unknown schedule": {
			"run.py", "import torchtitan\nconfig.parallelism.pipeline_parallel_degree = " +
				"2\nconfig.parallelism.pipeline_parallel_schedule = 'Mine'\n",
			"torchtitan",
			map[string]any{"pp": 2, "schedule": nil},
			"3: ", "",
		},
		"torchtitan, tokens that are no sequences": {
			"run.py", "import torchtitan\nconfig.training.max_context_length = " +
				"4096\nconfig.training.num_tokens_per_microbatch_per_dp_rank = 6000\n",
			"torchtitan",
			map[string]any{"seq": 4096, "mbs": nil},
			"2: ", "",
		},
		"0.2.2, accumulation over passes": {
			"a.toml", "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = " +
				"8\nglobal_batch_size = 32\n[parallelism]\ndata_parallel_shard_degree = " +
				"2\npipeline_parallel_degree = 2\n",
			"torchtitan-toml",
			map[string]any{"microbatches": 16, "gbs": 32, "mbs": 1, "schedule": "1f1b", "vpp": 1},
			"5: ", "",
		},
		"0.2.2, another optimizer and flavour": {
			"a.toml", "[model]\nname = \"llama3\"\nflavor = \"9B\"\n[optimizer]\nname = " +
				"\"Muon\"\n[parallelism]\ncontext_parallel_degree = 2\n",
			"torchtitan-toml",
			map[string]any{"cp": 2, "model": nil},
			"3: ", "",
		},
		"nanotron, experts": {
			"a.yaml",
			"parallelism:\n  dp: 2\n  tp: 1\n  pp: 1\n  pp_engine: afab\n  expert_parallel_size: 4\n",
			"nanotron",
			map[string]any{"dp": 2, "schedule": "afab", "ep": 1, "zero": 0, "sp": false},
			"6: ", "",
		},
		"nanotron, a word that is no number": {
			"a.yaml", "parallelism:\n  pp_engine: 1f1b\n  dp: two\n  tp: 4\n", "nanotron",
			map[string]any{"tp": 4, "dp": nil},
			"3: ", "",
		},
		"DeepSpeed, auto": {
			"ds.json",
			`{"train_batch_size": "auto", "train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3}}`,
			"deepspeed",
			map[string]any{"mbs": 2, "zero": 3, "gbs": nil, "dp": nil, "precision": "fp32"},
			"", "train_batch_size",
		},
		"DeepSpeed, auto of what has a default": {
			"ds.json",
			`{"train_batch_size": 8, "zero_optimization": {"stage": "auto"}, "bf16": {"enabled": "auto"}}`,
			"deepspeed",
			map[string]any{"gbs": 8, "zero": nil, "precision": nil},
			"0: calibration", "zero_optimization.stage",
		},
		"DeepSpeed, a batch that is none": {
			"ds.json", "{\"train_batch_size\": 30,\n\"train_micro_batch_size_per_gpu\": 4, " +
				"\"gradient_accumulation_steps\": 4, \"bf16\": {\"enabled\": true}}",
			"deepspeed",
			map[string]any{"mbs": 4, "microbatches": 4, "dp": nil, "precision": "bf16"},
			"1: ", "",
		},
		"DeepSpeed, Ulysses": {
			"ds.json", `{"train_batch_size": 8, "sequence_parallel_size": 4}`, "deepspeed",
			map[string]any{"gbs": 8, "cp": 4, "cp_comm": "a2a"},
			"", "",
		},
		"deepspeed, a number in quotes": {
			"ds.json", `{"train_batch_size": "8", "zero_optimization": {"stage": 2}}`, "deepspeed",
			map[string]any{"gbs": nil, "zero": 2},
			"1: ", "",
		},
		"accelerate, DDP": {
			"a.yaml", "distributed_type: MULTI_GPU\nmixed_precision: 'no'\nnum_processes: 16\n",
			"accelerate",
			map[string]any{"dp": 16, "zero": 0, "precision": "fp32", "gpus": 16, "pp": 1},
			"", "",
		},
		"accelerate, FSDP 1": {
			"a.yaml", "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 1\n  fsdp_sharding_strategy: " +
				"FULL_SHARD\nnum_processes: 16\n",
			"accelerate",
			map[string]any{"gpus": 16, "zero": 3, "hsdp": 1, "dp": 16},
			"", "",
		},
		"accelerate, a mesh of other processes": {
			"a.yaml", "distributed_type: FSDP\nnum_processes: 16\nparallelism_config:\n  " +
				"parallelism_config_dp_shard_size: 4\n  parallelism_config_tp_size: 2\n",
			"accelerate",
			map[string]any{"tp": 2, "dp": 4, "gpus": nil},
			"2: ", "",
		},
		"accelerate, an alias": {
			"a.yaml", "distributed_type: FSDP\nnum_processes: &n 16\nnum_machines: *n\n", "accelerate",
			map[string]any{"gpus": 16},
			"3: ", "",
		},
	} {
		r, ok := launch.Read(c.file, []byte(c.text))
		if !ok || r.Launcher != c.launcher {
			t.Errorf("%s: read by %q", name, r.Launcher)
			continue
		}
		for key, want := range c.setup {
			if got := r.Setup[key]; got != want {
				t.Errorf("%s: %s is %v, want %v", name, key, got, want)
			}
		}
		var problems, ignored strings.Builder
		for _, p := range lacking(&r) {
			fmt.Fprintf(&problems, "|%d: %s %s", p.Line, p.Key, p.Message)
		}
		for _, i := range r.Ignored {
			ignored.WriteString("|" + i.Key + "|")
		}
		if (problems.Len() > 0) != (c.problem != "") || !strings.Contains(problems.String(), "|"+c.problem) &&
			c.problem != "" {
			t.Errorf("%s: problems are %q, want one with %q", name, problems.String(), c.problem)
		}
		if c.ignored != "" && !strings.Contains(ignored.String(), "|"+c.ignored+"|") {
			t.Errorf("%s: %s is not ignored: %+v", name, c.ignored, r.Ignored)
		}
	}
}
