package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	find "meshscope/engine/search"
	"meshscope/presets"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// heat is the best layout of each model of a family on each number of nodes.
type heat struct {
	of     query // what its cells answer, without model and GPUs
	models []model.Model
	nodes  []int
	cells  []cell // by model, then nodes
	row    int    // under the cursor
	column int
	jobs   widget.Jobs // the searches of the cells

	runs     map[runsOf]fastest // published, of these models; nil: not read yet
	measured bool               // they are shown in place of what the searches find
}

// cell is the best layout of one model on one number of nodes.
type cell struct {
	done  bool
	found bool
	row
	exact engine.Evidence
}

// most are how many models of a family stand in the map.
const most = 8

// widest is the largest number of nodes in the map.
const widest = 64

// refreshHeat asks for the next cell that the map lacks, those of the model in
// force first.
func (v *View) refreshHeat(in *screen.Context) screen.Request {
	h := &v.heat
	want := query{base: base(in.Setup), chosen: v.chosen.fastest()}
	kin := want
	kin.base.GPUs = 0
	if h.models == nil || h.of.base != kin.base || h.of.chosen != kin.chosen {
		h.jobs.Drop()
		*h = heat{of: kin, jobs: h.jobs, measured: h.measured}
		h.models = family(v.lib, &in.Setup.Model)
		for _, gpus := range doubled(in.Setup) {
			if n := gpus / in.Setup.Cluster.Node(); n <= widest {
				h.nodes = append(h.nodes, n)
			}
		}
		if len(h.nodes) == 0 { // a machine of less than a node
			h.nodes = []int{1}
		}
		h.cells = make([]cell, len(h.models)*len(h.nodes))
		h.row = max(slices.IndexFunc(h.models, func(m model.Model) bool { return m.ID == in.Setup.Model.ID }),
			0)
		h.column = nearestTo(h.nodes, in.Setup.Nodes())
	}
	i := h.next(in)
	switch {
	case h.runs == nil && (h.measured || i < 0):
		return v.refreshRuns()
	case h.jobs.Running() || i < 0:
		return screen.Request{}
	}
	one := want
	one.base = knob.WithModel(one.base, h.models[i/len(h.nodes)])
	one.base.GPUs = h.nodes[i%len(h.nodes)] * in.Setup.Cluster.Node()
	shared := v.Shared
	return screen.Work(&h.jobs, func(open context.Context) cell { return one.best(open, shared) },
		func(c cell) { h.cells[i] = c })
}

// next returns the cell to be computed next: along the row of the current model,
// then the others; -1 where all are there.
func (h *heat) next(in *screen.Context) int {
	own := slices.IndexFunc(h.models, func(m model.Model) bool { return m.ID == in.Setup.Model.ID })
	order := []int{max(own, 0)}
	for i := range h.models {
		if i != order[0] {
			order = append(order, i)
		}
	}
	for _, i := range order {
		for j := range h.nodes {
			if !h.cells[i*len(h.nodes)+j].done {
				return i*len(h.nodes) + j
			}
		}
	}
	return -1
}

// best returns the layout that a search puts first.
func (a *query) best(ctx context.Context, shared bool) cell {
	p := a.question(shared)
	p.Top, p.Front = 1, false
	r := find.Run(ctx, p, nil)
	c := cell{done: true}
	if len(r.Best) > 0 {
		f := &r.Best[0]
		c.found, c.row = true, report.NewCandidate(&f.Setup, &f.Report, f.PessimisticStep, 1)
		c.exact = r.Best[0].Report.Time.Evidence
	}
	return c
}

// family returns the models that belong with one, by size; of a long family those
// next to it.
func family(lib *presets.Library, m *model.Model) []model.Model {
	var out []model.Model
	for _, preset := range lib.Models() {
		if !strings.EqualFold(preset.Family, m.Family) || m.Family == "" || preset.ID == m.ID {
			continue
		}
		out = append(out, preset.Model)
	}
	out = append(out, *m)
	slices.SortStableFunc(out, func(a, b model.Model) int { return cmp.Compare(a.Total(), b.Total()) })
	out = slices.CompactFunc(out, func(a, b model.Model) bool { // the same under another name
		return a.Total() == b.Total() && a.ID != m.ID && b.ID != m.ID
	})
	if len(out) > most {
		at := slices.IndexFunc(out, func(x model.Model) bool { return x.ID == m.ID })
		from := min(max(at-most/2, 0), len(out)-most)
		out = out[from : from+most]
	}
	return out
}

func nearestTo(list []int, n int) int {
	at := 0
	for i, v := range list {
		if v <= n {
			at = i
		}
	}
	return at
}

const heatLabel = 16

// sizes returns the width and the height of a cell.
func (h *heat) sizes(width, height int) (each, tall int) {
	each = max(min((width-heatLabel)/len(h.nodes), 14), 2)
	if height-3 >= 2*len(h.models) && each >= 8 {
		return each, 2
	}
	return each, 1
}

