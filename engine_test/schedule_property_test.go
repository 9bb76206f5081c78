package engine_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine/schedule"
	"meshscope/engine_test/draws"
	"meshscope/engine_test/shared"
)

// drawSpec draws any spec of a known kind, legal or not.
func drawSpec(t *rapid.T) schedule.Spec {
	kinds := schedule.Kinds()
	return schedule.Spec{
		Kind:          kinds[rapid.IntRange(0, len(kinds)-1).Draw(t, "kind")].Kind,
		Ranks:         rapid.IntRange(1, 9).Draw(t, "p"),
		VirtualStages: rapid.IntRange(1, 4).Draw(t, "v"),
		MicroBatches:  rapid.IntRange(1, 30).Draw(t, "m"),
		GroupSize:     rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 32)).Draw(t, "g"),
		MaxInFlight:   rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 20)).Draw(t, "limit"),
		ExtraWarmup:   rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "extra"),
	}
}

// drawLegal draws a spec that can be executed.
func drawLegal(t *rapid.T) schedule.Spec {
	s := drawSpec(t)
	for round := 0; scheduleErrors(s) > 0; round++ {
		if round > 8 {
			t.Fatalf("%+v does not become legal", s)
		}
		for _, is := range s.Check() {
			if !is.Warning {
				s = withNearest(s, is)
			}
		}
	}
	return s
}

func drawTimes(t *rapid.T) schedule.ChunkTimes {
	d := rapid.Float64Range(0.01, 100)
	w, i := d.Draw(t, "w"), d.Draw(t, "i")
	times := schedule.ChunkTimes{F: d.Draw(t, "f"), B: w + i, I: i, W: w}
	switch rapid.SampledFrom([]string{"any", "any", "equal", "F = I"}).Draw(t, "durations") {
	case "equal": // some forms are exact only for these
		times = schedule.ChunkTimes{
			F: i, B: 2 * i, I: i, W: i,
			Saved: i * rapid.SampledFrom([]float64{0, 0.25, 1}).Draw(t, "saved"),
		}
	case "F = I":
		times.F = i
	}
	return times
}

func scheduleErrors(s schedule.Spec) int {
	n := 0
	for _, is := range s.Check() {
		if !is.Warning {
			n++
		}
	}
	return n
}

// withNearest sets what an issue offers.
func withNearest(s schedule.Spec, is schedule.Issue) schedule.Spec {
	for field, value := range is.Nearest {
		switch field {
		case "pp":
			s.Ranks = value
		case "vpp":
			s.VirtualStages = value
		case "microbatches":
			s.MicroBatches = value
		case "group-size":
			s.GroupSize = value
		case "max-in-flight":
			s.MaxInFlight = value
		case "extra-warmup":
			s.ExtraWarmup = value
		}
	}
	return s
}

// TestScheduleNearestHelps: what an issue offers makes that issue go away, and
// a warning's offer never makes the spec illegal.
func TestScheduleNearestHelps(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		if rapid.Bool().Draw(t, "wild") {
			wild := rapid.OneOf(rapid.IntRange(-3, 3), rapid.Int())
			s.Ranks, s.VirtualStages = wild.Draw(t, "p"), wild.Draw(t, "v")
			s.MicroBatches, s.GroupSize = wild.Draw(t, "m"), wild.Draw(t, "g")
		}
		for _, is := range s.Check() {
			if len(is.Nearest) == 0 {
				t.Fatalf("%+v: %s offers nothing", s, is.Code)
			}
			better := withNearest(s, is)
			for _, left := range better.Check() {
				if left.Code == is.Code && left.Field == is.Field {
					t.Fatalf("%+v: %s is still there with %v: %s", s, is.Code, is.Nearest, left.Message)
				}
			}
			if left := better.Check(); len(left) > 0 && left[0].Code == "schedule-too-large" {
				continue // what would be needed is beyond what this program draws
			}
			if is.Warning && scheduleErrors(s) == 0 && scheduleErrors(better) > 0 {
				t.Fatalf("%+v: %v of the warning %s makes it illegal: %+v", s, is.Nearest, is.Code,
					better.Check())
			}
		}
	})
}

