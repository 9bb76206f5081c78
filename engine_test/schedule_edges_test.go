package engine_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"meshscope/engine/schedule"
)

// edgeSpec is a spec of p ranks, v stages per rank and m micro-batches.
func edgeSpec(k schedule.Kind, p, v, m int) schedule.Spec {
	return schedule.Spec{Kind: k, Ranks: p, VirtualStages: v, MicroBatches: m}
}

// TestScheduleRulesAtTheirLimits: what a schedule requires is enough exactly at its limit, and one less
// is refused or warned of with the values that would do.
func TestScheduleRulesAtTheirLimits(t *testing.T) {
	type near = map[string]int
	grouped := func(p, v, m, group int) schedule.Spec {
		s := edgeSpec(schedule.Interleaved, p, v, m)
		s.GroupSize = group
		return s
	}
	for _, c := range []struct {
		code       string
		at, beyond schedule.Spec
		nearest    near
		says       string
	}{
		{
			"fewer-microbatches-than-ranks", edgeSpec(schedule.OneFOneB, 4, 1, 4),
			edgeSpec(schedule.OneFOneB, 4, 1, 3),
			near{"microbatches": 4},
			"PyTorch rejects",
		},
		{
			"fewer-microbatches-than-ranks", edgeSpec(schedule.OneFOneB, 4, 1, 4),
			edgeSpec(schedule.OneFOneB, 4, 1, 2),
			near{"microbatches": 4},
			"PyTorch and nanotron reject",
		},
		{
			"fewer-microbatches-than-ranks", edgeSpec(schedule.Interleaved, 4, 2, 4),
			edgeSpec(schedule.Interleaved, 4, 2, 3),
			near{"microbatches": 4},
			"Megatron-LM rejects",
		},
		{
			"fewer-microbatches-than-ranks", grouped(4, 2, 4, 4), grouped(4, 2, 3, 3),
			near{"microbatches": 4, "group-size": 4},
			"with fewer micro-batches (3)",
		},
		{
			"interleaved-one-rank", edgeSpec(schedule.Interleaved, 2, 2, 8), grouped(1, 2, 8, 1),
			near{"pp": 2, "group-size": 0},
			"one pipeline rank",
		},
		{
			"interleaved-one-rank", edgeSpec(schedule.Interleaved, 2, 2, 8), grouped(1, 2, 8, 2),
			near{"pp": 2},
			"one pipeline rank",
		},
		{
			"interleaved-one-chunk", edgeSpec(schedule.Interleaved, 4, 2, 8),
			edgeSpec(schedule.Interleaved, 4, 1, 9),
			near{"vpp": 2, "group-size": 5},
			"1f1b has the same bubble",
		},
		{
			"interleaved-one-chunk", edgeSpec(schedule.Interleaved, 4, 2, 8),
			edgeSpec(schedule.Interleaved, 4, 1, 4),
			near{"vpp": 2},
			"1f1b has the same bubble",
		},
		{
			"group-size-range", grouped(4, 2, 8, 4), grouped(4, 2, 8, 3),
			near{"group-size": 4},
			"between 4 (one per pipeline rank) and 8",
		},
		{"group-size-range", grouped(4, 2, 8, 8), grouped(4, 2, 8, 9), near{"group-size": 8}, "not 9"},
		{
			"group-remainder", grouped(4, 2, 12, 8), grouped(4, 2, 11, 8),
			near{"microbatches": 12},
			"a last group of 3",
		},
		{
			"group-remainder", grouped(4, 2, 8, 4), grouped(4, 2, 10, 4),
			near{"microbatches": 12},
			"8 or 12 micro-batches fit",
		},
		{
			"extra-warmup-range",
			schedule.Spec{
				Kind: schedule.Interleaved, Ranks: 4, VirtualStages: 2, MicroBatches: 8,
				ExtraWarmup: 1,
			},
			schedule.Spec{
				Kind: schedule.Interleaved, Ranks: 4, VirtualStages: 2, MicroBatches: 8,
				ExtraWarmup: 2,
			},
			near{"extra-warmup": 1},
			"not 2",
		},
		{
			"zb-h2-few-microbatches", edgeSpec(schedule.ZBH2, 4, 1, 7), edgeSpec(schedule.ZBH2, 4, 1, 6),
			near{"microbatches": 7},
			"2p-1 = 7",
		},
		{
			"zb-rounds", edgeSpec(schedule.InterleavedZB, 4, 2, 8),
			edgeSpec(schedule.InterleavedZB, 4, 2, 13),
			near{"microbatches": 12},
			"over 3 rounds",
		},
		{
			"zb-rounds", edgeSpec(schedule.InterleavedZB, 4, 2, 10),
			edgeSpec(schedule.InterleavedZB, 4, 2, 14),
			near{"microbatches": 15},
			"over 3 rounds",
		},
		{
			"dualpipe-odd-ranks", edgeSpec(schedule.DualPipe, 4, 1, 8), edgeSpec(schedule.DualPipe, 3, 1, 8),
			near{"pp": 4},
			"even, not 3",
		},
		{
			"dualpipe-odd-ranks", edgeSpec(schedule.DualPipe, 4, 1, 8), edgeSpec(schedule.DualPipe, 3, 1, 6),
			near{"pp": 4, "microbatches": 8},
			"even, not 3",
		},
		{
			"dualpipe-odd-ranks", edgeSpec(schedule.DualPipe, 4, 1, 8), edgeSpec(schedule.DualPipe, 3, 1, 9),
			near{"pp": 4, "microbatches": 10},
			"even, not 3",
		},
		{
			"dualpipe-microbatches", edgeSpec(schedule.DualPipe, 4, 1, 8),
			edgeSpec(schedule.DualPipe, 4, 1, 6),
			near{"microbatches": 8},
			"2p = 8",
		},
		{
			"dualpipe-microbatches", edgeSpec(schedule.DualPipe, 4, 1, 10),
			edgeSpec(schedule.DualPipe, 4, 1, 9),
			near{"microbatches": 10},
			"not 9",
		},
		{
			"dualpipe-microbatches", edgeSpec(schedule.DualPipe, 3, 1, 6),
			edgeSpec(schedule.DualPipe, 3, 1, 4),
			near{"pp": 4, "microbatches": 8},
			"2p = 6",
		},
		{
			"dualpipe-microbatches", edgeSpec(schedule.DualPipeV, 3, 2, 6),
			edgeSpec(schedule.DualPipeV, 3, 2, 5),
			near{"microbatches": 6},
			"2p = 6",
		},
		{
			"schedule-two-chunks", edgeSpec(schedule.VMin, 3, 2, 6), edgeSpec(schedule.VMin, 3, 3, 6),
			near{"vpp": 2},
			"exactly 2 stages",
		},
		{
			"schedule-two-chunks", edgeSpec(schedule.VMin, 3, 2, 6), edgeSpec(schedule.VMin, 3, 1, 6),
			near{"vpp": 2},
			"exactly 2 stages",
		},
		{
			"group-size-unused", grouped(4, 2, 8, 4),
			schedule.Spec{
				Kind: schedule.LoopedBFS, Ranks: 2, VirtualStages: 2, MicroBatches: 2,
				GroupSize: 1,
			},
			near{"group-size": 0},
			"looped-bfs has no",
		},
		{
			"max-in-flight-unused",
			schedule.Spec{Kind: schedule.ZBAuto, Ranks: 2, VirtualStages: 1, MicroBatches: 4, MaxInFlight: 3},
			schedule.Spec{Kind: schedule.ZB1P, Ranks: 2, VirtualStages: 1, MicroBatches: 4, MaxInFlight: 3},
			near{"max-in-flight": 0},
			"zb-1p sets its own",
		},
		{
			"schedule-too-large", edgeSpec(schedule.Interleaved, 1, schedule.MaxVirtualStages, 1),
			edgeSpec(schedule.Interleaved, 1, schedule.MaxVirtualStages+1, 1),
			near{"vpp": schedule.MaxVirtualStages},
			"stages per rank",
		},
		{
			"schedule-too-large", edgeSpec(schedule.VMin, schedule.MaxAutoRanks, 2, 8),
			edgeSpec(schedule.VMin, schedule.MaxAutoRanks+1, 2, 8),
			near{"pp": schedule.MaxAutoRanks},
			"129 ranks, allowed are 128",
		},
		{
			"schedule-too-large", edgeSpec(schedule.OneFOneB, schedule.MaxOps/2, 1, 1),
			edgeSpec(schedule.OneFOneB, schedule.MaxOps/2+1, 1, 1),
			near{"pp": schedule.MaxOps / 2},
			"operations, allowed are",
		},
		{
			"schedule-too-large", edgeSpec(schedule.Interleaved, schedule.MaxOps/4, 2, 1),
			edgeSpec(schedule.Interleaved, schedule.MaxOps/4+1, 2, 1),
			near{"pp": schedule.MaxOps / 4},
			"operations, allowed are",
		},
		{
			"schedule-too-large", edgeSpec(schedule.OneFOneB, 32, 1, schedule.MaxOps/64),
			edgeSpec(schedule.OneFOneB, 32, 1, schedule.MaxOps/64+1),
			near{"microbatches": schedule.MaxOps / 64},
			"(MaxOps)",
		},
		{
			"schedule-too-large", edgeSpec(schedule.OneFOneB, 1, 1, schedule.MaxMicroBatches),
			edgeSpec(schedule.OneFOneB, 1, 1, schedule.MaxMicroBatches+1),
			near{"microbatches": schedule.MaxMicroBatches},
			"(MaxMicroBatches)",
		},
	} {
		find := func(s schedule.Spec) *schedule.Issue {
			issues := s.Check()
			if i := slices.IndexFunc(issues,
				func(i schedule.Issue) bool { return i.Code == c.code }); i >= 0 {
				return &issues[i]
			}
			return nil
		}
		if is := find(c.at); is != nil {
			t.Errorf("%+v: %+v, though it is at the limit", c.at, is)
		}
		if is := find(c.beyond); is == nil || !sameNearest(is.Nearest, c.nearest) ||
			!strings.Contains(is.Message, c.says) {
			t.Errorf("%+v: %+v, want %s %v %q", c.beyond, is, c.code, c.nearest, c.says)
		}
	}
}

