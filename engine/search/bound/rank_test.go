package bound

import (
	"math"
	"testing"

	"meshscope/engine/schedule"
	"meshscope/engine_test/draws"

	"pgregory.net/rapid"
)

// abstract returns a Bounder of a pipeline of which only the stages' times are known.
func abstract(spec schedule.Spec, info *schedule.Info, times []stageTimes, hop float64) *Bounder {
	f := &Bounder{times: times}
	f.hosts = schedule.Order{Spec: spec, Placement: info.Placement}
	c := &f.partition
	c.rankClasses = make([]rankClass, spec.Ranks) // each rank for itself
	for r := range spec.Ranks {
		c.rankClasses[r].low, c.rankClasses[r].high = r, r
		c.classOfRank = append(c.classOfRank, r)
		for chunk := range f.hosts.Chunks() {
			c.stageOf = append(c.stageOf, f.hosts.StageOf(r, chunk))
		}
	}
	for stage := range times {
		c.crosses = append(c.crosses, stage > 0 && f.hosts.Crosses(stage-1))
	}
	f.path.accumulate(times, c.crosses, hop)
	return f
}

// simulated returns what a pipeline really adds to a step.
func simulated(t *rapid.T, spec schedule.Spec, info *schedule.Info, times []stageTimes, hop float64) (float64,
	bool,
) {
	c := schedule.Costs{P2P: hop}
	for _, s := range times {
		c.F, c.B, c.I, c.W = append(c.F, s.f), append(c.B, s.b), append(c.I, s.i), append(c.W, s.w)
	}
	o, err := schedule.BuildFor(spec, c, nil)
	if err != nil {
		return 0, false
	}
	var line schedule.Timeline
	var sim schedule.Simulator
	if err := sim.Run(o, c, &line); err != nil {
		t.Fatal(err)
	}
	return line.Length(info), true
}

// met says where a bound is the simulation itself: always where ranks do all forwards
// first or one micro-batch at a time. Where all stages take as long and messages take
// no time that is so of 1F1B, and of interleaved with whole groups; where F, I and W
// take as long too, on up to 8 ranks of most schedules that are made for that.
func met(spec *schedule.Spec, equalStages, equalParts bool) bool {
	switch spec.Kind {
	case schedule.Naive, schedule.AFAB, schedule.LoopedBFS:
		return true
	case schedule.OneFOneB:
		return equalStages
	case schedule.Interleaved:
		return equalStages && spec.MicroBatches%spec.Ranks == 0
	case schedule.ZBH1, schedule.ZBH2, schedule.ZB2P, schedule.ZBVAuto, schedule.OneFOneBV:
		return equalStages && equalParts
	default:
		return false
	}
}

// Of any stages' times a bound is under the simulation, and it is the simulation where
// met says so.
func TestSpansAreUnderSimulations(t *testing.T) {
	stageClasses := schedule.Kinds()
	exact, compared := 0, 0
	draws.Until(t, func() bool { return compared >= 2000 }, func(t *rapid.T) {
		info := rapid.SampledFrom(stageClasses).Draw(t, "schedule")
		spec := schedule.Spec{
			Kind: info.Kind, Ranks: rapid.IntRange(1, 8).Draw(t, "p"), VirtualStages: max(info.Chunks, 1),
			MicroBatches: rapid.IntRange(1, 24).Draw(t, "m"),
		}
		if info.Chunks == 0 {
			spec.VirtualStages = rapid.IntRange(1, 4).Draw(t, "v")
		}
		equal, parts := rapid.Bool().Draw(t, "equal stages"), rapid.Bool().Draw(t, "equal parts")
		duration := rapid.Float64Range(0.1, 4)
		times := make([]stageTimes, spec.Stages())
		for n := range times {
			if s := &times[n]; n > 0 && equal {
				*s = times[0]
			} else {
				s.f, s.i, s.w = duration.Draw(t, "F"), duration.Draw(t, "I"), duration.Draw(t, "W")
				if parts {
					s.i, s.w = s.f, s.f
				}
				s.b = s.i + s.w
			}
		}
		hop := rapid.SampledFrom([]float64{0, 0, 0.3, 2}).Draw(t, "hop")
		want, ok := simulated(t, spec, &info, times, hop)
		if !ok {
			return
		}
		compared++
		got := abstract(spec, &info, times, hop).spans(&spec, &info)
		if got > want*(1+1e-9) {
			t.Fatalf("%+v: bound %v, simulated %v", spec, got, want)
		}
		if met(&spec, equal && hop == 0, parts) {
			exact++
			if math.Abs(got-want) > 1e-9*want {
				t.Fatalf("%+v: bound %v, simulated %v: not the same", spec, got, want)
			}
		}
	})
	if exact < 100 {
		t.Errorf("only %d bounds were exact", exact)
	}
}
