package engine_test

import (
	"cmp"
	"math"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/compare"
	"meshscope/engine/figures"
	"meshscope/engine/knob"
	"meshscope/engine/schedule"
	"meshscope/engine_test/draws"
	"meshscope/presets"

	"pgregory.net/rapid"
)

// A comparison says what the two reports say: every figure stands under its path,
// and the terms of a group add up to its total on both sides.
func TestCompareSaysWhatTheReportsSay(t *testing.T) {
	w := newWorld(t)
	draws.CheckFew(t, 5, func(t *rapid.T) {
		a, b := w.setup(t), w.setup(t)
		if rapid.Bool().Draw(t, "legal") {
			a, b = w.legalSetup(t), w.legalSetup(t)
		}
		c := compare.Setups(a, b)
		sums := map[compare.Group][2]float64{}
		for i := range c.Deltas {
			d := &c.Deltas[i]
			for n, side := range []struct {
				side  *compare.Side
				value *float64
			}{{&c.A, d.A}, {&c.B, d.B}} {
				whole := side.side.Setup
				// a run is of the other's tokens
				whole.Budget = cmp.Or(whole.Budget, max(c.A.Setup.Budget, c.B.Setup.Budget))
				full := engine.Evaluate(whole)
				got, ok := figures.Find(&full, d.ID)
				switch {
				case side.value == nil && ok:
					t.Fatalf("%s is missing on side %d", d.ID, n)
				case side.value != nil && !full.Legal:
					t.Fatalf("%s of an illegal setup is %v", d.ID, *side.value)
				case side.value != nil && !ok && *side.value != 0:
					t.Fatalf("%s is %v, the report has none", d.ID, *side.value)
				case ok && got.Value != *side.value:
					t.Fatalf("%s is %v, the report says %v", d.ID, *side.value, got.Value)
				case ok && got.Unit != d.Unit:
					t.Fatalf("%s is in %q, the report says %q", d.ID, d.Unit, got.Unit)
				}
				if side.value != nil && summand(d.ID) {
					sum := sums[d.Group]
					sum[n] += *side.value
					sums[d.Group] = sum
				}
			}
		}
		for i, r := range []*engine.Report{&c.A.Report, &c.B.Report} {
			if !r.Legal {
				continue
			}
			if got, want := sums[compare.GroupMemory][i],
				float64(r.Memory.Peak); math.Abs(got-want) > 1e-6*want {
				t.Fatalf("the terms of memory are %v, the peak %v", got, want)
			}
			if got, want := sums[compare.GroupTime][i], float64(r.Time.Step); math.Abs(got-want) > 1e-6*want {
				t.Fatalf("the parts of the step are %v, the step %v", got, want)
			}
		}
	})
}

// summand says whether a row of a comparison is a part of its group's total.
func summand(id string) bool {
	switch id {
	case "time.step", "memory.peak", "memory.free", figures.FullestRank + "in-flight":
		return false
	}
	return strings.HasPrefix(id, "time.") || strings.HasPrefix(id, figures.FullestRank)
}

// Nothing is different between a setup and itself.
func TestCompareWithItself(t *testing.T) {
	s := presets.DefaultSetup()
	c := compare.Setups(s, s)
	if len(c.Changes) > 0 || compare.ChangePath(s, s, nil) != nil {
		t.Errorf("changes %v", c.Changes)
	}
	if len(c.Deltas) == 0 {
		t.Fatal("no figures")
	}
	for i := range c.Deltas {
		if d := &c.Deltas[i]; !d.Same() {
			t.Errorf("%s differs: %v, %v", d.ID, *d.A, *d.B)
		}
	}
}

// The way from one setup to another ends there, takes every change that was
// chosen once, and each stop is legal and has the figures of Evaluate.
func TestWayEndsAtB(t *testing.T) {
	w := newWorld(t)
	draws.CheckFew(t, 10, func(t *rapid.T) {
		a, b := w.legalSetup(t), w.legalSetup(t)
		chosen := map[string]bool{}
		for _, c := range compare.Changes(&a, &b) {
			if c.Rule == "" || c.A == c.B {
				t.Fatalf("a change without a rule: %+v", c)
			}
			if c.Follows == "" {
				chosen[c.Field] = true
			}
		}
		way := compare.ChangePath(a, b, nil)
		if len(chosen) > 0 && way == nil {
			t.Fatal("no way")
		}
		for _, m := range way {
			for _, c := range m.Changes {
				if !chosen[c.Field] {
					t.Fatalf("%s is taken twice, or was never chosen", c.Field)
				}
				delete(chosen, c.Field)
			}
			r := engine.Evaluate(m.Setup)
			if !r.Legal || r.Time.Step != m.Step || r.Memory.Peak != m.Peak || r.Memory.Fits != m.Fits {
				t.Fatalf("after %v: step %v peak %v are not those of the report", m.Changes, m.Step, m.Peak)
			}
		}
		if len(chosen) > 0 {
			t.Fatalf("never taken: %v", chosen)
		}
		if len(way) > 0 && way[len(way)-1].Setup != b {
			t.Fatal("the way ends elsewhere")
		}
	})
}

