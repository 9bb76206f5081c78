package engine_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/presets"

	"pgregory.net/rapid"
)

// problem draws something to search.
func (w world) problem(t *rapid.T) search.Problem {
	s := presets.DefaultSetup()
	s.Model = rapid.SampledFrom(w.models).Draw(t, "model")
	if rapid.IntRange(0, 3).Draw(t, "small") > 0 { // one that fits, often
		s.Model = rapid.SampledFrom([]model.Model{w.models[0], w.models[6], w.models[7], w.models[8]}).Draw(t,
			"small model")
	}
	s.Cluster = rapid.SampledFrom(w.clusters).Draw(t, "cluster")
	s.Precision = rapid.SampledFrom([]recipe.Precision{recipe.BF16}).Draw(t, "precision")
	s.Stack = rapid.SampledFrom(recipe.Stacks()).Draw(t, "stack")
	s.Attention = recipe.Flash
	if rapid.IntRange(0, 7).Draw(t, "another attention") == 0 { // most stacks and GPUs lack one of them
		s.Attention = rapid.SampledFrom(recipe.Attentions()).Draw(t, "attention")
	}
	s.GPUs = rapid.SampledFrom([]int{1, 2, 6, 8, 16, 24}).Draw(t, "gpus")
	s.GBS = s.GPUs * rapid.SampledFrom([]int{1, 2, 4, 6}).Draw(t, "batch")
	s.Seq = rapid.SampledFrom([]int{1024, 2048, 8192}).Draw(t, "seq")
	p := search.Problem{
		Setup: s, Top: rapid.IntRange(1, 12).Draw(t, "top"), Front: rapid.Bool().Draw(t, "front"),
		Objective: rapid.SampledFrom(search.Objectives()).Draw(t, "objective"),
		Headroom:  rapid.SampledFrom([]float64{0, 0, 0, 0.1}).Draw(t, "headroom"),
		Margin:    rapid.Bool().Draw(t, "margin"),
	}
	kinds := schedule.Kinds()
	for range rapid.IntRange(0, 4).Draw(t, "schedules") {
		p.Space.Schedules = append(p.Space.Schedules, rapid.SampledFrom(kinds).Draw(t, "schedule").Kind)
	}
	some := func(name string, values ...int) []int {
		switch rapid.IntRange(0, 3).Draw(t, name+" given") {
		case 0, 1:
			return nil
		case 2:
			return values
		default:
			return []int{rapid.SampledFrom(values).Draw(t, name)}
		}
	}
	p.Space.TP = some("tp", 1, 2, 4, 8)
	p.Space.PP = some("pp", 1, 2, 3, 4, 8)
	p.Space.CP = some("cp", 1, 2, 4)
	p.Space.EP = some("ep", 1, 2, 8)
	p.Space.MBS = []int{1, 2, 3}[:rapid.IntRange(1, 3).Draw(t, "mbs")]
	if rapid.IntRange(0, 4).Draw(t, "recompute") > 0 {
		p.Space.Recompute = []recipe.Recompute{{Mode: recipe.RecomputeNone}, {Mode: recipe.RecomputeFull}}
	}
	p.Space.VPP = some("vpp", 1, 2, 5)
	p.Space.DP = some("dp", 1, 2, 4, 6)
	if rapid.IntRange(0, 3).Draw(t, "micro-batches given") == 0 {
		p.Space.MicroBatches = []int{1, 2, 4, 6}
	}
	p.Space.ZeRO = some("zero", 0, 1, 2, 3)
	p.Space.Refused = rapid.Bool().Draw(t, "refused")
	if rapid.IntRange(0, 3).Draw(t, "more gpus") == 0 {
		p.Space.GPUs = []int{8, 16}
		p.Space.GBS = []int{16, 48}
	}
	if rapid.IntRange(0, 3).Draw(t, "further knobs") == 0 {
		p.Space.Others = []search.Other{
			{ID: knob.Offload, Values: []string{"none", "optimizer"}},
			{ID: knob.GradDtype, Values: []string{"bf16", "fp32"}},
		}
	}
	p.Space.Splits = rapid.IntRange(0, 3).Draw(t, "splits") == 0
	if rapid.IntRange(0, 3).Draw(t, "deadline") == 0 {
		p.Tokens, p.Deadline = 1e9, units.Seconds(rapid.Float64Range(1e3, 1e6).Draw(t, "seconds"))
	}
	return p
}

