package cli

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/colorprofile"

	"meshscope/engine"
	"meshscope/engine/schedule"
	"meshscope/report"
	"meshscope/report/figure"
	palettes "meshscope/themes"
	"meshscope/ui/timeline"
)

// Sizes of the picture in SVG units.
const (
	svgLeft    = 64.0  // rank numbers
	svgRight   = 180.0 // idle share and activations in flight
	svgTop     = 58.0  // heading and legend
	svgStrip   = 30.0  // the whole step, where the picture leaves anything out
	svgColumn  = 7.4   // of the axis: a letter and a little more
	svgColumns = 168
	svgPage    = 86   // columns on a page, which has
	svgRanks   = 16   // so many ranks at most
	svgRow     = 22.0 // from rank to rank
	svgBar     = 18.0 // height of an operation
	svgLetter  = 6.4  // width of a letter of a label
	svgWide    = 1.0  // labels need this much room on both sides
	svgSmall   = 11   // font sizes
	svgLarge   = 14
	svgTick    = 80.0 // from tick to tick at least
	svgHairest = 0.4  // narrower operations have no gap to their neighbour
)

// picture writes a timeline as SVG.
type picture struct {
	*drawing
	out   page
	theme *palettes.Theme
	top   float64 // of the first rank
	width float64 // of the time axis
	parts []timeline.Part
	ranks []int
}

// writeSVG draws one bar per operation, one row per rank, idle time left empty, and a time axis, of
// what the Pipeline screen shows of the step. Each bar says what it is when pointed at.
func (d *drawing) writeSVG(to io.Writer, columns, ranks int) error {
	palette, err := palettes.Load("light")
	if err != nil {
		return err
	}
	p := picture{
		drawing: d, out: newPage(to), theme: palette.Resolve(colorprofile.TrueColor), top: svgTop,
		width: svgColumn * float64(columns),
	}
	axis := timeline.NewAxis([]*schedule.Timeline{d.timeline}, true, columns, 0)
	frame := axis.Frame(0, 1, columns)
	chart := timeline.Chart{Timeline: d.timeline}
	p.parts, p.ranks = frame.Parts(), chart.Rows(ranks)
	if len(p.parts) > 1 {
		p.top += svgStrip
	}
	p.draw()
	return p.out.Flush()
}

func (p *picture) draw() {
	t := p.timeline
	spec := t.Order.Spec
	bottom := p.top + svgRow*float64(len(p.ranks))
	width, height := svgLeft+p.width+svgRight, bottom+34
	p.out.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" `+
		`role="img" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="%d">`+"\n",
		width, height, width, height, svgSmall)
	heading := fmt.Sprintf("%s: %s, %s, %s; ends after %s, %s", spec.Kind, figure.Plural(spec.Ranks, "rank"),
		figure.Plural(spec.Stages(), "stage"), figure.Plural(spec.MicroBatches, "micro-batch"),
		p.time(t.Makespan), p.bubbleText())
	p.out.printf("<title>%s</title>\n"+`<rect width="%g" height="%g" fill="white"/>`+"\n", heading, width,
		height)
	size := svgLarge
	if float64(len(heading))*svgLetter*svgLarge/svgSmall > width-svgLeft {
		size = svgSmall
	}
	p.text(svgLeft, 20, size, "start", heading)
	p.legend()
	p.strip()
	for i, rank := range p.ranks {
		p.rank(rank, p.top+svgRow*float64(i))
	}
	p.axis(bottom)
	p.out.printf("</svg>\n")
}

// pagePicture returns the pipeline of a report as a page shows it; empty where there is none.
func pagePicture(r *engine.Report) report.Picture {
	var b strings.Builder
	if r.Timeline == nil || r.Pipeline == nil || r.Pipeline.Ranks < 2 ||
		predicted(r).writeSVG(&b, svgPage, svgRanks) != nil {
		return ""
	}
	return report.Picture(b.String())
}

// strip draws the whole step as a line, with what the picture shows of it.
func (p *picture) strip() {
	if len(p.parts) < 2 {
		return
	}
	scale, y := p.width/p.timeline.Makespan, svgTop+4
	shown, _ := p.paint(palettes.Forward)
	p.text(svgLeft-8, y+7, svgSmall, "end", "step")
	for _, part := range p.parts {
		x, width, fill := svgLeft+part.From*scale, (part.To-part.From)*scale, shown
		if part.LeftOut {
			fill = "#dddddd"
		}
		p.out.printf(`<rect x="%.2f" y="%.2f" width="%.2f" height="6" fill="%s"/>`+"\n", x, y, width, fill)
		if words := p.time(part.To-part.From) + " left out"; part.LeftOut &&
			width > svgLetter*float64(len(words)) {
			p.text(x+width/2, y+18, svgSmall, "middle", words)
		}
	}
}

