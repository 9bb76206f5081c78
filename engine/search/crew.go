package search

import (
	"fmt"
	"sync"
)

// crew runs do for 0 to n-1, each in a goroutine of its own, and waits for all. A panic in one of them,
// which would end the process whoever recovers, is raised in the caller, once, as a *Crash with what stack
// (nil: nothing) returns in the goroutine that it was in.
func crew(n int, stack func() []byte, do func(worker int)) {
	var wait sync.WaitGroup
	var once sync.Once
	var crash *Crash
	for w := range n {
		wait.Go(func() {
			defer func() {
				if reason := recover(); reason != nil {
					once.Do(func() {
						crash = &Crash{Reason: reason}
						if stack != nil {
							crash.Stack = stack()
						}
					})
				}
			}()
			do(w)
		})
	}
	wait.Wait()
	if crash != nil {
		panic(crash)
	}
}

// Crash is a panic of a search, raised where the search was asked for.
type Crash struct {
	Reason any
	Stack  []byte // of the goroutine that it was in, by Problem.Stack
}

// Error returns the reason alone.
func (c *Crash) Error() string { return fmt.Sprint(c.Reason) }
