package band_test

import (
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine/band"
	"meshscope/engine_test/draws"
)

// TestLensFindsTheSameBands: a lens that met other kinds of setups and another table before
// finds the band that a new one does.
func TestLensFindsTheSameBands(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		var l band.Lens
		tables := []*band.Table{table(t), table(t)}
		for range rapid.IntRange(2, 12).Draw(t, "setups") {
			known, x := rapid.SampledFrom(tables).Draw(t, "table"), traits(t)
			if got, want := l.Of(known, &x), known.Of(&x); got != want {
				t.Fatalf("%+v, a new lens %+v", got, want)
			}
		}
	})
}

// TestNewerReleaseWidensTheBand: one newer than every published one of its stack, dense or
// with experts; one that is not, or that nobody names, leaves the band as it is.
func TestNewerReleaseWidensTheBand(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		known := table(t)
		known.Scales.Newer = 1
		for i := range known.Cells {
			known.Cells[i].Version = "2025.04"
		}
		known.BuildIndex()
		x := known.Cells[0].Traits
		x.Version = ""
		none := known.Of(&x)
		for version, wider := range map[string]bool{"2024.10": false, "2025.04": false, "2025.05": true} {
			x.Version = version
			got := known.Of(&x)
			differs := known.Differences(&x, got.Nearest)[0] == band.Release
			if got.Error < none.Error*(1-1e-9) || !wider && got != none || wider && got.Similar > 0 ||
				differs != wider {
				t.Fatalf("%s: %+v, without %+v", version, got, none)
			}
		}
	})
}
