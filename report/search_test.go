package report

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/presets"
)

// searched runs a search with the values of some knobs, and finds out why it finds nothing.
func searched(t *testing.T, model string, set map[knob.ID]string, change func(*search.Query)) *Search {
	t.Helper()
	q := search.NewQuery()
	q.Setup = drafted(t, model, "dgx-h100", knob.Given{knob.GPUs: 8, knob.TP: 8, knob.GBS: 64})
	if change != nil {
		change(q)
	}
	for _, id := range slices.Sorted(maps.Keys(set)) {
		if err := q.Set(id, set[id]); err != nil {
			t.Fatal(err)
		}
	}
	p, err := q.Problem()
	if err != nil {
		t.Fatal(err)
	}
	p.Workers, p.Top = 2, 3
	of := &Search{Query: q, Problem: p, Library: presets.Default()}
	of.Result = search.Run(t.Context(), p, nil)
	if len(of.Result.Best) == 0 {
		of.Conflict = search.Explain(t.Context(), p, nil)
		if slices.Contains(of.Conflict.Fields, "deadline") {
			of.Missed = p.Missed(t.Context(), q.UnsetBatch)
		}
	}
	return of
}

// piped returns a document as a pipe gets it, blanks and line ends as one blank.
func piped(t *testing.T, d *Document) string {
	t.Helper()
	var out strings.Builder
	if err := writeText(&out, d, 0); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// TestWhyASearchFindsNothing: the constraint that no layout meets is named with its flag, what comes nearest
// and the rule that it breaks.
func TestWhyASearchFindsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		model  string
		set    map[knob.ID]string
		change func(*search.Query)
		want   []string
	}{
		"memory": {
			"llama3.1-405b",
			map[knob.ID]string{knob.GPUs: "8", knob.GBS: "64"},
			nil,
			[]string{
				"NOTHING FITS", "The usable memory of 79.1 GiB per GPU", "more than usable",
				"use --objective fewest-gpus without --gpus and --nodes",
			},
		},
		"headroom": {
			"llama3.1-8b",
			map[knob.ID]string{knob.GPUs: "8", knob.GBS: "64", knob.TP: "8"},
			func(q *search.Query) { q.Headroom, q.Margin = 0.9, false },
			[]string{"NOTHING FITS", "A headroom of 90.00 % (--headroom, which leaves 7.9 GiB)"},
		},
		"deadline": {
			"llama3.2-1b",
			map[knob.ID]string{knob.GPUs: "8", knob.GBS: "64"},
			func(q *search.Query) { q.Setup.Budget, q.Deadline = 1e12, 3600 },
			[]string{"NOTHING IS FAST ENOUGH", "(--deadline)", "times the deadline", "The fastest layout"},
		},
		"batch": {
			"llama3.2-1b",
			map[knob.ID]string{knob.GPUs: "8", knob.GBS: "7", knob.DP: "8"},
			nil,
			[]string{"NO LEGAL LAYOUT", "a global batch of 7 sequences (--gbs)"},
		},
		"degree": {
			"llama3.2-1b",
			map[knob.ID]string{knob.GPUs: "8", knob.GBS: "64", knob.TP: "5"},
			nil,
			[]string{"NO LEGAL LAYOUT", "--tp 5", "nearest"},
		},
		"replicas": {
			"llama3.2-1b",
			map[knob.ID]string{knob.GPUs: "8", knob.GBS: "63", knob.DP: "3"},
			nil,
			[]string{"--dp 3", "3 replicas do not divide the 8 GPUs"},
		},
		"split": {
			"llama3.2-1b",
			map[knob.ID]string{knob.GPUs: "8", knob.GBS: "64", knob.Split: "9,9"},
			nil,
			[]string{"NO LEGAL LAYOUT", "--split 9,9", "16"},
		},
	} {
		of := searched(t, c.model, c.set, c.change)
		if len(of.Result.Best) > 0 {
			t.Errorf("%s: %d layouts", name, len(of.Result.Best))
			continue
		}
		wellFormed(t, name, of.Answer("test"))
		got := piped(t, of.Document())
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %s", name, want, got)
			}
		}
	}
	none := &Search{Query: search.NewQuery()}
	if got := none.nothing(); !strings.HasPrefix(got.Lead, "before the time ended") || none.Reason() != "" {
		t.Errorf("without a reason: %+v", got)
	}
}

