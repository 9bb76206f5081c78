package plain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
	"meshscope/presets"
	"meshscope/report/figure"
)

// round is the built-in setup with the textbook's memory, which is formulas
// only, and round times, so that the text does not change with a prediction.
func round() (engine.Setup, engine.Report) {
	s := presets.DefaultSetup()
	s.Stack = recipe.Textbook
	r := engine.Evaluate(s)
	r.Timeline = nil
	r.Time = &engine.Time{Step: 20, Compute: 15, Bubble: 1, Exposed: 3, Optimizer: 1}
	r.Throughput = &engine.Throughput{TokensPerSecond: 200_000, ModelTFLOPSPerGPU: 400, MFU: 0.4, HFU: 0.4}
	form := 1.0 / 128
	r.Pipeline = &engine.Pipeline{Schedule: s.Schedule, Ranks: 2, Stages: 2, MicroBatches: 128, BubbleOverIdeal: form, BubbleOverTotal: form, BubbleClosedForm: &form, Makespan: 19}
	r.Communication = []engine.Communication{{Dimension: "tp", Operation: "all-gather + reduce-scatter", GroupSize: 8, Spans: "node", Bytes: 6000 * units.GB, Seconds: 8, Exposed: 3}}
	r.Assumptions, r.NotModelled = []string{"one thing"}, []string{"another"}
	return s, r
}

func TestRender(t *testing.T) {
	s, r := round()
	golden.RequireEqual(t, Render(&s, &r))
}

// TestMemory checks what the text must say against the report: every rank,
// every term, the sum.
func TestMemory(t *testing.T) {
	for name, change := range map[string]func(*engine.Setup){
		"built-in": func(*engine.Setup) {},
		"ZeRO-3":   func(s *engine.Setup) { s.ZeRO = 3 },
		"too much": func(s *engine.Setup) { s.Cluster.GPU.MemoryUsable = 10 * units.GiB },
		"offload":  func(s *engine.Setup) { s.Offload = recipe.OffloadOptimizer },
	} {
		s := presets.DefaultSetup()
		change(&s)
		r := engine.Evaluate(s)
		text := Render(&s, &r)
		for _, rank := range r.Memory.Ranks {
			total := "Total: " + figure.GiB(rank.Total) + " GiB."
			if rank.Total > r.Memory.Usable {
				total = "Total: " + figure.GiB(rank.Total) + " GiB, too much by " + figure.GiB(rank.Total-r.Memory.Usable) + " GiB."
			}
			for _, want := range []string{
				fmt.Sprintf("Memory of rank %d", rank.Rank), total,
				"Weights: " + figure.GiB(rank.Weights), "Activations: " + figure.GiB(rank.Activations), "driver context",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("%s: no %q in\n%s", name, want, text)
				}
			}
		}
		fits := "It fits"
		if !r.Memory.Fits {
			fits = "It does not fit"
		}
		for _, want := range []string{fits, "Memory over a step", "One dense layer", "Where it stops fitting", "What ZeRO divides"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q", name, want)
			}
		}
		linear(t, text)
	}
}

// TestSaysEachScreen: what Pipeline and Network show is there: every rank with the
// share of its time that it waits, every ratio with its verdict; no heading twice.
func TestSaysEachScreen(t *testing.T) {
	s := presets.DefaultSetup()
	r := engine.Evaluate(s)
	text := Render(&s, &r)
	for i, rank := range r.Timeline.Ranks {
		want := fmt.Sprintf("it waits %s percent", figure.PercentValue(rank.Idle/r.Timeline.Makespan))
		if at := strings.Index(text, fmt.Sprintf("\nRank %d: ", i)); at < 0 || !strings.Contains(strings.SplitN(text[at+1:], "\n", 2)[0], want) {
			t.Errorf("rank %d: no %q in\n%s", i, want, text)
		}
	}
	overlaps := engine.Overlaps(&s, &r)
	for _, o := range overlaps {
		word := map[bool]string{true: "hides", false: "waits"}[o.Ratio <= 1]
		if !strings.Contains(text, fmt.Sprintf("%s, %s, under %s: %s, %s.", o.Dimension, o.Moves, o.Under, ratio(o.Ratio), word)) {
			t.Errorf("%s is not said", o.ID)
		}
	}
	if len(overlaps) < 3 {
		t.Errorf("%d ratios", len(overlaps))
	}
	seen := map[string]bool{}
	for _, block := range strings.Split(text, "\n\n") {
		head, _, _ := strings.Cut(block, "\n")
		if seen[head] {
			t.Errorf("%q stands twice", head)
		}
		seen[head] = true
	}
	linear(t, text)
}

