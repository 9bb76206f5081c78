package compare

import (
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/overlap"
	"meshscope/engine/recipe"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// methodRow is one line of the matrix: a method, what it is now, and the traffic
// that it causes.
type methodRow struct {
	name      string
	note      knob.ID
	now       func(*engine.Setup) string
	on        func(*engine.Setup) bool
	dimension []string
}

func degree(of func(*engine.Setup) int) (now func(*engine.Setup) string, on func(*engine.Setup) bool) {
	return func(s *engine.Setup) string { return strconv.Itoa(of(s)) },
		func(s *engine.Setup) bool { return of(s) > 1 }
}

// methodRows returns the methods in the order of the playbook's summary.
func methodRows() []methodRow {
	row := func(name string, note knob.ID, of func(*engine.Setup) int, dimension ...string) methodRow {
		now, on := degree(of)
		return methodRow{name, note, now, on, dimension}
	}
	return []methodRow{
		row("DP", knob.DP, func(s *engine.Setup) int { return s.DP }, "dp", "expert-dp"),
		{
			"ZeRO", knob.ZeRO,
			func(s *engine.Setup) string { return "stage " + strconv.Itoa(s.ZeRO) },
			func(s *engine.Setup) bool { return s.ZeRO > 0 }, nil,
		},
		row("TP", knob.TP, func(s *engine.Setup) int { return s.TP }, "tp", "etp"),
		{
			"SP", knob.SP,
			func(s *engine.Setup) string { return figure.OnOff(s.SP) },
			func(s *engine.Setup) bool { return s.SP && s.TP > 1 }, nil,
		},
		row("CP", knob.CP, func(s *engine.Setup) int { return s.CP }, "cp"),
		row("PP", knob.PP, func(s *engine.Setup) int { return s.PP }, "pp"),
		row("EP", knob.EP, func(s *engine.Setup) int { return s.EP }, "ep"),
		{
			"recompute", knob.Recompute,
			func(s *engine.Setup) string { return s.Recompute.String() },
			func(s *engine.Setup) bool { return s.Recompute.Mode != recipe.RecomputeNone }, nil,
		},
	}
}

// matrix says of every method what it is set to, what it sends, what it cuts and
// what it costs; those in use are lit.
func (v *View) matrix(in *screen.Context, w, h int) []string {
	lines := []string{in.Heading(w, "METHODS", "what each cuts and costs, with the current values",
		"ratio: traffic over compute")}
	if v.fault != "" {
		return widget.Height(append(lines, putLine(in, w, themes.Bad, v.fault)), w, h)
	}
	muted := in.Paint(themes.Muted)
	lines = append(lines, widget.NewLine(w).Gap(2).Put(muted, "method").RightAligned(muted, "now",
		20).RightAligned(muted, "sent/GPU", 29).RightAligned(muted, "exposed", 37).RightAligned(muted,
		"ratio", 44).To(proseAt).Put(muted, "cuts; costs").String())
	list := methodRows()
	rooms := v.rooms(list, w, h-len(lines))
	at := min(v.row, len(list)-1)
	for i := range list {
		n := 1
		switch {
		case rooms != nil:
			n = rooms[i]
		case i == at: // a line each; that under the cursor is told in full
			n = max(h-1-len(list), 1)
		}
		lines = append(lines, v.methodLines(in, &list[i], i == at, w, n)...)
	}
	return widget.Height(lines, w, h)
}

// rooms returns so many lines for each method that none of its first sentences is cut, what
// is left dealt out to all; nil where there are not so many.
func (v *View) rooms(list []methodRow, w, h int) []int {
	rooms := make([]int, len(list))
	left := h
	for i := range list {
		note := v.methods[list[i].note]
		rooms[i] = firstLines("cuts "+note.Cuts, w) + firstLines("costs "+note.Costs, w)
		left -= rooms[i]
	}
	if left < 0 {
		return nil
	}
	for i := range rooms {
		rooms[i] += left / len(list)
	}
	return rooms
}

const proseAt = 46

// ratio returns traffic over compute of a method's dimensions, by the Playbook's formulas.
func ratio(in *screen.Context, dimensions []string) string {
	if in.Setup == nil {
		return ""
	}
	for _, o := range overlap.Ratios(in.Setup, in.Report) {
		if slices.Contains(dimensions, o.Dimension) {
			return figure.Three(o.Ratio)
		}
	}
	return ""
}

// firstLines returns how many lines the first sentence of a note takes.
func firstLines(text string, w int) int {
	first, rest, _ := strings.Cut(text, ". ")
	if rest != "" {
		first += "."
	}
	return len(widget.Wrap(first, w-proseAt))
}

func (v *View) methodLines(in *screen.Context, row *methodRow, here bool, w, room int) []string {
	note := v.methods[row.note]
	role, value := themes.Muted, themes.Muted
	if row.on(in.Setup) {
		role, value = themes.Strong, themes.Current
	}
	l := widget.NewLine(w)
	if here {
		l.Put(in.Paint(themes.Accent), in.Glyphs.Pointer)
	}
	l.To(2).Put(in.Paint(role), row.name).RightAligned(in.Paint(value), row.now(in.Setup), 20)
	if sent, exposed, ok := traffic(in, row.dimension); ok {
		l.RightAligned(in.Paint(themes.Text), sent, 29).RightAligned(in.Paint(themes.Text), exposed, 37)
		l.RightAligned(in.Paint(themes.Text), ratio(in, row.dimension), 44)
	}
	var prose []string
	if room == 1 {
		prose = whole(note.Cuts, w-proseAt, 1, in)
	} else {
		prose = whole("cuts "+lower(note.Cuts), w-proseAt, max(room-firstLines("costs "+note.Costs, w), 1),
			in)
		prose = append(prose, whole("costs "+lower(note.Costs), w-proseAt, room-len(prose), in)...)
	}
	var lines []string
	for i, text := range prose {
		if i > 0 {
			l = widget.NewLine(w)
		}
		lines = append(lines, l.To(proseAt).Put(in.Paint(themes.Text), text).String())
	}
	if len(lines) == 0 {
		lines = append(lines, l.String())
	}
	if len(lines) < room && room > 2 {
		lines = append(lines, widget.Blank(w))
	}
	return lines
}

// traffic returns what the dimensions of a method send and its exposed part.
func traffic(in *screen.Context, dimensions []string) (sent, exposed string, ok bool) {
	if in.Report == nil || len(dimensions) == 0 {
		return "", "", false
	}
	total, ok := in.Report.Sent(dimensions...)
	return figure.Traffic(total.Bytes), figure.Seconds(total.Exposed), ok
}