// TestClosedFormsAtTheirLimits: idle times of the worst rank where the number of micro-batches is the
// least for which the papers' forms hold, and one below, worked out for p ranks and chunks of F, I, W.
func TestClosedFormsAtTheirLimits(t *testing.T) {
	equal := schedule.ChunkTimes{F: 1, B: 2, I: 1, W: 1}
	light := schedule.ChunkTimes{F: 3, B: 5, I: 3, W: 2} // weight gradients are shorter
	heavy := schedule.ChunkTimes{F: 3, B: 6, I: 2, W: 4}
	const none = -1
	for _, c := range []struct {
		s          schedule.Spec
		times      schedule.ChunkTimes
		idle, span float64
	}{
		{edgeSpec(schedule.OneFOneB, 4, 1, 1), light, 3 * 8, none},
		{edgeSpec(schedule.Naive, 4, 1, 3), light, 3 * 3 * 8, none},
		{edgeSpec(schedule.Interleaved, 4, 2, 4), light, 3 * 8, none},
		{edgeSpec(schedule.Interleaved, 4, 3, 2), light, (3 + 2*2) * 8, none},
		{edgeSpec(schedule.Interleaved, 4, 2, 5), light, none, none}, // a last group of 1
		{edgeSpec(schedule.LoopedBFS, 4, 3, 4), light, 3 * 8, none},
		{edgeSpec(schedule.LoopedBFS, 4, 3, 3), light, (3 + 2) * 8, none},
		{edgeSpec(schedule.ZBH1, 4, 1, 4), light, 3 * (3 + 1), none},
		{edgeSpec(schedule.ZBH1, 4, 1, 4), heavy, 3 * 3, none},
		{edgeSpec(schedule.ZBH1, 4, 1, 3), light, none, none},
		{edgeSpec(schedule.ZBH1, 4, 1, 3), equal, 4, none},
		{edgeSpec(schedule.ZBH1, 4, 1, 1), equal, 6, none},
		{edgeSpec(schedule.ZBH2, 4, 1, 7), light, 3 * 3, 3 * 2},
		{edgeSpec(schedule.ZBH2, 4, 1, 7), heavy, 3 * 3, 0},
		{edgeSpec(schedule.ZBH2, 4, 1, 6), light, none, none},
		{edgeSpec(schedule.ZBH2, 4, 1, 6), equal, none, 1},
		{edgeSpec(schedule.ZBH2, 4, 1, 3), equal, none, 4},
		{edgeSpec(schedule.InterleavedZB, 4, 2, 4), light, 3 * 4, none},
		{edgeSpec(schedule.InterleavedZB, 4, 2, 3), equal, none, none},
		{edgeSpec(schedule.ZBV, 4, 2, 7), light, 3 * 3, 6},
		{edgeSpec(schedule.ZBV, 4, 2, 6), light, none, none},
		{edgeSpec(schedule.ZBV, 4, 2, 7), equal, 3, 0},
		{edgeSpec(schedule.ZBV, 4, 2, 6), equal, 3, none},
		{edgeSpec(schedule.ZBV, 4, 2, 3), equal, 8, none},
		{edgeSpec(schedule.ZBV, 4, 2, 8), heavy, none, none},
		{edgeSpec(schedule.VHalf, 4, 2, 6), equal, 5, none},
		{edgeSpec(schedule.VHalf, 4, 2, 5), equal, none, none},
		{edgeSpec(schedule.VHalf, 3, 2, 5), equal, 5, none},
		{edgeSpec(schedule.VHalf, 2, 2, 5), equal, none, none},
		{edgeSpec(schedule.VHalf, 1, 2, 5), equal, none, none},
		{edgeSpec(schedule.VHalf, 4, 2, 6), light, none, none},
		{edgeSpec(schedule.VMin, 4, 2, 4), equal, 11, none},
		{edgeSpec(schedule.VMin, 4, 2, 3), equal, none, none},
		{edgeSpec(schedule.VMin, 3, 2, 4), equal, 5, none},
		{edgeSpec(schedule.VMin, 3, 2, 3), equal, none, none},
		{edgeSpec(schedule.VMin, 1, 2, 3), equal, none, none},
		{edgeSpec(schedule.DualPipe, 4, 1, 8), equal, 1 * (3 + 2 - 3), none},
		{edgeSpec(schedule.DualPipe, 4, 1, 8), light, 1 * (8 + 5 - 6), none},
		{edgeSpec(schedule.DualPipe, 4, 1, 8), heavy, none, none},
		{
			edgeSpec(schedule.DualPipe, 4, 1, 8),
			schedule.ChunkTimes{F: 1, B: 2, I: 1, W: 1, Saved: 1},
			1 * (2 + 2 - 3), none,
		},
		{
			edgeSpec(schedule.DualPipe, 4, 1, 8),
			schedule.ChunkTimes{F: 1, B: 2, I: 1, W: 1, Saved: 1.01},
			none,
			none,
		},
		{
			edgeSpec(schedule.DualPipe, 4, 1, 8),
			schedule.ChunkTimes{F: 3, B: 5, I: 3, W: 2, Saved: 0.5},
			none,
			none,
		},
		{edgeSpec(schedule.DualPipe, 4, 1, 8), schedule.ChunkTimes{F: 3, B: 5.1, I: 3, W: 2}, none, none},
		{edgeSpec(schedule.DualPipeV, 3, 2, 6), light, 2 * (8 + 5 - 6), none},
		{edgeSpec(schedule.OneFOneBV, 3, 2, 6), equal, none, none},
		{edgeSpec(schedule.ZBAuto, 3, 1, 6), equal, none, none},
		{edgeSpec("none-such", 3, 1, 6), equal, none, none},
		{edgeSpec(schedule.OneFOneB, 4, 2, 8), equal, none, none}, // illegal
		{edgeSpec(schedule.OneFOneB, 1, 1, schedule.MaxMicroBatches+1), equal, none, none},
	} {
		for _, form := range []struct {
			name string
			of   func(schedule.ChunkTimes) (float64, bool)
			want float64
		}{{"idle", c.s.ClosedFormIdle, c.idle}, {"span", c.s.ClosedFormSpan, c.span}} {
			if got, ok := form.of(c.times); ok != (form.want != none) || ok && !scheduleNear(got, form.want) {
				t.Errorf("%s of %+v with %+v: %v %v, want %v", form.name, c.s, c.times, got, ok, form.want)
			}
		}
		per := c.times.F + c.times.B
		if info, _ := c.s.Kind.Info(); info.SplitsBackward {
			per = c.times.F + c.times.I + c.times.W
		}
		want := c.idle / (per * float64(c.s.VirtualStages*c.s.MicroBatches))
		if got, ok := c.s.ClosedFormBubble(c.times); ok != (c.idle != none && c.times.Saved == 0) ||
			ok && !scheduleNear(got, want) {
			t.Errorf("bubble of %+v: %v %v, want %v", c.s, got, ok, want)
		}
	}
	if _, ok := edgeSpec(schedule.OneFOneB, 2, 1, 2).ClosedFormBubble(schedule.ChunkTimes{}); ok {
		t.Error("a share of no work")
	}
}

