//go:build unix

package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"meshscope/engine/search"
)

// How long a search takes to answer once it is stopped, soon after its start and
// later: the longest of them, the middle, and what the processor worked meanwhile.
func BenchmarkSearchCancel(b *testing.B) {
	moments := []time.Duration{
		20 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond,
		time.Second, 2 * time.Second, 4 * time.Second,
	}
	for _, p := range searches(b) {
		b.Run(p.name, func(b *testing.B) {
			p.problem.Workers = 2
			p.problem.Top, p.problem.Front = 100, true // as the screen asks
			var waits []time.Duration
			var work time.Duration
			for b.Loop() {
				for _, after := range moments {
					if wait, cpu, stopped := cancelAt(b, p.problem, after); stopped {
						waits, work = append(waits, wait), max(work, cpu)
					}
				}
			}
			if len(waits) == 0 {
				b.Skip("done before it could be stopped")
			}
			slices.Sort(waits)
			ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
			b.ReportMetric(ms(waits[len(waits)-1]), "longest-ms")
			b.ReportMetric(ms(waits[len(waits)/2]), "middle-ms")
			b.ReportMetric(ms(work), "most-cpu-ms")
			b.ReportMetric(float64(len(waits)), "stops")
		})
	}
}

// cancelAt stops a search after a while: how long it took to return, and the time of
// the processor in which it did; false where the search was done before.
func cancelAt(b *testing.B, p search.Problem, after time.Duration) (wait, cpu time.Duration, ok bool) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var stopped time.Time
	var before time.Duration
	told := make(chan struct{})
	timer := time.AfterFunc(after, func() {
		before, stopped = cpuTime(b), time.Now()
		stop()
		close(told)
	})
	search.Run(ctx, p, nil)
	end, spent := time.Now(), cpuTime(b)
	if timer.Stop() {
		return 0, 0, false
	}
	<-told
	return max(end.Sub(stopped), 0), max(spent-before, 0), true
}

// A stopped search evaluates no more than a handful of layouts: so many when it has
// found none that fits, none when it has.
func TestSearchStopsSoon(t *testing.T) {
	const roundsWhenStopped = 8 * 8 // evaluate.go: lastBatch x lastRounds
	const atATime = 64              // evaluate.go: batch
	for _, named := range searches(t) {
		for _, ranked := range []bool{false, true} {
			p := named.problem
			p.Workers, p.Top, p.Front = 2, 100, true
			ctx, stop := context.WithCancel(t.Context())
			at := -1
			r := search.Run(ctx, p, func(now search.Progress) {
				if at < 0 && (now.Ranked >= 1 && now.Evaluated > 0) == ranked {
					at = now.Evaluated
					stop()
				}
			})
			stop()
			if at < 0 {
				t.Errorf("%s: never stopped", named.name)
				continue
			}
			if r.Near.Most != 0 || r.Band.Most != 0 || len(r.Best) > 0 && r.Near.Least < 1 {
				t.Errorf("%s: %+v and %+v near the best, though not all was looked at", named.name, r.Near,
					r.Band)
			}
			after := r.Evaluated - at
			t.Logf("%s, stopped after %d evaluations: %d more, %.1f %% of the space", named.name, at, after,
				100*r.Share)
			if most := max(roundsWhenStopped, atATime); after > most || !r.Partial {
				t.Errorf("%s: %d layouts evaluated after it was stopped, at most %d; partial %t", named.name,
					after, most, r.Partial)
			}
		}
	}
}
