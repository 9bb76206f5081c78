package explore

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

func input(t testing.TB, profile colorprofile.Profile, s engine.Setup, r engine.Report) *screen.Context {
	t.Helper()
	p, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	return &screen.Context{Setup: &s, Report: &r, Theme: p.Resolve(profile), Glyphs: widget.NewGlyphs(true)}
}

// bare is a report with figures that are easy to follow.
func bare() engine.Report {
	form := 3.0 / 32
	rank := func(i int, act units.Bytes) engine.RankMemory {
		return engine.RankMemory{
			Rank: i, Layers: 20, Parameters: 2.2e9, InFlight: 4 - float64(i),
			Weights: 4 * units.GiB, Gradients: 8 * units.GiB, Optimizer: 12 * units.GiB, Activations: act,
			Buffers: units.GiB, Overhead: 2 * units.GiB, Total: 27*units.GiB + act,
		}
	}
	return engine.Report{
		Legal: true,
		Memory: &engine.Memory{
			Capacity: 80 * units.GB, Usable: 79 * units.GiB, Peak: 87 * units.GiB, PeakRank: 0,
			Fit: engine.Over, Evidence: engine.Evidence{
				ErrorBand: 0.09, TypicalError: 0.02,
				ValidatedBy: "first-table",
				Nearest: engine.NearestRuns{
					Title: "first table", Example: "Llama-3 70B on 64 H100",
					Runs: 1, Off: 0.03,
				}, Runs: 12,
			},
			Ranks: []engine.RankMemory{
				rank(0, 60*units.GiB), rank(1, 45*units.GiB), rank(2, 30*units.GiB),
				rank(3, 15*units.GiB),
			},
		},
		Pipeline: &engine.Pipeline{
			Schedule: schedule.OneFOneB, Ranks: 4, Stages: 4, MicroBatches: 32,
			BubbleOverIdeal: 0.1, BubbleOverTotal: 0.09, BubbleClosedForm: &form, Makespan: 10,
		},
		Time: &engine.Time{
			Step: 12, Compute: 8, Recompute: 1, Bubble: 1, Exposed: 1.5, Optimizer: 0.5,
			Evidence: engine.Evidence{
				ErrorBand: 0.18, TypicalError: 0.04, ValidatedBy: "first-table",
				Nearest: engine.NearestRuns{
					Title: "first table", Example: "Llama-3 70B on 64 H100", Runs: 1,
					Off: 0.03,
				}, Runs: 12,
			},
		},
		Throughput: &engine.Throughput{
			TokensPerSecond: 123456, TokensPerSecondPerGPU: 1929,
			ModelTFLOPSPerGPU: 408, MFU: 0.413, HFU: 0.46,
			Evidence: engine.Evidence{
				ErrorBand: 0.18, TypicalError: 0.04, ValidatedBy: "first-table",
				Nearest: engine.NearestRuns{
					Title: "first table", Example: "Llama-3 70B on 64 H100", Runs: 1,
					Off: 0.03,
				}, Runs: 12,
			},
		},
		Communication: []engine.Communication{
			{
				Dimension: "tp", Operation: "all-gather + reduce-scatter", GroupSize: 8, Spans: "node",
				Bytes: 6 * units.GB, Seconds: 3, Exposed: 1.5,
			},
		},
		Assumptions: []string{
			"one thing that is long enough to be wrapped at least once in a narrow panel",
			"another",
		},
		NotModelled: []string{"a third"},
	}
}

func sweepOf(n, current int) Sweep {
	s := Sweep{Label: "TP", Current: current, Usable: 79 * units.GiB}
	for i := range n {
		p := Point{
			Text: strconv.Itoa(1 << i), Known: i != 3, Step: units.Seconds(10 + i*i),
			Peak: units.GiB * units.Bytes(200/(i+1)),
		}
		p.Fits = p.Peak < 79*units.GiB
		s.Points = append(s.Points, p)
	}
	return s
}

