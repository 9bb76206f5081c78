package report

import (
	"fmt"
	"html"
	"math"
	"strings"

	"meshscope/engine"
	"meshscope/engine/units"
	"meshscope/report/figure"
)

// Sizes of a picture, in its own units.
const (
	pictureWidth = 900
	pictureLeft  = 70 // names of the bars
	pictureBar   = 18
	pictureRow   = 23
	mostBars     = 16 // ranks that are drawn
)

// barPart is a part of a bar.
type barPart struct {
	name  string
	size  float64
	color string
}

// bar is a bar with its name and what stands behind it.
type bar struct {
	name, after string
	parts       []barPart
}

// drawn returns the size that a part is drawn with: none for one without end.
func (p *barPart) drawn() float64 {
	if math.IsNaN(p.size) || math.IsInf(p.size, 0) {
		return 0
	}
	return p.size
}

// memoryPicture draws the memory of the ranks, with a line at what is usable. Of many ranks it has
// the first ones and the fullest.
func memoryPicture(m *engine.Memory) Picture {
	var bars []bar
	for i := range m.Ranks {
		r := &m.Ranks[i]
		if i >= mostBars-1 && i != m.PeakRank && len(m.Ranks) > mostBars {
			continue
		}
		// Okabe and Ito's colours, which eyes of every kind tell apart.
		parts := []barPart{
			{"weights", r.Weights.GiB(), "#0072b2"},
			{"gradients", r.Gradients.GiB(), "#e69f00"},
			{"optimizer", r.Optimizer.GiB(), "#009e73"},
			{"activations", r.Activations.GiB(), "#56b4e9"},
			{"logits", r.Logits.GiB(), "#cc79a7"},
			{"buffers", r.Buffers.GiB(), "#f0e442"},
			{"overhead", r.Overhead.GiB(), "#999999"},
		}
		bars = append(bars, bar{
			name: fmt.Sprintf("rank %d", r.Rank), after: figure.GiB(r.Total),
			parts: parts,
		})
	}
	return drawBars("Memory per GPU, GiB", bars, m.Usable.GiB(), figure.GiB(m.Usable)+" usable", " GiB")
}

// stepPicture draws the parts of a step.
func stepPicture(t *engine.Time) Picture {
	colors := []string{"#0072b2", "#56b4e9", "#bbbbbb", "#d55e00", "#f0e442", "#cc79a7"}
	b := bar{name: "step", after: figure.Headline(t.Step)}
	for i, part := range StepParts(t) {
		b.parts = append(b.parts,
			barPart{part.Name, float64(part.Time/max(t.Step, units.Seconds(1e-12))) * 100, colors[i]})
	}
	return drawBars("Step, % of its time", []bar{b}, 0, "", " %")
}

// drawBars draws bars on one scale, a legend below them, and a line at a limit (0: none).
func drawBars(title string, bars []bar, limit float64, limitWords, unit string) Picture {
	most := limit
	for _, b := range bars {
		sum := 0.0
		for _, p := range b.parts {
			sum += p.drawn()
		}
		most = max(most, sum)
	}
	var out strings.Builder
	height := 24 + pictureRow*len(bars) + 30
	scale := float64(pictureWidth-pictureLeft-90) / max(most, 1e-12)
	fmt.Fprintf(&out,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" `+
			`role="img" font-family="system-ui,sans-serif" font-size="12"><title>%s</title>`,
		pictureWidth, height, pictureWidth, height, html.EscapeString(title))
	fmt.Fprintf(&out, `<text x="%d" y="14" font-weight="600">%s</text>`, pictureLeft,
		html.EscapeString(title))
	for i, b := range bars {
		x, y := float64(pictureLeft), 24+pictureRow*i
		fmt.Fprintf(&out, `<text x="%d" y="%d" text-anchor="end">%s</text>`, pictureLeft-8, y+13,
			html.EscapeString(b.name))
		for _, p := range b.parts {
			w := p.drawn() * scale
			fmt.Fprintf(&out,
				`<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"><title>%s %s%s</title></rect>`,
				x, y, max(w, 0), pictureBar, p.color, html.EscapeString(p.name), figure.Three(p.size), unit)
			x += w
		}
		fmt.Fprintf(&out, `<text x="%.1f" y="%d">%s</text>`, max(x, pictureLeft+limit*scale)+8, y+13,
			html.EscapeString(b.after))
	}
	bottom := 24 + pictureRow*len(bars)
	if limit > 0 {
		at := pictureLeft + limit*scale
		fmt.Fprintf(&out,
			`<line x1="%.1f" y1="20" x2="%.1f" y2="%d" stroke="#d00000" stroke-width="1.5"/>`+
				`<text x="%.1f" y="14" text-anchor="end" fill="#b00000">%s</text>`,
			at, at, bottom, at, html.EscapeString(limitWords))
	}
	x := pictureLeft
	if len(bars) > 0 {
		for _, p := range bars[0].parts {
			fmt.Fprintf(&out,
				`<rect x="%d" y="%d" width="11" height="11" fill="%s"/><text x="%d" y="%d">%s</text>`, x,
				bottom+8, p.color, x+16, bottom+18, html.EscapeString(p.name))
			x += 16 + 7*len(p.name) + 20
		}
	}
	out.WriteString("</svg>")
	return Picture(out.String())
}
