//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"time"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
)

// peer is another engine: how it is run on the same work, and what came out.
type peer struct {
	name, folder string // folder is the environment variable with its checkout
	command      []string
	result       result
	skipped      string // why there is no result
}

// result is what a peer's script prints as JSON.
type result struct {
	Evaluation float64 `json:"evaluation_us"`     // of GPT-3 175B on 64 A100, TP 8, PP 8
	Search     float64 `json:"search_per_second"` // setups that its search looks at, 0: it has none
	Searched   string  `json:"searched"`
}

// peers runs the engines that the user has.
func peers(ctx context.Context) []peer {
	all := []peer{
		{
			name: "Calculon (calculon-ai/calculon)", folder: "CALCULON",
			command: []string{"python3", "docs/performance/peers.py", "calculon"},
		},
		{
			name: "llm-analysis (cli99/llm-analysis)", folder: "LLM_ANALYSIS",
			command: []string{"python3", "docs/performance/peers.py", "llm-analysis"},
		},
		{
			name: "browser simulator (zhebrak/llm-cluster-simulator)", folder: "SIMULATOR",
			command: []string{"node", "--experimental-strip-types", "docs/performance/peers.mts"},
		},
	}
	for i := range all {
		p := &all[i]
		folder := os.Getenv(p.folder)
		if folder == "" {
			p.skipped = "skipped: " + p.folder + " does not name its folder"
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring", p.name)
		cmd := exec.CommandContext(ctx, p.command[0],
			append(p.command[1:], folder)...) //nolint:gosec // what the user named
		out, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(out, &p.result)
		}
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			lines := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
			err = errors.New(lines[len(lines)-1])
		}
		if err != nil {
			p.skipped = "failed: " + err.Error()
		}
	}
	return all
}

// compared is the setup that every engine evaluates.
const compared = `{"model":"gpt3-175b","cluster":"dgx-a100","gpus":64,"tp":8,"pp":8,` +
	`"vpp":3,"mbs":1,"gbs":64,` +
	`"seq":2048,"recompute":"selective"}`

// evaluation returns the microseconds of one full evaluation, the best of many.
func evaluation() (measured, error) {
	doc, err := setupdoc.Parse("", []byte(compared))
	if err != nil {
		return nil, err
	}
	setup, err := doc.AsStated().Setup(presets.Default())
	if err != nil {
		return nil, err
	}
	var e engine.Evaluator
	const runs, each = 200, 50
	best := math.Inf(1)
	for range runs {
		start := time.Now()
		for range each {
			if r := e.Evaluate(setup); !r.Legal {
				return nil, fmt.Errorf("illegal: %+v", r.Problems)
			}
		}
		best = min(best, float64(time.Since(start).Microseconds())/each)
	}
	return measured{"us": best}, nil
}

// comparison returns the part of the page on other engines.
func comparison(values map[string]measured, others []peer) string {
	var out strings.Builder
	out.WriteString("\n## Next to other engines\n\nThe same two jobs on the same machine: one full " +
		"evaluation of GPT-3 175B on 64 A100 " +
		"(TP 8, PP 8), and a search of the layouts of a 70B model on 64 H100. A setup counts once the " +
		"engine's search has decided on it: " +
		"meshscope decides on most by a lower bound, and evaluates the rest in full.\n\n" +
		"| engine | evaluation | setups a second in a search | |\n| --- | --- | --- | --- |\n")
	s, evaluation := values["BenchmarkSearch/llama3.1-70b/64"], values["evaluation"]["us"]
	fmt.Fprintf(&out, "| meshscope | %s | %s | %s layouts in %s ms, %s evaluated in full |\n",
		figure(evaluation, "us"), figure(s["layouts"]/(s["ns/op"]/1e9), ""),
		figure(s["layouts"], ""), figure(s["ns/op"]/1e6, ""), figure(s["evaluated"], ""))
	for _, p := range others {
		took, found := "", ""
		if p.skipped == "" {
			took = figure(p.result.Evaluation, "us")
			found = "has no search"
			if p.result.Search > 0 {
				found = figure(p.result.Search, "")
			}
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", p.name, took, found, p.skipped+p.result.Searched)
	}
	out.WriteString("\nTo measure another engine, give its checkout: `CALCULON=`, `LLM_ANALYSIS=`, " +
		"`SIMULATOR=` and the folder, before " +
		"`go run ./docs/performance`. It needs what that engine needs (Python with its packages, Node 22 " +
		"or newer).\n")
	return out.String()
}
