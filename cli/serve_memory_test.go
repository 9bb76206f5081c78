package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestServerReturnsMemory: what sessions have left is given back once they rest.
func TestServerReturnsMemory(t *testing.T) {
	t.Setenv("GOGC", "")
	ended := make(chan struct{})
	defer close(ended)
	go returnMemory(ended)
	const begun = 2 * worthBytes
	rubbish := make([]byte, begun)
	before := runtimeFigure("/gc/cycles/forced:gc-cycles")
	rubbish[0]++
	for start := time.Now(); runtimeFigure("/gc/cycles/forced:gc-cycles") == before; time.Sleep(10 *
		time.Millisecond) {
		if time.Since(start) > 20*time.Second {
			t.Fatalf("nothing was given back %v after %d MB", time.Since(start), begun>>20)
		}
	}
}

// TestCollectEarly: garbage is collected between keys where that would be due soon, and not before.
func TestCollectEarly(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	forced := func() uint64 { return runtimeFigure("/gc/cycles/forced:gc-cycles") }
	runtime.GC()
	before := forced()
	if collectEarly(); forced() != before {
		t.Error("collects where there is nothing to collect")
	}
	// without a collection that the runtime begins by itself in between
	all := int(runtimeFigure("/gc/heap/goal:bytes")-runtimeFigure("/gc/heap/live:bytes")) / 4 * 3
	rubbish := make([]byte, all)
	if rubbish[0]++; runtimeFigure("/memory/classes/heap/objects:bytes") < runtimeFigure(
		"/gc/heap/live:bytes",
	)+uint64(all) {
		t.Skip("the runtime has collected")
	}
	if collectEarly(); forced() == before {
		t.Error("a collection that is due is left to the keys that come")
	}
}
