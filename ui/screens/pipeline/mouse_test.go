package pipeline

import (
	"math"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"pgregory.net/rapid"

	"meshscope/engine/schedule"
	"meshscope/engine_test/draws"
)

// TestMouseOnTheTimeline: a click puts the cursor on what is drawn there, the wheel
// zooms about the pointer, and a click on the overview moves the window there.
func TestMouseOnTheTimeline(t *testing.T) {
	in := input(t, colorprofile.ANSI256, spec(schedule.ZBH1, 8, 1, 40))
	const w, h = 120, 40
	draws.Check(t, func(t *rapid.T) {
		v := &View{}
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			press(v, in, w, h, rapid.SampledFrom([]string{"+", "L", "f", "right", "-"}).Draw(t, "key"))
		}
		v.Render(in.At(w, h))
		l := v.layout(in, w, h)
		b := &l.blocks[0]
		row, col := rapid.IntRange(0, b.lines()-1).Draw(t, "row"), rapid.IntRange(0, l.plot-1).Draw(t, "col")
		x, y := l.label+col, b.top+row*l.per
		moment := l.frame.Time(col)
		v.Mouse(in.At(w, h), x, y, "left")
		s := v.spot(v.layout(in, w, h))
		if want := b.ranks[row]; s.rank != want {
			t.Fatalf("a click on rank %d leads to rank %d", want, s.rank)
		}
		if near := 1e-9 * l.axis.Whole; moment < s.from-near || moment > s.to+near &&
			moment < b.line.Makespan {
			t.Fatalf("a click at %v leads to what runs from %v to %v", moment, s.from, s.to)
		}

		before := l.axis.Place(moment)
		from, to := v.window()
		v.Mouse(in.At(w, h), x, y, "wheelup")
		closer := v.layout(in, w, h)
		left, right := v.window()
		most := max(1, l.axis.PerOp()/2) // where one operation takes up half of the screen
		if wide := to - from; math.Abs((right-left)-max(wide/2, 1/most)) > 1e-9 {
			t.Fatalf("the window was %v wide and is %v", wide, right-left)
		}
		if before < left-1e-9 || before > right+1e-9 {
			t.Fatalf("the place %v of the pointer left the window from %v to %v", before, left, right)
		}
		share, now := (before-from)/(to-from), (before-left)/(right-left)
		if math.Abs(share-now) > 1/float64(l.plot) {
			t.Fatalf("what was at %v of the width is at %v", share, now)
		}
		if v.zoomed() > 1 && closer.overview < 0 {
			t.Fatal("zoomed in and no overview")
		}
		aim := rapid.IntRange(0, closer.plot-1).Draw(t, "aim")
		v.Mouse(in.At(w, h), closer.label+aim, closer.overview, "left")
		after := v.layout(in, w, h)
		place := after.axis.Place((float64(aim) + 0.5) / float64(after.plot) * after.axis.Whole)
		if left, right = v.window(); place < left-1e-9 || place > right+1e-9 {
			t.Fatalf("a click at %v of the overview shows %v to %v", place, left, right)
		}
	})
}
