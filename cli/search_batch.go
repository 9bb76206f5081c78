package cli

import (
	"context"

	"meshscope/engine/search"
)

// run searches. The fewest GPUs are searched at the batch that a search of each number would take.
func (o *answer) run(ctx context.Context, progress func(search.Progress)) {
	if o.Problem.Objective != search.FewestGPUs {
		o.Result = search.Run(ctx, o.Problem, progress)
		return
	}
	step := 0 // try all numbers that are given
	if o.Query.AnyGPUs() {
		step = o.Problem.Setup.Cluster.Node()
	}
	o.Result = search.Fewest(ctx, o.Problem, step, progress)
}
