//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"meshscope/cli/terminal"
)

// idle starts the explorer, leaves it alone and returns what it takes of a core and how often it
// wakes up.
func idle(ctx context.Context, program string) (measured, error) {
	home, err := os.MkdirTemp("", "meshscope-home")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home) //nolint:errcheck // a leftover temporary folder harms nobody
	screen, err := terminal.Start(ctx, terminal.Options{Columns: 160, Rows: 50, Env: []string{"HOME=" + home, "XDG_STATE_HOME=" + home}}, program)
	if err != nil {
		return nil, err
	}
	if err := screen.WaitFor("the layout", func(text string) bool { return strings.Contains(text, "MEMORY") }); err != nil {
		return nil, err
	}
	const calm, watched = 5 * time.Second, 20 * time.Second
	time.Sleep(calm)
	ticks, wakes, err := used(screen.PID())
	if err != nil {
		return nil, err
	}
	time.Sleep(watched)
	ticksAfter, wakesAfter, err := used(screen.PID())
	if err != nil {
		return nil, err
	}
	if err := screen.Type("q"); err != nil {
		return nil, err
	}
	_, err = screen.Wait()
	const ticksPerSecond = 100 // USER_HZ
	return measured{
		"%":       100 * (ticksAfter - ticks) / ticksPerSecond / watched.Seconds(),
		"wakes/s": (wakesAfter - wakes) / watched.Seconds(),
	}, err
}

// used returns the processor time of a process in clock ticks, and how often its threads went to sleep.
func used(pid int) (ticks, wakes float64, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	const user, system = 11, 12 // behind the name, see proc(5)
	for _, i := range []int{user, system} {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return 0, 0, err
		}
		ticks += v
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, thread := range threads {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/status", pid, thread.Name()))
		if err != nil {
			continue // the thread has ended
		}
		if _, rest, ok := strings.Cut(string(status), "\nvoluntary_ctxt_switches:"); ok {
			v, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			wakes += v
		}
	}
	return ticks, wakes, err
}
