package network

import (
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/overlap"
	"meshscope/engine/record"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/table"
	"meshscope/ui/widget"
)

type communication = engine.Communication

// trafficTable lists what each dimension sends in a step, the focused one under the cursor.
func (v *overview) trafficTable(in *screen.Context) *table.Table[communication] {
	count := func(id, head string, value func(c *communication) int) report.Column[communication] {
		return report.Column[communication]{
			ID: id, Head: head, Aside: head == "", Unit: record.Count,
			Value: func(c *communication) float64 { return float64(value(c)) },
		}
	}
	return table.Plain([]report.Column[communication]{
		{ID: "dimension", Text: func(c *communication) string { return c.Dimension }},
		count("pipeline rank", "", func(c *communication) int { return c.Rank }),
		count("GPUs of a group", "GPUs", func(c *communication) int { return c.GroupSize }),
		{ID: "spans", Head: "spans", Text: func(c *communication) string { return c.Spans }},
		{
			ID: "sent", Head: "sent/GPU", Unit: record.Traffic,
			Value: func(c *communication) float64 { return float64(c.Bytes) },
		},
		{
			ID: "time", Head: "time", Unit: record.Seconds,
			Value: func(c *communication) float64 { return float64(c.Seconds) },
		},
		{
			ID: "exposed", Head: "exposed", Unit: record.Seconds,
			Value: func(c *communication) float64 { return float64(c.Exposed) },
		},
		{
			ID: "of the step", Head: "of step %", Unit: record.Share,
			Value: func(c *communication) float64 { return float64(c.Exposed / in.Report.Time.Step) },
		},
		{
			ID: "operation", Head: "operation", Drop: 1, Cut: true,
			Text: func(c *communication) string { return c.Operation },
		},
	}, v.focus(in))
}

// traffic draws what each dimension sends, and how much of its time is hidden behind work.
func (v *overview) traffic(in *screen.Context, w, h int) []string {
	list := in.Report.Communication
	if len(list) == 0 {
		l := widget.NewLine(w).Gap(2).Put(in.Paint(themes.Muted), "none: a single GPU")
		return widget.Height([]string{in.Heading(w, "TRAFFIC", "", ""), l.String()}, w, h)
	}
	most := 0.0
	for i := range list {
		most = max(most, float64(list[i].Seconds), float64(list[i].Exposed))
	}
	const bar = 15 // with the gap before it
	return v.trafficTable(in).Lines(in, list, w, h, -1, &table.Look[communication]{
		Title: "TRAFFIC", Focus: true, Room: bar,
		Text: func(c *report.Column[communication], r *communication, _ int) string {
			if c.ID == "dimension" {
				return strings.ToUpper(r.Dimension)
			}
			return c.Brief(r)
		},
		Role: func(c *report.Column[communication], _ *communication, _ string) themes.Role {
			switch c.ID {
			case "spans", "operation":
				return themes.Muted
			case "dimension", "exposed":
				return themes.Strong
			}
			return themes.Text
		},
		Behind: func(l *widget.Line, c *communication) {
			if c == nil {
				trafficLegend(in, l)
				return
			}
			stack := widget.Stack{Scale: most, NoTrack: true, Segments: []widget.Segment{
				{Fill: themes.Exposed, Value: float64(c.Exposed)},
				{Fill: themes.Gauge, Value: max(0, float64(c.Seconds-c.Exposed))},
			}}
			if room := l.Left(); room > 3 {
				l.Raw(stack.Render(in.Theme, in.Glyphs, room), room)
			}
		},
	})
}

func trafficLegend(in *screen.Context, l *widget.Line) {
	if l.Left() < 21 {
		return
	}
	muted := in.Paint(themes.Muted)
	widget.Swatch(l, in.Theme, in.Glyphs, themes.Exposed)
	l.Put(muted, " exposed ")
	widget.Swatch(l, in.Theme, in.Glyphs, themes.Gauge)
	word := " overlapped"
	if l.Left() < len(word) {
		word = " overlap"
	}
	l.Put(muted, word)
}

// overlaps lists the ratios and what would make each one hide.
func (v *overview) overlaps(in *screen.Context, w, h int) []string {
	if h <= 0 {
		return nil
	}
	detail, remark := "traffic time over compute time, at the rates reached", "1 or less: can hide"
	if w < 80 {
		detail = "traffic/compute, at rates reached"
	}
	lines := []string{in.Heading(w, "OVERLAP", detail, remark)}
	list := overlap.Ratios(in.Setup, in.Report)
	if len(list) == 0 {
		lines = append(lines, widget.NewLine(w).Gap(2).Put(in.Paint(themes.Muted),
			"no group of more than one GPU").String())
	}
	each := 1 // lines of a ratio
	if len(list) > 0 {
		each = (h - 1) / len(list)
	}
	spent := 0 // lines beyond one for each formula
	for i := range list {
		lines = append(lines, v.overlapRow(in, &list[i], w, each < 2))
		if each < 2 {
			continue
		}
		words := overlapWords(in, &list[i], w)
		lines = append(lines, words[:min(each-1, len(words))]...)
		if each >= 5 {
			words := widget.Wrap(list[i].ID+": "+list[i].Formula+" ("+list[i].Erratum+")", w-5)
			if n := h - 5*len(list) - spent; len(words) > n {
				words = append(words[:n-1], in.Cut(strings.Join(words[n-1:], " "), w-5))
			}
			spent += len(words) - 1
			for _, text := range words {
				lines = append(lines, widget.NewLine(w).Gap(5).Put(in.Paint(themes.Muted), text).String())
			}
		}
	}
	return widget.Height(lines, w, h)
}

