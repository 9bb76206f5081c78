//go:build linux

// Command soak presses a million random keys, clicks, pastes and changes of size in the real
// program, in parts with fixed seeds, and writes what it has watched to docs/soak.md. Run it
// from the project's root; it takes most of an hour:
//
//	go run ./docs/soak
//
// With -class it teaches a class of 50 real SSH clients for an hour instead, and writes the curves into
// docs/class.md.
package main

import (
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	output = "docs/soak.md"
	parts  = 20
	keys   = 50_000 // of a part
)

func main() {
	teach := flag.Bool("class", false, "teach a class instead")
	length := flag.Duration("length", time.Hour, "of the class")
	curve := flag.String("curve", "", "of the class: only write this file, which TestClassSoaks has left")
	flag.Parse()
	soak := run
	if *teach {
		soak = func(ctx context.Context) error { return class(ctx, *length, *curve) }
	}
	if err := soak(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "meshscope-soak")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a leftover temporary file harms nobody
	var rows strings.Builder
	start := time.Now()
	var failed error
	for seed := 1; seed <= parts; seed++ {
		fmt.Fprintln(os.Stderr, "part", seed, "of", parts)
		points, err := part(ctx, filepath.Join(folder, "curve.csv"), seed)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			failed = errors.Join(failed, fmt.Errorf("part %d failed", seed))
			continue
		}
		rows.WriteString(row(seed, points))
	}
	if failed != nil {
		return failed
	}
	return os.WriteFile(output, []byte(page(rows.String(), time.Since(start))),
		0o644) //nolint:gosec // a page of the documentation
}

// point is what a program has after so many keys.
type point struct {
	resident             float64 // MB
	goroutines, restarts int
}

// part presses the keys of one seed and returns the curve.
func part(ctx context.Context, file string, seed int) ([]point, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "./cli", "-count=1", "-timeout", "2h", "-run",
		"^TestTerminalRandomKeys$") //nolint:gosec // numbers only
	cmd.Env = append(os.Environ(), "MESHSCOPE_RANDOM_CURVE="+file,
		fmt.Sprint("MESHSCOPE_RANDOM_SEED=", seed), fmt.Sprint("MESHSCOPE_RANDOM_KEYS=", keys))
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("seed %d: %w\n%s", seed, err, out)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil || len(lines) < 2 {
		return nil, fmt.Errorf("seed %d: no curve: %w", seed, err)
	}
	var points []point
	for _, cells := range lines[1:] {
		var p point
		if p.resident, err = strconv.ParseFloat(cells[1], 64); err != nil {
			return nil, err
		}
		if p.goroutines, err = strconv.Atoi(cells[2]); err != nil {
			return nil, err
		}
		if p.restarts, err = strconv.Atoi(cells[3]); err != nil {
			return nil, err
		}
		points = append(points, p)
	}
	return points, nil
}

// row is a part's line: its curve of memory as bars of an eighth of 100 MB each, first, last
// and highest point, and the most goroutines.
func row(seed int, points []point) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	var curve strings.Builder
	highest, most := 0.0, 0
	for _, p := range points {
		curve.WriteRune(bars[min(int(p.resident/100*float64(len(bars))), len(bars)-1)])
		highest, most = max(highest, p.resident), max(most, p.goroutines)
	}
	first, last := points[0], points[len(points)-1]
	return fmt.Sprintf("| %d | `%s` | %.1f | %.1f | %.1f | %d | %d | %d |\n",
		seed, curve.String(), first.resident, last.resident, highest, last.goroutines, most, last.restarts)
}

func page(rows string, took time.Duration) string {
	return fmt.Sprintf(`# A million random keys

Written by `+"`go run ./docs/soak`"+` on %s: %d parts of %d random keys each with fixed seeds
(every tenth a click, wheel turns, pastes, a change of size after one burst in four) in the
real program in a pseudo-terminal, %s in all.
After each burst of 100 no line is broken or wider than the window; in the end the terminal is restored.
A part fails above 100 MB resident or above 60 goroutines. A bar is the resident memory at
that point, full height being 100 MB; points are 5,000 keys apart.

| seed | memory | first, MB | last, MB | highest, MB | goroutines at the end | most | quit and started again |
| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |
%s`, time.Now().Format(time.DateOnly), parts, keys, took.Round(time.Minute), rows)
}
