package memory

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/record"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// layerRows lists the operations of all kinds of layers in one order, each once, below "", the layer.
func (a *answers) layerRows() []string {
	rows := []string{""}
	for k := range a.kinds {
		at := 0
		for i := range a.kinds[k].Operations {
			id := a.kinds[k].Operations[i].ID
			if n := slices.Index(rows, id); n >= 0 {
				at = n
				continue
			}
			at++
			rows = slices.Insert(rows, at, id)
		}
	}
	return rows
}

// cell returns an operation of a kind, its whole layer for "", with zeros where it has none.
func (a *answers) cell(kind int, id string) engine.Operation {
	k := &a.kinds[kind]
	if id == "" {
		return k.Whole()
	}
	if o := k.Operation(id); o != nil {
		return *o
	}
	return engine.Operation{}
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

// column is a column of the layer pane: a figure of one kind of layer.
type column struct{ kind, figure, end int }

const statesColumn = -1 // of weights, gradients and optimizer: no figure has them

// layerWidths are the widths of the columns of engine.OperationFigures.
func layerWidths() []int { return []int{8, 7, 10, 8} }

// widthOfKinds is the width from which so many kinds stand side by side, with or without FLOPs.
func widthOfKinds(n int, flops bool) int {
	if flops {
		return 18 + n*33
	}
	return 18 + n*26
}

// layerColumns returns the columns that w cells have room for: those of all kinds, without FLOPs where
// they are narrow, else those of the kind under the cursor.
func (v *View) layerColumns(w int) []column {
	n := len(v.answers.kinds)
	kinds, flops, widths, end := make([]int, n), true, layerWidths(), w
	for i := range kinds {
		kinds[i] = i
	}
	switch {
	case n == 1:
	case w >= widthOfKinds(n, true):
		end = widthOfKinds(n, true)
	case w >= widthOfKinds(n, false):
		flops, end = false, widthOfKinds(n, false)
	default:
		kinds = []int{v.layerColumn() / len(widths)}
	}
	states := len(kinds) == 1 && w >= 60
	if states {
		end = 66
	}
	var list []column
	for i := len(kinds) - 1; i >= 0; i-- {
		for f := len(widths) - 1; f >= 0; f-- {
			if f == 1 && !flops {
				continue
			}
			list = append(list, column{kinds[i], f, end})
			if end -= widths[f]; f == 1 && states {
				list = append(list, column{kinds[i], statesColumn, end})
				end -= 10
			}
		}
	}
	slices.Reverse(list)
	return list
}

// layerColumn returns the column under the cursor among those of all kinds: what the most frequent
// kind saves, until it is moved.
func (v *View) layerColumn() int {
	n := len(layerWidths())
	if v.columnMoved {
		return min(max(v.column, 0), max(n*len(v.answers.kinds)-1, 0))
	}
	most := 0
	for i := range v.answers.kinds {
		if v.answers.kinds[i].Layers > v.answers.kinds[most].Layers {
			most = i
		}
	}
	return n*most + 2
}

// moveLayerColumn goes n columns to the right, to the next kind behind the last one.
func (v *View) moveLayerColumn(w, n int) {
	if !v.answers.known {
		return
	}
	all, shown := len(layerWidths())*len(v.answers.kinds), v.layerColumns(w)
	for at := v.layerColumn() + n; at >= 0 && at < all; at += n {
		if side := shown[0].kind != shown[len(shown)-1].kind; !side ||
			slices.ContainsFunc(shown, func(c column) bool { return c.at() == at }) {
			v.column, v.columnMoved = at, true
			return
		}
	}
}

// at returns the column among those of all kinds.
func (c column) at() int {
	if c.figure < 0 {
		return -1
	}
	return c.kind*len(layerWidths()) + c.figure
}

// layer takes one layer of each kind to pieces.
func (v *View) layer(in *screen.Context, w, h int, headed bool) []string {
	var lines []string
	if headed {
		lines = append(lines, v.heading(in, layerPane, w, "INSIDE A LAYER", "on one GPU", ""))
	}
	if !v.answers.known {
		l := widget.NewLine(w).Gap(2).Put(in.Paint(themes.Muted),
			"evaluating the operations of a layer"+in.Glyphs.Ellipsis)
		return append(lines, l.String())
	}
	if !v.fresh(in) {
		in.Theme = in.Theme.Dim()
	}
	columns, rows := v.layerColumns(w), v.answers.layerRows()
	lines = append(lines, v.layerHead(in, w, columns)...)
	below := append([]string{widget.Blank(w)}, v.limits(in, w)...)
	if in.Asks || in.Taught {
		below = nil
	}
	if more := append([]string{widget.Blank(w)}, v.overhead(in, w)...); h-len(lines)-len(below)-
		len(more) >= len(rows) {
		below = append(below, more...)
	}
	if h-len(lines)-len(below) < min(len(rows), 4) {
		below = nil
	}
	room := max(h-len(lines)-len(below), 0)
	first := min(max(v.part-room+1, 0), max(len(rows)-room, 0))
	if hidden := len(rows) - room; hidden > 0 && headed {
		lines[0] = v.heading(in, layerPane, w, "INSIDE A LAYER", "on one GPU",
			strconv.Itoa(hidden)+" more lines")
	}
	for i := first; i < len(rows) && i < first+room; i++ {
		lines = append(lines, v.layerLine(in, rows[i], i == min(v.part, len(rows)-1), w, columns))
	}
	return append(lines, below...)
}

// layerHead returns the names of the kinds, where there are several, and those of the columns.
func (v *View) layerHead(in *screen.Context, w int, columns []column) (lines []string) {
	figures, kinds := engine.OperationFigures(), widget.NewLine(w)
	head := widget.NewLine(w).Gap(2).Put(in.Paint(themes.Muted), "operation")
	for i, c := range columns {
		name := "states"
		if c.figure >= 0 {
			name = figures[c.figure].Name
		}
		head.RightAligned(in.Paint(themes.Muted), name, c.end)
		if i+1 == len(columns) || columns[i+1].kind != c.kind {
			kinds.RightAligned(in.Paint(themes.Strong),
				v.kindWords(in, c.kind, columns[0].kind == columns[len(columns)-1].kind), c.end)
		}
	}
	if left := head.Left(); left > 2 && len(v.answers.kinds) == 1 {
		head.Gap(2).Put(in.Paint(themes.Muted), in.Longest(left-2, "saved of one micro-batch", "saved"))
	}
	if len(v.answers.kinds) > 1 {
		lines = append(lines, kinds.String())
	}
	return append(lines, head.String())
}

// kindWords names a kind of layer and how many there are; alone, with its place among the others.
func (v *View) kindWords(in *screen.Context, kind int, alone bool) string {
	k := &v.answers.kinds[kind]
	text, n := k.Name+" "+in.Glyphs.Times+" "+strconv.Itoa(k.Layers), len(v.answers.kinds)
	switch {
	case alone && n > 1:
		text = fmt.Sprintf("kind %d of %d: %s", kind+1, n, text)
	}
	return text
}

// layerLine draws an operation, or the whole layer, of the kinds on screen.
func (v *View) layerLine(in *screen.Context, id string, here bool, w int, columns []column) string {
	l, name, label := widget.NewLine(w), themes.Text, "  "+strings.ReplaceAll(id, "-", " ")
	if id == "" {
		name, label = themes.Strong, "one layer"
		if len(v.answers.kinds) == 1 {
			label = v.kindWords(in, 0, false)
		}
	}
	here = here && v.pane == layerPane
	paint := name
	if here {
		l.Put(in.Paint(themes.Accent), in.Glyphs.Pointer)
		paint = themes.Current
	}
	l.To(2).Put(in.Paint(paint), widget.Cut(label, max(columns[0].end-layerWidths()[0]-2, 0)))
	for _, c := range columns {
		o := v.answers.cell(c.kind, id)
		text, paint := size(o.States), name
		if c.figure >= 0 {
			text = layerText(c.figure, &o)
		}
		if v.answers.kinds[c.kind].Operation(id) == nil && id != "" {
			text, paint = "-", themes.Muted
		}
		if here && c.at() == v.layerColumn() {
			paint = themes.Current
		}
		l.RightAligned(in.Paint(paint), text, c.end)
	}
	if most := v.mostSaved(); l.Left() > 2 && len(v.answers.kinds) == 1 && id != "" && most > 0 {
		bar := widget.Stack{
			Segments: []widget.Segment{{
				Fill:  themes.Activations,
				Value: float64(v.answers.cell(0, id).Activations),
			}}, Scale: float64(most), Plain: true,
			NoTrack: true,
		}
		l.Gap(2).Raw(bar.Render(in.Theme, in.Glyphs, l.Left()), l.Left())
	}
	return l.String()
}

// mostSaved returns what the operation saves that saves most.
func (v *View) mostSaved() (most units.Bytes) {
	for _, o := range v.answers.kinds[0].Operations {
		most = max(most, o.Activations)
	}
	return most
}

// layerText writes a figure of an operation.
func layerText(f int, o *engine.Operation) string {
	switch f {
	case 1: // the head has the unit
		return strings.Replace(figure.Short(float64(o.FLOPs)), "B", "G", 1) // prefixes of a unit
	case 2:
		return size(o.Activations)
	case 3:
		return figure.Seconds(o.Forward + o.Backward)
	}
	return figure.Short(engine.OperationFigures()[f].Of(o))
}

// layerWords explains the row under the cursor.
func (v *View) layerWords(in *screen.Context) string {
	kind, id, ok := v.layerCell(in)
	if !ok {
		return "one layer on one GPU: parameters and their states, FLOPs, bytes saved for the backward and " +
			"time of one micro-batch"
	}
	p, k := v.answers.cell(kind, id), &v.answers.kinds[kind]
	if p.ID == "" {
		return k.Name + " layers have no " + strings.ReplaceAll(id, "-", " ")
	}
	if len(v.answers.kinds) > 1 && id != "" {
		p.Name += " of a " + k.Name + " layer"
	}
	return fmt.Sprintf("%s: %s parameters, %s of weights, gradients and optimizer; of one micro-batch %s "+
		"and %s forward, %s backward, and %s saved",
		p.Name, figure.Short(p.Parameters), size(p.States), record.FLOPs.Text(float64(p.FLOPs)),
		figure.Seconds(p.Forward), figure.Seconds(p.Backward), size(p.Activations))
}

// layerCell returns the kind and the operation under the cursor.
func (v *View) layerCell(in *screen.Context) (kind int, id string, ok bool) {
	if !v.fresh(in) || len(v.answers.kinds) == 0 {
		return 0, "", false
	}
	rows := v.answers.layerRows()
	return v.layerColumn() / len(layerWidths()), rows[min(max(v.part, 0), len(rows)-1)], true
}

// layerFigure returns the figure under the cursor.
func (v *View) layerFigure(in *screen.Context) string {
	kind, id, ok := v.layerCell(in)
	if !ok {
		return ""
	}
	k := &v.answers.kinds[kind]
	return k.Figure(k.Operation(id), &engine.OperationFigures()[v.layerColumn()%len(layerWidths())])
}
