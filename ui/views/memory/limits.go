package memory

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"meshscope/themes"
	"meshscope/ui/figure"
	"meshscope/ui/widget"
)

// limits is the block that says how far sequence and micro-batch go.
func (v *View) limits(in Input, w int) []string {
	lines := []string{widget.Heading(in.Theme, in.Glyphs, w, "  STOPS FITTING", "", "", themes.Muted)}
	return append(lines, v.limitLines(in, w)...)
}

// limitLines are its sentences.
func (v *View) limitLines(in Input, w int) []string {
	var lines []string
	for _, text := range v.limitWords(in) {
		lines = append(lines, in.wrapped(text, w)...)
	}
	return lines
}

// limitBrief are two lines for where there is no room for sentences.
func (v *View) limitBrief(in Input, w int) []string {
	if !v.fresh(in) {
		return nil
	}
	l := &v.answers.limits
	line := func(name string, n int, s stop, open bool) string {
		text := fmt.Sprintf("%s up to %s", name, figure.Comma(n))
		if n <= 0 {
			text = "no " + name + " fits"
		}
		if s.known && !open {
			text += fmt.Sprintf(", then %s on rank %d: +%s, %s", termName(s.term)[0], s.rank, figure.GiB(s.more), gib(s.total))
		}
		return widget.NewLine(w).Gap(2).Put(in.paint(themes.Muted), widget.Cut(text, w-2)).String()
	}
	return []string{line("sequence", l.Seq, v.answers.seq, l.SeqOpen), line("micro-batch", l.MBS, v.answers.mbs, l.MBSOpen)}
}

// wrapped is a sentence on as many lines as it needs.
func (in *Input) wrapped(text string, w int) []string {
	var lines []string
	for i, line := range strings.Split(ansi.Wordwrap(text, max(w-4, 1), ""), "\n") {
		l := widget.NewLine(w).Gap(2)
		if i > 0 {
			l.Gap(2)
		}
		lines = append(lines, l.Put(in.paint(themes.Text), line).String())
	}
	return lines
}

// overhead is the block that names what a GPU uses beyond allocated tensors.
func (v *View) overhead(in Input, w int) []string {
	r := &in.memory().Ranks[v.cursorRank(in.memory())]
	lines := []string{widget.Heading(in.Theme, in.Glyphs, w, "  OVERHEAD", fmt.Sprintf("of rank %d", r.Rank), "", themes.Muted)}
	return append(lines, in.wrapped(overheadWords(r), w)...)
}

// limitWords says how far sequence and micro-batch go, and what stops them.
func (v *View) limitWords(in Input) []string {
	if !v.fresh(in) {
		return []string{"the largest sequence and micro-batch that fit: working them out" + in.Glyphs.Ellipsis}
	}
	l, m := &v.answers.limits, in.memory()
	seq := fmt.Sprintf("no sequence fits, not even %s tokens", figure.Comma(l.SeqUnit))
	if l.Seq > 0 {
		seq = fmt.Sprintf("longest sequence that fits: %s tokens, %s", figure.Comma(l.Seq), gib(l.SeqPeak))
	}
	mbs := fmt.Sprintf("no micro-batch fits with %s tokens", figure.Comma(in.Setup.Seq))
	if l.MBS > 0 {
		mbs = fmt.Sprintf("largest micro-batch that fits: %s, %s", figure.Comma(l.MBS), gib(l.MBSPeak))
	}
	ranks := len(m.Ranks)
	return []string{
		seq + stopWords(v.answers.seq, l.SeqOpen, l.Seq > 0, ranks, figure.Comma(l.SeqUnit)+" more tokens"),
		mbs + stopWords(v.answers.mbs, l.MBSOpen, l.MBS > 0, ranks, "one more"),
	}
}

// stopWords says what comes in the way of the next value.
func stopWords(s stop, open, some bool, ranks int, next string) string {
	switch {
	case open:
		return "; memory is not what ends it"
	case !s.known:
		return ""
	}
	where := ""
	if ranks > 1 {
		where = fmt.Sprintf(" on rank %d", s.rank)
	}
	if !some {
		return fmt.Sprintf(": %s%s take %s of %s", termName(s.term)[0], where, figure.GiB(s.more), gib(s.total))
	}
	return fmt.Sprintf("; stopped by %s%s: +%s GiB for %s, %s in all", termName(s.term)[0], where, figure.GiB(s.more), next, figure.GiB(s.total))
}
