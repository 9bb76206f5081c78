package pipeline

import (
	"fmt"

	"meshscope/engine/schedule"
)

// why says why a gap is there: where the result that ends it comes from, back to
// the start of the step or to the rank that had other work to do.
func (v *View) why(s *spot) string {
	o := s.line.Order
	when := span(s.from, s.to) + "  "
	if s.last {
		text := when + "after its last operation; the step ends with "
		for r := range s.line.Ranks {
			if s.line.Ranks[r].Last >= s.line.Makespan && o.Start[r+1] > o.Start[r] {
				return text + longName(o, schedule.Place{Rank: r, Op: o.Start[r+1] - 1})
			}
		}
		return text + "another rank"
	}
	next := opName(o.Ops[s.op])
	b, ok := s.line.Binding(s.place())
	if !ok {
		return when + "before " + next
	}
	if b.Rank == s.rank {
		return when + "between two of its own operations"
	}
	if s.line.End[b.Op] <= s.from {
		return when + fmt.Sprintf("%s waits for %s, which is in transit", next, longName(o, b))
	}
	c, ok := s.line.Cause(s.place())
	if !ok {
		return when + fmt.Sprintf("%s waits for %s", next, longName(o, b))
	}
	return when + next + " waits for " + root(s, &c)
}

// root returns where a wait comes from, as one half of a sentence.
func root(s *spot, c *schedule.Cause) string {
	o := s.line.Order
	first, last := c.Path[0], c.Path[len(c.Path)-1]
	op := o.Ops[first.Op]
	what := fmt.Sprintf("micro-batch %d", op.MicroBatch())
	if op.MicroBatch() == 0 {
		what = "the first micro-batch"
	}
	back := op.Kind() == schedule.Forward && o.Ops[last.Op].Kind() != schedule.Forward
	turn := first.Rank
	for _, p := range c.Path {
		if o.Ops[p.Op].Kind() == schedule.Forward {
			turn = p.Rank
		}
	}
	switch {
	case c.First && back:
		return fmt.Sprintf("%s, which must reach rank %d and return", what, turn)
	case c.First && first.Rank == s.rank: // for a later chunk of the same rank
		return fmt.Sprintf("%s, which must pass rank %d first", what, farthest(c.Path, s.rank))
	case c.First:
		return fmt.Sprintf("%s from rank %d", what, first.Rank)
	case len(c.Path) == 1:
		return longName(o, first) + ", " + unbroken(s, first.Rank, c.Since)
	case back && first.Rank != turn:
		return fmt.Sprintf("%s, which left rank %d at %s, goes to rank %d and returns; rank %[2]d %s",
			what, first.Rank, seconds(s.line.End[first.Op]), turn,
			unbroken(s, first.Rank, c.Since)[len("which "):])
	}
	return fmt.Sprintf("%s from rank %d, %s", what, first.Rank, unbroken(s, first.Rank, c.Since))
}

// farthest returns the rank on a path that is farthest from one.
func farthest(path []schedule.Place, from int) int {
	far := from
	for _, p := range path {
		if max(p.Rank-from, from-p.Rank) > max(far-from, from-far) {
			far = p.Rank
		}
	}
	return far
}

// unbroken says that a rank had no pause, and how much it has to do compared
// with the one that waits.
func unbroken(s *spot, rank int, since float64) string {
	text := "which has been busy since " + seconds(since)
	if since <= 0 {
		text = "which has been busy since the start"
	}
	f, b := s.line.PerMicroBatch(rank)
	own, ours := s.line.PerMicroBatch(s.rank)
	if theirs, mine := f+b, own+ours; theirs > mine*1.005 {
		text += fmt.Sprintf(": it takes %s per micro-batch, rank %d %s", seconds(theirs), s.rank,
			seconds(mine))
	}
	return text
}
