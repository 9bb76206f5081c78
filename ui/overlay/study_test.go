package overlay

import (
	"slices"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/presets"
	"meshscope/presets/words"
	"meshscope/report"
	"meshscope/ui/screen/screentest"
	"meshscope/ui/widget"
)

// TestStudies: every card that a word names is there, every card has a word, and its lines have room
// in a window of 80 columns and need nothing but ASCII where there is nothing else; kinds of layers are
// those of a hybrid.
func TestStudies(t *testing.T) {
	all, err := words.Glossary()
	if err != nil {
		t.Fatal(err)
	}
	moe, err := presets.Default().Model("deepseek-v2-lite")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for i := range all {
		name := all[i].Card
		if name == "" {
			continue
		}
		named = append(named, name)
		s := presets.DefaultSetup()
		if name == "load" {
			s.Model, s.TP, s.PP, s.VPP, s.EP, s.DP, s.SP, s.Imbalance, s.MicroBatches = moe, 1, 1, 1, 8, 64,
				false, 150, 8
		}
		if name == "kinds" {
			s = hybridSetup(t)
		}
		c, ok := report.NewCard(name, &s)
		if !ok {
			t.Errorf("%s: no card %s: %v", all[i].Term, name, engine.Evaluate(s).Problems)
			continue
		}
		for _, unicode := range []bool{true, false} {
			for _, p := range Study(&c, widget.NewGlyphs(unicode)) {
				if w := widget.Width(p.Text); p.Plain && w > textRoom(80) {
					t.Errorf("%s: %d cells: %s", name, w, p.Text)
				}
				if err := screentest.ASCII(p.Text); err != nil && !unicode {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	slices.Sort(named)
	want := slices.Sorted(slices.Values(report.CardNames()))
	if named = slices.Compact(named); !slices.Equal(named, want) {
		t.Errorf("words have the cards %v, there are %v", named, want)
	}
}

// hybridSetup returns one of DeepSeek-V4, whose kinds have the longest names.
func hybridSetup(t *testing.T) engine.Setup {
	t.Helper()
	s := presets.DefaultSetup()
	m, err := presets.Default().Model("deepseek-v4-flash")
	if err != nil {
		t.Fatal(err)
	}
	given := knob.Given{knob.GPUs: 64, knob.EP: 64, knob.Seq: 4096}
	if s, err = knob.DraftOf(m, s.Cluster, given).Resolve(); err != nil {
		t.Fatal(err)
	}
	return s
}
