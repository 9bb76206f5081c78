// Package scan is the Scan screen: any figure of the report while one or two
// knobs turn, as a line or a map, with the capacity line and the current setup.
package scan

import (
	"context"
	"errors"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/figures"
	"meshscope/engine/knob"
	enginescan "meshscope/engine/scan"
	"meshscope/ui/screen"
	"meshscope/ui/textbox"
	"meshscope/ui/widget"
)

// choice is one thing that can be chosen of a scan.
type choice uint8

const (
	figureChoice choice = iota
	acrossChoice
	byChoice
	choices
)

func (c choice) label() string { return [choices]string{"figure", "across", "by"}[c] }

func (c choice) help() string {
	return [choices]string{
		"what to draw: any figure of the report that has a formula",
		"the knob along the axis, over its legal values",
		"a second knob, one row per value; none draws a line",
	}[c]
}

// query is the figure and the knobs of a scan.
type query struct {
	setup  engine.Setup
	figure string
	x, by  knob.ID // by may be empty
}

// View is the Scan screen. Work that it asks for ends in a call that changes the
// View, so a View stays where it is.
type View struct {
	figure  string
	x, by   knob.ID // x: empty until one is picked
	picked  bool    // x was, and nobody has chosen another
	at      choice  // under the cursor
	inChart bool    // the arrow keys move in the chart
	row     int     // of the chart's cursor
	column  int

	find find // a figure by a part of its name

	grid  *enginescan.Grid
	other *enginescan.Grid // the peak at the same points, or the step; nil with two knobs
	drawn query            // what grid answers
	of    query            // the query: while it is computed, grid answers another
	jobs  widget.Jobs
	large bool // too many points to go through
}

// New makes a screen.
func New() *View {
	return &View{figure: "time.step", find: find{part: textbox.New(40)}}
}

// Copy returns the screen with its chart; what is typed stays behind.
func (v *View) Copy() screen.Screen {
	c := *v
	c.jobs, c.of, c.find = widget.Jobs{}, v.drawn, New().find
	return &c
}

// Refresh asks for the points where those that are there answer something else.
func (v *View) Refresh(in *screen.Context) screen.Request {
	if in.Setup == nil {
		return screen.Request{}
	}
	if v.picked && v.x != "" && v.of.setup != *in.Setup &&
		len(knob.Steps(*in.Setup, v.x, locks())) < leastPoints {
		v.x = "" // it says nothing of this setup
	}
	want := query{*in.Setup, v.figure, v.x, v.by}
	if v.of == want && (v.jobs.Running() || v.grid != nil || v.large) {
		return screen.Request{}
	}
	v.of, v.large = want, false
	job := v.jobs.Begin()
	return screen.Request{Work: func(ctx context.Context) func() {
		picked := want.x == ""
		if picked {
			want.x = pick(ctx, &want.setup, want.by)
		}
		scan := enginescan.Query{
			Setup: want.setup, Figure: want.figure,
			X: enginescan.Axis{ID: want.x}, By: enginescan.Axis{ID: want.by},
			Locks: locks(),
		}
		stop := func() bool { return ctx.Err() != nil }
		g, err := scan.Run(stop)
		var other *enginescan.Grid
		if _, scan.Figure = besideOf(want.figure); err == nil && want.by == "" {
			if o, failed := scan.Run(stop); failed == nil {
				other = &o
			}
		}
		return func() {
			if !v.jobs.End(job) {
				return // another one is on its way
			}
			switch {
			case err == nil:
				v.grid, v.other, v.drawn = &g, other, want
				if picked {
					v.x, v.picked, v.of = want.x, true, want
				}
				v.toCurrent()
			case errors.Is(err, enginescan.StoppedError{}):
				v.of = query{}
			default: // too many points
				v.grid, v.other, v.large = nil, nil, true
			}
		}
	}}
}

// besideOf returns the figure that stands below a chart's own, by its word and in full: what a point is
// worth depends on both its step and its memory.
func besideOf(figure string) (word, id string) {
	if strings.HasPrefix(figure, "memory.") {
		return "step", "time.step"
	}
	return "peak", "memory.peak"
}

// beside returns that figure of a point of the chart; nil where it has none.
func (v *View) beside(at *enginescan.Point) *float64 {
	if v.other != nil {
		for _, p := range slices.Concat(v.other.Rows...) {
			if p.X == at.X {
				return p.Value
			}
		}
	}
	return nil
}

// toCurrent puts the cursor of the chart on the current setup.
func (v *View) toCurrent() {
	v.row, v.column = 0, 0
	for i, row := range v.grid.Rows {
		for j := range row {
			if row[j].Current {
				v.row, v.column = i, j
			}
		}
	}
}

// Forget is for when the screen is left: the points can be computed again.
func (v *View) Forget() {
	v.grid, v.other, v.drawn, v.of = nil, nil, query{}, query{}
	v.jobs.Drop()
}

// working says that what is drawn answers another query than the current one.
func (v *View) working() bool { return v.grid != nil && v.drawn != v.of }

// figureIDs returns the numbers of the report that can be drawn: all but those of
// single ranks, in whose place stand those of the fullest.
func figureIDs(r *engine.Report) []string {
	if r == nil {
		return nil
	}
	var out []string
	for _, f := range figures.List(r) {
		if !strings.HasPrefix(f.ID, "memory.ranks.") && !strings.Contains(f.ID, "error") {
			out = append(out, f.ID)
		}
	}
	out = append(out, "memory.free")
	for _, term := range []string{
		"weights", "gradients", "optimizer", "activations", "logits", "buffers",
		"overhead", "in-flight",
	} {
		out = append(out, figures.FullestRank+term)
	}
	return out
}

// knobsOf returns the parameters that have a ladder here.
func knobsOf(s *engine.Setup) []knob.ID {
	var out []knob.ID
	params := knob.All()
	for i := range params {
		p := &params[i]
		if p.Kind == knob.List || len(knob.Steps(*s, p.ID, knob.Locks{GPUs: true, Batch: true})) < 2 {
			continue
		}
		out = append(out, p.ID)
	}
	return out
}

// turn goes n further in what can be chosen.
func (v *View) turn(in *screen.Context, n int) {
	switch v.at {
	case figureChoice:
		list := figureIDs(in.Report)
		if i := slices.Index(list, v.figure); len(list) > 0 {
			v.figure = list[(i+n+len(list))%len(list)]
		}
	case acrossChoice:
		v.picked = false
		v.x = next(knobsOf(in.Setup), v.x, n)
		if v.x == v.by {
			v.by = ""
		}
	case byChoice, choices:
		list := slices.DeleteFunc(knobsOf(in.Setup), func(id knob.ID) bool { return id == v.x })
		v.by = next(append([]knob.ID{""}, list...), v.by, n)
	}
}

func next(list []knob.ID, at knob.ID, n int) knob.ID {
	if len(list) == 0 {
		return at
	}
	return list[(slices.Index(list, at)+n+len(list))%len(list)]
}

// point returns the one under the cursor of the chart.
func (v *View) point() *enginescan.Point {
	if v.grid == nil || v.row >= len(v.grid.Rows) || v.column >= len(v.grid.Rows[v.row]) {
		return nil
	}
	return &v.grid.Rows[v.row][v.column]
}

func label(id knob.ID) string {
	if p, ok := knob.Find(id); ok {
		return p.Label
	}
	return string(id)
}
