package overlay

import (
	"strings"
	"testing"

	"meshscope/ui/widget"
)

// TestHintsAreWhole: a foot has whole keys at every width, the last of them always, and a list is as wide as
// its foot where the screen is.
func TestHintsAreWhole(t *testing.T) {
	g := widget.NewGlyphs(true)
	parts := []string{"type 2T for the tokens, $2.5 for the price", "enter explains a figure or edits a value", "esc closes"}
	hint := Hint(g, parts...)
	for w := 12; w < 120; w++ {
		text := fitted(hint, w, g)
		if widget.Width(text) > w || !strings.HasSuffix(text, "esc closes") {
			t.Fatalf("%d cells: %q", w, text)
		}
		for _, part := range strings.Split(text, Hint(g, "", "")) {
			if !strings.Contains(hint, part) {
				t.Errorf("%d cells: %q is cut", w, part)
			}
		}
	}
	p := NewPicker("LIST", hint, []Item{{Title: "one"}}, 0)
	if p.wide(200) < widget.Width(hint)+2 || p.wide(60) > 60 {
		t.Errorf("the box is %d and %d wide", p.wide(200), p.wide(60))
	}
}
