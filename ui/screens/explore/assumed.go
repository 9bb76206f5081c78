package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"meshscope/engine"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Assumed lists the assumptions of the figures and what they leave out: whole sentences,
// as far as there is room, one of each list before more of the first, and how many
// more there are. Knobs that are set and change nothing come first.
func Assumed(in *screen.Context, idle []engine.NoEffect, w, h int) []string {
	type list struct {
		head      []string
		sentences [][]string
	}
	lists := []list{
		{head: []string{in.Heading(w, "ASSUMED", "", "")}},
		{head: []string{widget.Blank(w), in.Heading(w, "NOT MODELLED", "", "")}},
	}
	whole := 0
	for i, texts := range [][]string{
		engine.WithNoEffects(idle, in.Report.Assumptions),
		in.Report.NotModelled,
	} {
		whole += len(lists[i].head)
		for _, s := range texts {
			lines := sentence(in, s, w)
			lists[i].sentences, whole = append(lists[i].sentences, lines), whole+len(lines)
		}
	}
	first, second := &lists[0], &lists[1]
	room, reserved := h, 0
	if whole > h {
		room-- // for how many more there are
		if len(first.sentences) > 0 && len(second.sentences) > 0 {
			reserved = len(second.head) + len(second.sentences[0])
			if len(first.head)+len(first.sentences[0])+reserved > room {
				reserved = 0
			}
		}
	}
	var lines []string
	left := 0
	for i := range lists {
		l := &lists[i]
		head := l.head
		for j, s := range l.sentences {
			next := slices.Concat(head, s)
			if len(lines)+len(next) > room-reserved {
				left += len(l.sentences) - j
				break
			}
			lines, head = append(lines, next...), nil
		}
		reserved = 0
	}
	if left > 0 {
		lines = append(lines, widget.NewLine(w).Gap(2).Put(in.Paint(themes.Muted),
			fmt.Sprintf("%d more: eval lists all", left)).String())
	}
	return widget.Height(lines, w, h)
}

// sentence returns one of a list, behind a dot.
func sentence(in *screen.Context, s string, w int) []string {
	parts := strings.Split(ansi.Wrap(s, w-2, ""), "\n")
	for i, part := range parts {
		l := widget.NewLine(w)
		if i == 0 {
			l.Put(in.Paint(themes.Faint), in.Glyphs.Dot)
		}
		parts[i] = l.To(2).Put(in.Paint(themes.Muted), part).String()
	}
	return parts
}
