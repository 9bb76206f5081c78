package engine

import "slices"

// Sent adds up what a GPU sends in a step, and what of it nothing hides, over the
// dimensions that are named; without a name over all. Bytes and Exposed alone are set;
// false: nothing is sent on them.
func (r *Report) Sent(dimensions ...string) (sum Communication, ok bool) {
	for i := range r.Communication {
		c := &r.Communication[i]
		if len(dimensions) > 0 && !slices.Contains(dimensions, c.Dimension) {
			continue
		}
		sum.Bytes += c.Bytes
		sum.Exposed += c.Exposed
		ok = true
	}
	return sum, ok
}
