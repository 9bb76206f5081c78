package cli

import (
	"os"
	"runtime/debug"
	"time"
)

// Garbage collection of the explorer. Before the first frame it hardly collects: each
// collection would delay the start by milliseconds. Afterwards it returns memory soon,
// because login nodes are shared. Long pipelines allocate tens of megabytes per key press;
// beyond the limit these are collected at once and returned to the system.
const (
	startPercent = 400
	gcPercent    = 25
	started      = time.Second
	memoryLimit  = 64 << 20 // bytes, of the Go heap and what manages it
)

// frugal sets garbage collection for the explorer, unless GOMEMLIMIT or GOGC is set, and
// returns what restores it.
func frugal() (restore func()) {
	var undo []func()
	if os.Getenv("GOMEMLIMIT") == "" {
		limit := debug.SetMemoryLimit(memoryLimit)
		undo = append(undo, func() { debug.SetMemoryLimit(limit) })
	}
	if os.Getenv("GOGC") == "" {
		percent := debug.SetGCPercent(startPercent)
		soon := time.AfterFunc(started, func() { debug.SetGCPercent(gcPercent) })
		undo = append(undo, func() {
			soon.Stop()
			debug.SetGCPercent(percent)
		})
	}
	return func() {
		for _, u := range undo {
			u()
		}
	}
}
