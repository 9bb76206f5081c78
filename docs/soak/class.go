//go:build linux

package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// classPage is where the soak of a class is told, between these marks.
const (
	classPage  = "docs/class.md"
	classBegin = "<!-- written by go run ./docs/soak -class -->\n"
	classEnd   = "<!-- end -->\n"
)

// class teaches 50 students for so long and writes what was watched into the page on classes. With a curve
// that an earlier run has left it only writes.
func class(ctx context.Context, length time.Duration, curve string) error {
	if curve == "" {
		file, err := os.CreateTemp("", "meshscope-class-*.csv")
		if err != nil {
			return err
		}
		_ = file.Close()
		curve = file.Name()
		defer os.Remove(curve) //nolint:errcheck // a leftover temporary file harms nobody
		cmd := exec.CommandContext(ctx, "go", "test", "./serve/room", "-count=1", "-timeout", "0", "-v",
			"-run", "^TestClassSoaks$") //nolint:gosec // no input
		cmd.Env = append(os.Environ(), "MESHSCOPE_SOAK="+length.String(), "MESHSCOPE_SOAK_CURVE="+curve)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return err
		}
	}
	minutes, err := readMinutes(curve)
	if err != nil {
		return err
	}
	page, err := os.ReadFile(classPage)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(page), classBegin)
	_, after, ends := strings.Cut(rest, classEnd)
	if !begins || !ends {
		return errors.New(classPage + " has no place for it")
	}
	return os.WriteFile(classPage, []byte(before+classBegin+classText(minutes)+classEnd+after),
		0o644) //nolint:gosec // a page of the documentation
}

// minute is what a server has and has done in a minute.
type minute struct{ memory, goroutines, cpu, sent float64 }

func readMinutes(file string) ([]minute, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	var minutes []minute
	for _, cells := range lines {
		var m minute
		for i, to := range []*float64{&m.memory, &m.goroutines, &m.cpu, &m.sent} {
			if *to, err = strconv.ParseFloat(cells[i], 64); err != nil {
				return nil, err
			}
		}
		minutes = append(minutes, m)
	}
	if len(minutes) < 4 {
		return nil, errors.New("a curve needs 4 minutes")
	}
	return minutes, nil
}

// classText tells the minutes: a line for each quarter and the curves.
func classText(minutes []minute) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d minutes, 50 OpenSSH followers, a key of the presenter every 2 s; each minute one "+
		"student logs out and in\nagain, and another one explores and comes back. A bar is a minute.\n\n",
		len(minutes))
	b.WriteString("| of the server | curve | full height | mean of the quarters | most |\n| --- | --- | " +
		"---: | --- | ---: |\n")
	row := func(name, form string, full float64, of func(minute) float64) {
		values := make([]float64, len(minutes))
		for i, m := range minutes {
			values[i] = of(m)
		}
		fmt.Fprintf(&b, "| %s | `%s` | %.0f | %s | "+form+" |\n", name, bars(values, full), full,
			quarters(values, form), slices.Max(values))
	}
	row("memory, MB", "%.0f", 300, func(m minute) float64 { return m.memory })
	row("goroutines", "%.0f", 1000, func(m minute) float64 { return m.goroutines })
	row("processor, % of a core", "%.1f", 20, func(m minute) float64 { return m.cpu })
	row("sent to all clients, MB", "%.1f", 5, func(m minute) float64 { return m.sent })
	return b.String()
}

// bars draws a curve in eighths of its full height.
func bars(values []float64, full float64) string {
	marks := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, v := range values {
		b.WriteRune(marks[min(int(v/full*float64(len(marks))), len(marks)-1)])
	}
	return b.String()
}

// quarters tells the mean of each quarter of a curve.
func quarters(values []float64, form string) string {
	var out []string
	for k := range 4 {
		part := values[len(values)*k/4 : len(values)*(k+1)/4]
		sum := 0.0
		for _, v := range part {
			sum += v
		}
		out = append(out, fmt.Sprintf(form, sum/float64(len(part))))
	}
	return strings.Join(out, ", ")
}
