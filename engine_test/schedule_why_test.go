package engine_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine/schedule"
	"meshscope/engine_test/draws"
)

// TestBinding: every operation starts when its binding predecessor lets it, and
// producers and consumers are each other's.
func TestBinding(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		s := drawLegal(t)
		o, err := schedule.Build(s)
		if err != nil {
			t.Fatal(err)
		}
		latency := rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "latency")
		line, err := schedule.Simulate(o, schedule.UniformCosts(s, drawTimes(t), latency))
		if err != nil {
			t.Fatal(err)
		}
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*line.Makespan }
		check := func(at schedule.Place, before schedule.Place, ok bool) {
			switch {
			case !ok && line.Begin[at.Op] != 0:
				t.Fatalf("%v starts at %v after nothing", at, line.Begin[at.Op])
			case !ok:
			case before.Rank == at.Rank && !near(line.End[before.Op], line.Begin[at.Op]):
				t.Fatalf("%v starts at %v, %v on its rank ends at %v", at, line.Begin[at.Op], before,
					line.End[before.Op])
			case before.Rank != at.Rank && !near(line.End[before.Op]+latency, line.Begin[at.Op]):
				t.Fatalf("%v starts at %v, %v elsewhere ends at %v", at, line.Begin[at.Op], before,
					line.End[before.Op])
			}
		}
		for rank := range s.Ranks {
			for k := o.Start[rank]; k < o.Start[rank+1]; k++ {
				at := schedule.Place{Rank: rank, Op: k}
				before, ok := line.Binding(at)
				check(at, before, ok)
				if p, ok := o.Producer(at); ok {
					if back, ok := o.Consumer(p); !ok || back != at {
						t.Fatalf("%v takes from %v, which gives to %v", at, p, back)
					}
				}
				if op, runs := line.Running(rank, (line.Begin[k]+line.End[k])/2); !runs ||
					line.Begin[op] != line.Begin[k] {
					t.Fatalf("rank %d runs %d in the middle of %d", rank, op, k)
				}
			}
			peak := 0
			for k := o.Start[rank]; k < o.Start[rank+1]; k++ {
				peak = max(peak, line.InFlight(rank, line.Begin[k]))
			}
			if peak != line.Ranks[rank].PeakInFlight {
				t.Fatalf("rank %d holds %d at most, not %d", rank, peak, line.Ranks[rank].PeakInFlight)
			}
		}
		path := line.CriticalPath()
		if line.Begin[path[0].Op] != 0 || line.End[path[len(path)-1].Op] != line.Makespan {
			t.Fatalf("the critical path goes from %v to %v", line.Begin[path[0].Op],
				line.End[path[len(path)-1].Op])
		}
		for i := 1; i < len(path); i++ {
			check(path[i], path[i-1], true)
		}
	})
}

// TestBindingByHand: 1F1B of two ranks and two micro-batches, F = 1, B = 2.
func TestBindingByHand(t *testing.T) {
	s := schedule.Spec{Kind: schedule.OneFOneB, Ranks: 2, VirtualStages: 1, MicroBatches: 2}
	o, err := schedule.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	line, err := schedule.Simulate(o, schedule.UniformCosts(s, schedule.ChunkTimes{F: 1, B: 2}, 0))
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, p := range line.CriticalPath() {
		text += o.Text(p.Rank, o.Ops[p.Op]) + " "
	}
	// Rank 0: 0F0 0F1 . . 0B0 . 0B1; rank 1: . 1F0 1B0 1F1 1B1.
	if want := "0F0 1F0 1B0 1F1 1B1 0B1 "; text != want {
		t.Errorf("critical path %q, want %q", text, want)
	}
	if p, ok := line.Binding(schedule.Place{Rank: 0, Op: 2}); !ok || o.Text(p.Rank, o.Ops[p.Op]) != "1B0" {
		t.Errorf("0B0 waits for %v, want 1B0", p)
	}
}
