package figure

import "meshscope/engine"

// Band puts its error band next to a predicted figure; the signs are those of the
// terminal.
type Band struct {
	*engine.Evidence
	PlusMinus string
}

// Of puts the band after a figure: "62.6 s ±8.2 %".
func (b Band) Of(value string) string { return value + " " + b.Band(b.PlusMinus) }
