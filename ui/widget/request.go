package widget

import "context"

// Request is what a screen asks of the program. Setup is the program's setup: a
// parameter, because this package knows cells only.
type Request[Setup any] struct {
	Setup *Setup // take this setup, undoably; nil: none
	Text  string // the note that goes with it
	// Work runs off the key path. What it returns (nil: nothing) is called on
	// the key path afterwards and changes the screen's state.
	Work func(ctx context.Context) func()
}
