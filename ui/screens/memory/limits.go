package memory

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"meshscope/engine/fit"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// limits returns the block that says how far sequence and micro-batch go.
func (v *View) limits(in *screen.Context, w int) []string {
	lines := []string{widget.Heading(in.Theme, in.Glyphs, w, "  LARGEST THAT FITS", "safety margin left free",
		"", themes.Muted)}
	return append(lines, v.limitLines(in, w, "")...)
}

// limitLines returns its sentences; margin says that they leave one, where no heading does.
func (v *View) limitLines(in *screen.Context, w int, margin string) []string {
	var lines []string
	for _, text := range v.limitWords(in, margin) {
		lines = append(lines, wrapped(in, text, w)...)
	}
	return lines
}

// limitBrief returns two lines for where there is no room for sentences.
func (v *View) limitBrief(in *screen.Context, w int) []string {
	if !v.fresh(in) {
		return nil
	}
	l := &v.answers.limits
	line := func(name string, n int, s *fit.Stop) string {
		text := fmt.Sprintf("%s up to %s", name, figure.Comma(n))
		if n <= 0 {
			text = "no " + name + " fits"
		}
		if s != nil {
			text += fmt.Sprintf(", then %s on rank %d, mostly %s", gib(s.Total), s.Rank, s.Term)
		}
		return widget.NewLine(w).Gap(2).Put(in.Paint(themes.Muted), widget.Cut(text, w-2)).String()
	}
	return []string{line("sequence", l.Seq, v.answers.seq), line("micro-batch", l.MBS, v.answers.mbs)}
}

// inseparable is the space inside of a figure and its band, where no line ends.
const inseparable = "\u00a0"

// wrapped returns a sentence on as many lines as it needs.
func wrapped(in *screen.Context, text string, w int) []string {
	var lines []string
	for i, line := range strings.Split(ansi.Wrap(text, max(w-4, 1), ""), "\n") {
		l := widget.NewLine(w).Gap(2)
		if i > 0 {
			l.Gap(2)
		}
		lines = append(lines,
			l.Put(in.Paint(themes.Text), strings.ReplaceAll(line, inseparable, " ")).String())
	}
	return lines
}

// overhead returns the block that names what a GPU uses beyond allocated tensors.
func (v *View) overhead(in *screen.Context, w int) []string {
	r := &memoryOf(in).Ranks[v.cursorRank(memoryOf(in))]
	lines := []string{widget.Heading(in.Theme, in.Glyphs, w, "  OVERHEAD", fmt.Sprintf("of rank %d", r.Rank),
		"", themes.Muted)}
	return append(lines, wrapped(in, overheadWords(r), w)...)
}

// limitWords says how far sequence and micro-batch go, and what stops them.
func (v *View) limitWords(in *screen.Context, margin string) []string {
	if !v.fresh(in) {
		return []string{"searching the largest sequence and micro-batch" + in.Glyphs.Ellipsis}
	}
	l, m := &v.answers.limits, memoryOf(in)
	peak := func(b units.Bytes) string {
		exact := figure.Band{Evidence: &m.Evidence, PlusMinus: in.Glyphs.PlusMinus}
		return strings.ReplaceAll(exact.Of(gib(b)), " ", inseparable)
	}
	room := func(b units.Bytes) string {
		return peak(b) + ", " + strings.ReplaceAll(gib(m.Usable-b)+" free", " ", inseparable)
	}
	seq := fmt.Sprintf("no sequence leaves the safety margin, not even %s tokens", figure.Comma(l.SeqUnit))
	if l.Seq > 0 {
		seq = fmt.Sprintf("longest sequence%s: %s tokens, %s", margin, figure.Comma(l.Seq), room(l.SeqPeak))
	}
	mbs := fmt.Sprintf("no micro-batch leaves the safety margin at %s tokens", figure.Comma(in.Setup.Seq))
	if l.MBS > 0 {
		mbs = fmt.Sprintf("largest micro-batch%s: %s, %s", margin, figure.Comma(l.MBS), room(l.MBSPeak))
	}
	ranks := len(m.Ranks)
	return []string{
		seq + stopWords(v.answers.seq, l.Seq > 0, ranks, figure.Comma(l.SeqUnit)+" more tokens", peak),
		mbs + stopWords(v.answers.mbs, l.MBS > 0, ranks, "one more", peak),
	}
}

// stopWords says what comes in the way of the next value; peak writes a peak.
func stopWords(s *fit.Stop, some bool, ranks int, next string, peak func(units.Bytes) string) string {
	if s == nil {
		return "; memory is not the limit"
	}
	where := ""
	if ranks > 1 {
		where = fmt.Sprintf(" on rank %d", s.Rank)
	}
	if s.Term == fit.Host {
		return ": what is offloaded is " + s.Host
	}
	if !some {
		take := "take"
		if !strings.HasSuffix(s.Term, "s") { // optimizer, overhead
			take = "takes"
		}
		return fmt.Sprintf(": %s%s %s %s of %s", s.Term, where, take, figure.GiB(s.More), peak(s.Total))
	}
	return fmt.Sprintf("; %s would need %s%s: +%s, of which %s +%s", next, peak(s.Total), where,
		figure.GiB(s.Grows), s.Term, figure.GiB(s.More))
}