// TestWhatASearchTook: a batch that nobody gave, the numbers of GPUs, the longest sequence and the largest
// micro-batch are said with what was tried.
func TestWhatASearchTook(t *testing.T) {
	for name, c := range map[string]struct {
		set    map[knob.ID]string
		change func(*search.Query)
		want   []string
	}{
		"fewest": {
			map[knob.ID]string{knob.GBS: "64", knob.GPUs: "1..8"},
			func(q *search.Query) { q.Objective = search.FewestGPUs },
			[]string{"fewest of these", "Replicas must divide the batch of 64"},
		},
		"usual batch": {
			map[knob.ID]string{knob.GPUs: "8"},
			nil,
			[]string{"global batch not given; using"},
		},
		"longest": {
			map[knob.ID]string{knob.GPUs: "8", knob.GBS: "8"},
			func(q *search.Query) { q.Objective = search.LongestSeq },
			[]string{"Sequence lengths from", "were tried, doubling"},
		},
		"largest micro-batch": {
			map[knob.ID]string{knob.GPUs: "8", knob.GBS: "8"},
			func(q *search.Query) { q.Objective = search.LargestMBS },
			[]string{"The global batch is the limit: no larger power of two divides 8"},
		},
		"within": {
			map[knob.ID]string{knob.GPUs: "8", knob.GBS: "64"},
			func(q *search.Query) { q.Setup.Budget, q.Deadline = 1e9, 1e6 },
			[]string{"limits 1.00 B tokens within 11.574 days at the slow end"},
		},
	} {
		of := searched(t, "llama3.2-1b", c.set, c.change)
		if len(of.Result.Best) == 0 {
			t.Errorf("%s: nothing found: %s", name, of.Reason())
			continue
		}
		got := piped(t, of.Document())
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %s", name, want, got)
			}
		}
		if name == "within" {
			if b := of.Result.Best[0]; b.Report.Run.Seconds > of.Problem.Deadline {
				t.Errorf("%v after the deadline", b.Report.Run.Seconds)
			}
		}
	}
	var many []int
	for n := range 100 {
		many = append(many, n+1)
	}
	words := numberWords(many)
	if n := len(strings.Split(words, ", ")); n != 49 || !strings.HasPrefix(words, "1, 2, ") ||
		!strings.HasSuffix(words, ", 100") || !strings.Contains(words, "24, ..., 77") {
		t.Errorf("%d of %s", n, words)
	}
	if got := numberWords(many[:3]); got != "1, 2, 3" {
		t.Error(got)
	}
}

// TestMissedDeadlines: how far the fastest layout is, and what would meet the deadline.
func TestMissedDeadlines(t *testing.T) {
	of := searched(t, "llama3.2-1b", map[knob.ID]string{knob.GPUs: "8", knob.GBS: "64"},
		func(q *search.Query) { q.Setup.Budget = 1e9 })
	best := of.Result.Best[0]
	best.Report.Run.Seconds = 10 * 86400
	slow := best.Report.Time.SlowEnd(best.PessimisticStep) / best.Report.Time.Step
	takes := units.Seconds(10*86400) * slow
	for _, c := range []struct {
		missed   search.Missed
		deadline units.Seconds
		want     string
	}{
		{
			search.Missed{Fastest: &best, GPUs: 16, GPUsBatch: 64, Given: 64},
			takes / 4,
			"4.00 times the deadline; 16 GPUs would meet it",
		},
		{
			search.Missed{Fastest: &best, Batch: 512},
			takes / 1.5,
			"50.0 % more than the deadline; a global batch of 512 on these GPUs would meet it",
		},
		{
			search.Missed{Batch: 512, GPUs: 16, GPUsBatch: 128, Given: 64},
			1,
			"a global batch of 512 on these GPUs or 16 GPUs with a global batch of 128 would meet it",
		},
		{search.Missed{Stopped: true}, 1, "the search for what would meet it was stopped"},
		{search.Missed{Most: 4096}, 1, "no number of these GPUs up to 4,096 would meet it"},
	} {
		if got := MissedWords(&c.missed, c.deadline); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s, not %s", got, c.want)
		}
	}
}

// TestRankedBySlowEnds: a narrow terminal leaves out what says what another column does, never the slow end
// by which layouts are ranked.
func TestRankedBySlowEnds(t *testing.T) {
	of := searched(t, "llama3.1-8b", map[knob.ID]string{
		knob.GPUs: "32", knob.GBS: "64", knob.ZeRO: "3", knob.Seq: "4096",
	}, func(q *search.Query) {
		q.Setup = drafted(t, "llama3.1-8b", "dgx-h100", knob.Given{
			knob.GPUs: 32, knob.Calibration: "deepspeed", knob.ZeRO: 3, knob.GBS: 64,
		})
	})
	var out strings.Builder
	if err := writeText(&out, of.Document(), 80); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	_, heads, _ := strings.Cut(got, "  rank ")
	heads, _, _ = strings.Cut(heads, "\n")
	if !strings.Contains(heads, " slow end") || !strings.Contains(got, "no room for ") {
		t.Error(got)
	}
}