// TestPanels draws each panel once in colour.
func TestPanels(t *testing.T) {
	in := input(t, colorprofile.ANSI256, presets.DefaultSetup(), bare())
	before := Vital{Known: true, Peak: 80, MFU: 43, Exposed: 14}
	for name, lines := range map[string][]string{
		"title":   {Title(in, 120)},
		"gauges":  Gauges(in, before, 120, 2),
		"memory":  Memory(in, 0, 66, 8),
		"table":   Memory(in, 0, 80, 16),
		"step":    Step(in, 66, 6),
		"traffic": Traffic(in, 90, 3),
		"assumed": Assumed(in, nil, 50, 10),
		"chart":   Chart(in, sweepOf(6, 2), 66, 12),
		"numbers": Chart(in, sweepOf(9, 7), 46, 3),
		"dimmed": Memory(&screen.Context{
			Setup: in.Setup, Report: in.Report, Theme: in.Theme.Dim(),
			Glyphs: in.Glyphs,
		}, 0, 66, 8),
		"pipeline": Pipeline(in, 0, 66, 3),
	} {
		t.Run(name, func(t *testing.T) { golden.RequireEqual(t, strings.Join(lines, "\n")+"\n") })
	}
}

// TestChartPending: a value whose figures are still being computed is not shown as one without any.
func TestChartPending(t *testing.T) {
	in := input(t, colorprofile.ASCII, presets.DefaultSetup(), bare())
	for _, pending := range []bool{true, false} {
		s := sweepOf(6, 2)
		s.Pending = pending
		text := strings.Join(Chart(in, s, 66, 12), "\n")
		if strings.Contains(text, "n/a") == pending || strings.Contains(text, in.Glyphs.Ellipsis) != pending {
			t.Errorf("pending: %v\n%s", pending, text)
		}
	}
}

// TestWholeSentences: what is assumed is shown in whole sentences, and the number of
// those that have no room is right.
func TestWholeSentences(t *testing.T) {
	in := input(t, colorprofile.ASCII, presets.DefaultSetup(), bare())
	all := append(append([]string{}, in.Report.Assumptions...), in.Report.NotModelled...)
	for h := 3; h < 16; h++ {
		for w := 20; w < 90; w += 5 {
			text := strings.Join(strings.Fields(ansi.Strip(strings.Join(Assumed(in, nil, w, h), " "))), " ")
			shown := 0
			for _, s := range all {
				if strings.Contains(text, in.Glyphs.Dot+" "+s) {
					shown++
				}
			}
			if got := strings.Count(text, in.Glyphs.Dot); got != shown {
				t.Fatalf("%dx%d: %d sentences, %d of them whole: %s", w, h, got, shown, text)
			}
			if second := strings.Contains(text, in.Report.NotModelled[0]); h >= 8 && w >= 45 && !second {
				t.Fatalf("%dx%d: nothing of what is not modelled: %s", w, h, text)
			}
			if left := strconv.Itoa(len(all)-shown) + " more"; shown < len(all) != strings.Contains(text,
				left) {
				t.Fatalf("%dx%d: %d of %d shown: %s", w, h, shown, len(all), text)
			}
		}
	}
}

// TestEverySize: every panel keeps to its size, also where parts of the report
// are missing or not numbers.
func TestEverySize(t *testing.T) {
	wild := bare()
	nan := units.Seconds(math.NaN())
	wild.Time = &engine.Time{Step: nan, Compute: nan, Bubble: nan, Exposed: nan}
	wild.Throughput.MFU = math.Inf(1)
	wild.Memory.Ranks[2].Total = units.Bytes(math.NaN())
	for name, report := range map[string]engine.Report{"plain": bare(), "nothing": {}, "wild": wild} {
		in := input(t, colorprofile.ANSI256, presets.DefaultSetup(), report)
		for w := 10; w < 130; w += 7 {
			for h := 1; h < 24; h += 2 {
				for panel, lines := range map[string][]string{
					"memory": Memory(in, 1, w, h), "pipeline": Pipeline(in, 0, w, h), "step": Step(in, w, h),
					"traffic": Traffic(in, w, h), "assumed": Assumed(in, nil, w, h),
					"chart": Chart(in, sweepOf(12, 5), w, h), "no chart": Chart(in, Sweep{Label: "x"}, w, h),
				} {
					if len(lines) > h {
						t.Fatalf("%s, %s %dx%d: %d lines", name, panel, w, h, len(lines))
					}
					for _, line := range lines {
						if got := ansi.StringWidth(line); got > w {
							t.Fatalf("%s, %s %dx%d: a line of %d cells: %q", name, panel, w, h, got,
								ansi.Strip(line))
						}
					}
				}
			}
		}
	}
}

