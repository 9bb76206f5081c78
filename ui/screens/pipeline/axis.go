package pipeline

import (
	"slices"
	"strconv"

	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/timeline"
	"meshscope/ui/widget"
)

// axis returns the line of times, with the cursor's and the playback's places.
func (v *View) axis(in *screen.Context, l *layout, w int) string {
	line := widget.NewLine(w).Gap(l.label)
	at := l.frame.Column(min(v.at*l.axis.Whole, l.axis.Whole*(1-1e-12)))
	if v.head > 0 {
		at = l.frame.Column(l.axis.Moment(v.head))
	}
	// The cursor's mark may take the place of a stroke, not of a figure.
	ticks := slices.DeleteFunc(l.frame.Ticks(timeText), func(t timeline.Tick) bool {
		return at > t.Col && at <= t.Col+widget.Width(t.Text)
	})
	text := []rune(l.frame.Text(ticks, in.Glyphs))
	stalled := l.stalled(len(text))
	for i := range stalled { // not between the words of a tick
		beside := func(j int) bool { return j < 0 || j >= len(text) || text[j] == ' ' || j == at }
		stalled[i] = stalled[i] && text[i] == ' ' && beside(i-1) && beside(i+1)
	}
	for i := 0; i < len(text); {
		j, role := i+1, themes.Muted
		switch {
		case i == at:
			role, text[i] = themes.Accent, []rune(in.Glyphs.Up)[0]
		case stalled[i]:
			role, text[i] = themes.Warn, stallSign(in)
			for ; j < len(text) && j != at && stalled[j]; j++ {
				text[j] = stallSign(in)
			}
		default:
			for j < len(text) && j != at && !stalled[j] {
				j++
			}
		}
		line.Put(in.Paint(role), string(text[i:j]))
		i = j
	}
	if l.margin > 0 {
		line.To(l.label + l.plot)
		at := l.label + l.plot
		if l.pace > 0 {
			for _, name := range []string{"layers", "F ms", "B ms"} {
				at += l.pace / 3
				line.RightAligned(in.Paint(themes.Muted), name, at)
			}
		}
		line.RightAligned(in.Paint(themes.Muted), "idle", at+idleWidth)
		line.RightAligned(in.Paint(themes.Muted), "live", w)
	}
	return line.String()
}

// stalled says, by column, where ranks wait for less than their cells show.
func (l *layout) stalled(n int) []bool {
	out := make([]bool, n)
	for i := range l.blocks {
		if rows := l.blocks[i].rows; rows != nil {
			for c, s := range rows.Stalled() {
				if c < n {
					out[c] = out[c] || s
				}
			}
		}
	}
	return out
}

// stallSign marks a column in which ranks wait for less than their cells show.
func stallSign(in *screen.Context) rune {
	if in.Glyphs.Unicode {
		return '˙'
	}
	return '.'
}

// timeText returns a moment of an axis whose strokes are step seconds apart.
func timeText(step, at float64) string {
	scale, unit := 1.0, "s"
	switch {
	case at >= 1:
	case step < 1e-5:
		scale, unit = 1e6, "us"
	case step < 0.1:
		scale, unit = 1e3, "ms"
	}
	digits := 0
	for d := step * scale; d < 0.999 && digits < 6; d *= 10 {
		digits++
	}
	return strconv.FormatFloat(at*scale, 'f', digits, 64) + " " + unit
}

// overview returns the whole step small, and which parts of it the picture shows.
func (v *View) overview(in *screen.Context, l *layout, cursor *spot) []string {
	var lines []string
	if n := l.strips - 1; n > 0 {
		if !l.small.Is(cursor.line, l.plot, n) {
			l.small = timeline.NewOverview(cursor.line, &l.axis, l.plot, n)
		}
		lines = l.small.Render(in.Theme, in.Glyphs)
	}
	lines = append(lines, l.frame.Windows(l.axis.Whole, in.Theme, in.Glyphs, l.plot,
		func(left float64) string {
			return seconds(left) + " left out"
		}))
	for i, text := range lines {
		line := widget.NewLine(l.label+l.plot+l.margin).Gap(l.label).Raw(text, l.plot)
		if i == 0 && l.margin > 0 {
			name := "whole step"
			if len(l.blocks) > 1 {
				name = "whole of " + [2]string{"A", "B"}[cursor.block]
			}
			line.Gap(1).Put(in.Paint(themes.Muted), name)
		}
		lines[i] = line.String()
	}
	return lines
}
