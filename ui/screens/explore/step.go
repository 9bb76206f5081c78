package explore

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Step draws the time of one optimizer step with its parts, and the same in
// words of throughput.
func Step(in *screen.Context, w, h int) []string {
	t, th := in.Report.Time, in.Report.Throughput
	if t == nil || th == nil || h < 2 {
		return emptyPanel(in, w, h, "STEP", "")
	}
	parts := screen.StepParts(t)
	bar := widget.Stack{Segments: screen.Segments(parts, true), Scale: float64(t.Step)}
	var items []legendItem
	var columns []column
	for _, p := range parts {
		of := p.Value / float64(t.Step)
		columns = append(columns, column{
			fill: p.Fill, marked: true, names: p.Names,
			value: figure.Percent(of),
		})
		if of >= 5e-3 { // 1 %, rounded
			items = append(items, legendItem{p.Fill, p.Names[0], p.Names[2], figure.Percent(of)})
		}
	}
	lines := []string{stepHeading(in, t, w), bar.Render(in.Theme, in.Glyphs, w)}
	named, ok := legendLines(in, items, "", w, 1)
	if !ok || h >= 6 {
		if table, fits := tableLines(in, columns, w); fits && h >= 5 {
			named = table
		}
	}
	lines = append(lines, named...)
	lines = append(lines, why(in, t, th, w, h-len(lines))...)
	rates := throughput(in, th, w, h-len(lines))
	if h > len(lines)+len(rates) {
		lines = append(lines, widget.Blank(w))
	}
	return widget.Height(append(lines, rates...), w, h)
}

// stepHeading gives the step time with its band.
func stepHeading(in *screen.Context, t *engine.Time, w int) string {
	detail := "% of step"
	if w >= 72 {
		detail = "% of one step, on the slowest rank"
	}
	return in.HeadingIn(themes.Strong, w, "STEP", detail, bandOf(in, &t.Evidence).Of(figure.Seconds(t.Step)))
}

// why names the traffic that the step waits for, the largest first: in a second line where there is one to
// spare, else what has no room is counted. In the last line that is left a rate stands next to it.
func why(in *screen.Context, t *engine.Time, th *engine.Throughput, w, lines int) []string {
	if lines <= 0 {
		return nil
	}
	waits := slices.DeleteFunc(slices.Clone(in.Report.Communication), func(c engine.Communication) bool {
		return c.Exposed <= t.Step/2000
	})
	slices.SortStableFunc(waits, func(a, b engine.Communication) int {
		return cmp.Compare(b.Exposed, a.Exposed)
	})
	const name = "exposed: "
	text, whole := exposedOf(waits, w-len(name))
	l := widget.NewLine(w).Put(in.Paint(themes.Muted), name)
	if !whole && lines > 2 {
		all, _ := exposedOf(waits, math.MaxInt)
		parts := widget.Wrap(all, w-len(name))
		rest := widget.NewLine(w).Gap(len(name)).Put(in.Paint(themes.Text), strings.Join(parts[1:], " "))
		return []string{l.Put(in.Paint(themes.Text), parts[0]).String(), rest.String()}
	}
	l.Put(in.Paint(themes.Text), text)
	if rate := figure.Three(th.ModelTFLOPSPerGPU); lines == 1 && l.Left() >= len(rate)+len(" TFLOP/s/GPU")+2 {
		l.Gap(2).Put(in.Paint(themes.Strong), rate).Put(in.Paint(themes.Muted), " TFLOP/s/GPU")
	}
	return []string{l.String()}
}

// exposedOf lists exposed times in at most w cells; what has no room is counted, and whole is false.
func exposedOf(waits []engine.Communication, w int) (text string, whole bool) {
	if len(waits) == 0 {
		return "negligible", true
	}
	var names []string
	for _, c := range waits {
		names = append(names, upper(c.Dimension)+" "+figure.Seconds(c.Exposed))
	}
	for n := len(names); n > 0; n-- {
		text = strings.Join(names[:n], ", ")
		if n < len(names) {
			text += fmt.Sprintf(", %d more", len(names)-n)
		}
		if widget.Width(text) <= w {
			return text, n == len(names)
		}
	}
	return text, false
}

// throughput returns the step in rates: names over figures where there are two
// lines that are wide enough, else each figure with its name.
func throughput(in *screen.Context, th *engine.Throughput, w, lines int) []string {
	rates := [][2]string{
		{figure.Percent(th.MFU), "MFU " + string(in.Setup.MFU)},
		{figure.Percent(th.HFU), "HFU"},
		{figure.Three(th.ModelTFLOPSPerGPU), "TFLOP/s/GPU"},
		{figure.Three(th.TokensPerSecondPerGPU), "tokens/s/GPU"},
		{figure.Short(th.TokensPerSecond), "tokens/s"},
	}
	if lines == 1 {
		rates = rates[2:] // the MFU is in its gauge too
	}
	if lines >= 2 {
		var columns []column
		for _, r := range rates {
			columns = append(columns, column{names: [3]string{r[1], r[1], r[1]}, value: r[0]})
		}
		if out, ok := tableLines(in, columns, w); ok {
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
		l.Gap(gap).Put(in.Paint(themes.Strong), r[0]).Gap(1).Put(in.Theme.Word(themes.Muted, r[1]), r[1])
	}
	out = append(out, l.String())
	return out[:min(max(lines, 0), len(out))]
}

// Traffic lists what each dimension sends in a step, over which link, and how
// much of the time is not hidden behind work.
func Traffic(in *screen.Context, w, h int) []string {
	if len(in.Report.Communication) == 0 {
		return emptyPanel(in, w, h, "TRAFFIC", "none: a single GPU")
	}
	lines := []string{in.Heading(w, "TRAFFIC", "sent per GPU and step", "time  exposed")}
	name, gpus := 2, 12
	for _, c := range in.Report.Communication {
		name = max(name, len(c.Dimension))
		gpus = max(gpus, 4+len(figure.Plural(c.GroupSize, "GPU")))
	}
	for _, c := range in.Report.Communication {
		l := widget.NewLine(w)
		l.Put(in.Paint(themes.Strong), upper(c.Dimension)).To(name + 2)
		l.Put(in.Paint(themes.Text), figure.Plural(c.GroupSize, "GPU")).To(name + gpus)
		room := w - 3*columnWidth - l.Used() - 1
		where := "in the " + c.Spans
		if widget.Width(where) > room {
			where = c.Spans
		}
		if room -= widget.Width(where) + 2; room >= widget.Width(c.Operation) {
			where += "  " + c.Operation
		}
		l.Put(in.Paint(themes.Muted), widget.Cut(where, w-3*columnWidth-l.Used()-1))
		l.RightAligned(in.Paint(themes.Text), figure.Traffic(c.Bytes), w-2*columnWidth)
		takes, exposed := figure.Seconds(c.Seconds), figure.Seconds(c.Exposed)
		// of some traffic both are one
		if in.Hides(communicated(in, ".exposed")...) || in.Hides("time.exposed") {
			takes, exposed = "???", "???"
		}
		l.RightAligned(in.Paint(themes.Text), takes, w-columnWidth)
		l.RightAligned(in.Paint(themes.Strong), exposed, w)
		lines = append(lines, l.String())
	}
	return widget.Height(lines, w, h)
}

// communicated returns the figures of a kind of all traffic, as a report names them.
func communicated(in *screen.Context, kind string) []string {
	var ids []string
	for _, c := range in.Report.Communication {
		ids = append(ids, "communication."+c.Dimension+kind)
	}
	return ids
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
