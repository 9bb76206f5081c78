package explore

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"meshscope/themes"
	"meshscope/ui/widget"
)

// Assumed lists what the figures rest on and what they leave out, as far as
// there is room.
func Assumed(in Input, w, h int) []string {
	lines := in.sentences("ASSUMED", in.Report.Assumptions, w)
	rest := in.sentences("NOT MODELLED", in.Report.NotModelled, w)
	if len(lines)+1+len(rest) <= h || len(lines)+4 <= h {
		lines = append(append(lines, widget.Blank(w)), rest...)
	}
	if len(lines) > h && h > 0 {
		lines = append(lines[:h-1], widget.NewLine(w).Gap(2).Put(in.paint(themes.Muted), in.Glyphs.Ellipsis).String())
	}
	return widget.Height(lines, w, h)
}

func (in *Input) sentences(title string, sentences []string, w int) []string {
	lines := []string{in.heading(w, title, "", "", themes.Muted)}
	for _, s := range sentences {
		for i, part := range strings.Split(ansi.Wrap(s, w-2, ""), "\n") {
			l := widget.NewLine(w)
			if i == 0 {
				l.Put(in.paint(themes.Faint), in.Glyphs.Dot)
			}
			lines = append(lines, l.To(2).Put(in.paint(themes.Muted), part).String())
		}
	}
	return lines
}
