//go:build unix

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"meshscope/cli"
	"meshscope/engine/escape"
)

// TestLongValues: of a value of 100,000 letters a message repeats the begin.
func TestLongValues(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	for _, flag := range []string{
		"model", "gpu", "cluster", "gpus", "tp", "schedule", "recompute", "precision", "split", "seq", "gbs",
		"headroom", "set", "mfu", "tokens", "price",
		"calibration", "format", "theme", "setup", "batch", "no-such-flag",
	} {
		for _, args := range [][]string{
			{"eval", "--" + flag, long},
			{"search", "--" + flag, long},
			{"eval", "--" + flag, "7" + strings.Repeat("0", 100_000)},
		} {
			if r := call(t, "", args...); r.code == 0 || len(r.stderr) > 5*escape.Most {
				t.Errorf("%s --%s: exit code %d, %d bytes: %.100s", args[0], flag, r.code, len(r.stderr),
					r.stderr)
			}
		}
	}
	for _, args := range [][]string{
		{long},
		{"eval", long},
		{"eval", "--" + long},
		{"compare", long},
		{"compare", "tp=" + long},
		{"scan", "--x", long},
		{"explain", long},
		{"presets", long},
		{"eval", "--set", "model." + long + "=1"},
		{"eval", "--set", "model.name=" + long},
	} {
		if r := call(t, "", args...); r.code == 0 || len(r.stderr) > 5*escape.Most {
			t.Errorf("%.20q: exit code %d, %d bytes: %.100s", args, r.code, len(r.stderr), r.stderr)
		}
	}
	for _, key := range []string{"model", "schedule", "tp", "gbs", "recompute", long} {
		line, _ := json.Marshal(map[string]string{key: long})
		if r := call(t, string(line)+"\n", "eval", "--batch", "-"); r.code != 0 ||
			len(r.stdout) > 10*escape.Most {
			t.Errorf("a line with a long %.20s: exit code %d, %d bytes", key, r.code, len(r.stdout))
		}
	}
}

// TestHiddenNames: names with controls and bidirectional marks are refused, and what
// is said about them can be shown and is valid JSON.
func TestHiddenNames(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	preset, err := os.ReadFile("../presets/models/llama3.1-8b.toml")
	if err != nil {
		t.Fatal(err)
	}
	for i, evil := range []string{
		`\u009b31m`, `a\u202eb`, `\u2066`, `\u001b]0;x\u0007`, `\ufeffa`,
		`\u2028`,
	} {
		for _, line := range []string{
			`{"model":"%s"}`, `{"model":{"name":"%s"}}`, `{"model":{"family":"%s"}}`,
			`{"cluster":{"id":"%s"}}`, `{"gpu":{"name":"%s"}}`,
			`{"schedule":"%s"}`, `{"%s":1}`, `{"set":{"model.name":"%s"}}`, `{"tp":"%s"}`,
		} {
			r := call(t, fmt.Sprintf(line, evil)+"\n", "eval", "--batch", "-")
			var answer struct {
				Error *struct{ Message string } `json:"error"`
			}
			if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil || answer.Error == nil {
				t.Errorf("%s of %s: %v: %.200s", line, evil, err, r.stdout)
			}
		}
		file := filepath.Join(folder, fmt.Sprintf("m%d.toml", i))
		text := strings.Replace(string(preset), `name = "`, `name = "`+evil, 1)
		text = strings.Replace(text, `id = "llama3.1-8b"`, fmt.Sprintf(`id = "m%d"`, i), 1)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := call(t, "", "eval", "--model", file); r.code != 2 ||
			!strings.Contains(r.stderr, "printable text") {
			t.Errorf("a preset named %s: exit code %d: %.300s", evil, r.code, r.stderr)
		}
	}
}

// TestManyKeysInModel: a model file with very many keys is refused at once, in words.
func TestManyKeysInModel(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "many.toml")
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, "k%d=1\n", i)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	r := call(t, "", "eval", "--model", file)
	if r.code != 2 || len(r.stderr) > 1000 || !strings.Contains(r.stderr, "more than 1000 keys") {
		t.Errorf("exit code %d: %.300s", r.code, r.stderr)
	}
	line := fmt.Sprintf("{\"model\":%q}\n", file)
	if r := call(t, line, "eval", "--batch", "-", "--allow-files"); !strings.Contains(r.stdout,
		"more than 1000 keys") || len(r.stdout) > 1000 {
		t.Errorf("%.300s", r.stdout)
	}
}

