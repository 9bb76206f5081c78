package report

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/report/figure"
)

// batchWords say how the batch came about where nobody gave it.
func (o *Search) batchWords() string {
	sp := &o.Problem.Space
	text := o.defaultWords()
	if sp.FollowGBS {
		text = "of each number of GPUs what search takes of it alone, " + search.UsualBatch()
		if sp.RaiseGBS {
			text += ", doubled up to 60 M until something meets the deadline"
		}
		return text
	}
	if sp.GBS[0] > o.First {
		text = fmt.Sprintf("near 4 M tokens (%s sequences) nothing met the deadline; it was doubled until something did, at most to 60 M", figure.Comma(o.First))
		if len(o.Result.Best) == 0 {
			text = fmt.Sprintf("from %s sequences, near 4 M tokens, it was doubled up to the 60 M of the largest published runs", figure.Comma(o.First))
		}
	}
	return text
}

// gpuWords say among which numbers of GPUs the fewest were looked for.
func (o *Search) gpuWords() string {
	list := o.Problem.GPUsTried(&o.Result)
	if o.Problem.Objective != search.FewestGPUs || len(list) < 2 {
		return ""
	}
	text := fmt.Sprintf("fewest of these %d numbers of GPUs, whole nodes; another may do too: %s", len(list), numberWords(list))
	if !o.Problem.Space.FollowGBS && len(o.Problem.Space.GBS) == 1 {
		text += fmt.Sprintf(". Only layouts whose copies divide a batch of %s: with another --gbs fewer may do", figure.Comma(o.Problem.Space.GBS[0]))
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
		text += figure.Comma(n)
	}
	return text
}

// endWords say what ends the largest micro-batch and the longest sequence, where the
// values were not given: memory and limits, the batch, or the list that was tried.
func (o *Search) endWords() string {
	best := &o.Result.Best[0]
	switch o.Problem.Objective {
	case search.LargestMBS:
		if o.Query.Given(knob.MBS) {
			return ""
		}
		tried := slices.Max(search.Tried(o.Problem).MBS)
		if best.Setup.MBS == tried {
			return fmt.Sprintf("The global batch ends it: no larger power of two divides %s; a larger --gbs may hold more.", figure.Comma(best.Setup.GBS))
		}
		return fmt.Sprintf("Micro-batches up to %s were tried, as far as the global batch goes: none larger than %s has a layout that meets the limits.", figure.Comma(tried), figure.Comma(best.Setup.MBS))
	case search.LongestSeq:
		text := ""
		if !o.Query.Given(knob.Seq) {
			tried := slices.Max(o.Problem.Space.Seq)
			text = fmt.Sprintf("Lengths from %s to %s were tried, doubled: ", figure.Comma(slices.Min(o.Problem.Space.Seq)), figure.Comma(tried))
			if best.Setup.Seq == tried {
				text += "the list ends it; --seq with longer ones goes on."
			} else {
				text += fmt.Sprintf("%s does not meet the limits, something between may (--seq).", figure.Comma(2*best.Setup.Seq))
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
