package memory

import (
	"fmt"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/ui/screen"
)

// number writes a plain number with at most four digits.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// what explains a term.
func what(term int) string {
	return [...]string{
		"the parameters in the compute format",
		"the gradients, until the update",
		"the optimizer's state: master copy and moments",
		"tensors that forward keeps for backward",
		"output of the head and the loss computed from it",
		"temporaries and buffers of the software stack",
		"allocator, driver and communicators",
		"all terms of the rank at its peak",
	}[term]
}

// depends says what moves a term.
func depends(term int) string {
	return [...]string{
		"falls with TP, PP, EP, and with DP under ZeRO-3; bytes from the precision",
		"falls with TP, PP, EP, and with DP from ZeRO-2 on; bytes from grad-dtype",
		"falls with TP, PP, EP, and with DP from ZeRO-1 on; bytes from the optimizer",
		"grows with seq, mbs and micro-batches in flight; falls with TP, CP, recompute",
		"grows with sequence, mbs and vocabulary; falls with TP, CP; only with the head",
		"depends on the software stack and ZeRO; grows with layer, sequence and mbs",
		"slack grows with allocated memory; the rest is constant",
		"the largest total of all ranks decides whether the setup fits",
	}[term]
}

// moves returns depends, with what is particular to the setup.
func (v *View) moves(in *screen.Context, rank, term int) string {
	if by, _ := v.sharded(in, rank, term); term == weightsTerm && by > 1 && in.Setup.ZeRO < 3 {
		return "sharded by this stack below ZeRO-3 too; the gathered copy that layers use is in buffers"
	}
	return depends(term)
}

// formula returns the focused figure in words, with the current numbers.
func (v *View) formula(in *screen.Context, rank, term int) string {
	m := memoryOf(in)
	r := &m.Ranks[rank]
	value := values(r)[term]
	times := " " + in.Glyphs.Times + " "
	switch term {
	case weightsTerm, gradientsTerm, optimizerTerm:
		return v.stateFormula(in, rank, term, times)
	case activationsTerm:
		if r.InFlight > 0 && value > 0 {
			many := "micro-batches"
			if r.InFlight == 1 {
				many = "micro-batch"
			}
			return fmt.Sprintf("%s %s in flight%s%s of %s = %s", number(r.InFlight), many, times,
				gib(value/units.Bytes(r.InFlight)), figure.Plural(r.Layers, "layer"), gib(value))
		}
		return "none at this rank's peak, which is in the update"
	case logitsTerm:
		tokens, vocab := in.Setup.MicroBatchTokens(), in.Setup.Model.Vocab
		if value <= 0 || tokens <= 0 || vocab <= 0 {
			return "none at this rank's peak: no head is active"
		}
		each := float64(value) / tokens / float64(vocab) * float64(in.Setup.TP)
		return fmt.Sprintf("%s tokens%s%s entries%s%s bytes / TP %d = %s", figure.Comma(int(tokens)), times,
			figure.Comma(vocab), times, number(each), in.Setup.TP, gib(value))
	case buffersTerm:
		return fmt.Sprintf("temporaries and buffers of %s at the peak = %s", in.Setup.Stack.Resolve(),
			gib(value))
	case overheadTerm:
		return overheadWords(r)
	default:
		left := fmt.Sprintf("%s free", gib(m.Usable-value))
		if value > m.Usable {
			left = fmt.Sprintf("%s over", gib(value-m.Usable))
		}
		return fmt.Sprintf("allocated %s + overhead %s = %s of %s: %s", figure.GiB(r.Allocated),
			figure.GiB(r.Overhead), gib(value), figure.GiB(m.Usable), left)
	}
}

// stateFormula returns parameters times bytes, and the share of it that is here.
func (v *View) stateFormula(in *screen.Context, rank, term int, times string) string {
	r := &memoryOf(in).Ranks[rank]
	value := values(r)[term]
	switch {
	case term != optimizerTerm || r.Offloaded == 0:
	case in.Setup.Optimizer.States().Paged:
		return fmt.Sprintf("%s of the rank in host memory, %s of moments on the GPU", gib(r.Offloaded),
			gib(value))
	case in.Setup.Offload.Optimizer():
		return fmt.Sprintf("%s of the rank in host memory, none of the optimizer's on the GPU",
			gib(r.Offloaded))
	}
	if r.Parameters <= 0 {
		return gib(value)
	}
	by, whole := v.sharded(in, rank, term)
	if by == 1 {
		return fmt.Sprintf("%s parameters%s%s bytes = %s", figure.Short(r.Parameters), times,
			number(float64(value)/r.Parameters), gib(value))
	}
	over := fmt.Sprintf("%d ranks", v.answers.shards.Dense)
	if r.Parameters > 0 && in.Setup.Model.IsMoE() {
		over = fmt.Sprintf("%d ranks, experts over %d", v.answers.shards.Dense, v.answers.shards.Expert)
	}
	return fmt.Sprintf("%s parameters%s%s bytes = %s, %s of it here (ZeRO-%d over %s) = %s",
		figure.Short(r.Parameters), times, number(float64(whole)/r.Parameters), gib(whole), part(by),
		in.Setup.ZeRO, over, gib(value))
}

// briefFormula returns the formula of a sharded state in fewer words.
func (v *View) briefFormula(in *screen.Context, rank, term int) string {
	by, whole := v.sharded(in, rank, term)
	r := &memoryOf(in).Ranks[rank]
	if by == 1 || r.Parameters <= 0 {
		return v.formula(in, rank, term)
	}
	return fmt.Sprintf("%s %s %s bytes = %s, %s of it here (ZeRO-%d)", figure.Short(r.Parameters),
		in.Glyphs.Times, number(float64(whole)/r.Parameters), gib(whole), part(by), in.Setup.ZeRO)
}

// overheadWords names the parts of the overhead.
func overheadWords(r *engine.RankMemory) string {
	o := r.OverheadParts
	var parts []string
	for _, p := range []struct {
		name  string
		value units.Bytes
	}{{"allocator slack", o.Slack}, {"driver context", o.Context}, {"communicators", o.Communicators}} {
		if p.value > 0 {
			parts = append(parts, p.name+" "+figure.GiB(p.value))
		}
	}
	if len(parts) == 0 {
		return "none: this stack's formulas count allocated tensors only"
	}
	return strings.Join(parts, " + ") + " = " + gib(r.Overhead)
}

// rankWords returns how a rank stands to what is usable, and what takes most of it; where
// each term comes from is said in the pane.
func rankWords(m *engine.Memory, i int) string {
	r := &m.Ranks[i]
	text := "rank " + strconv.Itoa(r.Rank)
	if i == fullest(m) && len(m.Ranks) > 1 {
		text += ", the fullest"
	}
	if left := m.Usable - r.Total; left >= 0 {
		text += ": " + gib(left) + " free of " + gib(m.Usable)
	} else {
		text += ": " + gib(-left) + " over " + gib(m.Usable)
	}
	if most := largestTerm(r); r.Total > 0 {
		text += "; largest part " + termName(most)[0] + ", " +
			figure.Percent(float64(values(r)[most]/r.Total))
	}
	return text
}