// linear checks that a text is headings and sentences in ASCII, nothing drawn.
func linear(t *testing.T, text string) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.IndexFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) >= 0 || strings.Contains(line, "  ") || strings.HasSuffix(line, " ") {
			t.Errorf("not linear: %q", line)
		}
	}
	blocks := strings.Split(text, "\n\n")
	for _, b := range blocks {
		lines := strings.Split(strings.TrimSuffix(b, "\n"), "\n")
		if strings.HasSuffix(lines[0], ".") || len(lines) < 2 {
			t.Errorf("a block without a heading: %q", b)
		}
		for _, line := range lines[1:] {
			if !strings.HasSuffix(line, ".") {
				t.Errorf("not a sentence: %q", line)
			}
		}
	}
}

// TestAnything: illegal setups, reports without figures, names that would steer
// a terminal, many ranks.
func TestAnything(t *testing.T) {
	s := presets.DefaultSetup()
	illegal := s
	illegal.TP = 7
	r := engine.Evaluate(illegal)
	text := Render(&illegal, &r)
	if !strings.Contains(text, "Illegal\n") || strings.Contains(text, "Fit\n") {
		t.Errorf("illegal:\n%s", text)
	}
	linear(t, text)
	s.Model.Name = "evil\x1b]0;x\x07 × name"
	empty := engine.Report{Legal: true}
	linear(t, Render(&s, &empty))
	many := presets.DefaultSetup()
	many.PP, many.TP, many.DP = 64, 1, 1
	many.GPUs, many.MicroBatches = 64, 64
	many.GBS, many.SP = 64, false
	r = engine.Evaluate(many)
	if !r.Legal {
		t.Fatal(r.Problems)
	}
	text = Render(&many, &r)
	if !strings.Contains(text, "32 ranks between them are left out.") || !strings.Contains(text, "Rank 63:") || !strings.Contains(text, "Memory of rank 63\n") || strings.Contains(text, "Rank 20:") || strings.Contains(text, "rank 20\n") {
		t.Errorf("64 ranks:\n%s", text)
	}
	linear(t, text)
}

// TestFixes: the text of a setup that does not fit says each turn of one knob that
// makes it fit, and where there is none, what tries more.
func TestFixes(t *testing.T) {
	s := presets.DefaultSetup()
	s.PP, s.DP, s.MicroBatches = 1, 8, 64
	r := engine.Evaluate(s)
	fixes := advise.Fixes(s, nil)
	if r.Memory.Fits || len(fixes) == 0 {
		t.Fatalf("fits %v, %d fixes", r.Memory.Fits, len(fixes))
	}
	text := Render(&s, &r)
	for i := range fixes {
		if !strings.Contains(text, "It fits with "+fixes[i].Turns()) {
			t.Errorf("it does not say %s:\n%s", fixes[i].Turns(), text)
		}
	}
	s.Cluster.GPU.MemoryUsable = units.GiB / 8
	r = engine.Evaluate(s)
	if text = Render(&s, &r); strings.Contains(text, "It fits with") || !strings.Contains(text, "No turn of one knob makes it fit") {
		t.Errorf("nothing makes it fit:\n%s", text)
	}
}
