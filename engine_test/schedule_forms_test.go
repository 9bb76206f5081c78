package engine_test

import (
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine/schedule"
	"meshscope/engine_test/draws"
)

// TestScheduleClosedFormsAtRandom: the closed form of every schedule agrees with
// its simulation for random sizes and durations, where it claims to be exact.
func TestScheduleClosedFormsAtRandom(t *testing.T) {
	checked := map[schedule.Kind]int{}
	draws.CheckFew(t, 200, func(rt *rapid.T) {
		p, m := rapid.IntRange(1, 16).Draw(rt, "p"), rapid.IntRange(1, 48).Draw(rt, "m")
		v, times := rapid.IntRange(1, 4).Draw(rt, "v"), drawTimes(rt)
		if rapid.Bool().Draw(rt, "whole") { // divides by all that has to divide
			p += p % 2
			m = 2 * p * max(1, m/(2*p))
		}
		for _, info := range schedule.Kinds() {
			s := schedule.Spec{Kind: info.Kind, Ranks: p, VirtualStages: v, MicroBatches: m}
			if info.Chunks > 0 {
				s.VirtualStages = info.Chunks
			}
			if scheduleErrors(s) == 0 && checkClosedForm(t, s, times) {
				checked[info.Kind]++
			}
		}
	})
	for _, info := range schedule.Kinds() {
		if info.Idle != "" && checked[info.Kind] == 0 {
			t.Errorf("%s: its closed form was never met", info.Kind)
		}
	}
	t.Logf("closed forms compared: %v", checked)
}

// TestDisproved: a formula that is said to give too little does, and one of the
// same schedule that is not said to fail does not.
func TestDisproved(t *testing.T) {
	said, held := map[schedule.Kind]int{}, map[schedule.Kind]int{}
	draws.Check(t, func(rt *rapid.T) {
		p, m := rapid.IntRange(2, 9).Draw(rt, "p"), rapid.IntRange(1, 24).Draw(rt, "m")
		v, times := rapid.IntRange(2, 3).Draw(rt, "v"), drawTimes(rt)
		times.Saved = 0
		quoted := map[schedule.Kind]float64{
			schedule.Interleaved: times.F + times.B,
			schedule.LoopedBFS:   times.F + times.B,
			schedule.ZBH1:        times.F + times.I - times.W,
			schedule.ZBH2:        max(0, times.F+times.I-2*times.W),
		}
		for _, kind := range []schedule.Kind{
			schedule.Interleaved, schedule.LoopedBFS, schedule.ZBH1,
			schedule.ZBH2,
		} {
			each := quoted[kind]
			s := schedule.Spec{Kind: kind, Ranks: p, VirtualStages: v, MicroBatches: m}
			if kind == schedule.ZBH1 || kind == schedule.ZBH2 {
				s.VirtualStages = 1
			}
			if kind == schedule.Interleaved {
				s.GroupSize = rapid.SampledFrom([]int{0, p, p + 1, 2 * p}).Draw(rt, "group")
			}
			if scheduleErrors(s) > 0 {
				continue
			}
			tl := mustSimulate(t, s, times, 0)
			waits := 0.0
			for _, r := range tl.Ranks {
				waits = max(waits, r.Idle)
			}
			if kind == schedule.ZBH2 { // the paper counts inside a rank's own span
				waits = tl.LongestSpan() - tl.Ranks[0].Busy
			}
			info, _ := kind.Info()
			formula, text := float64(p-1)*each, info.Disproved(&s, times)
			low := waits > formula && !scheduleNear(waits, formula)
			if low != (text != "") {
				t.Fatalf("%+v, %+v: waits %v, the formula says %v, and %q", s, times, waits, formula, text)
			}
			if low {
				said[kind]++
			} else {
				held[kind]++
			}
		}
	})
	for _, kind := range []schedule.Kind{
		schedule.Interleaved, schedule.LoopedBFS, schedule.ZBH1,
		schedule.ZBH2,
	} {
		if said[kind] == 0 || held[kind] == 0 {
			t.Errorf("%s: said %d times to fail and held %d times", kind, said[kind], held[kind])
		}
	}
}
