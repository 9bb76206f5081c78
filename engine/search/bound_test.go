package search

import (
	"math/rand/v2"
	"testing"

	"meshscope/engine"
	"meshscope/engine/schedule"
	"meshscope/engine_test/draws"
	"meshscope/presets"
)

// In the large searches too, with pipelines of up to 128 ranks, no layout is better than
// the ranking pass says, and none is far worse: a sample of each, evaluated in full.
// (engine_test's floorShort has closer bounds, schedule by schedule, for up to 8 ranks;
// of 4,500 layouts the furthest were v-min at 1.96 times its bound and zb-2p at 1.64.)
func TestLargeSearchesAreBounded(t *testing.T) {
	const furthest = 2.5
	var all []schedule.Kind
	for _, i := range schedule.Kinds() {
		all = append(all, i.Kind)
	}
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[schedule.Kind]int{}
	for _, c := range []struct {
		model, cluster string
		gpus, gbs, seq int
	}{
		{"llama3.1-405b", "meta-roce-24k", 16384, 2048, 8192},
		{"megatron-1008b", "dgx-a100", 3072, 3072, 2048},
		{"deepseek-v3", "dgx-h100", 2048, 4096, 4096},
	} {
		s := presets.DefaultSetup()
		var err error
		if s.Model, err = presets.Default().Model(c.model); err != nil {
			t.Fatal(err)
		}
		if s.Cluster, err = presets.Default().Cluster(c.cluster); err != nil {
			t.Fatal(err)
		}
		s.GPUs, s.GBS, s.Seq = c.gpus, c.gbs, c.seq
		p := Problem{Setup: s, Space: Space{Schedules: all, Refused: true}, AnyMemory: true}
		r := newRun(t.Context(), &p, nil)
		k, e := &r.rankers()[0], engine.Evaluator{SkipTimeline: true}
		planes := 20
		if draws.Deep() {
			planes = 60
		}
		for range planes {
			if k.found = k.found[:0]; !k.rank(random.IntN(len(r.planes))) || len(k.found) == 0 {
				continue
			}
			for range 6 {
				of := &k.found[random.IntN(len(k.found))]
				f, _ := r.full(&e, of, nil)
				if !f.Report.Legal {
					continue // an automatic schedule that finds no order
				}
				seen[f.Setup.Schedule]++
				step, peak := f.PessimisticStep, f.peak
				if of.step > step || of.peak > peak || step > furthest*of.step {
					t.Errorf("%s, %s %+v: step %v and peak %v, bounds %v and %v",
						c.model, f.Setup.Schedule, f.Setup.Layout, step, peak, of.step, of.peak)
				}
			}
		}
	}
	for _, kind := range all {
		if seen[kind] == 0 {
			t.Errorf("no layout with %s was looked at", kind)
		}
	}
}
