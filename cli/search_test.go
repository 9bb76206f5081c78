package cli_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meshscope/cli"
	"meshscope/engine_test/draws"
)

// searchAnswer is what the tests read of search --json.
type searchAnswer struct {
	Partial bool
	Results []searchResult
	Front   []searchResult
}

type searchResult struct {
	Rank   int
	Flags  string
	Layout map[string]any
	Report json.RawMessage
}

// run is the program in this process.
func run(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, complaints bytes.Buffer
	code = cli.Run(args, strings.NewReader(""), &out, &complaints)
	return code, out.String(), complaints.String()
}

// compact is a JSON text without blanks, keys in their order.
func compact(t testing.TB, text string) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(text)); err != nil {
		t.Fatalf("%v: %.200s", err, text)
	}
	return out.String()
}

// What search returns is what eval says of the same layout, byte for byte:
// asked for by the flags of a result, by its layout, and by its own report.
func TestSearchEqualsEval(t *testing.T) {
	for _, problem := range draws.Some(2,
		"--model llama3.1-8b --gpu a100-sxm-40g --gpus 16 --recompute none,full,full:2 --front --seq 4k,8k "+
			"--calibration nanotron",
		"--model mixtral-8x7b --gpus 32 --gbs 96 --precision fp8 --objective least-memory --schedule all "+
			"--etp 1,2 --mbs 1",
		"--gpus 64",
		"--model deepseek-v3 --gpus 256 --schedule 1f1b,zb-h1,dualpipe,zb-auto --refused",
		"--model mixtral-8x7b --gpus 32 --gbs 96 --precision fp8 --objective least-memory --schedule all "+
			"--etp 1,2",
	) {
		code, stdout, stderr := run(t, append(strings.Fields("search --top 6 --json --time 1h"),
			strings.Fields(problem)...)...)
		if code != 0 {
			t.Fatalf("search %s: exit code %d: %s", problem, code, stderr)
		}
		var answer searchAnswer
		if err := json.Unmarshal([]byte(stdout), &answer); err != nil {
			t.Fatal(err)
		}
		if len(answer.Results) != 6 || answer.Partial {
			t.Fatalf("search %s: %d results", problem, len(answer.Results))
		}
		for _, r := range append(answer.Results, answer.Front...) {
			want := compact(t, string(r.Report))
			if _, got, complaint := run(t,
				append([]string{"eval", "--json"}, strings.Fields(r.Flags)...)...); complaint != "" ||
				compact(t, got) != want {
				t.Errorf("eval %s is not the report of result %d; %s", r.Flags, r.Rank, complaint)
			}
			if _, got, complaint := run(t,
				append(evalOf(problem), layoutFlags(r.Layout)...)...); complaint != "" ||
				compact(t, got) != want {
				t.Errorf("%v is not the report of result %d; %s", layoutFlags(r.Layout), r.Rank, complaint)
			}
			var out, complaint bytes.Buffer
			cli.Run([]string{"eval", "--json", "--setup", "-"}, bytes.NewReader(r.Report), &out, &complaint)
			if complaint.Len() > 0 || compact(t, out.String()) != want {
				t.Errorf("the report of result %d does not read back as itself: %s", r.Rank,
					complaint.String())
			}
		}
	}
}

// evalOf keeps what eval takes of the flags of a search: what is not a knob.
func evalOf(problem string) []string {
	args := []string{"eval", "--json"}
	words := strings.Fields(problem)
	for i := 0; i+1 < len(words); i++ {
		if slices.Contains([]string{"--model", "--gpu", "--precision", "--calibration"}, words[i]) {
			args = append(args, words[i], words[i+1])
		}
	}
	return args
}

// layoutFlags are the keys of a layout as flags.
func layoutFlags(layout map[string]any) []string {
	var args []string
	for key, value := range layout {
		if n, ok := value.(float64); ok {
			value = int(n)
		}
		args = append(args, fmt.Sprintf("--%s=%v", strings.ReplaceAll(key, "_", "-"), value))
	}
	return args
}

