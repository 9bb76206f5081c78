package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/schedule"
	"meshscope/engine_test/draws"
	"meshscope/presets"
)

func benchSetup(b testing.TB, id string, gpus, tp, pp, vpp, m int) engine.Setup {
	b.Helper()
	mod, err := presets.Default().Model(id)
	if err != nil {
		b.Fatal(err)
	}
	cluster, err := presets.Default().Cluster("dgx-h100")
	if err != nil {
		b.Fatal(err)
	}
	d := knob.DraftOf(mod, cluster, knob.Given{
		knob.GPUs: gpus, knob.TP: tp, knob.PP: pp, knob.VPP: vpp,
		knob.MicroBatches: m,
	})
	if vpp > 1 {
		d.With(knob.Given{knob.Schedule: schedule.Interleaved})
	}
	s, err := d.Resolve()
	if err != nil {
		b.Fatal(err)
	}
	if !engine.Legal(s) {
		b.Fatalf("illegal: %+v", engine.Check(s))
	}
	return s
}

// BenchmarkEvaluate: p16m64 has a budget of 30 microseconds.
func BenchmarkEvaluate(b *testing.B) {
	for _, c := range []struct {
		name                 string
		gpus, tp, pp, vpp, m int
	}{
		{"p16m64", 1024, 8, 16, 1, 64},
		{"p2m128", 64, 8, 2, 1, 128},
		{"p16m64v4", 1024, 8, 16, 4, 64},
		{"p1", 64, 8, 1, 1, 64},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := benchSetup(b, "llama3.1-405b", c.gpus, c.tp, c.pp, c.vpp, c.m)
			var e engine.Evaluator
			e.Evaluate(s)
			b.ReportAllocs()
			for b.Loop() {
				r := e.Evaluate(s)
				if !r.Legal {
					b.Fatal("illegal")
				}
			}
		})
	}
}

// TestEvaluateAllocatesOnlyTheReport counts: timeline (itself, its ranks, the
// durations for its times), memory, pipeline, time and throughput in one, the
// ranks and stages of memory, communication, model, assumptions, not modelled; the
// reason of a setup that does not fit, and its warning that layers do not divide over the
// stages (its list and its text). The 405B model has both.
func TestEvaluateAllocatesOnlyTheReport(t *testing.T) {
	for _, c := range []struct {
		model string
		fits  bool
		most  float64
	}{{"llama3.1-70b", true, 10}, {"llama3.1-405b", false, 13}} {
		s := benchSetup(t, c.model, 1024, 8, 16, 1, 64)
		var e engine.Evaluator
		if r := e.Evaluate(s); r.Memory.Fits != c.fits {
			t.Fatalf("%s: fits is %v", c.model, r.Memory.Fits)
		}
		if draws.Race && !c.fits {
			c.most++ // the race detector lets fmt lose its buffer now and then
		}
		if n := testing.AllocsPerRun(100, func() { e.Evaluate(s) }); n > c.most {
			t.Errorf("%s: %v allocations, the Report is %v", c.model, n, c.most)
		}
	}
}

func BenchmarkLegal(b *testing.B) {
	s := benchSetup(b, "llama3.1-405b", 1024, 8, 16, 1, 64)
	b.ReportAllocs()
	for b.Loop() {
		if !engine.Legal(s) {
			b.Fatal("illegal")
		}
	}
}

// An illegal setup has nearest values to be looked for.
func BenchmarkCheckIllegal(b *testing.B) {
	s := benchSetup(b, "llama3.1-405b", 1024, 8, 16, 1, 64)
	s.TP, s.DP = 3, 21
	b.ReportAllocs()
	for b.Loop() {
		if len(engine.Check(s)) == 0 {
			b.Fatal("legal")
		}
	}
}

// BenchmarkEvaluateSchedules: 16 ranks and 64 micro-batches under every
// schedule; automatic ones are found anew each time, as when a knob changes the
// durations.
func BenchmarkEvaluateSchedules(b *testing.B) {
	base := benchSetup(b, "llama3.1-405b", 1024, 8, 16, 1, 64)
	for _, info := range schedule.Kinds() {
		b.Run(string(info.Kind), func(b *testing.B) {
			s, err := knob.Turn(base, "schedule", string(info.Kind), knob.Locks{GPUs: true, Batch: true})
			if err != nil || !engine.Legal(s) {
				b.Fatal(err, engine.Check(s))
			}
			other := s
			other.Seq *= 2
			var e engine.Evaluator
			b.ReportAllocs()
			for b.Loop() {
				if r := e.Evaluate(s); !r.Legal {
					b.Fatal("illegal")
				}
				s, other = other, s
			}
		})
	}
}
