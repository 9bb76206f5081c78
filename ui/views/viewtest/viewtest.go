// Package viewtest is what the tests of all screens share. No program links it.
package viewtest

import (
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/ui/widget"
)

// Screen is what a screen offers for its own Input.
type Screen[I any] interface {
	HandleKey(in I, w, h int, key string) (bool, widget.Request[engine.Setup])
	HandleMouse(in I, w, h int, x, y int, button string) (bool, widget.Request[engine.Setup])
	Render(in I, w, h int) []string
	Hints(in I) []widget.Hint
	Status(in I, w int) string
}

// Play presses some of the keys and clicks anywhere, each time at another size. Every
// frame must have exactly its size, the status must have room, and a setup that a key
// asks for must say where it comes from.
func Play[I any](r *rapid.T, in I, v Screen[I], keys []string) {
	buttons := []string{"left", "wheelup", "wheeldown"}
	for range rapid.IntRange(0, 8).Draw(r, "presses") {
		w, h := rapid.IntRange(0, 40).Draw(r, "w"), rapid.IntRange(0, 12).Draw(r, "h")
		if rapid.Bool().Draw(r, "large") {
			w, h = 5*w, 5*h
		}
		_, do := v.HandleKey(in, w, h, rapid.SampledFrom(keys).Draw(r, "key"))
		noted(r, do)
		_, do = v.HandleMouse(in, w, h, rapid.IntRange(-1, 200).Draw(r, "x"), rapid.IntRange(-1, 60).Draw(r, "y"), rapid.SampledFrom(buttons).Draw(r, "button"))
		noted(r, do)
		lines := v.Render(in, w, h)
		if len(lines) != h {
			r.Fatalf("%d lines at %dx%d", len(lines), w, h)
		}
		for i, l := range lines {
			if ansi.StringWidth(l) != w {
				r.Fatalf("line %d is %d cells wide at %dx%d: %q", i, ansi.StringWidth(l), w, h, l)
			}
		}
		if s := v.Status(in, w); ansi.StringWidth(s) > w {
			r.Fatalf("status %q is wider than %d", s, w)
		}
		v.Hints(in)
	}
}

func noted(r *rapid.T, do widget.Request[engine.Setup]) {
	if do.Setup != nil && do.Text == "" {
		r.Fatal("a setup without a note")
	}
}
