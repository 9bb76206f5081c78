package search

import (
	"runtime"
	"sync"
	"testing"
)

// TestRoom: no more operations are laid out together than there is room for, more than that alone, and none
// waits for ever.
func TestRoom(t *testing.T) {
	r := newRoom(nil)
	var mu sync.Mutex
	var inside, alone float64
	var wait sync.WaitGroup
	for i := range 200 {
		ops := float64(roomOps / 7 * (1 + i%13)) // whole numbers, whose sums are exact
		wait.Go(func() {
			r.enter(ops)
			mu.Lock()
			inside += ops
			if inside > roomOps && inside != ops {
				alone++
			}
			mu.Unlock()
			runtime.Gosched()
			mu.Lock()
			inside -= ops
			mu.Unlock()
			r.release(ops)
		})
	}
	wait.Wait()
	if alone > 0 || r.used != 0 {
		t.Errorf("%v times too much at once, %v left", alone, r.used)
	}
}
