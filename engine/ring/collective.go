package ring

import "slices"

// Op is a collective.
type Op string

// The collectives of the Ultra-Scale Playbook, appendix A0.
const (
	AllReduce     Op = "all-reduce"
	ReduceScatter Op = "reduce-scatter"
	AllGather     Op = "all-gather"
	Broadcast     Op = "broadcast"
	Reduce        Op = "reduce"
	Scatter       Op = "scatter"
	Gather        Op = "gather"
	AllToAll      Op = "all-to-all"
	Barrier       Op = "barrier"
	SendRecv      Op = "send/recv"
)

// Ops returns all of them, those that training uses most first.
func Ops() []Op {
	return []Op{
		AllReduce, ReduceScatter, AllGather, AllToAll, Broadcast, Reduce, Scatter, Gather, SendRecv,
		Barrier,
	}
}

// Collective is one of them on a ring: rank i is followed by i+1, the last by rank 0, which is
// also the root. The data of a rank are cut into as many chunks as there are ranks.
type Collective struct {
	Op      Op
	Ranks   int // 2 or more
	PerNode int // ranks next to each other in one node
}

// Send is one chunk that a rank sends in a step.
type Send struct{ From, To, Chunk int }

// Part is what a rank holds of a chunk: the sum, or for a collective that sums nothing the copy, of
// Size ranks from First on round the ring. Size 0 is nothing.
type Part struct{ First, Size int }

// Chunks returns into how many pieces the data of a rank are cut.
func (c *Collective) Chunks() int {
	if c.Op == SendRecv {
		return 1
	}
	return c.Ranks
}

// Steps returns how many steps it takes; in each a rank sends one chunk at most.
func (c *Collective) Steps() int {
	switch c.Op {
	case AllReduce, Broadcast, Reduce: // a pass and a pass, or a row of chunks through a chain
		return 2 * (c.Ranks - 1)
	case SendRecv:
		return 1
	default:
		return c.Ranks - 1
	}
}

// adds reports whether what is received in a step is added to what the rank has.
func (c *Collective) adds(step int) bool {
	switch c.Op {
	case ReduceScatter, Reduce:
		return true
	case AllReduce:
		return step < c.Ranks-1
	default:
		return false
	}
}

// chunk returns what a rank sends in a step, from 0; false: nothing.
func (c *Collective) chunk(rank, step int) (int, bool) {
	n := c.Ranks
	switch c.Op {
	case AllReduce:
		if step >= n-1 { // each rank has the sum of its own chunk
			return mod(rank-(step-(n-1)), n), true
		}
		return mod(rank-1-step, n), true
	case ReduceScatter: // chunk c starts behind rank c and ends there
		return mod(rank-1-step, n), true
	case AllGather, Barrier:
		return mod(rank-step, n), true
	case AllToAll: // the receiver files it under the sender
		return rank, true
	case Broadcast: // the chain begins at the root
		return step - rank, rank < n-1 && step >= rank && step-rank < n
	case Reduce: // the chain begins behind the root and ends there
		at := step - (rank - 1)
		return at, rank > 0 && at >= 0 && at < n
	case Scatter: // the farthest goes first
		at := n - 1 - step + rank
		return at, at > rank && at < n
	case Gather:
		return rank - step, rank-step > 0
	default: // SendRecv
		return 0, rank == c.sender()
	}
}

// sender returns the rank that sends the message of a SendRecv: the last one of the first node, so
// that the message leaves it.
func (c *Collective) sender() int { return min(max(c.PerNode, 1), c.Ranks) - 1 }

// Sends returns what travels in a step, from 0, in the order of the senders.
func (c *Collective) Sends(step int) []Send {
	var out []Send
	for rank := range c.Ranks {
		chunk, ok := c.chunk(rank, step)
		if !ok || step < 0 || step >= c.Steps() {
			continue
		}
		to := (rank + 1) % c.Ranks
		if c.Op == AllToAll {
			to = (rank + 1 + step) % c.Ranks
		}
		out = append(out, Send{rank, to, chunk})
	}
	return out
}

// Crosses reports whether a message leaves its node.
func (c *Collective) Crosses(s Send) bool {
	node := max(c.PerNode, 1)
	return s.From/node != s.To/node
}

// start returns what a rank holds of a chunk before the first step.
func (c *Collective) start(rank, chunk int) Part {
	own := false
	switch c.Op {
	case AllReduce, ReduceScatter, Reduce:
		own = true
	case Broadcast, Scatter:
		own = rank == 0
	case SendRecv:
		own = rank == c.sender()
	default:
		own = rank == chunk
	}
	if !own {
		return Part{}
	}
	return Part{rank, 1}
}

// After returns what every rank holds of every chunk after so many steps.
func (c *Collective) After(steps int) [][]Part {
	state := make([][]Part, c.Ranks)
	for rank := range state {
		state[rank] = make([]Part, c.Chunks())
		for chunk := range state[rank] {
			state[rank][chunk] = c.start(rank, chunk)
		}
	}
	for step := range min(max(steps, 0), c.Steps()) {
		before := make([][]Part, len(state))
		for rank := range state {
			before[rank] = slices.Clone(state[rank])
		}
		for _, s := range c.Sends(step) {
			held := before[s.From][s.Chunk]
			switch {
			case c.Op == AllToAll:
				held = Part{s.From, 1}
			case c.adds(step):
				held.Size++ // the receiver's own, which follow
			}
			state[s.To][s.Chunk] = held
		}
	}
	return state
}

// Wanted returns what a rank holds of a chunk when the collective has done its work; Size 0: the
// chunk is not for that rank.
func (c *Collective) Wanted(rank, chunk int) Part {
	n := c.Ranks
	all := Part{mod(chunk+1, n), n}
	one := Part{chunk, 1}
	switch c.Op {
	case AllReduce:
		return all
	case ReduceScatter:
		if chunk == rank {
			return all
		}
	case Reduce:
		if rank == 0 {
			return Part{1, n}
		}
	case Broadcast:
		return Part{0, 1}
	case Scatter:
		if chunk == rank {
			return Part{0, 1}
		}
	case Gather:
		if rank == 0 {
			return one
		}
	case SendRecv:
		if rank == (c.sender()+1)%n {
			return Part{c.sender(), 1}
		}
	default: // AllGather, AllToAll, Barrier
		return one
	}
	return Part{}
}

// Sent returns how many chunks a rank has sent after so many steps.
func (c *Collective) Sent(rank, steps int) int {
	sent := 0
	for step := range min(max(steps, 0), c.Steps()) {
		if _, ok := c.chunk(rank, step); ok {
			sent++
		}
	}
	return sent
}

// Share returns what the rank that sends most sends, over the data of a rank.
func (c *Collective) Share() float64 {
	n := float64(c.Ranks)
	switch c.Op {
	case AllReduce:
		return 2 * (n - 1) / n
	case Broadcast, Reduce, SendRecv:
		return 1
	case Barrier:
		return 0
	default:
		return (n - 1) / n
	}
}
