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
	listed := slices.Sorted(slices.Values(or(p.Space.GPUs, p.Setup.GPUs)))
	p.fastestFirst = true // of each number; which of the fewest leads is asked at the end
	out, tried := p.upwards(ctx, listed, progress)
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
		finer.marginOnly = p.wantsMargin() && !out.Best[0].tight
		more, of := finer.upwards(ctx, between, progress)
		tried = slices.Compact(slices.Sorted(slices.Values(append(tried, of...))))
		out.join(&more, &p)
	}
	out.GPUs = tried
	if p.fastestFirst = false; len(out.Best) > 0 && p.wantsMargin() && !out.Partial {
		p.Space.GPUs, p.Front = []int{out.Best[0].Setup.GPUs}, false
		if lead := Run(ctx, p, progress); len(lead.Best) > 0 && !lead.Partial {
			out.lead(&lead.Best[0])
		}
	}
	return out
}

// upwards searches one number of GPUs after the other, until the fewest have as many layouts as are
// wanted: none of more GPUs comes before these. It returns the numbers that were searched.
func (p *Problem) upwards(ctx context.Context, numbers []int, progress func(Progress)) (out Result,
	tried []int,
) {
	for i, n := range numbers {
		one := *p
		one.Space.GPUs = []int{n}
		r := Run(ctx, one, func(at Progress) {
			if at.Legal, at.Evaluated = at.Legal+out.Legal, at.Evaluated+out.Evaluated; progress != nil {
				at.Ranked = (float64(i) + at.Ranked) / float64(len(numbers))
				progress(at)
			}
		})
		tried = append(tried, n)
		if i == 0 {
			out = r
		} else {
			out.join(&r, p)
		}
		if n := len(out.Best); out.Partial || n == p.top() && !out.Best[n-1].tight {
			break
		}
	}
	return out, tried
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

// lead puts a layout in front.
func (r *Result) lead(f *Found) {
	rest := slices.DeleteFunc(slices.Clone(r.Best), func(o Found) bool { return o.Setup == f.Setup })
	r.Best = append([]Found{*f}, rest...)[:len(r.Best)]
}

// join takes in what was found with other numbers of GPUs.
func (r *Result) join(f *Result, p *Problem) {
	before := func(a, b Found) int {
		if a.tight != b.tight {
			if b.tight {
				return -1
			}
			return 1
		}
		return a.Setup.GPUs - b.Setup.GPUs
	}
	if len(f.Best) > 0 && (len(r.Best) == 0 || before(f.Best[0], r.Best[0]) < 0) {
		r.Near, r.Band = f.Near, f.Band
	}
	r.Best = append(r.Best, f.Best...)
	slices.SortStableFunc(r.Best, before)
	r.Best = r.Best[:min(len(r.Best), p.top())]
	r.Front = undominated(append(r.Front, f.Front...))
	r.Legal += f.Legal
	r.Excluded += f.Excluded
	r.Evaluated += f.Evaluated
	r.Fitting += f.Fitting
	r.Partial, r.Share = f.Partial, f.Share
}

// undominated returns the layouts of a list that no other one equals or beats in both
// speed and memory, the fastest first.
func undominated(list []Found) (out []Found) {
	rate := func(f *Found) float64 {
		return f.Setup.Tokens() / float64(f.PessimisticStep) / float64(f.Setup.GPUs)
	}
	slices.SortStableFunc(list, func(a, b Found) int {
		return cmp.Or(cmp.Compare(rate(&b), rate(&a)),
			int(min(max(a.Report.Memory.Peak-b.Report.Memory.Peak, -1), 1)))
	})
	for i := range list {
		if n := len(out); n == 0 || list[i].Report.Memory.Peak < out[n-1].Report.Memory.Peak {
			out = append(out, list[i])
		}
	}
	return out
}
