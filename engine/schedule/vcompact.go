package schedule

// compact moves operations to earlier free slots where the pipeline fills (only
// with weight gradients in slots of their own) and where it drains, without
// raising the peak of activations of the worst rank. The steady part stays.
func (v *vPlan) compact(withWeights bool) {
	v.draw()
	ranks := make([]vMemory, v.p)
	v.limit = 0
	for j := range v.p {
		ranks[j] = vMemory{row: append([]int32(nil), v.grid[j]...), implicit: !withWeights}
		v.limit = max(v.limit, ranks[j].count())
	}
	phase := 0 // filling, steady, draining
	v.inTurn(func(slot, j, t, mb int) {
		if t == vI0 && j == 0 && phase == 0 {
			phase = 1
		}
		if phase == 1 {
			if t == vF0 && mb == v.m-1 {
				phase = 2
			}
			return
		}
		if phase == 0 && !withWeights {
			return
		}
		if to := ranks[j].earliest(v.ready(j, t, mb), slot, v.limit); to < slot {
			v.slots[j][t][mb] = to
		}
	})
}

// vMemory is one rank's slots with the chunk activations alive after each.
type vMemory struct {
	row      []int32 // as vPlan.grid
	implicit bool    // weight gradients run in whatever slot is idle
	live     []int   // chunk activations after the slot
	waiting  []int   // weight gradients put off after the slot; implicit only
}

// effect returns what a slot does to the activations alive and to the weight
// gradients that wait, given how many do.
func (r *vMemory) effect(c int32, waiting int) (live, put int) {
	switch t := int(c-1) & 7; {
	case c == 0 && r.implicit && waiting > 0:
		return -1, -1
	case c == 0:
		return 0, 0
	case t == vF0 || t == vF1:
		return 1, 0
	case t == vW:
		return -1, 0
	case r.implicit:
		return 0, 1
	}
	return 0, 0
}

// count fills live and waiting and returns the peak.
func (r *vMemory) count() int {
	r.live, r.waiting = make([]int, len(r.row)), make([]int, len(r.row))
	live, waiting, peak := 0, 0, 0
	for at, c := range r.row {
		l, w := r.effect(c, waiting)
		live, waiting = live+l, waiting+w
		r.live[at], r.waiting[at] = live, waiting
		peak = max(peak, live)
	}
	return peak
}

// earliest moves what is in a slot to the first free one from the given slot on
// that keeps the limit, and returns it; the slot itself when there is none.
func (r *vMemory) earliest(from, slot, limit int) int {
	for to := from; to < slot; to++ {
		if r.row[to] == 0 && r.move(slot, to, limit) {
			return to
		}
	}
	return slot
}

// move swaps a slot with a free earlier one if the activations alive never
// exceed the limit.
func (r *vMemory) move(slot, to, limit int) bool {
	r.row[to], r.row[slot] = r.row[slot], 0
	if r.recount(to, slot, limit, false) {
		r.recount(to, slot, limit, true)
		return true
	}
	r.row[slot], r.row[to] = r.row[to], 0
	return false
}

// recount follows the activations from a slot until nothing differs any more
// behind the last changed one; with write it keeps them.
func (r *vMemory) recount(from, changed, limit int, write bool) bool {
	live, waiting := 0, 0
	if from > 0 {
		live, waiting = r.live[from-1], r.waiting[from-1]
	}
	for at := from; at < len(r.row); at++ {
		l, w := r.effect(r.row[at], waiting)
		live, waiting = live+l, waiting+w
		if at > changed && live == r.live[at] && waiting == r.waiting[at] {
			return true
		}
		if live > limit {
			return false
		}
		if write {
			r.live[at], r.waiting[at] = live, waiting
		}
	}
	return true
}
