package pipeline

import (
	"fmt"
	"math"
	"strings"

	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/timeline"
	"meshscope/ui/widget"
)

// legend names colours and marks, what matters most first.
func (v *View) legend(in *screen.Context, l *layout, w int) string {
	var entries []timeline.LegendEntry
	known := map[string]bool{}
	for i := range l.blocks {
		rows := l.blocks[i].rows
		if rows == nil {
			continue
		}
		for _, e := range rows.Legend() {
			if !known[e.Sign] {
				known[e.Sign] = true
				entries = append(entries, e)
			}
		}
	}
	if s := l.blocks[0].setup; l.tall > 1 && s.VPP > 1 {
		entries = append(entries, timeline.LegendEntry{
			Paint: in.Paint(themes.Text), Sign: "c1",
			Text: "chunk", Brief: "chunk",
		})
	}
	entries = append(entries, v.signs(in, l)...)
	mode := v.mode(l)
	room := w - l.label - widget.Width(mode) - 1
	brief := length(entries, false) > room
	if brief && length(entries, true) > room && l.axis.Folded > 0 && mode == foldWords(l, false) {
		mode = foldWords(l, true)
		room = w - l.label - widget.Width(mode) - 1
	}
	line := widget.NewLine(w).Gap(l.label)
	for _, e := range entries {
		text := words(&e, brief)
		if line.Used()+widget.Width(e.Sign)+len(text)+3 > l.label+room {
			continue // a shorter one may still fit
		}
		line.Put(e.Paint, e.Sign)
		if text != "" {
			line.Put(in.Paint(themes.Muted), " "+text)
		}
		line.Gap(2)
	}
	return line.Right(in.Paint(themes.Accent), mode, 0).String()
}

// signs returns the entries that are no operation: idle time, the selected operation, the one that feeds it.
func (v *View) signs(in *screen.Context, l *layout) []timeline.LegendEntry {
	producer, consumer, here := "  ", "  ", "  "
	if !in.Theme.Colours {
		producer, consumer, here = "<", ">", in.Glyphs.Here
	}
	dot := "."
	if in.Glyphs.Unicode {
		dot = "·"
	}
	waiting := []timeline.LegendEntry{{Paint: in.Paint(themes.Warn), Sign: dot, Text: "idle", Brief: "idle"}}
	if in.Theme.Colours {
		waiting = append(waiting, timeline.LegendEntry{
			Paint: in.Paint(themes.Faint), Sign: dot,
			Text: "before start, after end", Brief: "not active",
		})
	}
	for _, s := range l.stalled(l.frame.Cols) {
		if s {
			waiting = append(waiting, timeline.LegendEntry{
				Paint: in.Paint(themes.Warn),
				Sign:  string(stallSign(in)), Text: "gaps shorter than a cell", Brief: "short gaps",
			})
			break
		}
	}
	return append([]timeline.LegendEntry{
		{Paint: in.Paint(themes.Cursor).Reversed(), Sign: here, Text: "selected"},
		{Paint: in.Paint(themes.Input).Reversed(), Sign: producer, Text: "feeds it", Brief: "feeds it"},
		{Paint: in.Paint(themes.Reader).Reversed(), Sign: consumer, Text: "needs it", Brief: "needs it"},
	}, waiting...)
}

// words returns what an entry says: where there is little room the brief form, which
// may be nothing.
func words(e *timeline.LegendEntry, brief bool) string {
	if brief && (e.Brief != "" || strings.HasPrefix(e.Sign, " ") && strings.TrimSpace(e.Sign) != "") {
		return e.Brief
	}
	return e.Text
}

// length returns how wide entries are.
func length(entries []timeline.LegendEntry, brief bool) int {
	n := 0
	for i := range entries {
		n += widget.Width(entries[i].Sign) + len(words(&entries[i], brief)) + 3
	}
	return n
}

// mode says what changes the picture at the moment.
func (v *View) mode(l *layout) string {
	switch {
	case v.said != "":
		return v.said
	case v.fetching != "":
		return "simulating " + string(v.fetching)
	case v.lost != "":
		return string(v.lost) + " is illegal for this setup"
	case v.playing:
		return "playing " + speedText(v.speed) + ", at " + seconds(l.axis.Moment(v.head))
	case v.head > 0:
		return "paused at " + seconds(l.axis.Moment(v.head)) + ", " + speedText(v.speed)
	case v.critical && v.microBatch:
		return "critical path and one micro-batch"
	case v.critical:
		return "critical path"
	case v.microBatch:
		return "one micro-batch"
	case v.flip && len(l.blocks) > 1:
		return "A and B alternate: v"
	case !l.frame.Legible():
		return "1 shows cells"
	case l.axis.Cut && l.strips == 0: // else the strip says so
		return seconds(l.axis.Whole-l.axis.Length) + " left out"
	case l.axis.Folded > 0:
		return foldWords(l, false)
	}
	return ""
}

// foldWords says how much of the steady state is left out.
func foldWords(l *layout, brief bool) string {
	form := "folded: %d repeats, %s"
	if brief {
		form = "%d folded, %s"
	}
	return fmt.Sprintf(form, l.axis.Folded, seconds(l.axis.Whole-l.axis.Length))
}

// speedText says how fast the playback is: in how long it shows a whole step.
func speedText(speed int) string {
	return fmt.Sprintf("a step in %g s", playSeconds*math.Pow(2, -float64(speed)))
}
