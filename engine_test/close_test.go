package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/units"
)

// Whether a peak is within its error band of what is usable, above and below it.
func TestMemoryClose(t *testing.T) {
	band := 0.1
	for _, c := range []struct {
		peak units.Bytes
		band *float64
		want bool
	}{
		{70, &band, false}, {73, &band, true}, {80, &band, true}, {88, &band, true}, {90, &band, false}, {80, nil, false},
	} {
		m := engine.Memory{Peak: c.peak, Usable: 80, Evidence: engine.Evidence{ErrorBand: c.band}}
		if m.Close() != c.want {
			t.Errorf("a peak of %v of 80, within %v: %t", c.peak, c.band, !c.want)
		}
	}
}
