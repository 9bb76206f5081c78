package engine_test

import (
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/memory"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/presets"

	"pgregory.net/rapid"
)

// A profile answers from its blocks what one finds by looking at every sample, in
// any stretch of time, on pipelines of many blocks and with overlapped pairs.
func TestProfileIsItsSamples(t *testing.T) {
	w := newWorld(t)
	draws.CheckFew(t, 8, func(t *rapid.T) {
		s := w.legalSetup(t)
		longer(t, &s)
		over, ok := engine.MemoryOverStep(s)
		if !ok {
			t.Fatalf("no memory over a step")
		}
		rank := rapid.IntRange(0, s.PP-1).Draw(t, "rank")
		for i := range over.Ranks[rank].Profiles {
			c := &over.Ranks[rank].Profiles[i]
			list := slices.Collect(c.All())
			if len(list) != c.Len() || list[0] != c.Start() || list[len(list)-1].At != c.Length() {
				t.Fatalf("%d samples of %d, from %+v to %v", len(list), c.Len(), list[0],
					list[len(list)-1].At)
			}
			if most := first(list, 0, c.Length()+1); most != c.Peak() {
				t.Fatalf("the peak is %+v, found %+v", c.Peak(), most)
			}
			passes := list[:len(list)-3] // what follows is the update
			if s.Stack.Traits().Ledger { // in which a ledger has as many samples as events
				line := units.Seconds(engine.Evaluate(s).Pipeline.Makespan)
				passes = list[:slices.IndexFunc(list, func(m memory.Sample) bool { return m.At > line })]
			}
			if pass := first(passes, 0, c.Length()+1); pass.Allocated() != c.ComputePeak() {
				t.Fatalf("forward and backward reach %v, found %v", c.ComputePeak(), pass.Allocated())
			}
			for range 20 {
				from := moment(t, list, "from")
				to := max(from, moment(t, list, "to"))
				if got, want := c.Most(from, to), first(list, from, to); got != want {
					t.Fatalf("from %v to %v at most %+v, found %+v", from, to, got, want)
				}
			}
		}
	})
}

// longer makes the pipeline run for many blocks of operations, where it may.
func longer(t *rapid.T, s *engine.Setup) {
	long := *s
	long.MicroBatches = max(1, rapid.IntRange(200, 3000).Draw(t, "micro-batches")/s.PP/s.VPP) * s.PP
	long.GBS = long.MicroBatches * s.MBS * s.DP
	if info, _ := s.Schedule.Info(); !info.Automatic && engine.Legal(long) {
		*s = long
	}
}

// moment is a time in the step or just outside it, often exactly that of a sample.
func moment(t *rapid.T, list []memory.Sample, name string) units.Seconds {
	at := list[rapid.IntRange(0, len(list)-1).Draw(t, name)].At
	if rapid.Bool().Draw(t, name+" of a sample") {
		return at
	}
	return at * units.Seconds(rapid.Float64Range(-0.1, 1.1).Draw(t, name+" share"))
}

// first is the first sample with most allocated from one moment until before
// another, the moment itself included.
func first(list []memory.Sample, from, to units.Seconds) memory.Sample {
	i := slices.IndexFunc(list, func(s memory.Sample) bool { return s.At >= from })
	if i < 0 {
		return list[len(list)-1]
	}
	best := list[i]
	if i > 0 {
		best = list[i-1].Between(&list[i], from)
	}
	for _, s := range list[i:] {
		if s.At < to && s.Allocated() > best.Allocated() {
			best = s
		}
	}
	return best
}

// The memory over a step of a million operations takes a small part of what its
// timeline does.
func TestMemoryOverStepIsSmall(t *testing.T) {
	s := million(t)
	r := engine.Evaluate(s)
	ops := len(r.Timeline.OpTimes().Order.Ops)
	if ops < 1_000_000 {
		t.Fatalf("%d operations", ops)
	}
	before := liveHeap()
	over, ok := engine.EvaluatorFrom(&r).MemoryOverStep(s, &r, nil)
	size := liveHeap() - before
	runtime.KeepAlive(&r)
	if !ok || over.Ranks[0].Profiles[1].Peak().Allocated() <= 0 {
		t.Fatal("no memory over a step")
	}
	samples := float64(8*ops) * float64(unsafe.Sizeof(memory.Sample{}))
	t.Logf("%.2f MB for what %.0f MB of samples say", size/1e6, samples/1e6)
	if size > 2*float64(ops) {
		t.Errorf("%.1f bytes for each of %d operations", size/float64(ops), ops)
	}
}

// million is a setup whose step has a million operations on 64 ranks.
func million(t *testing.T) engine.Setup {
	s := presets.DefaultSetup()
	s.TP, s.SP, s.DP, s.PP, s.MicroBatches = 1, false, 1, 64, 8192
	s.GPUs, s.GBS = s.PP, s.MicroBatches*s.MBS
	if !engine.Legal(s) {
		t.Fatal(engine.Check(s))
	}
	return s
}

// liveHeap is what is still in use after everything else has been collected.
func liveHeap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers and pools let go of
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// An Evaluator that is made from a report evaluates the same setup in the same order,
// also where an automatic schedule would take long to plan again.
func TestEvaluatorFromKeepsTheOrder(t *testing.T) {
	s := scheduleSetup(t, "llama3.1-8b", schedule.ZBAuto, func(*knob.Draft) {})
	first := engine.Evaluate(s)
	again := engine.EvaluatorFrom(&first).Evaluate(s)
	if !first.Legal || again.Timeline.Order != first.Timeline.Order {
		t.Error("the order was planned again")
	}
	s.Seq /= 2
	if other := engine.EvaluatorFrom(&first).Evaluate(s); other.Timeline.Order == first.Timeline.Order {
		t.Error("other durations have the same order")
	}
}
