package memory

import (
	"fmt"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// layerRow is an operation of a layer, or (part < 0) the sum of its kind.
type layerRow struct{ kind, part int }

// layerRowsOf lists the rows of the layer pane, sums above their parts.
func (a *answers) layerRowsOf() []layerRow {
	var rows []layerRow
	for k := len(a.kinds) - 1; k >= 0; k-- { // the layers with experts first
		rows = append(rows, layerRow{k, -1})
		for p := range a.kinds[k].Operations {
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

// whole adds up the operations of a kind of layer.
func whole(k *engine.LayerKind) engine.Operation {
	var sum engine.Operation
	sum.Name, sum.ID = "dense layer", "dense layer"
	if k.MoE {
		sum.Name, sum.ID = "MoE layer", "MoE layer"
	}
	for i := range k.Operations {
		o := &k.Operations[i]
		sum.Parameters += o.Parameters
		sum.States += o.States
		sum.Activations += o.Activations
		sum.FLOPs += o.FLOPs
		sum.Forward += o.Forward
		sum.Backward += o.Backward
	}
	return sum
}

// at returns the operation of a row.
func (a *answers) at(r layerRow) engine.Operation {
	if r.part < 0 {
		return whole(&a.kinds[r.kind])
	}
	return a.kinds[r.kind].Operations[r.part]
}

// layer takes one layer of each kind to pieces.
func (v *View) layer(in *screen.Context, w, h int, headed bool) []string {
	var lines []string
	if headed {
		lines = append(lines, v.heading(in, layerPane, w, "INSIDE A LAYER", "on one GPU", ""))
	}
	if !v.answers.known {
		l := widget.NewLine(w).Gap(2).Put(in.Paint(themes.Muted), "evaluating the operations of a layer"+in.Glyphs.Ellipsis)
		return append(lines, l.String())
	}
	if !v.fresh(in) {
		in.Theme = in.Theme.Dim()
	}
	c := layerColumns(w)
	head := widget.NewLine(w).Gap(2).Put(in.Paint(themes.Muted), "operation")
	for _, column := range [...]struct {
		name string
		end  int
	}{{"params", c.params}, {"states", c.states}, {"FLOPs", c.flops}, {"kept", c.kept}, {"time", c.time}} {
		if column.end > 0 {
			head.RightAligned(in.Paint(themes.Muted), column.name, column.end)
		}
	}
	if c.bar > 0 {
		head.Gap(2).Put(in.Paint(themes.Muted), widget.Cut("kept of one micro-batch", max(c.bar, 0)))
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

// columnsOfLayer are the right ends of the columns of figures; 0: no room for one.
type columnsOfLayer struct{ params, states, flops, kept, time, bar int }

func layerColumns(w int) columnsOfLayer {
	c := columnsOfLayer{params: w - 25, flops: w - 18, kept: w - 8, time: w}
	if w >= 60 {
		c = columnsOfLayer{params: 29, states: 39, flops: 47, kept: 57, time: 66}
		c.bar = max(w-c.time-2, 0)
	}
	return c
}

func (v *View) layerLine(in *screen.Context, r layerRow, here bool, w int, c *columnsOfLayer, most units.Bytes) string {
	p := v.answers.at(r)
	l := widget.NewLine(w)
	name, label := themes.Text, "  "+strings.ReplaceAll(p.ID, "-", " ")
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
	for _, column := range [...]struct {
		text string
		end  int
	}{
		{figure.Short(p.Parameters), c.params},
		{size(p.States), c.states},
		{figure.Short(float64(p.FLOPs)), c.flops},
		{size(p.Activations), c.kept},
		{figure.Seconds(p.Forward + p.Backward), c.time},
	} {
		if column.end > 0 {
			l.RightAligned(in.Paint(figures), column.text, column.end)
		}
	}
	if c.bar > 0 && r.part >= 0 && most > 0 {
		bar := widget.Stack{Segments: []widget.Segment{{Fill: themes.Activations, Value: float64(p.Activations)}}, Scale: float64(most), Plain: true, NoTrack: true}
		l.Gap(2).Raw(bar.Render(in.Theme, in.Glyphs, l.Left()), l.Left())
	}
	return l.String()
}

// layerWords explains the row under the cursor.
func (v *View) layerWords(in *screen.Context) string {
	r, ok := v.layerRow(in)
	if !ok {
		return "one layer on one GPU: parameters and their states, FLOPs, activations kept and time of one micro-batch"
	}
	p := v.answers.at(r)
	return fmt.Sprintf("%s: %s parameters, %s of weights, gradients and optimizer; of one micro-batch %s FLOP and %s forward, %s backward, and %s kept",
		p.Name, figure.Short(p.Parameters), size(p.States), figure.Short(float64(p.FLOPs)), figure.Seconds(p.Forward), figure.Seconds(p.Backward), size(p.Activations))
}

// layerRow returns the row under the cursor.
func (v *View) layerRow(in *screen.Context) (layerRow, bool) {
	rows := v.answers.layerRowsOf()
	if !v.fresh(in) || len(rows) == 0 {
		return layerRow{}, false
	}
	return rows[min(max(v.part, 0), len(rows)-1)], true
}

// layerFigure returns the figure of the row under the cursor.
func (v *View) layerFigure(in *screen.Context) string {
	r, ok := v.layerRow(in)
	switch {
	case !ok:
		return ""
	case r.part < 0:
		return v.answers.kinds[r.kind].Figure(nil)
	}
	k := &v.answers.kinds[r.kind]
	return k.Figure(&k.Operations[r.part])
}
