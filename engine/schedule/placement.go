package schedule

// Placement says which rank hosts which model stages.
type Placement uint8

// Placements. Linear is Loop with one chunk per rank.
const (
	Linear Placement = iota // rank s
	Loop                    // rank s mod p: rank r hosts r, r+p, r+2p, ...
	VShape                  // there and back: with two chunks rank r hosts r and 2p-1-r
	// p stages, two copies: rank r hosts r and p-1-r, for the two halves of the batch.
	Bidirectional
)

// String returns the placement's name.
func (pl Placement) String() string {
	switch pl {
	case Linear:
		return "linear"
	case Loop:
		return "loop"
	case VShape:
		return "vshape"
	case Bidirectional:
		return "bidirectional"
	}
	return "unknown"
}

// stage returns the model stage of a rank's chunk; p ranks.
func (pl Placement) stage(p, rank, chunk int) int {
	switch {
	case pl == VShape && chunk%2 == 1:
		return chunk*p + p - 1 - rank
	case pl == Bidirectional && chunk == 1:
		return p - 1 - rank
	case pl == Bidirectional:
		return rank
	}
	return chunk*p + rank
}

// rank is who hosts a stage, for an operation of the given direction (chunk 0
// or 1 of a bidirectional placement; not read by the others).
func (pl Placement) rank(p, stage, direction int) int {
	q := stage % p
	switch {
	case pl == VShape && stage/p%2 == 1, pl == Bidirectional && direction == 1:
		return p - 1 - q
	}
	return q
}

// Host returns the rank that hosts a stage on p ranks, for operations of the given
// chunk (read only where every stage has two copies).
func (pl Placement) Host(p, stage, chunk int) int { return pl.rank(p, stage, chunk) }

// Copies returns how many ranks host each stage.
func (pl Placement) Copies() int {
	if pl == Bidirectional {
		return 2
	}
	return 1
}

// chunks returns how many stages each rank hosts.
func (pl Placement) chunks(v int) int { return v * pl.Copies() }

// Chunks returns how many chunks each rank of the order hosts.
func (o *Order) Chunks() int { return o.Placement.chunks(o.Spec.VirtualStages) }

// Crosses reports whether the next stage after one is on another rank, in the direction
// of the first half of a bidirectional schedule.
func (o *Order) Crosses(stage int) bool {
	p := o.Spec.Ranks
	return o.Placement.Host(p, stage, 0) != o.Placement.Host(p, stage+1, 0)
}
