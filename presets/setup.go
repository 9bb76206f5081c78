package presets

import (
	"meshscope/engine"
	"meshscope/engine/knob"
)

// Defaults of the program.
const (
	DefaultModel   = "llama3.1-70b"
	DefaultCluster = "dgx-h100"
)

// StartSetup returns the setup that the explorer opens with where nothing is given: the best
// layout with a pipeline of at least four ranks that a search finds for Llama 3.1 70B on
// 32 DGX H100 nodes with 4 M tokens a step. A test searches for it again.
func StartSetup() engine.Setup {
	return resolved(knob.Given{
		knob.Nodes: 32, knob.TP: 4, knob.PP: 4, knob.VPP: 10, knob.CP: 2,
		knob.GBS: 512,
	})
}

// DefaultSetup returns a plain setup: Llama 3.1 70B on eight DGX H100 nodes, TP 8, PP 2,
// 512 sequences per step.
func DefaultSetup() engine.Setup {
	return resolved(knob.Given{knob.Nodes: 8, knob.TP: 8, knob.PP: 2, knob.GBS: 512})
}

// resolved returns the default model on the default cluster with a layout. All of it is
// built in, which tests validate.
func resolved(given knob.Given) engine.Setup {
	m, errM := Default().Model(DefaultModel)
	c, errC := Default().Cluster(DefaultCluster)
	if errM != nil || errC != nil {
		return engine.Setup{}
	}
	s, err := knob.DraftOf(m, c, given).Resolve()
	if err != nil {
		return engine.Setup{}
	}
	return s
}
