package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A server of many sessions returns memory to the system when they rest.
const (
	restEvery  = time.Second
	restBytes  = 4 << 20  // sessions that rest allocate less than this between two looks
	worthBytes = 32 << 20 // garbage that is worth a collection
)

// returnMemory returns memory to the system whenever sessions have begun to rest, until ended; never where
// GOGC is set.
func returnMemory(ended <-chan struct{}) {
	if os.Getenv("GOGC") != "" {
		return
	}
	look := time.NewTicker(restEvery)
	defer look.Stop()
	var last, returned uint64
	for {
		select {
		case <-ended:
			return
		case <-look.C:
		}
		allocated := runtimeFigure("/gc/heap/allocs:bytes")
		if allocated-last < restBytes && allocated-returned > worthBytes {
			debug.FreeOSMemory()
			returned = allocated
		}
		last = allocated
	}
}

// collectEarly collects garbage now where that would be due soon anyway. The class calls it when nobody
// waits: a collection that begins while many draw lets each of them, and the presenter, help with it before
// they go on.
func collectEarly() {
	used, goal := runtimeFigure("/memory/classes/heap/objects:bytes"), runtimeFigure("/gc/heap/goal:bytes")
	alive := runtimeFigure("/gc/heap/live:bytes")
	if os.Getenv("GOGC") == "" && goal > alive && used > alive+(goal-alive)/3*2 {
		runtime.GC()
	}
}

// runtimeFigure returns a figure of the Go runtime by its name in runtime/metrics; 0: it has none of this
// name.
func runtimeFigure(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
