package engine_test

import (
	"strconv"

	"pgregory.net/rapid"

	"meshscope/engine/schedule"
)

// checkComplete: every stage runs each micro-batch forward once, and back once,
// whole or in two parts.
func checkComplete(t *rapid.T, o *schedule.Order) {
	type place struct{ stage, mb int }
	var ran [4]map[place]int
	for kind := range ran {
		ran[kind] = map[place]int{}
	}
	for r := range o.Spec.Ranks {
		counted := 0
		for _, op := range o.Rank(r) {
			ran[op.Kind()][place{o.Stage(r, op), op.MicroBatch()}]++
		}
		for c := range o.Chunks() {
			for _, kind := range []schedule.OpKind{
				schedule.Forward, schedule.Backward,
				schedule.InputGradient, schedule.WeightGradient,
			} {
				counted += o.Count(r, c, kind)
			}
		}
		if counted != len(o.Rank(r)) {
			t.Fatalf("%+v rank %d: counts add up to %d of %d operations", o.Spec, r, counted, len(o.Rank(r)))
		}
	}
	for stage := range o.Spec.Stages() {
		for mb := range o.Spec.MicroBatches {
			at := place{stage, mb}
			f, b, i, w := ran[schedule.Forward][at], ran[schedule.Backward][at],
				ran[schedule.InputGradient][at], ran[schedule.WeightGradient][at]
			if f != 1 || b+i != 1 || i != w {
				t.Fatalf("%+v: stage %d, micro-batch %d: F %d times, B %d, I %d, W %d", o.Spec, stage, mb, f,
					b, i, w)
			}
		}
	}
}

// checkTimeline checks what holds for every timeline.
func checkTimeline(t *rapid.T, tl *schedule.Timeline, p2p float64) {
	o := tl.Order
	ends := map[string]float64{}
	text := func(stage int, kind schedule.OpKind, mb int) string {
		return strconv.Itoa(stage) + kind.String() + strconv.Itoa(mb)
	}
	for r := range o.Spec.Ranks {
		for k := o.Start[r]; k < o.Start[r+1]; k++ {
			ends[o.Text(r, o.Ops[k])] = tl.End[k]
		}
	}
	for r, st := range tl.Ranks {
		for k := o.Start[r]; k < o.Start[r+1]; k++ {
			op := o.Ops[k]
			stage, mb := o.Stage(r, op), op.MicroBatch()
			if second := k > o.Start[r] && o.Ops[k-1].Paired(); second {
				if tl.Begin[k] != tl.Begin[k-1] || tl.End[k] != tl.End[k-1] {
					t.Fatalf("rank %d: the halves of the pair at %s differ", r, op)
				}
			} else if k > o.Start[r] && tl.Begin[k] < tl.End[k-1] {
				t.Fatalf("rank %d: %s starts before the one before it ends", r, op)
			}
			for _, need := range needs(o, stage, op.Kind()) {
				ready, ok := ends[text(need.stage, need.kind, mb)]
				if !ok {
					continue // the other way of running a backward
				}
				if o.Placement.Host(o.Spec.Ranks, need.stage, op.Chunk()) != r {
					ready += p2p
				}
				if tl.Begin[k] < ready*(1-1e-12) {
					t.Fatalf("rank %d: %s at %v starts before what it needs of stage %d at %v", r,
						o.Text(r, op), tl.Begin[k], need.stage, ready)
				}
			}
		}
		if st.Idle < 0 || !scheduleNear(st.Busy+st.Idle, tl.Makespan) || st.PeakInFlight < 1 ||
			st.PeakInFlight != o.PeakInFlight(r) {
			t.Fatalf("rank %d: %+v of %v", r, st, tl.Makespan)
		}
		checkMemory(t, tl, r)
	}
	if b := tl.BubbleOverTotal(); b < 0 || b >= 1 || tl.BubbleOverIdeal() < 0 {
		t.Fatalf("bubble %v of the total, %v of the ideal", b, tl.BubbleOverIdeal())
	}
}

// need is an operation on the same micro-batch that must have ended.
type need struct {
	stage int
	kind  schedule.OpKind
}

// needs are the dependencies of schedules.md section 1.3. A backward is run
// whole or split: of both ways only one exists.
func needs(o *schedule.Order, stage int, kind schedule.OpKind) []need {
	switch kind {
	case schedule.Forward:
		if stage > 0 {
			return []need{{stage - 1, schedule.Forward}}
		}
	case schedule.WeightGradient:
		return []need{{stage, schedule.InputGradient}}
	case schedule.Backward, schedule.InputGradient:
		list := []need{{stage, schedule.Forward}}
		if stage < o.Spec.Stages()-1 {
			list = append(list, need{stage + 1, schedule.Backward}, need{stage + 1, schedule.InputGradient})
		}
		return list
	}
	return nil
}

// checkMemory: with every activation counted 1 until W the bytes are the counts,
// and the curve over time has its peak there and ends empty.
func checkMemory(t *rapid.T, tl *schedule.Timeline, r int) {
	o, st := tl.Order, tl.Ranks[r]
	whole, inputs := make([]schedule.ChunkBytes, o.Chunks()), make([]schedule.ChunkBytes, o.Chunks())
	for c := range whole {
		whole[c] = schedule.ChunkBytes{Activation: 1, WeightInputs: 1}
		inputs[c] = schedule.ChunkBytes{Activation: 1}
	}
	if got := o.PeakBytes(r, whole).Bytes; got != float64(st.PeakInFlight) {
		t.Fatalf("rank %d: peak %v with bytes of one, %d counted", r, got, st.PeakInFlight)
	}
	if got := o.PeakBytes(r, inputs).Bytes; got != float64(st.PeakUntilInput) {
		t.Fatalf("rank %d: peak %v until the input gradient, %d counted", r, got, st.PeakUntilInput)
	}
	curve := tl.Memory(nil, r, whole)
	top := 0.0
	for i, s := range curve {
		top = max(top, s.Activations+s.WeightInputs)
		if i > 0 && s.Time <= curve[i-1].Time {
			t.Fatalf("rank %d: the curve goes back in time at %v", r, s.Time)
		}
	}
	if last := curve[len(curve)-1]; top != float64(st.PeakInFlight) || last.Activations != 0 ||
		last.WeightInputs != 0 {
		t.Fatalf("rank %d: the curve reaches %v of %d and ends at %+v", r, top, st.PeakInFlight, last)
	}
}
