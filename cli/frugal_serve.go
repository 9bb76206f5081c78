package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// Garbage collection of a server of many sessions: a quarter of garbage, as for one explorer, would be collected so often
// that it takes the processor from all of them. A server tidies up when they rest.
const (
	serverPercent = 100
	restEvery     = time.Second
	restBytes     = 4 << 20  // sessions that rest allocate less than this between two looks
	worthBytes    = 32 << 20 // garbage that is worth a collection
)

// serverMemory sets garbage collection for many sessions, unless GOGC is set, and returns what
// restores it.
func serverMemory() (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before, ended := debug.SetGCPercent(serverPercent), make(chan struct{})
	go tidyAtRest(ended)
	return func() {
		close(ended)
		debug.SetGCPercent(before)
	}
}

// tidyAtRest returns memory to the system whenever sessions have begun to rest, until ended.
func tidyAtRest(ended <-chan struct{}) {
	look := time.NewTicker(restEvery)
	defer look.Stop()
	var last, tidied uint64
	for {
		select {
		case <-ended:
			return
		case <-look.C:
		}
		now := allocated()
		if now-last < restBytes && now-tidied > worthBytes {
			debug.FreeOSMemory()
			tidied = now
		}
		last = now
	}
}

// allocated returns how many bytes the heap has given out since the start.
func allocated() uint64 { return ofRuntime("/gc/heap/allocs:bytes") }

// collectEarly collects garbage now where that would be due soon anyway. The class calls it when nobody waits: a
// collection that begins while many draw lets each of them, and the presenter, help with it before they go on.
func collectEarly() {
	used, alive, goal := ofRuntime("/memory/classes/heap/objects:bytes"), live(), ofRuntime("/gc/heap/goal:bytes")
	if os.Getenv("GOGC") == "" && goal > alive && used > alive+(goal-alive)/3*2 {
		runtime.GC()
	}
}
