package lesson

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"meshscope/themes"
	"meshscope/ui/widget"
)

// TestBars: of two votes each has half of the cells and a number; one alone has whole cells and its
// own number, also where it is the second.
func TestBars(t *testing.T) {
	palette, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	theme := palette.Resolve(colorprofile.ANSI256)
	for _, c := range []struct {
		votes  [2][]int
		option int
		want   string
	}{
		{[2][]int{{4, 2}, {2, 4}}, 0, "█████▀▀▀▀▀ 4 → 2"},
		{[2][]int{{4, 2}, {2, 4}}, 1, "█████▄▄▄▄▄ 2 → 4"},
		{[2][]int{{4, 2}, nil}, 1, "█████ 2"},
		{[2][]int{nil, {4, 2}}, 0, "██████████ 4"},
		{[2][]int{nil, {4, 2}}, 1, "█████ 2"},
		{[2][]int{nil, nil}, 0, ""},
	} {
		line := Bars(widget.NewLine(21), theme, widget.NewGlyphs(true), c.votes, c.option).String()
		if got := strings.TrimRight(ansi.Strip(line), " "); got != c.want {
			t.Errorf("%v of %v: %q, want %q", c.option, c.votes, got, c.want)
		}
	}
}
