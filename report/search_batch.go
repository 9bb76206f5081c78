package report

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/report/figure"
)

// batchWords tells how the batch was chosen if none was given.
func (o *Search) batchWords() string {
	sp := &o.Problem.Space
	if sp.FollowGBS {
		if o.published() && len(sp.GPUs) > 1 {
			return "using the default of each number of GPUs, near that of the published run nearest in GPUs"
		}
		return "using the default of each number of GPUs, " + o.usualBatch()
	}
	return o.defaultWords()
}

// published reports whether a batch that nobody gave is that of a published run.
func (o *Search) published() bool {
	tokens, _ := o.Problem.Setup.PublishedTokens(slices.Max(o.Problem.Space.GPUs))
	return tokens > 0
}

// usualBatch says what a batch is that nobody gave.
func (o *Search) usualBatch() string {
	tokens, r := o.Problem.Setup.PublishedTokens(slices.Max(o.Problem.Space.GPUs))
	sp := &o.Problem.Space
	one := len(sp.GBS) == 1 && len(sp.Seq) == 1
	if tokens == 0 {
		if one {
			return search.UsualBatch(&o.Problem.Setup, sp.GBS[0], sp.Seq[0])
		}
		return search.UsualBatch(&o.Problem.Setup, 0, 0)
	}
	if one && sp.GBS[0]*sp.Seq[0] != tokens {
		return "one near that of " + r.Run(figure.Comma)
	}
	return "that of " + r.Run(figure.Comma)
}

// gpuWords lists the numbers of GPUs among which the fewest were searched.
func (o *Search) gpuWords() string {
	list := o.Problem.GPUsTried(&o.Result)
	if o.Problem.Objective != search.FewestGPUs || len(list) < 2 {
		return ""
	}
	text := fmt.Sprintf("fewest of these %d numbers of GPUs, powers of two below a node and whole nodes; "+
		"one in between may also suffice: %s", len(list), numberWords(list))
	if !o.Problem.Space.FollowGBS && len(o.Problem.Space.GBS) == 1 {
		text += fmt.Sprintf(". Replicas must divide the batch of %s; another --gbs may need fewer",
			figure.Comma(o.Problem.Space.GBS[0]))
	}
	return text
}

// numberWords lists numbers; of a long list, both ends.
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
		text += figure.Comma(n)
	}
	return text
}

// endWords tells what limits the largest micro-batch or the longest sequence, if the values
// were not given: memory and other limits, the batch, or the list that was tried.
func (o *Search) endWords() string {
	best := &o.Result.Best[0]
	switch o.Problem.Objective {
	case search.LargestMBS:
		if o.Query.Given(knob.MBS) {
			return ""
		}
		tried := slices.Max(search.Tried(o.Problem).MBS)
		if best.Setup.MBS == tried {
			return fmt.Sprintf("The global batch is the limit: no larger power of two divides %s; a larger "+
				"--gbs may allow more.", figure.Comma(best.Setup.GBS))
		}
		return fmt.Sprintf("Micro-batches up to %s were tried, as far as the global batch allows; none "+
			"larger than %s has a layout that meets the limits.", figure.Comma(tried),
			figure.Comma(best.Setup.MBS))
	case search.LongestSeq:
		text := ""
		if !o.Query.Given(knob.Seq) {
			tried := slices.Max(o.Problem.Space.Seq)
			text = fmt.Sprintf("Sequence lengths from %s to %s were tried, doubling: ",
				figure.Comma(slices.Min(o.Problem.Space.Seq)), figure.Comma(tried))
			if best.Setup.Seq == tried {
				text += "the longest one fits; give longer ones with --seq."
			} else {
				text += fmt.Sprintf("%s does not meet the limits, a length in between may (--seq).",
					figure.Comma(2*best.Setup.Seq))
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
