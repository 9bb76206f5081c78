package engine_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"meshscope/engine"
	"meshscope/engine/compare"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/presets"

	"pgregory.net/rapid"
)

// scheduleSetup is a setup under a schedule, with the stages per rank and the
// batch that it needs.
func scheduleSetup(t *testing.T, model string, kind schedule.Kind, change func(*knob.Draft)) engine.Setup {
	t.Helper()
	m := presetModel(t, model)
	c, err := presets.Default().Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	d := knob.DraftOf(m, c, knob.Given{
		knob.GPUs: 64, knob.TP: 1, knob.PP: 4, knob.MicroBatches: 8,
		knob.Schedule: kind,
	})
	change(&d)
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if !engine.Legal(s) {
		t.Fatalf("%s: %+v", kind, engine.Check(s))
	}
	return s
}

// TestSplitBackwardMemory: ZB-H1 on the last of four ranks runs F I F I F I F I
// and only then W: at its fullest one micro-batch waits for I and three for W.
// The textbook counts 34 and 32 bytes per token, hidden unit and layer
// (arXiv 2401.10241, table 1).
func TestSplitBackwardMemory(t *testing.T) {
	s := scheduleSetup(t, "llama3.1-8b", schedule.ZBH1, func(d *knob.Draft) {
		d.With(knob.Given{knob.Calibration: recipe.Textbook, knob.Attention: recipe.Flash, knob.Seq: 4096})
	})
	r := engine.Evaluate(s)
	perLayer := 4096.0 * float64(s.Model.Hidden)
	last := r.Memory.Ranks[3]
	near(t, "kept for weight gradients", float64(last.WeightInputs), 3*32*perLayer*8, 1e-12)
	near(t, "activations", float64(last.Activations), (34+3*32)*perLayer*8, 1e-12)
	if last.InFlight != 4 {
		t.Errorf("%v in flight, want 4", last.InFlight)
	}
	first := r.Memory.Ranks[0] // F F F F, then I frees before the next F: nothing waits
	near(t, "activations of rank 0", float64(first.Activations), 4*34*perLayer*8, 1e-12)
	if first.WeightInputs != 0 {
		t.Errorf("rank 0 keeps %v for weight gradients at its peak", first.WeightInputs)
	}
}

// TestWeightInputsOfALayer adds up by hand what Llama 3.1 8B keeps per layer and
// token for its weight gradients, in 16-bit: hidden 4096, 8 kv heads of 128, MLP
// 14336. Inputs: h (qkv), h (output projection), h (gate and up), f (down).
// Gradients of outputs: h + 2x1024 (q, k, v), h, 2f, h.
func TestWeightInputsOfALayer(t *testing.T) {
	s := scheduleSetup(t, "llama3.1-8b", schedule.ZBH1,
		func(d *knob.Draft) { d.With(knob.Given{knob.Seq: 4096}) })
	r := engine.Evaluate(s)
	const h, kv, f = 4096, 1024, 14336
	want := 2.0 * (3*h + f + (h + 2*kv) + h + 2*f + h) * 4096 * 8
	near(t, "stage 1", float64(r.Memory.Stages[1].WeightInputs), want, 1e-12)
}

// TestDeepSeekV3AsItRan adds up by hand what a layer with experts of DeepSeek-V3 keeps per token in
// its own recipe (arXiv 2412.19437 sections 3.2.3 and 3.3.3) and in Transformer Engine's fp8,
// both with norms, MLA's up-projections and activations recomputed; its layout fits, as it did.
func TestDeepSeekV3AsItRan(t *testing.T) {
	const (
		h, a, experts, topk, f = 7168, 128, 256, 8, 2048
		latents, rope          = 1536 + 512, 64
		tile                   = 1 + 4.0/128
		// both inputs of norms, latents, log-sum-exp, router
		stream = 2*2*h + 2*latents + 2*a + 8*experts
	)
	stage := func(p recipe.Precision) (engine.Report, float64, float64) {
		d := stepDraft(t, "deepseek-v3", "deepseek-h800", 2048)
		d.With(knob.Given{
			knob.PP: 16, knob.EP: 64, knob.GBS: 15360, knob.Seq: 4096, knob.ZeRO: 1, knob.MTP: true,
			knob.Precision: p, knob.Schedule: schedule.DualPipe,
			knob.Recompute: recipe.Recompute{
				Mode:    recipe.RecomputeModules,
				Modules: recipe.AllModules &^ (recipe.ModuleShared | recipe.ModuleMLP | recipe.ModuleMoE),
			},
		})
		r := evaluate(t, d)
		return r, float64(r.Memory.Stages[5].Activations) / 4 / 4096,
			float64(r.Memory.Stages[5].WeightInputs) / 4 / 4096
	}
	const inputs = h + latents + a*128 + h + f + topk*(h+f)
	const gradients = h + latents + rope + a*(192+256) + h + 2*f + topk*(h+2*f)
	r, kept, waits := stage(recipe.FP8DeepSeek)
	near(t, "its own recipe", kept, stream+(1.5+4.0/128)*a*128+tile*(2*f+topk*(h+2*f)), 1e-12)
	near(t, "its weight gradients", waits, tile*(inputs+gradients)+4*experts+2*h, 1e-12)
	if !r.Memory.Fits {
		t.Errorf("its layout takes %.1f GiB", r.Memory.Peak.GiB())
	}
	_, kept, waits = stage(recipe.FP8)
	near(t, "Transformer Engine", kept, stream+3*a*128+2*2*f+topk*(h+2*2*f), 1e-12)
	near(t, "its weight gradients", waits, inputs+2*gradients+4*experts+2*h, 1e-12)
}

