// Command mutate says how much of the engine its tests really test: it changes one operator of
// engine/ at a time, and counts for how many of these mutants a test fails. Run it from the project's root:
//
//	go run ./engine_test/mutate -n 1000 -seed 1
//
// The mutations are those that github.com/go-gremlins/gremlins makes by default: + for - and * for
// / (and the other way round, % to *), < for <= and so on, the opposite of a comparison, ++ for --,
// and a minus sign left out. It builds every test once with all drawn mutants in it, of which an
// environment variable turns one on, runs of the tests those in which a mutant's value is another
// one, those that found many mutants in little time first, and stops at the first failure, or when
// they have taken what -most allows. What takes twenty times as long as
// without a mutant counts as a failure, as it would to who waits for it. With -mutant and -test, both
// regular expressions, it tries only some of the drawn mutants with some of the tests.
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// options are what the command line asks for.
type options struct {
	n, jobs      int
	seed         uint64
	most         time.Duration
	mutant, test *regexp.Regexp
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 1000, "how many mutants are drawn")
	flag.Uint64Var(&o.seed, "seed", 1, "of the draw")
	flag.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "mutants that are tried at once")
	flag.DurationVar(&o.most, "most", 10*time.Second,
		"what the tests of a mutant may take; if they have not found it then, it lived")
	mutant := flag.String("mutant", "", "the drawn mutants to try, as file:line and change")
	test := flag.String("test", "", "the tests to try them with")
	flag.Parse()
	o.mutant, o.test = regexp.MustCompile(*mutant), regexp.MustCompile(*test)
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	folder, err := os.MkdirTemp("", "meshscope-mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a leftover temporary file harms nobody
	tree := filepath.Join(folder, "tree")
	if err := copyTree(tree); err != nil {
		return err
	}
	if shared, err := filepath.Abs("../shared"); err == nil {
		if err := os.Symlink(shared, filepath.Join(folder, "shared")); err != nil {
			return err
		}
	}
	sites, err := find(ctx, tree)
	if err != nil {
		return err
	}
	all := mutants(sites)
	total := len(all)
	rand.New(rand.NewPCG(o.seed, 0)).Shuffle(len(all),
		func(i, j int) { all[i], all[j] = all[j], all[i] }) //nolint:gosec // the same mutants for a seed
	drawn := slices.DeleteFunc(all[:min(o.n, len(all))],
		func(m mutant) bool { return !o.mutant.MatchString(m.String()) })
	if err := write(tree, sites, drawn); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d mutants of %d are tried; building the tests\n", len(drawn), total)
	tests, err := measure(ctx, tree, o.test, o.jobs)
	if err != nil {
		return err
	}
	b := bench{tests: tests, most: o.most}
	verdicts := make([]string, len(drawn))
	var wg sync.WaitGroup
	next := make(chan int)
	for range o.jobs {
		wg.Go(func() {
			for i := range next {
				var by string
				verdicts[i], by = b.try(ctx, drawn[i])
				fmt.Fprintf(os.Stderr, "%4d %s\t%s\t%s\n", i+1, verdicts[i], drawn[i], by)
			}
		})
	}
	for i := range drawn {
		next <- i
	}
	close(next)
	wg.Wait()
	print(drawn, verdicts)
	return nil
}

// print writes the counts, and the mutants that no test found.
func print(drawn []mutant, verdicts []string) {
	counts := map[string]int{}
	var left []string
	for i, v := range verdicts {
		counts[v]++
		if v != killed && v != slow {
			left = append(left, v+"\t"+drawn[i].String())
		}
	}
	slices.Sort(left)
	fmt.Println(strings.Join(left, "\n"))
	found := counts[killed] + counts[slow]
	fmt.Printf("%d mutants: %d found (%d of them by time), %d lived, %d more are the same in all tests, %d "+
		"are reached by no test: %.1f %% found\n",
		len(drawn), found, counts[slow], counts[lived], counts[same], counts[unreached],
		100*float64(found)/float64(max(1, len(drawn))))
}

// copyTree copies what is under version control.
func copyTree(to string) error {
	out, err := exec.CommandContext(context.Background(), "git", "ls-files", "-z").Output()
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target),
			0o755); err != nil { //nolint:gosec // a copy of the source
			return err
		}
		if err := os.WriteFile(target, text, fs.FileMode(0o644)); err != nil { //nolint:gosec // as above
			return err
		}
	}
	return nil
}
