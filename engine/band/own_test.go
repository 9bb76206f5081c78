package band_test

import (
	"testing"

	"meshscope/engine/band"
)

// TestOwnRunsNarrow: a band that a calibration of the user's own widens is, at its runs, that of the
// built-in constants moved by their errors; runs of another stack or far away change nothing.
func TestOwnRunsNarrow(t *testing.T) {
	table := &band.Table{Prior: 0.5, PriorWeight: 0.7, Scales: band.Scales{BeyondRange: 1}}
	table.Scales.Of[band.GPUs] = 1
	x := band.Traits{GPU: "a", Stack: "m", GPUs: 6}
	x.Normalize()
	far, other := x, x
	far.GPUs, other.Stack = 12, "n"
	built := band.Band{Error: 0.1}
	for name, c := range map[string]struct {
		run       band.OwnRun
		low, high float64
		alike     int
	}{
		"without error": {band.OwnRun{Traits: x}, 0.02, 0.06, 1},
		"off by 30 %":   {band.OwnRun{Traits: x, Error: 0.3}, 0.3, 0.6, 1},
		"far away":      {band.OwnRun{Traits: far}, 0.4, 0.4, 0},
		"another stack": {band.OwnRun{Traits: other}, 0.4, 0.4, 0},
	} {
		b := band.Band{Error: 0.4}
		if alike := table.Narrow(&b, built, &x, []band.OwnRun{c.run}); alike != c.alike || b.Error < c.low ||
			b.Error > c.high {
			t.Errorf("%s: %d runs, ±%v", name, alike, b.Error)
		}
	}
}