// TestBatchOpensNoFile: a line names no file unless the command line lets it.
func TestBatchOpensNoFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.json")
	config := `{"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"intermediate_size":11008,"vocab_size":32000,"max_position_embeddings":4096}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{
		`{"model":%q}`, `{"set":{"model":%q}}`, `{"setup":{"model":%q}}`,
		`{"model":%q,"gpus":8}`,
	} {
		line := fmt.Sprintf(format, file) + "\n"
		if r := call(t, line, "eval", "--batch", "-"); r.code != 0 ||
			!strings.Contains(r.stdout, `"code":"forbidden"`) ||
			!strings.Contains(r.stdout, "--allow-files") {
			t.Errorf("%s: exit code %d: %.300s", line, r.code, r.stdout)
		}
		if r := call(t, line, "eval", "--batch", "-", "--allow-files"); r.code != 0 ||
			!strings.Contains(r.stdout, `"legal":`) {
			t.Errorf("%s, let: exit code %d: %.300s", line, r.code, r.stdout)
		}
	}
	// whoever runs the program says so
	for _, args := range [][]string{{"--model", file}, {"--set", "model=" + file}} {
		if r := call(t, "{}\n",
			append([]string{"eval", "--batch", "-"}, args...)...); !strings.Contains(r.stdout, `"legal":`) {
			t.Errorf("%q: %.300s", args, r.stdout)
		}
	}
	// A table that names a file is not completed from it; one that says everything needs none.
	report := call(t, "", "eval", "--model", file, "--json")
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(report.stdout)); err != nil {
		t.Fatal(err)
	}
	if r := call(t, compact.String()+"\n", "eval", "--batch", "-"); !strings.Contains(r.stdout, `"legal":`) {
		t.Errorf("a report that is fed back: %.300s", r.stdout)
	}
	if r := call(t, fmt.Sprintf(`{"model":{"id":%q,"layers":3}}`, file)+"\n", "eval", "--batch",
		"-"); !strings.Contains(r.stdout, `"error"`) {
		t.Errorf("a table: %.300s", r.stdout)
	}
	if r := call(t, "", "eval", "--allow-files"); r.code != 2 {
		t.Errorf("without --batch: exit code %d", r.code)
	}
}

// TestNothingHangs: devices, folders and pipes where files should be end in an error.
func TestNothingHangs(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	pipe := filepath.Join(folder, "pipe.toml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	zero := filepath.Join(folder, "zero.json")
	if err := os.Symlink("/dev/zero", zero); err != nil {
		t.Fatal(err)
	}
	var waits sync.WaitGroup // all at once, because a pipe is waited for
	for _, name := range []string{pipe, zero, folder} {
		for _, args := range [][]string{
			{"eval", "--model", name},
			{"eval", "--setup", name},
			{"eval", "--batch", name},
			{"compare", name},
			{"compare", name, "tp=4"},
			{"search", "--setup", name},
			{"scan", "--x", "tp", "--setup", name},
			{"presets", "models", name},
		} {
			waits.Go(func() {
				if r := call(t, "", args...); r.code == 0 {
					t.Errorf("%s: exit code 0: %s", strings.Join(args, " "), r.stderr)
				}
			})
		}
	}
	waits.Wait()
	// whoever still waits for one goes on, and ends
	if writer, err := os.OpenFile(pipe, os.O_RDWR, 0); err == nil {
		defer writer.Close() //nolint:errcheck // nothing was written
	}
	for _, args := range [][]string{{"eval", "--setup", "-"}, {"eval", "--batch", "-"}} {
		var stdout, stderr bytes.Buffer
		stream, err := os.Open("/dev/zero")
		if err != nil {
			t.Skip("there is no /dev/zero here")
		}
		if code := cli.Run(args, stream, &stdout, &stderr); code == 0 {
			t.Errorf("%q on an endless stream: exit code 0", args)
		}
		_ = stream.Close()
	}
}
