package report

import (
	"testing"

	"meshscope/engine"
)

// TestOverIdeal: the closed form has the name by which it is known, where it is that.
func TestOverIdeal(t *testing.T) {
	share := func(x float64) *float64 { return &x }
	for want, p := range map[string]*engine.Pipeline{
		"": {Ranks: 4, Stages: 4, MicroBatches: 16},
		"(p-1)/m 18.8 % over ideal": {
			Ranks: 4, Stages: 4, MicroBatches: 16,
			BubbleClosedForm: share(3. / 16),
		},
		"(p-1)/(v m) 9.4 % over ideal": {
			Ranks: 4, Stages: 8, MicroBatches: 16,
			BubbleClosedForm: share(3. / 32),
		},
		"closed form 5.0 % over ideal": {
			Ranks: 4, Stages: 4, MicroBatches: 16,
			BubbleClosedForm: share(0.05),
		},
	} {
		if got := OverIdeal(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if OverIdeal(nil) != "" || BubbleOfStep(nil) != 0 || BubbleOfStep(&engine.Report{}) != 0 {
		t.Error("no pipeline has no bubble")
	}
}
