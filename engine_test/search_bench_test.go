//go:build unix

package engine_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"meshscope/engine/schedule"
	"meshscope/engine/search"
	"meshscope/presets"
)

// searches are the problems that are timed.
func searches(tb testing.TB) []namedProblem {
	tb.Helper()
	var all []schedule.Kind
	for _, i := range schedule.Kinds() {
		all = append(all, i.Kind)
	}
	problem := func(name, model, cluster string, gpus, gbs, seq int, kinds []schedule.Kind) namedProblem {
		s := presets.DefaultSetup()
		var err error
		if s.Model, err = presets.Default().Model(model); err != nil {
			tb.Fatal(err)
		}
		if s.Cluster, err = presets.Default().Cluster(cluster); err != nil {
			tb.Fatal(err)
		}
		s.GPUs, s.GBS, s.Seq = gpus, gbs, seq
		return namedProblem{name, search.Problem{Setup: s, Space: search.Space{Schedules: kinds}}}
	}
	return []namedProblem{
		problem("llama3.1-70b/64", "llama3.1-70b", "dgx-h100", 64, 512, 8192, nil),
		problem("megatron-1t/3072/all", "megatron-1008b", "dgx-a100", 3072, 3072, 2048, all),
		problem("llama3.1-405b/16384/all", "llama3.1-405b", "meta-roce-24k", 16384, 2048, 8192, all),
	}
}

type namedProblem struct {
	name    string
	problem search.Problem
}

// The ranking pass alone, on one core: of layouts whose memory alone excludes them the
// time is not asked for, unless layouts are ranked whether they fit or not.
func BenchmarkSearchRank(b *testing.B) {
	all := searches(b)
	for _, p := range searches(b) {
		p.name += "/any-memory"
		p.problem.AnyMemory = true
		all = append(all, p)
	}
	for _, p := range all {
		b.Run(p.name, func(b *testing.B) {
			layouts, before := 0, cpuTime(b)
			for b.Loop() {
				layouts += search.Count(p.problem)
			}
			b.ReportMetric(float64(layouts)/b.Elapsed().Seconds(), "layouts/s")
			b.ReportMetric(float64(layouts)/(cpuTime(b)-before).Seconds(), "layouts/cpu-s")
		})
	}
}

// The whole search on two cores.
func BenchmarkSearch(b *testing.B) {
	for _, p := range searches(b) {
		b.Run(p.name, func(b *testing.B) {
			p.problem.Workers = 2
			var r search.Result
			before, n := cpuTime(b), 0
			for b.Loop() {
				r = search.Run(context.Background(), p.problem, nil)
				n++
			}
			b.ReportMetric(float64((cpuTime(b)-before).Milliseconds())/float64(n), "cpu-ms")
			b.ReportMetric(float64(r.Evaluated), "evaluated")
			b.ReportMetric(float64(r.Legal), "layouts")
		})
	}
}

// cpuTime is what this process has used of all cores: unlike the clock it does
// not count what other programs do meanwhile.
func cpuTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
