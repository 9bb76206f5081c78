package screen

import (
	"meshscope/engine"
	"meshscope/themes"
)

// Fit returns the word for whether a layout fits, and its color: fits and over hold with
// the error band of the memory too, tight does not.
func Fit(m *engine.Memory) (word string, role themes.Role) {
	switch m.Fit {
	case engine.Over:
		role = themes.Bad
	case engine.Tight:
		role = themes.Warn
	default:
		role = themes.Good
	}
	return m.FitWord(), role
}
