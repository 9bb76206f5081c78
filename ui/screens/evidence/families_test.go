package evidence

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/presets/published"
	"meshscope/ui/screen"
)

// nearestAreThoseOfTheBand: the runs that are called nearest are as many as the error band
// says, of the group that it names and as far off; a setup without a band has none.
func nearestAreThoseOfTheBand(t *testing.T, v *View, in *screen.Context) {
	t.Helper()
	setups := []engine.Setup{presets.DefaultSetup()}
	for g := 0; g < len(v.data.groups); g += 3 {
		for k := range v.data.groups[g].Runs[:min(1, len(v.data.groups[g].Runs))] {
			setups = append(setups, v.data.groups[g].Runs[k].Setup)
		}
	}
	for i := range setups {
		r := engine.Evaluate(setups[i])
		in.Setup, in.Report = &setups[i], &r
		for _, v.memory = range []bool{false, true} {
			want := r.Time.Evidence
			if v.memory {
				want = r.Memory.Evidence
			}
			off, near := 0.0, v.nearest(in)
			for _, n := range near {
				off += max(v.data.rows[n].Predicted/v.data.rows[n].Measured,
					v.data.rows[n].Measured/v.data.rows[n].Predicted) - 1
			}
			if len(near) != want.Nearest.Runs ||
				math.Abs(off/float64(max(len(near), 1))-want.Nearest.Off) > 1e-3 {
				t.Errorf("setup %d: %d runs, %.4f off; the band has %+v", i, len(near),
					off/float64(len(near)), want.Nearest)
			}
			if line := v.nearestLine(in, 400); !strings.Contains(line, want.Nearest.Title) ||
				!strings.Contains(line, want.Nearest.Example) {
				t.Errorf("setup %d: %q", i, line)
			}
		}
	}
	in.Report, v.memory = nil, false
	if len(v.nearest(in)) > 0 {
		t.Error("no prediction, and yet runs near it")
	}
}

// TestFamilies: sources of several groups have a line of their own, which lists their
// runs and says how many published ones are left out; so does the line of a group.
func TestFamilies(t *testing.T) {
	groups, err := published.Groups(presets.Default())
	if err != nil {
		t.Fatal(err)
	}
	v := View{data: compare(t.Context(), groups)}
	in := input(t, colorprofile.TrueColor, true)
	in.W = 400
	list := v.listed()
	for _, f := range published.Families() {
		at := slices.IndexFunc(list, func(r result) bool { return r.Name == f.Name })
		if at < 0 {
			t.Fatalf("no line of %s", f.Name)
		}
		v.choose(list, at)
		rows := v.shown()
		if len(rows) != list[at].Rows || len(rows) == 0 || !(list[at].Median > 0) {
			t.Errorf("%s: %d runs, %+v", f.Name, len(rows), list[at].Result)
		}
		for _, i := range rows {
			if !f.Has(v.data.rows[i].Group) {
				t.Errorf("%s lists %s", f.Name, v.data.rows[i].ID)
			}
		}
		if got := v.Status(in); f.Name == "Megatron-Bridge" &&
			!strings.Contains(got, "9 published runs left out") {
			t.Errorf("%s: %q", f.Name, got)
		}
	}
	for id, want := range map[string]string{
		"mbridge-nemotron3-super": "8 published runs left out (in NVFP4 their recipes set formats by " +
			"matrix, which have no setup)",
		"megascale": "recomputation of 12 runs unknown, taken as none",
	} {
		v.choose(list, slices.IndexFunc(list, func(r result) bool { return r.Name == id }))
		if got := v.Status(in); !strings.Contains(got, want) {
			t.Errorf("%s: %q", id, got)
		}
	}
	nearestAreThoseOfTheBand(t, &v, in)
}