// TestDualPipeHoldsTwoCopies: rank r has the parameters that ranks r and p-1-r
// have under 1F1B; DualPipeV has each once.
func TestDualPipeHoldsTwoCopies(t *testing.T) {
	ranks := func(k schedule.Kind) []engine.RankMemory {
		s := scheduleSetup(t, "llama3.1-8b", k, func(*knob.Draft) {})
		return engine.Evaluate(s).Memory.Ranks
	}
	plain, dual, half := ranks(schedule.OneFOneB), ranks(schedule.DualPipe), ranks(schedule.DualPipeV)
	sum := func(list []engine.RankMemory) (total float64) {
		for _, r := range list {
			total += r.Parameters
		}
		return total
	}
	for r := range plain {
		near(t, "parameters", dual[r].Parameters, plain[r].Parameters+plain[3-r].Parameters, 1e-12)
	}
	near(t, "two copies", sum(dual), 2*sum(plain), 1e-12)
	near(t, "one copy", sum(half), sum(plain), 1e-12)
}

// TestStepIsThePipeline: without data parallelism a step is the pipeline and the
// optimizer, whatever the schedule does with its traffic; where the backward is
// split the longest rank's own span takes the place of the pipeline.
func TestStepIsThePipeline(t *testing.T) {
	w := newWorld(t)
	draws.CheckFew(t, 8, func(t *rapid.T) {
		s := w.legalSetup(t)
		r := engine.Evaluate(s)
		period := r.Timeline.Makespan
		if info, _ := s.Schedule.Info(); info.SplitsBackward {
			period = r.Timeline.LongestSpan()
		}
		tail := float64(r.Time.Step-r.Time.Optimizer) - period - updateCopies(s, r.Time)
		if tail < -1e-9*float64(r.Time.Step) {
			t.Fatalf("%s: a step of %v, %v of it the optimizer, is shorter than its pipeline of %v",
				s.Schedule, r.Time.Step, r.Time.Optimizer, period)
		}
		for _, c := range r.Communication {
			if c.Dimension == "dp" || c.Dimension == "expert-dp" {
				return
			}
			if c.Exposed < 0 || c.Exposed > c.Seconds*(1+1e-9) && c.Dimension != "pp" {
				t.Fatalf("%s: %+v", s.Schedule, c)
			}
		}
		if s.Schedule != schedule.DualPipe && tail > 1e-9*float64(r.Time.Step) {
			t.Fatalf("%s: %v after the pipeline and nothing to exchange", s.Schedule, tail)
		}
	})
}

// TestPairsHideExpertTraffic: DualPipe's pairs hide expert traffic that 1F1B
// exposes, never more than there is.
func TestPairsHideExpertTraffic(t *testing.T) {
	exposed := func(k schedule.Kind) (all, open units.Seconds) {
		s := scheduleSetup(t, "deepseek-v3", k,
			func(d *knob.Draft) { d.With(knob.Given{knob.GPUs: 256, knob.EP: 64, knob.MicroBatches: 32}) })
		for _, c := range engine.Evaluate(s).Communication {
			if c.Dimension == "ep" {
				return c.Seconds, c.Exposed
			}
		}
		t.Fatalf("%s: no expert traffic", k)
		return 0, 0
	}
	all, plain := exposed(schedule.OneFOneB)
	if plain < 0.7*all || plain > all { // the stack's calibration hides a little everywhere
		t.Errorf("1f1b exposes %v of %v", plain, all)
	}
	for _, k := range []schedule.Kind{schedule.DualPipe, schedule.DualPipeV} {
		// Of 32 micro-batches on 4 ranks well over half of the forwards run in a pair;
		// what fills and drains the pipeline has no partner to hide under.
		if all, open := exposed(k); open <= 0 || open > plain/2 {
			t.Errorf("%s exposes %v of %v, 1f1b %v", k, open, all, plain)
		}
	}
}

