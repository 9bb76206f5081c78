package schedule

import "slices"

// Place is an operation of a timeline: its rank and its index in Order.Ops.
type Place struct{ Rank, Op int }

// Producer returns the operation on another chunk whose result an operation takes:
// for F the forward of the stage before, for B and I the backward of the stage
// after. W, and the ends of the model, take none.
func (o *Order) Producer(at Place) (Place, bool) {
	op := o.Ops[at.Op]
	stage := o.Stage(at.Rank, op)
	switch op.Kind() {
	case Forward:
		return o.result(true, stage-1, op)
	case Backward, InputGradient:
		return o.result(false, stage+1, op)
	case WeightGradient:
	}
	return Place{}, false
}

// Producers returns the producers of all operations, in the order of Ops; an operation
// that takes no result has one whose Op is -1. It takes time proportional to the
// number of operations, where Producer looks through a whole rank for each.
func (o *Order) Producers() []Place {
	stages, m := o.Spec.Stages(), o.Spec.MicroBatches
	slot := func(forward bool, stage, microBatch int) int {
		if stage < 0 || stage >= stages {
			return -1
		}
		if !forward {
			stage += stages
		}
		return stage*m + microBatch
	}
	none := Place{Op: -1}
	made := slices.Repeat([]Place{none}, 2*stages*m) // a micro-batch meets a stage once each way
	for rank := range o.Spec.Ranks {
		for k := o.Start[rank]; k < o.Start[rank+1]; k++ {
			if op := o.Ops[k]; op.Kind() != WeightGradient {
				made[slot(op.Kind() == Forward, o.Stage(rank, op), op.MicroBatch())] = Place{
					Rank: rank,
					Op:   k,
				}
			}
		}
	}
	out := make([]Place, len(o.Ops))
	for rank := range o.Spec.Ranks {
		for k := o.Start[rank]; k < o.Start[rank+1]; k++ {
			op, at := o.Ops[k], -1
			switch stage := o.Stage(rank, op); op.Kind() {
			case Forward:
				at = slot(true, stage-1, op.MicroBatch())
			case Backward, InputGradient:
				at = slot(false, stage+1, op.MicroBatch())
			case WeightGradient:
			}
			if out[k] = none; at >= 0 {
				out[k] = made[at]
			}
		}
	}
	return out
}

// Consumer returns the operation that takes an operation's result: the other way of
// Producer, and for the forward of the last stage the backward that follows it.
func (o *Order) Consumer(at Place) (Place, bool) {
	op := o.Ops[at.Op]
	stage := o.Stage(at.Rank, op)
	switch op.Kind() {
	case Forward:
		if stage == o.Spec.Stages()-1 {
			return o.result(false, stage, op)
		}
		return o.result(true, stage+1, op)
	case Backward, InputGradient:
		return o.result(false, stage-1, op)
	case WeightGradient:
	}
	return Place{}, false
}

// result finds the forward, or the backward or input gradient, of like's
// micro-batch on a stage.
func (o *Order) result(forward bool, stage int, like Op) (Place, bool) {
	if stage < 0 || stage >= o.Spec.Stages() {
		return Place{}, false
	}
	rank := o.Placement.rank(o.Spec.Ranks, stage, like.Chunk())
	for i, op := range o.Rank(rank) {
		if op.MicroBatch() == like.MicroBatch() && op.Kind() != WeightGradient &&
			(op.Kind() == Forward) == forward && o.Stage(rank, op) == stage {
			return Place{Rank: rank, Op: o.Start[rank] + i}, true
		}
	}
	return Place{}, false
}

// Box returns the operation and, where it runs overlapped with another, that one: a
// range of indices of Order.Ops.
func (o *Order) Box(at Place) (first, last int) {
	first, last = at.Op, at.Op
	if o.Ops[at.Op].Paired() && at.Op+1 < o.Start[at.Rank+1] {
		last++
	} else if at.Op > o.Start[at.Rank] && o.Ops[at.Op-1].Paired() {
		first--
	}
	return first, last
}

