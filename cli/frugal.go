package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
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
	memoryLimit  = 64 << 20 // bytes, of the Go heap and what manages it; at least
	otherMemory  = 16 << 20 // bytes, of what is not the heap
)

// frugal sets garbage collection for the explorer, unless GOMEMLIMIT or GOGC is set, and
// returns what restores it.
func frugal() (restore func()) {
	var undo []func()
	if os.Getenv("GOMEMLIMIT") == "" {
		limit := debug.SetMemoryLimit(memoryLimit)
		ended := new(atomic.Bool)
		afterCollection(ended, memoryLimit)
		undo = append(undo, func() {
			ended.Store(true)
			debug.SetMemoryLimit(limit)
		})
	}
	if os.Getenv("GOGC") == "" {
		percent := debug.SetGCPercent(startPercent)
		soon := time.AfterFunc(started, func() {
			debug.SetGCPercent(gcPercent)
			debug.FreeOSMemory() // what the start has used
		})
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

// tidy returns to the system what the last keys have used, unless so much is alive that looking for it takes long.
func tidy() {
	if os.Getenv("GOGC") == "" && live() < memoryLimit/2 {
		debug.FreeOSMemory()
		dropCode()
	}
}

// afterCollection raises the limit, now at so many bytes, after each collection to twice what is alive, until it has
// ended: below that the collector would never rest.
func afterCollection(ended *atomic.Bool, limit int64) {
	type garbage struct{ _ *byte } // a pointer keeps it from being allocated together with others
	runtime.AddCleanup(new(garbage), func(limit int64) {
		if ended.Load() {
			return
		}
		if next := limitFor(live()); next > limit || next < limit/2 {
			debug.SetMemoryLimit(next)
			limit = next
		}
		afterCollection(ended, limit)
	}, limit)
}

// limitFor returns the limit in bytes for so many bytes that are alive.
func limitFor(live uint64) int64 { return max(memoryLimit, 2*int64(live)+otherMemory) }

// live returns how many bytes of the heap were alive at the last collection.
func live() uint64 { return ofRuntime("/gc/heap/live:bytes") }

// ofRuntime returns a figure of the runtime; 0: it has none of this name.
func ofRuntime(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
