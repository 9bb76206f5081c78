package compare

import (
	"meshscope/engine"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Ranking is the Search screen, as far as a comparison with its first rank needs it.
type Ranking interface {
	// Rival returns the layout that the current setup is best compared with; known: the search has ended.
	Rival(c *screen.Context) (s *engine.Setup, name string, known bool)
	Refresh(c *screen.Context) screen.Request
	Waiting(c *screen.Context, w int) []string
	Playing() bool
}

// rival is what the current setup stands next to while nothing else is pinned.
type rival struct {
	of    engine.Setup  // the current setup that it was found for
	setup *engine.Setup // nil: there is none
	name  string
}

// alonePinned reports whether no pin differs from the current setup, so that Search gives the other side.
func (v *View) alonePinned(in *screen.Context) bool {
	return len(v.pins) == 0 || len(v.pins) == 1 && v.pins[0] == *in.Setup
}

// against reports whether the current setup stands next to its rival.
func (v *View) against(in *screen.Context) bool { return v.alonePinned(in) && v.rivalOf(in) != nil }

// waits reports whether a rival is still searched for.
func (v *View) waits(in *screen.Context) bool { return v.Ranking != nil && v.rival.of != *in.Setup }

// refreshRival takes the rival of the current setup from the search, or asks for that search.
func (v *View) refreshRival(in *screen.Context) screen.Request {
	if v.Ranking == nil || v.rival.of == *in.Setup {
		return screen.Request{}
	}
	r := v.Ranking()
	s, name, known := r.Rival(in)
	if !known {
		return r.Refresh(in)
	}
	v.rival = rival{of: *in.Setup, name: name}
	if s != nil {
		found := *s
		v.rival.setup = &found
	}
	return screen.Request{}
}

// rivalOf returns the rival of the current setup; nil: none, or none yet.
func (v *View) rivalOf(in *screen.Context) *engine.Setup {
	if v.rival.of != *in.Setup {
		return nil
	}
	return v.rival.setup
}

// Playing reports whether the search for a rival moves.
func (v *View) Playing() bool {
	return v.pane == pairPane && v.Ranking != nil && v.Ranking().Playing()
}

// Tick is called while Playing: what a search reports is read where it is drawn.
func (v *View) Tick() bool { return v.Playing() }

// unpinned says what the screen waits for, or how to begin.
func (v *View) unpinned(in *screen.Context, w, h int) []string {
	lines := []string{widget.Blank(w)}
	say := func(texts ...string) {
		for _, text := range texts {
			for _, line := range widget.Wrap(text, min(w-2, 90)) {
				lines = append(lines, putLine(in, w, themes.Text, "  "+line))
			}
			lines = append(lines, widget.Blank(w))
		}
	}
	if v.rival.of == *in.Setup {
		say("Search finds no layout to compare yours with.")
	} else {
		say("Searching for the best layout of this model on these GPUs, to compare yours with.")
		if v.Ranking != nil {
			if waiting := v.Ranking().Waiting(in, w); len(waiting) > 0 {
				lines = append(append(lines, waiting...), widget.Blank(w))
			}
		}
	}
	say("p pins the current setup, on any screen; the next change is then compared with it, term by term.",
		"v shows each method of parallelism alone, and what each cuts and costs now:")
	return widget.Height(append(lines, v.matrix(in, w, max(h-len(lines), 0))...), w, h)
}
