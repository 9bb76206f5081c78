package launch_test

import (
	"fmt"
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/engine_test/draws"
	"meshscope/launch"
	"meshscope/presets"
)

// script returns a written file of a launcher that takes flags.
func script(t testing.TB, id string) []byte {
	t.Helper()
	s := setup(t, "llama3-70b", knob.Given{knob.GPUs: 64, knob.TP: 8, knob.PP: 2, knob.VPP: 5, knob.GBS: 128})
	l, _ := launch.Find(id)
	d, refused := l.Export(&s, "")
	if len(refused) > 0 {
		t.Fatal(refused)
	}
	return d.Text()
}

// TestShellIsFollowed: variables, arrays, appends, defaults, arithmetic, scripts in words and
// torchrun's own flags.
func TestShellIsFollowed(t *testing.T) {
	const flags = "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 " +
		"--micro-batch-size 1 --global-batch-size 64 "
	for name, c := range map[string]struct {
		text string
		want map[string]any
	}{
		"arrays": {"TP=4\nPP=${PP:-2}\nM=(--tensor-model-parallel-size $TP\n " +
			"--pipeline-model-parallel-size \"$PP\" # four\n)\nM+=(--sequence-parallel)\n" +
			"NODES=2; D=\"--nnodes $NODES --nproc_per_node 8\"\ntorchrun $D pretrain_gpt.py \"${M[@]}\" " +
			flags, map[string]any{"tp": 4, "pp": 2, "sp": true, "gpus": 16}},
		"equals": {
			"torchrun --nproc-per-node=8 pretrain_gpt.py --tensor-model-parallel-size=2 " + flags,
			map[string]any{"tp": 2, "gpus": 8},
		},
		"arithmetic": {"N=4\nG=$((N * 8))\nsrun --ntasks=$G python pretrain_gpt.py " +
			"--tensor_model_parallel_size 8 " + flags, map[string]any{"tp": 8, "gpus": 32}},
		"bash -c": {
			"#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\nsrun bash -c \"torchrun --nnodes $SLURM_NNODES " +
				"--nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 8 " + flags + "\"",
			map[string]any{"tp": 8, "gpus": 32},
		},
		"eval": {
			"OPTIONS=\" \\\n --tensor-model-parallel-size 2 \\\n " + flags +
				"\"\ncmd=\"torchrun --nproc_per_node 8 pretrain_gpt.py ${OPTIONS}\"\neval $cmd",
			map[string]any{"tp": 2, "gpus": 8},
		},
		"flags": {
			"--tensor-model-parallel-size 2 --micro-batch-size 2 --global-batch-size 8",
			map[string]any{"tp": 2, "mbs": 2},
		},
		"variables": {
			"GPT_ARGS=\"--tensor-model-parallel-size 2 --micro-batch-size 2\"\n",
			map[string]any{"tp": 2, "mbs": 2},
		},
		"no batch": {"torchrun --nproc_per_node 8 pretrain_gpt.py --micro-batch-size 2 --num-layers 2 " +
			"--hidden-size 64 --num-attention-heads 4", map[string]any{"microbatches": 1, "gpus": 8}},
		"first last": {
			"torchrun --nproc_per_node 8 pretrain_gpt.py --pipeline-model-parallel-size 4 " +
				"--num-layers 30 --hidden-size 64 --num-attention-heads 4 " +
				"--decoder-first-pipeline-num-layers " +
				"7 --decoder-last-pipeline-num-layers 7 --micro-batch-size 1",
			map[string]any{"split": "", "pp": 4},
		},
		"etp is tp": {"torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 4 " +
			"--num-experts 8 --expert-model-parallel-size 2 --num-layers 2 --hidden-size 64 " +
			"--num-attention-heads 4 --micro-batch-size 1", map[string]any{"etp": 4, "ep": 2}},
	} {
		r, ok := launch.Read("train.sh", []byte(c.text))
		if !ok || r.Launcher != "megatron" {
			t.Errorf("%s: read by %q", name, r.Launcher)
			continue
		}
		for key, v := range c.want {
			if v != "" && fmt.Sprint(r.Setup[key]) != fmt.Sprint(v) {
				t.Errorf("%s: %s is %v, want %v; %+v %+v", name, key, r.Setup[key], v, r.Problems, r.Ignored)
			}
		}
	}
}

