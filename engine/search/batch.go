package search

import "slices"

// batches returns the global batches that are tried on so many GPUs.
func (p *Problem) batches(gpus int) []int {
	if !p.Space.FollowGBS {
		return or(p.Space.GBS, p.Setup.GBS)
	}
	return []int{UnsetGBS(&p.Setup, []int{gpus}, slices.Max(or(p.Space.Seq, p.Setup.Seq)))}
}

// Batches returns the global batches that are tried, of all numbers of GPUs.
func (p *Problem) Batches() (out []int) {
	if !p.Space.FollowGBS {
		return or(p.Space.GBS, p.Setup.GBS)
	}
	for _, gpus := range or(p.Space.GPUs, p.Setup.GPUs) {
		out = append(out, p.batches(gpus)...)
	}
	return unique(out)
}
