package engine_test

import (
	"slices"
	"testing"

	"meshscope/engine/schedule"
)

// TestMomentsByHand: 1F1B of two ranks and two micro-batches, F = 1, B = 2: an operation runs from its start
// on and not at its end, and holds its activation from the start of F until B has ended.
//
//	rank 0  F0 F1 .. .. B0 B0 .. B1 B1
//	rank 1  .. F0 B0 B0 F1 B1 B1 .. ..
func TestMomentsByHand(t *testing.T) {
	line := mustSimulate(t, edgeSpec(schedule.OneFOneB, 2, 1, 2), schedule.ChunkTimes{F: 1, B: 2}, 0)
	for _, c := range []struct {
		rank     int
		at       float64
		op       int
		runs     bool
		inFlight int
	}{
		{0, 0, 0, true, 1},
		{0, 0.5, 0, true, 1},
		{0, 1, 1, true, 2},
		{0, 2, 2, false, 2},
		{0, 3.9, 2, false, 2},
		{0, 4, 2, true, 2},
		{0, 5.9, 2, true, 2},
		{0, 6, 3, false, 1},
		{0, 7, 3, true, 1},
		{0, 9, 4, false, 0},
		{0, 99, 4, false, 0},
		{0, -1, 0, false, 0},
		{1, 0, 4, false, 0},
		{1, 1, 4, true, 1},
		{1, 2, 5, true, 1},
		{1, 4, 6, true, 1},
		{1, 5, 7, true, 1},
		{1, 7, 8, false, 0},
	} {
		op, runs := line.Running(c.rank, c.at)
		if flying := line.InFlight(c.rank, c.at); op != c.op || runs != c.runs || flying != c.inFlight {
			t.Errorf("rank %d at %v: operation %d %v with %d in flight, want %+v", c.rank, c.at, op, runs,
				flying, c)
		}
	}
	if line.Busiest() != 0 || line.LongestSpan() != 9 || line.Makespan != 9 {
		t.Errorf("busiest %d, spans up to %v of %v", line.Busiest(), line.LongestSpan(), line.Makespan)
	}
	near(t, "bubble over ideal, (p-1)/m", line.BubbleOverIdeal(), 1.0/2, 1e-12)
	near(t, "bubble over total, (p-1)/(m+p-1)", line.BubbleOverTotal(), 1.0/3, 1e-12)
	near(t, "span over ideal", line.SpanOverIdeal(), 1.0/2, 1e-12)
}

// TestProducersAndConsumers: of every order what an operation takes is what its producer makes, and the other
// way round; all at once they are the same.
func TestProducersAndConsumers(t *testing.T) {
	for _, info := range schedule.Kinds() {
		for _, v := range []int{1, 2} {
			s := edgeSpec(info.Kind, 4, v, 8)
			o, err := schedule.Build(s)
			if err != nil {
				continue
			}
			all := o.Producers()
			for rank := range s.Ranks {
				for k := o.Start[rank]; k < o.Start[rank+1]; k++ {
					at := schedule.Place{Rank: rank, Op: k}
					op, stage := o.Ops[k], o.Stage(rank, o.Ops[k])
					from, ok := o.Producer(at)
					if !ok {
						from.Op = -1
					}
					ends := op.Kind() == schedule.WeightGradient || op.Kind() == schedule.Forward &&
						stage == 0 || op.Kind() != schedule.Forward && stage == s.Stages()-1
					if ok == ends || all[k].Op != from.Op || ok && all[k] != from {
						t.Fatalf("%s: %s takes %+v %v, of all %+v", info.Kind, o.Text(rank, op), from, ok,
							all[k])
					}
					if !ok {
						continue
					}
					if back, ok := o.Consumer(from); !ok || back != at {
						t.Fatalf("%s: what %s takes goes to %+v", info.Kind, o.Text(rank, op), back)
					}
				}
			}
		}
	}
	line := mustSimulate(t, edgeSpec(schedule.OneFOneB, 2, 1, 1), schedule.ChunkTimes{F: 1, B: 2}, 0)
	o := line.Order // 0F0 0B0, 1F0 1B0
	if next, ok := o.Consumer(schedule.Place{Rank: 1, Op: 2}); !ok || next.Op != 3 {
		t.Errorf("the last forward goes to its own backward, not %+v", next)
	}
	if _, ok := o.Consumer(schedule.Place{Rank: 0, Op: 1}); ok {
		t.Error("nobody takes the first stage's gradient")
	}
}

