package schedule

// Warmup is how many forwards a rank runs before its first backward (B or I),
// known without making the order: between Least and Most, and where the two are
// equal exactly that many. All of them are alive at once; never are there more
// than Most that wait for B or I. Alive is how many chunk activations are there
// at some moment at the least, those that wait for W alone among them. Tests
// compare it with the orders.
type Warmup struct{ Least, Most, Alive int }

// Warmup bounds the first forwards of a rank, of a spec without errors.
func (s Spec) Warmup(rank int) Warmup {
	p, m, v := s.Ranks, s.MicroBatches, s.VirtualStages
	ahead := p - 1 - rank // ranks behind this one
	exactly := func(n, most int) Warmup {
		n = min(n, most)
		return Warmup{n, n, n}
	}
	waiting := func(w Warmup, alive, most int) Warmup {
		w.Alive = min(alive, most)
		return w
	}
	// A V has both ends on every rank: the second forward of the first
	// micro-batch comes back after that many others have started.
	turned := min(m+rank+1, 2*m)
	switch s.Kind {
	case Naive:
		return exactly(1, m)
	case AFAB, LoopedBFS:
		return exactly(v*m, v*m)
	case OneFOneB:
		return exactly(ahead+1, m)
	case ZBH1:
		return waiting(exactly(ahead+1, m), p, m)
	case Interleaved:
		return exactly((v-1)*s.group()+2*ahead+1+s.ExtraWarmup, v*m)
	case ZBH2:
		return waiting(exactly(2*ahead+1, m), 2*p-1, m)
	case InterleavedZB:
		others := (v - 1) * s.roundSize()
		return waiting(exactly(others+ahead+1, v*m), others+p, v*m)
	case ZBV:
		return exactly(2*p, turned)
	case VHalf:
		return exactly(p+2-p%2, turned)
	case VMin:
		third := 2 * ((p + 4) / 3)
		least := min(max(third-2, 1), turned)
		return Warmup{least, min(third, 2*m), least}
	case OneFOneBV:
		third := 2 * ((2*p + 3) / 3)
		least := min(max(third-2, 1), turned)
		return Warmup{least, min(third, 2*m), least}
	case DualPipe:
		return Warmup{p, p + 1, p + 1}
	case DualPipeV:
		return Warmup{2 * p, 2*p + 1, 2*p + 1}
	case ZBVAuto:
		// Its warmup goes on until each rank has run one forward more of the second
		// chunk than the rank before, and as many of the first (zbvSearch.warmUp).
		least := min(2*(rank+1), 2*m)
		return Warmup{least, v * m, least}
	case ZB1P, ZB2P, ZBAuto: // they follow the durations: see Ahead
	}
	return Warmup{1, v * m, 1}
}

// PutOff is how many weight gradients of a rank wait at some moment at the least, in a
// schedule that splits the backward. Tests compare it with the orders.
func (s Spec) PutOff(rank int) int {
	switch p, all := s.Ranks, s.VirtualStages*s.MicroBatches; s.Kind {
	case ZBH1, InterleavedZB:
		return min(rank+1, all)
	case ZBH2:
		return min(2*rank+1, all)
	case ZBV:
		if s.MicroBatches >= 2*p {
			return 2*rank + 1
		}
	case DualPipe:
		return min(rank, p-1-rank) + 1
	case DualPipeV:
		return rank + 1
	default: // automatic ones follow the durations; the others hold little
	}
	return 1
}

// Turns is how many micro-batches of a chunk come one after the other before the
// forwards of a rank go on to its next chunk; 0 where their order is another.
func (s Spec) Turns() int {
	switch s.Kind {
	case Interleaved:
		return s.group()
	case InterleavedZB:
		return s.roundSize()
	case LoopedBFS:
		return s.MicroBatches
	default:
		return 0
	}
}

// Led is how many of the first n forwards of a rank are of a chunk, where chunks take
// turns with groups of so many micro-batches. Of the backwards of interleaved as many
// are of the chunk that comes so many before the last.
func (s Spec) Led(n, chunk, group int) int {
	before := n / (group * s.VirtualStages) * group // in whole rounds
	size := min(group, s.MicroBatches-before)       // of this round
	return before + min(max(n-before*s.VirtualStages-chunk*size, 0), size)
}
