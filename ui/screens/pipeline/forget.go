package pipeline

import "meshscope/engine"

// Forget drops large results that can be computed again, for when the screen is
// left: a long second timeline comes back with Refresh.
func (v *View) Forget() {
	v.drawn, v.memos = nil, [2]*memo{}
	if b := v.second; b != nil && b.Report.Timeline != nil && len(b.Report.Timeline.Order.Ops) > keepOps {
		v.second, v.secondOf, v.table.rows = nil, engine.Setup{}, nil
	}
}
