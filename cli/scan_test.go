package cli_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"meshscope/cli"
	"meshscope/engine/figures"
	"meshscope/engine_test/draws"

	"pgregory.net/rapid"
)

// scanPoint is what the tests read of a point of scan --json.
type scanPoint struct {
	X, By, Verdict, Why string
	Value               *float64
	Layout              map[string]any
}

// Every point of a scan is what eval says of its layout.
func TestScanEqualsEval(t *testing.T) {
	for figure, path := range map[string][2]string{
		"step": {"time", "step_seconds"}, "peak": {"memory", "peak_bytes"}, "mfu": {"throughput", "mfu"},
		"compute": {"time", "compute_seconds"},
	} {
		code, stdout, stderr := run(t, "scan", "--x", "tp=2..8", "--by", "pp", "--y", figure, "--json",
			"--tp", "8", "--pp", "2", "--gbs", "512")
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		var answer struct{ Points []scanPoint }
		if err := json.Unmarshal([]byte(stdout), &answer); err != nil || len(answer.Points) < 12 {
			t.Fatalf("%d points: %v", len(answer.Points), err)
		}
		legal := 0
		for _, p := range answer.Points {
			if p.Value == nil {
				if p.Verdict != "illegal" || p.Why == "" {
					t.Errorf("tp %s, pp %s: no %s, %s %q", p.X, p.By, figure, p.Verdict, p.Why)
				}
				continue
			}
			legal++
			code, out, _ := run(t, append([]string{"eval", "--json"}, layoutFlags(p.Layout)...)...)
			var report map[string]map[string]any
			_ = json.Unmarshal([]byte(out), &report) // keys that are no tables stay out
			if got := report[path[0]][path[1]]; got != *p.Value {
				t.Errorf("tp %s, pp %s: %s is %v, eval says %v", p.X, p.By, figure, *p.Value, got)
			}
			if want := map[int]string{0: "fits", 4: "does-not-fit"}[code]; p.Verdict != want {
				t.Errorf("tp %s, pp %s: %s, eval ends with %d", p.X, p.By, p.Verdict, code)
			}
		}
		if legal == 0 {
			t.Error("no legal point")
		}
	}
}

// Whatever the flags are: one of the exit codes, and as text, JSON and CSV the
// same one.
func TestAnyScan(t *testing.T) {
	draws.CheckFew(t, 30, func(t *rapid.T) {
		axis := func() string {
			return rapid.SampledFrom([]string{
				"tp", "tp=1..8", "tp=2,x", "pp=1,2,3", "pp=8..1", "dp", "cp=1..4", "ep=1,2", "mbs=1..16:x2",
				"gbs=1..100000", "seq=1k..64k", "nodes=1..4",
				"zero", "sp", "recompute=all", "schedule=all", "schedule", "precision", "split", "",
				"nothing", "imbalance", "tokens=1T,2T", "vpp=1..1048576",
			}).Draw(t, "axis")
		}
		args := []string{
			"scan", "--tp=4", "--pp=2", "--gpus=16", "--model",
			rapid.SampledFrom([]string{"llama3.1-8b", "mixtral-8x7b"}).Draw(t, "model"), "--x=" + axis(),
		}
		if rapid.Bool().Draw(t, "two knobs") {
			args = append(args, "--by="+axis())
		}
		args = append(args,
			"--y="+rapid.SampledFrom([]string{
				"step", "peak", "mfu", "free", "activations",
				"communication.ep.bytes", "days", "", "x",
			}).Draw(t, "figure"))
		args = append(args,
			"--lock="+rapid.SampledFrom([]string{"both", "gpus", "batch", "none", "x"}).Draw(t, "lock"))
		codes := map[string]int{}
		for _, form := range []string{"--chart=on", "--json", "--csv"} {
			var stdout, stderr bytes.Buffer
			code := cli.Run(append(args[:len(args):len(args)], form), strings.NewReader(""), &stdout, &stderr)
			codes[form] = code
			switch {
			case code == 2 && (stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), "meshscope: ")):
				t.Fatalf("%v %s: exit code 2 with %q and %q", args, form, stdout.String(), stderr.String())
			case code != 2 && (stderr.Len() > 0 || stdout.Len() == 0 || code == 1):
				t.Fatalf("%v %s: exit code %d: %s", args, form, code, stderr.String())
			case code != 2 && form == "--json" && !json.Valid(stdout.Bytes()):
				t.Fatalf("%v: no JSON: %.300s", args, stdout.String())
			}
		}
		if codes["--json"] != codes["--csv"] || codes["--json"] != codes["--chart=on"] {
			t.Fatalf("%v: exit codes %v", args, codes)
		}
	})
}

