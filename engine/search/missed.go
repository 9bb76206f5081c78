package search

import (
	"context"
	"slices"
)

// Missed is how far the layouts of a problem are from a deadline that none meets, and what would meet it.
type Missed struct {
	Fastest *Found `json:"-"` // that meets everything else; nil where none was found
	// FastestSoFar tells that the time ended before all layouts were ranked.
	FastestSoFar bool `json:"fastest_so_far,omitempty"`
	// Batch is the smallest of the doubled global batches that meets it on the same GPUs; 0: none.
	Batch int `json:"batch_in_time,omitempty"`
	// GPUs is the smallest number of GPUs of this kind that meets it, of those that a search for the fewest
	// tries; 0: none.
	// GPUsBatch is the global batch there.
	GPUs      int  `json:"gpus_in_time,omitempty"`
	GPUsBatch int  `json:"gpus_batch,omitempty"`
	Most      int  `json:"-"` // GPUs that were tried
	Given     int  `json:"-"` // global batch that was asked for; 0: none
	Stopped   bool `json:"-"` // the time ended before anything was found that meets it
}

// Doublings of the global batch that are tried against a deadline.
const batchDoublings = 6

// Missed finds out how the problem misses its deadline; unset: nobody gave the global batch, so that of more
// GPUs is their own.
func (p Problem) Missed(ctx context.Context, unset bool) *Missed {
	there := slices.Max(or(p.Space.GPUs, p.Setup.GPUs)) // the most are the fastest
	p.Objective, p.Top, p.Front, p.Space.GPUs = Throughput, 1, false, []int{there}
	untimed := p
	untimed.Deadline = 0
	r := Run(ctx, untimed, nil)
	out := &Missed{FastestSoFar: r.Partial}
	if len(r.Best) > 0 {
		out.Fastest = &r.Best[0]
	}
	gbs := slices.Max(or(p.Space.GBS, p.Setup.GBS))
	p.Space.DP, p.Space.MicroBatches = nil, nil // both follow
	for n := range batchDoublings {
		p.Space.GBS, p.Space.FollowGBS = []int{gbs << (n + 1)}, false
		if len(Run(ctx, p, nil).Best) > 0 {
			out.Batch = p.Space.GBS[0]
			break
		}
	}
	p.Objective, p.Margin, p.Space.GPUs = FewestGPUs, false, anyGPUs(&p.Setup)
	p.Space.GBS, p.Space.FollowGBS = []int{gbs}, unset
	if out.Most = slices.Max(append(p.Space.GPUs, there)); !unset {
		out.Given = gbs
	}
	more := p.fewestBeyond(ctx, there)
	if more == nil && !unset {
		p.Space.FollowGBS = true
		more = p.fewestBeyond(ctx, there)
	}
	if more != nil {
		out.GPUs, out.GPUsBatch = more.GPUs, more.GBS
	}
	out.Stopped = out.GPUs == 0 && ctx.Err() != nil
	return out
}
