package memory

import (
	"context"
	"testing"

	"meshscope/engine"
	"meshscope/engine/fit"
	"meshscope/engine/memory"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/presets"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"

	"github.com/charmbracelet/colorprofile"
)

// input is a setup of so many pipeline ranks with round figures in place of the
// engine's: frames are about what is drawn where, and must not change when a
// prediction gets better.
func input(t testing.TB, profile colorprofile.Profile, unicode bool, ranks int) *screen.Context {
	t.Helper()
	p, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	s := presets.DefaultSetup()
	s.PP, s.TP, s.DP = ranks, 8, max(8/ranks, 1)
	s.GPUs, s.MicroBatches = s.PP*s.TP*s.DP, 12*ranks
	s.GBS = s.MicroBatches * s.DP
	r := engine.Report{Legal: true, Memory: &engine.Memory{Capacity: 80 * units.GB, Usable: 79 * units.GiB}}
	for i := range ranks {
		r.Memory.Ranks = append(r.Memory.Ranks, roundRank(i, ranks))
		if total := r.Memory.Ranks[i].Total; total > r.Memory.Peak {
			r.Memory.Peak, r.Memory.PeakRank = total, i
		}
	}
	r.Memory.Evidence = engine.Evidence{
		ErrorBand: 0.09, TypicalError: 0.02, ValidatedBy: "first-table",
		Nearest: engine.NearestRuns{
			Title: "first table", Example: "Llama-3 70B on 64 H100", Runs: 1,
			Off: 0.03,
		}, Runs: 12,
	}
	r.Memory.Fits, r.Memory.Fit = r.Memory.Peak <= r.Memory.Usable,
		engine.FitWithin(r.Memory.Peak, r.Memory.Usable, r.Memory.ErrorBand)
	order, err := schedule.Build(s.Spec())
	if err != nil {
		t.Fatal(err)
	}
	line, err := schedule.Simulate(order, schedule.UniformCosts(s.Spec(), schedule.ChunkTimes{F: 1, B: 2}, 0))
	if err != nil {
		t.Fatal(err)
	}
	r.Timeline = line
	return &screen.Context{
		Setup: &s, Report: &r, Theme: p.Resolve(profile),
		Glyphs: widget.NewGlyphs(unicode),
	}
}

// roundRank is a rank whose activations fall along the pipeline.
func roundRank(i, ranks int) engine.RankMemory {
	r := engine.RankMemory{
		Rank: i, Layers: 80 / ranks, Parameters: 2e9, InFlight: float64(ranks - i),
		Weights: 4 * units.GiB, Gradients: 8 * units.GiB, Optimizer: 12 * units.GiB,
		Activations: 40 * units.GiB * units.Bytes(ranks-i) / units.Bytes(ranks), Buffers: units.GiB,
		OverheadParts: memory.Overhead{
			Slack: 2 * units.GiB, Context: units.GiB / 2,
			Communicators: units.GiB / 2,
		},
	}
	if i == ranks-1 {
		r.Logits = 2 * units.GiB
	}
	r.Overhead = r.OverheadParts.Sum()
	r.Allocated = r.Weights + r.Gradients + r.Optimizer + r.Activations + r.Logits + r.Buffers
	r.Total = r.Allocated + r.Overhead
	return r
}

// answered is a screen that has its answers, as round as the report.
func answered(in *screen.Context) *View {
	v := New()
	a := answers{known: true, setup: *in.Setup}
	a.over.Usable = in.Report.Memory.Usable
	a.over.Fits = [2]bool{true, true}
	for i := range in.Report.Memory.Ranks {
		r := &in.Report.Memory.Ranks[i]
		ro := engine.RankOverStep{Rank: i, Profiles: memory.Profiles(trace(in.Report.Timeline, r, i))}
		for k := range ro.Profiles {
			ro.Peaks[k] = ro.Profiles[k].Peak().Allocated() + r.Overhead
			a.over.Fits[k] = a.over.Fits[k] && ro.Peaks[k] <= a.over.Usable
		}
		a.over.Ranks = append(a.over.Ranks, ro)
		whole := *r
		whole.Optimizer *= 4
		whole.Total += 3 * r.Optimizer
		a.shards.Whole = append(a.shards.Whole, whole)
	}
	a.shards.Dense, a.shards.Expert = 4, 1
	for i := range a.over.Ranks {
		a.over.Ranks[i].Milestones = engine.Milestones{
			Model: 4 * units.GiB, States: 16 * units.GiB, FirstPeak: 57 * units.GiB,
			AfterUpdate: 24 * units.GiB, LaterPeak: 65 * units.GiB, Compute: 41 * units.GiB,
		}
	}
	a.kinds = []engine.LayerKind{{ID: "dense", Name: "dense", Layers: 80, Operations: []engine.Operation{
		{
			Operation: memory.Operation{
				ID: "qkv", Name: "query, key and value projections", Parameters: 20e6,
				States: 160 * units.MiB, Activations: 50 * units.MiB,
			}, FLOPs: 3.3e11, Forward: 1e-3,
			Backward: 2e-3,
		},
		{Operation: memory.Operation{
			ID: "mlp-up", Name: "MLP up", Parameters: 90e6, States: 750 * units.MiB,
			Activations: 190 * units.MiB,
		}, FLOPs: 1.5e12, Forward: 4e-3, Backward: 8e-3},
		{Operation: memory.Operation{
			ID: "norms", Name: "norms and residuals", Parameters: 16384,
			States: 144 * units.KiB, Activations: 32 * units.MiB,
		}, Forward: 2e-4, Backward: 4e-4},
	}}}
	a.limits = fit.Limits{
		Seq: 9984, SeqUnit: 128, SeqPeak: 78.9 * units.GiB, MBS: 1,
		MBSPeak: in.Report.Memory.Peak,
	}
	a.seq = &fit.Stop{
		Term: "activations", More: units.GiB * 0.48, Grows: units.GiB / 2,
		Total: 79.4 * units.GiB,
	}
	a.mbs = &fit.Stop{
		Term: "activations", More: 40 * units.GiB, Grows: 41.6 * units.GiB,
		Total: 108 * units.GiB,
	}
	v.answers, v.query = a, *in.Setup
	return v
}

// trace follows the operations of a rank: activations come with a forward and
// go with its backward, the moments come with the first update, which lasts a
// second.
func trace(line *schedule.Timeline, r *engine.RankMemory, rank int) *memory.Trace {
	from, to := line.Order.Start[rank], line.Order.Start[rank+1]
	return &memory.Trace{
		Ops: line.Order.Ops[from:to], Begin: line.Begin[from:to], End: line.End[from:to],
		Makespan: units.Seconds(line.Makespan), Update: 1,
		Start: memory.Sample{
			Weights: r.Weights, Gradients: r.Gradients, Optimizer: r.Optimizer,
			Buffers: r.Buffers,
		},
		Master:    r.Optimizer / 3,
		Chunks:    []memory.StageMemory{{Activations: r.Activations / units.Bytes(r.InFlight)}},
		Gradients: []units.Bytes{0},
	}
}

// press sends keys and runs what they ask for.
func press(v *View, in *screen.Context, w, h int, keys ...string) {
	for _, key := range keys {
		if _, do := screen.Press(v, in.At(w, h), key); do.Work != nil {
			do.Work(context.Background())()
		}
	}
}
