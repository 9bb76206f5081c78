package engine_test

import (
	"errors"
	"math"
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
			[]string{"0F0@0-1 0F1@1-2 0B0@4-6 0F2@6-7 0B1@7-9 0B2@10-12", "1F0@1-2 1B0@2-4 1F1@4-5 1B1@5-7 1F2@7-8 1B2@8-10"},
		},
		{
			"one rank, two chunks",
			schedule.Spec{Kind: schedule.Interleaved, Ranks: 1, VirtualStages: 2, MicroBatches: 1},
			0.5,
			[]string{"0F0@0-1 1F0@1-2 1B0@2-4 0B0@4-6"},
		},
	} {
		tl := mustSimulate(t, c.spec, schedule.ChunkTimes{F: 1, B: 2}, c.p2p)
		for r, want := range c.ranks {
			if got := timelineText(tl, r); got != want {
				t.Errorf("%s, rank %d\n got %s\nwant %s", c.name, r, got, want)
			}
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
		{"P1", schedule.Spec{Kind: schedule.Naive, Ranks: 4, VirtualStages: 1, MicroBatches: 1}, 12, 3, 1, func(int) int { return 1 }},
		{"P1, one after the other", schedule.Spec{Kind: schedule.Naive, Ranks: 4, VirtualStages: 1, MicroBatches: 8}, 96, 3, 1, func(int) int { return 1 }},
		{"P2", schedule.Spec{Kind: schedule.AFAB, Ranks: 4, VirtualStages: 1, MicroBatches: 8}, 33, 0.375, 8, func(int) int { return 8 }},
		{"P3", schedule.Spec{Kind: schedule.OneFOneB, Ranks: 4, VirtualStages: 1, MicroBatches: 8}, 33, 0.375, 4, func(r int) int { return min(8, 4-r) }},
		{"P4", schedule.Spec{Kind: schedule.Interleaved, Ranks: 4, VirtualStages: 2, MicroBatches: 8}, 28.5, 0.1875, 11, func(r int) int { return 4 + 2*(3-r) + 1 }},
	} {
		v := float64(c.spec.VirtualStages)
		tl := mustSimulate(t, c.spec, schedule.ChunkTimes{F: 1 / v, B: 2 / v}, 0)
		if !scheduleNear(tl.Makespan, c.step) || !scheduleNear(tl.BubbleOverIdeal(), c.over) {
			t.Errorf("%s: step %v and bubble %v, want %v and %v", c.name, tl.Makespan, tl.BubbleOverIdeal(), c.step, c.over)
		}
		if want := c.over / (1 + c.over); !scheduleNear(tl.BubbleOverTotal(), want) {
			t.Errorf("%s: idle share %v, want %v", c.name, tl.BubbleOverTotal(), want)
		}
		if got := tl.Ranks[0].PeakInFlight; got != c.inFlightRank0 {
			t.Errorf("%s: %d in flight on rank 0, want %d", c.name, got, c.inFlightRank0)
		}
		for r, st := range tl.Ranks {
			if want := c.inFlightByRank(r); st.PeakInFlight != want || tl.Order.PeakInFlight(r) != want {
				t.Errorf("%s: %d and %d in flight on rank %d, want %d", c.name, st.PeakInFlight, tl.Order.PeakInFlight(r), r, want)
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
	o, err := schedule.Build(schedule.Spec{Kind: schedule.OneFOneB, Ranks: 2, VirtualStages: 1, MicroBatches: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		f, b    []float64
		peak    float64
		atIndex int
	}{
		{"activations only", nil, nil, 20, 1},
		{"forward needs 3", []float64{3}, nil, 23, 1},
		{"backward needs 5", nil, []float64{5}, 25, 2},
		{"both", []float64{6}, []float64{5}, 26, 1},
	} {
		peak, at := o.PeakBytes(0, []float64{10}, c.f, c.b)
		if peak != c.peak || at != c.atIndex {
			t.Errorf("%s: %v at %d, want %v at %d", c.name, peak, at, c.peak, c.atIndex)
		}
	}
	if got := o.PeakLive(1, []float64{10}); got != 10 {
		t.Errorf("rank 1 holds %v, want 10", got)
	}

	// A split backward keeps the activation until W; a pair holds both halves at once.
	split := &schedule.Order{
		Spec: schedule.Spec{Kind: "by hand", Ranks: 1, VirtualStages: 1, MicroBatches: 2},
		Ops: []schedule.Op{
			schedule.NewOp(schedule.Forward, 0, 0), schedule.NewOp(schedule.InputGradient, 0, 0),
			schedule.NewOp(schedule.Forward, 0, 1).Pair(), schedule.NewOp(schedule.WeightGradient, 0, 0),
			schedule.NewOp(schedule.InputGradient, 0, 1), schedule.NewOp(schedule.WeightGradient, 0, 1),
		},
		Start: []int{0, 6},
	}
	if peak, at := split.PeakBytes(0, []float64{10}, []float64{2}, []float64{3}); peak != 25 || at != 2 {
		t.Errorf("split: %v at %d, want 25 at 2", peak, at)
	}
	tl, err := schedule.Simulate(split, schedule.Costs{F: []float64{4}, I: []float64{3}, W: []float64{2}, Overlap: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	// F 4, I 3, pair 4+2-half of 2 = 5, I 3, W 2.
	if st := tl.Ranks[0]; tl.Makespan != 17 || st.Busy != 17 || st.Idle != 0 || st.PeakInFlight != 2 || st.PeakUntilInput != 1 || st.PeakPendingW != 1 {
		t.Errorf("split: makespan %v, %+v", tl.Makespan, st)
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
		"empty":              {},
		"no bounds":          {Spec: spec, Ops: []schedule.Op{op}},
		"bounds backwards":   {Spec: spec, Ops: []schedule.Op{op}, Start: []int{0, 2, 1}},
		"chunk too high":     {Spec: spec, Ops: []schedule.Op{schedule.NewOp(schedule.Forward, 3, 0)}, Start: []int{0, 1, 1}},
		"micro-batch beyond": {Spec: spec, Ops: []schedule.Op{schedule.NewOp(schedule.Forward, 0, 9)}, Start: []int{0, 1, 1}},
		"half a pair":        {Spec: spec, Ops: []schedule.Op{op.Pair()}, Start: []int{0, 1, 1}},
		"huge":               {Spec: schedule.Spec{Ranks: 1 << 40, VirtualStages: 1, MicroBatches: 1}},
		"unknown placement":  {Spec: spec, Placement: 9, Start: []int{0, 0, 0}},
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