// across returns where a stretch of time is drawn in a part, and whether it is there at all.
func across(part *timeline.Part, from, to float64) (x, width float64, ok bool) {
	from, to = max(from, part.From), min(to, part.To)
	if part.LeftOut || from >= to && !(part.From >= part.To) {
		return 0, 0, false
	}
	scale := 0.0
	if part.To > part.From {
		scale = svgColumn * float64(part.Cols) / (part.To - part.From)
	}
	return svgLeft + svgColumn*float64(part.Col) + (from-part.From)*scale, (to - from) * scale, true
}

func (p *picture) text(x, y float64, size int, anchor, text string) {
	p.out.printf(`<text x="%.2f" y="%.2f" font-size="%d" text-anchor="%s">%s</text>`+"\n", x, y, size, anchor,
		text)
}

// fillOf is the area that stands for an operation; odd chunks have the
// neighbour's shade.
func fillOf(op schedule.Op) palettes.Fill {
	odd := op.Chunk()%2 == 1
	switch op.Kind() {
	case schedule.InputGradient:
		return palettes.InputGrad
	case schedule.WeightGradient:
		return palettes.WeightGrad
	case schedule.Backward:
		if odd {
			return palettes.BackwardAlt
		}
		return palettes.Backward
	case schedule.Forward:
	}
	if odd {
		return palettes.ForwardAlt
	}
	return palettes.Forward
}

// paint is a fill's colour and an ink that is readable on it.
func (p *picture) paint(f palettes.Fill) (fill, ink string) {
	c := color.NRGBAModel.Convert(p.theme.Colour(f)).(color.NRGBA)
	ink = "#000000"
	if 0.299*float64(c.R)+0.587*float64(c.G)+0.114*float64(c.B) < 128 {
		ink = "#ffffff"
	}
	return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B), ink
}

// rank draws the row of one rank.
func (p *picture) rank(rank int, y float64) {
	t := p.timeline
	p.text(svgLeft-8, y+svgBar-5, svgSmall, "end", "rank "+strconv.Itoa(rank))
	idle, _ := p.paint(palettes.Idle)
	for i := range p.parts {
		part := &p.parts[i]
		x, width := svgLeft+svgColumn*float64(part.Col), svgColumn*float64(part.Cols)
		if part.LeftOut {
			p.text(x+width/2, y+svgBar-5, svgSmall, "middle", part.Mark)
			continue
		}
		p.out.printf(`<rect x="%.2f" y="%.2f" width="%.2f" height="%g" fill="%s"/>`+"\n", x, y, width, svgBar,
			idle)
		p.operations(rank, part, y)
	}
	stats := t.Ranks[rank]
	share := 0.0
	if t.Makespan > 0 {
		share = stats.Idle / t.Makespan
	}
	p.text(svgLeft+p.width+8, y+svgBar-5, svgSmall, "start",
		fmt.Sprintf("idle %s, %d live", figure.FinePercent(share), stats.PeakInFlight))
}

// operations draws those of a rank that are in a part.
func (p *picture) operations(rank int, part *timeline.Part, y float64) {
	t := p.timeline
	o := t.Order
	for k := o.Start[rank]; k < o.Start[rank+1]; k++ {
		op, top, height := o.Ops[k], y, svgBar
		begin := t.RecomputeEnd(rank, k)
		switch {
		case op.Paired() && k+1 < o.Start[rank+1]:
			height /= 2
		case k > o.Start[rank] && o.Ops[k-1].Paired():
			top, height = y+svgBar/2, svgBar/2
		}
		if x, width, ok := across(part, t.Begin[k], begin); ok && begin > t.Begin[k] {
			p.recompute(op, x, width, y, p.time(t.Begin[k]), p.time(begin))
		}
		if x, width, ok := across(part, begin, t.End[k]); ok {
			p.bar(o, rank, k, x, width, top, height)
		}
	}
}

