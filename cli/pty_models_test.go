//go:build linux

package cli_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"meshscope/cli/terminal"
	"meshscope/engine_test/draws"
)

// TestTerminalOtherModels: in a terminal, from a fresh start on each of 3 machines, m to each of 25 models
// gives a setup that is legal and fits where any layout does, near search's first, and on H100 with batch,
// sequence and precision of the published recipe. An ordinary run tries 2 of the 75, a deep one 15;
// MESHSCOPE_SWITCHES says how many.
func TestTerminalOtherModels(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.FromSlash("../engine_test/starts/testdata/popular.csv"))
	if err != nil {
		t.Fatal(err)
	}
	var models [][]string
	for line := range strings.Lines(string(text)) {
		if line[0] != '#' {
			models = append(models, strings.SplitN(line, ",", 5))
		}
	}
	program, few := build(t), 2
	if draws.Deep() {
		few = 15
	}
	machines := []string{"dgx-h100", "dgx-a100", "gb200-nvl72"}
	for n := range min(numberFrom(t, "MESHSCOPE_SWITCHES", few), len(machines)*len(models)) {
		of, machine := models[n%len(models)], machines[(n+n/len(models))%len(machines)]
		t.Run(machine+"/"+of[0], func(t *testing.T) {
			t.Parallel()
			switchTo(t, program, of, machine)
		})
	}
}

// TestTerminalOtherMachines: g to each of 12 machines likewise, from a fresh start; an ordinary run tries 1.
func TestTerminalOtherMachines(t *testing.T) {
	t.Parallel()
	program := build(t)
	for _, machine := range draws.Some(1,
		"dgx-a100", "gb200-nvl72", "dgx-h200", "dgx-b200", "aws-p5", "meta-roce-24k", "deepseek-h800",
		"azure-nd-mi300x", "aws-p4d", "gcp-a3-mega", "selene", "dgx-h100",
	) {
		t.Run(machine, func(t *testing.T) {
			t.Parallel()
			switchTo(t, program, nil, machine)
		})
	}
}

// switchTo starts, chooses a machine and a model, and looks at the setup that y copies.
func switchTo(t *testing.T, program string, of []string, machine string) {
	t.Helper()
	home := t.TempDir()
	screen := open(t, program, 120, 36, "XDG_STATE_HOME="+home)
	if machine != "dgx-h100" {
		choose(t, screen, "g", machine)
	}
	if of != nil {
		choose(t, screen, "m", of[0])
	}
	ended := func(s string) bool { return !strings.Contains(s, "searching") }
	if err := screen.WaitFor("the end of the search", ended); err != nil {
		t.Fatal(err)
	}
	screen.AwaitQuiet(frameGap)
	press(t, screen, "y")
	see(t, screen, "command copied")
	line, err := os.ReadFile(filepath.Join(home, "meshscope", "copied"))
	if err != nil {
		t.Fatal(err)
	}
	press(t, screen, "q") // closes what shows the command
	shown := screen.Text()
	press(t, screen, terminal.CtrlC)
	restored(t, screen, 0)
	flags := strings.Fields(strings.ReplaceAll(strings.TrimPrefix(string(line), "meshscope "), "'", ""))
	if flags[0] == "eval" {
		flags = flags[1:]
	}
	report, code := answerOf(t, program, append([]string{"eval", "--json"}, flags...))
	s := report.Setup
	question := []string{"search", "--json", "--top=1", "--model=" + s.Model.ID, "--cluster=" + s.Cluster.ID}
	for _, word := range []string{
		"gpus=" + strconv.Itoa(s.GPUs), "gbs=" + strconv.Itoa(s.GBS), "seq=" + strconv.Itoa(s.Seq),
		"precision=" + s.Precision, "dispatcher=" + s.Dispatcher,
	} {
		question = append(question, "--"+word)
	}
	found, none := answerOf(t, program, question)
	best := 0.0
	if len(found.Results) > 0 {
		best = found.Results[0].Report.Throughput.MFU
	}
	switch mfu := report.Throughput.MFU; {
	case code == 4 && none == 0 || code != 0 && code != 4:
		t.Errorf("exit code %d of %s, %d of its search\n%s", code, line, none, shown)
	case code == 0 && mfu < best-0.03:
		t.Errorf("MFU %.3f of %s, the first of a search has %.3f\n%s", mfu, line, best, shown)
	}
	got := strings.Join([]string{strconv.Itoa(s.GBS), strconv.Itoa(s.Seq), s.Precision}, ",")
	if of != nil && machine == "dgx-h100" && got != strings.Join(of[1:4], ",") {
		t.Errorf("%s, published is %s\n%s", got, of[1:], shown)
	}
}

// answer is what these tests read of eval's and search's JSON.
type answer struct {
	Setup struct {
		Model, Cluster        struct{ ID string }
		GPUs, GBS, Seq        int
		Precision, Dispatcher string
	}
	Throughput struct{ MFU float64 }
	Results    []struct {
		Report struct{ Throughput struct{ MFU float64 } }
	}
}

// answerOf runs a command of the program and returns what it answers and its exit code.
func answerOf(t *testing.T, program string, args []string) (a answer, code int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatalf("%s: %v\n%s", args, err, out)
	}
	return a, code
}
