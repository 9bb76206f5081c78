package screentest

import (
	"slices"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"meshscope/themes"
)

// TestColours: a colour is found where the terminal does not have it, attributes are
// none.
func TestColours(t *testing.T) {
	for _, test := range []struct {
		frame string
		least colorprofile.Profile
	}{
		{"a\x1b[mb", colorprofile.ASCII},
		{"\x1b[1;2;3;4;7mb\x1b[0m", colorprofile.ASCII},
		{"\x1b[31ma", colorprofile.ANSI},
		{"\x1b[1;97ma", colorprofile.ANSI},
		{"\x1b[4;104ma", colorprofile.ANSI},
		{"\x1b[38;5;1ma", colorprofile.ANSI256},
		{"\x1b[48:5:200;1ma", colorprofile.ANSI256},
		{"\x1b[38;2;1;2;3ma", colorprofile.TrueColor},
	} {
		for _, profile := range []colorprofile.Profile{
			colorprofile.ASCII, colorprofile.ANSI,
			colorprofile.ANSI256,
		} {
			if err := Colours(test.frame, profile); (err == nil) != (profile >= test.least) {
				t.Errorf("%q on %v: %v", test.frame, profile, err)
			}
		}
	}
	if ASCII("a b~\n") != nil || ASCII("é") == nil || ASCII("\x1b") == nil {
		t.Error("what is ASCII is not seen")
	}
}

// TestPainted finds what is written in a paint.
func TestPainted(t *testing.T) {
	p, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	theme := p.Resolve(colorprofile.ANSI256)
	bad, good := theme.Paint(themes.Bad), theme.Paint(themes.Good)
	lines := []string{
		"x" + bad.Render("a ") + good.Render("b") + bad.Render("c"), bad.Render(" "),
		bad.Render("d"),
	}
	if got := Painted(lines, bad); !slices.Equal(got, []string{"a", "c", "d"}) {
		t.Errorf("%q", got)
	}
}
