//go:build linux

// Command performance measures every budget of meshscope on this machine and writes
// docs/performance.md. Run it from the project's root, on a machine that does nothing else:
//
//	go run ./docs/performance
//	CALCULON=~/calculon LLM_ANALYSIS=~/llm-analysis SIMULATOR=~/llm-cluster-simulator \
//	  go run ./docs/performance
//
// With the folders of other engines it runs the same evaluation and search in them (peers.py, peers.mts).
package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const output = "docs/performance.md"

// measured are the values of one benchmark by unit: "ns/op", "layouts/cpu-s".
type measured map[string]float64

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "performance:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	values := map[string]measured{}
	for _, b := range benchmarks() {
		fmt.Fprintln(os.Stderr, "measuring", b.folder, b.pattern)
		cmd := exec.CommandContext(ctx, "go", "test", b.folder, "-run", "^$", "-bench", b.pattern,
			"-benchtime", b.time, "-count", b.count) //nolint:gosec // from the table below
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s %s: %w\n%s", b.folder, b.pattern, err, out)
		}
		read(out, values)
	}
	program, size, err := build(ctx)
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(program)) //nolint:errcheck // a leftover temporary file harms nobody
	values["binary"] = measured{"MB": size}
	if values["evaluation"], err = evaluation(); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "measuring the program at rest")
	if values["idle"], err = idle(ctx, program); err != nil {
		return err
	}
	return os.WriteFile(output, []byte(page(values, peers(ctx))), 0o644)
}

// read takes the results out of the output of go test: the best of all runs, which other work on the
// machine disturbs least.
func read(out []byte, values map[string]measured) {
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := fields[0]
		if at := strings.LastIndexByte(name, '-'); at > 0 {
			name = name[:at]
		}
		if values[name] == nil {
			values[name] = measured{}
		}
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			best, ok := values[name][fields[i+1]]
			rate := strings.HasSuffix(fields[i+1], "s") && strings.Contains(fields[i+1], "/") // layouts/cpu-s
			if err == nil && (!ok || v < best != rate) {
				values[name][fields[i+1]] = v
			}
		}
	}
}

// build makes the program as releases have it and returns its size in 10^6 bytes.
func build(ctx context.Context) (program string, size float64, err error) {
	folder, err := os.MkdirTemp("", "meshscope-performance")
	if err != nil {
		return "", 0, err
	}
	program = filepath.Join(folder, "meshscope")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program,
		".") //nolint:gosec // a folder of ours
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", 0, err
	}
	info, err := os.Stat(program)
	if err != nil {
		return "", 0, err
	}
	return program, float64(info.Size()) / 1e6, nil
}

// machine says in one line what was measured on, and whether it had other work.
func machine() (line string, busy bool) {
	cpu := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, after, ok := strings.Cut(string(info), "model name\t: "); ok {
			cpu, _, _ = strings.Cut(after, "\n")
		}
	}
	load := 0.0
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _ = strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	}
	line = fmt.Sprintf("%s, %d cores, %s, %s, load %.3g at the end", strings.TrimSpace(cpu), runtime.NumCPU(),
		runtime.Version(), time.Now().UTC().Format(time.DateOnly), load)
	return line, load > float64(runtime.NumCPU())+1
}
