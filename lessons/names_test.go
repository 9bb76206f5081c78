package lessons

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"meshscope/engine/explain"
	"meshscope/presets"
)

// TestNames: docs/lessons.md lists every short name; MESHSCOPE_UPDATE=1 writes the list.
func TestNames(t *testing.T) {
	const file, head = "../docs/lessons.md", "| name | figure | what it is |\n| --- | --- | --- |\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(text), head)
	if !ok {
		t.Fatal("docs/lessons.md has no list of names")
	}
	want := before + head
	for _, n := range Names() {
		want += fmt.Sprintf("| `%s` | `%s` | %s |\n", n.Name, n.ID, n.Says)
	}
	if os.Getenv("MESHSCOPE_UPDATE") == "1" {
		err = os.WriteFile(file, []byte(want), 0o600)
	} else if want != string(text) {
		t.Error("the list of names in docs/lessons.md is not that of the program: MESHSCOPE_UPDATE=1 " +
			"writes it")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestExplained: the figures of lessons that no report has explain themselves, with the value that lessons
// use.
func TestExplained(t *testing.T) {
	s, _, err := resolve(Settings{
		"model": "llama3.1-8b", "gpus": 16, "dp": 2, "pp": 2, "cp": 4, "gbs": 8,
		"seq": 32768,
	}, presets.Default())
	if err != nil {
		t.Fatal(err)
	}
	side := newSide(s)
	book, _ := explain.Of(s)
	for _, name := range []string{
		"peak_first_step", "longest_sequence", "largest_micro_batch", "idle_rank_1",
		"causal_work_rank_3",
	} {
		f, err := side.figure(name)
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := book.Explain(f.ID); !ok || math.Abs(e.Result-f.Value) > 1e-9*f.Value || e.Formula == "" ||
			e.Source == "" {
			t.Errorf("%s: %v is explained as %+v", f.ID, f.Value, e)
		}
	}
}