func (v *overview) overlapRow(in *screen.Context, o *overlap.Overlap, w int, brief bool) string {
	l := widget.NewLine(w)
	role, word := themes.Good, "can hide"
	if o.Ratio > 1 {
		role, word = themes.Bad, "exposed"
	}
	name := themes.Strong
	if o.Dimension == v.dim(in) {
		name = themes.Accent
	}
	l.Gap(2).Put(in.Paint(name), strings.ToUpper(o.Dimension))
	l.RightAligned(in.Paint(role), ratioText(o.Ratio)+in.Glyphs.Times, 11).Gap(1).Put(in.Paint(role),
		word).Gap(1)
	if !brief {
		text := o.Moves + ", overlapped with " + o.Under
		if l.To(22); widget.Width(text) > l.Left() {
			text = o.Moves
		}
		if widget.Width(text) > l.Left() {
			text, _, _ = strings.Cut(o.Moves, " and ")
		}
		l.Put(in.Paint(themes.Text), in.Cut(text, l.Left()))
		return l.String()
	}
	l.To(22)
	needs(in, l, o)
	if o.Exposed != nil && !in.Asks {
		if text := "(" + figure.Percent(*o.Exposed) + " of all " + strings.ToUpper(o.Dimension) +
			" exposed)"; l.Left() >= widget.Width(text) {
			l.Put(in.Paint(themes.Muted), text)
		}
	}
	return l.String()
}

// needs writes what a ratio of 1 takes, as far as there is room.
func needs(in *screen.Context, l *widget.Line, o *overlap.Overlap) {
	lead := "hides from "
	if o.Ratio <= 1 {
		lead = "still hides at " // the slack: how little is enough
	}
	for i, n := range o.Needs {
		if o.Ratio <= 1 && (n.Quantity == "hidden" || n.Quantity == "layers") {
			continue // how small a model would still hide it helps nobody
		}
		text := needText(&n)
		if n.Quantity == "tp" && o.Ratio <= 1 {
			text = "or at TP " + figure.Comma(int(n.Needed))
		} else if i > 0 {
			text = "or " + text
		}
		if l.Left() < widget.Width(lead+text)+1 {
			return
		}
		l.Put(in.Paint(themes.Muted), lead).Put(in.Paint(themes.Text), text).Gap(1)
		lead = ""
	}
}

func needText(n *overlap.Need) string {
	switch n.Quantity {
	case "tokens":
		return figure.Short(n.Needed) + " tokens/GPU"
	case "bandwidth":
		return figure.Three(n.Needed) + " GB/s"
	case "layers":
		return figure.Three(n.Needed) + " layers"
	case "tp":
		return "TP " + figure.Comma(int(n.Needed))
	default:
		return n.Quantity + " " + figure.Short(n.Needed)
	}
}

// overlapWords returns the lines under a ratio, the telling ones first: what it takes, what the step model
// says, the formula's numbers.
func overlapWords(in *screen.Context, o *overlap.Overlap, w int) []string {
	take := widget.NewLine(w).Gap(5)
	needs(in, take, o)
	lines := []string{take.String()}
	if o.Exposed != nil {
		says := widget.NewLine(w).Gap(5).Put(in.Paint(themes.Muted), "the step exposes ").
			Put(in.Paint(themes.Text), figure.Percent(*o.Exposed)).Put(in.Paint(themes.Muted),
			" of this traffic's time"+waits(*o.Exposed))
		lines = append(lines, says.String())
	}
	text := "F " + figure.Three(float64(o.Input.Rate)/1e12) + " TFLOP/s, W " +
		figure.Three(float64(o.Input.Bandwidth)/1e9) + " GB/s, " + figure.Comma(int(o.Input.Tokens)) +
		" tokens, hidden " + figure.Comma(int(o.Input.Hidden))
	form := widget.NewLine(w).Gap(min(5, max(0, w-widget.Width(text)))) // whole rather than indented
	return append(lines, form.Put(in.Paint(themes.Muted), text).String())
}

// waits says how more time can be exposed than the traffic of one rank takes.
func waits(exposed float64) string {
	if exposed <= 1 {
		return ""
	}
	return ": a rank also waits for the traffic of others"
}

// ratioText writes a ratio, small ones with two digits that count as far as its column has room.
func ratioText(v float64) string {
	switch {
	case v > 0 && v < 0.001:
		return "<1e-3"
	case v > 0 && v < 0.01:
		return strconv.FormatFloat(v, 'g', 1, 64)
	case v > 0 && v < 0.1:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return figure.Three(v)
}