// TestRanksShown: as many ranks as there are rows, ascending, each once; first,
// last and fullest among them; every rank is on some page.
func TestRanksShown(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(1, 200).Draw(t, "ranks")
		fullest := rapid.IntRange(0, ranks-1).Draw(t, "fullest")
		n := rapid.IntRange(1, 40).Draw(t, "rows")
		seen := map[int]bool{}
		for page := range Pages(ranks, fullest, n) {
			shown := RanksShown(ranks, fullest, page, n)
			if len(shown) != min(n, ranks) || !slices.IsSorted(shown) ||
				len(slices.Compact(slices.Clone(shown))) != len(shown) {
				t.Fatalf("page %d shows %v", page, shown)
			}
			if page > 0 && slices.Equal(shown, RanksShown(ranks, fullest, page-1, n)) {
				t.Fatalf("%d presses show what one less does: %v", page, shown)
			}
			for _, must := range []int{0, ranks - 1, fullest} {
				if n > 3 && !slices.Contains(shown, must) {
					t.Fatalf("page %d misses rank %d: %v", page, must, shown)
				}
			}
			for _, r := range shown {
				seen[r] = true
			}
		}
		if n > 1 && len(seen) != ranks {
			t.Fatalf("%d of %d ranks are on no page", ranks-len(seen), ranks)
		}
	})
}

// TestPage: the current value and its neighbours are in sight.
func TestPage(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		all := rapid.IntRange(1, 60).Draw(t, "all")
		n := rapid.IntRange(1, all).Draw(t, "n")
		current := rapid.IntRange(0, all-1).Draw(t, "current")
		first := page(current, n, all)
		if first < 0 || first+n > all {
			t.Fatalf("first %d of %d shown out of %d", first, n, all)
		}
		low, high := current, current
		if n >= 3 {
			low, high = max(current-1, 0), min(current+1, all-1)
		}
		if low < first || high >= first+n {
			t.Fatalf("%d to %d are not among %d to %d", low, high, first, first+n-1)
		}
	})
}

// TestHiddenRanksAreCounted: the heading says how many ranks have no row, also where it has no room for more.
func TestHiddenRanksAreCounted(t *testing.T) {
	in := input(t, colorprofile.ASCII, presets.DefaultSetup(), bare())
	for _, w := range []int{48, 66} {
		ranks := len(in.Report.Memory.Ranks)
		for rows, mark := range map[int]bool{ranks - 1: true, ranks: false} {
			text := ansi.Strip(Memory(in, 0, w, rows+2)[0])
			if strings.HasSuffix(text, ", +1 rank") != mark {
				t.Errorf("%d of %d ranks in %d cells: %q", rows, ranks, w, text)
			}
		}
	}
}

// TestTrafficNames: the longest dimension and the largest group do not run into what follows.
func TestTrafficNames(t *testing.T) {
	r := bare()
	r.Communication = append(r.Communication,
		engine.Communication{
			Dimension: "expert-dp", Operation: "reduce-scatter", GroupSize: 100000,
			Spans: "cluster", Bytes: 6 * units.GB, Seconds: 1, Exposed: 0.1,
		})
	in := input(t, colorprofile.ASCII, presets.DefaultSetup(), r)
	for _, w := range []int{50, 62, 90} {
		row := ansi.Strip(Traffic(in, w, 3)[2])
		if !strings.HasPrefix(row, "EXPERT-DP  100,000 GPUs  ") {
			t.Errorf("%d cells: %q", w, row)
		}
	}
}

