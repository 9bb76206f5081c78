package state

import (
	"testing"

	"meshscope/presets"
)

// The history keeps at least so many moves, and never much more.
func TestHistoryIsBounded(t *testing.T) {
	s := New(presets.DefaultSetup(), "", true)
	first := s.Setup
	for i := range 5 * moves {
		next := s.Setup
		next.Seq = 128 * (i + 2)
		s = s.move(next, s.Locks, "")
		if n := counted(s.past); n > 2*moves || n != s.Past() || n < min(i+1, moves) {
			t.Fatalf("after %d moves %d can be undone", i+1, n)
		}
	}
	for i := 5 * moves; s.past != nil; i-- {
		if s.Setup.Seq != 128*(i+1) {
			t.Fatalf("sequence %d after undoing to move %d", s.Setup.Seq, i)
		}
		s = s.undo()
	}
	if s.Setup == first {
		t.Error("nothing was left behind")
	}
}

// counted is how many moments there are.
func counted(m *moment) (n int) {
	for ; m != nil; m = m.next {
		n++
	}
	return n
}