// TestPerMicroBatchByHand: all stages of a rank, of a bidirectional pipeline the mean of both.
func TestPerMicroBatchByHand(t *testing.T) {
	times := schedule.ChunkTimes{F: 1, B: 3, I: 2, W: 1}
	for _, c := range []struct {
		s                 schedule.Spec
		forward, backward float64
	}{
		{edgeSpec(schedule.OneFOneB, 2, 1, 4), 1, 3},
		{edgeSpec(schedule.Interleaved, 2, 3, 4), 3, 9},
		{edgeSpec(schedule.ZBH1, 2, 1, 4), 1, 3},
		{edgeSpec(schedule.ZBV, 2, 2, 4), 2, 6},
		{edgeSpec(schedule.DualPipe, 4, 1, 8), 1, 3},
	} {
		line := mustSimulate(t, c.s, times, 0)
		for rank := range c.s.Ranks {
			if f, b := line.PerMicroBatch(rank); f != c.forward || b != c.backward {
				t.Errorf("%+v: rank %d takes %v and %v, want %+v", c.s, rank, f, b, c)
			}
		}
	}
}

// TestRecomputationEnds: a backward runs its forward again at its start, no longer than it lasts itself; a
// forward and the halves of an overlapped pair have no such time.
func TestRecomputationEnds(t *testing.T) {
	for _, again := range []float64{0.5, 9} {
		for _, kind := range []schedule.Kind{schedule.OneFOneB, schedule.ZBH1, schedule.DualPipe} {
			s := edgeSpec(kind, 4, 1, 8)
			o, err := schedule.Build(s)
			if err != nil {
				t.Fatal(err)
			}
			c := schedule.UniformCosts(s, schedule.ChunkTimes{F: 1, B: 3, I: 2, W: 1}, 0)
			c.R = []float64{again, again, again, again}
			line, err := schedule.Simulate(o, c)
			if err != nil {
				t.Fatal(err)
			}
			for rank := range s.Ranks {
				for k := o.Start[rank]; k < o.Start[rank+1]; k++ {
					paired := o.Ops[k].Paired() || k > o.Start[rank] && o.Ops[k-1].Paired()
					want := line.Begin[k]
					if back := o.Ops[k].Kind() == schedule.Backward ||
						o.Ops[k].Kind() == schedule.InputGradient; back && !paired {
						want = min(line.Begin[k]+again, line.End[k])
					}
					if got := line.RecomputeEnd(rank, k); got != want {
						t.Errorf("%s: %s has run again at %v, want %v", kind, o.Text(rank, o.Ops[k]), got,
							want)
					}
				}
			}
		}
	}
}

// TestRankWithoutWork: of an order made by hand, in which one rank runs nothing, that rank waits for the
// whole step, holds nothing and has no peak.
func TestRankWithoutWork(t *testing.T) {
	s := edgeSpec(schedule.AFAB, 2, 1, 2)
	f := func(mb int) schedule.Op { return schedule.NewOp(schedule.Forward, 0, mb) }
	o := &schedule.Order{Spec: s, Ops: []schedule.Op{f(0), f(1)}, Start: []int{0, 2, 2}}
	line, err := schedule.Simulate(o, schedule.UniformCosts(s, schedule.ChunkTimes{F: 3, B: 1}, 0))
	if err != nil {
		t.Fatal(err)
	}
	if w := line.Waits(); w[0] != (schedule.Waits{}) || w[1] != (schedule.Waits{Drain: 6}) {
		t.Errorf("waits %+v", w)
	}
	per := []schedule.ChunkBytes{{Activation: 4, Forward: 1}}
	if p := o.PeakBytes(0, per); p != (schedule.Peak{Bytes: 9, At: 1}) {
		t.Errorf("rank 0 has a peak of %+v", p)
	}
	if p := o.PeakBytes(1, per); p != (schedule.Peak{At: -1}) {
		t.Errorf("rank 1 has a peak of %+v", p)
	}
	if n := o.PeakInFlight(0); n != 2 || o.PeakInFlight(1) != 0 || o.Count(0, 0, schedule.Forward) != 2 ||
		o.Count(0, 0, schedule.Backward) != 0 {
		t.Errorf("%d in flight on rank 0", n)
	}
	if samples := line.Memory(nil, 0, per); !slices.Equal(samples,
		[]schedule.Sample{{Time: 0, Activations: 4}, {Time: 3, Activations: 8}}) {
		t.Errorf("rank 0 holds %+v", samples)
	}
}

