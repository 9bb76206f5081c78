package schedule

import "math"

// stageTimes are durations as the automatic schedulers read them, by stage.
type stageTimes struct {
	f, i, w []float64
	latency float64
	// what a micro-batch holds until I, and from I to W; the first is at least the
	// second, and both are whole numbers
	held, heldForW []float64
}

// equalTimes returns those of Build: every operation lasts as long as every other
// and a send/recv takes no time.
func equalTimes(stages int) *stageTimes {
	ones := make([]float64, stages)
	for k := range ones {
		ones[k] = 1
	}
	t := &stageTimes{f: ones, i: ones, w: ones}
	t.countHalves(stages)
	return t
}

// countHalves makes an activation count 2, and 1 while it waits for W alone.
func (t *stageTimes) countHalves(stages int) {
	t.held, t.heldForW = resize(t.held, stages), resize(t.heldForW, stages)
	for k := range stages {
		t.held[k], t.heldForW[k] = 2, 1
	}
}

// hold takes what micro-batches hold from the costs. Where the weight gradient
// needs more than the input gradient did, its room is kept from the start, so
// that no I ever takes a rank over its limit.
func (t *stageTimes) hold(stages int, c *Costs) error {
	if c.Held == nil && c.HeldForW == nil {
		t.countHalves(stages)
		return nil
	}
	most := 0.0
	for _, list := range [...][]float64{c.Held, c.HeldForW} {
		if len(list) != stages {
			return costError("%d activations for %d stages", len(list), stages)
		}
		for stage, b := range list {
			if !(b >= 0) || math.IsInf(b, 1) {
				return costError("a micro-batch holds %v on stage %d", b, stage)
			}
			most = max(most, b)
		}
	}
	t.held, t.heldForW = rounded(t.held, c.Held, most), rounded(t.heldForW, c.HeldForW, most)
	for k := range t.held {
		t.held[k] = max(t.held[k], t.heldForW[k])
	}
	return nil
}

// rounded are numbers in units of a power of two, a millionth of the largest or
// less, in memory that may be reused.
func rounded(into, list []float64, largest float64) []float64 {
	_, exponent := math.Frexp(largest)
	unit := math.Ldexp(1, exponent-20)
	if largest == 0 || unit == 0 {
		unit = 1
	}
	into = resize(into, len(list))
	for k, d := range list {
		into[k] = math.Round(d / unit)
	}
	return into
}

// timesOf takes the durations of a simulation. They are rounded to a power of
// two, a millionth of the longest or less, so that sums are exact and equal
// lengths compare equal in whatever unit they come.
func timesOf(stages int, c *Costs) (*stageTimes, error) {
	t := new(stageTimes)
	return t, t.set(stages, c)
}

func (t *stageTimes) set(stages int, c *Costs) error {
	longest := c.P2P
	for _, list := range [...][]float64{c.F, c.I, c.W} {
		if len(list) != stages {
			return costError("%d durations for %d stages", len(list), stages)
		}
		for stage, d := range list {
			if !(d >= 0) || math.IsInf(d, 1) {
				return costError("an operation of stage %d lasts %v", stage, d)
			}
			longest = max(longest, d)
		}
	}
	if !(c.P2P >= 0) || math.IsInf(longest, 1) {
		return costError("a send/recv latency of %v", c.P2P)
	}
	t.f, t.i, t.w = rounded(t.f, c.F, longest), rounded(t.i, c.I, longest), rounded(t.w, c.W, longest)
	t.latency = rounded(nil, []float64{c.P2P}, longest)[0]
	return t.hold(stages, c)
}
