package presets_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/schedule"
	"meshscope/presets"
)

func TestDefaultSetup(t *testing.T) {
	s := presets.DefaultSetup()
	if s.Model.ID != "llama3.1-70b" || s.Cluster.ID != "dgx-h100" || s.Nodes() != 8 || s.GPUs != 64 {
		t.Errorf("%s on %d GPUs of %s", s.Model.ID, s.GPUs, s.Cluster.ID)
	}
	if s.TP != 8 || s.PP != 2 || s.DP != 4 || s.CP != 1 || s.GBS != 512 || s.MBS != 1 ||
		s.MicroBatches != 128 || s.Seq != 8192 {
		t.Errorf("layout %+v", s.Layout)
	}
	if !s.SP || s.ZeRO != 1 || s.Schedule != schedule.OneFOneB {
		t.Errorf("sp %v, zero %d, schedule %s", s.SP, s.ZeRO, s.Schedule)
	}
	if s != presets.DefaultSetup() {
		t.Error("two calls differ")
	}
	if r := engine.Evaluate(s); !r.Legal {
		t.Errorf("the start is illegal: %+v", r.Problems)
	}
}
