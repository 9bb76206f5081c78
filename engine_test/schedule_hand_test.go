package engine_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"meshscope/engine/schedule"
)

// mustSimulate builds and simulates a spec with equal chunks.
func mustSimulate(t *testing.T, s schedule.Spec, times schedule.ChunkTimes, p2p float64) *schedule.Timeline {
	t.Helper()
	o, err := schedule.Build(s)
	if err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	tl, err := schedule.Simulate(o, schedule.UniformCosts(s, times, p2p))
	if err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	return tl
}

// scheduleNear compares within rounding.
func scheduleNear(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// TestScheduleByHand draws small pipelines on paper: one line per rank,
// operation@start-end.
func TestScheduleByHand(t *testing.T) {
	for _, c := range []struct {
		name  string
		spec  schedule.Spec
		p2p   float64
		ranks []string
	}{
		{
			"naive: there and back",
			schedule.Spec{Kind: schedule.Naive, Ranks: 2, VirtualStages: 1, MicroBatches: 1},
			0,
			[]string{"0F0@0-1 0B0@4-6", "1F0@1-2 1B0@2-4"},
		},
		{
			"naive with latency",
			schedule.Spec{Kind: schedule.Naive, Ranks: 2, VirtualStages: 1, MicroBatches: 1},
			0.5,
			[]string{"0F0@0-1 0B0@5-7", "1F0@1.5-2.5 1B0@2.5-4.5"},
		},
		{
			"all forwards, all backwards",
			schedule.Spec{Kind: schedule.AFAB, Ranks: 2, VirtualStages: 1, MicroBatches: 2},
			0,
			[]string{"0F0@0-1 0F1@1-2 0B0@5-7 0B1@7-9", "1F0@1-2 1F1@2-3 1B0@3-5 1B1@5-7"},
		},
		{
			"one forward, one backward",
			schedule.Spec{Kind: schedule.OneFOneB, Ranks: 2, VirtualStages: 1, MicroBatches: 3},
			0,
			[]string{
				"0F0@0-1 0F1@1-2 0B0@4-6 0F2@6-7 0B1@7-9 0B2@10-12",
				"1F0@1-2 1B0@2-4 1F1@4-5 1B1@5-7 1F2@7-8 1B2@8-10",
			},
		},
		{
			"one rank, two chunks",
			schedule.Spec{Kind: schedule.Interleaved, Ranks: 1, VirtualStages: 2, MicroBatches: 1},
			0.5,
			[]string{"0F0@0-1 1F0@1-2 1B0@2-4 0B0@4-6"},
		},
		{
			"breadth first, back in reverse",
			schedule.Spec{Kind: schedule.LoopedBFS, Ranks: 2, VirtualStages: 2, MicroBatches: 2},
			0,
			[]string{
				"0F0@0-1 0F1@1-2 2F0@2-3 2F1@3-4 2B1@7-9 2B0@9-11 0B1@11-13 0B0@13-15",
				"1F0@1-2 1F1@2-3 3F0@3-4 3F1@4-5 3B1@5-7 3B0@7-9 1B1@9-11 1B0@11-13",
			},
		},
		{
			"weight gradients wait for the drain",
			schedule.Spec{Kind: schedule.ZBH1, Ranks: 2, VirtualStages: 1, MicroBatches: 2},
			0,
			[]string{
				"0F0@0-1 0F1@1-2 0I0@3-4 0W0@4-5 0I1@5-6 0W1@6-7",
				"1F0@1-2 1I0@2-3 1F1@3-4 1I1@4-5 1W0@5-6 1W1@6-7",
			},
		},
		{
			"twice as many forwards ahead: no wait once started",
			schedule.Spec{Kind: schedule.ZBH2, Ranks: 2, VirtualStages: 1, MicroBatches: 3},
			0,
			[]string{
				"0F0@0-1 0F1@1-2 0F2@2-3 0I0@3-4 0W0@4-5 0I1@5-6 0W1@6-7 0I2@7-8 0W2@8-9",
				"1F0@1-2 1I0@2-3 1F1@3-4 1I1@4-5 1F2@5-6 1I2@6-7 1W0@7-8 1W1@8-9 1W2@9-10",
			},
		},
		{
			"there and back on one rank",
			schedule.Spec{Kind: schedule.ZBV, Ranks: 1, VirtualStages: 2, MicroBatches: 1},
			0.5,
			[]string{"0F0@0-1 1F0@1-2 1I0@2-3 1W0@3-4 0I0@4-5 0W0@5-6"},
		},
		{
			"both ends at once: two ranks never wait",
			schedule.Spec{Kind: schedule.DualPipe, Ranks: 2, VirtualStages: 1, MicroBatches: 4},
			0,
			[]string{
				"0F0@0-1 1F2@1-2 0F1@2-3 1B2@3-5 1F3&0B0@5-8 1B3@8-10 0I1@10-11 0W1@11-12",
				"0F2@0-1 1F0@1-2 0F3@2-3 1B0@3-5 1F1&0B2@5-8 1B1@8-10 0I3@10-11 0W3@11-12",
			},
		},
		{
			"half of that",
			schedule.Spec{Kind: schedule.DualPipeV, Ranks: 1, VirtualStages: 2, MicroBatches: 2},
			0,
			[]string{"0F0@0-1 1F0@1-2 0F1@2-3 1B0@3-5 1F1&0B0@5-8 1B1@8-10 0I1@10-11 0W1@11-12"},
		},
	} {
		tl := mustSimulate(t, c.spec, schedule.ChunkTimes{F: 1, B: 2, I: 1, W: 1}, c.p2p)
		for r, want := range c.ranks {
			if got := timelineText(tl, r); got != want {
				t.Errorf("%s, rank %d\n got %s\nwant %s", c.name, r, got, want)
			}
		}
	}
}

// TestScheduleBlockingHandOver: a sender that waits for its hand-over is idle, and
// nobody receives earlier for it. F 1, B 2, half a unit to hand over.
func TestScheduleBlockingHandOver(t *testing.T) {
	s := schedule.Spec{Kind: schedule.OneFOneB, Ranks: 2, VirtualStages: 1, MicroBatches: 2}
	o, err := schedule.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	c := schedule.UniformCosts(s, schedule.ChunkTimes{F: 1, B: 2}, 0.5)
	c.P2PBlocks = true
	tl, err := schedule.Simulate(o, c)
	if err != nil {
		t.Fatal(err)
	}
	for r, want := range []string{
		"0F0@0-1.5 0F1@1.5-3 0B0@5-7 0B1@8.5-10.5",
		"1F0@1.5-2.5 1B0@2.5-5 1F1@5-6 1B1@6-8.5",
	} {
		if got := timelineText(tl, r); got != want {
			t.Errorf("rank %d\n got %s\nwant %s", r, got, want)
		}
	}
	for r, st := range tl.Ranks {
		if st.Busy != 6 || st.Idle != tl.Makespan-6 {
			t.Errorf("rank %d: %+v of %v", r, st, tl.Makespan)
		}
	}
}

// TestSchedulePlaybook repeats section 8 of the playbook's formulas (rows P1 to
// P4): four ranks, eight micro-batches, a backward twice as long as a forward.
func TestSchedulePlaybook(t *testing.T) {
	for _, c := range []struct {
		name           string
		spec           schedule.Spec
		step, over     float64 // in units of a whole rank's forward
		inFlightRank0  int     // in chunks
		inFlightByRank func(rank int) int
	}{
		{
			"P1",
			schedule.Spec{Kind: schedule.Naive, Ranks: 4, VirtualStages: 1, MicroBatches: 1},
			12, 3, 1,
			func(int) int { return 1 },
		},
		{"P1, one after the other", schedule.Spec{
			Kind: schedule.Naive, Ranks: 4, VirtualStages: 1,
			MicroBatches: 8,
		}, 96, 3, 1, func(int) int { return 1 }},
		{
			"P2",
			schedule.Spec{Kind: schedule.AFAB, Ranks: 4, VirtualStages: 1, MicroBatches: 8},
			33, 0.375, 8,
			func(int) int { return 8 },
		},
		{
			"P3",
			schedule.Spec{Kind: schedule.OneFOneB, Ranks: 4, VirtualStages: 1, MicroBatches: 8},
			33, 0.375,
			4, func(r int) int { return min(8, 4-r) },
		},
		{
			"P4",
			schedule.Spec{Kind: schedule.Interleaved, Ranks: 4, VirtualStages: 2, MicroBatches: 8},
			28.5,
			0.1875, 11, func(r int) int { return 4 + 2*(3-r) + 1 },
		},
	} {
		v := float64(c.spec.VirtualStages)
		tl := mustSimulate(t, c.spec, schedule.ChunkTimes{F: 1 / v, B: 2 / v}, 0)
		if !scheduleNear(tl.Makespan, c.step) || !scheduleNear(tl.BubbleOverIdeal(), c.over) {
			t.Errorf("%s: step %v and bubble %v, want %v and %v", c.name, tl.Makespan, tl.BubbleOverIdeal(),
				c.step, c.over)
		}
		if want := c.over / (1 + c.over); !scheduleNear(tl.BubbleOverTotal(), want) {
			t.Errorf("%s: idle share %v, want %v", c.name, tl.BubbleOverTotal(), want)
		}
		if got := tl.Ranks[0].PeakInFlight; got != c.inFlightRank0 {
			t.Errorf("%s: %d in flight on rank 0, want %d", c.name, got, c.inFlightRank0)
		}
		for r, st := range tl.Ranks {
			if want := c.inFlightByRank(r); st.PeakInFlight != want || tl.Order.PeakInFlight(r) != want {
				t.Errorf("%s: %d and %d in flight on rank %d, want %d", c.name, st.PeakInFlight,
					tl.Order.PeakInFlight(r), r, want)
			}
		}
		closed, ok := c.spec.ClosedFormBubble(schedule.ChunkTimes{F: 1 / v, B: 2 / v})
		if !ok || !scheduleNear(closed, c.over) {
			t.Errorf("%s: closed form %v %v, want %v", c.name, closed, ok, c.over)
		}
	}
}

// TestSchedulePeakBytes checks the walk with weights against a list by hand:
// rank 0 of 1F1B on two ranks runs F0 F1 B0 F2 B1 B2.
func TestSchedulePeakBytes(t *testing.T) {
	o, err := schedule.Build(schedule.Spec{
		Kind: schedule.OneFOneB, Ranks: 2, VirtualStages: 1,
		MicroBatches: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		bytes   schedule.ChunkBytes
		peak    float64
		atIndex int
	}{
		{"activations only", schedule.ChunkBytes{Activation: 10}, 20, 1},
		{"forward needs 3", schedule.ChunkBytes{Activation: 10, Forward: 3}, 23, 1},
		{"backward needs 5", schedule.ChunkBytes{Activation: 10, Backward: 5}, 25, 2},
		{"both", schedule.ChunkBytes{Activation: 10, Forward: 6, Backward: 5}, 26, 1},
	} {
		if got := o.PeakBytes(0, []schedule.ChunkBytes{c.bytes}); got.Bytes != c.peak || got.At != c.atIndex {
			t.Errorf("%s: %+v, want %v at %d", c.name, got, c.peak, c.atIndex)
		}
	}
	if got := o.PeakBytes(1, []schedule.ChunkBytes{{Activation: 10}}); got.Bytes != 10 {
		t.Errorf("rank 1 holds %v, want 10", got)
	}
}

// TestScheduleSplitMemory: a split backward frees an activation in two parts; a
// pair holds both halves at once. One rank runs F0 I0 (F1 with W0) I1 W1.
func TestScheduleSplitMemory(t *testing.T) {
	split := &schedule.Order{
		Spec: schedule.Spec{Kind: "by hand", Ranks: 1, VirtualStages: 1, MicroBatches: 2},
		Ops: []schedule.Op{
			schedule.NewOp(schedule.Forward, 0, 0), schedule.NewOp(schedule.InputGradient, 0, 0),
			schedule.NewOp(schedule.Forward, 0, 1).Pair(), schedule.NewOp(schedule.WeightGradient, 0, 0),
			schedule.NewOp(schedule.InputGradient, 0, 1), schedule.NewOp(schedule.WeightGradient, 0, 1),
		},
		Start: []int{0, 6},
	}
	bytes := []schedule.ChunkBytes{{Activation: 10, WeightInputs: 7, Forward: 2, Backward: 3}}
	if got, want := split.PeakBytes(0, bytes),
		(schedule.Peak{Bytes: 19, WeightInputs: 7, At: 2}); got != want {
		t.Errorf("peak %+v, want %+v", got, want)
	}
	tl, err := schedule.Simulate(split, schedule.Costs{
		F: []float64{4}, I: []float64{3}, W: []float64{2},
		Overlap: 0.5,
	})
	if err != nil {
		t.Fatal(err)
	}
	// F 4, I 3, pair 4+2-half of 2 = 5, I 3, W 2.
	if st := tl.Ranks[0]; tl.Makespan != 17 || st.Busy != 17 || st.Saved != 1 || st.Idle != 0 ||
		st.PeakInFlight != 2 || st.PeakUntilInput != 1 || st.PeakPendingW != 1 {
		t.Errorf("makespan %v, %+v", tl.Makespan, st)
	}
	want := []schedule.Sample{
		{Time: 0, Activations: 10},
		{Time: 7, Activations: 10, WeightInputs: 7}, // I0 ends, F1 starts
		{Time: 12, Activations: 10},                 // W0 ends
		{Time: 15, WeightInputs: 7},                 // I1 ends
		{Time: 17},
	}
	if got := tl.Memory(nil, 0, bytes); !slices.Equal(got, want) {
		t.Errorf("over time %v, want %v", got, want)
	}
}

// TestScheduleHiddenTraffic: in a pair the traffic of each half hides under the
// rest of the other. F lasts 4, 3 of it traffic; B lasts 6, 1 of it traffic: F's
// traffic fits into the 5 that B computes, B's into the 1 that F computes.
func TestScheduleHiddenTraffic(t *testing.T) {
	o, err := schedule.Build(schedule.Spec{
		Kind: schedule.DualPipeV, Ranks: 1, VirtualStages: 2,
		MicroBatches: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	c := schedule.UniformCosts(o.Spec, schedule.ChunkTimes{F: 4, B: 6, I: 3, W: 3}, 0)
	c.HiddenF, c.HiddenB = []float64{3, 3}, []float64{1, 1}
	tl, err := schedule.Simulate(o, c)
	if err != nil {
		t.Fatal(err)
	}
	if st := tl.Ranks[0]; st.Saved != 4 || st.Busy != 36 {
		t.Errorf("one pair saves %v of a busy time of %v, want 4 and 36", st.Saved, st.Busy)
	}
	c.HiddenB[0] = 99 // more than the whole backward: all of it is traffic
	if tl, err = schedule.Simulate(o, c); err != nil || tl.Ranks[0].Saved != 1 {
		t.Errorf("%v saved (%v), want 1", tl.Ranks[0].Saved, err)
	}
	c.HiddenB = []float64{1}
	var bad *schedule.CostError
	if _, err := schedule.Simulate(o, c); !errors.As(err, &bad) {
		t.Errorf("one duration for two stages: %v", err)
	}
}

// TestScheduleDeadlock runs lists that wait for each other: an error that names
// the blocked operations, never a hang.
func TestScheduleDeadlock(t *testing.T) {
	f := func(mb int) schedule.Op { return schedule.NewOp(schedule.Forward, 0, mb) }
	b := func(mb int) schedule.Op { return schedule.NewOp(schedule.Backward, 0, mb) }
	spec := schedule.Spec{Kind: "by hand", Ranks: 2, VirtualStages: 1, MicroBatches: 2}
	costs := schedule.UniformCosts(spec, schedule.ChunkTimes{F: 1, B: 2}, 0)
	for _, c := range []struct {
		name string
		ops  []schedule.Op
		text string
	}{
		{
			"backward before the forward it needs downstream",
			[]schedule.Op{f(0), b(0), f(1), b(1), f(1), f(0), b(0), b(1)},
			"deadlock: rank 0 at 0B0, rank 1 at 1F1",
		},
		{
			"own forward after its backward",
			[]schedule.Op{f(0), f(1), b(0), b(1), b(0), f(0), f(1), b(1)},
			"deadlock: rank 0 at 0B0, rank 1 at 1B0",
		},
		{
			"a pair that needs its own result",
			[]schedule.Op{f(0), f(1), b(0), b(1), f(0).Pair(), b(0), f(1), b(1)},
			"deadlock: rank 0 at 0B0, rank 1 at 1F0",
		},
	} {
		o := &schedule.Order{Spec: spec, Ops: c.ops, Start: []int{0, 4, 8}}
		_, err := schedule.Simulate(o, costs)
		var deadlock *schedule.DeadlockError
		if !errors.As(err, &deadlock) || err.Error() != c.text {
			t.Errorf("%s: %v, want %s", c.name, err, c.text)
		}
	}
}

// TestScheduleMalformed hands the simulator what is no order and no cost.
func TestScheduleMalformed(t *testing.T) {
	spec := schedule.Spec{Kind: schedule.OneFOneB, Ranks: 2, VirtualStages: 1, MicroBatches: 2}
	good, err := schedule.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	costs := schedule.UniformCosts(spec, schedule.ChunkTimes{F: 1, B: 2}, 0)
	op := schedule.NewOp(schedule.Forward, 0, 0)
	for name, o := range map[string]*schedule.Order{
		"empty":            {},
		"no bounds":        {Spec: spec, Ops: []schedule.Op{op}},
		"bounds backwards": {Spec: spec, Ops: []schedule.Op{op}, Start: []int{0, 2, 1}},
		"chunk too high": {
			Spec: spec, Ops: []schedule.Op{schedule.NewOp(schedule.Forward, 3, 0)},
			Start: []int{0, 1, 1},
		},
		"micro-batch beyond": {
			Spec: spec, Ops: []schedule.Op{schedule.NewOp(schedule.Forward, 0, 9)},
			Start: []int{0, 1, 1},
		},
		"half a pair":       {Spec: spec, Ops: []schedule.Op{op.Pair()}, Start: []int{0, 1, 1}},
		"huge":              {Spec: schedule.Spec{Ranks: 1 << 40, VirtualStages: 1, MicroBatches: 1}},
		"unknown placement": {Spec: spec, Placement: 9, Start: []int{0, 0, 0}},
	} {
		var malformed *schedule.OrderError
		if _, err := schedule.Simulate(o, costs); !errors.As(err, &malformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]schedule.Costs{
		"none":             {},
		"too few":          {F: []float64{1}, B: []float64{1, 1}},
		"negative":         {F: []float64{1, -1}, B: []float64{1, 1}},
		"not a number":     {F: []float64{1, math.NaN()}, B: []float64{1, 1}},
		"infinite":         {F: []float64{1, math.Inf(1)}, B: []float64{1, 1}},
		"sum infinite":     {F: []float64{1e308, 1e308}, B: []float64{1e308, 1e308}},
		"negative latency": {F: costs.F, B: costs.B, P2P: -1},
		"overlap beyond 1": {F: costs.F, B: costs.B, Overlap: 1.5},
	} {
		var bad *schedule.CostError
		if _, err := schedule.Simulate(good, c); !errors.As(err, &bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
	zero, err := schedule.Simulate(good, schedule.UniformCosts(spec, schedule.ChunkTimes{}, 0))
	if err != nil || zero.Makespan != 0 || zero.BubbleOverIdeal() != 0 || zero.BubbleOverTotal() != 0 {
		t.Errorf("durations of zero: %v %v", zero, err)
	}
}
