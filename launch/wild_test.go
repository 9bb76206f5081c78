package launch_test

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/launch"
	"meshscope/presets"
)

// dense are the flags of a model that a script needs in addition to those that a test is about.
const dense = " --num-layers 32 --hidden-size 4096 --ffn-hidden-size 11008 --num-attention-heads 32 " +
	"--seq-length 4096 --micro-batch-size 1" +
	" --normalization RMSNorm --swiglu --position-embedding-type rope --untie-embeddings-and-output-weights --disable-bias-linear"

// torchrun starts them on eight GPUs, with a vocabulary.
const torchrun = "torchrun --nproc_per_node 8 pretrain_gpt.py --vocab-size 32000 --global-batch-size 64" +
	dense

// open is the value of a key that the file does not give.
const open = "?"

// wild is a file as it is met, and what is right to say of it.
type wild struct {
	name, file, text string
	give             [][2]string
	want             map[string]any // by flat key; open: unknown
	says             string         // what has to be said of it
	refused          bool           // it is no training job, or contradicts itself
}

// besideAll are files that lie beside every file, by their names.
var besideAll = map[string]string{
	"ds_auto.json": `{"zero_optimization": {"stage": "auto"}, "bf16": {"enabled": "auto"}}`,
	"zero2.json": `{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}, ` +
		`"bf16": {"enabled": "auto"}}`,
	"ds_z3_offload.json": `{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}, ` +
		`"offload_param": {"device": "cpu"}}, "bf16": {"enabled": "auto"}}`,
	"ds_z3_optimizer.json": `{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}, ` +
		`"bf16": {"enabled": "auto"}}`,
	"fsdp.yaml": "distributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n  " +
		"fsdp_sharding_strategy: SHARD_GRAD_OP\n  fsdp_activation_checkpointing: true\nnum_machines: " +
		"1\nnum_processes: 8\n",
	"host.yaml": "distributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n  fsdp_version: 2\n" +
		"  fsdp_reshard_after_forward: true\n  fsdp_offload_params: true\n" +
		"num_machines: 1\nnum_processes: 8\n",
	"plugin.yaml": "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\nmixed_precision: " +
		"bf16\nnum_machines: 2\nnum_processes: 16\n",
	"sft_llf.yaml": "model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\nfinetuning_type: " +
		"full\nstage: sft\ncutoff_len: 4096\nper_device_train_batch_size: 2\ngradient_accumulation_steps: " +
		"4\nbf16: true\ndeepspeed: zero2.json\n",
}

// beside returns one of them.
func (*wild) beside(name string) ([]byte, bool) {
	text, ok := besideAll[path.Base(name)]
	return []byte(text), ok
}

// wilds are files that once gave wrong values, or none.
func wilds() []wild {
	return slices.Concat(wildShell(), wildFlags(), wildFiles(), wildTrainers(), wildPrograms(), wildMended(),
		wildAdapters(), wildPython(), wildOnHost())
}