// Binding returns what an operation's start waited for: the producer whose result
// came last, or the operation before it on its rank where the result was there
// already. An operation that starts the step has none.
func (t *Timeline) Binding(at Place) (Place, bool) {
	o := t.Order
	first, last := o.Box(at)
	before := Place{Rank: at.Rank, Op: first - 1}
	ran := first > o.Start[at.Rank]
	if ran && t.End[before.Op] >= t.Begin[first] {
		return before, true
	}
	found, latest := Place{}, -1.0
	for k := first; k <= last; k++ {
		if p, ok := t.producer(Place{Rank: at.Rank, Op: k}); ok && t.End[p.Op] > latest {
			found, latest = p, t.End[p.Op]
		}
	}
	if latest < 0 && ran {
		return before, true
	}
	return found, latest >= 0
}

// CriticalPath returns the chain of operations that decides how long the step is,
// from its start to its end: each one's binding predecessor is the one before.
// It takes time proportional to the number of operations.
func (t *Timeline) CriticalPath() []Place {
	o := t.Order
	at, found := Place{}, false
	for rank := range o.Spec.Ranks {
		if k := o.Start[rank+1] - 1; k >= o.Start[rank] && (!found || t.End[k] > t.End[at.Op]) {
			at, found = Place{Rank: rank, Op: k}, true
		}
	}
	var path []Place
	for found && len(path) < len(o.Ops) {
		path = append(path, at)
		at, found = t.Binding(at)
	}
	for i, j := 0, len(path)-1; i < j; i, j = i+1, j-1 {
		path[i], path[j] = path[j], path[i]
	}
	return path
}

// producer is Order.Producer, which looks through a whole rank. It begins at the
// moment when the operation starts and goes back: where that had to wait for the
// result, it was made just before.
func (t *Timeline) producer(at Place) (Place, bool) {
	op, stage := t.Order.Ops[at.Op], t.Order.Stage(at.Rank, t.Order.Ops[at.Op])
	switch op.Kind() {
	case Forward:
		return t.result(true, stage-1, op, t.Begin[at.Op])
	case Backward, InputGradient:
		return t.result(false, stage+1, op, t.Begin[at.Op])
	case WeightGradient:
	}
	return Place{}, false
}

// input returns the producer, and for the backward of the last stage the forward
// that it follows.
func (t *Timeline) input(at Place) (Place, bool) {
	op := t.Order.Ops[at.Op]
	last := t.Order.Spec.Stages() - 1
	if op.Kind() != Forward && op.Kind() != WeightGradient && t.Order.Stage(at.Rank, op) == last {
		return t.result(true, last, op, t.Begin[at.Op])
	}
	return t.producer(at)
}

// result is Order.result for one that was there at a moment.
func (t *Timeline) result(forward bool, stage int, like Op, by float64) (Place, bool) {
	o := t.Order
	if stage < 0 || stage >= o.Spec.Stages() {
		return Place{}, false
	}
	rank := o.Placement.rank(o.Spec.Ranks, stage, like.Chunk())
	ended, _ := t.Running(rank, by)
	for k := ended - 1; k >= o.Start[rank]; k-- {
		op := o.Ops[k]
		if op.MicroBatch() == like.MicroBatch() && op.Kind() != WeightGradient &&
			(op.Kind() == Forward) == forward && o.Stage(rank, op) == stage {
			return Place{Rank: rank, Op: k}, true
		}
	}
	return Place{}, false
}

// Running returns the operation that a rank runs at a moment, the first half of a
// pair, or false and the index of the next one (Start[rank+1]: none).
func (t *Timeline) Running(rank int, at float64) (int, bool) {
	lo, hi := t.Order.Start[rank], t.Order.Start[rank+1]
	for lo < hi {
		mid := (lo + hi) / 2
		if t.End[mid] > at {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if lo == t.Order.Start[rank+1] {
		return lo, false
	}
	return lo, t.Begin[lo] <= at
}

// InFlight returns how many chunk activations a rank holds at a moment, each from the
// start of its F to the end of its B (or W).
func (t *Timeline) InFlight(rank int, at float64) int {
	live := 0
	for k := t.Order.Start[rank]; k < t.Order.Start[rank+1] && t.Begin[k] <= at; k++ {
		switch t.Order.Ops[k].Kind() {
		case Forward:
			live++
		case Backward, WeightGradient:
			if t.End[k] <= at {
				live--
			}
		case InputGradient:
		}
	}
	return live
}
