// Package screentest holds helpers of the tests of all screens. No program links it.
package screentest

import (
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"meshscope/ui/screen"
)

// Play presses some of the keys and clicks anywhere, each time at another size. Every
// frame must have exactly its size, the status must have room, and a setup that a key
// asks for must say where it comes from.
func Play(r *rapid.T, in *screen.Context, v screen.Screen, keys []string) {
	buttons := []string{"left", "wheelup", "wheeldown"}
	for range rapid.IntRange(0, 8).Draw(r, "presses") {
		w, h := rapid.IntRange(0, 40).Draw(r, "w"), rapid.IntRange(0, 12).Draw(r, "h")
		if rapid.Bool().Draw(r, "large") {
			w, h = 5*w, 5*h
		}
		at := in.At(w, h)
		_, do := screen.Press(v, at, rapid.SampledFrom(keys).Draw(r, "key"))
		noted(r, do)
		_, do = v.Mouse(at, rapid.IntRange(-1, 200).Draw(r, "x"), rapid.IntRange(-1, 60).Draw(r, "y"),
			rapid.SampledFrom(buttons).Draw(r, "button"))
		noted(r, do)
		lines := v.Render(at)
		if len(lines) != h {
			r.Fatalf("%d lines at %dx%d", len(lines), w, h)
		}
		for i, l := range lines {
			if ansi.StringWidth(l) != w {
				r.Fatalf("line %d is %d cells wide at %dx%d: %q", i, ansi.StringWidth(l), w, h, l)
			}
		}
		if s := v.Status(at); ansi.StringWidth(s) > w {
			r.Fatalf("status %q is wider than %d", s, w)
		}
		screen.Hints(v, at)
		screen.Listed(v.Keys(at))
	}
}

func noted(r *rapid.T, do screen.Request) {
	if do.Setup != nil && do.Text == "" {
		r.Fatal("a setup without a note")
	}
}