// TestScheduleEveryLegalSpecRuns: a spec without errors builds, runs every
// operation once, and simulates; figures are sane.
func TestScheduleEveryLegalSpecRuns(t *testing.T) {
	o := new(schedule.Order)
	var sim schedule.Simulator
	var tl schedule.Timeline
	draws.Check(t, func(t *rapid.T) {
		s, times := drawLegal(t), drawTimes(t)
		if err := o.Rebuild(s); err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		checkComplete(t, o)
		p2p := rapid.Float64Range(0, 5).Draw(t, "p2p")
		if err := sim.Run(o, schedule.UniformCosts(s, times, p2p), &tl); err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		checkTimeline(t, &tl, p2p)
		blocking := schedule.UniformCosts(s, times, p2p)
		blocking.P2PBlocks, blocking.Overlap = true, rapid.Float64Range(0, 1).Draw(t, "overlap")
		if err := sim.Run(o, blocking, &tl); err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		checkTimeline(t, &tl, 0) // sending is part of what is sent
	})
}

// TestScheduleFreeMakespan: the makespan if hand-overs took no time is that of a
// run without latency. The outline that says so has the figures of the whole
// simulation, and its times once they are asked for.
func TestScheduleFreeMakespan(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		s, times := drawLegal(t), drawTimes(t)
		o, err := schedule.Build(s)
		if err != nil {
			t.Fatal(err)
		}
		costs := schedule.UniformCosts(s, times, rapid.SampledFrom([]float64{0, 0.3, 7}).Draw(t, "p2p"))
		for stage := range costs.F {
			costs.F[stage] *= 1 + float64(stage%3)
		}
		if rapid.Bool().Draw(t, "hides") {
			costs.HiddenF, costs.HiddenB = slices.Clone(costs.F), slices.Clone(costs.F)
		}
		without := costs
		without.P2P = 0
		want, err := schedule.Simulate(o, costs)
		if err != nil {
			t.Fatal(err)
		}
		direct, err := schedule.Simulate(o, without)
		if err != nil {
			t.Fatal(err)
		}
		var sim schedule.Simulator
		var got schedule.Timeline
		free, err := sim.SimulateSummary(o, costs, &got)
		if err != nil {
			t.Fatal(err)
		}
		if free != direct.Makespan || got.Makespan != want.Makespan || !slices.Equal(got.Ranks, want.Ranks) ||
			got.End != nil {
			t.Fatalf("%+v: free %v, without latency %v; makespan %v, alone %v", s, free, direct.Makespan,
				got.Makespan, want.Makespan)
		}
		clear(costs.F) // the outline has a copy
		got.OpTimes()
		if !slices.Equal(got.Begin, want.Begin) || !slices.Equal(got.End, want.End) ||
			!slices.Equal(got.Lasts, want.Lasts) {
			t.Fatalf("%+v: the times of an outline are not those of the whole simulation", s)
		}
	})
}

// TestScheduleClosedForms: where a closed form is given, the simulation agrees
// for any durations of equal chunks and no latency. Every schedule is tried at
// every small size, with durations of several relations, so that forms that hold
// in a corner only are met.
func TestScheduleClosedForms(t *testing.T) {
	times := []schedule.ChunkTimes{
		{F: 1, B: 2, I: 1, W: 1},
		{F: 2, B: 3, I: 2, W: 1},
		{F: 1, B: 5, I: 2, W: 3},
		{F: 3, B: 4, I: 3, W: 1},
		{F: 1, B: 2, I: 1, W: 1, Saved: 0.5},
		{F: 7.3, B: 11.9, I: 8.8, W: 3.1},
		{F: 5, B: 6, I: 1, W: 5},
	}
	checked := map[schedule.Kind]int{}
	for _, info := range schedule.Kinds() {
		for p := 1; p <= 9; p++ {
			for m := 1; m <= 28; m++ {
				for v := 1; v <= 3; v++ {
					s := schedule.Spec{Kind: info.Kind, Ranks: p, VirtualStages: v, MicroBatches: m}
					if scheduleErrors(s) > 0 {
						continue
					}
					for _, d := range times {
						if checkClosedForm(t, s, d) {
							checked[info.Kind]++
						}
					}
				}
			}
		}
	}
	for kind, least := range map[schedule.Kind]int{
		schedule.Naive: 500, schedule.AFAB: 500, schedule.OneFOneB: 500, schedule.Interleaved: 500,
		schedule.LoopedBFS: 500,
		schedule.ZBH1:      300, schedule.ZBH2: 100, schedule.ZBV: 50, schedule.VHalf: 50, schedule.VMin: 20,
		schedule.DualPipe: 100, schedule.DualPipeV: 100,
	} {
		if checked[kind] < least {
			t.Errorf("%s: %d cases, want %d", kind, checked[kind], least)
		}
	}
}

