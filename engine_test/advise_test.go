package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/engine/search"
	"meshscope/engine/search/bound"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/presets/setupdoc"

	"pgregory.net/rapid"
)

// tooBig draws a setup that does not fit.
func (w world) tooBig(t *rapid.T) engine.Setup {
	few := w // models that some layout fits, often
	few.models = []model.Model{w.models[0], w.models[1], w.models[6], w.models[7], w.models[9]}
	for range 24 {
		s := few.pipelined(t)
		if r := engine.Evaluate(s); r.Legal && !r.Memory.Fits && !s.Slow() {
			return s
		}
	}
	t.Skip("none of these is legal and too big")
	return engine.Setup{}
}

// TestNoMoveToItself: a setup that is itself the best of a search that fits, without its margin, is no move.
func TestNoMoveToItself(t *testing.T) {
	gpu, err := presets.Default().GPU("rtx4090")
	if err != nil {
		t.Fatal(err)
	}
	d := knob.DraftOf(presetModel(t, "qwen3-8b"), presets.Default().NodeOf(gpu), knob.Given{
		knob.GPUs: 2, knob.LoRA: 8, knob.Calibration: recipe.Transformers, knob.ZeRO: 0, knob.MBS: 1,
		knob.MicroBatches: 8, knob.Seq: 2048, knob.TP: 1, knob.PP: 1,
		knob.Recompute: recipe.Recompute{Mode: recipe.RecomputeFull},
	})
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	a, ok := advise.For(s, advise.Options{})
	if !ok || len(a.Moves) < 3 || a.Report.Memory.HasMargin() {
		t.Fatalf("%d moves, %v", len(a.Moves), engine.Check(s))
	}
	for i := range a.Knobs { // no TP on this stack, and SP does nothing without
		if a.Knobs[i].ID == knob.SP {
			t.Errorf("a row of SP: %+v", a.Knobs[i])
		}
	}
	for i := range a.Moves {
		if m := &a.Moves[i]; len(m.Changes) == 0 || m.Turns() == "" {
			t.Errorf("move %d has no name: %+v", i+1, m.Setup)
		}
	}
}

// Of a setup that does not fit, the first advice lowers the peak, and following
// advice ends in one that fits whenever the search knows any.
func TestAdviceReachesAFit(t *testing.T) {
	w := newWorld(t)
	seen := 0
	draws.CheckFew(t, 4, func(t *rapid.T) {
		s := w.tooBig(t)
		seen++
		for step := 0; ; step++ {
			a, ok := advise.For(s, advise.Options{Alone: true})
			if !ok {
				t.Fatalf("no advice on a legal setup: %+v", s.Layout)
			}
			if a.Report.Memory.Fits {
				return
			}
			if len(a.Moves) == 0 {
				if len(search.Run(t.Context(), search.Problem{Setup: s, Top: 1}, nil).Best) > 0 {
					t.Fatalf("no advice, but there is a layout that fits: %+v", s.Layout)
				}
				return
			}
			first := a.Moves[0]
			if r := engine.Evaluate(first.Setup); !r.Legal || r.Memory.Peak >= a.Report.Memory.Peak {
				t.Fatalf("the first advice does not lower the peak of %v: %+v", a.Report.Memory.Peak,
					first.Changes)
			}
			formats := first.Setup.GradDtype != s.GradDtype || first.Setup.Optimizer != s.Optimizer
			if first.Setup.GPUs != s.GPUs || formats && first.Last == "" || first.Setup.GBS != s.GBS ||
				first.Setup.Seq != s.Seq {
				t.Fatalf("advice changes the machine or the batch: %+v", first.Changes)
			}
			if step > 30 {
				t.Fatalf("no end after %d moves", step)
			}
			s = first.Setup
		}
	})
	least := 2
	if draws.Deep() {
		least = 6
	}
	if seen < least {
		t.Errorf("only %d setups did not fit", seen)
	}
}

