package lesson

import (
	"github.com/charmbracelet/x/ansi"

	"meshscope/lessons"
)

// Hide replaces the digits of masked figures in drawn lines, whatever their colours.
func Hide(mask lessons.Mask, lines []string) {
	for i, line := range lines {
		for _, at := range mask.Places(ansi.Strip(line)) {
			line = question(line, at[0], at[1])
		}
		lines[i] = line
	}
}

// question puts question marks over the bytes from and to of the visible text of a line.
func question(line string, from, to int) string {
	b := []byte(line)
	seen := 0
	var state byte
	for at := 0; at < len(b); {
		_, width, n, next := ansi.DecodeSequence(b[at:], state, nil)
		state = next
		if width > 0 { // visible: digits are single bytes
			if seen >= from && seen < to {
				b[at] = '?'
			}
			seen += n
		}
		at += max(n, 1)
	}
	return string(b)
}