// TestShellIsNotRun: what depends on a command, an argument, a branch or a loop is said with its
// line, and what else is in the file is kept.
func TestShellIsNotRun(t *testing.T) {
	text := `TP=$(nvidia-smi -L | wc -l)
if [ "$1" = big ]; then
  PP=8
else
  PP=2
fi
for i in $N; do MBS=$i; done
run() { echo hi; }
CP=$2
torchrun --nnodes $NNODES --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP \
  --micro-batch-size $MBS --context-parallel-size $CP --seq-length 4096 --my-own-flag 3 "$@"
`
	r, _ := launch.Read("train.sh", []byte(text))
	for key, line := range map[string]int{
		"tensor-model-parallel-size":   10,
		"pipeline-model-parallel-size": 10, "micro-batch-size": 11, "context-parallel-size": 11, "gpus": 0,
		"model": 0,
	} {
		found := false
		for _, p := range lacking(&r) {
			found = found || p.Key == key && (p.Line == line || line == 0)
		}
		if !found {
			t.Errorf("no problem of %s at line %d: %+v", key, line, r.Problems)
		}
	}
	said := fmt.Sprint(r.Ignored)
	for _, want := range []string{"$(...)", "my-own-flag", "{$@"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said: %s", want, said)
		}
	}
	if fmt.Sprint(r.Setup["seq"]) != "4096" {
		t.Errorf("what is known is lost: %v", r.Setup)
	}
}

// TestShellLines: a finding has the line where its word stands, also in an array.
func TestShellLines(t *testing.T) {
	r, _ := launch.Read("train.sh", []byte("A=(\n  --tensor-model-parallel-size 2\n  --micro-batch-size 3 "+
		"# three\n)\nB=\"--seq-length 4096\"\ntorchrun pretrain_gpt.py \"${A[@]}\" $B\n"))
	for _, u := range r.Understood {
		if want := map[string]int{
			"tensor-model-parallel-size": 2, "micro-batch-size": 3,
			"seq-length": 5,
		}[u.Key]; want > 0 && u.Line != want {
			t.Errorf("%s at line %d, want %d", u.Key, u.Line, want)
		}
	}
}

// TestModelArgs: the flags of a functional test of Megatron-LM are read from its YAML.
func TestModelArgs(t *testing.T) {
	text := `ENV_VARS:
  CUDA_DEVICE_MAX_CONNECTIONS: 1
MODEL_ARGS:
  --num-layers: 12
  --hidden-size: 512
  --num-attention-heads: 8
  --tensor-model-parallel-size: 2
  --pipeline-model-parallel-size: 2
  --sequence-parallel: true
  --micro-batch-size: 4
  --global-batch-size: 32
  --seq-length: 1024
  --bf16: true
`
	r, ok := launch.Read("model_config.yaml", []byte(text))
	if !ok || r.Launcher != "megatron" {
		t.Fatalf("read by %q", r.Launcher)
	}
	for key, want := range map[string]string{
		"tp": "2", "pp": "2", "sp": "true", "mbs": "4", "gbs": "32",
		"precision": "bf16", "set.model.layers": "12",
	} {
		if fmt.Sprint(r.Setup[key]) != want {
			t.Errorf("%s is %v, want %s", key, r.Setup[key], want)
		}
	}
	if all := lacking(&r); len(all) != 2 || all[1].Key != "gpus" && all[0].Key != "gpus" {
		t.Errorf("%+v", all)
	}
}

// hostileShell returns scripts that would cost a reader much.
func hostileShell() [][]byte {
	repeat := func(s string, n int) []byte { return []byte(strings.Repeat(s, n)) }
	bomb := "A=--tensor-model-parallel-size\n"
	for range 60 {
		bomb += "A=$A$A\n"
	}
	list := "A=(--tensor-model-parallel-size 1)\n" + strings.Repeat("A+=(\"${A[@]}\")\n", 60)
	out := [][]byte{[]byte(bomb), []byte(list), []byte(bomb + "torchrun pretrain_gpt.py $A")}
	for _, s := range []string{
		"$(", "((", "${a:-", "if ", "while ", "! ", "{ ", "case a in ", "a=$((-",
		"\"$(", "`", "<(", "a && ", "a | ", "eval ", "bash -c '", "<<E\n", "x() ", "[[ ! ", "a=$((1**",
	} {
		out = append(out, append([]byte("--tensor-model-parallel-size 8\n"), repeat(s, 100_000)...),
			append([]byte("--tensor-model-parallel-size 8\n"), repeat(s, 20_000)...))
	}
	for _, layout := range []string{
		"(t|)*99999999", "((t*9999)*9999)*9999", strings.Repeat("t*9999", 1000),
		"]", "(((((", strings.Repeat("(", 5000),
	} {
		out = append(out, []byte("--tensor-model-parallel-size 1 --pipeline-model-parallel-size 2 "+
			"--num-layers 4 --pipeline-model-parallel-layout '"+layout+"' --moe-layer-freq '"+layout+"'"))
	}
	round := "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do "
	out = append(out,
		[]byte(strings.Repeat(round, 9)+":"+strings.Repeat("; done", 9)+"\n--tensor-model-parallel-size 8"),
		[]byte(". ./train.sh\nf(){ f; f; }; f; while true; do i=$((i + 1)); done\neval \"eval "+
			"f\"\n--tensor-model-parallel-size 8"))
	return append(out, []byte("()~"), []byte("--tensor-model-parallel-size 8\n()~"),
		[]byte("--tensor-model-parallel-size 8 --moe-layer-freq '"+strings.Repeat("([0]+", 3000)+"[1]'"),
		[]byte("--tensor-model-parallel-size 8 --num-layers 999999999 --pipeline-model-parallel-size "+
			"99999999 --num-virtual-stages-per-pipeline-rank 99999999"),
		append([]byte("--tensor-model-parallel-size 8 "), repeat("x ", 6_000_000)...))
}