// TestMemoryOverTime: the curve of a rank reaches what its peak counts as
// activations, unless the peak is elsewhere because an operation needs more.
func TestMemoryOverTime(t *testing.T) {
	for _, k := range []schedule.Kind{schedule.OneFOneB, schedule.ZBH1, schedule.ZBVAuto, schedule.DualPipe} {
		r := engine.Evaluate(scheduleSetup(t, "llama3.1-8b", k, func(*knob.Draft) {}))
		for rank := range r.Memory.Ranks {
			curve := r.MemoryOver(nil, rank)
			top := 0.0
			for _, s := range curve {
				top = max(top, s.Activations+s.WeightInputs)
			}
			if kept := float64(r.Memory.Ranks[rank].Activations); top < kept*(1-1e-9) || len(curve) < 9 {
				t.Errorf("%s rank %d: %d samples up to %v, the peak has %v", k, rank, len(curve), top, kept)
			}
			if end := curve[len(curve)-1]; math.Abs(end.Activations+end.WeightInputs) > 1e-6*top {
				t.Errorf("%s rank %d: %+v is left", k, rank, end)
			}
		}
	}
	illegal := engine.Report{}
	if illegal.MemoryOver(nil, 0) != nil {
		t.Error("an illegal setup has no curve")
	}
}

// TestAutomaticOrders: they depend on the proportions of the durations, not on
// the unit, and give up when told to.
func TestAutomaticOrders(t *testing.T) {
	for _, k := range []schedule.Kind{schedule.ZB1P, schedule.ZB2P, schedule.ZBAuto, schedule.ZBVAuto} {
		s := schedule.Spec{Kind: k, Ranks: 6, VirtualStages: 1, MicroBatches: 14}
		if info, _ := k.Info(); info.Chunks == 2 {
			s.VirtualStages = 2
		}
		build := func(unit float64, stop func() bool) (*schedule.Order, error) {
			return schedule.BuildFor(s,
				schedule.UniformCosts(s, schedule.ChunkTimes{F: 18 * unit, I: 17 * unit, W: 9 * unit}, unit),
				stop)
		}
		one, err := build(1, nil)
		if err != nil {
			t.Fatal(err)
		}
		tiny, err := build(math.Ldexp(1, -40), nil)
		if err != nil || !slices.Equal(one.Ops, tiny.Ops) {
			t.Errorf("%s: another order in another unit (%v)", k, err)
		}
		plain, err := schedule.Build(s)
		if err != nil || slices.Equal(one.Ops, plain.Ops) {
			t.Errorf("%s: the durations do not matter (%v)", k, err)
		}
		var stopped *schedule.StoppedError
		if _, err := build(1, func() bool { return true }); !errors.As(err, &stopped) {
			t.Errorf("%s: not stopped: %v", k, err)
		}
		var bad *schedule.CostError
		if _, err := build(math.NaN(), nil); !errors.As(err, &bad) {
			t.Errorf("%s: durations that are no numbers: %v", k, err)
		}
		var e engine.Evaluator
		setup := scheduleSetup(t, "llama3.1-8b", k, func(*knob.Draft) {})
		if _, ok := e.EvaluateUntil(setup, func() bool { return true }); ok {
			t.Errorf("%s: an answer in spite of stop", k)
		}
		if r, ok := e.EvaluateUntil(setup, func() bool { return false }); !ok || !r.Legal {
			t.Errorf("%s: no answer", k)
		}
	}
}

// TestScheduleMessages: the totals of schedules.md section 2 for four ranks and
// eight micro-batches.
func TestScheduleMessages(t *testing.T) {
	for kind, want := range map[schedule.Kind]int{
		schedule.OneFOneB: 2 * 8 * 3, schedule.Interleaved: 2 * 8 * 7, schedule.ZBV: 4 * 8 * 3,
		schedule.DualPipe: 2 * 8 * 3, schedule.DualPipeV: 4 * 8 * 3, "none": 0,
	} {
		s := schedule.Spec{Kind: kind, Ranks: 4, VirtualStages: 1, MicroBatches: 8}
		if info, _ := kind.Info(); info.Chunks != 1 {
			s.VirtualStages = 2
		}
		if got := s.Messages(); got != want {
			t.Errorf("%s: %d messages, want %d", kind, got, want)
		}
	}
}

