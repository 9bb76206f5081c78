package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"meshscope/engine/knob"
	"meshscope/engine/search"
)

// run searches. Where nothing meets the deadline at a global batch that nobody said,
// it is raised until something does; the fewest GPUs are looked for at all batches that
// a search of each number would take.
func (o *answer) run(ctx context.Context, progress func(search.Progress)) {
	o.first = o.problem.Space.GBS[0]
	if o.problem.Objective == search.FewestGPUs {
		step := 0 // all numbers that are asked for are tried
		if o.asked.anyGPUs() {
			step = o.problem.Setup.Cluster.Node()
		}
		o.result = search.Fewest(ctx, o.problem, step, progress)
		return
	}
	for {
		o.result = search.Run(ctx, o.problem, progress)
		next, more := o.raised()
		if len(o.result.Best) > 0 || o.result.Partial || !more {
			return
		}
		o.problem.Space.GBS = []int{next}
		o.problem.Setup.MicroBatches *= 2
		o.problem.Setup.GBS = next
	}
}

// tried are the global batches that were searched.
func (o *answer) tried() []int {
	p := o.problem
	if len(o.result.GPUs) > 0 {
		p.Space.GPUs = o.result.GPUs
	}
	return slices.Sorted(slices.Values(p.Batches()))
}

// anyGPUs says that nobody gave a number of GPUs, nor a range.
func (q *asked) anyGPUs() bool {
	_, gpus := q.values[knob.GPUs]
	_, nodes := q.values[knob.Nodes]
	return !gpus && !nodes
}

// raised is the next larger global batch; false where it is not the search's to
// choose, or has reached the largest that is usual.
func (o *answer) raised() (int, bool) {
	sp := &o.problem.Space
	if o.problem.Deadline == 0 || !o.asked.defaultGBS || o.asked.cut || len(sp.GBS) != 1 || len(sp.Seq) != 1 {
		return 0, false
	}
	return search.Raised(sp.GBS[0], sp.Seq[0])
}

// batchWords say how the batch came about where nobody gave it.
func (o *answer) batchWords() string {
	sp := &o.problem.Space
	text := o.defaultWords()
	if sp.FollowGBS {
		text = "of each number of GPUs what search takes of it alone, " + search.UsualBatch()
		if sp.RaiseGBS {
			text += ", doubled up to 60 M until something meets the deadline"
		}
		return text
	}
	if sp.GBS[0] > o.first {
		text = fmt.Sprintf("near 4 M tokens (%s sequences) nothing met the deadline; it was doubled until something did, at most to 60 M", commas(o.first))
		if len(o.result.Best) == 0 {
			text = fmt.Sprintf("from %s sequences, near 4 M tokens, it was doubled up to the 60 M of the largest published runs", commas(o.first))
		}
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

// endWords say what ends the largest micro-batch and the longest sequence, where the
// values were not given: memory and limits, the batch, or the list that was tried.
func (o *answer) endWords() string {
	best := &o.result.Best[0]
	switch o.problem.Objective {
	case search.LargestMBS:
		if _, said := o.asked.values[knob.MBS]; said {
			return ""
		}
		tried := slices.Max(search.Tried(o.problem).MBS)
		if best.Setup.MBS == tried {
			return fmt.Sprintf("The global batch ends it: no larger power of two divides %s; a larger --gbs may hold more.", commas(best.Setup.GBS))
		}
		return fmt.Sprintf("Micro-batches up to %s were tried, as far as the global batch goes: none larger than %s has a layout that meets the limits.", commas(tried), commas(best.Setup.MBS))
	case search.LongestSeq:
		text := ""
		if _, said := o.asked.values[knob.Seq]; !said {
			tried := slices.Max(o.problem.Space.Seq)
			text = fmt.Sprintf("Lengths from %s to %s were tried, doubled: ", commas(slices.Min(o.problem.Space.Seq)), commas(tried))
			if best.Setup.Seq == tried {
				text += "the list ends it; --seq with longer ones goes on."
			} else {
				text += fmt.Sprintf("%s does not meet the limits, something between may (--seq).", commas(2*best.Setup.Seq))
			}
		}
		for _, p := range best.Report.Problems {
			if p.Code == "seq-exceeds-model" {
				text += " Note: " + p.Message + "."
			}
		}
		return strings.TrimSpace(text)
	case search.Throughput, search.Cost, search.FewestGPUs, search.LeastMemory:
	}
	return ""
}
