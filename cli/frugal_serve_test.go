package cli

import (
	"testing"
	"time"
)

// TestServerTidiesAtRest: what sessions have left is given back once they rest.
func TestServerTidiesAtRest(t *testing.T) {
	t.Setenv("GOGC", "")
	defer serverMemory()()
	const begun = 2 * worthBytes
	rubbish := make([]byte, begun)
	before := ofRuntime("/gc/cycles/forced:gc-cycles")
	rubbish[0]++
	for start := time.Now(); ofRuntime("/gc/cycles/forced:gc-cycles") == before; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > 20*time.Second {
			t.Fatalf("nothing was given back %v after %d MB", time.Since(start), begun>>20)
		}
	}
}
