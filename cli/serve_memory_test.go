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
		if time.Since(start) > 5*time.Minute {
			t.Fatalf("nothing was given back %v after %d MB", time.Since(start), begun>>20)
		}
	}
}

// TestCollectEarly: garbage is collected between keys where that would be due soon, and not before.
func TestCollectEarly(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	forced := func() uint64 { return runtimeFigure("/gc/cycles/forced:gc-cycles") }
	itself := func() uint64 { return runtimeFigure("/gc/cycles/automatic:gc-cycles") }
	runtime.GC()
	before, began := forced(), itself()
	if collectEarly(); forced() != before {
		t.Error("collects where there is nothing to collect")
	}
	all := int(runtimeFigure("/gc/heap/goal:bytes")-runtimeFigure("/gc/heap/live:bytes")) / 4 * 3
	rubbish := make([]byte, all)
	rubbish[0]++
	if collectEarly(); forced() == before && itself() == began {
		t.Error("a collection that is due is left to the keys that come")
	}
}