// The table of comma-separated values has the same layouts, and its commands
// give them.
func TestSearchCSV(t *testing.T) {
	_, stdout, _ := run(t, "search", "--csv", "--top", "3", "--tp", "4,8")
	rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	for _, row := range rows[1:] {
		cell := func(name string) string { return row[slices.Index(rows[0], name)] }
		words := strings.Fields(cell("command"))
		_, got, complaint := run(t, append(words[1:], "--json")...)
		var report struct {
			Setup struct{ TP, PP, Microbatches int }
			Time  struct {
				Step float64 `json:"step_seconds"`
			}
		}
		if err := json.Unmarshal([]byte(got), &report); err != nil {
			t.Fatalf("%s: %v", complaint, err)
		}
		if fmt.Sprint(report.Setup.TP) != cell("tp") || fmt.Sprint(report.Setup.PP) != cell("pp") ||
			fmt.Sprint(report.Setup.Microbatches) != cell("microbatches") ||
			fmt.Sprint(report.Time.Step) != cell("step_seconds") {
			t.Errorf("%s gives %+v, the row says %v", cell("command"), report, row)
		}
	}
}

// Whatever the flags are: one of the exit codes, a document that is JSON, and
// results within what was asked for, in order.
func TestAnySearch(t *testing.T) {
	draws.CheckFew(t, 20, func(t *rapid.T) {
		args := []string{"search", "--json", "--time", "0", "--top", "3", "--nodes=1"}
		pick := func(flag string, values ...string) {
			if rapid.Bool().Draw(t, flag+" given") {
				args = append(args, "--"+flag+"="+rapid.SampledFrom(values).Draw(t, flag))
			}
		}
		args = append(args, "--model",
			rapid.SampledFrom([]string{"llama3.1-8b", "mixtral-8x7b", "gpt2-xl"}).Draw(t, "model"))
		pick("gpus", "1", "4", "8", "12", "1..8", "4..16:x2", "0")
		pick("tp", "1", "2,4", "..8", "3", "x", "8..2", "2..")
		pick("pp", "1,2", "4", "2..8:2", "1000000")
		pick("cp", "1", "1..4")
		pick("dp", "1", "2", "..16")
		pick("ep", "1", "8", "..8")
		pick("mbs", "1", "1..8:x2", "0", "3")
		pick("microbatches", "1", "4", "..16")
		pick("gbs", "64", "16..64:x2", "7", "1M")
		pick("seq", "4k", "2k..4k", "1000")
		pick("zero", "1", "0..3", "4")
		pick("sp", "on", "off", "on,off", "?")
		pick("schedule", "1f1b", "zb-h1,interleaved", "1f1b,dualpipe,v-min", "none")
		pick("recompute", "full", "none,full:1", "all", "modules:act,norm")
		pick("objective", "throughput", "least-memory", "fewest-gpus", "largest-mbs", "slow")
		pick("headroom", "0%", "10%", "0.5", "99%")
		if rapid.Bool().Draw(t, "run") {
			args = append(args, "--tokens=1T")
			pick("deadline", "1d", "100d", "3")
		}
		var stdout, stderr bytes.Buffer
		code := cli.Run(args, strings.NewReader(""), &stdout, &stderr)
		if code == 2 {
			if stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), "meshscope: ") {
				t.Fatalf("%v: exit code 2 with %q and %q", args, stdout.String(), stderr.String())
			}
			return
		}
		var answer struct {
			Partial bool
			Results []struct {
				Rank   int
				Report struct {
					Legal  bool
					Memory struct{ Fits bool }
				}
			}
			Conflict *struct{ Message string }
		}
		if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil || stderr.Len() > 0 {
			t.Fatalf("%v: %v, %s", args, err, stderr.String())
		}
		for i, r := range answer.Results {
			if r.Rank != i+1 || !r.Report.Legal || !r.Report.Memory.Fits {
				t.Fatalf("%v: result %d is %+v", args, i+1, r)
			}
		}
		switch found := len(answer.Results) > 0; {
		case found && code != 0, !found && code == 0:
			t.Fatalf("%v: exit code %d with %d results", args, code, len(answer.Results))
		case code == 3 || code == 4:
			if answer.Conflict == nil || answer.Conflict.Message == "" {
				t.Fatalf("%v: no reason", args)
			}
		}
	})
}
