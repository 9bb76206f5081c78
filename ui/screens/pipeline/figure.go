package pipeline

import (
	"fmt"

	"meshscope/engine"
	"meshscope/engine/schedule"
	"meshscope/ui/screen"
)

// Figure returns the figure that the cursor is on, as the report names it: of an operation
// its time on the stage, of idle time the bubble, in the table of schedules the bubble
// of the row.
func (v *View) Figure(in *screen.Context) string {
	if v.table.open {
		return "time.bubble-share"
	}
	s, ok := v.spotAtCursor(in)
	if !ok {
		return ""
	}
	if s.idle {
		return waitingFigure(&s)
	}
	o := s.line.Order
	op := o.Ops[s.op]
	name := map[schedule.OpKind]string{
		schedule.Forward: "forward", schedule.InputGradient: "input-gradient",
		schedule.WeightGradient: "weight-gradient",
	}[op.Kind()]
	if name == "" { // a whole backward
		name = "time"
	}
	return fmt.Sprintf("stage.%d.%s", o.Stage(s.rank, op), name)
}

// RankAtCursor returns the rank that the cursor is on.
func (v *View) RankAtCursor(in *screen.Context) int {
	if s, ok := v.spotAtCursor(in); ok && !v.table.open {
		return s.rank
	}
	return -1
}

// waitingFigure returns the figure that a rank's waiting counts in: the bubble of a step is
// that of the busiest rank.
func waitingFigure(s *spot) string {
	ranks := s.line.Ranks
	for i := range ranks {
		if ranks[i].Busy > ranks[s.rank].Busy {
			return "pipeline.bubble-over-total"
		}
	}
	return "time.bubble"
}

// spotAtCursor finds the item under the cursor in the picture that was drawn last.
func (v *View) spotAtCursor(in *screen.Context) (spot, bool) {
	if lineOf(in) == nil {
		return spot{}, false
	}
	l := v.drawn
	if l == nil || l.key.first != lineOf(in) {
		if l = v.layout(in, 80, 8); l == nil {
			return spot{}, false
		}
	}
	return v.spot(l), true
}

// SetupAtCursor returns the setup of the row of the table, or of the second timeline where the
// cursor is in that; nil elsewhere.
func (v *View) SetupAtCursor(in *screen.Context) (*engine.Setup, string) {
	if v.table.open {
		t := &v.table
		if in.Setup == nil || t.row < 0 || t.row >= len(t.rows) || !t.current(in.Setup) ||
			!t.rows[t.row].Report.Legal {
			return nil, ""
		}
		s := t.rows[t.row].Setup
		return &s, "schedule " + string(t.rows[t.row].Info.Kind)
	}
	if s, ok := v.spotAtCursor(in); ok && s.block == 1 && v.second != nil {
		setup := v.second.Setup
		return &setup, "schedule " + string(v.second.Info.Kind)
	}
	return nil, ""
}