// heatMap draws the map: the share of the peak that the best layout reaches, and
// the layout where there is room.
func (v *View) heatMap(in *screen.Context, w, h int) []string {
	m := &v.heat
	detail := "best MFU % by model and nodes"
	if m.measured {
		detail = "measured, the " + detail
	}
	lines := []string{in.Heading(w, "MODEL SIZES", detail, v.heatRemark())}
	if len(m.models) == 0 || w < heatLabel+5*len(m.nodes) || h < 4 {
		return widget.Height(lines, w, h)
	}
	each, tall := m.sizes(w, h)
	head := widget.NewLine(w).Put(in.Paint(themes.Muted), "nodes")
	for j, n := range m.nodes {
		head.RightAligned(in.Paint(themes.Muted), figure.Comma(n), heatLabel+(j+1)*each-each/2+1)
	}
	lines = append(lines, head.String())
	from := widget.Page(m.row, max((h-3)/tall, 1), len(m.models))
	low, top := 1.0, 0.0
	for i := range m.cells {
		if mfu, _, ok := m.value(in, i); ok {
			low, top = min(low, mfu), max(top, mfu)
		}
	}
	for i := from; i < len(m.models) && len(lines)+tall <= h-1; i++ {
		for part := range tall {
			l := widget.NewLine(w)
			if part == 0 {
				role := themes.Text
				if m.models[i].ID == in.Setup.Model.ID {
					role = themes.Current
				}
				name := m.models[i].Name
				if widget.Width(name) >= heatLabel { // long names of a family differ at their ends
					name = m.models[i].ID
				}
				l.Put(in.Paint(role), in.Cut(name, heatLabel-1))
			}
			l.To(heatLabel)
			for j := range m.nodes {
				v.heatCell(in, l, i*len(m.nodes)+j, each, part, low, top)
			}
			lines = append(lines, l.String())
		}
	}
	lines = widget.Height(lines, w, h-1)
	words := "each cell is the best of a separate search; second line dp" + in.Glyphs.Dot + "tp" +
		in.Glyphs.Dot + "pp"
	switch {
	case m.measured:
		words = "fastest published run of each; more nodes leave less work per GPU: it falls, small models " +
			"first"
	case tall == 1:
		words = "each cell is the best of a separate search, at the batch of this setup"
	}
	if widget.Width(words) > w && !m.measured {
		words = "each cell: the best of a separate search"
	}
	return append(lines, widget.NewLine(w).Put(in.Paint(themes.Muted), in.Cut(words, w)).String())
}

func (v *View) heatRemark() string {
	n := 0
	if v.heat.measured {
		return ""
	}
	for i := range v.heat.cells {
		if v.heat.cells[i].done {
			n++
		}
	}
	if n == len(v.heat.cells) {
		return ""
	}
	return fmt.Sprintf("%d of %d", n, len(v.heat.cells))
}

// heatCell draws one line of a cell.
func (v *View) heatCell(in *screen.Context, l *widget.Line, i, each, part int, low, top float64) {
	m := &v.heat
	text, paint := "", in.Paint(themes.Muted)
	mfu, s, found := m.value(in, i)
	switch done := m.cells[i].done || m.measured && m.runs != nil; {
	case !done && part == 0:
		text = in.Glyphs.Ellipsis
	case !done:
	case !found && part == 0:
		text = in.Glyphs.None
	case !found:
	default:
		text = figure.PercentValue(mfu)
		if part == 1 {
			text = fmt.Sprintf("%d%s%d%s%d", s.DP, in.Glyphs.Dot, s.TP, in.Glyphs.Dot, s.PP)
		}
		paint = widget.Heat(in.Theme, (mfu-low)/(top-low))
	}
	here := i == m.row*len(m.nodes)+m.column && v.inPicture && v.picture == heatPicture
	if here {
		paint = in.Paint(themes.Strong).Reversed()
	}
	left := max((each-1-widget.Width(text))/2, 0)
	if text = in.Cut(text, each-1); here && part == 0 && left > 0 {
		text = widget.Blank(left-1) + in.Glyphs.Pointer + text
	} else {
		text = widget.Blank(left) + text
	}
	l.Put(paint, text+widget.Blank(each-1-widget.Width(text))).Gap(1)
}

// takeCell takes the layout of the cell under the cursor: what was found, or the run.
func (v *View) takeCell(in *screen.Context) screen.Request {
	if v.heat.measured {
		if f, ok := v.heat.run(in, v.heat.row*len(v.heat.nodes)+v.heat.column); ok {
			return screen.Take(f.setup, "published run "+f.id)
		}
		return screen.Request{}
	}
	if c := v.heat.here(); c != nil && c.found {
		return screen.Take(c.Setup, "best of "+c.Setup.Model.Name+" on "+nodes(&c.Setup))
	}
	return screen.Request{}
}

func nodes(s *engine.Setup) string { return figure.Plural(s.Nodes(), "node") }

// here returns the cell under the cursor.
func (h *heat) here() *cell {
	if i := h.row*len(h.nodes) + h.column; i < len(h.cells) {
		return &h.cells[i]
	}
	return nil
}

// heatStatus says the layout of a cell, or why there is none.
func (v *View) heatStatus(in *screen.Context) string {
	h := &v.heat
	c := h.here()
	if c == nil || h.row >= len(h.models) {
		return ""
	}
	run := h.runWords(in)
	if h.measured {
		if run == "" {
			run = "no published run"
		}
		return h.models[h.row].Name + " on " +
			figure.Plural(h.nodes[h.column]*in.Setup.Cluster.Node(), "GPU") + ": " + run
	}
	where := h.models[h.row].Name + " on " + figure.Plural(h.nodes[h.column]*in.Setup.Cluster.Node(), "GPU") +
		": "
	switch {
	case !c.done:
		return where + "not searched yet"
	case !c.found:
		return where + "no layout fits, or the batch does not divide"
	}
	if run != "" {
		run, _, _ = strings.Cut(run, ",")
		run = "; " + run
	}
	return where + figure.Percent(c.MFU) + run + " MFU (" + c.exact.Band(in.Glyphs.PlusMinus) + "), " +
		figure.Seconds(c.Step) + " per step; " + report.LayoutWords(&c.Setup, nil)
}
