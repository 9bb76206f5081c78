// Package explore draws the panels of the Explore screen. Each panel is a
// function of one Report, a size and a theme; all figures come from the Report.
package explore

import (
	"meshscope/engine"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// bandOf is how exact a figure of the report is.
func bandOf(in *screen.Context, e *engine.Evidence) figure.Band {
	return figure.Band{Evidence: e, PlusMinus: in.Glyphs.PlusMinus}
}

// emptyPanel is a panel that has nothing to show yet.
func emptyPanel(in *screen.Context, w, h int, name, why string) []string {
	l := widget.NewLine(w)
	l.Gap(2).Put(in.Paint(themes.Muted), why)
	return widget.Height([]string{in.Heading(w, name, "", ""), l.String()}, w, h)
}

// legendItem is one entry of a legend under a stacked bar.
type legendItem struct {
	fill        themes.Fill
	name, brief string
	value       string
}

// legendLines writes entries in as many lines as are given, with full names where
// they fit, brief ones or only letters where not, and a remark at the end; named is false for letters.
func legendLines(in *screen.Context, items []legendItem, remark string, w, lines int) (out []string,
	named bool,
) {
	full := func(i legendItem) string { return i.name }
	brief := func(i legendItem) string { return i.brief }
	none := func(legendItem) string { return "" }
	for n, try := range []struct {
		name   func(legendItem) string
		gap    int // between items
		behind int // a sign
	}{{full, 2, 1}, {brief, 2, 1}, {none, 2, 1}, {none, 1, 1}, {none, 1, 0}} {
		out = legendOf(in, items, remark, w, try.gap, try.behind, try.name)
		if len(out) <= lines {
			return out, n < 2
		}
	}
	return out[:max(lines, 0)], false
}

func legendOf(in *screen.Context, items []legendItem, remark string, w, apart, behind int,
	name func(legendItem) string,
) (out []string) {
	l := widget.NewLine(w)
	for _, item := range items {
		text := name(item)
		if text != "" && item.value != "" {
			text += " "
		}
		need := swatchWidth(in) + behind + widget.Width(text) + widget.Width(item.value)
		gap := apart
		if l.Used() == 0 {
			gap = 0
		}
		if l.Left() < need+gap {
			out = append(out, l.String())
			l = widget.NewLine(w)
			gap = 0
		}
		l.Gap(gap)
		putSwatch(in, l, item.fill)
		l.Gap(behind).Put(in.Paint(themes.Muted), text).Put(in.Paint(themes.Text), item.value)
	}
	if l.Left() > widget.Width(remark)+1 {
		l.Right(in.Paint(themes.Muted), remark, 0)
	}
	return append(out, l.String())
}

// putSwatch writes the sign by which a fill is recognised: its letter on its colour,
// or its shade.
func putSwatch(in *screen.Context, l *widget.Line, f themes.Fill) {
	widget.Swatch(l, in.Theme, in.Glyphs, f)
}

// swatchWidth returns 1, or 2 where letter and shade stand next to each other.
func swatchWidth(in *screen.Context) int { return widget.SwatchWidth(in.Theme, in.Glyphs) }
