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

// idle starts the explorer, leaves it alone and returns what it takes of a core.
func idle(ctx context.Context, program string) (measured, error) {
	home, err := os.MkdirTemp("", "meshscope-home")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home) //nolint:errcheck // a leftover temporary folder harms nobody
	screen, err := terminal.Start(ctx,
		terminal.Options{Columns: 160, Rows: 50, Env: []string{"HOME=" + home, "XDG_STATE_HOME=" + home}},
		program)
	if err != nil {
		return nil, err
	}
	if err := screen.WaitFor("the layout",
		func(text string) bool { return strings.Contains(text, "MEMORY") }); err != nil {
		return nil, err
	}
	const calm, watched = 5 * time.Second, 20 * time.Second
	time.Sleep(calm)
	ticks, err := used(screen.PID())
	if err != nil {
		return nil, err
	}
	time.Sleep(watched)
	ticksAfter, err := used(screen.PID())
	if err != nil {
		return nil, err
	}
	if err := screen.Type("q"); err != nil {
		return nil, err
	}
	_, err = screen.Wait()
	const ticksPerSecond = 100 // USER_HZ
	return measured{"%": 100 * (ticksAfter - ticks) / ticksPerSecond / watched.Seconds()}, err
}

// used returns the processor time of a process in clock ticks.
func used(pid int) (ticks float64, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	const user, system = 11, 12 // behind the name, see proc(5)
	for _, i := range []int{user, system} {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return 0, err
		}
		ticks += v
	}
	return ticks, nil
}
