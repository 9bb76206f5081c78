package pipeline

import (
	"fmt"
	"strings"

	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// details draws the text under the picture where there is room: the operation under
// the cursor, then the schedule.
func (v *View) details(in *screen.Context, l *layout, cursor *spot, w, h int) []string {
	var lines []string
	if h > wordLines {
		lines = append(lines, widget.Blank(w))
	}
	name, text := v.explain(cursor, false)
	first := true
	for _, part := range widget.Wrap(name+"  "+text, w) {
		line := widget.NewLine(w)
		if first {
			line.Put(in.Paint(themes.Strong), name)
			part = strings.TrimPrefix(part, name)
		}
		first = false
		lines = append(lines, line.Put(in.Paint(themes.Text), part).String())
	}
	if in.Asks { // the rest compares ranks in words
		return widget.Height(lines, w, h)
	}
	b := &l.blocks[cursor.block]
	all := v.paceFacts(b, cursor.rank, "")
	room := h - len(lines) // of the layers
	for _, fact := range all {
		room -= len(widget.Wrap(fact[1], w-factWidth))
	}
	kinds := kindsOf(b, cursor.rank, (w-factWidth)*min(room, kindLines))
	switch {
	case kinds != "" && room < 1:
		all = v.paceFacts(b, cursor.rank, report.Kinds(&b.report.Memory.Ranks[cursor.rank]))
	case kinds != "":
		all = append(all, [2]string{"layers", kinds})
		room -= len(widget.Wrap(kinds, w-factWidth))
	}
	if room > 0 {
		lines = append(lines, widget.Blank(w))
	}
	for _, fact := range append(all, facts(b, cursor.rank)...) {
		parts := widget.Wrap(fact[1], w-factWidth)
		if len(lines)+len(parts) > h {
			continue // a shorter one may fit
		}
		for i, part := range parts {
			line := widget.NewLine(w)
			if i == 0 {
				line.Put(in.Paint(themes.Muted), fact[0])
			}
			lines = append(lines, line.To(factWidth).Put(in.Paint(themes.Text), part).String())
		}
	}
	return widget.Height(lines, w, h)
}

const (
	factWidth = 14
	kindLines = 3 // of the layers of all ranks at most
)

// kindsOf writes the layers of the ranks by kind, in so many cells: of all ranks, or of one; empty where all
// layers are alike.
func kindsOf(b *block, rank, room int) string {
	m := b.report.Memory
	if m == nil || rank >= len(m.Ranks) {
		return ""
	}
	if all := strings.Join(report.KindsOfRanks(m), "; "); len(all) <= room {
		return all
	}
	return fmt.Sprintf("rank %d: %s", rank, report.Kinds(&m.Ranks[rank]))
}

// facts lists the properties of a schedule, by label.
func facts(b *block, rank int) [][2]string {
	p := b.report.Pipeline
	info, _ := p.Schedule.Info()
	f := entryOf(b.setup, b.report)
	form := "none is exact here"
	switch {
	case b.setup.PP == 1:
		form = "none: a single rank has no pipeline"
	case p.BubbleClosedForm != nil:
		form = report.OverIdeal(p) + ", for equal stages without send/recv; idle time: " + info.Idle
	case info.Idle != "":
		form += "; idle time of equal stages, where it is exact: " + info.Idle
	}
	if p.Disproved != "" {
		form += "; " + p.Disproved
	}
	bubble := figure.Percent(report.BubbleOfStep(b.report)) + " " + report.OfStep +
		": its idle time; e explains it over the work and over all ranks"
	many := "micro-batches"
	if live(f) == "1" {
		many = "micro-batch"
	}
	flight := fmt.Sprintf("at most %s %s; on rank r: %s", live(f), many, info.Memory)
	if b.setup.VPP > 1 {
		flight = fmt.Sprintf("at most %s; with %d chunks to a rank, %s %s; chunks on rank r: %s",
			figure.Plural(f.InFlight, "chunk"), b.setup.VPP, live(f), many, info.Memory)
	}
	out := [][2]string{
		{"schedule", info.Name + fmt.Sprintf("; %s messages; each weight %s", figure.Comma(f.Messages),
			times(max(1, info.WeightCopies)))},
		{"bubble", bubble},
		{"closed form", form},
		{"in flight", flight},
		{"needs", info.Constraint},
		{"from", strings.Trim(info.Paper+"; "+info.Code, "; ")},
	}
	text := overlapped(b, rank)
	if text == "" && b.setup.EP > 1 {
		text = "none: only DualPipe's pairs overlap the expert all-to-all of one direction with the other; " +
			"here only the software stack overlaps any of it"
	}
	if text != "" {
		out = append(out[:2], append([][2]string{{"overlap", text}}, out[2:]...)...)
	}
	return out
}

func times(n int) string {
	if n == 1 {
		return "stored once"
	}
	return fmt.Sprintf("stored %d times", n)
}
