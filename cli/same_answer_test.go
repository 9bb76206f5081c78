package cli_test

import (
	"regexp"
	"runtime"
	"strings"
	"testing"

	"meshscope/engine_test/draws"
)

// TestSameAnswer: what is asked again gives the same bytes, however many processors work at it.
func TestSameAnswer(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, question := range draws.Some(2,
		"eval --model mixtral-8x22b --gpu h100-sxm --gpus 128 --json",
		"search --gpus 64 --top 20 --front",
		"advise --gpus 64 --tp 4 --pp 8 --mbs 2 --gbs 512",
		"search --gpus 16 --model llama3.1-8b --objective fewest-gpus",
		"eval --model gpt-oss-120b --gpus 64 --json",
		"search --model mixtral-8x7b --gpus 32 --gbs 96 --precision fp8 --objective least-memory "+
			"--schedule all --etp 1,2",
		"search --gpus 32 --free offload,loss --top 10",
		"advise --model llama3.1-8b --gpus 16 --tp 1 --seq 32k",
		"compare tp=2 pp=4 --gpus 64 --gbs 256",
		"report --gpus 48 --tokens 1T",
	) {
		want := ""
		for _, processors := range []int{1, 2, 7} {
			runtime.GOMAXPROCS(processors)
			code, stdout, stderr := run(t, strings.Fields(question)...)
			got := stdout + stderr
			if want == "" {
				want = got
			}
			if code != 0 && code != 4 || got != want {
				t.Errorf("%s: exit code %d; %d processors say\n%.2000s\none says\n%.2000s", question, code,
					processors, got, want)
			}
		}
	}
}

// TestOneIsSingular: of one GPU and one sequence no command speaks of 1 GPUs or 1 sequences.
func TestOneIsSingular(t *testing.T) {
	plural := regexp.MustCompile(`(^|[^0-9.,])1 (GPUs|nodes|layouts|ranks|sequences|layers|stages)\b`)
	for _, question := range []string{
		"eval --gpus 1 --tp 2", "eval --gpus 1 --tp 2 --dp 1", "eval --model llama3.1-8b --gpus 1",
		"search --model llama3.1-8b --gpus 1 --gbs 1 --dp 3",
		"search --model qwen3-0.6b --gpus 1 --gbs 1 --top 1",
		"compare gpus=1 --model qwen3-0.6b --gpus 2", "report --model qwen3-0.6b --gpus 1 --gbs 1",
	} {
		_, stdout, stderr := run(t, strings.Fields(question)...)
		if found := plural.FindString(stdout + stderr); found != "" {
			t.Errorf("%s: %q in\n%s%s", question, found, stdout, stderr)
		}
	}
}
