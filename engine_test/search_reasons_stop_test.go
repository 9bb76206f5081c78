//go:build unix

package engine_test

import (
	"context"
	"testing"

	"meshscope/engine/search"
)

// Who stops the search for a reason gets what is known by then: no further question is
// begun, and the reason says that it is not proved.
func TestReasonStopsSoon(t *testing.T) {
	for _, named := range searches(t) {
		for stopAt := 1; stopAt <= 4; stopAt++ {
			p := named.problem
			p.Headroom, p.Workers = 0.999, 2 // nothing fits
			ctx, stop := context.WithCancel(t.Context())
			last := 0
			c := search.Explain(ctx, p, func(at search.Asking) {
				if last = at.Questions; last >= stopAt {
					stop()
				}
			})
			stop()
			if last != stopAt {
				t.Errorf("%s: stopped at question %d, it went on to %d", named.name, stopAt, last)
			}
			if c != nil && !c.Partial {
				t.Errorf("%s: stopped at question %d, the reason %v is taken for proved", named.name, stopAt,
					c.Fields)
			}
			if c != nil && c.Least != nil {
				t.Errorf("%s: stopped at question %d, and yet it looked for the least memory", named.name,
					stopAt)
			}
		}
	}
}
