package schedule

// Waits is why a rank does nothing during a step, in the timeline's unit of
// time. The five add up to RankStats.Idle.
type Waits struct {
	WarmUp float64 // before its first backward or input gradient: the first micro-batches are on their way
	Drain  float64 // after its last forward: the last ones are
	// in between, for what a rank with more to do had not finished, and as long as the busiest rank has more
	// to do: uneven stages
	Paced   float64
	Between float64 // in between, for ranks with no more to do than this one: the order of the operations
	// of all of these, while what it waited for was on its way between ranks, and its own sending where that
	// blocks
	SendRecv float64
}

// Sum returns the whole of it.
func (w Waits) Sum() float64 { return w.WarmUp + w.Drain + w.Paced + w.Between + w.SendRecv }

// Waits divides every rank's idle time by cause. What a wait is for is found
// along the chain of operations that ends it: each started when the one before
// it let it, so the chain has no gaps but sends, and covers the wait. The
// work is proportional to the operations on those chains.
func (t *Timeline) Waits() []Waits {
	out := make([]Waits, len(t.Ranks))
	for r := range t.Ranks {
		out[r] = t.WaitsOf(r)
	}
	return out
}

// WaitsOf returns the same of one rank.
func (t *Timeline) WaitsOf(rank int) Waits {
	w := waiting{line: t}
	from, to := t.Order.Start[rank], t.Order.Start[rank+1]
	if from == to {
		return Waits{Drain: t.Makespan}
	}
	w.rank(rank, from, to)
	// A rank with less to do than another idles in any order of operations; the wait reaches it
	// through ranks that have no more to do than itself.
	most := 0.0
	for r := range t.Ranks {
		most = max(most, t.Ranks[r].Busy)
	}
	uneven := min(w.out.Between, max(0, most-t.Ranks[rank].Busy-w.out.Paced))
	w.out.Paced, w.out.Between = w.out.Paced+uneven, w.out.Between-uneven
	// What is idle and no gap is sending inside the operations themselves.
	if rest := t.Ranks[rank].Idle - w.out.Sum(); rest > 0 {
		w.out.SendRecv += rest
	}
	return w.out
}

// waiting is one run of WaitsOf.
type waiting struct {
	line *Timeline
	out  Waits
}

// rank divides the gaps of one rank; its operations are from to to-1.
func (w *waiting) rank(r, from, to int) {
	t, ops := w.line, w.line.Order.Ops
	firstBack, lastForward := to, from-1
	for k := from; k < to; k++ {
		if ops[k].Kind() == Forward {
			lastForward = k
		} else if firstBack == to && ops[k].Kind() != WeightGradient {
			firstBack = k
		}
	}
	out := &w.out
	for k := from; k < to; k++ {
		begin := 0.0
		if k > from {
			begin = t.End[k-1]
		}
		if t.Begin[k] <= begin {
			continue
		}
		flight, slower := w.chain(Place{Rank: r, Op: k}, begin, t.Begin[k])
		rest := t.Begin[k] - begin - flight
		out.SendRecv += flight
		switch {
		case k <= firstBack:
			out.WarmUp += rest
		case k > lastForward:
			out.Drain += rest
		default:
			out.Paced += min(slower, rest)
			out.Between += rest - min(slower, rest)
		}
	}
	out.Drain += t.Makespan - t.End[to-1]
}

// chain walks back from an operation to a moment and says how long of the wait
// before it results were on their way between ranks, and how long ranks worked
// that have more to do in the step than the waiting one.
func (w *waiting) chain(at Place, since, until float64) (flight, slower float64) {
	t := w.line
	rank := at.Rank
	for until > since {
		before, ok := t.Binding(at)
		if !ok {
			return flight, slower
		}
		if end := t.End[before.Op]; end < until {
			flight += until - max(end, since)
			until = max(end, since)
		}
		if begin := max(t.Begin[before.Op], since); begin < until {
			if t.busier(before.Rank, rank) {
				slower += until - begin
			}
			until = begin
		}
		at = before
	}
	return flight, slower
}

// busier reports whether one rank has more to do in the step than another, by more
// than rounding.
func (t *Timeline) busier(a, b int) bool {
	const rounding = 1e-6
	return t.Ranks[a].Busy > t.Ranks[b].Busy*(1+rounding)
}

// Cause is where the result that an operation waits for comes from.
type Cause struct {
	// Path are the operations of one micro-batch, each of which started as soon as
	// it had the result of the one before; the waiting operation takes the last
	// one's.
	Path []Place
	// First says that the path begins with the step. Otherwise its first operation
	// had to wait for its rank, which had worked without a break since Since.
	First bool
	Since float64
}

// Cause follows what an operation waits for back to where it began: the start of
// the step, or a rank that had other work to do. It is false for an operation
// that waited for nothing from elsewhere.
func (t *Timeline) Cause(at Place) (Cause, bool) {
	var c Cause
	for {
		before, ok := t.feeding(at)
		if !ok {
			break
		}
		c.Path = append(c.Path, before)
		at = before
	}
	if len(c.Path) == 0 {
		return c, false
	}
	for i, j := 0, len(c.Path)-1; i < j; i, j = i+1, j-1 {
		c.Path[i], c.Path[j] = c.Path[j], c.Path[i]
	}
	o := t.Order
	first, _ := o.Box(c.Path[0])
	c.Since = t.Begin[first]
	c.First = c.Since == 0
	for k := first - 1; k >= o.Start[at.Rank] && t.End[k] >= c.Since; k-- {
		c.Since = t.Begin[k]
	}
	return c, true
}

// feeding returns the operation whose result came last before an operation started,
// if that is what it waited for. Where its rank became free at the same moment
// the result counts.
func (t *Timeline) feeding(at Place) (Place, bool) {
	o := t.Order
	first, last := o.Box(at)
	free, latest := 0.0, -1.0
	if first > o.Start[at.Rank] {
		free = t.End[first-1]
	}
	var found Place
	for k := first; k <= last; k++ {
		p, ok := t.input(Place{Rank: at.Rank, Op: k})
		if ok && t.End[p.Op] > latest {
			found, latest = p, t.End[p.Op]
		}
	}
	return found, latest >= 0 && (latest >= free || t.Begin[first] > free)
}
