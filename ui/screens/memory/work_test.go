package memory

import (
	"testing"

	"github.com/charmbracelet/colorprofile"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/ui/screen"
	"meshscope/ui/screen/screentest"
)

// TestThereAndBack: who leaves and comes back before the stopped work has reported
// gets the answers, and no work begins itself again.
func TestThereAndBack(t *testing.T) {
	in := input(t, colorprofile.ASCII, true, 8)
	s := presets.DefaultSetup()
	r := engine.Evaluate(s)
	in.Setup, in.Report = &s, &r
	v := New()
	p := &screentest.Program{Refresh: func() screen.Request { return v.Refresh(in) }}
	p.Ask()
	for range 2 {
		v.Forget()
		p.Stop()
		p.Ask()
	}
	p.Finish(t, 3)
	if !v.fresh(in) {
		t.Error("no answers")
	}
}
