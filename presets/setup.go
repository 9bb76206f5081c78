package presets

import (
	"meshscope/engine"
	"meshscope/engine/knob"
)

// What the program starts with.
const (
	DefaultModel   = "llama3.1-70b"
	DefaultCluster = "dgx-h100"
)

// DefaultSetup is what the program starts with when nothing is said: Llama 3.1
// 70B on eight DGX H100 nodes, TP 8, PP 2, 512 sequences per step. It is made
// of built-in files only, which the tests hold to be sound.
func DefaultSetup() engine.Setup {
	m, errM := Default().Model(DefaultModel)
	c, errC := Default().Cluster(DefaultCluster)
	if errM != nil || errC != nil {
		return engine.Setup{}
	}
	s, err := knob.DraftOf(m, c, knob.Given{knob.Nodes: 8, knob.TP: 8, knob.PP: 2, knob.GBS: 512}).Resolve()
	if err != nil {
		return engine.Setup{}
	}
	return s
}
