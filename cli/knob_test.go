//go:build unix

package cli_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"meshscope/cli"
	"meshscope/engine/knob"
	"meshscope/engine_test/draws"
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

// valueOf is a value that a knob takes, whether or not it makes a legal setup.
func valueOf(k *knob.Knob) string {
	switch {
	case k.Kind == knob.List:
		return "16"
	case k.Kind == knob.Figure:
		return strconv.FormatFloat(k.High, 'f', -1, 64)
	case len(k.Choices) > 0:
		return k.Choices[len(k.Choices)-1]
	}
	return strconv.Itoa(max(1, k.Min))
}

// documentOf is a JSON object with a knob and its value.
func documentOf(k *knob.Knob, value string) []byte {
	var v any = value
	switch k.Kind {
	case knob.Switch:
		v = value == "on"
	case knob.Number, knob.Figure:
		v = json.Number(value)
	default:
	}
	text, _ := json.Marshal(map[string]any{string(k.ID): v})
	return text
}

// joined is a text without blanks, ends of lines and capitals, which help adds.
func joined(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), "")) }

// TestEveryKnobEverywhere: every row of the registry is a flag with help and completion,
// a key of setup files and of batch lines, an assignment, and a value of comparison, scan
// and search.
func TestEveryKnobEverywhere(t *testing.T) {
	t.Parallel()
	one := []string{"--model", "llama3.2-1b"}
	_, help, _ := run(t, "eval", "--help")
	help = joined(help)
	_, flags, _ := run(t, "__complete", "eval", "--")
	_, axes, _ := run(t, "__complete", "scan", "--by", "")
	folder := t.TempDir()
	for _, k := range knob.All() {
		name, value := string(k.ID), valueOf(&k)
		clause, _, _ := strings.Cut(strings.TrimRight(k.Help, "."), ":")
		axis := k.Kind != knob.List // a scan takes single values
		// With a degree, so that no evaluation begins with a search for the layout.
		degree := []string{"--tp", "1"}
		if k.ID == knob.TP {
			degree = []string{"--pp", "1"}
		}
		for what, c := range map[string]struct {
			in, want string
			given    bool
		}{
			"help":                {help, joined("--" + name + clause), true},
			"completion of flags": {"\n" + flags, "\n--" + name + "\t", true},
			"completion of axes":  {"\n" + axes, "\n" + name + "\n", axis},
		} {
			if strings.Contains(c.in, c.want) != c.given {
				t.Errorf("%q in the %s: %t, want %t", c.want, what, !c.given, c.given)
			}
		}
		file := filepath.Join(folder, name+".json")
		line := documentOf(&k, value)
		if err := os.WriteFile(file, line, 0o600); err != nil {
			t.Fatal(err)
		}
		want := ""
		for _, words := range [][]string{
			{"eval", "--json", "--" + name + "=" + value},
			{"eval", "--json", "--set", name + "=" + value},
			{"eval", "--json", "--setup", file},
			{"search", "--time", "1ns", "--" + name + "=" + value},
			{"compare", name + "=" + value},
			{"scan", "--x", name + "=" + value},
		} {
			if words[0] == "scan" && !axis {
				continue
			}
			code, text, complaint := run(t, slices.Concat(words, one, degree)...)
			const taken = ": gpus not given: 64, on 8 nodes\n"
			if code == 2 || complaint != "" && !strings.HasSuffix(complaint, taken) {
				t.Errorf("%q: exit code %d: %s", words, code, complaint)
			}
			if words[0] != "eval" {
				continue
			}
			if want == "" {
				want = text
			}
			if text != want {
				t.Errorf("%q is not what --%s gives:\n%.300s", words, name, text)
			}
		}
		var answer strings.Builder
		code := cli.Run(slices.Concat([]string{"eval", "--batch", "-"}, one, degree),
			strings.NewReader(string(line)+"\n"), &answer, io.Discard)
		if code != 0 || strings.Contains(answer.String(), `"error":{`) {
			t.Errorf("line %s: exit code %d: %s", line, code, answer.String())
		}
	}
}

