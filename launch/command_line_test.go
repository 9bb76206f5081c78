package launch_test

import (
	"slices"
	"strings"
	"testing"

	"meshscope/launch"
)

// TestCommandLine: a command line of the program is split as a shell does; nothing of it is run.
func TestCommandLine(t *testing.T) {
	for text, want := range map[string]string{
		"meshscope":               "",
		"meshscope --tp 4 --pp=2": "--tp|4|--pp=2",
		"$ meshscope eval \\\n  --model 'a b' --tp 4": "eval|--model|a b|--tp|4",
		"/usr/bin/meshscope --tp 4 | head -n 3":       "--tp|4",
		"./meshscope\t--tp 4":                         "--tp|4",
		"meshscope.exe eval --tp 4":                   "eval|--tp|4",
		`C:\Tools\meshscope.exe --tp 4`:               "--tp|4",
		"$ go run . eval --tp 4":                      "eval|--tp|4",
		"go  run .":                                   "",
	} {
		words, err := launch.CommandLine(text)
		if err != nil || !launch.IsCommandLine(text) ||
			!slices.Equal(words, strings.FieldsFunc(want, func(r rune) bool { return r == '|' })) {
			t.Errorf("%q: %q, %v", text, words, err)
		}
	}
	for text, want := range map[string]string{
		"meshscope --tp $TP":                      `"$TP": its value is known to the shell only`,
		"meshscope --tp $(rm -rf x)":              "is known to the shell only",
		"meshscope --model 'llama":                "not a shell script",
		"meshscope --tp 4\nmeshscope --tp 8":      "two command lines",
		"meshscope " + strings.Repeat("$((", 200): "nested",
	} {
		if words, err := launch.CommandLine(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %q, %v", text, words, err)
		}
	}
	for _, text := range []string{
		"", "meshscopes --tp 4", "torchrun meshscope", "tp=4", "ms1:abc",
		"torchrun --nproc_per_node 8 pretrain_gpt.py --tp 4", "rm -rf meshscope", "rm -rf --tp 4",
		"eval --tp 4",
		"meshscope.sh --tp 4", "meshscope/run --tp 4", "go run", "go run ./cmd --tp 4", "go test . --tp 4",
		"go\nrun\n.",
	} {
		if launch.IsCommandLine(text) {
			t.Errorf("%q is a command line", text)
		}
	}
}