// TestWorkAndOverlap: operations of an order, five times as much where they are moved together; what a pair
// saves is a share of its shorter half, at most all of it.
func TestWorkAndOverlap(t *testing.T) {
	for _, c := range []struct {
		s    schedule.Spec
		want float64
	}{
		{edgeSpec(schedule.OneFOneB, 4, 1, 8), 4 * 8 * 2},
		{edgeSpec(schedule.Interleaved, 4, 3, 8), 4 * 3 * 8 * 2},
		{edgeSpec(schedule.ZBH1, 4, 1, 8), 4 * 8 * 3},
		{edgeSpec(schedule.VMin, 4, 2, 8), 5 * 4 * 2 * 8 * 3},
		{edgeSpec("none-such", 4, 2, 8), 0},
		{edgeSpec(schedule.OneFOneB, 0, 1, 8), 0},
		{edgeSpec(schedule.OneFOneB, 4, 1, -1), 0},
	} {
		if got := c.s.Work(); got != c.want {
			t.Errorf("%+v is %v of work, want %v", c.s, got, c.want)
		}
	}
	for _, c := range []struct{ f, b, saved, want float64 }{
		{1, 2, 0.5, 0.5},
		{2, 1, 0.5, 0.5},
		{1, 2, 1, 1},
		{1, 2, 3, 1},
		{1, 2, 0, 0},
		{0, 2, 1, 0},
	} {
		if got := schedule.UniformCosts(edgeSpec(schedule.DualPipe, 4, 1, 8),
			schedule.ChunkTimes{F: c.f, B: c.b, Saved: c.saved}, 0).Overlap; got != c.want {
			t.Errorf("%+v: an overlap of %v", c, got)
		}
	}
}

// TestOrdersSuitTheirCosts: an order that is written down suits any durations, one that is searched for only
// those that it was made for, and none another spec.
func TestOrdersSuitTheirCosts(t *testing.T) {
	costs := func() schedule.Costs {
		c := schedule.UniformCosts(edgeSpec(schedule.ZBAuto, 3, 1, 6),
			schedule.ChunkTimes{F: 1, B: 2, I: 1, W: 1}, 0.1)
		c.Held, c.HeldForW = []float64{4, 4, 4}, []float64{2, 2, 2}
		return c
	}
	for kind, other := range map[schedule.Kind]bool{schedule.OneFOneB: true, schedule.ZBAuto: false} {
		s, c := edgeSpec(kind, 3, 1, 6), costs()
		o, err := schedule.BuildFor(s, c, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c = costs(); !o.Suits(s, &c) || o.Suits(edgeSpec(kind, 3, 1, 7), &c) {
			t.Errorf("%s does not suit its own costs, or another spec", kind)
		}
		for name, change := range map[string]func(c *schedule.Costs){
			"latency": func(c *schedule.Costs) { c.P2P = 0.2 }, "F": func(c *schedule.Costs) { c.F[1] = 2 },
			"I": func(c *schedule.Costs) { c.I[2] = 2 }, "W": func(c *schedule.Costs) { c.W[0] = 2 },
			"held": func(c *schedule.Costs) { c.Held[0] = 5 }, "held for W": func(c *schedule.Costs) {
				c.HeldForW[2] = 1
			},
		} {
			c = costs()
			change(&c)
			if o.Suits(s, &c) != other {
				t.Errorf("%s suits another %s: %v", kind, name, !other)
			}
		}
	}
}
