package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"meshscope/themes"
	"meshscope/ui/widget"
)

// Assumed lists what the figures rest on and what they leave out: whole sentences,
// as far as there is room, and how many more there are.
func Assumed(in Input, w, h int) []string {
	var lines []string
	left := 0
	for _, list := range []struct {
		title     string
		sentences []string
	}{{"ASSUMED", in.Report.Assumptions}, {"NOT MODELLED", in.Report.NotModelled}} {
		head := []string{in.heading(w, list.title, "", "", themes.Muted)}
		if len(lines) > 0 {
			head = append([]string{widget.Blank(w)}, head...)
		}
		for i, s := range list.sentences {
			next := slices.Concat(head, in.sentence(s, w))
			last := i == len(list.sentences)-1 && list.title == "NOT MODELLED"
			if left > 0 || len(lines)+len(next) > h || !last && len(lines)+len(next) == h {
				left += len(list.sentences) - i
				break
			}
			lines, head = append(lines, next...), nil
		}
	}
	if left > 0 {
		lines = append(lines, widget.NewLine(w).Gap(2).Put(in.paint(themes.Muted), fmt.Sprintf("%d more: eval lists all", left)).String())
	}
	return widget.Height(lines, w, h)
}

// sentence is one of a list, behind a dot.
func (in *Input) sentence(s string, w int) []string {
	parts := strings.Split(ansi.Wrap(s, w-2, ""), "\n")
	for i, part := range parts {
		l := widget.NewLine(w)
		if i == 0 {
			l.Put(in.paint(themes.Faint), in.Glyphs.Dot)
		}
		parts[i] = l.To(2).Put(in.paint(themes.Muted), part).String()
	}
	return parts
}
