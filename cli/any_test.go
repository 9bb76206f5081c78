package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"meshscope/cli"
	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine_test/draws"
	"meshscope/report"
)

// ran is what a call wrote, and its exit code.
type ran struct {
	code           int
	stdout, stderr string
}

// call runs the program. Nothing that it writes may steer a terminal.
func call(t *testing.T, stdin string, args ...string) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := cli.Run(args, strings.NewReader(stdin), &stdout, &stderr)
	for _, out := range []string{stdout.String(), stderr.String()} {
		if at := strings.IndexFunc(out,
			func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }); at >= 0 {
			t.Errorf("%.80q: a hidden character: %.80q", args, out[at:])
		}
	}
	return ran{code, stdout.String(), stderr.String()}
}

// anyFlags draws a command line of flags that exist with values that may make
// sense or not.
func anyFlags(t *rapid.T) []string {
	models := []string{"llama3.1-8b", "llama3.1-405b", "deepseek-v3", "mixtral-8x7b", "gpt3-175b", "nobody"}
	machines := []string{"h100-sxm", "v100-sxm-32g", "b200-sxm", "rtx4090", "gb200-nvl72"}
	number := rapid.SampledFrom(strings.Fields("0 1 2 3 4 5 6 7 8 12 16 32 64 128 160 1000 4096 8192 " +
		"1048576 1099511627776 -1 1.5 x"))
	args := []string{"--model", rapid.SampledFrom(models).Draw(t, "model")}
	if rapid.Bool().Draw(t, "with a GPU") {
		args = append(args, "--gpu", rapid.SampledFrom(machines).Draw(t, "gpu"))
	}
	for range rapid.IntRange(0, 8).Draw(t, "flags") {
		p := rapid.SampledFrom(knob.All()).Draw(t, "flag")
		value := number.Draw(t, "value")
		if len(p.Choices) > 0 && rapid.IntRange(0, 9).Draw(t, "sense") > 0 {
			value = rapid.SampledFrom(p.Choices).Draw(t, "choice")
		}
		args = append(args, "--"+string(p.ID)+"="+value)
	}
	return args
}

// Whatever the flags are, the program ends with one of its exit codes, says on
// standard error what it did not take, and writes JSON that reads back as the
// same report.
func TestAnyFlags(t *testing.T) {
	draws.CheckFew(t, 20, func(t *rapid.T) {
		args := append([]string{"eval", "--json"}, anyFlags(t)...)
		var stdout, stderr bytes.Buffer
		code := cli.Run(args, strings.NewReader(""), &stdout, &stderr)
		if code == 2 {
			if stdout.Len() > 0 || !strings.Contains(stderr.String(), "meshscope: ") {
				t.Fatalf("exit code 2 with %q and %q", stdout.String(), stderr.String())
			}
			return
		}
		if stderr.Len() > 0 || !slices.Contains([]int{0, 3, 4}, code) {
			t.Fatalf("exit code %d: %s", code, stderr.String())
		}
		var report struct {
			Legal    bool
			Problems []engine.Problem
			Memory   *struct{ Fits bool }
			Time     *struct {
				Step float64 `json:"step_seconds"`
			}
		}
		if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
			t.Fatal(err)
		}
		switch {
		case report.Legal != (code != 3):
			t.Fatalf("exit code %d and legal %v", code, report.Legal)
		case !report.Legal && (len(report.Problems) == 0 || report.Time != nil):
			t.Fatalf("illegal without a reason, or with figures: %s", stdout.String())
		case report.Legal && (report.Memory.Fits != (code == 0) || report.Time.Step <= 0):
			t.Fatalf("exit code %d: %s", code, stdout.String())
		}
		var again bytes.Buffer
		if back := cli.Run([]string{"eval", "--json", "--setup", "-"}, &stdout, &again,
			&stderr); back != code {
			t.Fatalf("fed back it ends with %d, not %d: %s", back, code, stderr.String())
		}
	})
}

// TestReportsAreRead: whatever key the document of an evaluation has, it is read as a setup again.
func TestReportsAreRead(t *testing.T) {
	t.Parallel()
	document := reflect.TypeFor[report.Evaluation]()
	for field := range document.Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if key == "" || key == "-" || key == "setup" || key == "schema_version" {
			continue
		}
		value := "null"
		if key == "model" { // of the report, not of the setup
			value = "{}"
		}
		text := fmt.Sprintf(`{"setup": {"model": "llama3.1-8b"}, %q: %s}`, key, value)
		if r := call(t, text, "eval", "--json", "--setup", "-"); r.code != 0 && r.code != 4 {
			t.Errorf("%s: exit code %d: %s", key, r.code, r.stderr)
		}
	}
}
