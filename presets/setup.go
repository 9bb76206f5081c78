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

// DefaultSetup returns the setup that the program starts with by default: Llama 3.1
// 70B on eight DGX H100 nodes, TP 8, PP 2, 512 sequences per step. It is made
// of built-in files only, which tests validate.
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
