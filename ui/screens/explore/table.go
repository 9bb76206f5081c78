package explore

import (
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// column is a name over a figure. Names stand still while figures change, so a
// change costs few bytes and the eye finds every figure where it was.
type column struct {
	fill   themes.Fill // its swatch stands before the name
	marked bool        // has a fill
	names  [3]string   // in full, brief, briefest
	value  string
}

// tableLines writes the names in one line and the figures below them; ok is false
// when not even the briefest names fit.
func tableLines(in *screen.Context, columns []column, w int) (lines []string, ok bool) {
	for variant := range 3 {
		for gap := 2; gap >= 1; gap-- {
			if names, values, fits := tryTable(in, columns, w, variant, gap); fits {
				return []string{names, values}, true
			}
		}
	}
	return nil, false
}

func tryTable(in *screen.Context, columns []column, w, variant, gap int) (names, values string, ok bool) {
	top, bottom := widget.NewLine(w), widget.NewLine(w)
	x := 0
	for _, c := range columns {
		width := max(widget.Width(c.names[variant])+c.indent(in), c.indent(in)+widget.Width(c.value))
		if x+width > w {
			return "", "", false
		}
		top.To(x)
		if c.marked {
			putSwatch(in, top, c.fill)
			top.Gap(1)
		}
		name := in.Paint(themes.Muted)
		if !c.marked { // a legend explains itself
			name = in.Theme.Word(themes.Muted, c.names[variant])
		}
		top.Put(name, c.names[variant])
		bottom.To(x+c.indent(in)).Put(in.Paint(themes.Text), c.value)
		x += width + gap
	}
	return top.String(), bottom.String(), true
}

// indent returns the width of the swatch and the blank behind it.
func (c *column) indent(in *screen.Context) int {
	if !c.marked {
		return 0
	}
	return swatchWidth(in) + 1
}
