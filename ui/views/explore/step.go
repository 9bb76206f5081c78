package explore

import (
	"fmt"

	"meshscope/engine"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/themes"
	"meshscope/ui/figure"
	"meshscope/ui/widget"
)

// Step draws the time of one optimizer step with its parts, and the same in
// words of throughput.
func Step(in Input, w, h int) []string {
	t, th := in.Report.Time, in.Report.Throughput
	if t == nil || th == nil || h < 2 {
		return in.empty(w, h, "STEP", "")
	}
	parts := []struct {
		fill  themes.Fill
		names [3]string
		value units.Seconds
	}{
		{themes.Compute, [3]string{"compute", "compute", "comp"}, t.Compute},
		{themes.Recompute, [3]string{"recompute", "recomp", "reco"}, t.Recompute},
		{themes.Bubble, [3]string{"bubble", "bubble", "bub"}, t.Bubble},
		{themes.Exposed, [3]string{"exposed comm", "comm", "comm"}, t.Exposed},
		{themes.Update, [3]string{"optimizer", "optim", "opt"}, t.Optimizer},
	}
	bar := widget.Stack{Scale: float64(t.Step)}
	var items []legendItem
	var columns []column
	for _, p := range parts {
		share := figure.Percent(float64(p.value / t.Step))
		bar.Segments = append(bar.Segments, widget.Segment{Fill: p.fill, Value: float64(p.value), Label: p.names[0]})
		columns = append(columns, column{fill: p.fill, marked: true, names: p.names, value: share})
		if p.value/t.Step >= 5e-5 { // 0.01 %
			items = append(items, legendItem{p.fill, p.names[0], p.names[1], share})
		}
	}
	lines := []string{in.stepHeading(t, w), bar.Render(in.Theme, in.Glyphs, w)}
	if legend, ok := in.table(columns, w); ok && h >= 6 {
		lines = append(lines, legend...)
	} else {
		lines = append(lines, in.legend(items, "", w, 1)...)
	}
	rates := in.throughput(th, w, h-len(lines))
	if h > len(lines)+len(rates) {
		lines = append(lines, widget.Blank(w))
	}
	return widget.Height(append(lines, rates...), w, h)
}

func (in *Input) stepHeading(t *engine.Time, w int) string {
	detail := ""
	if w >= 66 {
		detail = "time of one step, by what the busiest rank does"
	}
	return in.heading(w, "STEP", detail, figure.Seconds(t.Step), themes.Strong)
}

// throughput is the step in rates: names over figures where there are two
// lines that are wide enough, else each figure with its name.
func (in *Input) throughput(th *engine.Throughput, w, lines int) []string {
	rates := [][2]string{
		{figure.Percent(th.MFU), "MFU " + string(in.Setup.MFU)},
		{figure.Percent(th.HFU), "HFU"},
		{figure.Three(th.ModelTFLOPSPerGPU), "TFLOP/s/GPU"},
		{figure.Three(th.TokensPerSecondPerGPU), "tokens/s/GPU"},
		{figure.Short(th.TokensPerSecond), "tokens/s"},
	}
	if lines >= 2 {
		var columns []column
		for _, r := range rates {
			columns = append(columns, column{names: [3]string{r[1], r[1], r[1]}, value: r[0]})
		}
		if out, ok := in.table(columns, w); ok {
			return out
		}
	}
	var out []string
	l := widget.NewLine(w)
	for _, r := range rates {
		gap := 3
		if l.Used() == 0 {
			gap = 0
		}
		if l.Left() < gap+widget.Width(r[0])+1+widget.Width(r[1]) {
			out, gap = append(out, l.String()), 0
			l = widget.NewLine(w)
		}
		l.Gap(gap).Put(in.paint(themes.Strong), r[0]).Gap(1).Put(in.paint(themes.Muted), r[1])
	}
	out = append(out, l.String())
	return out[:min(max(lines, 0), len(out))]
}

// Traffic lists what each dimension sends in a step, over which link, and how
// much of the time is not hidden behind work.
func Traffic(in Input, w, h int) []string {
	if len(in.Report.Communication) == 0 {
		return in.empty(w, h, "TRAFFIC", "none: one GPU has nobody to talk to")
	}
	lines := []string{in.heading(w, "TRAFFIC", "sent per GPU and step", "takes  exposed", themes.Muted)}
	for _, c := range in.Report.Communication {
		l := widget.NewLine(w)
		l.Put(in.paint(themes.Strong), upper(c.Dimension)).To(4)
		l.Put(in.paint(themes.Text), figure.Comma(c.GroupSize)+" GPUs").To(14)
		room := w - 3*columnWidth - l.Used() - 1
		where := "in the " + c.Spans
		if widget.Width(where) > room {
			where = c.Spans
		}
		if room -= widget.Width(where) + 2; room >= widget.Width(c.Operation) {
			where += "  " + c.Operation
		}
		l.Put(in.paint(themes.Muted), widget.Cut(where, w-3*columnWidth-l.Used()-1))
		l.RightAligned(in.paint(themes.Text), figure.Traffic(c.Bytes), w-2*columnWidth)
		l.RightAligned(in.paint(themes.Text), figure.Seconds(c.Seconds), w-columnWidth)
		l.RightAligned(in.paint(themes.Strong), figure.Seconds(c.Exposed), w)
		lines = append(lines, l.String())
	}
	return widget.Height(lines, w, h)
}

// columnWidth is that of the right-aligned columns of the traffic panel.
const columnWidth = 9

func upper(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'a' && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}

// BubbleText spells the closed form of the bubble with the current numbers;
// empty where no form is exact.
func BubbleText(p *engine.Pipeline) string {
	if p.BubbleClosedForm == nil {
		return ""
	}
	value := figure.Percent(*p.BubbleClosedForm)
	v := 1
	if p.Ranks > 0 {
		v = max(p.Stages/p.Ranks, 1)
	}
	idle := figure.Comma(p.Ranks - 1)
	switch {
	case p.Schedule == schedule.Naive:
		return "bubble p-1 = " + idle + " = " + value
	case v > 1:
		return fmt.Sprintf("bubble (p-1)/(v m) = %s/%s = %s", idle, figure.Comma(v*p.MicroBatches), value)
	default:
		return fmt.Sprintf("bubble (p-1)/m = %s/%s = %s", idle, figure.Comma(p.MicroBatches), value)
	}
}
