package cli

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestFrugal: the limit of memory is never below twice what is alive, so that the collector rests, and follows it
// back.
func TestFrugal(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "")
	before := debug.SetMemoryLimit(-1)
	restore := frugal()
	limit := func() int64 { return debug.SetMemoryLimit(-1) }
	reaches := func(what string, reached func() bool) {
		t.Helper()
		for begun := time.Now(); !reached(); time.Sleep(time.Millisecond) {
			if time.Since(begun) > 20*time.Second {
				t.Fatalf("%s: the limit is %d MB", what, limit()>>20)
			}
			runtime.GC()
		}
	}
	usual := limit()
	runtime.GC()
	others := int64(live()) // what earlier tests have left
	large := make([]byte, 100<<20)
	reaches("100 MB alive", func() bool { return limit() >= 2*(others/2+int64(len(large))) })
	runtime.KeepAlive(large)
	reaches("afterwards", func() bool { return limit() < 2*max(usual, limitFor(uint64(others))) })
	if restore(); limit() != before {
		t.Errorf("left at %d", limit())
	}
	if limitFor(0) != memoryLimit || limitFor(1<<30) < 2<<30 || limitFor(1<<30) == math.MaxInt64 {
		t.Errorf("%d, %d", limitFor(0), limitFor(1<<30))
	}
}
