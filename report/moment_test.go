package report

import (
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/memory"
	"meshscope/engine/units"
	"meshscope/presets"
)

// TestLateGradients: where a stack makes gradients as a backward ends, what the total has beyond the peak of
// the one micro-batch is said; with two micro-batches both are one figure. More than all gradients is not
// called gradients, and what one decimal does not show is not said.
func TestLateGradients(t *testing.T) {
	for _, c := range []struct {
		gradients, peak units.Bytes
		words           string
	}{{5, 96, " (total 4.0 more: late gradients)"}, {3, 96, ""}, {5, 99.96, ""}} {
		if words := lateWords(c.gradients, c.peak); words != c.words {
			t.Errorf("%v GiB of gradients, peak %v: %q", float64(c.gradients), float64(c.peak), words)
		}
	}
	lib := presets.Default()
	of, err := lib.Model("llama3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	c, err := lib.Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	for gbs, late := range map[int]string{8: "; its total counts 3.9 GiB more, gradients that come", 16: ""} {
		s, err := knob.DraftOf(of, c, knob.Given{
			knob.GPUs: 8, knob.ZeRO: 3, knob.GBS: gbs, knob.Seq: 8192, knob.Calibration: "torchtitan",
		}).Resolve()
		if err != nil {
			t.Fatal(err)
		}
		r := engine.Evaluate(s)
		m := MomentOfPeak(&s, &r)
		if m == nil {
			t.Fatalf("%d sequences: no moment", gbs)
		}
		if words := m.Words(); (late == "") == strings.Contains(words, "; its total") ||
			!strings.Contains(words, late) {
			t.Errorf("%d sequences, total %.2f GiB: %s", gbs, r.Memory.Peak.GiB(), words)
		}
	}
}

// lateWords are those of a rank of 100 GiB with so many of gradients, and a peak of so many GiB.
func lateWords(gradients, peak units.Bytes) string {
	r := memory.Rank{Total: 100 * units.GiB, Gradients: gradients * units.GiB}
	_, short := LateGradients(&r, [2]units.Bytes{1, peak * units.GiB})
	return short
}

// TestFitOverSteps: both steps are checked with the error band of the memory, as the whole is.
func TestFitOverSteps(t *testing.T) {
	for _, c := range []struct {
		first, later units.Bytes
		words        string
		alike        bool
	}{
		{80, 90, "fits", true},
		{80, 92, "fits in step 1, tight from step 2 on", false},
		{92, 95, "tight", true},
		{92, 105, "tight", true},
		{105, 111, "tight in step 1, over from step 2 on", false},
		{90, 111, "fits step 1 but not step 2", false},
		{111, 120, "does not fit", true},
		{92, 90, "tight in step 1, fits from step 2 on", false},
	} {
		if words, alike := FitOverSteps([2]units.Bytes{c.first, c.later}, 100, 0.1); words != c.words ||
			alike != c.alike {
			t.Errorf("%g, then %g of 100: %q, %v, want %q, %v", float64(c.first), float64(c.later), words,
				alike, c.words, c.alike)
		}
	}
}
