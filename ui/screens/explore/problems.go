package explore

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Wrong is one problem in the words of the screen.
type Wrong struct {
	Text string
	Fix  string // the nearest legal values; empty where there are none
	Key  string // the key that takes them; empty for all but one
}

// Problems fills the place of the panels when there is nothing to show in
// them: what is wrong with the setup, and what would do.
func Problems(in *screen.Context, wrong []Wrong, w, h int) []string {
	lines := []string{in.Heading(w, "WHY IT IS ILLEGAL", "", "")}
	for _, p := range wrong {
		lines = append(lines, widget.Blank(w))
		sign := in.Glyphs.Cross + " "
		for _, part := range strings.Split(ansi.Wrap(p.Text, max(w-2, 1), ""), "\n") {
			lines = append(lines,
				widget.NewLine(w).Put(in.Paint(themes.Bad), sign).Put(in.Paint(themes.Strong), part).String())
			sign = "  "
		}
		if p.Fix == "" {
			continue
		}
		l := widget.NewLine(w).Gap(2)
		if p.Key != "" {
			l.Put(in.Paint(themes.Key), p.Key).Put(in.Paint(themes.Text), " sets ")
		} else {
			l.Put(in.Paint(themes.Muted), "nearest: ")
		}
		lines = append(lines, l.Put(in.Paint(themes.Current), p.Fix).String())
	}
	return widget.Height(lines, w, h)
}
