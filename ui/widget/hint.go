package widget

// Hint is a key that is useful at the moment, and what it does.
type Hint struct{ Key, Text string }