// bar draws one operation, or one of a pair, or what a part shows of it.
func (p *picture) bar(o *schedule.Order, rank, k int, x, width, y, height float64) {
	op := o.Ops[k]
	fill, ink := p.paint(fillOf(op))
	if width > 4*svgHairest {
		width -= svgHairest
	}
	p.out.printf(`<rect x="%.2f" y="%.2f" width="%.2f" height="%g" fill="%s">`+
		`<title>%s of stage %d, micro-batch %d: %s to %s</title></rect>`+"\n",
		x, y, max(width, 0.05), height-1, fill, op.Kind(), o.Stage(rank, op), op.MicroBatch(),
		p.time(p.timeline.Begin[k]), p.time(p.timeline.End[k]))
	size := svgSmall
	if height < svgBar {
		size = 8
	}
	// All bars of a width are labelled alike, whatever their numbers.
	label := strconv.Itoa(op.MicroBatch())
	digits := len(strconv.Itoa(o.Spec.MicroBatches - 1))
	if room := width - 2*svgWide; float64(digits+1)*svgLetter <= room {
		label = op.Kind().String() + label
	} else if float64(len(label))*svgLetter > room {
		return
	}
	p.out.printf(`<text x="%.2f" y="%.2f" font-size="%d" text-anchor="middle" fill="%s" `+
		`pointer-events="none">%s</text>`+"\n",
		x+width/2, y+height/2+float64(size)*0.33, size, ink, label)
}

// recompute draws the part of a backward that runs the forward again.
func (p *picture) recompute(op schedule.Op, x, width, y float64, from, to string) {
	fill, _ := p.paint(palettes.Recompute)
	p.out.printf(`<rect x="%.2f" y="%.2f" width="%.2f" height="%g" fill="%s">`+
		`<title>R, recompute of micro-batch %d: %s to %s</title></rect>`+"\n",
		x, y, width, svgBar-1, fill, op.MicroBatch(), from, to)
}

// legend names the kinds of operations that there are.
func (p *picture) legend() {
	o := p.timeline.Order
	x := svgLeft
	for _, item := range []struct {
		kind schedule.OpKind
		name string
	}{
		{schedule.Forward, "F forward"},
		{schedule.Backward, "B backward"},
		{schedule.InputGradient, "I input gradient"},
		{schedule.WeightGradient, "W weight gradient"},
	} {
		if !uses(o, item.kind) {
			continue
		}
		fill, _ := p.paint(fillOf(schedule.NewOp(item.kind, 0, 0)))
		p.out.printf(`<rect x="%.2f" y="34" width="12" height="12" fill="%s"/>`+"\n", x, fill)
		p.text(x+17, 44, svgSmall, "start", item.name)
		x += 17 + svgLetter*float64(len(item.name)) + 24
	}
	if len(p.timeline.Recompute) > 0 {
		fill, _ := p.paint(palettes.Recompute)
		p.out.printf(`<rect x="%.2f" y="34" width="12" height="12" fill="%s"/>`+"\n", x, fill)
		p.text(x+17, 44, svgSmall, "start", "R recompute")
		x += 17 + svgLetter*float64(len("R recompute")) + 24
	}
	var remarks []string
	if o.Chunks() > 1 {
		remarks = append(remarks, "lighter: odd chunks")
	}
	if slices.ContainsFunc(o.Ops, schedule.Op.Paired) {
		remarks = append(remarks, "stacked: overlapped pair")
	}
	if len(remarks) > 0 {
		p.text(x, 44, svgSmall, "start", strings.Join(remarks, "; "))
	}
}

func uses(o *schedule.Order, kind schedule.OpKind) bool {
	for rank := range o.Spec.Ranks {
		for c := range o.Chunks() {
			if o.Count(rank, c, kind) > 0 {
				return true
			}
		}
	}
	return false
}

// axis draws ticks at round times.
func (p *picture) axis(y float64) {
	span := 0.0 // of a tick, at the scale of all parts
	for i := range p.parts {
		if part := &p.parts[i]; !part.LeftOut && part.Cols > 0 {
			span = (part.To - part.From) / (svgColumn * float64(part.Cols)) * svgTick
		}
	}
	if !(span > 0) {
		return
	}
	step := math.Pow(10, math.Floor(math.Log10(span)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if step*factor >= span {
			step *= factor
			break
		}
	}
	for i := range p.parts {
		part := &p.parts[i]
		for k := max(0, math.Ceil(part.From/step-1e-9)); k*step <= part.To*(1+1e-9); k++ {
			x, _, ok := across(part, k*step, part.To)
			if !ok && k*step < part.To || part.LeftOut {
				break
			}
			if !ok { // the end itself
				x = svgLeft + svgColumn*float64(part.Col+part.Cols)
			}
			p.out.printf(`<line x1="%.2f" y1="%.2f" x2="%.2f" y2="%.2f" stroke="black" stroke-width="0.6"/>`+
				"\n", x, y, x, y+5)
			p.text(x, y+18, svgSmall, "middle", p.time(k*step))
		}
	}
}