func wildShell() []wild {
	return []wild{
		{
			"W1 scalar of an if", "a.sh",
			"if [ \"$X\" = y ]; then P=\"--bf16 --use-distributed-optimizer\"; fi\n" + torchrun + " $P\n",
			nil,
			map[string]any{"precision": open, "zero": open, "tp": 1, "sp": false, "gpus": 8},
			"if of line 1", false,
		},
		{
			"W1 hole after a value", "a.sh", "if [ -n \"$Y\" ]; then EXTRA=\"--sequence-parallel\"; " +
				"fi\ntorchrun --nproc_per_node 8 pretrain_gpt.py --vocab-size 32000" + dense +
				" --global-batch-size 64 $EXTRA\n", nil,
			map[string]any{"gbs": 64, "sp": open},
			"if of line 1", false,
		},
		{
			"W1 condition on a constant", "a.sh", "PREC=bf16\nif [ \"$PREC\" = bf16 ]; then P=--bf16; elif " +
				"[ $PREC = fp16 ]; then P=--fp16; else exit 1; fi\n" + torchrun + " $P\n", nil,
			map[string]any{"precision": "bf16", "gpus": 8},
			"", false,
		},
		{
			"W1 case on a constant", "a.sh",
			"SIZE=7B\ncase $SIZE in\n 1B|3B) TP=1;;\n 7B) TP=2; PP=2;;\n *) TP=8;;\nesac\n" + torchrun +
				" --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP\n", nil,
			map[string]any{"tp": 2, "pp": 2},
			"", false,
		},
		{
			"W1 one of two", "a.sh",
			"if [ \"$X\" = y ]; then TP=2; else TP=4; fi\n" + torchrun +
				" --tensor-model-parallel-size $TP\n", nil,
			map[string]any{"tp": open, "pp": 1},
			"one of 2 or 4", false,
		},
		{
			"W1 same in both", "a.sh",
			"if [ \"$X\" = y ]; then TP=2; PP=1; else TP=2; PP=4; fi\n" + torchrun +
				" --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP\n", nil,
			map[string]any{"tp": 2, "pp": open},
			"", false,
		},
		{
			"W4 words in words", "a.sh", "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH " +
				"--ntasks-per-node=1\n#SBATCH --gpus-per-node=8\nT=(--nproc-per-node $SLURM_GPUS_PER_NODE " +
				"--nnodes $SLURM_NNODES)\n" +
				"A=(--vocab-size 32000 --global-batch-size 64" + dense + ")\nCMD=\"torchrun ${T[@]} " +
				"pretrain_gpt.py ${A[@]}\"\nif [ -n \"$W\" ]; then CMD=\"$CMD --bf16\"; fi\nsrun bash -c " +
				"\"$CMD\"\n", nil,
			map[string]any{"gpus": 32, "gbs": 64, "precision": open},
			"", false,
		},
		{
			"W4 plain", "a.sh", "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=1\n#SBATCH " +
				"--gpus-per-node=8\nT=(--nproc-per-node $SLURM_GPUS_PER_NODE --nnodes $SLURM_NNODES)\n" +
				"A=(--vocab-size 32000 --global-batch-size 64" + dense +
				")\nCMD=\"torchrun ${T[@]} pretrain_gpt.py ${A[@]}\"\nsrun bash -c \"$CMD\"\n", nil,
			map[string]any{"gpus": 32, "gbs": 64},
			"", false,
		},
		{
			"W4 one task for each GPU", "a.sh", "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH " +
				"--ntasks-per-node=8\n#SBATCH --gpus-per-node=8\nsrun python pretrain_gpt.py --vocab-size " +
				"32000 --global-batch-size 64" + dense + "\n", nil,
			map[string]any{"gpus": 32},
			"", false,
		},
		{
			"R1 a list without quotes", "a.sh",
			"A=( --moe-layer-freq [0]*1+[1]*31 --num-experts 8 --moe-ffn-hidden-size 1024 )\n" + torchrun +
				" ${A[@]}\n", nil,
			map[string]any{"set.model.first_k_dense_layers": 1, "set.model.n_experts": 8},
			"", false,
		},
		{
			"R5 the tenth argument", "a.sh",
			"TP=${10}\nCMD=\"" + torchrun + " --tensor-model-parallel-size ${TP}\"\neval $CMD\n", nil,
			map[string]any{"tp": open, "gbs": 64},
			"${10}", false,
		},
		{
			"R5 a new line in a word", "a.sh",
			"if [ $G = 1 ]; then GQA=\"--group-query-attention --num-query-groups 8\"; fi\nCMD=\"" +
				torchrun + " --tensor-model-parallel-size 2\n $GQA --bf16\"\neval $CMD\n", nil,
			map[string]any{"gbs": 64, "precision": "bf16", "tp": 2, "set.model.kv_heads": open},
			"", false,
		},
		{
			"R9 read of words", "a.sh",
			"IFS=, read -r TP PP CP <<< \"2,2,1\"\n" + torchrun + " --tensor-model-parallel-size $TP " +
				"--pipeline-model-parallel-size $PP --context-parallel-size $CP\n", nil,
			map[string]any{"tp": 2, "pp": 2, "cp": 1},
			"", false,
		},
		{
			"a function is followed", "a.sh",
			"run() { local tp=$1; shift; " + torchrun + " --tensor-model-parallel-size $tp \"$@\"; }\nrun " +
				"2 --bf16\n", nil,
			map[string]any{"tp": 2, "precision": "bf16"},
			"", false,
		},
		{
			"a value of an unset variable", "a.sh",
			torchrun + " --tensor-model-parallel-size ${TP:-2} --pipeline-model-parallel-size $PP\n", nil,
			map[string]any{"tp": 2, "pp": open, "gpus": 8},
			"$PP", false,
		},
		{
			"a variable of one command", "a.sh",
			"TP=8 python prepare.py\n" + torchrun + " --tensor-model-parallel-size $TP\n", nil,
			map[string]any{"tp": open},
			"", false,
		},
		{
			"a variable read as empty", "a.sh",
			"[ -z \"$TP\" ] && TP=4\n" + torchrun + " --tensor-model-parallel-size $TP\n", nil,
			map[string]any{"tp": 4},
			"--env TP=VALUE", false,
		},
		{
			"an end that is not known", "a.sh", "set -e; test -d /nope\n: ${Q:?}\n" + torchrun + "\n", nil,
			map[string]any{"tp": 1},
			"--env Q=VALUE", false,
		},
		{
			"glued options", "a.sh",
			"srun -N2 -n16 python pretrain_gpt.py --vocab-size 32000 --global-batch-size 64" + dense + "\n",
			nil,
			map[string]any{"gpus": 16},
			"", false,
		},
		{
			"nodes of another file", "a.sh", "deepspeed --hostfile hosts --num_gpus 8 pretrain_gpt.py " +
				"--vocab-size 32000 --global-batch-size 64" + dense + "\n", nil,
			map[string]any{"gpus": open},
			"hosts", false,
		},
		{
			"GPUs by number", "a.sh", "deepspeed --include localhost:4,5 pretrain_gpt.py --vocab-size " +
				"32000 --global-batch-size 64" + dense + "\n", nil,
			map[string]any{"gpus": 2},
			"", false,
		},
		{
			"a recipe by its name", "a.sh", "torchrun --nproc_per_node 8 --nnodes 4 " +
				"scripts/training/run_recipe.py --recipe llama3_70b_pretrain_32gpu_h100_bf16_config -gb " +
				"256 model.context_parallel_size=1\n", nil,
			map[string]any{
				"model": "llama3-70b", "tp": 4, "pp": 4, "vpp": 5, "cp": 1, "gbs": 256, "mbs": 1,
				"seq": 8192, "sp": true, "zero": 1, "gpus": 32,
			},
			"the recipe", false,
		},
		{
			"the performance scripts", "a.sh", "python scripts/performance/setup_experiment.py -m qwen -mr " +
				"qwen3_235b_a22b -g h100 -c fp8_cs -ng 256 -gn 8 -tp 2 -pp 8 -ep 32\n", nil,
			map[string]any{
				"model": "qwen3-235b-a22b", "gpus": 256, "tp": 2, "pp": 8, "ep": 32,
				"precision": "fp8:tensor", "gbs": open, "seq": open, "cp": open,
			},
			"", false,
		},
		{"W9 comments only", "a.sh", "# x\n", nil, nil, "", true},
		{"another program", "a.sh", "#!/bin/bash\necho hello\nls -la --color\n", nil, nil, "", true},
	}
}

