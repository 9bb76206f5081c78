//go:build linux

package main

import (
	"fmt"
	"strings"

	"meshscope/engine/record"
)

// benchmark is several runs of go test -bench.
type benchmark struct{ folder, pattern, time, count string }

func benchmarks() []benchmark {
	return []benchmark{
		{"./engine_test", "^BenchmarkEvaluate$/^p16m64$", "20ms", "50"},
		{"./engine_test", "^BenchmarkSearchRank$/^llama3.1-70b$", "100ms", "10"},
		{"./engine_test", "^BenchmarkSearch$/^llama3.1-70b$", "1x", "30"},
		{"./ui/screens/pipeline", "^BenchmarkTimeline(Cold|Times)$", "1x", "50"},
		{"./ui", "^BenchmarkKeyPress$/^160x50$", "10ms", "30"},
		{"./cli", "^BenchmarkTerminalStart$", "3x", "10"},
		{"./cli", "^BenchmarkTerminalSearch$", "1x", "10"},
		{"./cli", "^BenchmarkTerminalStep$", "1x", "1"},
	}
}

// budget is one promise: a value of a benchmark, in a unit that people read.
type budget struct {
	what, from, metric string
	scale              float64 // from the benchmark's unit
	unit               string
	limit              float64
	atLeast            bool
}

func budgets() []budget {
	return []budget{
		{
			"evaluation, 16 stages x 64 micro-batches", "BenchmarkEvaluate/p16m64", "ns/op", 1e-3, "us", 30,
			false,
		},
		{
			"ranking pass of the search, layouts per CPU second", "BenchmarkSearchRank/llama3.1-70b/64",
			"layouts/cpu-s", 1, "", 1e6, true,
		},
		{
			"timeline of 262,144 operations: order, simulate, draw", "BenchmarkTimelineCold", "ns/op", 1e-6,
			"ms", 8, false,
		},
		{"the same where only times changed", "BenchmarkTimelineTimes", "ns/op", 1e-6, "ms", 5, false},
		{"key press to finished frame, 160x50", "BenchmarkKeyPress/160x50", "ns/op", 1e-6, "ms", 8, false},
		{"start to first frame", "BenchmarkTerminalStart", "ms-to-first-frame", 1, "ms", 50, false},
		{
			"start to the frame that says that a layout is searched", "BenchmarkTerminalSearch",
			"ms-to-the-search", 1, "ms", 80, false,
		},
		{
			"start to the layout that search finds, DeepSeek-V3 on 2,048 GPUs", "BenchmarkTerminalSearch",
			"ms-to-the-layout", 1, "ms", 500, false,
		},
		{
			"bytes to the terminal for one turn, 160x50, median", "BenchmarkTerminalStep", "B/step", 1, "B",
			5000, false,
		},
		{"the same, most", "BenchmarkTerminalStep", "max-B/step", 1, "B", 10000, false},
		{
			"resident memory after turning every knob", "BenchmarkTerminalStep", "MB-resident", 1, "MB", 64,
			false,
		},
		{"processor at rest, share of a core", "idle", "%", 1, "%", 1, false},
		{"binary", "binary", "MB", 1, "MB", 29, false},
	}
}

// page returns docs/performance.md.
func page(values map[string]measured, others []peer) string {
	var out strings.Builder
	line, busy := machine()
	out.WriteString("# Performance\n\nWritten by `go run ./docs/performance` on one machine: " + line +
		".\n" +
		"Each figure is the best of several short runs; other work on the machine makes them longer all " +
		"the same.\n\n")
	if busy {
		out.WriteString("The machine was busy during this run (see its load): times are too long, and a " +
			"budget missed here may be kept on a quiet one.\n\n")
	}
	out.WriteString("## Budgets\n\n| what | budget | measured | |\n| --- | --- | --- | --- |\n")
	for _, b := range budgets() {
		v, ok := values[b.from][b.metric]
		v *= b.scale
		sign, verdict := "at most", "kept"
		if b.atLeast {
			sign = "at least"
		}
		got := figure(v, b.unit)
		switch {
		case !ok:
			got, verdict = "not measured", ""
		case b.atLeast && v < b.limit, !b.atLeast && v > b.limit:
			verdict = "**missed**"
		}
		fmt.Fprintf(&out, "| %s | %s %s | %s | %s |\n", b.what, sign, figure(b.limit, b.unit), got, verdict)
	}
	out.WriteString("\nEach row is a benchmark: `go test FOLDER -run '^$' -bench NAME`, named in " +
		"`docs/performance/budgets.go`.\n")
	out.WriteString("No test fails for being slow.\n")
	out.WriteString(comparison(values, others))
	return out.String()
}

// figure writes a value with three digits and its unit.
func figure(v float64, unit string) string {
	text := fmt.Sprintf("%.3g", v)
	if v >= 1000 {
		text = record.Thousands(fmt.Sprintf("%.0f", v))
	}
	return strings.TrimSpace(text + " " + unit)
}