// TestUnevenFrom: a fixed pattern has 5 % of slack around the durations that it was made for; exactly those
// fit.
func TestUnevenFrom(t *testing.T) {
	for _, c := range []struct {
		kind  schedule.Kind
		times schedule.ChunkTimes
		want  bool
	}{
		{schedule.VMin, schedule.ChunkTimes{F: 1, I: 1, W: 1}, false},
		{schedule.VMin, schedule.ChunkTimes{F: 1.04, I: 1, W: 1}, false},
		{schedule.VMin, schedule.ChunkTimes{F: 1.06, I: 1, W: 2}, true},
		{schedule.VMin, schedule.ChunkTimes{F: 1, I: 1.06, W: 1}, true},
		{schedule.VMin, schedule.ChunkTimes{F: 1.06, I: 1.06, W: 1}, true},
		{schedule.VMin, schedule.ChunkTimes{F: 1, I: 1, W: 9}, false},
		{schedule.VHalf, schedule.ChunkTimes{F: 3, I: 2, W: 2}, false}, // 2 + 4 = 6
		{schedule.VHalf, schedule.ChunkTimes{F: 3, I: 2, W: 1.5}, true},
		{schedule.VHalf, schedule.ChunkTimes{F: 2, I: 3, W: 2}, false},
		{schedule.VHalf, schedule.ChunkTimes{F: 2, I: 3, W: 1.5}, true},
		{schedule.OneFOneBV, schedule.ChunkTimes{F: 1, B: 2}, false},
		{schedule.OneFOneBV, schedule.ChunkTimes{F: 1, B: 2.12}, true},
		{schedule.OneFOneBV, schedule.ChunkTimes{F: 1, B: 1.88}, true},
		{schedule.OneFOneBV, schedule.ChunkTimes{F: 1, B: 2.08}, false},
		{schedule.OneFOneBV, schedule.ChunkTimes{F: 1, B: 1.92}, false},
		{schedule.ZBV, schedule.ChunkTimes{F: 1, I: 9, W: 1}, false},
	} {
		info, _ := c.kind.Info()
		if got := info.Uneven(c.times); got != c.want {
			t.Errorf("%s with %+v: uneven %v, want %v", c.kind, c.times, got, c.want)
		}
	}
}

