package pipeline

import (
	"fmt"

	"meshscope/engine/schedule"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// legend names colours and marks, what matters most first.
func (v *View) legend(in *Input, l *layout, w int) string {
	type entry struct {
		paint      themes.Paint
		sign, text string
	}
	var runs [4]bool
	for i := range l.blocks {
		for _, op := range l.blocks[i].line.Order.Rank(0) {
			runs[op.Kind()] = true
		}
	}
	fills := [4]themes.Fill{themes.Forward, themes.Backward, themes.InputGrad, themes.WeightGrad}
	names := [4]string{"forward", "backward", "input gradient", "weight gradient"}
	var entries []entry
	for kind, name := range names {
		if runs[kind] {
			letter := schedule.OpKind(kind).String()
			if in.Theme.Colours {
				letter = " " + letter + " "
			}
			entries = append(entries, entry{in.Theme.Area(fills[kind]), letter, name})
		}
	}
	producer, consumer, here := "  ", "  ", "  "
	if !in.Theme.Colours {
		producer, consumer, here = "<", ">", in.Glyphs.Here
	}
	entries = append(entries,
		entry{in.paint(themes.Accent).Reversed(), here, "cursor"},
		entry{in.paint(themes.Bad).Reversed(), producer, "its input"},
		entry{in.paint(themes.Good).Reversed(), consumer, "its reader"},
	)
	line := widget.NewLine(w).Gap(l.label)
	mode := v.mode(l)
	room := w - widget.Width(mode) - 2
	for _, e := range entries {
		if line.Used()+widget.Width(e.sign)+len(e.text)+4 > room {
			break
		}
		line.Put(e.paint, e.sign).Put(in.paint(themes.Muted), " "+e.text).Gap(3)
	}
	return line.Right(in.paint(themes.Accent), mode, 0).String()
}

// mode says what changes the picture at the moment.
func (v *View) mode(l *layout) string {
	switch {
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
