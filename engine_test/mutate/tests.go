package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Verdicts on a mutant.
const (
	killed    = "found"
	slow      = "found, by time"
	lived     = "lived"
	same      = "lived, the same in all tests"
	unreached = "reached by no test"
)

// test is a test function of a binary. What it takes is time of a processor, so that a busy
// machine changes no verdict.
type test struct {
	binary, folder, name string
	takes                time.Duration
	// numbers of the sites that it reaches, and of the mutants that differ there
	reached, differs map[int]bool
	found            int // mutants that it found so far
}

// bench are the tests, and how long those of one mutant may take together.
type bench struct {
	mu    sync.Mutex
	tests []*test
	most  time.Duration
}

// tested are the packages whose tests are run: those of the engine, and those that hold its numbers
// against published runs and files.
func tested() []string {
	return []string{"./engine_test", "./engine/...", "./presets", "./presets/published", "./report"}
}

// measure builds the tests and runs each alone. One that fails without a mutant, as
// those do that look at the source or count allocations, is left out and named.
func measure(ctx context.Context, tree string, which *regexp.Regexp, jobs int) ([]*test, error) {
	tidy := exec.CommandContext(ctx, "go", "vet", "./engine/mutant")
	tidy.Dir = tree
	if out, err := tidy.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	all, err := build(ctx, tree)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(t *test) bool { return !which.MatchString(t.name) })
	var group errgroup.Group
	group.SetLimit(jobs)
	for i := range all {
		group.Go(func() error { return all[i].measure(ctx, filepath.Join(tree, fmt.Sprint("trace", i))) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(t *test) bool { return t.takes == 0 }), nil
}

// build builds the tests and lists them.
func build(ctx context.Context, tree string) (tests []*test, err error) {
	list := exec.CommandContext(ctx, "go",
		append([]string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}"},
			tested()...)...) //nolint:gosec // names from above
	list.Dir = tree
	out, err := list.Output()
	if err != nil {
		return nil, err
	}
	binaries := filepath.Join(tree, "tests") + string(filepath.Separator)
	compile := exec.CommandContext(ctx, "go", append([]string{"test", "-c", "-vet=off", "-o", binaries},
		tested()...)...) //nolint:gosec // as above
	compile.Dir = tree
	if out, err := compile.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	for folder := range strings.FieldsSeq(string(out)) {
		binary := binaries + filepath.Base(folder) + ".test"
		names := exec.CommandContext(ctx, binary, "-test.list",
			"^(Test|Fuzz|Example)") //nolint:gosec // as above
		names.Dir = folder
		out, err := names.Output()
		if err != nil {
			return nil, err
		}
		for name := range strings.FieldsSeq(string(out)) {
			tests = append(tests, &test{binary: binary, folder: folder, name: name})
		}
	}
	return tests, nil
}

// measure runs a test without a mutant. It takes nothing if it fails.
func (t *test) measure(ctx context.Context, trace string) error {
	takes, _, err := t.run(ctx, []string{t.name}, 10*time.Minute, "MUTANT_TRACE="+trace)
	if err != nil {
		fmt.Fprintln(os.Stderr, "left out:", filepath.Base(t.folder), t.name)
		return nil
	}
	t.takes = max(takes, 1)
	t.reached, t.differs, err = readTrace(trace)
	return err
}

// readTrace reads the numbers of the sites and of the mutants in a trace.
func readTrace(file string) (reached, differs map[int]bool, err error) {
	reached, differs = map[int]bool{}, map[int]bool{}
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return reached, differs, nil
	}
	for line := range strings.Lines(string(text)) {
		what, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			return nil, nil, err
		}
		if what == "reached" {
			reached[n] = true
		} else {
			differs[n] = true
		}
	}
	return reached, differs, err
}

// run runs tests of one binary, with what is given added to the environment, in at most 6 GB and
// for at most the time of a processor that is given; one that only waits is stopped too. It
// returns the time that it took and the name of the test that failed first.
func (t *test) run(ctx context.Context, names []string, limit time.Duration,
	env ...string,
) (took time.Duration, failed string, err error) {
	ctx, stop := context.WithTimeout(ctx, time.Minute+20*limit)
	defer stop()
	shell := fmt.Sprintf(`ulimit -v 6000000; ulimit -t %d; exec "$@"`, int(math.Ceil(limit.Seconds())))
	cmd := exec.CommandContext(ctx, "sh", "-c", shell, "sh", t.binary, "-test.failfast", "-test.run",
		"^("+strings.Join(names, "|")+")$") //nolint:gosec // names of tests
	cmd.Dir, cmd.Env = t.folder, append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if cmd.ProcessState == nil {
		return 0, "", err
	}
	took = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if ctx.Err() != nil || err != nil && took >= limit {
		return took, "", errSlow
	}
	if _, after, ok := strings.Cut(out.String(), "--- FAIL: "); ok {
		failed, _, _ = strings.Cut(after, " ")
	}
	return took, failed, err
}

var errSlow = errors.New("too slow")

// try runs the tests in which a mutant differs, in waves of growing length, until one fails or
// they have taken what is allowed. The first are those that found most mutants in their time
// before. The second result is the test that found it.
func (b *bench) try(ctx context.Context, m mutant) (verdict, by string) {
	verdict = unreached
	var left []*test
	b.mu.Lock()
	for _, t := range b.tests {
		if t.reached[m.site.first] && verdict == unreached {
			verdict = same
		}
		if t.differs[m.id] {
			left, verdict = append(left, t), lived
		}
	}
	slices.SortStableFunc(left, func(x, y *test) int { return cmp.Compare(y.worth(), x.worth()) })
	b.mu.Unlock()
	var all time.Duration
	for wave := 200 * time.Millisecond; len(left) > 0 && all < b.most; wave *= 4 {
		var sum time.Duration
		now := map[string][]*test{}
		for len(left) > 0 && sum < wave {
			t := left[0]
			left, sum, now[t.binary] = left[1:], sum+t.takes, append(now[t.binary], t)
		}
		all += sum
		for _, binary := range slices.Sorted(maps.Keys(now)) {
			var names []string
			limit := 3 * time.Second
			for _, t := range now[binary] {
				names = append(names, t.name)
				limit += 20 * t.takes
			}
			_, failed, err := now[binary][0].run(ctx, names, limit, fmt.Sprint("MUTANT=", m.id))
			switch {
			case errors.Is(err, errSlow):
				return slow, ""
			case err != nil:
				b.won(binary, failed)
				return killed, failed
			}
		}
	}
	return verdict, ""
}

// won counts a mutant for the test that found it.
func (b *bench) won(binary, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.tests {
		if t.binary == binary && t.name == name {
			t.found++
		}
	}
}

// worth says how early a test is tried.
func (t *test) worth() float64 { return (1 + float64(t.found)) / (0.02 + t.takes.Seconds()) }
