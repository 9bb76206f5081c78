package search

import (
	"cmp"

	"meshscope/engine"
	"meshscope/report/figure"
	"meshscope/ui/screen"
)

// ranking is the figure that layouts are ranked by, as the report names it.
const ranking = "throughput.tokens-per-second-per-gpu"

// Figure returns the figure in the column under the cursor, as the report names it; of a
// column that is no figure, the one that layouts are ranked by.
func (v *View) Figure(in *screen.Context) string {
	if in.Setup == nil {
		return ""
	}
	switch {
	case v.guide.open && v.guide.at == fitStage:
		return "memory.peak"
	case v.guide.open:
		return ranking
	case v.inPicture && v.picture == heatPicture:
		return "throughput.mfu"
	case v.inPicture && v.picture == measuredPicture:
		return ranking
	}
	return cmp.Or(v.table.All[v.table.Column].Figure, ranking)
}

// SetupAtCursor returns the setup of the row, cell or line under the cursor, and its name; nil
// where none is pointed at.
func (v *View) SetupAtCursor(in *screen.Context) (*engine.Setup, string) {
	if v.guide.open {
		if o := v.guide.here(); o != nil && o.found {
			s := o.row.Setup
			return &s, o.name + " of the three steps"
		}
		return nil, ""
	}
	if v.inPicture {
		switch v.picture {
		case heatPicture:
			if c := v.heat.here(); c != nil && c.found {
				s := c.Setup
				return &s, "the best of " + s.Model.Name + " on " + nodes(&s)
			}
			return nil, ""
		case measuredPicture:
			if m := &v.measured; len(m.runs) > 0 {
				r := &m.runs[min(m.row, len(m.runs)-1)]
				s := r.setup
				return &s, "published run " + r.id
			}
			return nil, ""
		case scatterPicture, pictures:
		}
	}
	if r := v.table.Under(v.shown(in)); r != nil {
		s := r.Setup
		return &s, nameOf(r)
	}
	return nil, ""
}

// nameOf returns what a row is called next to the table.
func nameOf(r *row) string {
	if r.Rank > 0 {
		return "rank " + figure.Comma(r.Rank) + " of the search"
	}
	return "the current setup"
}
