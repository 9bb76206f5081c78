package memory

import (
	"fmt"
	"strconv"

	"meshscope/engine"
	"meshscope/engine/memory"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// layerRow is a part of a layer, or (part < 0) the sum of its kind.
type layerRow struct{ kind, part int }

// layerRowsOf lists the rows of the layer pane, sums above their parts.
func (a *answers) layerRowsOf() []layerRow {
	var rows []layerRow
	for k := len(a.kinds) - 1; k >= 0; k-- { // the layers with experts first
		rows = append(rows, layerRow{k, -1})
		for p := range a.kinds[k].Parts {
			rows = append(rows, layerRow{k, p})
		}
	}
	return rows
}

// size writes bytes of a part in the unit that suits it.
func size(b units.Bytes) string {
	switch {
	case b >= units.GiB:
		return figure.Three(b.GiB()) + " GiB"
	case b >= units.MiB:
		return figure.Three(float64(b/units.MiB)) + " MiB"
	case b > 0:
		return figure.Three(float64(b/units.KiB)) + " KiB"
	default:
		return "0"
	}
}

// whole adds up the parts of a kind of layer.
func whole(k *engine.LayerParts) memory.Part {
	sum := memory.Part{Name: "layer"}
	switch {
	case k.MoE:
		sum.Name = "MoE layer"
	default:
		sum.Name = "dense layer"
	}
	for _, p := range k.Parts {
		sum.Parameters += p.Parameters
		sum.States += p.States
		sum.Activations += p.Activations
	}
	return sum
}

// at returns the layer part of a row.
func (a *answers) at(r layerRow) memory.Part {
	if r.part < 0 {
		return whole(&a.kinds[r.kind])
	}
	return a.kinds[r.kind].Parts[r.part]
}

// layer takes one layer of each kind to pieces.
func (v *View) layer(in *screen.Context, w, h int, headed bool) []string {
	var lines []string
	if headed {
		lines = append(lines, v.heading(in, layerPane, w, "INSIDE A LAYER", "on one GPU", ""))
	}
	if !v.answers.known {
		l := widget.NewLine(w).Gap(2).Put(in.Paint(themes.Muted), "evaluating the parts of a layer"+in.Glyphs.Ellipsis)
		return append(lines, l.String())
	}
	if !v.fresh(in) {
		in.Theme = in.Theme.Dim()
	}
	c := layerColumns(w)
	head := widget.NewLine(w).Gap(2).Put(in.Paint(themes.Muted), "part")
	head.RightAligned(in.Paint(themes.Muted), "parameters", c.params)
	head.RightAligned(in.Paint(themes.Muted), "states", c.states)
	head.RightAligned(in.Paint(themes.Muted), "kept", c.kept)
	if c.bar > 0 {
		head.Gap(2).Put(in.Paint(themes.Muted), widget.Cut("of one micro-batch", max(c.bar, 0)))
	}
	lines = append(lines, head.String())
	rows := v.answers.layerRowsOf()
	most := units.Bytes(0)
	for _, r := range rows {
		if r.part >= 0 {
			most = max(most, v.answers.at(r).Activations)
		}
	}
	below := append([]string{widget.Blank(w)}, v.limits(in, w)...)
	if in.Asks || in.Taught {
		below = nil
	}
	if more := append([]string{widget.Blank(w)}, v.overhead(in, w)...); h-len(lines)-len(below)-len(more) >= len(rows) {
		below = append(below, more...)
	}
	if h-len(lines)-len(below) < min(len(rows), 4) {
		below = nil
	}
	room := max(h-len(lines)-len(below), 0)
	first := min(max(v.part-room+1, 0), max(len(rows)-room, 0))
	if hidden := len(rows) - room; hidden > 0 && headed {
		lines[0] = v.heading(in, layerPane, w, "INSIDE A LAYER", "on one GPU", strconv.Itoa(hidden)+" more lines")
	}
	for i := first; i < len(rows) && i < first+room; i++ {
		lines = append(lines, v.layerLine(in, rows[i], i == min(v.part, len(rows)-1), w, &c, most))
	}
	return append(lines, below...)
}

// columnsOfLayer are the right ends of the columns of figures.
type columnsOfLayer struct{ params, states, kept, bar int }

func layerColumns(w int) columnsOfLayer {
	c := columnsOfLayer{params: 29, states: 39, kept: 49}
	if w < 50 {
		c = columnsOfLayer{params: w - 20, states: w - 10, kept: w}
	}
	if w >= 70 {
		c = columnsOfLayer{params: 34, states: 46, kept: 58}
	}
	if w >= 60 {
		c.bar = w - c.kept - 2
	}
	return c
}

func (v *View) layerLine(in *screen.Context, r layerRow, here bool, w int, c *columnsOfLayer, most units.Bytes) string {
	p := v.answers.at(r)
	l := widget.NewLine(w)
	name, label := themes.Text, "  "+p.Name
	if r.part < 0 {
		k := &v.answers.kinds[r.kind]
		name, label = themes.Strong, p.Name+" "+in.Glyphs.Times+" "+strconv.Itoa(k.Layers)
	}
	figures := name
	if here && v.pane == layerPane {
		l.Put(in.Paint(themes.Accent), in.Glyphs.Pointer)
		name = themes.Current
	}
	l.To(2).Put(in.Paint(name), label)
	l.RightAligned(in.Paint(figures), figure.Short(p.Parameters), c.params)
	l.RightAligned(in.Paint(figures), size(p.States), c.states)
	l.RightAligned(in.Paint(figures), size(p.Activations), c.kept)
	if c.bar > 0 && r.part >= 0 && most > 0 {
		bar := widget.Stack{Segments: []widget.Segment{{Fill: themes.Activations, Value: float64(p.Activations)}}, Scale: float64(most), Plain: true, NoTrack: true}
		l.Gap(2).Raw(bar.Render(in.Theme, in.Glyphs, l.Left()), l.Left())
	}
	return l.String()
}

// layerWords explains the row under the cursor.
func (v *View) layerWords(in *screen.Context) string {
	rows := v.answers.layerRowsOf()
	if !v.fresh(in) || len(rows) == 0 {
		return "one layer on one GPU: parameters, their states, and activations of one micro-batch"
	}
	r := rows[min(max(v.part, 0), len(rows)-1)]
	p := v.answers.at(r)
	text := fmt.Sprintf("%s: %s parameters, %s of weights, gradients and optimizer; %s activations of one micro-batch", p.Name, figure.Short(p.Parameters), size(p.States), size(p.Activations))
	if why := partWords(p.Name); why != "" && r.part >= 0 {
		text += " (" + why + ")"
	}
	return text
}

// partWords describes the activations of a part of a layer.
func partWords(name string) string {
	switch name {
	case "attention":
		return "the projections' input, q, k, v and the output"
	case "MLP", "shared experts":
		return "its input and its inner width"
	case "experts":
		return "the tokens that were sent here and the experts' inner width"
	case "router":
		return "its input, scores and probabilities"
	case "norms":
		return "the residual stream that norms read"
	default:
		return ""
	}
}
