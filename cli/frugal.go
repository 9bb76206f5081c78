package cli

import (
	"os"
	"runtime/debug"
)

// How the explorer collects garbage: a resident program on a login node that
// others share gives memory back soon. Long pipelines make tens of megabytes at
// a key press; beyond the limit they are collected at once, and what is free
// goes back to the system.
const (
	gcPercent   = 50
	memoryLimit = 64 << 20 // bytes, of the Go heap and what manages it
)

// frugal sets that for the time of the explorer, unless the environment says how
// it should be.
func frugal() (restore func()) {
	percent, limit := -2, int64(-1) // as it is
	if os.Getenv("GOGC") == "" {
		percent = debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		limit = debug.SetMemoryLimit(memoryLimit)
	}
	return func() {
		if percent != -2 {
			debug.SetGCPercent(percent)
		}
		if limit >= 0 {
			debug.SetMemoryLimit(limit)
		}
	}
}
