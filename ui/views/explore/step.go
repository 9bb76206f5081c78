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
		fill        themes.Fill
		name, brief string
		value       units.Seconds
	}{
		{themes.Compute, "compute", "comp", t.Compute},
		{themes.Recompute, "recompute", "reco", t.Recompute},
		{themes.Bubble, "bubble", "bub", t.Bubble},
		{themes.Exposed, "exposed comm", "comm", t.Exposed},
		{themes.Update, "optimizer", "opt", t.Optimizer},
	}
	bar := widget.Stack{Scale: float64(t.Step)}
	var items []legendItem
	for _, p := range parts {
		bar.Segments = append(bar.Segments, widget.Segment{Fill: p.fill, Value: float64(p.value), Label: p.name})
		if p.value > 0 && t.Step > 0 {
			items = append(items, legendItem{p.fill, p.name, p.brief, figure.Percent(float64(p.value / t.Step))})
		}
	}
	lines := []string{
		in.heading(w, "STEP", "time of one step, by what the busiest rank does", figure.Seconds(t.Step), themes.Strong),
		bar.Render(in.Theme, in.Glyphs, w),
	}
	if w < 66 {
		lines[0] = in.heading(w, "STEP", "", figure.Seconds(t.Step), themes.Strong)
	}
	lines = append(lines, in.legend(items, w, 1)...)
	if h >= 6 {
		lines = append(lines, widget.Blank(w))
	}
	lines = append(lines, in.throughput(th, w)...)
	return widget.Height(lines, w, h)
}

// throughput is the line of rates; it takes two lines where one is too short.
func (in *Input) throughput(th *engine.Throughput, w int) []string {
	convention := string(in.Setup.MFU)
	type pair struct{ value, unit string }
	first := []pair{
		{figure.Three(th.TokensPerSecondPerGPU), "tokens/s/GPU"},
		{figure.Three(th.ModelTFLOPSPerGPU), "TFLOP/s/GPU"},
		{figure.Short(th.TokensPerSecond), "tokens/s in all"},
	}
	second := []pair{
		{figure.Percent(th.MFU), "MFU (" + convention + ")"},
		{figure.Percent(th.HFU), "HFU"},
	}
	write := func(pairs []pair) string {
		l := widget.NewLine(w)
		for i, p := range pairs {
			if i > 0 {
				l.Gap(3)
			}
			if l.Left() < widget.Width(p.value)+widget.Width(p.unit)+1 {
				break
			}
			l.Put(in.paint(themes.Strong), p.value).Gap(1).Put(in.paint(themes.Muted), p.unit)
		}
		return l.String()
	}
	return []string{write(first), write(second)}
}

// Traffic lists what each dimension sends in a step, over which link, and how
// much of the time is not hidden behind work.
func Traffic(in Input, w, h int) []string {
	if len(in.Report.Communication) == 0 {
		return in.empty(w, h, "TRAFFIC", "none: one GPU has nobody to talk to")
	}
	wide := w >= 64
	detail := "sent per GPU and step"
	lines := []string{in.heading(w, "TRAFFIC", detail, "exposed", themes.Muted)}
	for _, c := range in.Report.Communication {
		l := widget.NewLine(w)
		l.Put(in.paint(themes.Strong), upper(c.Dimension)).To(4)
		l.Put(in.paint(themes.Text), fmt.Sprintf("%d GPUs", c.GroupSize)).To(15)
		l.Put(in.paint(themes.Muted), "in the "+c.Spans).To(29)
		l.RightAligned(in.paint(themes.Text), figure.Traffic(c.Bytes), 38)
		if wide {
			l.Gap(2).Put(in.paint(themes.Muted), widget.Cut(c.Operation, w-40-21))
		}
		l.RightAligned(in.paint(themes.Muted), figure.Seconds(c.Seconds), w-10)
		l.RightAligned(in.paint(themes.Strong), figure.Seconds(c.Exposed), w)
		lines = append(lines, l.String())
	}
	return widget.Height(lines, w, h)
}

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
