//go:build linux

package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"meshscope/cli/terminal"
	"meshscope/engine/knob"
)

// BenchmarkTerminalStart is the time from starting the program to its first
// picture, which a person takes for "immediately". Budget: 50 ms.
func BenchmarkTerminalStart(b *testing.B) {
	program := build(b)
	var times []float64
	for b.Loop() {
		start := time.Now()
		screen, err := terminal.Start(b.Context(), terminal.Options{Columns: 160, Rows: 50}, program)
		if err != nil {
			b.Fatal(err)
		}
		for !bytes.Contains(screen.Raw(), []byte("Llama")) && time.Since(start) < terminal.Patience {
			time.Sleep(100 * time.Microsecond)
		}
		times = append(times, float64(time.Since(start).Microseconds())/1000)
		b.StopTimer()
		press(b, screen, "q")
		if _, err := screen.Wait(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(median(times), "ms-to-first-frame")
}

// BenchmarkTerminalSearch is the time to the frame that says that a layout is searched, and to the
// layout. Budgets: 80 and 500 ms.
func BenchmarkTerminalSearch(b *testing.B) {
	program := build(b)
	var said, found []float64
	for b.Loop() {
		start := time.Now()
		screen, err := terminal.Start(b.Context(), terminal.Options{Columns: 160, Rows: 50}, program,
			"--no-state", "--model", "deepseek-v3", "--gpu", "h800-sxm", "--gpus", "2048")
		if err != nil {
			b.Fatal(err)
		}
		for _, step := range []struct {
			text  string
			times *[]float64
		}{{"searching for", &said}, {"MEMORY", &found}} {
			for !bytes.Contains(screen.Raw(), []byte(step.text)) && time.Since(start) < terminal.Patience {
				time.Sleep(100 * time.Microsecond)
			}
			*step.times = append(*step.times, float64(time.Since(start).Microseconds())/1000)
		}
		b.StopTimer()
		press(b, screen, "q")
		if _, err := screen.Wait(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(median(said), "ms-to-the-search")
	b.ReportMetric(median(found), "ms-to-the-layout")
}

// BenchmarkTerminalStep turns every slider there and back at 160x50 and reports
// the bytes that go to the terminal for one step that changes the setup, and the
// memory of the process. Budgets: a median of 5 KB, 10 KB at most, and 64 MB.
func BenchmarkTerminalStep(b *testing.B) {
	screen := open(b, build(b), 160, 50, "COLORTERM=") // 256 colours
	var sent []float64
	press(b, screen, "\x1b[H") // the first knob
	for b.Loop() {
		for range knob.Shown() {
			for _, key := range []string{terminal.Right, terminal.Left, terminal.Left, terminal.Right} {
				before := screen.Written()
				press(b, screen, key)
				screen.AwaitQuiet(frameGap)
				if strings.Contains(note(screen), "→") { // 8 → 4: the setup has changed
					sent = append(sent, float64(screen.Written()-before))
				}
			}
			press(b, screen, terminal.Down)
		}
		press(b, screen, "\x1b[H")
	}
	b.ReportMetric(float64(len(sent)), "steps")
	b.ReportMetric(median(sent), "B/step")
	b.ReportMetric(slices.Max(sent), "max-B/step")
	resident, err := residentMB(screen.PID())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(resident, "MB-resident")
	press(b, screen, "q")
	if _, err := screen.Wait(); err != nil {
		b.Fatal(err)
	}
}

// note is what the last lines say the last turn did; the word on the knob below it takes one line
// or two.
func note(screen *terminal.Terminal) string {
	lines := strings.Split(strings.TrimRight(screen.Text(), "\n "), "\n")
	for _, line := range lines[max(len(lines)-6, 0):max(len(lines)-1, 0)] {
		if strings.Contains(line, "→") {
			return line
		}
	}
	return ""
}

// residentMB is the resident memory of a process, in 10^6 bytes.
func residentMB(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib * 1024 / 1e6, err
		}
	}
	return 0, fmt.Errorf("process %d: no VmRSS", pid)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
