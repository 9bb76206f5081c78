package report_test

import (
	"testing"

	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/report"
)

// TestPriceWords: what was assumed stands first where the other value is slower, and each value has its
// knob's name.
func TestPriceWords(t *testing.T) {
	for _, c := range []struct {
		want      string
		knob      knob.ID
		now, word string
		slow      bool
	}{
		{"dp-overlap on assumed (off: 1.81 s)", "dp-overlap", "on", "off", true},
		{"dispatcher deepep assumed (alltoall: 1.81 s)", "dispatcher", "deepep", "alltoall", true},
		{"fp8 assumed (bf16: 1.81 s)", "precision", "fp8", "bf16", true},
		{"tp-overlap async assumed (none: 1.81 s)", "tp-overlap", "async", "none", true},
		{"with tp-overlap user-buffers 1.81 s", "tp-overlap", "none", "user-buffers", false},
		{"with attention-precision fp8 1.81 s", "attention-precision", "bf16", "fp8", false},
	} {
		p := advise.Price{Knob: c.knob, Now: c.now, Word: c.word, Step: 1.81, Slow: c.slow}
		if got := report.PriceWords([]advise.Price{p}); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
