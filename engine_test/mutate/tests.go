package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Verdicts on a mutant.
const (
	killed    = "found"
	slow      = "found, by time"
	lived     = "lived"
	unreached = "reached by no test"
)

// test is a test function of a binary.
type test struct {
	binary, folder, name string
	takes                time.Duration
	sites                map[int]bool // numbers of the sites that it reaches
}

// tested are the packages whose tests are run: those of the engine, and those that hold its numbers
// against published runs, files and screens.
func tested() []string {
	return []string{"./engine_test", "./engine/...", "./presets/...", "./report/...", "./lessons", "./launch/...", "./ui/screens/..."}
}

// measure builds the tests and runs each alone. One that fails without a mutant, as
// those do that look at the source or count allocations, is left out and named.
func measure(ctx context.Context, tree string) ([]test, error) {
	tidy := exec.CommandContext(ctx, "go", "vet", "./engine/mutant")
	tidy.Dir = tree
	if out, err := tidy.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}"}, tested()...)...) //nolint:gosec // names from above
	list.Dir = tree
	out, err := list.Output()
	if err != nil {
		return nil, err
	}
	var tests []test
	for i, folder := range strings.Fields(string(out)) {
		binary := filepath.Join(tree, fmt.Sprintf("test%d", i))
		build := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, ".") //nolint:gosec // names that are made here
		build.Dir = folder
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", folder, err, out)
		}
		names := exec.CommandContext(ctx, binary, "-test.list", "^(Test|Fuzz|Example)") //nolint:gosec // as above
		names.Dir = folder
		out, err := names.Output()
		if err != nil {
			return nil, err
		}
		for name := range strings.FieldsSeq(string(out)) {
			t := test{binary: binary, folder: folder, name: name}
			trace := filepath.Join(tree, "trace")
			if err := os.Remove(trace); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
			start := time.Now()
			if err := t.run(ctx, []string{name}, 10*time.Minute, "MUTANT_TRACE="+trace); err != nil {
				fmt.Fprintln(os.Stderr, "left out:", filepath.Base(folder), name)
				continue
			}
			t.takes = time.Since(start)
			if t.sites, err = reached(trace); err != nil {
				return nil, err
			}
			tests = append(tests, t)
		}
	}
	byTime(tests)
	return tests, nil
}

// reached reads the numbers in a trace.
func reached(file string) (map[int]bool, error) {
	out := map[int]bool{}
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return out, nil
	}
	for line := range strings.FieldsSeq(string(text)) {
		n, err := strconv.Atoi(line)
		if err != nil {
			return nil, err
		}
		out[n] = true
	}
	return out, err
}

// run runs tests of one binary, with what is given added to the environment, in at most 6 GB.
func (t *test) run(ctx context.Context, names []string, limit time.Duration, env ...string) error {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	cmd := exec.CommandContext(ctx, "sh", "-c", `ulimit -v 6000000; exec "$@"`, "sh", t.binary, "-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$") //nolint:gosec // names of tests
	cmd.Dir, cmd.Env = t.folder, append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// try runs the tests that reach a mutant, in waves: those that are quick together in one process
// for each binary.
func try(ctx context.Context, tests []test, m mutant) string {
	var waves []map[string][]*test
	var sum time.Duration
	wave := map[string][]*test{}
	some := false
	for i := range tests {
		t := &tests[i]
		if !t.sites[m.site.first] {
			continue
		}
		some = true
		wave[t.binary] = append(wave[t.binary], t)
		if sum += t.takes; sum > time.Second<<(2*len(waves)) {
			waves, wave, sum = append(waves, wave), map[string][]*test{}, 0
		}
	}
	if !some {
		return unreached
	}
	for _, w := range append(waves, wave) {
		for _, binary := range slices.Sorted(maps.Keys(w)) {
			var names []string
			limit := 20 * time.Second
			for _, t := range w[binary] {
				names = append(names, t.name)
				limit += 20 * t.takes
			}
			err := w[binary][0].run(ctx, names, limit, fmt.Sprint("MUTANT=", m.id))
			switch {
			case errors.Is(err, context.DeadlineExceeded):
				return slow
			case err != nil:
				return killed
			}
		}
	}
	return lived
}
