package evidence

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"meshscope/presets"
	"meshscope/presets/published"
)

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
		if got := v.Status(in); f.Name == "Megatron-Bridge" && !strings.Contains(got, "30 published runs left out") {
			t.Errorf("%s: %q", f.Name, got)
		}
	}
	for id, want := range map[string]string{
		"mbridge-26.02.01": "4 published runs left out (no facts about the model Nemotron_3_Nano)",
		"megascale":        "recomputation of 12 runs unknown, taken as none",
	} {
		v.choose(list, slices.IndexFunc(list, func(r result) bool { return r.Name == id }))
		if got := v.Status(in); !strings.Contains(got, want) {
			t.Errorf("%s: %q", id, got)
		}
	}
}
