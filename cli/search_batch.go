package cli

import (
	"context"
	"fmt"

	"meshscope/engine/search"
)

// mostTokens is up to which global batch, in tokens, a search goes by itself: the
// largest of the published runs that the rules of advise know (DeepSeek, 15,360
// sequences of 4,096).
const mostTokens = 15360 * 4096

// run searches. Where nothing meets the deadline at a global batch that nobody said,
// the batch doubles until something does: a larger one leaves less of a pipeline idle
// and has work for more copies.
func (o *answer) run(ctx context.Context, progress func(search.Progress)) {
	o.first = o.problem.Space.GBS[0]
	for {
		if o.problem.Objective == search.FewestGPUs && o.asked.anyGPUs() {
			o.result = search.Fewest(ctx, o.problem, o.problem.Setup.Cluster.Node(), progress)
		} else {
			o.result = search.Run(ctx, o.problem, progress)
		}
		next, more := o.raised()
		if len(o.result.Best) > 0 || o.result.Partial || !more {
			return
		}
		o.problem.Space.GBS = []int{next}
		o.problem.Setup.MicroBatches *= 2
		o.problem.Setup.GBS = next
	}
}

// anyGPUs says that nobody gave a number of GPUs, nor a range.
func (q *asked) anyGPUs() bool {
	_, gpus := q.values["gpus"]
	_, nodes := q.values["nodes"]
	return !gpus && !nodes
}

// raised is the next larger global batch; false where it is not the search's to
// choose, or has reached the largest that is usual.
func (o *answer) raised() (int, bool) {
	sp := &o.problem.Space
	if o.problem.Deadline == 0 || !o.asked.defaultGBS || o.asked.cut || len(sp.GBS) != 1 || len(sp.Seq) != 1 {
		return 0, false
	}
	next := 2 * sp.GBS[0]
	return next, next*sp.Seq[0] <= mostTokens+mostTokens/10
}

// batchWords say how the batch came about where nobody gave it.
func (o *answer) batchWords() string {
	sp := &o.problem.Space
	text := o.defaultWords()
	if sp.GBS[0] > o.first {
		text = fmt.Sprintf("near 4 M tokens (%s sequences) nothing met the deadline; it was doubled until something did, at most to 60 M", commas(o.first))
		if len(o.result.Best) == 0 {
			text = fmt.Sprintf("from %s sequences, near 4 M tokens, it was doubled up to the 60 M of the largest published runs", commas(o.first))
		}
	}
	if sp.FollowGBS {
		text += "; with each number of GPUs the nearest that it divides well"
	}
	return text
}

// numbers are the numbers of GPUs that were tried.
func (o *answer) numbers() []int {
	if len(o.result.GPUs) > 0 {
		return o.result.GPUs
	}
	return o.problem.Space.GPUs
}

// gpuWords say among which numbers of GPUs the fewest were looked for.
func (o *answer) gpuWords() string {
	list := o.numbers()
	if o.problem.Objective != search.FewestGPUs || len(list) < 2 {
		return ""
	}
	text := fmt.Sprintf("fewest of these %d numbers of GPUs, whole nodes; another may do too: %s", len(list), numberWords(list))
	if !o.problem.Space.FollowGBS && len(o.problem.Space.GBS) == 1 {
		text += fmt.Sprintf(". Only layouts whose copies divide a batch of %s: with another --gbs fewer may do", commas(o.problem.Space.GBS[0]))
	}
	return text
}

// numberWords list numbers, of a long list the ends.
func numberWords(list []int) string {
	const most = 48
	text := ""
	for i, n := range list {
		switch {
		case len(list) > most && i == most/2:
			text += ", ..."
			continue
		case len(list) > most && i > most/2 && i < len(list)-most/2:
			continue
		case i > 0:
			text += ", "
		}
		text += commas(n)
	}
	return text
}
