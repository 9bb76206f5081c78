package evidence

import (
	"fmt"

	"meshscope/engine"
	"meshscope/presets/curves"
	"meshscope/ui/screen"
)

// Figure returns the figure that the cursor points at, as the report names it: what a run has
// measured, or in the list of groups the error band of the setup.
func (v *View) Figure(in *screen.Context) string {
	run, _ := v.SetupAtCursor(in)
	switch {
	case v.inCurve && run != nil:
		return "throughput.tokens-per-second-per-gpu"
	case run != nil && v.memory:
		return "memory.peak"
	case run != nil:
		return "time.step"
	case v.memory:
		return "memory.error-band"
	}
	return "time.error-band"
}

// SetupAtCursor returns the setup of the published run under the cursor, and its name; nil in the
// list of groups.
func (v *View) SetupAtCursor(*screen.Context) (*engine.Setup, string) {
	if c, p := v.curves.here(); v.inCurve {
		if c == nil || c.Figure != curves.Tokens && c.Figure != curves.Memory {
			return nil, ""
		}
		s := p.Setup
		return &s, fmt.Sprintf("%s at %s %d", c.Title, c.Axis, p.At)
	}
	if !v.inRows || v.data == nil {
		return nil, ""
	}
	rows := v.shown()
	if len(rows) == 0 {
		return nil, ""
	}
	r := &v.data.rows[rows[v.cursor(rows)]]
	s := r.Run.Setup
	return &s, "published run " + r.ID
}
