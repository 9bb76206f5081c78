package published_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/presets/published"
)

// TestDocumentedPools: README.md and docs/accuracy.md say the errors and the numbers of runs of the pools as
// they are.
func TestDocumentedPools(t *testing.T) {
	var e engine.Evaluator
	pools := map[string]published.Figure{}
	for _, f := range published.Pools(&e, groups(t), published.NewRefit(&e, groups(t))) {
		pools[f.Name] = f
	}
	percent := func(name string) string { return fmt.Sprintf("%.1f %%", 100*pools[name].Value) }
	all, bridge, mlperf, cloud := pools["all groups without the sweep"], pools["Megatron-Bridge"],
		pools["MLPerf"], pools["DGX Cloud"]
	both := []string{
		fmt.Sprintf("%s off (median of %d runs)", percent("Megatron-Bridge"), bridge.Rows),
		fmt.Sprintf("%s and %s off (medians of %d and %d runs)", percent("DGX Cloud"), percent("MLPerf"),
			cloud.Rows, mlperf.Rows),
	}
	pages := map[string][]string{
		"../../docs/accuracy.md": append(both,
			fmt.Sprintf("| every row but the sweep's | %d | median | %s |", all.Rows, percent(all.Name))),
		"../../README.md": both,
	}
	for name, f := range pools {
		if strings.HasPrefix(name, "all ") && f.Rows > 1000 {
			count := fmt.Sprintf("%d,%03d", f.Rows/1000, f.Rows%1000)
			pages["../../docs/commands.md"] = []string{count + " published runs"}
			pages["../../docs/accuracy.md"] = append(pages["../../docs/accuracy.md"], count+" runs, and")
		}
	}
	if len(pages) != 3 {
		t.Error("no pool of all runs")
	}
	for _, s := range spreads(t, &e) {
		pages["../../docs/accuracy.md"] = append(pages["../../docs/accuracy.md"], strings.ReplaceAll(
			fmt.Sprintf("| %s | %d | %.1f %% | %.0f %% | %.0f %% | %.0f %% |", s.Name, s.Rows, 100*s.Median,
				100*s.Within5, 100*s.Within10, 100*s.Within20), "6.9 %", "**6.9 %**"))
		if s.Name == published.Sweep {
			continue
		}
		short := fmt.Sprintf("%.1f %% off (median); %.0f, %.0f and %.0f %%", 100*s.Median, 100*s.Within5,
			100*s.Within10, 100*s.Within20)
		if s.Name == published.NotFitted {
			short = strings.Replace(short, " %", " %**", 1)
		}
		pages["../../README.md"] = append(pages["../../README.md"], short, fmt.Sprintf("| %d ", s.Rows))
	}
	for file, texts := range pages {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if !strings.Contains(string(page), text) {
				t.Errorf("%s does not say %q", file, text)
			}
		}
	}
}

// spreads returns the errors of all groups by what the constants have seen of them.
func spreads(t *testing.T, e *engine.Evaluator) []published.Spread {
	t.Helper()
	list := groups(t)
	var rows []published.Row
	for i := range list {
		_, more := published.Compare(e, &list[i])
		rows = append(rows, more...)
	}
	return published.Spreads(list, rows, published.NewRefits(e, list))
}

// TestSpreads: each run with a step time is in one population, what the constants have seen least comes
// first, and shares grow with the error that they allow.
func TestSpreads(t *testing.T) {
	e := engine.Evaluator{SkipTimeline: true}
	list := spreads(t, &e)
	if len(list) != 4 || list[0].Name != published.NotFitted || list[1].Name != published.Refitted {
		t.Fatalf("%+v", list)
	}
	steps := 0
	for _, g := range groups(t) {
		results, _ := published.Compare(&e, &g)
		for _, r := range results {
			if r.Metric == published.StepSeconds {
				steps += r.Rows
			}
		}
	}
	if got := list[0].Rows + list[2].Rows + list[3].Rows; got != steps {
		t.Errorf("%d runs in the populations, %d have a step time", got, steps)
	}
	for _, s := range list {
		if !(0 < s.Within5 && s.Within5 <= s.Within10 && s.Within10 <= s.Within20 && s.Within20 <= 1) ||
			(s.Median <= 0.05) != (s.Within5 >= 0.5) {
			t.Errorf("%+v", s)
		}
	}
	if got := published.Spreads(nil, nil, published.NewRefits(&e, nil)); got != nil {
		t.Errorf("spreads of nothing: %+v", got)
	}
}

// TestFigures: all nine are there, each better than what a constant scores on the
// same rows, where a constant can answer, and as good as wanted.
func TestFigures(t *testing.T) {
	var e engine.Evaluator
	figures, err := published.Figures(&e, presets.Default(), groups(t), published.NewRefit(&e, groups(t)))
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int
	for i := range figures {
		f := &figures[i]
		numbers = append(numbers, f.Number)
		if f.Rows == 0 || math.IsNaN(f.Value) || f.Peer != "" && f.PeerAt == nil {
			t.Errorf("%+v", f)
			continue
		}
		if f.Constant != nil && (f.Value < *f.Constant) == f.AtLeast {
			t.Errorf("%d %s: %v, a constant scores %v", f.Number, f.Measure, f.Value, *f.Constant)
		}
		if !f.Met() {
			t.Errorf("%d %s is %v, wanted %v", f.Number, f.Measure, f.Value, f.Wanted)
		}
	}
	if !slices.IsSorted(numbers) || !slices.Equal(slices.Compact(numbers), []int{1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("figures %v", numbers)
	}
	if got, err := published.Figures(&e, presets.Default(), nil, published.NewRefit(&e, nil)); err != nil ||
		len(got) != 0 {
		t.Errorf("figures of nothing: %+v, %v", got, err)
	}
}
