package published_test

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"meshscope/engine/band"
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
				t.Errorf("%s: %.1f %% of %d runs of %s on %s lie inside", of.name, 100*c.Inside, c.Runs,
					c.Stack, c.Generation)
			}
		}
		open, end := "<!-- coverage of "+of.name+" -->\n", "<!-- end of coverage -->"
		before, rest, ok := strings.Cut(now, open)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s: no place for the coverage of %s", page, of.name)
		}
		now = before + open + coverageTable(classes) + end + after
	}
	switch {
	case now == was:
	case os.Getenv("MESHSCOPE_UPDATE") == "1":
		if err := os.WriteFile(page, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("the tables of docs/accuracy.md are not what the runs say; MESHSCOPE_UPDATE=1 go test " +
			"./presets/published -run 'Bands|Coverage' writes them")
	}
}

// TestCoverageOfAReleaseThatNothingKnows leaves each release out of the cells, of the ranges
// and of the factor too, which TestCoverage takes from all runs: of all runs as many lie
// inside as of those that the factor is made for.
func TestCoverageOfAReleaseThatNothingKnows(t *testing.T) {
	scales := distances(t)
	times, memory := published.RunErrors(groups(t))
	for name, of := range map[string]struct {
		scales *band.Table
		runs   []published.Errors
	}{"time": {&scales.Time, times}, "memory": {&scales.Memory, memory}} {
		releases := map[string][]published.Errors{}
		for i := range of.runs {
			releases[of.runs[i].Group.Series] = append(releases[of.runs[i].Group.Series], of.runs[i])
		}
		inside, all := 0.0, 0.0
		for release, runs := range releases {
			others := slices.DeleteFunc(slices.Clone(of.runs),
				func(r published.Errors) bool { return r.Group.Series == release })
			table, _ := published.Table(of.scales, others)
			weight := min(1, 100/float64(len(runs)))
			for i := range runs {
				if all += weight; math.Abs(runs[i].Log) <= math.Log1p(table.Of(&runs[i].Traits).Error) {
					inside += weight
				}
			}
		}
		t.Logf("%s: %.1f %% of the runs of %d releases lie inside", name, 100*inside/all, len(releases))
		if share := inside / all; share < leastInside || share > mostInside {
			t.Errorf("%s: %.1f %% lie inside", name, 100*share)
		}
	}
}
