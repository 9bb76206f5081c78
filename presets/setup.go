package presets

import "meshscope/engine"

// What the program starts with.
const (
	DefaultModel   = "llama3.1-70b"
	DefaultCluster = "dgx-h100"

	defaultNodes, defaultTP, defaultPP, defaultGBS = 8, 8, 2, 512
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
	nodes, tp, pp, gbs := defaultNodes, defaultTP, defaultPP, defaultGBS
	s, err := engine.Draft{Model: &m, Cluster: &c, Nodes: &nodes, TP: &tp, PP: &pp, GBS: &gbs}.Resolve()
	if err != nil {
		return engine.Setup{}
	}
	return s
}