// TestDisprovedFrom: the quoted formula holds from the least number of micro-batches on, with equal
// durations.
func TestDisprovedFrom(t *testing.T) {
	equal := schedule.ChunkTimes{F: 1, B: 2, I: 1, W: 1}
	for _, c := range []struct {
		s     schedule.Spec
		times schedule.ChunkTimes
		says  string
	}{
		{edgeSpec(schedule.ZBH1, 4, 1, 4), equal, ""},
		{edgeSpec(schedule.ZBH1, 4, 1, 3), equal, "fewer micro-batches than ranks"},
		{edgeSpec(schedule.ZBH1, 1, 1, 4), schedule.ChunkTimes{F: 1, I: 1, W: 3}, ""},
		{edgeSpec(schedule.ZBH1, 2, 1, 4), schedule.ChunkTimes{F: 1, I: 2, W: 2}, "tW > tF"},
		{edgeSpec(schedule.ZBH1, 4, 1, 4), schedule.ChunkTimes{F: 2, I: 1, W: 2}, "tW > tI"},
		{edgeSpec(schedule.ZBH2, 4, 1, 7), equal, ""},
		{edgeSpec(schedule.ZBH2, 4, 1, 6), equal, "fewer than 2p-1"},
		{edgeSpec(schedule.ZBH2, 4, 1, 7), schedule.ChunkTimes{F: 1, I: 1, W: 2}, ""},
		{edgeSpec(schedule.ZBH2, 4, 1, 7), schedule.ChunkTimes{F: 1, I: 2, W: 2}, "tW > tF and tI > tF"},
		{edgeSpec(schedule.Interleaved, 4, 2, 4), equal, ""},
		{edgeSpec(schedule.Interleaved, 4, 2, 3), equal, "fewer micro-batches than ranks"},
		{edgeSpec(schedule.Interleaved, 4, 1, 3), equal, ""},
		{edgeSpec(schedule.Interleaved, 4, 2, 5), equal, "the last group of micro-batches is short"},
		{
			schedule.Spec{
				Kind: schedule.Interleaved, Ranks: 4, VirtualStages: 2, MicroBatches: 9,
				GroupSize: 5,
			},
			equal, "",
		},
		{edgeSpec(schedule.LoopedBFS, 4, 2, 4), equal, ""},
		{edgeSpec(schedule.LoopedBFS, 4, 2, 3), equal, "fewer micro-batches than ranks"},
	} {
		info, _ := c.s.Kind.Info()
		if got := info.Disproved(&c.s, c.times); (got == "") != (c.says == "") ||
			!strings.Contains(got, c.says) {
			t.Errorf("%+v with %+v: %q, want %q", c.s, c.times, got, c.says)
		}
	}
}