func wildFlags() []wild {
	vocab := "torchrun --nproc_per_node 8 pretrain_gpt.py --global-batch-size 64" + dense
	return []wild{
		{
			"W2 a vocabulary that a tokenizer knows", "a.sh", vocab + " --tokenizer-model someone/else\n",
			nil,
			map[string]any{"set.model.vocab": open, "model": nil, "set.model.layers": 32},
			"someone/else", false,
		},
		{
			"W2 a vocabulary of a known tokenizer", "a.sh", vocab + " --tokenizer-model Qwen/Qwen2.5-7B\n",
			nil,
			map[string]any{"set.model.vocab": 152064},
			"", false,
		},
		{
			"W2 bigscience", "a.slurm", "torchrun --nproc_per_node 4 pretrain_gpt.py --num-layers 24 " +
				"--hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --micro-batch-size 1 " +
				"--global-batch-size 64 --tokenizer-type PretrainedFromHF --tokenizer-name-or-path " +
				"google/mt5-base --fp16 --checkpoint-activations --zero-stage 1\n", nil,
			map[string]any{"set.model.vocab": open, "recompute": "full", "zero": 1, "precision": "fp16"},
			"google/mt5-base", false,
		},
		{
			"W3 flags of Megatron-DeepSpeed", "a.sh",
			torchrun + " --checkpoint-activations --zero-stage 1 --num-key-value-heads 2\n", nil,
			map[string]any{"recompute": "full", "zero": 1, "set.model.kv_heads": 2},
			"", false,
		},
		{
			"W3 its defaults and sequence parallelism", "a.sh", "deepspeed --num_nodes 2 --num_gpus 8 " +
				"pretrain_gpt.py --vocab-size 32000 --global-batch-size 64 --deepspeed --zero-stage 3 " +
				"--ds-sequence-parallel-size 2" + dense + "\n", nil,
			map[string]any{"zero": 3, "gpus": 16},
			"ds-sequence-parallel-size", false,
		},
		{
			"W7 ms-swift", "a.sh", "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen2.5-7B " +
				"--pipeline_model_parallel_size 2 --tensor_model_parallel_size 4 --micro_batch_size 1 " +
				"--global_batch_size 16 --max_length 2048\n", nil,
			map[string]any{
				"pp": 2, "tp": 4, "zero": 1, "precision": "bf16", "gbs": 16, "gpus": 8,
				"seq": 2048, "model": "qwen2.5-7b",
			},
			"ms-swift", false,
		},
		{
			"W7 slime", "a.sh", "PERF_ARGS=(--tensor-model-parallel-size 2 --sequence-parallel " +
				"--micro-batch-size 1)\npython3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 " +
				"--colocate --rollout-batch-size 32 --global-batch-size 256 --num-layers 32 --hidden-size " +
				"4096 ${PERF_ARGS[@]}\n", nil,
			map[string]any{"tp": 2, "zero": 1, "precision": "bf16", "gpus": 8, "gbs": 256},
			"slime", false,
		},
		{
			"W11 a length in an unknown word", "a.sh", "DATA=$1\ntorchrun --nproc_per_node 8 " +
				"pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 11008 " +
				"--num-attention-heads 32 --micro-batch-size 1 --global-batch-size 64 --vocab-size 32000 " +
				"--normalization RMSNorm --swiglu --position-embedding-type rope " +
				"--untie-embeddings-and-output-weights --disable-bias-linear $DATA\n", nil,
			map[string]any{"seq": open, "tp": open, "gbs": 64},
			"$1", false,
		},
		{
			"R2 a batch given by flag", "a.sh",
			"torchrun --nproc_per_node 8 pretrain_gpt.py --vocab-size 32000" + dense + "\n",
			[][2]string{{"gbs", "64"}},
			map[string]any{"gbs": 64, "gpus": 8, "mbs": 1},
			"", false,
		},
		{
			"R2 DeepSpeed", "ds.json", `{"train_batch_size":256,"gradient_accumulation_steps":1}`, nil,
			map[string]any{"gbs": 256, "microbatches": 1, "gpus": open, "model": open, "seq": open},
			"", false,
		},
		{
			"R3 a key twice", "model_config.yaml", "MODEL_ARGS:\n  --num-layers: 12\n  --hidden-size: " +
				"512\n  --num-attention-heads: 8\n  --tensor-model-parallel-size: 2\n  --micro-batch-size: " +
				"4\n  --global-batch-size: 32\n  --seq-length: 1024\n  --bf16: true\n  --bf16: true\n", nil,
			map[string]any{"tp": 2, "gbs": 32, "precision": "bf16", "gpus": open, "set.model.vocab": open},
			"twice", false,
		},
		{
			"flags without effect", "a.sh", torchrun + " --sequence-parallel\n", nil,
			map[string]any{"tp": 1, "sp": false},
			"no effect", false,
		},
		{
			"a layout that cannot run", "a.sh",
			torchrun + " --tensor-model-parallel-size 8 --pipeline-model-parallel-size 4\n", nil,
			map[string]any{"gpus": open, "tp": 8, "pp": 4},
			"8 is no multiple", false,
		},
	}
}

