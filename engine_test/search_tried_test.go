package engine_test

import (
	"slices"
	"testing"

	"meshscope/engine/search"
	"meshscope/presets"
)

// TestTriedIsWhatIsSearched: searching the listed values and searching freely is
// the same; leaving out the value of the best layout is not.
func TestTriedIsWhatIsSearched(t *testing.T) {
	p := search.Problem{Setup: presets.DefaultSetup(), Top: 1}
	p.Setup.GPUs, p.Setup.GBS = 32, 64
	free := search.Run(t.Context(), p, nil)
	listed := p
	listed.Space = search.Tried(p)
	if all := search.Run(t.Context(), listed, nil); all.Best[0].Setup != free.Best[0].Setup {
		t.Errorf("the listed values give %+v, all of them %+v", all.Best[0].Setup.Layout, free.Best[0].Setup.Layout)
	}
	best := free.Best[0].Setup
	for _, field := range []struct {
		name  string
		list  []int
		value int
	}{
		{"tp", listed.Space.TP, best.TP},
		{"pp", listed.Space.PP, best.PP},
		{"vpp", listed.Space.VPP, best.VPP},
		{"cp", listed.Space.CP, best.CP},
		{"ep", listed.Space.EP, best.EP},
		{"zero", listed.Space.ZeRO, best.ZeRO},
		{"mbs", listed.Space.MBS, best.MBS},
	} {
		if !slices.Contains(field.list, field.value) || !slices.IsSorted(field.list) || len(slices.Compact(slices.Clone(field.list))) != len(field.list) {
			t.Errorf("%s: %v, the best has %d", field.name, field.list, field.value)
		}
	}
}
