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

	"meshscope/engine/schedule"
	"meshscope/report/figure"
	palettes "meshscope/themes"
)

// Sizes of the picture in SVG units.
const (
	svgLeft    = 64.0   // rank numbers
	svgRight   = 180.0  // idle share and activations in flight
	svgTop     = 58.0   // heading and legend
	svgWidth   = 1240.0 // of the time axis
	svgRow     = 22.0   // from rank to rank
	svgBar     = 18.0   // height of an operation
	svgLetter  = 6.4    // width of a letter of a label
	svgWide    = 1.0    // labels need this much room on both sides
	svgSmall   = 11     // font sizes
	svgLarge   = 14
	svgTicks   = 10  // at most
	svgHairest = 0.4 // narrower operations have no gap to their neighbour
)

// picture writes a timeline as SVG.
type picture struct {
	*drawing
	out   page
	theme *palettes.Theme
	scale float64 // units per unit of time
}

// writeSVG draws one bar per operation, one row per rank, idle time left empty,
// and a time axis. Each bar says what it is when pointed at.
func (d *drawing) writeSVG(to io.Writer) error {
	if err := d.atMost(maxPictureOps, "--format svg"); err != nil {
		return err
	}
	palette, err := palettes.Load("light")
	if err != nil {
		return err
	}
	p := picture{drawing: d, out: newPage(to), theme: palette.Resolve(colorprofile.TrueColor)}
	if d.timeline.Makespan > 0 {
		p.scale = svgWidth / d.timeline.Makespan
	}
	p.draw()
	return p.out.Flush()
}

func (p *picture) draw() {
	t := p.timeline
	spec := t.Order.Spec
	bottom := svgTop + svgRow*float64(spec.Ranks)
	width, height := svgLeft+svgWidth+svgRight, bottom+34
	p.out.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" role="img" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="%d">`+"\n",
		width, height, width, height, svgSmall)
	heading := fmt.Sprintf("%s: %d ranks, %d stages, %d micro-batches; ends after %s, bubble %s of the work of the slowest rank",
		spec.Kind, spec.Ranks, spec.Stages(), spec.MicroBatches, p.time(t.Makespan), figure.FinePercent(t.BubbleOverIdeal()))
	p.out.printf("<title>%s</title>\n"+`<rect width="%g" height="%g" fill="white"/>`+"\n", heading, width, height)
	p.text(svgLeft, 20, svgLarge, "start", heading)
	p.legend()
	for rank := range spec.Ranks {
		p.rank(rank)
	}
	p.axis(bottom)
	p.out.printf("</svg>\n")
}

func (p *picture) text(x, y float64, size int, anchor, text string) {
	p.out.printf(`<text x="%.2f" y="%.2f" font-size="%d" text-anchor="%s">%s</text>`+"\n", x, y, size, anchor, text)
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
func (p *picture) rank(rank int) {
	t := p.timeline
	o := t.Order
	y := svgTop + svgRow*float64(rank)
	p.text(svgLeft-8, y+svgBar-5, svgSmall, "end", "rank "+strconv.Itoa(rank))
	idle, _ := p.paint(palettes.Idle)
	p.out.printf(`<rect x="%g" y="%.2f" width="%g" height="%g" fill="%s"/>`+"\n", svgLeft, y, svgWidth, svgBar, idle)
	ops := o.Rank(rank)
	for i := 0; i < len(ops); i++ {
		from, to := t.Begin[o.Start[rank]+i]*p.scale, t.End[o.Start[rank]+i]*p.scale
		if !ops[i].Paired() || i+1 == len(ops) {
			if recomputed := t.RecomputeEnd(rank, o.Start[rank]+i) * p.scale; recomputed > from {
				p.recompute(ops[i], from, recomputed, y)
				from = recomputed
			}
			p.bar(o, rank, ops[i], from, to, y, svgBar)
			continue
		}
		p.bar(o, rank, ops[i], from, to, y, svgBar/2)
		i++
		p.bar(o, rank, ops[i], from, to, y+svgBar/2, svgBar/2)
	}
	stats := t.Ranks[rank]
	share := 0.0
	if t.Makespan > 0 {
		share = stats.Idle / t.Makespan
	}
	p.text(svgLeft+svgWidth+8, y+svgBar-5, svgSmall, "start", fmt.Sprintf("idle %s, %d live", figure.FinePercent(share), stats.PeakInFlight))
}

// bar draws one operation, or one of a pair.
func (p *picture) bar(o *schedule.Order, rank int, op schedule.Op, from, to, y, height float64) {
	fill, ink := p.paint(fillOf(op))
	width := to - from
	if width > 4*svgHairest {
		width -= svgHairest
	}
	p.out.printf(`<rect x="%.2f" y="%.2f" width="%.2f" height="%g" fill="%s"><title>%s of stage %d, micro-batch %d: %s to %s</title></rect>`+"\n",
		svgLeft+from, y, max(width, 0.05), height-1, fill, op.Kind(), o.Stage(rank, op), op.MicroBatch(), p.time(from/p.scaleOr1()), p.time(to/p.scaleOr1()))
	size := svgSmall
	if height < svgBar {
		size = 8
	}
	// All bars of a width are labelled alike, whatever their numbers.
	label := strconv.Itoa(op.MicroBatch())
	digits := len(strconv.Itoa(o.Spec.MicroBatches - 1))
	if room := width - 2*svgWide; float64(digits+1)*svgLetter <= room {
		label = op.Kind().String() + label
	} else if float64(digits)*svgLetter > room {
		return
	}
	p.out.printf(`<text x="%.2f" y="%.2f" font-size="%d" text-anchor="middle" fill="%s" pointer-events="none">%s</text>`+"\n",
		svgLeft+from+width/2, y+height/2+float64(size)*0.33, size, ink, label)
}

// recompute draws the part of a backward that runs the forward again.
func (p *picture) recompute(op schedule.Op, from, to, y float64) {
	fill, _ := p.paint(palettes.Recompute)
	p.out.printf(`<rect x="%.2f" y="%.2f" width="%.2f" height="%g" fill="%s"><title>R, recompute of micro-batch %d: %s to %s</title></rect>`+"\n",
		svgLeft+from, y, to-from, svgBar-1, fill, op.MicroBatch(), p.time(from/p.scaleOr1()), p.time(to/p.scaleOr1()))
}

// scaleOr1 is the scale, or 1 where all durations are zero.
func (p *picture) scaleOr1() float64 {
	if p.scale > 0 {
		return p.scale
	}
	return 1
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
	span := p.timeline.Makespan
	if span <= 0 {
		return
	}
	step := math.Pow(10, math.Floor(math.Log10(span/svgTicks)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if span/(step*factor) <= svgTicks {
			step *= factor
			break
		}
	}
	for k := 0; float64(k)*step <= span*(1+1e-9); k++ {
		x := svgLeft + float64(k)*step*p.scale
		p.out.printf(`<line x1="%.2f" y1="%.2f" x2="%.2f" y2="%.2f" stroke="black" stroke-width="0.6"/>`+"\n", x, y, x, y+5)
		p.text(x, y+18, svgSmall, "middle", p.time(float64(k)*step))
	}
}
