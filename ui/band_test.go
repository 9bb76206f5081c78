package ui

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/report/figure"
	"meshscope/ui/screen"
	"meshscope/ui/state"
)

// banded are setups near published runs, far from them, and one too large.
func banded(t *testing.T) map[string]engine.Setup {
	t.Helper()
	stack := recipe.LLMFoundry
	out := map[string]engine.Setup{
		"near": setupOf(t, "llama3.1-8b", "b200-8x-simumax",
			knob.Given{knob.GPUs: 8, knob.TP: 2, knob.PP: 2, knob.GBS: 32, knob.Seq: 4096}),
		"FSDP": setupOf(t, "llama3.1-8b", "dgx-h100",
			knob.Given{
				knob.GPUs: 64, knob.TP: 1, knob.PP: 1, knob.GBS: 64, knob.Calibration: stack,
				knob.Recompute: recipe.Recompute{Mode: recipe.RecomputeFull},
			}),
		"default": presets.DefaultSetup(),
		"far": setupOf(t, "mixtral-8x7b", "aws-trn2",
			knob.Given{knob.GPUs: 64, knob.TP: 1, knob.PP: 4, knob.GBS: 64}),
		"too large": setupOf(t, "llama3.1-405b", "dgx-h100",
			knob.Given{knob.GPUs: 64, knob.TP: 8, knob.PP: 4, knob.GBS: 64}),
	}
	for name, s := range out {
		r := engine.Evaluate(s)
		if !r.Legal || r.Time.ErrorBand <= 0 || r.Memory.ErrorBand <= 0 ||
			r.Time.ErrorBand > 0.4 != (name == "far") {
			t.Fatalf("%s: legal %v, step %s, memory %s", name, r.Legal, r.Time.Words(), r.Memory.Words())
		}
	}
	return out
}

// headline is a line of a screen that must say how exact its figure is.
type headline struct {
	words string // on the line, a regular expression
	peak  bool   // of memory; else of the step
}

func headlines(tab state.Tab) []headline {
	return [tabs][]headline{
		state.ExploreTab: {
			{words: `^ *(fits|tight|over|peak) `, peak: true},
			{words: `(fits|tight|over|peak) .*(MFU|would reach) .*exposed`},
			{words: `MEMORY `, peak: true},
			{words: `PIPELINE `},
			{words: `STEP `},
		},
		MemoryTab:   {{words: `peak \d`, peak: true}},
		PipelineTab: {{words: `PIPELINE `}},
		NetworkTab:  {{words: `IF BANDWIDTH `}},
		SearchTab:   {{words: `BEST LAYOUTS`}},
		CompareTab:  {{words: `CHANGE BY CHANGE`}, {words: `TERM BY TERM`, peak: true}},
		ScanTab:     {{words: `SCAN`}},
		EvidenceTab: {{words: `this setup step`}, {words: `^ +memory `, peak: true}},
	}[tab]
}

// says is whether a line carries the band of a figure, or what represents it.
func (h headline) says(line string, r *engine.Report) bool {
	e := &r.Time.Evidence
	if h.peak {
		e = &r.Memory.Evidence
	}
	return strings.Contains(line, e.Band("±"))
}

// TestEveryScreenSaysHowExact walks all screens, with and without validated
// runs, at every size: no headline goes without its band or its words, and no
// other line shows a headline's figure bare.
func TestEveryScreenSaysHowExact(t *testing.T) {
	setups := banded(t)
	var evidence screen.Screen // compares the published runs once
	for i, name := range slices.Sorted(maps.Keys(setups)) {
		setup := setups[name]
		r := engine.Evaluate(setup)
		sizes := [][2]int{{80, 24}, {100, 30}, {120, 36}, {200, 60}}
		for _, size := range draws.Some(1, slices.Concat(sizes[i:], sizes[:i])...) { // another for each setup
			m := New(Options{
				Setup: setup, Evaluate: engine.Evaluate,
				Env: []string{"TERM=xterm-256color", "LANG=C.UTF-8"},
			})
			if evidence == nil {
				evidence = m.screens.all[EvidenceTab]
			}
			m.screens.all[EvidenceTab] = evidence
			send(m, tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			m.screens.compare.Pin(setup)
			for range int(tabs) {
				finishAll(m, m.refreshScreen())
				finishWork(m)
				where := fmt.Sprintf("%s at %dx%d, %s", tabName(m.state.Tab), size[0], size[1], name)
				checkExact(t, where, m.state.Tab, screenText(m), &r)
				_, cmd := m.Update(press("tab"))
				finishAll(m, cmd)
			}
		}
	}
}

// mark are the signs that a figure says how exact it is.
var mark = regexp.MustCompile(`±`)

// table are rows of a table whose heading carries the band, or of a drawing.
var table = regexp.MustCompile(
	`rank +\d|beyond: |step, m?s|peak, GiB|MFU, %|MFU causal|MFU full|^ *[▸ ]*\d+ *│|at .* step \d|` +
		`fits: rank|peaks at|that fits|GiB over time|─ step 1|^ *0 s |^ *W .* = |: .*, then |same$|` +
		`[+-][\d.]+ (ms|s|GiB)( +[\d.]+)? *$|^ *A  |● *[–✗>\d]+ |[ │▸]\d+ +[\d.]+ m?s +[\d,]+ |` +
		`[▁▂▃▄▅▆▇█▀]`,
)

func checkExact(t *testing.T, where string, tab state.Tab, text string, r *engine.Report) {
	t.Helper()
	lines := strings.Split(text, "\n")
	for _, h := range headlines(tab) {
		words := regexp.MustCompile(h.words)
		if !slices.ContainsFunc(lines,
			func(line string) bool { return words.MatchString(line) && h.says(line, r) }) {
			t.Errorf("%s: no line of %q says how exact it is:\n%s", where, h.words, text)
		}
	}
	bare := []string{
		figure.Seconds(r.Time.Step), figure.Seconds(r.Pipeline.Makespan),
		figure.Percent(r.Throughput.MFU) + " MFU",
		figure.GiB(r.Memory.Peak) + " GiB", figure.GiB(r.Memory.Peak) + " of",
		figure.GiB(r.Memory.Peak) + "/",
	}
	for _, line := range lines {
		for _, value := range bare {
			if strings.Contains(line, value) && !mark.MatchString(line) && !table.MatchString(line) {
				t.Errorf("%s: %q stands bare in %q", where, value, strings.TrimSpace(line))
			}
		}
	}
}
