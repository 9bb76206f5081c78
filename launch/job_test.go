package launch_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/launch"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
)

// setupOf returns the setup of flags.
func setupOf(t *testing.T, flags map[string]string) engine.Setup {
	t.Helper()
	doc := &setupdoc.Document{}
	for key, value := range flags {
		if err := doc.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	s, err := doc.Setup(presets.Default())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A job that writes the file of its launcher is read as that file, each place counted in the job.
func TestJobWithFile(t *testing.T) {
	s := setupOf(t, map[string]string{
		"model": "llama3.1-70b", "gpus": "256", "tp": "1", "pp": "1",
		"sp": "off", "gbs": "512",
	})
	for _, l := range files(t) {
		x := s
		if near, ok := l.Nearest(x); ok {
			x = near
		}
		d, refused := l.Export(&x, "test")
		if len(refused) > 0 {
			t.Fatalf("%s: %v", l.ID, refused)
		}
		job := string(d.Sbatch(false))
		alone, _ := launch.Read(d.File, d.Text())
		r, ok := launch.Read("job.sh", []byte(job))
		if !ok || r.Launcher != l.ID || len(r.Problems) > 0 {
			t.Fatalf("%s: read by %q: %+v\n%s", l.ID, r.Launcher, r.Problems, job)
		}
		// axolotl hands the processes on to torchrun: they are unknown to the reader
		if n := r.Setup["gpus"]; n != x.GPUs && l.ID != "axolotl" {
			t.Errorf("%s: %v GPUs, want %d", l.ID, n, x.GPUs)
		}
		if alone.Setup["gpus"] = r.Setup["gpus"]; r.Setup["gpus"] == nil {
			delete(alone.Setup, "gpus")
		}
		if !reflect.DeepEqual(alone.Setup, r.Setup) {
			t.Errorf("%s: the job gives %v, its file %v", l.ID, r.Setup, alone.Setup)
		}
		lines := strings.Split(job, "\n")
		for _, u := range r.Understood {
			key := u.Key[strings.LastIndexByte(u.Key, '.')+1:]
			if u.Line > 0 && key != "recipe" && u.Key != "number of processes" &&
				!strings.Contains(lines[u.Line-1], key) {
				t.Errorf("%s: %s is not in line %d: %s", l.ID, u.Key, u.Line, lines[u.Line-1])
			}
		}
	}
}

const megatronLine = "torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 80 --hidden-size " +
	"8192 --num-attention-heads 64 --seq-length 4096 --micro-batch-size 1 --global-batch-size 512 --vocab-size 32000"

// What is wrong with a script is one problem, at its line, and no default takes its place.
func TestProblemsOfScripts(t *testing.T) {
	for _, c := range []struct{ script, want, never string }{
		{
			"\n" + strings.Replace(megatronLine, "nnodes 4", "nnodes 3",
				1) + " --tensor-model-parallel-size 4 --pipeline-model-parallel-size 4 " +
				"--context-parallel-size 2",
			"2 number of processes: 24 is no multiple of tp 4 x pp 4 x cp 2 = 32, so the file cannot run " +
				"as it is", "",
		},
		{megatronLine + " --bf16 --fp16", "1 fp16: --bf16 and --fp16 exclude each other", ""},
		{
			"for tp in $N; do\n" + megatronLine + " --tensor-model-parallel-size $tp\ndone",
			"2 tensor-model-parallel-size: depends on $tp, to which the file gives no value", "tp",
		},
		{
			megatronLine + " --tensor-model-parallel-size $TP",
			"1 tensor-model-parallel-size: depends on $TP, to which the file gives no value", "tp",
		},
		{
			megatronLine + " --hidden-size $H",
			"1 hidden-size: depends on $H, to which the file gives no value",
			"set.model.ffn_hidden",
		},
		{megatronLine + " --lr '1", "1 : not a shell script: reached EOF without closing quote `'`", ""},
		{
			strings.Repeat("# long\n", 1<<16) + megatronLine,
			"1 : a script of 448 KiB; at most 256 KiB are read", "",
		},
	} {
		l, _ := launch.Find("megatron")
		r := l.Read("a.sh", []byte(c.script))
		if all := lacking(&r); len(all) == 0 || fmt.Sprintf("%d %s: %s", all[0].Line, all[0].Key,
			all[0].Message) != c.want {
			t.Errorf("problems %+v, want %q", all, c.want)
		}
		for _, u := range r.Assumed() {
			if u.Key == c.never {
				t.Errorf("%s is a problem and assumed as %v", u.Key, u.Value)
			}
		}
	}
}

// What a file lacks can be given beside it; what its setup cannot be is a problem at its line.
func TestGivenBesideFile(t *testing.T) {
	lib := presets.Default()
	without := strings.NewReplacer("torchrun --nproc_per_node 8 --nnodes 4 ", "python ", "--num-layers 80 ",
		"").Replace(megatronLine)
	r := launch.Open("a.sh", []byte(without), lib)
	if len(r.Unknown) != 2 {
		t.Fatalf("unknown %+v", r.Unknown)
	}
	r.Give("gpus", "64")
	r.Give("model", "llama3.1-70b")
	r.Give("set", "model.layers=40")
	if s := r.Resolve(lib); len(r.Problems) > 0 || s.GPUs != 64 || s.Model.Layers != 40 ||
		r.Flat(lib)["gpus"] != 64 || r.Flat(lib)["model"] != "llama3.1-70b" {
		t.Errorf("%+v: %d GPUs, %d layers, %v", r.Problems, s.GPUs, s.Model.Layers, r.Flat(lib))
	}
	r = launch.Open("a.sh",
		[]byte(strings.Replace(megatronLine, "pretrain_gpt.py", "pretrain_gpt.py \\\n "+
			"--tensor-model-parallel-size 3 --group-query-attention --num-query-groups 7 ", 1)), lib)
	r.Give("gpus", "60")
	if r.Resolve(lib); len(r.Problems) == 0 || r.Problems[len(r.Problems)-1].Line != 2 ||
		r.Problems[len(r.Problems)-1].Key != "num-query-groups" {
		t.Errorf("problems %+v", r.Problems)
	}
}

// A file that ends too early is still its launcher's; what is wrong has its place, and what stands
// before it is kept.
func TestTruncatedFiles(t *testing.T) {
	for _, c := range []struct {
		name, text, launcher string
		line, understood     int
	}{
		{
			"a.yaml", "model:\n  ddp_bucket_cap_mb: 25\n  dtype: bfloat16\nparallelism:\n  dp", "nanotron", 5,
			1,
		},
		{"my-nanotron.yml", "model:\n  dtype: bfloat16\n  model_config", "nanotron", 3, 1},
		{
			"a.json", "{\n \"train_micro_batch_size_per_gpu\": 2,\n \"bf16\": {\"enabled\": tr", "deepspeed",
			3,
			1,
		},
		{"ds_config.json", "{\n \"bf16\": {\"enabled\": true},\n \"zero_optim", "deepspeed", 3, 1},
		{"torchtitan.toml", "[training]\nlocal_batch_size = 4\nseq_len = 4096\nglo", "torchtitan-toml", 4, 1},
	} {
		r := launch.Open(c.name, []byte(c.text), presets.Default())
		if r.Launcher != c.launcher || len(r.Problems) == 0 || r.Problems[0].Line != c.line ||
			len(r.Understood)-len(r.Assumed()) < c.understood {
			t.Errorf("%s: %s: %+v, understood %+v", c.name, r.Launcher, r.Problems, r.Understood)
		}
	}
}

// The comment on the padding of the vocabulary is of the setup, and its reason in a file is not.
func TestVocabularyPadding(t *testing.T) {
	for _, c := range []struct{ model, tp, want, flag string }{
		{
			"llama3.1-70b", "4", "128256 is padded to 128512 = 251 x 128 x tp 4",
			"--vocab-size 128256 # --set model.vocab",
		},
		{"llama3.1-70b", "2", "no padding: 128256 = 501 x 128 x tp 2", "--vocab-size 128255 # --set " +
			"model.vocab: 128256 less the token that NullTokenizer may add for the end of a document"},
		{"deepseek-v3", "4", "no padding: 129280 = 10 x 3232 x tp 4", "--vocab-size 129279 # --set " +
			"model.vocab: 129280 less the token that NullTokenizer may add for the end of a document"},
	} {
		s := setupOf(t, map[string]string{"model": c.model, "gpus": "256", "tp": c.tp, "pp": "1"})
		l, _ := launch.Find("megatron")
		d, refused := l.Export(&s, "test")
		if len(refused) > 0 {
			t.Fatal(refused)
		}
		if text := string(d.Text()); !strings.Contains(text, "# "+c.want+"\n") ||
			!strings.Contains(text, c.flag+"\n") {
			t.Errorf("%s: no %q or %q in\n%s", c.model, c.want, c.flag, text)
		}
		r := l.Read("a.sh", d.Text())
		if r.Setup["set.model.vocab"] != s.Model.Vocab {
			t.Errorf("%s, tp %s: %v tokens are read", c.model, c.tp, r.Setup["set.model.vocab"])
		}
		for _, i := range r.Ignored {
			if i.Key == "mock-data" && i.Why != "where the data comes from" ||
				i.Key == "make-vocab-size-divisible-by" && strings.Contains(i.Why, "3232") {
				t.Errorf("%+v", i)
			}
		}
	}
}

// TestNullTokenizer: the token that NullTokenizer may add is counted where without it there would be padding
// of one.
func TestNullTokenizer(t *testing.T) {
	for _, c := range []struct {
		flags string
		want  int
	}{
		{"--vocab-size 128255 --tokenizer-type NullTokenizer", 128256},
		{"--vocab-size 128255 --tokenizer-type NullTokenizer --make-vocab-size-divisible-by 1024", 128255},
		{"--vocab-size 128255 --tokenizer-type NullTokenizer --tensor-model-parallel-size 4", 128255},
		{"--vocab-size 128255 --tokenizer-type NullTokenizer --make-vocab-size-divisible-by 0", 128256},
		{"--vocab-size 128256 --tokenizer-type NullTokenizer", 128256},
		{"--vocab-size 128255 --tokenizer-type HuggingFaceTokenizer", 128255},
		{"--vocab-size 128255", 128255},
	} {
		l, _ := launch.Find("megatron")
		if r := l.Read("a.sh", []byte(megatronLine+" "+c.flags+"\n")); r.Setup["set.model.vocab"] != c.want {
			t.Errorf("%s: %v, want %d", c.flags, r.Setup["set.model.vocab"], c.want)
		}
	}
}
