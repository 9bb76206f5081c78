package pipeline

import (
	"testing"

	"github.com/charmbracelet/colorprofile"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/schedule"
	"meshscope/presets"
	"meshscope/ui/screen"
	"meshscope/ui/screen/screentest"
)

// TestThereAndBack: a setting that is turned and turned back before the stopped work
// has reported has its table and its second timeline, and no work begins itself again.
func TestThereAndBack(t *testing.T) {
	in := input(t, colorprofile.ASCII, spec(schedule.OneFOneB, 2, 1, 8))
	first := presets.DefaultSetup()
	second, err := knob.Turn(first, "microbatches", "64", knob.Locks{GPUs: true, Batch: true})
	if err != nil {
		t.Fatal(err)
	}
	v := &View{}
	p := &screentest.Program{Refresh: func() screen.Request { return v.Refresh(in) }}
	thereAndBack := func(most int) {
		for _, s := range []engine.Setup{first, second, first} {
			in.Setup = &s
			p.Ask()
		}
		p.Finish(t, most)
	}
	v.table.open = true
	thereAndBack(3)
	if !v.table.current(&first) {
		t.Error("the table is not there")
	}
	v.table.open, v.against = false, schedule.ZBAuto
	thereAndBack(6)
	if v.second == nil || v.second.Setup.MicroBatches != first.MicroBatches || v.fetching != "" {
		t.Error("the second timeline is not there")
	}
}

// TestIdleText: idle time without a cause that is worth a figure ends without a colon.
func TestIdleText(t *testing.T) {
	for _, test := range []struct {
		waits schedule.Waits
		want  string
	}{
		{schedule.Waits{}, "0.0 % of the pipeline's time"},
		{schedule.Waits{Drain: 0.1}, "0.0 % of the pipeline's time: 10.0 % drain"},
	} {
		if got := idleText(test.waits, 0, 1); got != test.want {
			t.Errorf("%q, not %q", got, test.want)
		}
	}
}
