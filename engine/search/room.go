package search

import (
	"sync"

	"meshscope/engine"
)

// roomOps is how many operations may be laid out at a time, by all workers together, and how many
// the workers keep memory for between evaluations. One takes about 40 bytes.
const roomOps = 1 << 20

// room bounds the memory of evaluations that run at the same time: long pipelines are laid out one after
// the other.
type room struct {
	mu   sync.Mutex
	free sync.Cond
	used float64 // operations

	collect func() // Problem.Collect
}

func newRoom(collect func()) *room {
	r := &room{collect: collect}
	r.free.L = &r.mu
	return r
}

// enter waits until there is room for so many operations; for more than there ever is, until they are alone.
func (r *room) enter(ops float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.used > 0 && r.used+ops > roomOps {
		r.free.Wait()
	}
	r.used += ops
}

// leave gives the room back, and the memory of the evaluator, which is that of the longest pipeline. That of
// very long ones is collected at once: the collector would wait until there is as much again.
func (r *room) leave(e *engine.Evaluator, ops float64) {
	*e = engine.Evaluator{SkipTimeline: true}
	if ops > roomOps/2 && r.collect != nil {
		r.collect()
	}
	r.release(ops)
}

// release gives the room back.
func (r *room) release(ops float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= ops
	r.free.Broadcast()
}
