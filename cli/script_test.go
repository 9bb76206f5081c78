package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"meshscope/cli"
	"meshscope/engine_test/draws"
)

// TestScripts runs testdata/script: one file per behaviour, with the program as
// the command "meshscope": the real one, which starts three times as fast as these tests
// do, or these tests themselves where they are built with the race detector. In addition to the usual
// commands there are
//
//	status CODE COMMAND...   the exit code must be CODE
//	json PATH VALUE          a figure of the last output, 0.1 % of tolerance for numbers
//	valid SCHEMA [lines]     the last output, or each line of it, follows the schema
//
// and the conditions [race], built with the race detector, and [deep], all of it is tested.
func TestScripts(t *testing.T) {
	schemas, err := filepath.Abs(filepath.Join("..", "docs", "schema"))
	if err != nil {
		t.Fatal(err)
	}
	path := os.Getenv("PATH")
	if !draws.Race {
		path = filepath.Dir(build(t)) + string(filepath.ListSeparator) + path
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SCHEMAS", schemas)
			env.Setenv("PATH", path)
			env.Setenv("TERM", "xterm-256color")
			// as these tests themselves: they hold little and allocate much
			env.Setenv("GOGC", strconv.Itoa(draws.GCPercent()))
			// the race detector waits a second at every end otherwise
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			if covered := os.Getenv("GOCOVERDIR"); covered != "" {
				env.Setenv("GOCOVERDIR", covered)
			}
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "race":
				return draws.Race, nil
			case "deep":
				return draws.Deep(), nil
			}
			return false, errors.New("there is no such condition")
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status, "json": jsonFigure, "valid": valid,
		},
	})
}

// status runs a command and checks its exit code.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND...")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		text := err.Error()
		code, found := strings.CutPrefix(text, "exit status ")
		n, parse := strconv.Atoi(code)
		if !found || parse != nil {
			ts.Fatalf("%s: %v", strings.Join(args[1:], " "), err)
		}
		got = n
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("%s: exit code %d, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// jsonFigure looks a value up in the last output: setup.model.layers 80,
// memory.ranks.0.rank 0, problems.0.nearest.tp 4, problems.len 3. With ! the
// path must not be there.
func jsonFigure(ts *testscript.TestScript, neg bool, args []string) {
	var document any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &document); err != nil {
		ts.Fatalf("not JSON: %v", err)
	}
	got, found := lookUp(document, strings.Split(args[0], "."))
	switch {
	case neg && found:
		ts.Fatalf("%s is there: %v", args[0], got)
	case neg:
		return
	case !found:
		ts.Fatalf("no %s", args[0])
	case len(args) == 1:
		return
	}
	if number, ok := got.(float64); ok {
		want, err := strconv.ParseFloat(args[1], 64)
		if err == nil && math.Abs(number-want) <= 1e-3*math.Abs(want) {
			return
		}
	}
	if text, _ := json.Marshal(got); strings.Trim(string(text), `"`) != args[1] {
		ts.Fatalf("%s is %s, want %s", args[0], text, args[1])
	}
}

func lookUp(v any, path []string) (any, bool) {
	for _, key := range path {
		switch t := v.(type) {
		case map[string]any:
			inner, ok := t[key]
			if !ok {
				return nil, false
			}
			v = inner
		case []any:
			if key == "len" {
				v = float64(len(t))
				continue
			}
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(t) {
				return nil, false
			}
			v = t[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// valid checks the last output against a JSON Schema of docs/schema.
func valid(ts *testscript.TestScript, neg bool, args []string) {
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(ts.Getenv("SCHEMAS"), args[0]))
	ts.Check(err)
	documents := [][]byte{[]byte(ts.ReadFile("stdout"))}
	if len(args) > 1 {
		documents = bytes.Split(bytes.TrimSpace(documents[0]), []byte("\n"))
	}
	for _, text := range documents {
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		ts.Check(err)
		if err := schema.Validate(document); (err != nil) != neg {
			ts.Fatalf("%.200s: %v", text, err)
		}
	}
}

// TestBrokenPipe: whoever stops reading hears no complaint.
func TestBrokenPipe(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = write.Close() })
	var stderr bytes.Buffer
	// Inside a test the pipe is not standard output, so that a write fails
	// instead of ending the process; both must be silent.
	cli.Run([]string{"presets", "models", "--json"}, strings.NewReader(""), write, &stderr)
	if stderr.Len() > 0 {
		t.Errorf("complains: %s", stderr.String())
	}
}
