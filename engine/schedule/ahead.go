package schedule

// Ahead says how far the ranks of zb-1p, zb-2p and zb-auto run ahead, which depends on
// the durations, without making their order. It reuses memory.
type Ahead struct {
	times      stageTimes
	now, limit []float64
	need       [2][]int // of both choices about bubbles
}

// Set takes the durations, and what micro-batches hold, of so many ranks.
func (a *Ahead) Set(ranks int, c *Costs) error { return a.times.set(ranks, c) }

// Forwards returns how many each rank runs at least before its first input gradient,
// whichever of its choices the search takes in the end, if it finds any order. The
// list is that of the Ahead until the next call.
func (a *Ahead) Forwards(s Spec) []int {
	p, t := s.Ranks, &a.times
	a.now, a.limit = resize(a.now, p), resize(a.limit, p)
	end := 0.0
	for j := range p {
		if j > 0 {
			end += t.latency
		}
		end += t.f[j]
		a.now[j], a.limit[j] = end, float64(s.inFlightLimit())*t.held[j]
	}
	for k := range a.need {
		a.need[k] = resize(a.need[k], p)
		zbAhead(t, a.now, a.limit, s.MicroBatches, k == 0, a.need[k])
	}
	for j, n := range a.need[1] {
		a.need[0][j] = 1 + min(a.need[0][j], n)
	}
	return a.need[0]
}
