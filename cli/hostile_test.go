//go:build unix

package cli_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meshscope/cli"
)

// endless is a batch that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = "{}\n"[i%3]
	}
	return len(p) - len(p)%3, nil
}

// TestFullDisk: whoever cannot write says so and ends with 1, also what is
// written by help and completion, and also when there is no end of input.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full here")
	}
	t.Cleanup(func() { _ = full.Close() })
	program := build(t)
	for _, command := range []string{
		"--help", "eval --help", "help timeline", "completion bash", "completion zsh", "man", "--version",
		"version",
		"eval --tp 8 --pp 2", "eval --json --tp 8 --pp 2", "eval --batch -", "timeline --tf 1",
		"timeline --tf 1 --json",
		"presets models", "presets gpus --json", "search --gpus 64 --tp 8 --pp 2",
		"search --gpus 64 --tp 8 --pp 2 --json", "search --gpus 64 --tp 8 --pp 2 --csv",
		"search --gpus 64 --tp 3",
		"compare tp=4 --tp 8 --gpus 64", "compare tp=4 --tp 8 --gpus 64 --json",
		"scan --x tp --tp 8 --gpus 64", "scan --x tp --tp 8 --gpus 64 --json",
		"scan --x tp --tp 8 --gpus 64 --csv",
	} {
		cmd := exec.CommandContext(t.Context(), program, strings.Fields(command)...)
		var stderr bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = endless{}, full, &stderr
		_ = cmd.Run() // the exit code is checked below
		if code := cmd.ProcessState.ExitCode(); code != 1 {
			t.Errorf("%s: exit code %d, want 1; standard error: %s", command, code, stderr.String())
		}
		if n := strings.Count(stderr.String(), "\n"); n != 1 ||
			!strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%s: standard error: %q", command, stderr.String())
		}
	}
}

// TestNothingSteersTheTerminal: whatever is typed, named or read, no control
// character comes out on either stream.
func TestNothingSteersTheTerminal(t *testing.T) {
	const evil = "\x1b]0;x\a"
	folder := t.TempDir()
	file := filepath.Join(folder, evil+".json")
	if err := os.WriteFile(file, []byte("{\"tp\": 8,,}"), 0o600); err != nil {
		t.Fatal(err)
	}
	label := filepath.Join(folder, "label.toml")
	if err := os.WriteFile(label, []byte("[cluster]\nid = \"dgx-h100\"\nname = \"\\u001b]0;x\\u0007\"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(folder, "key.json")
	if err := os.WriteFile(key, []byte(`{"\u001b]0;x\u0007":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"eval", "--set", "cluster.id=" + evil},
		{"eval", "--set", "cluster.name=\u202e" + "abc"},
		{"eval", "--set", "gpu.name=" + evil},
		{"eval", "--set", "cluster.intra.name=" + evil},
		{"eval", "--set", "cluster.inter.name=" + evil},
		{"eval", "--set", "gpu.intra_node_link=" + evil, "--gpu", "h100-sxm"},
		{"eval", "--set", "model.name=" + evil},
		{"eval", "--set", "gpu." + evil + "=3"},
		{"eval", "--set", evil},
		{"eval", "--setup", file},
		{"eval", "--setup", evil},
		{"eval", "--setup", label},
		{"eval", "--setup", key},
		{"eval", "--batch", evil},
		{"eval", "--model", evil},
		{"eval", "--tp", evil},
		{"eval", "--" + evil},
		{"eval", "--=" + evil},
		{"eval", evil},
		{"search", "--tp", evil},
		{"search", "--tp=2.." + evil},
		{"search", "--schedule", evil},
		{"search", "--recompute=none," + evil},
		{"search", "--objective", evil},
		{"search", "--headroom", evil},
		{"search", "--tokens", evil},
		{"search", "--time", evil},
		{"search", "--setup", file},
		{"search", "--setup", label, "--free", evil},
		{"search", "--set", evil},
		{"search", "--set", "tp=" + evil},
		{"compare", evil},
		{"compare", "tp=" + evil},
		{"compare", evil + "=4"},
		{"compare", "model.name=" + evil},
		{"compare", file, label},
		{"compare", "-", evil},
		{"scan", "--x", evil},
		{"scan", "--x", "tp=" + evil},
		{"scan", "--x", "tp", "--by", evil},
		{"scan", "--x", "tp", "--y", evil},
		{"scan", "--x", "tp", "--lock", evil},
		{"scan", "--x", "tp", "--chart", evil},
		{"timeline", "--tf", evil},
		{"timeline", "--width", evil},
		{"presets", evil},
		{evil},
		{"help", evil},
		{"completion", evil},
		{"completion", "bash", evil},
		{"man", evil},
		{"--theme", evil},
	} {
		var stdout, stderr bytes.Buffer
		code := cli.Run(args, strings.NewReader(""), &stdout, &stderr)
		if code == 0 {
			t.Errorf("%q: exit code 0", args)
		}
		for _, out := range []string{stdout.String(), stderr.String()} {
			if strings.ContainsAny(out, "\x1b\a\u202e\u009b") {
				t.Errorf("%q: %q", args, out)
			}
		}
	}
}

// TestByteOrderMark: files and streams that some editors begin with one.
func TestByteOrderMark(t *testing.T) {
	const mark = "\ufeff"
	for text, lines := range map[string]int{
		mark + "{\"tp\":8}\n{}\n": 2, mark + "{\"tp\":8}": 1, mark: 0, "": 0, "{}\n\n{}": 3, mark + "\n": 1,
	} {
		var stdout, stderr bytes.Buffer
		if code := cli.Run([]string{"eval", "--batch", "-"}, strings.NewReader(text), &stdout,
			&stderr); code != 0 {
			t.Errorf("%q: exit code %d: %s", text, code, stderr.String())
		}
		if n := strings.Count(stdout.String(), "\n"); n != lines {
			t.Errorf("%q: %d lines, want %d: %s", text, n, lines, stdout.String())
		}
		if strings.Contains(stdout.String(), "not JSON") {
			t.Errorf("%q: %s", text, stdout.String())
		}
	}
	var stdout, stderr bytes.Buffer
	if code := cli.Run([]string{"eval", "--setup", "-"}, strings.NewReader(mark+`{"tp":8,"pp":2,"gbs":512}`),
		&stdout, &stderr); code != 0 {
		t.Errorf("a setup: exit code %d: %s", code, stderr.String())
	}
}

// TestManyKeys: a line with very many keys is answered on its line, and the
// next line too.
func TestManyKeys(t *testing.T) {
	line := `{"set":{` + strings.Repeat(`"model.layers":1,`, 40_000) + `"tp":8}}`
	var many strings.Builder
	many.WriteString(`{"set":{`)
	for i := range 20_000 {
		many.WriteString(`"k` + strings.Repeat("x", i%7) + `":1,`)
	}
	many.WriteString(`"tp":8}}`)
	var stdout, stderr bytes.Buffer
	in := io.MultiReader(strings.NewReader(line+"\n"), strings.NewReader(many.String()+"\n{}\n"))
	if code := cli.Run([]string{"eval", "--batch", "-"}, in, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	answers := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	if len(answers) != 3 || !strings.Contains(answers[0], "comes twice") ||
		!strings.Contains(answers[1], "comes twice") || !strings.Contains(answers[2], `"legal":true`) {
		t.Errorf("answers: %.300q", answers)
	}
}