// TestExposedNames: what the step waits for is listed whole, or the rest is counted.
func TestExposedNames(t *testing.T) {
	r := bare()
	r.Communication = nil
	for i, dimension := range []string{"dp", "tp", "ep", "expert-dp", "pp"} {
		c := engine.Communication{Dimension: dimension, Exposed: units.Seconds(i+1) * r.Time.Step / 100}
		r.Communication = append(r.Communication, c)
	}
	in := input(t, colorprofile.ASCII, presets.DefaultSetup(), r)
	for _, test := range []struct {
		w, lines int
		want     string
	}{
		{90, 2, "exposed: PP 600 ms, EXPERT-DP 480 ms, EP 360 ms, TP 240 ms, DP 120 ms"},
		{26, 1, "exposed: PP 600 ms, 4 more"},
		{46, 2, "exposed: PP 600 ms, EXPERT-DP 480 ms, 3 more"},
		{46, 3, "exposed: PP 600 ms, EXPERT-DP 480 ms, EP 360 ms, TP 240 ms, DP 120 ms"},
	} {
		text := strings.Join(why(in, r.Time, r.Throughput, test.w, test.lines), " ")
		if got := strings.Join(strings.Fields(ansi.Strip(text)), " "); got != test.want {
			t.Errorf("%d cells, %d lines: %q, not %q", test.w, test.lines, got, test.want)
		}
	}
}

// TestLegendKeepsEveryTerm: in the panel of the smallest screen the line below the bars has every term that
// a rank has, also where signs are two cells wide.
func TestLegendKeepsEveryTerm(t *testing.T) {
	for _, profile := range []colorprofile.Profile{colorprofile.ASCII, colorprofile.TrueColor} {
		in := input(t, profile, presets.DefaultSetup(), bare())
		gib := func(x float64) units.Bytes { return units.Bytes(x) * units.GiB }
		rank := engine.RankMemory{
			Weights: gib(8.5), Gradients: gib(16.9), Optimizer: gib(3.2), Activations: gib(23.9),
			Buffers: gib(0.5), Overhead: gib(8.1),
		}
		for _, logits := range []units.Bytes{0, units.GiB} {
			rank.Logits = logits
			lines := memoryLegend(in, &rank, 4, 46, 1)
			text := ansi.Strip(strings.Join(lines, "\n"))
			for _, part := range screen.MemoryParts(&rank) {
				value := figure.GiB(units.Bytes(part.Value))
				if part.Value > 0 && !strings.Contains(text, value) {
					t.Errorf("no %s %s in %q", part.Names[0], value, text)
				}
			}
			if len(lines) != 1 || widget.Width(text) != 46 {
				t.Errorf("%d lines of %d cells", len(lines), widget.Width(text))
			}
		}
	}
}

// TestGaugesApart: the figures of the gauges have blanks between them, also where the window is narrow.
func TestGaugesApart(t *testing.T) {
	for w := 58; w <= 120; w++ {
		in := input(t, colorprofile.ASCII, presets.DefaultSetup(), bare())
		text := ansi.Strip(Gauges(in, Vital{}, w, 1)[0])
		for _, name := range []string{" reach", " exposed"} {
			if !strings.Contains(text, name) {
				t.Errorf("%d cells: no blank before%s: %q", w, name, text)
			}
		}
	}
}

// TestTitleNodes: the machine of a bare GPU, which is called its nodes, is not "nodes of ... nodes".
func TestTitleNodes(t *testing.T) {
	s := presets.DefaultSetup()
	gpu, err := presets.Default().GPU("a100-sxm-40g")
	if err != nil {
		t.Fatal(err)
	}
	s.Cluster = presets.Default().NodeOf(gpu)
	for _, w := range []int{80, 120, 200} {
		in := input(t, colorprofile.ASCII, s, bare())
		if text := ansi.Strip(Title(in, w)); strings.Count(text, "nodes") > 1 {
			t.Errorf("%d cells: %q", w, text)
		}
	}
}

// TestHeadlineClauses: what the step loses most time to is a clause of its own where the line has no room for
// the long form, not one behind a comma.
func TestHeadlineClauses(t *testing.T) {
	r := bare()
	r.Time.Recompute, r.Memory.Fit, r.Memory.Peak = r.Time.Step/2, engine.Fits, 60*units.GiB
	for w, want := range map[int]string{
		80: " ±18 %; 50.0 % recomputes activations.", 200: " ±18 %, of which 50.0 % recomputes activations.",
	} {
		text := ansi.Strip(Headline(input(t, colorprofile.ASCII, presets.DefaultSetup(), r), w))
		if !strings.Contains(text, want) {
			t.Errorf("%d cells: %q without %q", w, text, want)
		}
	}
}
