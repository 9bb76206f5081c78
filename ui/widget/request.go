package widget

import (
	"context"

	"meshscope/engine"
)

// Request is what a screen asks of the program.
type Request struct {
	Setup *engine.Setup // take this setup, undoably; nil: none
	Text  string        // the note that goes with it
	// Work runs off the key path. What it returns (nil: nothing) is called on
	// the key path afterwards and changes the screen's state.
	Work func(ctx context.Context) func()
}
