package search

import (
	"cmp"
	"context"
	"slices"
)

// parts is into how many equal steps a gap between two numbers of GPUs is cut at a
// time, where the fewest are looked for.
const parts = 8

// Fewest searches for the fewest GPUs: first among the numbers that the space lists,
// then between the fewest of these that will do and the next smaller one, in eight
// steps at a time down to steps of so many GPUs. Whether fewer GPUs will do is not
// monotone (what divides decides), so what is found is the fewest of the numbers that
// were tried, which Result.GPUs lists. Counts as Run does otherwise.
func Fewest(ctx context.Context, p Problem, step int, progress func(Progress)) Result {
	tried := slices.Sorted(slices.Values(or(p.Space.GPUs, p.Setup.GPUs)))
	out := Run(ctx, p, progress)
	for len(out.Best) > 0 && step > 0 && !out.Partial {
		high := out.Best[0].Setup.GPUs
		at, _ := slices.BinarySearch(tried, high)
		if at == 0 {
			break
		}
		between := gap(tried[at-1], high, step)
		if len(between) == 0 {
			break
		}
		finer := p
		finer.Space.GPUs = between
		finer.marginOnly = p.wantsMargin() && out.Best[0].Report.Memory.HasMargin()
		tried = slices.Compact(slices.Sorted(slices.Values(append(tried, between...))))
		out.ahead(Run(ctx, finer, progress), &p)
	}
	out.GPUs = tried
	return out
}

// gap returns the numbers that cut the gap between two others into steps, multiples of
// the least one.
func gap(low, high, least int) (out []int) {
	step := max((high-low)/parts/least*least, least)
	for n := (low/step + 1) * step; n < high; n += step {
		out = append(out, n)
	}
	return out
}

// ahead takes in what was found with fewer GPUs than anything so far.
func (r *Result) ahead(f Result, p *Problem) {
	if len(f.Best) > 0 {
		r.Near, r.Band = f.Near, f.Band
	}
	r.Best = append(f.Best, r.Best...)
	r.Best = r.Best[:min(len(r.Best), p.top())]
	r.Front = undominated(append(f.Front, r.Front...))
	r.Legal += f.Legal
	r.Excluded += f.Excluded
	r.Evaluated += f.Evaluated
	r.Fitting += f.Fitting
	r.Partial, r.Share = f.Partial, f.Share
}

// undominated returns the layouts of a list that no other one equals or beats in both
// speed and memory, the fastest first.
func undominated(list []Found) (out []Found) {
	rate := func(f *Found) float64 { return f.Setup.Tokens() / float64(f.Cautious) / float64(f.Setup.GPUs) }
	slices.SortStableFunc(list, func(a, b Found) int {
		return cmp.Or(cmp.Compare(rate(&b), rate(&a)), int(min(max(a.Report.Memory.Peak-b.Report.Memory.Peak, -1), 1)))
	})
	for i := range list {
		if n := len(out); n == 0 || list[i].Report.Memory.Peak < out[n-1].Report.Memory.Peak {
			out = append(out, list[i])
		}
	}
	return out
}