// lacking returns what is wrong with a file and what it lacks, each with its key.
func lacking(r *launch.Reading) []launch.Problem {
	out := slices.Clone(r.Problems)
	for _, u := range r.Unknown {
		key, why, ok := strings.Cut(u.Why, ": ")
		if !ok {
			key, why = u.Key, u.Why
		}
		out = append(out, launch.Problem{Line: u.Line, Key: key, Message: why})
	}
	return out
}

// stated returns what is stated of a file, by key, and all words about it.
func stated(w *wild) (setup map[string]any, unknown []string, says string, refused bool) {
	r := launch.OpenGiven(w.file, []byte(w.text), presets.Default(), launch.Given{Source: w.beside})
	for _, g := range w.give {
		r.Give(g[0], g[1])
	}
	setup = map[string]any{}
	if len(r.Problems) == 0 {
		s := r.Resolve(presets.Default())
		for _, k := range knob.All() { // what follows
			setup[strings.ReplaceAll(string(k.ID), "-", "_")] = k.Text(s)
		}
	}
	maps.Copy(setup, r.Setup)
	for _, u := range r.Unknown {
		unknown = append(unknown, u.Key)
	}
	return setup, unknown, fmt.Sprintf("%s %+v %+v %+v", r.Launcher, r.Problems, r.Ignored, r.Understood),
		len(r.Problems) > 0
}

// same reports whether two values of a key are alike: a switch is true or on.
func same(a, b any) bool {
	word := func(v any) string {
		return strings.NewReplacer("true", "on", "false", "off").Replace(fmt.Sprint(v))
	}
	return word(a) == word(b)
}

// TestWild: files as they are met state what is in them, and nothing else.
func TestWild(t *testing.T) {
	right, wrong, unread := 0, 0, 0
	for _, w := range wilds() {
		setup, unknown, says, refused := stated(&w)
		if refused != w.refused {
			t.Errorf("%s: refused %v: %s", w.name, refused, says)
		}
		for key, want := range w.want {
			v, ok := setup[key]
			switch {
			case want == open && (refused || !ok || slices.Contains(unknown, key)), want == nil && !ok, ok &&
				!refused && same(v, want):
				right++
			case refused || !ok:
				unread++
				t.Errorf("%s: %s is not read, want %v", w.name, key, want)
			default:
				wrong++
				t.Errorf("%s: %s is %v, want %v", w.name, key, v, want)
			}
		}
		if !strings.Contains(says, w.says) {
			t.Errorf("%s: %q is not said: %s", w.name, w.says, says)
		}
	}
	t.Logf("%d stated values right, %d wrong, %d unread", right, wrong, unread)
}
