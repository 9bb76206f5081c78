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
// they fit, brief ones or only letters where not, and a remark at the end.
func legendLines(in *screen.Context, items []legendItem, remark string, w, lines int) []string {
	for _, name := range []func(legendItem) string{
		func(i legendItem) string { return i.name },
		func(i legendItem) string { return i.brief },
		func(legendItem) string { return "" },
	} {
		if out, ok := tryLegend(in, items, remark, w, lines, name); ok {
			return out
		}
	}
	out, _ := tryLegend(in, items, remark, w, lines, func(legendItem) string { return "" })
	return out
}

func tryLegend(in *screen.Context, items []legendItem, remark string, w, lines int,
	name func(legendItem) string,
) ([]string, bool) {
	var out []string
	l := widget.NewLine(w)
	swatch := swatchWidth(in) + 1
	for _, item := range items {
		text := name(item)
		if text != "" && item.value != "" {
			text += " "
		}
		need := swatch + widget.Width(text) + widget.Width(item.value)
		gap := 2
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
		l.Gap(1).Put(in.Paint(themes.Muted), text).Put(in.Paint(themes.Text), item.value)
	}
	if l.Left() > widget.Width(remark)+1 {
		l.Right(in.Paint(themes.Muted), remark, 0)
	}
	out = append(out, l.String())
	if len(out) > lines {
		return out[:max(lines, 0)], false
	}
	return out, true
}

// putSwatch writes the sign by which a fill is recognised: its letter on its colour,
// or its shade.
func putSwatch(in *screen.Context, l *widget.Line, f themes.Fill) {
	widget.Swatch(l, in.Theme, in.Glyphs, f)
}

// swatchWidth returns 1, or 2 where letter and shade stand next to each other.
func swatchWidth(in *screen.Context) int { return widget.SwatchWidth(in.Theme, in.Glyphs) }
