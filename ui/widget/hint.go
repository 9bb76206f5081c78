package widget

// Hint is a key that is useful at the moment, and what it does.
type Hint struct{ Key, Text string }

// Binding is one line of a screen's part of the help: keys by Bubble Tea's names,
// and what they do.
type Binding struct {
	Keys []string
	Text string
	Own  bool // a file of keys has changed them
}
