package scan

import (
	"meshscope/engine"
	enginescan "meshscope/engine/scan"
	"meshscope/ui/screen"
)

// Figure returns the figure that is scanned, as the report names it.
func (v *View) Figure(*screen.Context) string { return v.figure }

// SetupAtCursor returns the setup of the point under the cursor of the chart, and its name; nil
// where that cannot run, or where the cursor is elsewhere.
func (v *View) SetupAtCursor(*screen.Context) (*engine.Setup, string) {
	p := v.point()
	if !v.inChart || p == nil || p.Verdict == enginescan.Illegal {
		return nil, ""
	}
	s := p.Setup
	return &s, "the scan, " + v.pointName(p)
}

// pointName returns a point by the values of its knobs.
func (v *View) pointName(p *enginescan.Point) string {
	text := label(v.drawn.x) + " " + p.X
	if v.drawn.by != "" {
		text += ", " + label(v.drawn.by) + " " + p.By
	}
	return text
}
