package engine_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine/schedule"
	"meshscope/engine_test/draws"
)

// unevenCosts are durations of every stage on its own.
func unevenCosts(t *rapid.T, s schedule.Spec) schedule.Costs {
	n := s.Stages()
	list := func(name string) []float64 {
		return rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 40), func(i int) float64 { return float64(i) / 8 }),
			n, n).Draw(t, name)
	}
	c := schedule.Costs{F: list("F"), I: list("I"), W: list("W"), B: make([]float64, n)}
	for i := range c.B {
		c.B[i] = c.I[i] + c.W[i]
	}
	c.P2P = rapid.SampledFrom([]float64{0, 0.25, 3}).Draw(t, "p2p")
	c.P2PBlocks = rapid.Bool().Draw(t, "blocks")
	c.Overlap = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "overlap")
	return c
}

// TestWaitsAddUp: the causes of a rank's idle time are never negative and add up
// to it; what a rank idles for having less to do is not for the order of operations; nothing is
// on its way where hand-overs take no time, and nobody is slower where all stages are equal and no pair saves
// time.
func TestWaitsAddUp(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		s := drawLegal(t)
		costs := unevenCosts(t, s)
		even := rapid.Bool().Draw(t, "even")
		if even {
			costs = schedule.UniformCosts(s, drawTimes(t), costs.P2P)
		}
		o, err := schedule.BuildFor(s, costs, nil)
		if err != nil {
			t.Fatal(err)
		}
		line, err := schedule.Simulate(o, costs)
		if err != nil {
			t.Fatal(err)
		}
		for r, w := range line.Waits() {
			for name, part := range map[string]float64{
				"warm-up": w.WarmUp, "drain": w.Drain,
				"paced": w.Paced, "between": w.Between, "hand-over": w.SendRecv,
			} {
				if part < -1e-9*line.Makespan || math.IsNaN(part) {
					t.Fatalf("rank %d: %s is %v", r, name, part)
				}
			}
			if diff := math.Abs(w.Sum() - line.Ranks[r].Idle); diff > 1e-9*max(line.Makespan, 1) {
				t.Fatalf("rank %d: %+v adds up to %v, idle is %v", r, w, w.Sum(), line.Ranks[r].Idle)
			}
			most := 0.0
			for _, other := range line.Ranks {
				most = max(most, other.Busy)
			}
			if most-line.Ranks[r].Busy-w.Paced > 1e-9*line.Makespan && w.Between > 1e-9*line.Makespan {
				t.Fatalf("rank %d has %v less to do than another, and %+v is for the order", r,
					most-line.Ranks[r].Busy, w)
			}
			if costs.P2P == 0 && w.SendRecv > 1e-9*line.Makespan {
				t.Fatalf("rank %d: %v on the way without latency", r, w.SendRecv)
			}
			// Pairs that overlap save time on some ranks more than on others.
			if even && costs.Overlap == 0 && w.Paced > 1e-9*line.Makespan {
				t.Fatalf("rank %d: %v for slower ranks where all are equal", r, w.Paced)
			}
		}
	})
}

// TestCause: the path of a cause is one micro-batch's, gapless, each operation
// feeding the next, and before it its rank worked without a break.
func TestCause(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		s := drawLegal(t)
		costs := unevenCosts(t, s)
		o, err := schedule.BuildFor(s, costs, nil)
		if err != nil {
			t.Fatal(err)
		}
		line, err := schedule.Simulate(o, costs)
		if err != nil {
			t.Fatal(err)
		}
		latency := costs.P2P
		if costs.P2PBlocks {
			latency = 0
		}
		for rank := range s.Ranks {
			for k := o.Start[rank]; k < o.Start[rank+1]; k++ {
				at := schedule.Place{Rank: rank, Op: k}
				c, ok := line.Cause(at)
				if !ok {
					continue
				}
				path := append(c.Path[:len(c.Path):len(c.Path)], at)
				for i := 1; i < len(path); i++ {
					from, to := path[i-1], path[i]
					waits := line.Begin[to.Op] - line.End[from.Op]
					if waits < -1e-9*line.Makespan || waits > latency+1e-9*line.Makespan {
						t.Fatalf("%v starts %v after %v", to, waits, from)
					}
				}
				if c.Since > line.Begin[c.Path[0].Op] || c.First != (line.Begin[c.Path[0].Op] == 0) {
					t.Fatalf("%v: %+v", at, c)
				}
			}
		}
	})
}

// TestWaitsByHand: 1F1B of two ranks and three micro-batches; F lasts 1, B 2,
// and rank 1 takes twice as long for both.
//
//	rank 0  F0 F1 . . . . . B0B0 F2 .. . . . B1B1 ...
func TestWaitsByHand(t *testing.T) {
	s := schedule.Spec{Kind: schedule.OneFOneB, Ranks: 2, VirtualStages: 1, MicroBatches: 3}
	o, err := schedule.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	line, err := schedule.Simulate(o, schedule.Costs{F: []float64{1, 2}, B: []float64{2, 4}})
	if err != nil {
		t.Fatal(err)
	}
	// Rank 1: F0 1-3, B0 3-7, F1 7-9, B1 9-13, F2 13-15, B2 15-19.
	// Rank 0: F0 0-1, F1 1-2, B0 7-9, F2 9-10, B1 13-15, B2 19-21.
	want := []schedule.Waits{{WarmUp: 5, Drain: 3 + 4}, {WarmUp: 1, Drain: 2}}
	for r, w := range line.Waits() {
		if w != want[r] {
			t.Errorf("rank %d waits %+v, want %+v", r, w, want[r])
		}
	}
	if f, b := line.PerMicroBatch(1); f != 2 || b != 4 {
		t.Errorf("rank 1 takes %v and %v", f, b)
	}
	// B0 of rank 0 waits for micro-batch 0, which goes to rank 1 and comes back.
	c, ok := line.Cause(schedule.Place{Rank: 0, Op: 2})
	if text := pathText(o, c.Path); !ok || !c.First || text != "0F0 1F0 1B0 " {
		t.Errorf("B0 of rank 0 is there because of %q, %+v", text, c)
	}
	// B1 waits for rank 1, which has worked since its first forward.
	c, ok = line.Cause(schedule.Place{Rank: 0, Op: 4})
	if text := pathText(o, c.Path); !ok || c.First || c.Since != 1 || text != "1F1 1B1 " {
		t.Errorf("B1 of rank 0 is there because of %q, %+v", text, c)
	}
	if _, ok := line.Cause(schedule.Place{Rank: 0, Op: 1}); ok {
		t.Error("F1 of rank 0 waits for nothing")
	}
}

func pathText(o *schedule.Order, path []schedule.Place) string {
	text := ""
	for _, p := range path {
		text += o.Text(p.Rank, o.Ops[p.Op]) + " "
	}
	return text
}
