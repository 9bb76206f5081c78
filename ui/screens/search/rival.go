package search

import (
	"strconv"

	"meshscope/engine"
	find "meshscope/engine/search"
	"meshscope/ui/screen"
)

// Rival returns the layout that the current setup is best compared with, and what it is called: rank 1, or
// where that is the setup itself the best of other degrees; nil: there is none. It is known once a search of
// the same question has ended.
func (v *View) Rival(in *screen.Context) (s *engine.Setup, name string, known bool) {
	if v.answer == nil || in.Setup == nil || v.answer.of.base != base(in.Setup) {
		return nil, "", false
	}
	degrees := func(s *engine.Setup) [4]int { return [4]int{s.TP, s.PP, s.CP, s.EP} }
	own := false
	for i := range v.answer.rows {
		r := &v.answer.rows[i]
		switch {
		case r.Rank == 0:
		case r.Setup == *in.Setup:
			own = own || r.Rank == 1
		case !own:
			name = "rank " + strconv.Itoa(r.Rank) + " of Search"
			if v.answer.forMargin && r.Rank == 1 {
				name += ", " + find.MarginBrief
			}
			return &r.Setup, name, true
		case degrees(&r.Setup) != degrees(in.Setup):
			return &r.Setup, "rank " + strconv.Itoa(r.Rank) + ": best of other degrees", true
		}
	}
	return nil, "", true
}

// Waiting draws how far the search is that Rival waits for; nothing where none runs.
func (v *View) Waiting(in *screen.Context, w int) []string {
	if v.running == nil {
		return nil
	}
	return v.progress(in, w)
}
