package cli_test

import (
	"encoding/csv"
	"encoding/json"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine_test/draws"
)

// words splits a command line as a shell does, the name of the program left out.
func words(t *testing.T, line string) []string {
	t.Helper()
	arguments := strings.TrimPrefix(line, "meshscope ")
	out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf '%s\\n' "+arguments).Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// evaluated is what the tests read of eval --json.
type evaluated struct {
	Time struct {
		Step float64 `json:"step_seconds"`
	}
	Memory struct {
		Peak float64 `json:"peak_bytes"`
	}
}

func evaluate(t *testing.T, line string) evaluated {
	t.Helper()
	_, stdout, stderr := run(t, append(words(t, line), "--json")...)
	var got evaluated
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || stderr != "" {
		t.Fatalf("%s: %v: %s", line, err, stderr)
	}
	return got
}

// Every command line that is printed to have a result again gives that result, also
// where fields were changed by --set.
func TestPrintedCommandsReproduce(t *testing.T) {
	printed := regexp.MustCompile(`(?m)^ +(meshscope eval .*)$`)
	for _, problem := range draws.Some(4,
		"--gpus 32 --model mixtral-8x7b --precision fp8 --set seq=4096 --set cluster.name=rack-of-mine "+
			"--tokens 1T --price 2 --tp 4",
		"--gpu a100-sxm-40g --gpus 8 --model llama3.1-8b --set cluster.intra.latency=5e-6",
		// nothing fits: the least memory
		"--gpus 8 --set model.layers=81",
		// nothing is fast enough
		"--gpus 8 --model llama3.1-8b --tokens 15T --deadline 1d --set model.layers=34",
		"--gpus 64",
		"--gpus 64 --set model.layers=40 --set model.vocab=131072",
		"--gpus 64 --set cluster.inter.bandwidth=25e9 --set gpu.memory_usable_bytes=6e10",
		"--gpus 32 --model mixtral-8x7b --precision fp8 --set seq=4096 --set cluster.name=rack-of-mine "+
			"--tokens 1T --price 2",
	) {
		arguments := append([]string{"search", "--top", "3"}, strings.Fields(problem)...)
		_, text, stderr := run(t, arguments...)
		lines := printed.FindAllStringSubmatch(text, -1)
		if len(lines) != 1 {
			t.Errorf("search %s prints %d commands: %s", problem, len(lines), stderr)
			continue
		}
		_, document, _ := run(t, append(arguments, "--json")...)
		var answer struct {
			Results  []struct{ Report json.RawMessage }
			Conflict struct {
				Least   struct{ Report json.RawMessage } `json:"least_memory"`
				Fastest struct{ Report json.RawMessage }
			}
		}
		if err := json.Unmarshal([]byte(document), &answer); err != nil {
			t.Fatal(err)
		}
		want := append(answer.Conflict.Fastest.Report, answer.Conflict.Least.Report...)
		if len(answer.Results) > 0 {
			want = answer.Results[0].Report
		}
		_, got, complaint := run(t, append(words(t, lines[0][1]), "--json")...)
		if compact(t, got) != compact(t, string(want)) {
			t.Errorf("%s is not the first result of search %s; %s", lines[0][1], problem, complaint)
		}
		_, table, _ := run(t, append(arguments, "--csv")...)
		rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[1:] {
			cell := func(name string) string {
				for i, head := range rows[0] {
					if head == name {
						return row[i]
					}
				}
				t.Fatalf("there is no column %s", name)
				return ""
			}
			got := evaluate(t, cell("command"))
			if format(got.Time.Step) != cell("step_seconds") ||
				format(got.Memory.Peak) != cell("peak_bytes") {
				t.Errorf("%s: %v, want %s s and %s bytes", cell("command"), got, cell("step_seconds"),
					cell("peak_bytes"))
			}
		}
	}
}

func format(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// The moves of advise again: the command line that is printed for the first, and the flags
// of every move of its document.
func TestAdviceReproduces(t *testing.T) {
	printed := regexp.MustCompile(`(?m)^ +(meshscope eval .*)$`)
	for _, problem := range draws.Some(1,
		"--gpus 64 --tp 8 --pp 1 --gbs 32 --set model.layers=40 --set cluster.inter.bandwidth=25e9",
		"--gpus 64 --tp 2 --pp 2 --gbs 512",
		"--gpus 64 --tp 8 --pp 1 --gbs 32",
		"--gpus 64 --tp 8 --pp 2 --gbs 512 --set model.layers=40 --set cluster.inter.bandwidth=25e9",
	) {
		arguments := append([]string{"advise"}, strings.Fields(problem)...)
		_, text, _ := run(t, arguments...)
		lines := printed.FindAllStringSubmatch(text, -1)
		_, document, _ := run(t, append(arguments, "--json")...)
		var answer struct {
			Moves []struct {
				Flags string
				Step  float64 `json:"step_seconds"`
				Peak  float64 `json:"peak_bytes"`
			}
		}
		if err := json.Unmarshal([]byte(document), &answer); err != nil {
			t.Fatal(err)
		}
		if len(answer.Moves) == 0 {
			t.Fatalf("advise %s has no moves", problem)
		}
		want := []string{answer.Moves[0].Flags}
		var got []string
		for _, line := range lines {
			got = append(got, strings.TrimPrefix(line[1], "meshscope eval "))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("advise %s prints %q, want %q", problem, got, want)
		}
		for _, m := range answer.Moves {
			if got := evaluate(t, "meshscope eval "+m.Flags); got.Time.Step != m.Step ||
				got.Memory.Peak != m.Peak {
				t.Errorf("eval %s: %v, want %v", m.Flags, got, m)
			}
		}
	}
}
