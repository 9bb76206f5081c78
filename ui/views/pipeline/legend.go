package pipeline

import (
	"fmt"

	"meshscope/themes"
	"meshscope/ui/widget"
)

// legend names colours and marks, what matters most first.
func (v *View) legend(in *Input, l *layout, w int) string {
	var entries, waiting []widget.LegendEntry
	known := map[string]bool{}
	for i := range l.blocks {
		rows := widget.NewRows(l.blocks[i].line, &l.frame, in.Theme, in.Glyphs, false)
		if rows == nil {
			continue
		}
		for _, e := range rows.Legend() {
			if !known[e.Text] {
				known[e.Text] = true
				if e.Text == "waiting" {
					waiting = append(waiting, e)
					continue
				}
				entries = append(entries, e)
			}
		}
	}
	producer, consumer, here := "  ", "  ", "  "
	if !in.Theme.Colours {
		producer, consumer, here = "<", ">", in.Glyphs.Here
	}
	entries = append(append(entries, waiting...),
		widget.LegendEntry{Paint: in.paint(themes.Strong).Reversed(), Sign: here, Text: "cursor"},
		widget.LegendEntry{Paint: in.paint(themes.Bad).Reversed(), Sign: producer, Text: "its input"},
		widget.LegendEntry{Paint: in.paint(themes.Good).Reversed(), Sign: consumer, Text: "its reader"},
	)
	line := widget.NewLine(w).Gap(l.label)
	mode := v.mode(l)
	room := w - widget.Width(mode) - 2
	for _, e := range entries {
		if line.Used()+widget.Width(e.Sign)+len(e.Text)+4 > room {
			break
		}
		line.Put(e.Paint, e.Sign).Put(in.paint(themes.Muted), " "+e.Text).Gap(2)
	}
	return line.Right(in.paint(themes.Accent), mode, 0).String()
}

// mode says what changes the picture at the moment.
func (v *View) mode(l *layout) string {
	switch {
	case v.fetching != "":
		return "working out " + string(v.fetching)
	case v.lost != "":
		return string(v.lost) + " cannot run this setup"
	case v.playing:
		return "playing " + speedText(v.speed)
	case v.head > 0:
		return "paused " + speedText(v.speed)
	case v.critical && v.microBatch:
		return "critical path and one micro-batch"
	case v.critical:
		return "critical path"
	case v.microBatch:
		return "one micro-batch"
	case len(l.blocks) > 1 && !v.unfolded && l.axis.Folded == 0:
		return "nothing to fold in both"
	case l.axis.Folded > 0:
		return fmt.Sprintf("folded: %d times the same, %s", l.axis.Folded, seconds(l.axis.Whole-l.axis.Length))
	}
	return ""
}

func speedText(speed int) string {
	switch {
	case speed < 0:
		return "x1/" + []string{"1", "2", "4"}[min(2, -speed)]
	default:
		return "x" + []string{"1", "2", "4", "8", "16"}[min(4, speed)]
	}
}
