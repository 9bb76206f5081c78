// Command differential holds one build of meshscope against another: it puts
// the same random questions to both programs and compares the answers, numbers
// to the last bit and texts apart from numbers.
//
//	go build -o /tmp/before . # in a checkout of the version before
//	go run ./engine_test/differential -before /tmp/before -after /tmp/after
//
// It exits with 1 where a number, a key, an exit code or the shape of a document
// differs; other texts are counted and shown, but are no failure. With -within 1e-9 numbers
// may differ by that share, as sums in another order do; bytes and whole numbers may not.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.before, "before", "", "the program as it was")
	flag.StringVar(&o.after, "after", "", "the program as it is")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the random questions")
	flag.IntVar(&o.setups, "setups", 20_000, "random setups through eval --batch")
	flag.IntVar(&o.searches, "searches", 300, "random searches")
	flag.IntVar(&o.pairs, "pairs", 300, "random comparisons, and as many scans")
	flag.IntVar(&o.explained, "explained", 30, "setups of which every figure is explained")
	flag.Float64Var(&o.within, "within", 0,
		"share by which numbers may differ, but for bytes and whole numbers")
	flag.IntVar(&o.shown, "shown", 5, "differences shown of each kind")
	flag.Parse()
	if o.before == "" || o.after == "" {
		flag.Usage()
		os.Exit(2)
	}
	failed, err := o.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if failed {
		os.Exit(1)
	}
}

type options struct {
	before, after                             string
	seed                                      uint64
	setups, searches, pairs, explained, shown int
	within                                    float64
}

// run asks every question and prints a line per group.
func (o *options) run() (failed bool, err error) {
	r := rand.New(rand.NewPCG(o.seed, 0))
	draw, err := newDrawer(o.before, r)
	if err != nil {
		return false, err
	}
	groups := []struct {
		name string
		ask  []question
	}{
		{"eval --batch", draw.batches(o.setups)},
		{"search", draw.searches(o.searches)},
		{"compare", draw.comparisons(o.pairs)},
		{"scan", draw.scans(o.pairs)},
		{"timeline", draw.timelines()},
		{"validate", []question{
			{args: []string{"validate", "--json", "--rows"}},
			{args: []string{"validate", "--json"}},
		}},
		{"presets", draw.presets()},
		{"explain", draw.explanations(o.explained)},
		{"advise", draw.advice(o.explained)},
	}
	for _, g := range groups {
		start := time.Now()
		t := tally{codes: map[int]int{}, within: o.within}
		for _, q := range g.ask {
			a, b := q.put(o.before), q.put(o.after)
			t.add(q, a, b)
		}
		fmt.Printf("%-13s %6d questions, exit codes %v, %7d documents, %9d values: %d differ, %d texts "+
			"differ, %.0f s\n",
			g.name, len(g.ask), t.codes, t.documents, t.values, t.numbers.count, t.texts.count,
			time.Since(start).Seconds())
		t.numbers.show("  DIFFERS", o.shown)
		t.texts.show("  text", o.shown)
		failed = failed || t.numbers.count > 0
	}
	return failed, nil
}

// question is one call of the program.
type question struct {
	args    []string
	input   string
	figures bool // an explanation: see tally.figures
	plain   bool // not JSON: compared as text without what words may change, so as numbers only
}

func (q *question) String() string { return "meshscope " + strings.Join(q.args, " ") }

// answer is what it gave.
type answer struct {
	code   int
	output string
}

func (q *question) put(program string) answer {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, q.args...)
	cmd.Stdin = strings.NewReader(q.input)
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState == nil {
		return answer{code: -1, output: err.Error()}
	}
	return answer{code: cmd.ProcessState.ExitCode(), output: string(out)}
}

// differences are counted by where they are.
type differences struct {
	count int
	by    map[string]int
	first map[string]string
}

func (d *differences) add(where, what string) {
	if d.by == nil {
		d.by, d.first = map[string]int{}, map[string]string{}
	}
	d.count++
	if d.by[where]++; d.by[where] == 1 {
		d.first[where] = what
	}
}

func (d *differences) show(label string, most int) {
	var places []string
	for where := range d.by {
		places = append(places, where)
	}
	slices.SortFunc(places, func(a, b string) int {
		if d.by[a] != d.by[b] {
			return d.by[b] - d.by[a]
		}
		return strings.Compare(a, b)
	})
	for i, where := range places {
		if i == most {
			fmt.Printf("%s: %d more places\n", label, len(places)-most)
			break
		}
		fmt.Printf("%s %d x %s: %s\n", label, d.by[where], where, d.first[where])
	}
}
