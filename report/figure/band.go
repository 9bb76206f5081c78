package figure

import (
	"unicode/utf8"

	"meshscope/engine"
)

// Band puts its error band beside a predicted figure; the signs are those of the
// terminal.
type Band struct {
	*engine.Evidence
	PlusMinus, About string
}

// Brief is the figure where room is short: "62.6 s ±8.2 %", or "≈62.6 s" where
// there is no band. The words must then stand elsewhere on the screen.
func (b Band) Brief(value string) string {
	if !b.Validated() {
		return b.About + value
	}
	return value + " " + b.Band(b.PlusMinus)
}

// Beside is the figure with its band or the words of the lack of one, in so many
// cells; in fewer than that takes it is brief.
func (b Band) Beside(value string, room int) string {
	if !b.Validated() {
		for _, words := range [...]string{b.Band(b.PlusMinus), b.BandBrief(b.PlusMinus)} {
			if full := value + ", " + words; utf8.RuneCountInString(full) <= room {
				return full
			}
		}
	}
	return b.Brief(value)
}