// The pruned search returns what evaluating every layout returns, in the same
// order, on one worker and on several: 200 problems, most of which have answers.
func TestSearchLosesNothing(t *testing.T) {
	w := newWorld(t)
	problems, answered, fronts, pruned := 0, 0, 0, 0
	draws.CheckFew(t, 4, func(t *rapid.T) {
		p := w.problem(t)
		want := search.Exhaustive(p)
		problems++
		answered += one(len(want.Best) > 0)
		fronts += one(len(want.Front) > 1)
		for _, p.Workers = range []int{1, 3} {
			got := search.Run(context.Background(), p, nil)
			if got.Partial || got.Legal != want.Legal {
				t.Fatalf("legal %d, all are %d; partial %v", got.Legal, want.Legal, got.Partial)
			}
			pruned += one(got.Evaluated < want.Evaluated)
			sameFound(t, "best", got.Best, want.Best)
			sameFound(t, "front", got.Front, want.Front)
			if got.Near.Least > want.Near.Least || got.Near.Most < want.Near.Least ||
				len(got.Best) > 0 && got.Near.Least < 1 {
				t.Fatalf("%+v of %d layouts that are near the best", got.Near, want.Near.Least)
			}
			if got.Band.Share != want.Band.Share || got.Band.Least > want.Band.Least ||
				got.Band.Most < want.Band.Least {
				t.Fatalf("%+v of %+v within the error band of the best", got.Band, want.Band)
			}
		}
	})
	t.Logf("of %d problems %d had answers, %d a front, %d searches pruned", problems, answered, fronts,
		pruned)
	// a third of the mean of 24 seeds: four standard deviations under it
	if problems >= 100 && (answered < problems/12 || fronts < problems/60 || pruned < 2*problems/5) {
		t.Error("too few of them")
	}
}

// The first place among all 18 schedules, and the places after it, are those of
// evaluating every layout in full: the ranking pass bounds some schedules closely and
// others not (floorShort), and no difference of bounds decides. Every schedule has
// layouts in the spaces that are searched, and enough of them win.
func TestSearchRanksAllSchedules(t *testing.T) {
	w := newWorld(t)
	ran, won := map[schedule.Kind]int{}, map[schedule.Kind]int{}
	problems, answered := 0, 0
	draws.CheckFew(t, 4, func(t *rapid.T) {
		p := w.problem(t)
		problems++
		p.Space.Schedules = nil
		for _, i := range schedule.Kinds() {
			p.Space.Schedules = append(p.Space.Schedules, i.Kind)
		}
		s := &p.Setup
		s.GPUs = rapid.SampledFrom([]int{4, 8}).Draw(t, "few gpus")
		s.GBS = s.GPUs * rapid.SampledFrom([]int{1, 2, 3}).Draw(t, "small batch")
		p.Space.GPUs, p.Space.GBS, p.Space.DP, p.Space.MicroBatches = nil, nil, nil, nil
		p.Space.PP = []int{rapid.SampledFrom([]int{2, 4}).Draw(t, "depth")}
		p.Space.MBS, p.Space.VPP, p.Space.Refused = []int{1, 2}, []int{1, 2}, true
		p.Objective = rapid.SampledFrom([]search.Objective{search.Throughput, search.LeastMemory}).Draw(t,
			"what is best")
		p.Top, p.Front, p.Deadline = 3, true, 0
		want := search.Exhaustive(p)
		got := search.Run(context.Background(), p, nil)
		sameFound(t, "best", got.Best, want.Best)
		sameFound(t, "front", got.Front, want.Front)
		if len(want.Best) == 0 {
			return
		}
		answered++
		won[want.Best[0].Setup.Schedule]++
		for _, k := range p.Space.Schedules {
			alone := p
			alone.Space.Schedules = []schedule.Kind{k}
			ran[k] += one(search.Count(alone) > 0)
		}
	})
	t.Logf("%d of %d problems had an answer; first places: %v", answered, problems, won)
	if answered < min(20, problems/10) {
		t.Errorf("only %d of %d problems had an answer", answered, problems)
	}
	for _, i := range schedule.Kinds() {
		if ran[i.Kind] < answered/10 {
			t.Errorf("%s had layouts in %d of %d problems", i.Kind, ran[i.Kind], answered)
		}
	}
	if answered >= 30 && len(won) < 5 || answered > 8 && len(won) < 2 {
		t.Errorf("only %d schedules ever won", len(won))
	}
}

