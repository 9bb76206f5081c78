package search

import (
	"context"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"

	"meshscope/presets"
)

// TestCrewCrash: a panic of a worker, ranking or evaluating, is one of who waits, with the worker's stack;
// the others are not left behind.
func TestCrewCrash(t *testing.T) {
	crash := func(do func()) (c *Crash) {
		defer func() { c, _ = recover().(*Crash) }()
		do()
		return nil
	}
	var ended atomic.Int64
	c := crash(func() {
		crew(8, debug.Stack, func(w int) {
			if w%3 == 0 {
				broken()
			}
			ended.Add(1)
		})
	})
	if c == nil || c.Error() != "broken" || !strings.Contains(string(c.Stack), "search.broken") ||
		ended.Load() != 5 {
		t.Errorf("%d ended, the panic is %+v", ended.Load(), c)
	}
	for what, do := range map[string]func(){
		"ranking": func() {
			p := Problem{
				Setup: presets.DefaultSetup(), Workers: 2,
				Stop: func() bool { broken(); return false },
			}
			Run(context.Background(), p, nil)
		},
		"evaluating": func() { (&run{workers: 2, problem: &Problem{}}).each(4, func(int, int) { broken() }) },
	} {
		if c := crash(do); c == nil || c.Error() != "broken" {
			t.Errorf("%s: the panic is %+v", what, c)
		}
	}
}

func broken() { panic("broken") }