// Moves are what Evaluate says of them, those of the fewest changes first and of these the fastest;
// the fastest is no worse than what the search finds.
func TestAdviceMakesItFaster(t *testing.T) {
	s := presets.DefaultSetup()
	a, ok := advise.For(s, advise.Options{})
	if !ok || !a.Report.Memory.Fits || len(a.Moves) == 0 {
		t.Fatalf("advice %v, %d moves", ok, len(a.Moves))
	}
	before, fastest := a.Moves[0], 0.0
	for _, m := range a.Moves {
		r := engine.Evaluate(m.Setup)
		alike := (m.Last == "") == (before.Last == "")
		misplaced := m.Last == "" && before.Last != "" ||
			alike && (m.Turned < before.Turned || m.Turned == before.Turned && m.Speed > before.Speed)
		if !r.Memory.Fits || !r.Memory.HasMargin() && m.Last == "" || misplaced || m.Speed <= 1 {
			t.Errorf("move %+v: fits %v, speed %v after %v", m.Changes, r.Memory.Fits, m.Speed, before.Speed)
		}
		if m.Last == "" {
			fastest = max(fastest, m.Speed)
		}
		near(t, "step", float64(m.Report.Time.Step), float64(r.Time.Step), 0)
		near(t, "speed", m.Speed, float64(a.PessimisticStep/engine.PessimisticStep(&m.Setup, &r)), 1e-12)
		before = m
	}
	best := search.Run(t.Context(), search.Problem{Setup: s, Top: 1, Margin: true}, nil).Best[0]
	if float64(a.PessimisticStep/best.PessimisticStep) > fastest*1.001 {
		t.Errorf("the search finds %v s, the best move is %v times as fast", best.Report.Time.Step, fastest)
	}
}