// The space has every legal layout of what is listed: loops over all values, with
// engine.Legal as the only check, find no faster one.
func TestSearchKnowsEveryLayout(t *testing.T) {
	s := presets.DefaultSetup()
	s.GPUs, s.GBS, s.Seq = 16, 32, 4096
	var err error
	if s.Model, err = presets.Default().Model("llama3.1-8b"); err != nil {
		t.Fatal(err)
	}
	space := search.Space{
		TP: []int{1, 2, 4}, PP: []int{1, 2, 4}, CP: []int{1, 2}, VPP: []int{1, 2, 4}, ZeRO: []int{0, 1, 2, 3},
		MBS: []int{1, 2, 4},
		SP:  []bool{true, false}, Recompute: []recipe.Recompute{
			{Mode: recipe.RecomputeNone},
			{Mode: recipe.RecomputeFull},
		},
		Schedules: []schedule.Kind{
			schedule.AFAB, schedule.OneFOneB, schedule.Interleaved, schedule.ZBH1,
			schedule.ZBV,
		}, Refused: true,
	}
	got := search.Run(t.Context(), search.Problem{Setup: s, Space: space, Top: 1}, nil)
	least := search.Run(t.Context(),
		search.Problem{Setup: s, Space: space, Top: 1, Objective: search.LeastMemory}, nil)
	e := engine.Evaluator{SkipTimeline: true}
	var fastest units.Seconds
	var smallest units.Bytes
	legal := 0
	for _, tp := range space.TP {
		for _, pp := range space.PP {
			for _, cp := range space.CP {
				for _, c := range variants(s, space, tp, pp, cp) {
					if !engine.Legal(c) {
						continue
					}
					legal++
					r := e.Evaluate(c)
					if !r.Legal || !r.Memory.Fits {
						continue
					}
					if slow := engine.PessimisticStep(&c, &r); fastest == 0 || slow < fastest {
						fastest = slow
					}
					if smallest == 0 || r.Memory.Peak < smallest {
						smallest = r.Memory.Peak
					}
				}
			}
		}
	}
	if legal < 1000 {
		t.Fatalf("only %d legal layouts", legal)
	}
	if best := got.Best[0].PessimisticStep; best != fastest {
		t.Errorf("the search finds a step of %v, all layouts have one of %v", best, fastest)
	}
	if best := least.Best[0].Report.Memory.Peak; best != smallest {
		t.Errorf("the search finds a peak of %v, all layouts have one of %v", best, smallest)
	}
}

// variants are all layouts with those degrees.
func variants(s engine.Setup, space search.Space, tp, pp, cp int) []engine.Setup {
	var out []engine.Setup
	if tp*pp*cp > s.GPUs {
		return nil
	}
	s.TP, s.PP, s.CP, s.DP = tp, pp, cp, s.GPUs/(tp*pp*cp)
	for _, s.MBS = range space.MBS {
		if s.GBS%(s.MBS*s.DP) != 0 {
			continue
		}
		s.MicroBatches = s.GBS / (s.MBS * s.DP)
		for _, s.VPP = range space.VPP {
			for _, s.ZeRO = range space.ZeRO {
				for _, s.SP = range space.SP {
					for _, s.Recompute = range space.Recompute {
						for _, s.Schedule = range space.Schedules {
							out = append(out, s)
						}
					}
				}
			}
		}
	}
	return out
}

func sameFound(t *rapid.T, what string, got, want []search.Found) {
	say := func(f search.Found) string {
		return fmt.Sprintf("%s %+v step %v peak %v", f.Setup.Schedule, f.Setup.Layout, f.Report.Time.Step,
			f.Report.Memory.Peak)
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d layouts, all of them give %d", what, len(got), len(want))
	}
	for i := range got {
		if got[i].Setup != want[i].Setup {
			t.Fatalf("%s %d:\n got %s\nwant %s", what, i+1, say(got[i]), say(want[i]))
		}
		if full := engine.Evaluate(got[i].Setup); full.Time.Step != got[i].Report.Time.Step ||
			full.Memory.Peak != got[i].Report.Memory.Peak {
			t.Fatalf("%s %d: its report is not that of Evaluate", what, i+1)
		}
	}
}

