//go:build !unix

package tty

import (
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// Window returns the terminal that is drawn on, without colours where plain. Here the terminal program looks after it.
func Window(_ []string, plain bool) []tea.ProgramOption {
	if plain {
		return []tea.ProgramOption{tea.WithColorProfile(colorprofile.ASCII)}
	}
	return nil
}

// Follow does nothing.
func Follow(*tea.Program) (stop func()) { return func() {} }

// Resized returns no news.
func Resized() tea.Msg { return nil }

// CanSuspend returns false: there is no job control here.
func CanSuspend() bool { return false }