// Of a tight setup what leaves a margin stands before what is tight too, and the heading says both.
func TestAdviceOnTightSetup(t *testing.T) {
	document, err := setupdoc.Parse("", []byte(`{"model":"kimi-k2","cluster":"dgx-h100","gpus":256,"tp":8,`+
		`"pp":1,"cp":2,"ep":128,"zero":3,"gbs":512,"recompute":"full"}`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := document.Setup(presets.Default())
	if err != nil {
		t.Fatal(err)
	}
	a, ok := advise.For(s, advise.Options{})
	if !ok || len(a.Moves) < 3 || !a.Report.Memory.Fits || a.Report.Memory.HasMargin() {
		t.Fatalf("%d moves (%v)", len(a.Moves), ok)
	}
	roomy := 0
	for i := range a.Moves {
		m := &a.Moves[i]
		switch {
		case len(m.Changes) == 0 || !m.Fits:
			t.Errorf("%q is no move, or does not fit", m.Turns())
		case m.Roomy && roomy < i:
			t.Errorf("%s leaves a margin and stands behind what is tight", m.Turns())
		case m.Roomy:
			roomy++
		case i > roomy && (m.Turned < a.Moves[i-1].Turned ||
			m.Turned == a.Moves[i-1].Turned && m.Speed > a.Moves[i-1].Speed):
			t.Errorf("%s is fewer changes than %s, or as many and faster", m.Turns(), a.Moves[i-1].Turns())
		}
	}
	if roomy == 0 || roomy == len(a.Moves) ||
		a.Promise() != "that leave a margin of memory, fewest changes first; then tight ones" {
		t.Errorf("%d of %d leave a margin: %s", roomy, len(a.Moves), a.Promise())
	}
}

// plain reports whether a layout rests on nothing that makes advice put it last.
func plain(s *engine.Setup) bool {
	return s.Offload != recipe.OffloadOptimizer && s.Schedule != schedule.Naive &&
		!s.Groups(&s.Cluster).TP.Crosses()
}

// turnsOf are all setups one turn of a knob away.
func turnsOf(s *engine.Setup, id knob.ID) []engine.Setup {
	var out []engine.Setup
	for _, v := range knob.Steps(*s, id, knob.Locks{GPUs: true, Batch: true}) {
		if !v.Current && v.Setup != *s && !v.Setup.Slow() {
			out = append(out, v.Setup)
		}
	}
	return out
}

// The best of the moves is as fast as the best of all that turn three knobs, each in
// every way, found by evaluating all that a bound does not exclude. Both may rest on a value
// that a search does not try, which puts a move last, but not away.
func TestAdviceReachesTriples(t *testing.T) {
	lib := presets.Default()
	knobs := []knob.ID{
		"tp", "pp", "vpp", "cp", "ep", "etp", "sp", "zero", "hsdp", "mbs", "schedule",
		"recompute", "offload",
	}
	for _, text := range draws.Some(2,
		`{"model":"llama3.1-8b","cluster":"dgx-h100","gpus":16,"tp":2,"pp":4,"gbs":64}`,
		`{"model":"llama3.1-70b","cluster":"dgx-h100","gpus":16,"tp":8,"pp":2,"gbs":64}`, // does not fit
		`{"model":"llama3.1-70b","cluster":"dgx-h100","gpus":32,"tp":8,"pp":4,"gbs":32}`,
		`{"model":"llama3.1-70b","cluster":"dgx-h100","gpus":64,"tp":8,"pp":2,"gbs":512}`,
		`{"model":"qwen3-30b-a3b","cluster":"dgx-h100","gpus":32,"tp":4,"pp":2,"ep":8,"gbs":256}`,
	) {
		document, err := setupdoc.Parse("", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s, err := document.Setup(lib)
		if err != nil {
			t.Fatal(err)
		}
		a, ok := advise.For(s, advise.Options{})
		if !ok || len(a.Moves) == 0 {
			t.Fatalf("no moves on %s", text)
		}
		step := a.PessimisticStep
		advised := step
		for _, m := range a.Moves {
			if m.Report.Memory.HasMargin() && plain(&m.Setup) &&
				(advised == step || m.PessimisticStep < advised) {
				advised = m.PessimisticStep
			}
		}
		var floors bound.Bounder
		evaluator := engine.Evaluator{SkipTimeline: true}
		seen := map[engine.Setup]bool{s: true}
		var best engine.Setup
		fastest := advised
		var look func(from *engine.Setup, first, left int)
		look = func(from *engine.Setup, first, left int) {
			for n := first; n < len(knobs); n++ {
				for _, turned := range turnsOf(from, knobs[n]) {
					if left > 1 {
						look(&turned, n+1, left-1)
					}
					if seen[turned] {
						continue
					}
					seen[turned] = true
					if f, ok := floors.Bound(&turned); !ok || f.Step >= fastest ||
						f.Peak > a.Report.Memory.Usable {
						continue
					}
					r := evaluator.Evaluate(turned)
					if !r.Legal || !plain(&turned) || knob.LauncherRejects(r.Problems) {
						continue
					}
					if slow, fuller, _ := evaluator.PessimisticStep(&turned, &r, nil); fuller.HasMargin() &&
						slow < fastest {
						best, fastest = turned, slow
					}
				}
			}
		}
		look(&s, 0, 3)
		if advised > fastest*1.001 {
			t.Errorf("%s: advice reaches %.4g s of %.4g, three turns %.4g: %+v %s", text, advised, step,
				fastest, best.Layout, best.Schedule)
		}
		if len(seen) < 2000 {
			t.Errorf("%s: only %d setups", text, len(seen))
		}
	}
}

// What a step is spent on adds up to it, what a rank holds to its total.
func TestAdviceAddsUp(t *testing.T) {
	w := newWorld(t)
	draws.CheckFew(t, 3, func(t *rapid.T) {
		s := w.pipelined(t)
		if s.Slow() || !engine.Legal(s) {
			t.Skip("illegal, or an automatic schedule of many operations")
		}
		a, ok := advise.For(s, advise.Options{Alone: true})
		if !ok {
			t.Skip("no order")
		}
		step, total := 0.0, 0.0
		for _, l := range a.Limits {
			step += l.Share
		}
		for _, term := range a.Terms {
			total += term.Share
		}
		if step < 1-1e-6 || step > 1+1e-6 || total < 1-1e-9 || total > 1+1e-9 {
			t.Fatalf("shares of the step add up to %v, of the memory to %v: %s %+v", step, total, s.Schedule,
				s.Layout)
		}
		for _, r := range a.Rules {
			if r.Text == "" || r.Source == "" || (r.Move == nil) != (r.Verdict == advise.Followed ||
				r.Verdict == advise.Warns) {
				t.Fatalf("rule %+v", r)
			}
		}
	})
}

// Advice on the start setup: singles, pairs and the search; and on one that does
// not fit.
func BenchmarkAdvise(b *testing.B) {
	s := presets.DefaultSetup()
	for b.Loop() {
		advise.For(s, advise.Options{})
	}
}
