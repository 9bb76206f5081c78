package overlay

import (
	"slices"
	"testing"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/presets/words"
	"meshscope/report"
	"meshscope/ui/screen/screentest"
	"meshscope/ui/widget"
)

// TestStudies: every card that a word names is there, every card has a word, and its lines have room
// in a window of 80 columns and need nothing but ASCII where there is nothing else.
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
	if want := slices.Sorted(slices.Values(report.CardNames())); !slices.Equal(named, want) {
		t.Errorf("words have the cards %v, there are %v", named, want)
	}
}
