package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meshscope/cli"
)

// run is the program on some words: exit code and both streams.
func runWords(t *testing.T, words ...string) (code int, out, problem string) {
	t.Helper()
	var stdout, stderr strings.Builder
	code = cli.Run(words, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// TestTemplate: what --toml prints of a preset, saved under another id, is a
// preset; a line left out of it is named, and every one of them at once.
func TestTemplate(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	save := func(kind, id, text string) {
		dir := filepath.Join(home, "meshscope", "presets", kind)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, id+".toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for kind, id := range map[string]string{
		"models": "llama3.2-3b", "gpus": "h100-sxm",
		"clusters": "dgx-h100",
	} {
		code, text, problem := runWords(t, "presets", kind, id, "--toml")
		if code != 0 || problem != "" {
			t.Fatalf("%s: exit %d, %s", kind, code, problem)
		}
		save(kind, "mine", strings.Replace(text, `id = "`+id+`"`, `id = "mine"`, 1))
		if code, text, problem = runWords(t, "presets", kind, "mine"); code != 0 || problem != "" ||
			!strings.HasPrefix(text, "mine ") {
			t.Errorf("%s mine: exit %d, %s%s", kind, code, text, problem)
		}
	}
	_, text, _ := runWords(t, "presets", "models", "mine")
	if !strings.Contains(text, "3,212,749,824") {
		t.Errorf("the parameters are not shown:\n%s", text)
	}
	_, text, _ = runWords(t, "presets", "models", "llama3.2-3b", "--toml")
	broken := strings.NewReplacer(`id = "llama3.2-3b"`, `id = "mine"`, "gated_ffn = true\n", "",
		"tied_embeddings = true\n", "", "kv_heads", "num_key_value_heads", `activation = "swiglu"`,
		`activation = "swiglu"`).Replace(text)
	save("models", "mine", broken)
	_, _, problem := runWords(t, "presets", "models")
	for _, want := range []string{
		"gated_ffn: is missing", "tied_embeddings: is missing",
		"num_key_value_heads: unknown key: did you mean kv_heads",
	} {
		if !strings.Contains(problem, want) {
			t.Errorf("no word of %q:\n%s", want, problem)
		}
	}
	save("models", "mine", strings.NewReplacer(`id = "llama3.2-3b"`, `id = "mine"`, "gated_ffn = true",
		"gated_ffn = false").Replace(text))
	if _, _, problem = runWords(t, "presets", "models"); !strings.Contains(problem,
		`gated_ffn: is false; allowed: true with activation = "swiglu"`) {
		t.Errorf("the contradiction is not said:\n%s", problem)
	}
}

// TestModelFile: a checkpoint's config.json is a model wherever one is named, and
// what is printed about it can be given again.
func TestModelFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "Llama-3.2-3B")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "config.json")
	text := `{"model_type":"llama","hidden_size":3072,"num_hidden_layers":28,"num_attention_heads":24,"num_key_value_heads":8,"intermediate_size":8192,
		"vocab_size":128256,"max_position_embeddings":131072,"tie_word_embeddings":true}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	preset := []string{"--gpus", "8", "--tp", "1", "--format", "csv"}
	_, want, _ := runWords(t, append([]string{"eval", "--model", "llama3.2-3b"}, preset...)...)
	code, got, problem := runWords(t, append([]string{"eval", "--model", file}, preset...)...)
	if code != 0 || problem != "" || memoryLines(got) != memoryLines(want) || memoryLines(got) == "" {
		t.Errorf("exit %d %s:\n%s\nwant\n%s", code, problem, got, want)
	}
	code, got, _ = runWords(t, "eval", "--model", file, "--gpus", "8", "--tp", "1", "--format", "markdown")
	if code != 0 || !strings.Contains(got, "--model "+file) {
		t.Errorf("exit %d, the command line that gives it again is not there:\n%s", code, got)
	}
	setup := filepath.Join(dir, "setup.toml")
	if err := os.WriteFile(setup, []byte("model = '"+file+"'\ngpus = 8\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, got, problem = runWords(t, "eval", "--setup", setup); code != 0 {
		t.Errorf("exit %d: %s%s", code, got, problem)
	}
	if code, got, _ = runWords(t, "presets", "models", file); code != 0 ||
		!strings.Contains(got, "3,212,749,824") {
		t.Errorf("exit %d:\n%s", code, got)
	}
	for _, words := range [][]string{
		{"eval", "--model", file + "x.json"},
		{"eval", "--model", setup}, // a setup is no model
		{"presets", "models", file, "--toml", "--json"},
		{"presets", "runs", "x"},
		{"presets", "models", "--toml"},
		{"presets", "models", "x", "y"},
	} {
		if code, _, problem = runWords(t, words...); code != 2 || problem == "" {
			t.Errorf("%v: exit %d, %q", words, code, problem)
		}
	}
}

// memoryLines are the lines of a table about memory.
func memoryLines(table string) string {
	var lines []string
	for line := range strings.SplitSeq(table, "\n") {
		if strings.Contains(line, "memory") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
