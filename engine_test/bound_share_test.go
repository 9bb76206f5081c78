package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/engine/search/bound"
	"meshscope/engine_test/draws"

	"pgregory.net/rapid"
)

// What Bounder keeps from one setup for the next never shows: after any walk from
// setup to setup, in which it takes what changed and all levels below, a floor is that
// of a fresh one, to the last bit. What is checked level by level is what Check says.
// What is asked between two moves differs: a search leaves out the step where the
// memory excludes a layout, and shards one pass several times.
func TestBounderKeepsNothingStale(t *testing.T) {
	t.Run("any stack", func(t *testing.T) { walkBounds(t, func(*engine.Setup) {}) })
	// Its gathered copies hang on what TP cuts and on the pass, unlike the others'.
	t.Run("nanotron",
		func(t *testing.T) { walkBounds(t, func(s *engine.Setup) { s.Stack = recipe.Nanotron }) })
}

func walkBounds(t *testing.T, fix func(*engine.Setup)) {
	w := newWorld(t)
	compared, refused := 0, 0
	property := func(t *rapid.T) {
		var f bound.Bounder
		s := w.pipelined(t)
		fix(&s)
		f.SetModel(&s)
		given := f.Checker.Given(s)
		level := 0 // what was illegal is not taken: the next move begins anew
		for range rapid.IntRange(2, 12).Draw(t, "moves") {
			info, from := move(t, &s, level)
			layout, order, again := f.Checker.Layout(&s), knob.LegalityOfSchedule(s.Spec()),
				f.Checker.Recompute(s.Recompute)
			legal := engine.Legal(s)
			if legal != (given.Legal && layout.Legal && order.Legal && again.Legal) {
				t.Fatalf("judged %+v, %+v, %+v and %+v, but legal %t: %s %+v", given, layout, order, again,
					legal, s.Schedule, s.Layout)
			}
			if level = 0; !legal {
				continue
			}
			if no := layout.Rejected || order.Rejected; no != knob.LauncherRejects(engine.Check(s)) {
				t.Fatalf("judged to be refused: %t, Check says otherwise: %s %+v", no, s.Schedule, s.Layout)
			}
			refused += one(layout.Rejected || order.Rejected)
			level = deepest
			descend(&f, &s, info, from)
			if rapid.Bool().Draw(t, "shard again") {
				f.SetZeRO(s.ZeRO)
			}
			spec := s.Spec()
			var fresh bound.Bounder
			want, ok := fresh.Bound(&s)
			if !ok {
				t.Fatalf("no floor for %s %+v", s.Schedule, s.Layout)
			}
			asked := rapid.SampledFrom([]string{"both", "step", "peak", "neither"}).Draw(t, "asked")
			if asked == "both" || asked == "step" {
				if got := f.Step(&spec, info); got != want.Step {
					t.Fatalf("step %v of a Bounder that is reused, %v of a fresh one: %s %+v", got, want.Step,
						s.Schedule, s.Layout)
				}
			}
			if asked == "both" || asked == "peak" {
				if got := max(f.Peak(&spec, info), f.PeakInTime(&spec, info)); got != want.Peak {
					t.Fatalf("peak %v of a Bounder that is reused, %v of a fresh one: %s %+v", got, want.Peak,
						s.Schedule, s.Layout)
				}
			}
			compared++
		}
	}
	draws.Check(t, property)
	draws.Until(t, func() bool { return compared >= 100 && refused >= 20 }, property)
}

// The levels of Bounder from which a move can begin.
const (
	fromPlane = iota
	fromCut
	fromPass
	fromAgain
	deepest
)

// move changes a setup from some level on, which is no deeper than the one given.
func move(t *rapid.T, s *engine.Setup, most int) (info *schedule.Info, from int) {
	pick := func(name string, values ...int) int { return rapid.SampledFrom(values).Draw(t, name) }
	before, _ := s.Schedule.Info()
	drawn := rapid.SampledFrom(schedule.Kinds()).Draw(t, "schedule")
	s.Schedule = drawn.Kind
	from = rapid.IntRange(0, most).Draw(t, "level")
	if before.Placement != drawn.Placement || before.Chunks != drawn.Chunks {
		from = min(from, fromCut)
	}
	if from <= fromPlane {
		s.TP, s.PP, s.DP = pick("tp", 1, 2, 4), pick("pp", 1, 2, 4), pick("dp", 1, 2, 4)
		s.Seq, s.Split = pick("seq", 1024, 4096), ""
		s.CP, s.HSDP = pick("cp", 1, 2), pick("hsdp", 1, 2)
		if s.Model.IsMoE() {
			s.EP = pick("ep", 1, 2)
			s.ETP = pick("etp", 1, s.TP)
		}
	}
	if from <= fromCut {
		if s.VPP = drawn.Chunks; s.VPP == 0 {
			s.VPP = pick("vpp", 1, 2, 3)
		}
	}
	if from <= fromPass {
		s.MBS, s.MicroBatches = pick("mbs", 1, 2, 3), pick("m", 1, 4, 8)
		s.SP = s.TP > 1 && rapid.Bool().Draw(t, "sp")
	}
	s.GPUs, s.GBS = s.Ranks(), s.MBS*s.MicroBatches*s.DP
	if from <= fromAgain {
		s.Recompute = rapid.SampledFrom([]recipe.Recompute{
			{Mode: "none"},
			{Mode: "full"},
			{Mode: "selective"},
			{Mode: "full", Layers: 3},
			{Mode: "full", Layers: 4},
			{Mode: "modules", Modules: recipe.AllModules},
			{Mode: "modules"},
		}).Draw(t, "recompute")
	}
	s.ZeRO = pick("zero", 0, 1, 2, 3)
	return &drawn, from
}

// descend tells a Bounder what changed, from some level on.
func descend(f *bound.Bounder, s *engine.Setup, info *schedule.Info, from int) {
	if from <= fromPlane {
		f.SetDegrees(&s.Layout)
	}
	if from <= fromCut {
		f.SetStages(&s.Layout, info.Placement)
	}
	if from <= fromPass {
		f.SetMicroBatch(&s.Layout)
	}
	if from <= fromAgain {
		f.SetRecompute(s.Recompute)
	}
	f.SetZeRO(s.ZeRO)
}