// A cell of a scan over two knobs is what eval says with both set, whichever of them is
// across, and only what all points share is listed as fixed.
func TestScanOfTwoKnobsEqualsEval(t *testing.T) {
	base := []string{"--tp", "8", "--pp", "2", "--gbs", "512"}
	cells := func(x, by string) map[string]scanPoint {
		_, stdout, stderr := run(t, append([]string{"scan", "--x", x, "--by", by, "--y", "peak", "--json"},
			base...)...)
		var answer struct{ Points []scanPoint }
		if err := json.Unmarshal([]byte(stdout), &answer); err != nil || len(answer.Points) != 4 {
			t.Fatalf("%d points: %v %s", len(answer.Points), err, stderr)
		}
		out := map[string]scanPoint{}
		for _, p := range answer.Points {
			out[p.X+" "+p.By] = p
		}
		return out
	}
	across, down := cells("tp=8,16", "dp=4,8"), cells("dp=4,8", "tp=8,16")
	for _, c := range []struct{ tp, dp, gpus string }{
		{"8", "4", "64"},
		{"16", "4", "128"},
		{"8", "8", "128"},
		{"16", "8", "256"},
	} {
		_, stdout, _ := run(t, "eval", "--json", "--gpus", c.gpus, "--tp", c.tp, "--pp", "2", "--gbs", "512")
		var report struct {
			Memory struct {
				Peak float64 `json:"peak_bytes"`
			}
		}
		if err := json.Unmarshal([]byte(stdout), &report); err != nil || report.Memory.Peak == 0 {
			t.Fatal(err, stdout)
		}
		for _, p := range []scanPoint{across[c.tp+" "+c.dp], down[c.dp+" "+c.tp]} {
			if p.Value == nil || *p.Value != report.Memory.Peak {
				t.Errorf("tp %s, dp %s: %v, eval says %v", c.tp, c.dp, p.Value, report.Memory.Peak)
			}
		}
	}
	for _, c := range []struct{ x, by, kept string }{
		{"tp=8,16", "dp=4,8", "fixed  a global batch of 512; changed: GPUs from 64 to 256"},
		{"tp=4,8", "pp=1,2", "fixed  64 GPUs and a global batch of 512"},
		{"mbs=1,2", "microbatches=64,128", "fixed  64 GPUs; changed: global batch from 256 to 1,024"},
	} {
		if _, stdout, _ := run(t, append([]string{"scan", "--x", c.x, "--by", c.by, "--y", "peak"},
			base...)...); !strings.Contains(stdout, c.kept+"\n") {
			t.Errorf("%s by %s does not say %q:\n%s", c.x, c.by, c.kept, stdout)
		}
	}
}

// A figure that needs a word about the run says which; explain takes the short words
// of scan too.
func TestFigureWordsEverywhere(t *testing.T) {
	base := []string{"--tp", "8", "--pp", "2", "--gbs", "512"}
	for _, c := range []struct{ y, want string }{
		{"cost", "--y cost needs --tokens"},
		{"run.days", "--y run.days needs --tokens"},
		{"cst", `no point has a figure "cst"`},
	} {
		if code, _, stderr := run(t,
			append([]string{"scan", "--x", "tp", "--y", c.y}, base...)...); code != 2 ||
			!strings.Contains(stderr, c.want) {
			t.Errorf("--y %s ends with %d and %q, want %q", c.y, code, stderr, c.want)
		}
	}
	for _, w := range figures.Words() {
		code, stdout, stderr := run(t, append([]string{"explain", w.Word, "--tokens", "1T"}, base...)...)
		switch {
		case w.Word == "free":
			if code != 2 || !strings.Contains(stderr, "explain peak") {
				t.Errorf("free: %d %q", code, stderr)
			}
		case code != 0 || !strings.Contains(stdout, "formula"):
			t.Errorf("explain %s ends with %d: %s", w.Word, code, stderr)
		}
	}
	if code, _, stderr := run(t, append([]string{"explain", "cost"}, base...)...); code != 2 ||
		!strings.Contains(stderr, "cost needs --tokens") {
		t.Errorf("explain cost ends with %d: %s", code, stderr)
	}
}
