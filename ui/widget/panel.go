package widget

import (
	"strings"

	"meshscope/themes"
)

// Heading returns the first line of a panel: its name, what the name needs to be
// understood, a thin rule, and a remark at the right end.
func Heading(t *themes.Theme, g Glyphs, w int, name, detail, remark string, role themes.Role) string {
	l := NewLine(w)
	words := strings.TrimLeft(name, " ") // a heading may be underlined, blanks before it not
	l.Gap(Width(name) - Width(words))
	if after, marked := strings.CutPrefix(words, g.Pointer+" "); marked {
		l.Put(t.Paint(themes.Strong), g.Pointer).Gap(1)
		words = after
	}
	l.Put(t.Paint(themes.Heading), words)
	if detail != "" {
		l.Gap(1).Put(t.Paint(themes.Muted), detail)
	}
	end := w
	if remark != "" && l.Left() > Width(remark)+2 {
		end = w - Width(remark) - 1
	}
	if rule := end - l.Used() - 1; rule > 1 {
		l.Gap(1).Put(t.Paint(themes.Faint), Fill(g.Rule, rule))
	}
	if end < w {
		l.To(end+1).Put(t.Paint(role), remark)
	}
	return l.String()
}

// Swatch writes the sign by which a fill is recognised: its letter on its
// colour, or its shade.
func Swatch(l *Line, t *themes.Theme, g Glyphs, f themes.Fill) {
	mark := f.Mark()
	switch {
	case t.Colours:
		l.Put(t.Area(f), string(mark.Letter))
	case g.Unicode && !t.Dimmed:
		l.Put(t.Paint(themes.Strong), string(mark.Letter))
		l.Put(t.Paint(themes.Text), string(mark.Shade))
	default:
		l.Put(t.Paint(themes.Strong), string(mark.Letter))
	}
}

// SwatchWidth returns 1, or 2 where letter and shade stand next to each other.
func SwatchWidth(t *themes.Theme, g Glyphs) int {
	if !t.Colours && g.Unicode && !t.Dimmed {
		return 2
	}
	return 1
}

// RanksShown chooses the ranks that n rows show: all when they fit; else those
// of keep, the first of them first where there is no room for all, and a window
// that starts at the rank from.
func RanksShown(ranks, from, n int, keep ...int) []int {
	if ranks <= n {
		all := make([]int, max(ranks, 0))
		for i := range all {
			all[i] = i
		}
		return all
	}
	shown := make([]bool, ranks)
	left := n
	take := func(i int) {
		if i >= 0 && i < ranks && left > 0 && !shown[i] {
			shown[i] = true
			left--
		}
	}
	for _, i := range keep {
		take(i)
	}
	for i := min(max(from, 1), ranks-1); left > 0 && i < ranks; i++ {
		take(i)
	}
	for i := ranks - 1; left > 0 && i >= 0; i-- {
		take(i)
	}
	picked := make([]int, 0, max(n, 0))
	for i, s := range shown {
		if s {
			picked = append(picked, i)
		}
	}
	return picked
}