// An interleaved schedule and its stages per rank are turned together: on the way
// there is none with one stage a rank, which is 1F1B by another name.
func TestWayTurnsChunksWithTheirSchedule(t *testing.T) {
	a := presets.DefaultSetup() // pp 2, 1f1b
	for _, c := range []struct {
		vpp  string
		also map[knob.ID]string
	}{
		{"2", nil},
		{"10", map[knob.ID]string{"recompute": "full"}},
		{"4", map[knob.ID]string{"tp": "4", "pp": "4", "zero": "0"}},
	} {
		b := a
		for id, text := range c.also {
			b = turnedTo(t, b, id, text)
		}
		b = turnedTo(t, b, "vpp", c.vpp)
		if b.Schedule != schedule.Interleaved || b.VPP == 1 {
			t.Fatalf("vpp %s gives %s", c.vpp, b.Schedule)
		}
		for _, ends := range [][2]engine.Setup{{a, b}, {b, a}} {
			way := compare.ChangePath(ends[0], ends[1], nil)
			if len(way) != 1+len(c.also) {
				t.Errorf("%d moves for %d changes and the schedule: %+v", len(way), len(c.also), way)
			}
			for _, m := range way {
				if m.Setup.Schedule == schedule.Interleaved && m.Setup.VPP == 1 {
					t.Errorf("the way passes %s with vpp 1 after %v", m.Setup.Schedule, m.Changes)
				}
			}
		}
	}
}

// What is said of TP 8 to TP 4 on the built-in start, with the figures of the
// two reports.
func TestCompareTP(t *testing.T) {
	a := presets.DefaultSetup()
	b, err := knob.Turn(a, "tp", "4", knob.Locks{GPUs: true, Batch: true})
	if err != nil {
		t.Fatal(err)
	}
	c := compare.Setups(a, b)
	want := map[string][3]string{
		"dp":           {"4", "8", "gpus / (tp x pp x cp) = 64 / (4 x 2 x 1)"},
		"tp":           {"8", "4", ""},
		"microbatches": {"128", "64", "gbs / (mbs x dp) = 512 / (1 x 8)"},
	}
	if len(c.Changes) != len(want) {
		t.Errorf("%d changes, want %d: %v", len(c.Changes), len(want), c.Changes)
	}
	for _, got := range c.Changes {
		if w := want[got.Field]; w != [3]string{got.A, got.B, got.Follows} {
			t.Errorf("%+v, want %v", got, w)
		}
	}
	for i := range c.Deltas {
		d := &c.Deltas[i]
		ratio, ok := d.Ratio()
		if d.ID == figures.FullestRank+"weights" && (!ok || math.Abs(ratio-2) > 0.01) {
			t.Errorf("half the TP makes weights %v times, want about 2", ratio)
		}
	}
}

// Every figure of a report is found under its path, and those of the fullest rank
// are those of that rank.
func TestFindFigure(t *testing.T) {
	r := engine.Evaluate(presets.DefaultSetup())
	all := figures.List(&r)
	if len(all) < 50 {
		t.Fatalf("%d figures", len(all))
	}
	for _, f := range all {
		if got, ok := figures.Find(&r, f.ID); !ok || got != f {
			t.Errorf("%s: found %v %v", f.ID, got, ok)
		}
	}
	got, _ := figures.Find(&r, figures.FullestRank+"weights")
	if want := r.Memory.Ranks[r.Memory.PeakRank].Weights; got.Value != float64(want) {
		t.Errorf("weights of the fullest rank: %v, want %v", got.Value, want)
	}
	for _, id := range []string{
		"", "memory", "memory.ranks.2.total", "memory.ranks.-1.total",
		"memory.ranks.x.total", "memory.fullest.", "time.nothing",
	} {
		if got, ok := figures.Find(&r, id); ok {
			t.Errorf("%q is found: %v", id, got)
		}
	}
	s := presets.DefaultSetup()
	s.TP = 3
	if bad := engine.Evaluate(s); len(figures.List(&bad)) > 0 {
		t.Error("an illegal setup has figures")
	}
}

// TestRatioOfWhatIsMissing: less than nothing has no ratio.
func TestRatioOfWhatIsMissing(t *testing.T) {
	of := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		a, b *float64
		want float64
		ok   bool
	}{
		{of(2), of(3), 1.5, true},
		{of(2), of(0), 0, true},
		{of(0), of(3), 0, false},
		{nil, of(3), 0, false},
		{of(2), nil, 0, false},
		{of(-2.7), of(24.9), 0, false},
		{of(24.9), of(-2.7), 0, false},
		{of(-2), of(-1), 0, false},
	} {
		d := compare.Delta{A: c.a, B: c.b}
		if ratio, ok := d.Ratio(); ratio != c.want || ok != c.ok {
			t.Errorf("%+v: %v, %v", c, ratio, ok)
		}
	}
}
