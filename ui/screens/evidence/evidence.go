// Package evidence is the Evidence screen: what the engine predicts for
// published runs compared with measurements, by group and run by run, or as curves.
package evidence

import (
	"context"
	"slices"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/presets/published"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// filter is which groups are shown.
type filter uint8

const (
	everything filter = iota
	fitted
	unseen // by any fit
	filters
)

// String names the filter in a heading.
func (f filter) String() string {
	switch f {
	case fitted:
		return "fitted groups"
	case unseen:
		return "groups without fitted constants"
	default:
		return "all groups"
	}
}

// order is how the runs are listed.
type order uint8

const (
	byNearness order = iota
	byError
	asPublished
	orders
)

// String names the order in a heading.
func (o order) String() string {
	return [orders]string{"nearest to yours first", "largest error first", "as published"}[o]
}

// View is the Evidence screen. The zero value is ready. Work that it asks for
// ends in a call that changes the View, so a View stays where it is.
type View struct {
	lib *presets.Library

	data      *data // compared once; nil: not yet
	requested bool
	fault     string // why there is no data

	memory bool // allocated memory instead of step time
	filter filter
	group  string // chosen; empty: all
	inRows bool   // the arrow keys move in the list of runs
	row    int    // under the cursor, in the list as it is shown
	order  order  // of the runs

	picture picture // what the plot shows
	curves  measuredCurves
	inCurve bool          // the curves are shown in place of the runs
	opened  *engine.Setup // that of the groups' order: the one when the screen was opened
}

// New makes a screen of the runs, on the machines of a library.
func New(lib *presets.Library) *View { return &View{lib: lib} }

// Copy returns the screen with what was compared, whose order is its own.
func (v *View) Copy() screen.Screen {
	c := *v
	c.requested, c.curves.jobs = false, widget.Jobs{}
	if v.data != nil {
		d := *v.data
		d.results = slices.Clone(d.results)
		c.data = &d
	}
	return &c
}

// data are all published runs with what the engine says about them. Once it is made
// only the order of the results changes.
type data struct {
	groups  []published.Group
	results []result
	rows    []row
	near    []int // rows, those most like the setup first
}

// result is one line of the group table.
type result struct {
	published.Result
	group int // in groups; -1: all of them, or those of a family
	// family holds several groups together; its name is empty for all and for one group.
	family published.Family
}

// named reports whether the line is of a group or a family, which v.group can name.
func (r *result) named() bool { return r.group >= 0 || r.family.Name != "" }

// has reports whether a run is one of the line.
func (r *result) has(run *row) bool {
	switch {
	case r.group >= 0:
		return run.group == r.group
	case r.family.Name != "":
		return r.family.Has(run.Group)
	}
	return true
}

// row is one figure of one run.
type row struct {
	published.Row
	group int // in groups
}

// Refresh asks for the data that the screen lacks: to be called when it is opened. The
// runs are compared once; later calls ask for nothing.
func (v *View) Refresh(in *screen.Context) screen.Request {
	if in != nil && in.Setup != nil && (v.opened == nil || *v.opened != *in.Setup) {
		s := *in.Setup
		v.opened = &s
		v.nearestFirst()
	}
	if v.inCurve {
		return v.curves.refresh(v)
	}
	if v.data != nil || v.requested || v.fault != "" {
		return screen.Request{}
	}
	v.requested = true
	return screen.Request{Work: func(ctx context.Context) func() {
		groups, err := published.Groups(v.lib)
		var d *data
		if err == nil {
			d = compare(ctx, append(published.Own(v.lib), groups...))
		}
		return func() {
			v.data, v.requested = d, false
			v.nearestFirst()
			if err != nil {
				v.fault = err.Error()
			}
		}
	}}
}

// compare evaluates every run; nil: it was stopped.
func compare(ctx context.Context, groups []published.Group) *data {
	d := &data{groups: groups}
	e := engine.Evaluator{SkipTimeline: true}
	for g := range groups {
		if ctx.Err() != nil {
			return nil
		}
		results, rows := published.Compare(&e, &groups[g])
		for _, r := range results {
			d.results = append(d.results, result{Result: r, group: g})
		}
		for _, r := range rows {
			d.rows = append(d.rows, row{Row: r, group: g})
		}
	}
	return d
}

const (
	gutter     = 2
	plotFrom   = 72 // width from which the plot stands next to the tables
	wideFrom   = 150
	bandLines  = 4
	tablesWide = 96 // width of the tables from which more is left to the plot
	peersFrom  = 62 // width of the tables from which they name other tools
)

// arrangement is where the panels stand; plot is the width of the scatter plot,
// 0 where there is no room for it.
type arrangement struct{ plot, groups, rows, tables int }

func (v *View) arrange(w, h int) arrangement {
	a := arrangement{tables: w}
	switch {
	case w >= wideFrom:
		a.plot = w - gutter - tablesWide
	case w >= plotFrom:
		if a.plot = (w - gutter) * 2 / 5; w-gutter-a.plot >= peersFrom {
			a.plot = max((w-gutter)/3, w-gutter-tablesWide)
		}
	}
	if a.plot > 0 {
		a.tables = w - gutter - a.plot
	}
	rest := max(h-bandLines, 0)
	list := 1
	if v.data != nil {
		list = len(v.listed())
	}
	a.groups = min(list+1, max(rest/2, min(rest, 2)))
	a.rows = rest - a.groups
	return a
}

// Render draws the screen: exactly h lines of w cells.
func (v *View) Render(in *screen.Context) []string {
	w, h := in.W, in.H
	if w <= 0 || h <= 0 {
		return widget.Height(nil, max(w, 0), h)
	}
	if v.inCurve {
		return v.curves.render(in)
	}
	lines := v.bands(in, w)
	if v.data == nil {
		text := "comparing the published runs " + in.Glyphs.Ellipsis
		if v.fault != "" {
			text = in.Cut(v.fault, w-2)
		}
		lines = append(lines, widget.NewLine(w).Gap(2).Put(in.Paint(themes.Muted), text).String())
		return widget.Height(lines, w, h)
	}
	a := v.arrange(w, h)
	near := v.nearest(in)
	tables := append(v.groupList(in, a.tables, a.groups), v.runList(in, near, a.tables, a.rows)...)
	if a.plot == 0 {
		return widget.Height(append(lines, tables...), w, h)
	}
	for i, left := range v.scatter(in, near, a.plot, len(tables)) {
		lines = append(lines, left+widget.Blank(gutter)+tables[i])
	}
	return widget.Height(lines, w, h)
}

// metric returns the name of the figure that is shown.
func (v *View) metric() string {
	if v.memory {
		return published.MemoryGiB
	}
	return published.StepSeconds
}