// TestHostileShell: scripts that are broken, huge or grow are read to their end.
func TestHostileShell(t *testing.T) {
	for _, id := range []string{"megatron", "bridge"} {
		l, _ := launch.Find(id)
		text := script(t, id)
		list := hostileShell()
		if id == "megatron" || draws.Deep() {
			list = append(list, hostile(text)...)
		}
		for i, data := range list {
			if len(data) > 500_000 && i%4 > 0 && !draws.Deep() {
				continue
			}
			r := l.Read("train.sh", data)
			sound(t, &r, data)
		}
		half := l.Read("train.sh", text[:len(text)*2/3])
		if len(half.Problems) == 0 {
			t.Errorf("%s: a truncated file has no problem", id)
		}
	}
}

func fuzzShell(f *testing.F, id string) {
	l, _ := launch.Find(id)
	f.Add(script(f, id))
	for _, h := range append(hostile(script(f, id)), hostileShell()...) {
		if len(h) < 10_000 {
			f.Add(h)
		}
	}
	f.Add([]byte("A=(--x 1 # c\n)\nexport B=${C:-2}\nif true; then D=1; fi\ntorchrun --nnodes 2 " +
		"--nproc_per_node=8 pretrain_gpt.py \"${A[@]}\" --tensor-model-parallel-size $B " +
		"--pipeline-model-parallel-layout 'E|(t|)*3,m|L' --moe-layer-freq ([0]*3+[1]*5)"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := l.Read("train.sh", data)
		sound(t, &r, data)
	})
}

func FuzzMegatron(f *testing.F) { fuzzShell(f, "megatron") }
func FuzzBridge(f *testing.F)   { fuzzShell(f, "bridge") }

// TestLinesOfWords: a word of a text of several lines has the line on which it stands, wherever the text
// goes, and a default of the script that stands in for a variable is named once, if nothing gives it a value.
func TestLinesOfWords(t *testing.T) {
	const text = "TP=${TP:-4}\nPP=\"${PP:-\"2\"}\"\n" +
		"GPT_ARGS=\"\n  --num-layers 24 \\\n  --hidden-size 1024 --num-attention-heads 16\n\"\n" + // from 3
		"MORE='--seq-length 2048\n  --global-batch-size 64'\n" + // from line 7
		"GPT_ARGS+=\" $MORE\n  --micro-batch-size ${TP:-4}\"\n" + // from line 9
		"ALL=\"$GPT_ARGS --bf16\"\n" + // line 11
		"torchrun --nproc_per_node 8 pretrain_gpt.py $ALL \\\n --tensor-model-parallel-size $TP " +
		"--pipeline-model-parallel-size $PP\n"
	r := launch.OpenGiven("run.sh", []byte(text), presets.Default(),
		launch.Given{Env: map[string]string{"PP": "2"}})
	got := map[string]int{}
	for _, u := range r.Understood {
		if u.Assumed == "" {
			got[u.Key] = u.Line
		}
	}
	for key, line := range map[string]int{
		"num-layers": 4, "hidden-size": 5, "num-attention-heads": 5, "seq-length": 7, "global-batch-size": 8,
		"micro-batch-size": 10, "bf16": 11,
		"tensor-model-parallel-size": 13, "pipeline-model-parallel-size": 13,
	} {
		if got[key] != line {
			t.Errorf("%s is on line %d, want %d", key, got[key], line)
		}
	}
	var defaults []string
	for _, i := range r.Ignored {
		if i.Why == launch.OwnDefault {
			defaults = append(defaults, fmt.Sprintf("%s of line %d", i.Key, i.Line))
		}
	}
	if want := "[${TP:-4} of line 1]"; fmt.Sprint(defaults) != want {
		t.Errorf("defaults %v, want %s", defaults, want)
	}
}
