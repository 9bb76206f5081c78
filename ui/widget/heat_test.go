package widget

import (
	"math"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"meshscope/themes"
)

// TestHeat: larger values never go back to the paint of smaller ones, whatever the
// palette and the colours of the terminal; no value is without a paint.
func TestHeat(t *testing.T) {
	for _, name := range themes.Names() {
		for _, profile := range []colorprofile.Profile{
			colorprofile.ASCII, colorprofile.ANSI,
			colorprofile.ANSI256, colorprofile.TrueColor,
		} {
			p, err := themes.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			theme := p.Resolve(profile)
			var seen []themes.Paint
			for i := -5; i <= 105; i++ {
				paint := Heat(theme, float64(i)/100)
				if len(seen) > 0 && seen[len(seen)-1] == paint {
					continue
				}
				for _, old := range seen {
					if old == paint {
						t.Errorf("%s: the paint of %d %% was there before", name, i)
					}
				}
				seen = append(seen, paint)
			}
			for share, like := range map[float64]float64{math.Inf(-1): 0, math.NaN(): 0, math.Inf(1): 1} {
				if Heat(theme, share) != Heat(theme, like) {
					t.Errorf("%s: a share of %g is not painted as %g", name, share, like)
				}
			}
			if want := 4; theme.Colours && len(seen) != want {
				t.Errorf("%s: %d steps, not %d", name, len(seen), want)
			}
		}
	}
}
