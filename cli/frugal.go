package cli

import (
	"os"
	"runtime/debug"
	"time"
)

// How the explorer collects garbage. Until the first picture is there it hardly
// does: each time would cost milliseconds that one waits for. Then a resident
// program on a login node that others share gives memory back soon. Long pipelines
// make tens of megabytes at a key press; beyond the limit they are collected at
// once, and what is free goes back to the system.
const (
	startPercent = 400
	gcPercent    = 50
	started      = time.Second
	memoryLimit  = 64 << 20 // bytes, of the Go heap and what manages it
)

// frugal sets that for the time of the explorer, unless the environment says how
// it should be.
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
