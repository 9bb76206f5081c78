package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// TestOneGPUHasTheWholeModel: one GPU has all parameters, with trained modules for more tokens theirs too;
// over EP ranks each has its share of the routed experts and all of the rest, over pipeline ranks each
// parameter is once there.
func TestOneGPUHasTheWholeModel(t *testing.T) {
	e := engine.Evaluator{SkipTimeline: true}
	for _, listed := range presets.Default().Models() {
		m := listed.Model
		for _, modules := range []int{m.MTPLayers, 2} {
			if m.MTPLayers = modules; len(m.Check()) > 0 {
				continue
			}
			at := func(given knob.Given) *engine.Report {
				d := knob.DraftOf(m, draftCluster(),
					knob.Given{
						knob.TP: 1, knob.CP: 1, knob.Seq: min(m.MaxSeq, 1024),
						knob.Calibration: recipe.Textbook, knob.ZeRO: 0,
					})
				d.With(given)
				s, err := d.Resolve()
				if err != nil {
					t.Fatal(err)
				}
				if s.TrainMTP = modules > 0; !engine.Legal(s) {
					return nil
				}
				r := e.Evaluate(s)
				return &r
			}
			whole := float64(m.Total())
			if modules > 0 {
				whole += float64(m.MTP())
			}
			if r := at(knob.Given{knob.GPUs: 1, knob.PP: 1}); r == nil ||
				!same(r.Memory.Ranks[0].Parameters, whole) {
				t.Errorf("%s with %d modules: one GPU has %+v, want %v parameters", m.ID, modules, r, whole)
			}
			layer := m.Layer(m.Layers - 1)
			experts := float64(m.MoELayers()+modules) * float64(layer.ExpertsSharded+layer.ExpertsReplicated)
			if r := at(knob.Given{knob.GPUs: 2, knob.PP: 1, knob.EP: 2}); m.IsMoE() && r != nil &&
				!same(r.Memory.Ranks[0].Parameters, whole-experts/2) {
				t.Errorf("%s with %d modules: one of two has %v, want %v less %v", m.ID, modules,
					r.Memory.Ranks[0].Parameters, whole, experts/2)
			}
			r := at(knob.Given{knob.GPUs: 2, knob.PP: 2})
			if r == nil {
				continue
			}
			sum := r.Memory.Ranks[0].Parameters + r.Memory.Ranks[1].Parameters
			if m.Tied { // the head is a copy on the last rank
				sum -= float64(m.Embedding())
			}
			for _, l := range model.Lay(&m, nil).Layers { // both ranks have a block that layers share
				sharded, rest := l.Block()
				sum -= float64(m.SharedBlocks) * (sharded.V + rest.V)
			}
			if !same(sum, whole) {
				t.Errorf("%s with %d modules: two ranks have %v, want %v", m.ID, modules, sum, whole)
			}
		}
	}
}
