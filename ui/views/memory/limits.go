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
		for i, line := range strings.Split(ansi.Wordwrap(text, max(w-4, 1), ""), "\n") {
			l := widget.NewLine(w).Gap(2)
			if i > 0 {
				l.Gap(2)
			}
			lines = append(lines, l.Put(in.paint(themes.Text), line).String())
		}
	}
	return lines
}

// limitWords says how far sequence and micro-batch go, and what stops them.
func (v *View) limitWords(in Input) []string {
	if !v.fresh(in) {
		return []string{"the largest sequence and micro-batch that fit: working them out" + in.Glyphs.Ellipsis}
	}
	l, m := &v.answers.limits, in.memory()
	seq := fmt.Sprintf("longest sequence that fits: %s tokens, %s", figure.Comma(l.Seq), gib(l.SeqPeak))
	mbs := fmt.Sprintf("largest micro-batch that fits: %s, %s", figure.Comma(l.MBS), gib(l.MBSPeak))
	if l.Seq <= 0 {
		seq = fmt.Sprintf("no sequence fits, not even %s tokens", figure.Comma(l.SeqUnit))
	}
	if l.MBS <= 0 {
		mbs = fmt.Sprintf("no micro-batch fits with %s tokens", figure.Comma(in.Setup.Seq))
	}
	return []string{
		seq + stopWords(v.answers.seq, l.SeqOpen, len(m.Ranks), fmt.Sprintf("%s more tokens", figure.Comma(l.SeqUnit))),
		mbs + stopWords(v.answers.mbs, l.MBSOpen, len(m.Ranks), "one more"),
	}
}

// stopWords says what comes in the way of the next value.
func stopWords(s stop, open bool, ranks int, next string) string {
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
	return fmt.Sprintf("; stopped by %s%s: +%s GiB for %s, %s in all", termName(s.term)[0], where, figure.GiB(s.more), next, figure.GiB(s.total))
}