// checkClosedForm compares the forms of one case with its simulation; false
// where it has none.
func checkClosedForm(t *testing.T, s schedule.Spec, times schedule.ChunkTimes) bool {
	t.Helper()
	idle, ok := s.ClosedFormIdle(times)
	span, spanned := s.ClosedFormSpan(times)
	if !ok && !spanned {
		return false
	}
	o, err := schedule.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	tl, err := schedule.Simulate(o, schedule.UniformCosts(s, times, 0))
	if err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	for _, st := range tl.Ranks {
		worst = max(worst, st.Idle)
	}
	if ok && !scheduleNear(worst, idle) {
		t.Errorf("%+v, %+v: idle %v, closed form %v", s, times, worst, idle)
	}
	if got := tl.LongestSpan() - tl.Ranks[0].Busy; spanned && !scheduleNear(got, span) {
		t.Errorf("%+v, %+v: waits %v inside a span, closed form %v", s, times, got, span)
	}
	if ratio, ok := s.ClosedFormBubble(times); ok && !scheduleNear(ratio, tl.BubbleOverIdeal()) {
		t.Errorf("%+v, %+v: bubble %v, closed form %v", s, times, tl.BubbleOverIdeal(), ratio)
	}
	return true
}

// TestScheduleShortGroups compares the rule for a last group shorter than the
// ranks with the orders themselves: a list of ours run as one made by hand.
func TestScheduleShortGroups(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		s := schedule.Spec{Kind: schedule.Interleaved}
		s.Ranks = rapid.IntRange(2, 12).Draw(t, "p")
		s.VirtualStages = rapid.IntRange(1, 5).Draw(t, "v")
		s.GroupSize = rapid.IntRange(s.Ranks, 2*s.Ranks+2).Draw(t, "g")
		rest := rapid.IntRange(1, s.Ranks-1).Draw(t, "rest")
		s.MicroBatches = s.GroupSize*rapid.IntRange(1, 3).Draw(t, "groups") + rest
		_, err := schedule.Simulate(interleavedByHand(s),
			schedule.UniformCosts(s, schedule.ChunkTimes{F: 1, B: 2}, 0))
		if stuck := err != nil; stuck != (scheduleErrors(s) > 0) {
			t.Fatalf("%+v: %v, but the check says %+v", s, err, s.Check())
		}
	})
}

// interleavedByHand writes the lists of schedules.md section 3.4 from its text,
// apart from the generator: forwards from a table of (micro-batch, chunk),
// backwards from the same table with mirrored chunks.
func interleavedByHand(s schedule.Spec) *schedule.Order {
	p, m, v, g := s.Ranks, s.MicroBatches, s.VirtualStages, s.GroupSize
	var fwd, bwd []schedule.Op
	for lo := 0; lo < m; lo += g {
		for c := range v {
			for i := lo; i < min(lo+g, m); i++ {
				fwd = append(fwd, schedule.NewOp(schedule.Forward, c, i))
				bwd = append(bwd, schedule.NewOp(schedule.Backward, v-1-c, i))
			}
		}
	}
	o := &schedule.Order{Spec: s, Placement: schedule.Loop, Start: []int{0}}
	for r := range p {
		w := min(2*(p-1-r)+(v-1)*g, len(fwd))
		o.Ops = append(o.Ops, fwd[:w]...)
		for k := range len(fwd) - w {
			o.Ops = append(o.Ops, fwd[w+k], bwd[k])
		}
		o.Ops = append(o.Ops, bwd[len(bwd)-w:]...)
		o.Start = append(o.Start, len(o.Ops))
	}
	return o
}