// TestScheduleSends: no rank sends more messages than Sends says, counted from the
// order, one does, and all of them send what Messages says.
func TestScheduleSends(t *testing.T) {
	for _, info := range schedule.Kinds() {
		for _, p := range []int{2, 4, 6} {
			s := schedule.Spec{
				Kind: info.Kind, Ranks: p, VirtualStages: max(1, info.Chunks),
				MicroBatches: 4 * p,
			}
			if info.Chunks != 1 && s.VirtualStages == 1 {
				s.VirtualStages = 2
			}
			order, err := schedule.Build(s)
			if err != nil {
				continue // another test says which specifications run
			}
			most, all := 0, 0
			for rank := range p {
				own := 0
				for k := order.Start[rank]; k < order.Start[rank+1]; k++ {
					if order.Ops[k].Kind() == schedule.WeightGradient {
						continue
					}
					if to, ok := order.Consumer(schedule.Place{Rank: rank, Op: k}); ok && to.Rank != rank {
						own++
					}
				}
				most, all = max(most, own), all+own
			}
			if most != s.Sends() || all != s.Messages() {
				t.Errorf("%+v: %d messages of %d, Sends says %d and Messages %d", s, most, all, s.Sends(),
					s.Messages())
			}
		}
	}
}

// TestRecomputeIsPartOfTheBackward: with full recomputation every backward begins
// with the forward again, at its own rate; without, with nothing.
func TestRecomputeIsPartOfTheBackward(t *testing.T) {
	full := recipe.Recompute{Mode: recipe.RecomputeFull}
	for _, k := range []schedule.Kind{schedule.OneFOneB, schedule.ZBH1, schedule.DualPipeV} {
		plain := engine.Evaluate(scheduleSetup(t, "llama3.1-8b", k, func(*knob.Draft) {})).Timeline.OpTimes()
		if len(plain.Recompute) != 0 || plain.RecomputeEnd(0, 5) != plain.Begin[5] {
			t.Errorf("%s recomputes without being told to", k)
		}
		tl := engine.Evaluate(scheduleSetup(t, "llama3.1-8b", k,
			func(d *knob.Draft) { d.With(knob.Given{knob.Recompute: full}) })).Timeline.OpTimes()
		o := tl.Order
		again := 0
		for r := range o.Spec.Ranks {
			for i := o.Start[r]; i < o.Start[r+1]; i++ {
				end := tl.RecomputeEnd(r, i)
				if end < tl.Begin[i] || end > tl.End[i] {
					t.Fatalf("%s rank %d: recomputation ends at %v outside %v to %v", k, r, end, tl.Begin[i],
						tl.End[i])
				}
				if end > tl.Begin[i] {
					again++
				}
			}
		}
		if most := o.Spec.Stages() * o.Spec.MicroBatches; again == 0 || again > most {
			t.Errorf("%s: %d of %d backwards recompute", k, again, most)
		}
	}
}

// TestSchedulesSideBySide: one row per schedule, the setup's own unchanged, and a
// reason where a schedule cannot run it.
func TestSchedulesSideBySide(t *testing.T) {
	s := scheduleSetup(t, "llama3.1-8b", schedule.OneFOneB,
		func(d *knob.Draft) { d.With(knob.Given{knob.MicroBatches: 6}) })
	rows := compare.Schedules(s, nil, nil)
	if len(rows) != len(schedule.Kinds()) {
		t.Fatalf("%d rows for %d schedules", len(rows), len(schedule.Kinds()))
	}
	for _, row := range rows {
		if row.Setup.Schedule != row.Info.Kind || row.Info.Chunks > 0 && row.Setup.VPP != row.Info.Chunks {
			t.Errorf("%s: evaluated as %s with %d stages per rank", row.Info.Kind, row.Setup.Schedule,
				row.Setup.VPP)
		}
		few := row.Info.Kind == schedule.DualPipe || row.Info.Kind == schedule.DualPipeV
		if row.Report.Legal == few || row.Report.Legal != (row.Messages > 0) {
			t.Errorf("%s with 6 micro-batches on 4 ranks: legal %v, %d messages, %+v", row.Info.Kind,
				row.Report.Legal, row.Messages, row.Report.Problems)
		}
		if row.Info.Kind == s.Schedule && row.Setup != s {
			t.Error("the setup's own schedule changed it")
		}
	}
	if rows := compare.Schedules(s, func() bool { return true }, nil); len(rows) != 0 {
		t.Errorf("%d rows in spite of stop", len(rows))
	}
}

// TestSlowSetups: usual pipelines are not slow, those at the bounds are.
func TestSlowSetups(t *testing.T) {
	s := scheduleSetup(t, "llama3.1-8b", schedule.ZBVAuto,
		func(d *knob.Draft) { d.With(knob.Given{knob.MicroBatches: 64}) })
	if s.Slow() {
		t.Error("4 ranks and 64 micro-batches are slow")
	}
	s.PP, s.MicroBatches = 64, 512
	if !s.Slow() {
		t.Error("a search over 200,000 operations is not slow")
	}
	s.Schedule, s.VPP = schedule.OneFOneB, 1
	if s.Slow() {
		t.Error("1f1b over 65,536 operations is slow")
	}
	s.Schedule = "none"
	if s.Slow() {
		t.Error("an unknown schedule is slow")
	}
}
