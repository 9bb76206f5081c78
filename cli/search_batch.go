package cli

import (
	"context"

	"meshscope/engine/search"
)

// run searches. If no global batch was given and nothing meets the deadline, it raises the
// batch until something does. The fewest GPUs are searched at all batches that a search of
// each number would take.
func (o *answer) run(ctx context.Context, progress func(search.Progress)) {
	o.First = o.Problem.Space.GBS[0]
	if o.Problem.Objective == search.FewestGPUs {
		step := 0 // try all numbers that are given
		if o.Query.AnyGPUs() {
			step = o.Problem.Setup.Cluster.Node()
		}
		o.Result = search.Fewest(ctx, o.Problem, step, progress)
		return
	}
	for {
		o.Result = search.Run(ctx, o.Problem, progress)
		next, more := o.raised()
		if len(o.Result.Best) > 0 || o.Result.Partial || !more {
			return
		}
		o.Problem.Space.GBS = []int{next}
		o.Problem.Setup.MicroBatches *= 2
		o.Problem.Setup.GBS = next
	}
}

// raised returns the next larger global batch; false if one was given or the largest usual
// one is reached.
func (o *answer) raised() (int, bool) {
	sp := &o.Problem.Space
	if o.Problem.Deadline == 0 || !o.Query.UnsetBatch || o.Query.Cut || len(sp.GBS) != 1 || len(sp.Seq) != 1 {
		return 0, false
	}
	return search.Raised(sp.GBS[0], sp.Seq[0])
}
