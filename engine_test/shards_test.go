package engine_test

import (
	"math"
	"testing"

	"meshscope/engine"
	"meshscope/engine/fit"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/presets"

	"pgregory.net/rapid"
)

// What ZeRO divides is whole without it: in the textbook's formulas exactly as
// many times as there are ranks that share it.
func TestUnsharded(t *testing.T) {
	s := presets.DefaultSetup()
	s.Stack = recipe.Textbook
	for s.ZeRO = range 4 {
		shards, ok := fit.Unsharded(new(engine.Evaluator), s)
		if !ok || shards.Dense != s.DP*s.CP || len(shards.Whole) != s.PP {
			t.Fatalf("ZeRO-%d: %+v", s.ZeRO, shards)
		}
		r := engine.Evaluate(s).Memory.Ranks[0]
		for i, term := range []struct {
			name       string
			here, all  float64
			fromZeRO   int
			wantShares float64
		}{
			{"optimizer", float64(r.Optimizer), float64(shards.Whole[0].Optimizer), 1, float64(shards.Dense)},
			{"gradients", float64(r.Gradients), float64(shards.Whole[0].Gradients), 2, float64(shards.Dense)},
			{"weights", float64(r.Weights), float64(shards.Whole[0].Weights), 3, float64(shards.Dense)},
		} {
			want := 1.0
			if s.ZeRO >= term.fromZeRO {
				want = term.wantShares
			}
			if got := term.all / term.here; math.Abs(got-want) > 1e-9 {
				t.Errorf("ZeRO-%d, term %d, %s: whole is %g times the shard, want %g", s.ZeRO, i, term.name,
					got, want)
			}
		}
	}
}

// TestUnshardedNVMe: without shards the states on drives are in host memory, as those there stay.
func TestUnshardedNVMe(t *testing.T) {
	whole := func(offload recipe.Offload) units.Bytes {
		s, _ := fineTuned(t, "llama3.1-8b", "h100-sxm", knob.Given{
			knob.GPUs: 4, knob.Calibration: recipe.DeepSpeed, knob.ZeRO: 3, knob.Offload: offload,
		})
		shards, ok := fit.Unsharded(new(engine.Evaluator), s)
		if !ok {
			t.Fatal("no answer about a legal setup")
		}
		return shards.Whole[0].Offloaded
	}
	if on, off := whole(recipe.OffloadOptimizerNVMe), whole(recipe.OffloadOptimizer); on != off || off == 0 {
		t.Errorf("%v in host memory, of what is there %v", on, off)
	}
}

// In any setup a rank has no more of the optimizer's state than without ZeRO,
// and activations do not depend on it.
func TestUnshardedIsNoLess(t *testing.T) {
	w := newWorld(t)
	draws.CheckFew(t, 10, func(t *rapid.T) {
		s := w.legalSetup(t)
		shards, ok := fit.Unsharded(new(engine.Evaluator), s)
		if !ok {
			t.Fatal("no answer about a legal setup")
		}
		for i, r := range engine.Evaluate(s).Memory.Ranks {
			whole := shards.Whole[i]
			// nanotron's shards carry a 16-bit copy: 14 bytes over dp against 12.
			if shards.Dense > 1 && shards.Expert > 1 && r.Optimizer > whole.Optimizer*1.001 {
				t.Fatalf("rank %d: optimizer %.3f GiB, %.3f without ZeRO", i, r.Optimizer.GiB(),
					whole.Optimizer.GiB())
			}
		}
	})
}

// What stops a sequence or a micro-batch is on the fullest rank with the next value, which
// leaves no margin, and grew.
func TestStops(t *testing.T) {
	w := newWorld(t)
	draws.CheckFew(t, 13, func(t *rapid.T) {
		s := w.legalSetup(t)
		limits, ok := fit.Find(new(engine.Evaluator), s)
		if !ok {
			t.Fatal("no limits of a legal setup")
		}
		seq, mbs := fit.Stops(new(engine.Evaluator), s, limits)
		if (seq == nil) != limits.SeqOpen || (mbs == nil) != limits.MBSOpen {
			t.Fatalf("%+v stops %+v and %+v", limits, seq, mbs)
		}
		longer, larger := s, s
		longer.Seq, larger.MBS = limits.Seq+limits.SeqUnit, limits.MBS+1
		for stop, next := range map[*fit.Stop]engine.Setup{seq: longer, mbs: larger} {
			if stop == nil {
				continue
			}
			m := new(engine.Evaluator).Memory(next)
			if m.HasMargin() || stop.Total != m.Peak || stop.More <= 0 || stop.Term == "" || stop.Rank < 0 ||
				stop.Rank >= s.PP {
				t.Fatalf("%+v with %.1f GiB usable", stop, s.Cluster.GPU.MemoryUsable.GiB())
			}
		}
	})
}
