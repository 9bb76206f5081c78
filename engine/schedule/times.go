package schedule

import "math"

// stageTimes are durations as the automatic schedulers read them, by stage.
type stageTimes struct {
	f, i, w []float64
	latency float64
}

// equalTimes are those of Build: every operation lasts as long as every other
// and a hand-over takes no time.
func equalTimes(stages int) *stageTimes {
	ones := make([]float64, stages)
	for k := range ones {
		ones[k] = 1
	}
	return &stageTimes{f: ones, i: ones, w: ones}
}

// timesOf takes the durations of a simulation. They are rounded to a power of
// two, a millionth of the longest or less, so that sums are exact and equal
// lengths compare equal in whatever unit they come.
func timesOf(stages int, c *Costs) (*stageTimes, error) {
	longest := c.P2P
	for _, list := range [...][]float64{c.F, c.I, c.W} {
		if len(list) != stages {
			return nil, costError("%d durations for %d stages", len(list), stages)
		}
		for stage, d := range list {
			if !(d >= 0) || math.IsInf(d, 1) {
				return nil, costError("an operation of stage %d lasts %v", stage, d)
			}
			longest = max(longest, d)
		}
	}
	if !(c.P2P >= 0) || math.IsInf(longest, 1) {
		return nil, costError("a hand-over latency of %v", c.P2P)
	}
	_, exponent := math.Frexp(longest)
	unit := math.Ldexp(1, exponent-20)
	if longest == 0 || unit == 0 {
		unit = 1
	}
	rounded := func(list []float64) []float64 {
		out := make([]float64, len(list))
		for k, d := range list {
			out[k] = math.Round(d / unit)
		}
		return out
	}
	return &stageTimes{f: rounded(c.F), i: rounded(c.I), w: rounded(c.W), latency: math.Round(c.P2P / unit)}, nil
}
