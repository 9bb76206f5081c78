package engine_test

import (
	"fmt"
	"testing"

	"meshscope/engine/schedule"
)

// scheduleBenchSpecs are a usual step, an interleaved one, and the 262,144
// operations that the budgets are written for.
func scheduleBenchSpecs() []schedule.Spec {
	return []schedule.Spec{
		{Kind: schedule.OneFOneB, Ranks: 16, VirtualStages: 1, MicroBatches: 64},
		{Kind: schedule.Interleaved, Ranks: 16, VirtualStages: 2, MicroBatches: 64},
		{Kind: schedule.Interleaved, Ranks: 64, VirtualStages: 4, MicroBatches: 512},
		{Kind: schedule.InterleavedZB, Ranks: 64, VirtualStages: 4, MicroBatches: 512},
		{Kind: schedule.DualPipeV, Ranks: 64, VirtualStages: 2, MicroBatches: 512},
	}
}

func scheduleBenchName(s schedule.Spec) string {
	return fmt.Sprintf("%s/p=%d/m=%d/v=%d", s.Kind, s.Ranks, s.MicroBatches, s.VirtualStages)
}

// BenchmarkScheduleBuild makes the order in reused memory.
func BenchmarkScheduleBuild(b *testing.B) {
	for _, s := range scheduleBenchSpecs() {
		b.Run(scheduleBenchName(s), func(b *testing.B) {
			o, err := schedule.Build(s)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := o.Rebuild(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkScheduleSimulate is what a change of times costs.
func BenchmarkScheduleSimulate(b *testing.B) {
	for _, s := range scheduleBenchSpecs() {
		b.Run(scheduleBenchName(s), func(b *testing.B) {
			o, err := schedule.Build(s)
			if err != nil {
				b.Fatal(err)
			}
			var sim schedule.Simulator
			var tl schedule.Timeline
			costs := schedule.UniformCosts(s, schedule.ChunkTimes{F: 1, B: 2, I: 1, W: 1}, 0.1)
			if err := sim.Run(o, costs, &tl); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := sim.Run(o, costs, &tl); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkScheduleCold builds and simulates in new memory.
func BenchmarkScheduleCold(b *testing.B) {
	for _, s := range scheduleBenchSpecs() {
		b.Run(scheduleBenchName(s), func(b *testing.B) {
			costs := schedule.UniformCosts(s, schedule.ChunkTimes{F: 1, B: 2, I: 1, W: 1}, 0.1)
			b.ReportAllocs()
			for b.Loop() {
				o, err := schedule.Build(s)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := schedule.Simulate(o, costs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSchedulePeakBytes walks all ranks once.
func BenchmarkSchedulePeakBytes(b *testing.B) {
	for _, s := range scheduleBenchSpecs() {
		b.Run(scheduleBenchName(s), func(b *testing.B) {
			o, err := schedule.Build(s)
			if err != nil {
				b.Fatal(err)
			}
			weights := make([]schedule.ChunkBytes, o.Chunks())
			b.ReportAllocs()
			for b.Loop() {
				for r := range s.Ranks {
					o.PeakBytes(r, weights)
				}
			}
		})
	}
}

// BenchmarkScheduleSearch makes the orders that are searched for or moved
// together, for stage times of an attention-heavy model.
func BenchmarkScheduleSearch(b *testing.B) {
	for _, kind := range []schedule.Kind{
		schedule.ZB1P, schedule.ZB2P, schedule.ZBAuto, schedule.ZBVAuto,
		schedule.VHalf, schedule.VMin, schedule.OneFOneBV,
	} {
		for _, size := range [][2]int{{8, 32}, {64, 512}} {
			s := schedule.Spec{Kind: kind, Ranks: size[0], VirtualStages: 1, MicroBatches: size[1]}
			if info, _ := kind.Info(); info.Chunks == 2 {
				s.VirtualStages = 2
			}
			b.Run(scheduleBenchName(s), func(b *testing.B) {
				costs := schedule.UniformCosts(s, schedule.ChunkTimes{F: 18522, I: 18086, W: 9337}, 601)
				for b.Loop() {
					if _, err := schedule.BuildFor(s, costs, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
