package published_test

import (
	"os"
	"strings"
	"testing"

	"meshscope/presets/published"
)

// What the bands must hold on runs whose release is left out.
const (
	leastInside = 0.85 // of all runs
	mostInside  = 0.97
	classRuns   = 15 // classes of at least so many runs
	classInside = 0.75 - 1e-9
)

// TestCoverage holds the bands against runs whose own release is left out of them, and the
// tables of docs/accuracy.md against what that gives. MESHSCOPE_UPDATE=1 writes the tables.
func TestCoverage(t *testing.T) {
	const page = "../../docs/accuracy.md"
	scales := distances(t)
	times, memory := published.RunErrors(groups(t))
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	was := string(text)
	now := was
	for _, of := range []struct {
		name string
		runs []published.Errors
	}{{"time", times}, {"memory", memory}} {
		from := &scales.Time
		if of.name == "memory" {
			from = &scales.Memory
		}
		table, _ := published.Table(from, of.runs)
		classes := published.Coverage(table, of.runs)
		for i, c := range classes {
			switch {
			case i == 0 && (c.Inside < leastInside || c.Inside > mostInside):
				t.Errorf("%s: %.1f %% of all runs lie inside", of.name, 100*c.Inside)
			case i > 0 && c.Runs >= classRuns && c.Inside < classInside:
				t.Errorf("%s: %.1f %% of %d runs of %s on %s lie inside", of.name, 100*c.Inside, c.Runs, c.Stack, c.Generation)
			}
		}
		open, end := "<!-- coverage of "+of.name+" -->\n", "<!-- end of coverage -->"
		before, rest, ok := strings.Cut(now, open)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s: no place for the coverage of %s", page, of.name)
		}
		now = before + open + published.CoverageTable(classes) + end + after
	}
	switch {
	case now == was:
	case os.Getenv("MESHSCOPE_UPDATE") == "1":
		if err := os.WriteFile(page, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("the tables of docs/accuracy.md are not what the runs say; MESHSCOPE_UPDATE=1 go test ./presets/published -run 'Bands|Coverage' writes them")
	}
}
