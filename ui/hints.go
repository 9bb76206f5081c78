package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"meshscope/ui/widget"
)

// placedHint is a hint of the footer with the column at which it begins.
type placedHint struct {
	widget.Hint
	x int
}

// placedHints returns the hints that have room in w cells.
func (m *Model) placedHints(w int) []placedHint {
	var out []placedHint
	x := 0
	for _, hint := range m.hints() {
		need := widget.Width(hint.Key) + 1 + widget.Width(hint.Text)
		if x+need > w {
			break
		}
		out = append(out, placedHint{hint, x})
		x += need + 2
	}
	return out
}

// hintMouse presses the key of the footer that was clicked on: of several the one under the
// pointer; on the words behind them the last arrow, else the first key.
func (m *Model) hintMouse(x int) tea.Cmd {
	for _, h := range m.placedHints(m.caps.Width - 2*m.margin()) {
		if x < h.x || x >= h.x+widget.Width(h.Key)+1+widget.Width(h.Text) {
			continue
		}
		if name := keyAt(h.Key, x-h.x); name != "" {
			return m.handleScreenKey(name)
		}
	}
	return nil
}

// keyAt returns the name of the key that is written at a column of the keys of a hint; empty:
// none can be pressed.
func keyAt(keys string, x int) string {
	arrows := map[rune]string{'↑': "up", '↓': "down", '←': "left", '→': "right"}
	if strings.ContainsAny(keys, "↑↓←→") {
		all := []rune(keys)
		return arrows[all[min(x, len(all)-1)]]
	}
	switch keys {
	case "0-9":
		return "enter" // types
	case "arrows":
		return ""
	}
	at, names := 0, strings.FieldsFunc(keys, func(r rune) bool { return r == ' ' || r == '/' && keys != "/" })
	for _, name := range names {
		if at += len(name) + 1; x < at && x < len(keys) {
			return name
		}
	}
	if len(names) == 0 {
		return ""
	}
	return names[0]
}