// TestScheduleMoreMicroBatches: with equal stages and no latency more
// micro-batches never raise the bubble fraction, as long as the launchers take
// both numbers (a short last group adds idle time and is warned of).
func TestScheduleMoreMicroBatches(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		s, times := drawLegal(t), drawTimes(t)
		switch s.Kind {
		case schedule.AFAB, schedule.OneFOneB, schedule.Interleaved, schedule.LoopedBFS, schedule.ZBH1:
		default:
			t.Skip("one micro-batch only, or no such promise")
		}
		fewer, more := s, s
		more.MicroBatches += rapid.IntRange(1, 12).Draw(t, "more")
		var bubbles [2]float64
		for i, spec := range []schedule.Spec{fewer, more} {
			for _, is := range spec.Check() {
				if is.Code == "group-remainder" || !is.Warning {
					t.Skip("a short last group")
				}
			}
			o, err := schedule.Build(spec)
			if err != nil {
				t.Fatal(err)
			}
			tl, err := schedule.Simulate(o, schedule.UniformCosts(spec, times, 0))
			if err != nil {
				t.Fatal(err)
			}
			bubbles[i] = tl.BubbleOverTotal()
		}
		if bubbles[1] > bubbles[0]+1e-9 {
			t.Fatalf("%+v: %v with %d, %v with %d", s, bubbles[0], s.MicroBatches, bubbles[1],
				more.MicroBatches)
		}
	})
}

// TestScheduleUnequalStages: slower stages never make the step shorter, and the
// step is never shorter than the busiest rank.
func TestScheduleUnequalStages(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		s := drawLegal(t)
		o, err := schedule.Build(s)
		if err != nil {
			t.Fatal(err)
		}
		d := rapid.Float64Range(0, 10)
		costs := schedule.UniformCosts(s, schedule.ChunkTimes{}, d.Draw(t, "p2p"))
		for i := range s.Stages() {
			costs.F[i], costs.I[i], costs.W[i] = d.Draw(t, "f"), d.Draw(t, "i"), d.Draw(t, "w")
			costs.B[i] = costs.I[i] + costs.W[i]
		}
		before, err := schedule.Simulate(o, costs)
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range before.Ranks {
			if st.Busy > before.Makespan*(1+1e-12) {
				t.Fatalf("busy %v of %v", st.Busy, before.Makespan)
			}
		}
		slow, more := rapid.IntRange(0, s.Stages()-1).Draw(t, "stage"), d.Draw(t, "slower")
		costs.B[slow] += more
		costs.I[slow] += more
		after, err := schedule.Simulate(o, costs)
		if err != nil {
			t.Fatal(err)
		}
		if after.Makespan < before.Makespan {
			t.Fatalf("%+v: a slower stage took %v to %v", s, before.Makespan, after.Makespan)
		}
	})
}

// TestSchedulePlaybookFigure compares the bars of the playbook's figure with the
// simulation. Its bars use (p-1)/(vm) also for fewer micro-batches than ranks,
// where that is too low for several chunks; the simulation is then
// [(p-1)+(v-1)(p-m)]/(vm).
func TestSchedulePlaybookFigure(t *testing.T) {
	drawn, corrected := 0, 0
	for _, row := range shared.CSV(t, "playbook", "pp-bubble-figure.csv") {
		p, m, v := scheduleInt(t, row["p"]), scheduleInt(t, row["m"]), scheduleInt(t, row["v"])
		s := schedule.Spec{Kind: schedule.Interleaved, Ranks: p, VirtualStages: v, MicroBatches: m}
		if v == 1 {
			s.Kind = schedule.OneFOneB
		}
		got := mustSimulate(t, s, schedule.ChunkTimes{F: 1, B: 2}, 0).BubbleOverIdeal()
		want := summaryFloat(t, row["bubble_ratio"])
		if m < p && v > 1 {
			corrected++
			want = float64((p-1)+(v-1)*(p-m)) / float64(v*m)
		} else {
			drawn++
		}
		if !scheduleNear(got, want) {
			t.Errorf("p=%d m=%d v=%d: %v, want %v", p, m, v, got, want)
		}
	}
	if drawn != 15 || corrected != 9 {
		t.Errorf("%d bars as drawn and %d corrected, want 15 and 9", drawn, corrected)
	}
}