// TestNewKnob: a field and a row in one file make a flag with help and completion, a
// key of setup documents, a value of search, scan, comparison and batch, and a slider.
// It compiles a second program, which only a deep run has the time for.
func TestNewKnob(t *testing.T) {
	if !draws.Deep() {
		t.Skip("compiles another program: with MESHSCOPE_DEEP=1; TestEveryKnobEverywhere tries the knobs " +
			"that there are")
	}
	t.Parallel()
	program := withDummy(t)
	file := filepath.Join(t.TempDir(), "setup.toml")
	if err := os.WriteFile(file, []byte("dummy = 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const one = " --model llama3.2-1b --gpus 8"
	for name, tc := range map[string]struct{ args, stdin, want string }{
		"help":       {"eval --help", "", "--dummy "},
		"what it is": {"eval --help", "", "How much nothing there is"},
		"default":    {"eval --json" + one, "", `"dummy": 3`},
		"flag":       {"eval --json --dummy 7" + one, "", `"dummy": 7`},
		"out of bounds": {
			"eval --dummy 10" + one, "",
			"dummy: given \"10\", allowed is a whole number from 0 to 9, nearest 9",
		},
		"file":       {"eval --json --setup " + file + one, "", `"dummy": 5`},
		"assignment": {"eval --json --set dummy=6" + one, "", `"dummy": 6`},
		"batch": {
			"eval --batch -", `{"model":"llama3.2-1b","gpus":8,"dummy":4}` + "\n",
			`"dummy":4`,
		},
		"completion":      {"__complete eval --dum", "", "--dummy"},
		"axis completion": {"__complete scan --by dum", "", "dummy"},
		"scan":            {"scan --x dummy=1,2 --csv" + one, "", "\n2,"},
		"scan by itself":  {"scan --x dummy --csv" + one, "", "\n8,"},
		"comparison":      {"compare dummy=1 dummy=2" + one, "", "dummy"},
		"search":          {"search --top 1 --dummy 8" + one, "", "--dummy 8"},
		"search a list": {"search --top 2 --csv --dummy 2,8 --tp 1 --pp 1 --cp 1 --mbs 1 --zero 0 " +
			"--recompute none --schedule 1f1b" + one, "", "--dummy 2\nbest,2"},
		"search a range": {"search --json --dummy 8.. --top 1" + one, "", `"dummy": 8`},
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
	press(t, screen, "q")
	restored(t, screen, 0)
}

// TestWrongNames: a file to import that does not exist is a mistake of the command line, --calibration names
// files too, and only what is spelled alike is offered.
func TestWrongNames(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
		not  string
	}{
		{[]string{"import", "nonexist"}, "there is no file nonexist", ""},
		{[]string{"eval", "--calibration", "nope"}, "whose name ends in .toml", "nearest"},
		{[]string{"eval", "--calibration", "orchtitan"}, "nearest torchtitan", ""},
		{[]string{"search", "--free", "tp,tensor-parallel-size"}, "nearest tp", ""},
		{[]string{"search", "--free", "fsdp"}, "nearest zero", "zero="},
		{[]string{"eval", "--set", "num_layers=4"}, "did you mean model.layers?", ""},
		{[]string{"eval", "--set", "model.hidden-size=4"}, "did you mean model.hidden?", ""},
		{[]string{"eval", "--set", "layers=4"}, "did you mean model.layers?", "offload_layers"},
		{[]string{"scan", "--over", "tp"}, "did you mean --x?", ""},
		{[]string{"scan", "tp=1,2"}, "by --x, such as --x tp=1,2", ""},
		{[]string{"scan", "here"}, "takes no arguments", "--x"},
		{[]string{"eval", "--gpus", "1.024"}, "is 1024 if the point groups digits, 1 if", "nearest"},
		{[]string{"eval", "MS1:AAAA"}, "share string: its end is missing", "takes no arguments"},
	} {
		code, _, said := run(t, c.args...)
		if code != 2 || !strings.Contains(said, c.want) || c.not != "" && strings.Contains(said, c.not) {
			t.Errorf("%v: exit code %d, %s", c.args, code, said)
		}
	}
}

// TestNearestOfASwitchIsAFlag: a refusal of a launcher says the value of a switch as its flag takes it.
func TestNearestOfASwitchIsAFlag(t *testing.T) {
	setup := []string{"--model", "mixtral-8x7b", "--gpus", "16", "--tp", "4", "--ep", "2", "--sp", "off"}
	for _, c := range []struct {
		args []string
		code int
	}{{[]string{"launch", "--for", "megatron"}, 3}, {[]string{"launch", "--legality"}, 0}} {
		code, out, said := run(t, append(c.args, setup...)...)
		if text := out + said; code != c.code || !strings.Contains(text, "runs: --sp on\n") {
			t.Errorf("%v: exit code %d, %s", c.args, code, text)
		}
	}
}

// TestSwitchesTakeOnAndOff: every switch takes the same words behind its flag, whether it is a knob or the
// other name of one, and says which where it is given another.
func TestSwitchesTakeOnAndOff(t *testing.T) {
	for _, flag := range []string{"sp", "compile", "async-tp"} {
		for _, word := range []string{"off", "OFF", "no", "0"} {
			if code, _, said := run(t, "eval", "--model", "llama3.1-8b", "--gpus", "8", "--tp", "8",
				"--"+flag, word); code != 0 && code != 4 {
				t.Errorf("--%s %s: exit code %d, %s", flag, word, code, said)
			}
		}
		for _, args := range [][]string{{"--" + flag, "falsee"}, {"--" + flag + "=falsee"}} {
			code, _, said := run(t, append([]string{"eval"}, args...)...)
			if code != 2 || !strings.Contains(said, "--"+flag) || !strings.Contains(said, "on or off") {
				t.Errorf("%v: exit code %d, %s", args, code, said)
			}
		}
	}
}

// TestFileAsAnArgument: a file where a command takes none is refused with the ways that read it.
func TestFileAsAnArgument(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.sh")
	if err := os.WriteFile(file, []byte("torchrun pretrain_gpt.py --num-layers 32\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"eval", file}, "given by --setup, a launcher's is read by 'meshscope import'"},
		{[]string{"eval", "--setup", file}, "meshscope import reads it"},
	} {
		if code, _, said := run(t, c.args...); code != 2 || !strings.Contains(said, c.want) {
			t.Errorf("%v: exit code %d, %s", c.args, code, said)
		}
	}
}