// What is named as the reason for no answer is one: with the rest given up there
// is still none, and without any one of it there is.
func TestConflictsAreTheReason(t *testing.T) {
	llama := presets.DefaultSetup()
	for name, c := range map[string]struct {
		space    search.Space
		headroom float64
		want     []string
	}{
		"too many ranks": {
			space: search.Space{TP: []int{8}, PP: []int{16}, CP: []int{1}},
			want:  []string{"tp", "pp"},
		},
		"heads":             {space: search.Space{TP: []int{3}, PP: []int{2}}, want: []string{"tp"}},
		"copies":            {space: search.Space{DP: []int{3}}, want: []string{"dp"}},
		"copies and degree": {space: search.Space{DP: []int{16}, TP: []int{8}}, want: []string{"dp", "tp"}},
		"micro-batches": {
			space: search.Space{MicroBatches: []int{7}},
			want:  []string{"microbatches", "gbs"},
		},
		"no memory": {
			space: search.Space{TP: []int{1}, PP: []int{1}, ZeRO: []int{0}, MBS: []int{1}},
			want:  []string{"pp", "zero", "memory"},
		},
		"too much headroom": {headroom: 0.99, want: []string{"headroom"}},
		// 384 sequences would do
		"odd micro-batches": {space: search.Space{MBS: []int{3}}, want: []string{"mbs", "gbs"}},
		"schedule and depth": {space: search.Space{
			Schedules: []schedule.Kind{schedule.DualPipe},
			PP:        []int{1},
		}, want: []string{"pp", "schedule"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := search.Problem{Setup: llama, Space: c.space, Headroom: c.headroom, Workers: 2}
			got := search.Explain(t.Context(), p, nil)
			if got == nil {
				t.Fatal("there is an answer")
			}
			if !slices.Equal(got.Fields, c.want) {
				t.Errorf("the reason is %v, want %v", got.Fields, c.want)
			}
			if (slices.Contains(got.Fields, "memory") ||
				slices.Contains(got.Fields, "headroom")) != (got.Least != nil) {
				t.Errorf("least memory %v for %v", got.Least != nil, got.Fields)
			}
		})
	}
	if got := search.Explain(t.Context(), search.Problem{Setup: llama}, nil); got != nil {
		t.Errorf("a reason %v for a problem with answers", got.Fields)
	}
}

// A search that is stopped at once says so and has no more than it knows.
func TestSearchStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	p := search.Problem{Setup: presets.DefaultSetup(), Workers: 2}
	whole := search.Run(ctx, p, nil)
	if whole.Partial || whole.Share != 1 || len(whole.Best) != 10 {
		t.Fatalf("partial %v, share %v, %d layouts", whole.Partial, whole.Share, len(whole.Best))
	}
	seen := 0
	part := search.Run(ctx, p, func(search.Progress) {
		if seen++; seen == 1 {
			stop()
		}
	})
	if !part.Partial || part.Share <= 0 || part.Share >= 1 || part.Legal >= whole.Legal {
		t.Errorf("partial %v, share %v, %d of %d layouts", part.Partial, part.Share, part.Legal, whole.Legal)
	}
	if len(part.Best) == 0 {
		t.Error("nothing of what was ranked by then")
	}
	for _, k := range schedule.Kinds() {
		p.Space.Schedules = append(p.Space.Schedules, k.Kind)
	}
	automatic, stopAgain := context.WithCancel(t.Context())
	part = search.Run(automatic, p, func(search.Progress) { stopAgain() })
	if !part.Partial || len(part.Best) == 0 {
		t.Errorf("with automatic schedules: partial %v, %d layouts", part.Partial, len(part.Best))
	}
	if none := search.Run(ctx, p, nil); !none.Partial || none.Share != 0 {
		t.Errorf("stopped before it began: partial %v, share %v", none.Partial, none.Share)
	}
}