// TestCostsAtTheirLimits: 0 and, of an overlap, 1 are durations and shares; below, beyond and nothing at all
// are not.
func TestCostsAtTheirLimits(t *testing.T) {
	s := edgeSpec(schedule.DualPipe, 2, 1, 4)
	o, err := schedule.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	times := schedule.ChunkTimes{F: 1, B: 2, I: 1, W: 1}
	for _, bad := range []float64{-1e-9, math.NaN(), math.Inf(1)} {
		for name, change := range map[string]func(c *schedule.Costs, v float64){
			"latency": func(c *schedule.Costs, v float64) { c.P2P = v },
			"overlap": func(c *schedule.Costs, v float64) { c.Overlap = v },
			"hidden":  func(c *schedule.Costs, v float64) { c.HiddenF = []float64{0, v} },
			"again":   func(c *schedule.Costs, v float64) { c.R = []float64{v, 0} },
			"weights": func(c *schedule.Costs, v float64) { c.W[1] = v },
		} {
			for _, v := range []float64{0, bad} {
				c := schedule.UniformCosts(s, times, 0)
				change(&c, v)
				var refused *schedule.CostError
				if _, err := schedule.Simulate(o, c); errors.As(err, &refused) != (v != 0) ||
					v == 0 && err != nil {
					t.Errorf("%s of %v: %v", name, v, err)
				}
			}
		}
	}
	c := schedule.UniformCosts(s, times, 0)
	for overlap, legal := range map[float64]bool{0.5: true, 1: true, 1 + 1e-9: false} {
		c.Overlap = overlap
		if _, err := schedule.Simulate(o, c); (err == nil) != legal {
			t.Errorf("an overlap of %v: %v", overlap, err)
		}
	}
}
