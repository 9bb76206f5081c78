package schedule

// oneFOneBV returns the V-shaped schedule with whole backwards: two thirds of the
// activations of 1F1B and fewer bubbles, if a backward lasts twice a forward.
func oneFOneBV() descriptor {
	return descriptor{
		Info: Info{
			Kind: OneFOneBV, Name: "1F1B-V",
			Paper:     "Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362",
			Code:      "sail-sg/zero-bubble-pipeline-parallelism scheduler/v1f1b.py",
			Placement: VShape, Chunks: 2, WeightCopies: 1,
			Constraint: "v = 2; unless tB = 2 tF it waits in every micro-batch",
			Memory:     "2 ceil((2p+1)/3) on the fullest rank, never more than 2m",
			warmup:     func(s *Spec, rank int) Warmup { return inThirds(s, rank, 2*((2*s.Ranks+3)/3)) },
			uneven: func(t ChunkTimes) bool {
				return t.B > 2*t.F*evenSlack || t.B*evenSlack < 2*t.F
			},
		},
		generate: generateOneFOneBV,
		check:    checkVShape,
		idle:     unknownIdle,
		maxOps:   MaxAutoOps,
		maxRanks: MaxAutoRanks,
	}
}

// Contents of a slot of v1f1b: both forwards, and the two slots of both
// backwards, in the order in which a micro-batch meets them.
const (
	vEmpty = iota
	vFirstF
	vSecondF
	vSecondB
	vSecondBEnd
	vFirstB
	vFirstBEnd
	vContents
)

// v1f1b lays one building block per micro-batch, six slots apart, and then moves
// operations to earlier free slots where that does not raise the peak.
type v1f1b struct {
	p, m int
	rows [][]int8
	held [][]int              // chunk activations alive after each slot
	at   [][vContents][]int32 // by rank and content: slot of each micro-batch
	peak int
}

func generateOneFOneBV(o *Order) {
	v := &v1f1b{p: o.Spec.Ranks, m: o.Spec.MicroBatches}
	v.unroll()
	v.compact()
	for _, row := range v.rows {
		var next [vContents]int
		for _, c := range row {
			mb := next[c]
			next[c]++
			switch c {
			case vFirstF:
				o.add(Forward, 0, mb)
			case vSecondF:
				o.add(Forward, 1, mb)
			case vSecondB:
				o.add(Backward, 1, mb)
			case vFirstB:
				o.add(Backward, 0, mb)
			}
		}
		o.endRank()
	}
}

// block returns where in the six slots of a rank each content stands: forwards one
// slot apart from rank to rank, backwards two, with three more after every
// third backward so that no two meet.
func (v *v1f1b) block() [][vContents]int {
	block := make([][vContents]int, v.p)
	now := 0
	for j := range v.p {
		now++
		block[j][vFirstF] = now % 6
	}
	for k := range v.p {
		now++
		block[v.p-1-k][vSecondF] = now % 6
	}
	now++
	if v.p%3 == 0 {
		now += 3
	}
	third := (3 - (v.p+2)%3) % 3
	backward := func(j, content int) {
		block[j][content], block[j][content+1] = now%6, (now+1)%6
		now += 2
		if third++; third == 3 {
			third = 0
			now += 3
		}
	}
	for j := range v.p {
		backward(j, vSecondB)
	}
	for k := range v.p {
		backward(v.p-1-k, vFirstB)
	}
	return block
}

// unroll repeats the block for m micro-batches, each content from the first of its
// slots behind what the micro-batch needs.
func (v *v1f1b) unroll() {
	block := v.block()
	v.rows, v.at = make([][]int8, v.p), make([][vContents][]int32, v.p)
	for j := range v.p {
		v.rows[j] = make([]int8, 6*(4*v.p+v.m+1))
	}
	slot := 6
	find := func(j, content int) {
		for slot%6 != block[j][content] {
			slot++
		}
		for mb := range v.m {
			v.rows[j][slot+6*mb] = int8(content)
		}
		v.at[j][content] = make([]int32, v.m)
		slot++
	}
	for j := range v.p {
		find(j, vFirstF)
	}
	for j := v.p - 1; j >= 0; j-- {
		find(j, vSecondF)
	}
	for j := range v.p {
		find(j, vSecondB)
		behind := slot
		find(j, vSecondBEnd)
		slot = behind
	}
	for j := v.p - 1; j >= 0; j-- {
		find(j, vFirstB)
		behind := slot
		find(j, vFirstBEnd)
		slot = behind
	}
	v.count()
}

// count fills held and the peak.
func (v *v1f1b) count() {
	v.held = make([][]int, v.p)
	for j, row := range v.rows {
		v.held[j] = make([]int, len(row))
		live := 0
		for at, c := range row {
			switch c {
			case vFirstF, vSecondF:
				live++
			case vFirstBEnd, vSecondBEnd:
				live--
			}
			v.held[j][at] = live
			v.peak = max(v.peak, live)
		}
	}
}

// compact visits all slots in order and moves what it finds.
func (v *v1f1b) compact() {
	next := make([][vContents]int, v.p)
	for slot := range v.rows[0] {
		for j, row := range v.rows {
			c := row[slot]
			if c == vEmpty {
				continue
			}
			mb := next[j][c]
			next[j][c]++
			to := v.earliest(j, int(c), slot, v.behind(j, int(c), mb))
			v.at[j][c][mb] = int32(to)
			if to == slot {
				continue
			}
			row[to], row[slot] = c, vEmpty
			for at := to; at < slot; at++ {
				switch c {
				case vFirstF, vSecondF:
					v.held[j][at]++
				case vFirstBEnd, vSecondBEnd:
					v.held[j][at]--
				}
			}
		}
	}
}

// behind returns the first slot after all that an operation needs.
func (v *v1f1b) behind(j, c, mb int) int {
	after := int32(-1)
	if mb > 0 {
		after = v.at[j][c][mb-1]
	}
	need := func(rank, content int) { after = max(after, v.at[rank][content][mb]) }
	last := v.p - 1
	switch c {
	case vFirstF:
		if j > 0 {
			need(j-1, vFirstF)
		}
	case vSecondF:
		if j < last {
			need(j+1, vSecondF)
		} else {
			need(j, vFirstF)
		}
	case vSecondB:
		if j > 0 {
			need(j-1, vSecondBEnd)
		} else {
			need(j, vSecondF)
		}
	case vFirstB:
		if j < last {
			need(j+1, vFirstBEnd)
		} else {
			need(j, vSecondBEnd)
		}
	default: // the end of a backward
		need(j, c-1)
	}
	return int(after) + 1
}

// earliest returns the slot to move to: for a backward the first with two free, for
// its end the first free, for a forward the first that does not raise the peak.
func (v *v1f1b) earliest(j, c, slot, from int) int {
	row := v.rows[j]
	to := from
	switch c {
	case vFirstB, vSecondB:
		for to < slot && (row[to] != vEmpty || row[to+1] != vEmpty) {
			to++
		}
	case vFirstBEnd, vSecondBEnd:
		for to < slot && row[to] != vEmpty {
			to++
		}
	default:
		to = slot
		for to > from && v.held[j][to-1] < v.peak {
			to--
		}
		for to < slot && row[to] != vEmpty {
			to++
		}
	}
	return to
}
