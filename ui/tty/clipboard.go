package tty

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// screenString is how much of a string GNU screen hands on at a time, in bytes (MAXSTR in its screen.h is
// 768).
const screenString = 700

// Clipboard returns what puts a text on the clipboard of the terminal, with OSC 52. GNU screen drops that
// sequence unless it is wrapped, so that the terminal around it gets it; tmux takes it itself (set-clipboard
// on) and hands on a wrapped one (allow-passthrough on), so it is sent both.
func Clipboard(env []string, text string) string {
	sequence := ansi.SetSystemClipboard(text)
	switch {
	case Getenv(env, "TMUX") != "":
		return sequence + ansi.TmuxPassthrough(sequence)
	case Getenv(env, "STY") != "" || strings.HasPrefix(Getenv(env, "TERM"), "screen"):
		return ansi.ScreenPassthrough(sequence, screenString)
	}
	return sequence
}
