package ui

import (
	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/hardware"
	"meshscope/engine/model"
	"meshscope/ui/overlay"
	"meshscope/ui/screens/explore"
)

// sweptMsg brings the figures of a knob at each of its legal values, and what
// would make the setup fit.
type sweptMsg struct {
	generation int
	id         engine.ParamID
	points     []explore.Point
	current    int
	remedies   []advise.Move // of a setup that does not fit
}

// workedMsg brings the end of what a screen had worked out.
type workedMsg struct{ finish func() }

// copiedMsg says what was copied, and where it can be found.
type copiedMsg struct{ note string }

// exportedMsg says what was written to a file, or why nothing was.
type exportedMsg struct{ note Note }

// tickMsg moves a playback.
type tickMsg struct{}

// crashedMsg says that a command panicked; file is where the details are.
type crashedMsg struct {
	what string
	file string
}

// catalog is what the pickers choose from; read once, in a command.
type catalog struct {
	models       []model.Model
	modelItems   []overlay.Item
	clusters     []hardware.Cluster
	clusterItems []overlay.Item
}
