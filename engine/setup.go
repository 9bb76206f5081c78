// Package engine answers what a way of cutting the training costs. The flow is
// Setup -> Evaluate -> Report. The package is pure: no terminal, clock, file or
// global state; the same Setup gives the same Report on any goroutine.
package engine

import (
	"meshscope/engine/knob"
	"meshscope/engine/layout"
)

// Setup is everything the user chooses. Its fields stand with the knobs that turn
// them, in engine/knob.
type Setup = knob.Setup

// Problem is a reason why a setup is illegal, or a warning about a legal one.
type Problem = layout.Problem

// Check says what is wrong with a setup: errors for what cannot be executed at
// all, warnings for the rest. Every error carries values that make the setup
// legal, where any exist.
func Check(s Setup) []Problem { return knob.Check(&s) }

// Legal says whether a setup has no errors. It is much cheaper than Check on an
// illegal one, because nearest values are not looked for.
func Legal(s Setup) bool { return knob.Legal(&s) }
