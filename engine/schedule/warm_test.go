package schedule

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine_test/draws"
)

// What is stated of a rank's first forwards and of what is alive holds for every
// order up to 10 ranks; automatic schedules promise nothing.
func TestWarmupIsWhatOrdersDo(t *testing.T) {
	orders := 0
	for _, info := range Kinds() {
		for p := 1; p <= 10; p++ {
			for v := 1; v <= 3; v++ {
				for m := 1; m <= 4*p+1; m++ {
					s := Spec{Kind: info.Kind, Ranks: p, VirtualStages: v, MicroBatches: m}
					if o, err := Build(s); err == nil {
						orders++
						warmupHolds(t, o)
					}
				}
			}
		}
	}
	if orders < 4000 {
		t.Errorf("only %d orders were looked at", orders)
	}
}

func warmupHolds(t *testing.T, o *Order) {
	t.Helper()
	info, _ := o.Spec.Kind.Info()
	for r := range o.Spec.Ranks {
		if pending := o.plan.ranks[r].pendingW; info.SplitsBackward &&
			pending < info.DeferredWeightGrads(&o.Spec, r) {
			t.Fatalf("%+v rank %d: %d weight gradients wait; said %d", o.Spec, r, pending,
				info.DeferredWeightGrads(&o.Spec, r))
		}
		leading := 0
		for _, op := range o.Rank(r) {
			if op.Kind() != Forward {
				break
			}
			leading++
		}
		w, peaks := info.Warmup(&o.Spec, r), o.plan.ranks[r]
		if leading < w.Least || leading > w.Most || peaks.untilInput > w.Most || peaks.inFlight < w.Alive {
			t.Fatalf("%+v rank %d: %d forwards first, %d until I, %d alive; said %+v", o.Spec, r, leading,
				peaks.untilInput, peaks.inFlight, w)
		}
	}
}

// Overlapped pairs join a forward and a backward of the two different chunks of a rank.
func TestPairsJoinBothChunks(t *testing.T) {
	pairs := 0
	for _, kind := range []Kind{DualPipe, DualPipeV} {
		info, _ := kind.Info()
		for p := 1; p <= 8; p++ {
			for m := 1; m <= 4*p+2; m++ {
				o, err := Build(Spec{Kind: kind, Ranks: p, VirtualStages: info.Chunks, MicroBatches: m})
				if err != nil {
					continue
				}
				for i, op := range o.Ops {
					if !op.Paired() {
						continue
					}
					pairs++
					if o.Ops[i+1].Chunk() == op.Chunk() || o.Chunks() != 2 {
						t.Fatalf("%+v: a pair of %v and %v", o.Spec, op, o.Ops[i+1])
					}
				}
			}
		}
	}
	if pairs < 1000 {
		t.Errorf("only %d pairs were looked at", pairs)
	}
}

// What is stated of the order in which chunks take turns is that of the orders.
func TestForwardsOfChunkIsWhatOrdersDo(t *testing.T) {
	compared := 0
	for _, kind := range []Kind{Interleaved, InterleavedZB, LoopedBFS} {
		for p := 1; p <= 6; p++ {
			for v := 1; v <= 4; v++ {
				for m := 1; m <= 4*p+1; m++ {
					for group := 0; group <= m; group++ {
						s := Spec{Kind: kind, Ranks: p, VirtualStages: v, MicroBatches: m, GroupSize: group}
						if o, err := Build(s); err == nil {
							compared++
							ledHolds(t, o)
						}
					}
				}
			}
		}
	}
	if compared < 1000 {
		t.Errorf("only %d orders were looked at", compared)
	}
}

func ledHolds(t *testing.T, o *Order) {
	t.Helper()
	info, _ := o.Spec.Kind.Info()
	v, group := o.Spec.VirtualStages, info.InterleaveGroup(&o.Spec)
	for r := range o.Spec.Ranks {
		forwards, backwards := make([]int, v+1), make([]int, v+1) // by chunk, the last is all
		for _, op := range o.Rank(r) {
			count := forwards
			switch op.Kind() {
			case Forward:
			case Backward:
				count = backwards
			default:
				continue
			}
			count[op.Chunk()]++
			count[v]++
			for c := range v {
				if led := o.Spec.ForwardsOfChunk(forwards[v], c, group); led != forwards[c] {
					t.Fatalf("%+v rank %d: %d of the first %d forwards are of chunk %d; said %d", o.Spec, r,
						forwards[c], forwards[v], c, led)
				}
				if back := o.Spec.ForwardsOfChunk(backwards[v], v-1-c, group); back != backwards[c] {
					t.Fatalf("%+v rank %d: %d of the first %d backwards are of chunk %d; said %d", o.Spec, r,
						backwards[c], backwards[v], c, back)
				}
			}
		}
	}
}

// What is stated of how far automatic schedules run ahead holds for the orders that are
// found, whatever the durations.
func TestAheadIsWhatOrdersDo(t *testing.T) {
	found := 0
	property := func(t *rapid.T) {
		s := Spec{
			Kind:          rapid.SampledFrom([]Kind{ZB1P, ZB2P, ZBAuto}).Draw(t, "schedule"),
			Ranks:         rapid.IntRange(1, 8).Draw(t, "p"),
			VirtualStages: 1, MicroBatches: rapid.IntRange(1, 20).Draw(t, "m"),
			MaxInFlight: rapid.IntRange(0, 9).Draw(t, "limit"),
		}
		c := Costs{P2P: rapid.Float64Range(0, 2).Draw(t, "hop")}
		duration := rapid.Float64Range(0, 4)
		for range s.Ranks {
			c.F, c.I, c.W = append(c.F, duration.Draw(t, "F")), append(c.I, duration.Draw(t, "I")),
				append(c.W, duration.Draw(t, "W"))
			c.Held, c.HeldForW = append(c.Held, duration.Draw(t, "held")),
				append(c.HeldForW, duration.Draw(t, "held for W"))
		}
		o, err := BuildFor(s, c, nil)
		if err != nil {
			return // no order within the limit
		}
		var a Ahead
		if err := a.Set(s.Ranks, &c); err != nil {
			t.Fatal(err)
		}
		for r, said := range a.Forwards(s) {
			found++
			leading := slices.IndexFunc(o.Rank(r), func(op Op) bool { return op.Kind() != Forward })
			if leading < said {
				t.Fatalf("%+v rank %d: %d forwards first; said %d", s, r, leading, said)
			}
		}
	}
	draws.Check(t, property)
	draws.Until(t, func() bool { return found >= 100 }, property)
}
