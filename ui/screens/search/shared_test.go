package search

import (
	"testing"

	"meshscope/presets"
)

// TestShared: where others compute in the same process, no search has more than one core or collects their
// garbage; alone it does.
func TestShared(t *testing.T) {
	in := small(t)
	for _, shared := range []bool{false, true} {
		v := New(presets.Default())
		v.Shared = shared
		v.Refresh(in)
		if v.running.shared != shared {
			t.Errorf("shared %t: the search is not", shared)
		}
		v.refreshGuide(in)
		p, q := v.guide.problem(fitStage, 0), v.guide.of.question(shared)
		if p.Workers > 1 && shared || p.Workers != q.Workers || (p.Collect == nil) != shared ||
			(q.Collect == nil) != shared {
			t.Errorf("shared %t: a search has %d workers, the guide's %d", shared, q.Workers, p.Workers)
		}
	}
}
