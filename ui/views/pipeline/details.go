package pipeline

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"meshscope/themes"
	"meshscope/ui/figure"
	"meshscope/ui/widget"
)

// details are words under the picture where there is room: what the cursor is
// on, then what the schedule is.
func (v *View) details(in *Input, l *layout, cursor *spot, w, h int) []string {
	lines := []string{widget.Blank(w)}
	name, text := v.explain(cursor, false)
	first := true
	for _, part := range wrap(name+"  "+text, w) {
		line := widget.NewLine(w)
		if first {
			line.Put(in.paint(themes.Strong), name)
			part = strings.TrimPrefix(part, name)
		}
		first = false
		lines = append(lines, line.Put(in.paint(themes.Text), part).String())
	}
	if len(l.blocks) == 1 {
		b := &l.blocks[cursor.block]
		lines = append(lines, widget.Blank(w))
		for _, fact := range facts(b) {
			for i, part := range wrap(fact[1], w-factWidth) {
				line := widget.NewLine(w)
				if i == 0 {
					line.Put(in.paint(themes.Muted), fact[0])
				}
				lines = append(lines, line.To(factWidth).Put(in.paint(themes.Text), part).String())
			}
		}
	}
	return widget.Height(lines, w, h)
}

const factWidth = 14

// facts are what is known of a schedule.
func facts(b *block) [][2]string {
	p := b.report.Pipeline
	info, _ := p.Schedule.Info()
	f := figuresOf(b.setup, b.report)
	form := "no exact one for these figures; those shown are simulated"
	if p.BubbleClosedForm != nil {
		form = figure.Percent(*p.BubbleClosedForm) + " of the work for equal stages without hand-overs; idle time " + info.Idle
	}
	out := [][2]string{
		{"schedule", info.Name + fmt.Sprintf("; %s messages; every weight %s", figure.Comma(f.messages), times(f.copies))},
		{"bubble", fmt.Sprintf("%s of the work, %s of the step", f.overIdeal, f.overTotal)},
		{"closed form", form},
		{"in flight", fmt.Sprintf("%d at most; on rank r: %s", f.inFlight, info.Memory)},
		{"needs", info.Constraint},
		{"from", strings.Trim(info.Paper+"; "+info.Code, "; ")},
	}
	if p.BubbleSpan != nil {
		out[1][1] += fmt.Sprintf(", %s inside the ranks' own first start and last end", f.span)
	}
	return out
}

func times(n int) string {
	if n == 1 {
		return "stored once"
	}
	return fmt.Sprintf("stored %d times", n)
}

func wrap(text string, w int) []string {
	if w < 1 {
		return nil
	}
	return strings.Split(ansi.Wordwrap(text, w, ""), "\n")
}
