package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// dummyField and dummyRow are all that a new knob is in Go: both go into one file.
const (
	dummyField = "type Recipe struct {\n\tDummy int `json:\"dummy\"` // nothing\n"
	dummyRow   = `func recipeKnobs() []Knob {
	return []Knob{
		{
			ID: "dummy", Label: "dummy knob", group: RecipeGroup, searched: true, Min: 0, Max: 9,
			Help:   "How much nothing there is: turns nothing, paid with nothing.",
			number: func(s *Setup) *int { return &s.Dummy },
			unset:  func(s *Setup) { s.Dummy = 3 },
		},
`
)

// withDummy builds the program with one more knob: engine/knob/recipe.go alone is
// another file, the tree stays as it is.
func withDummy(t *testing.T) (program string) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "engine", "knob", "recipe.go")
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(source), "type Recipe struct {\n", dummyField, 1)
	changed = strings.Replace(changed, "func recipeKnobs() []Knob {\n\treturn []Knob{\n", dummyRow, 1)
	if !strings.Contains(changed, dummyField) || !strings.Contains(changed, dummyRow) {
		t.Fatal("recipe.go is not what this test changes")
	}
	folder := t.TempDir()
	mine, overlay := filepath.Join(folder, "recipe.go"), filepath.Join(folder, "overlay.json")
	list, _ := json.Marshal(map[string]map[string]string{"Replace": {path: mine}})
	for name, text := range map[string][]byte{mine: []byte(changed), overlay: list} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program = filepath.Join(folder, "meshscope")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", program, ".")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestNewKnob: a field and a row in one file make a flag with help and completion, a
// key of setup documents, a value of search, scan, comparison and batch, and a slider.
func TestNewKnob(t *testing.T) {
	t.Parallel()
	program := withDummy(t)
	file := filepath.Join(t.TempDir(), "setup.toml")
	if err := os.WriteFile(file, []byte("dummy = 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const one = " --model llama3.2-1b --gpus 8"
	for name, tc := range map[string]struct{ args, stdin, want string }{
		"help":            {"eval --help", "", "--dummy "},
		"what it is":      {"eval --help", "", "How much nothing there is"},
		"default":         {"eval --json" + one, "", `"dummy": 3`},
		"flag":            {"eval --json --dummy 7" + one, "", `"dummy": 7`},
		"out of bounds":   {"eval --dummy 10" + one, "", "dummy: given \"10\", allowed is a whole number from 0 to 9, nearest 9"},
		"file":            {"eval --json --setup " + file + one, "", `"dummy": 5`},
		"assignment":      {"eval --json --set dummy=6" + one, "", `"dummy": 6`},
		"batch":           {"eval --batch -", `{"model":"llama3.2-1b","gpus":8,"dummy":4}` + "\n", `"dummy":4`},
		"completion":      {"__complete eval --dum", "", "--dummy"},
		"axis completion": {"__complete scan --by dum", "", "dummy"},
		"scan":            {"scan --x dummy=1,2 --csv" + one, "", "\n2,"},
		"scan by itself":  {"scan --x dummy --csv" + one, "", "\n8,"},
		"comparison":      {"compare dummy=1 dummy=2" + one, "", "dummy"},
		"search":          {"search --top 1 --dummy 8" + one, "", "--dummy 8"},
		"search a list":   {"search --top 2 --csv --dummy 2,8 --tp 1 --pp 1 --cp 1 --mbs 1 --zero 0 --recompute none --schedule 1f1b" + one, "", "--dummy 2\nbest,2"},
		"search a range":  {"search --json --dummy 8.. --top 1" + one, "", `"dummy": 8`},
	} {
		run := exec.CommandContext(t.Context(), program, strings.Fields(tc.args)...)
		run.Stdin = strings.NewReader(tc.stdin)
		var out bytes.Buffer
		run.Stdout, run.Stderr = &out, &out
		_ = run.Run() // the exit code is that of the setup
		if !strings.Contains(out.String(), tc.want) {
			t.Errorf("%s: %s has no %q:\n%.600s", name, tc.args, tc.want, out.String())
		}
	}
	screen := open(t, program, 160, 60)
	see(t, screen, "dummy knob")
}
