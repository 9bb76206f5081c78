//go:build !unix

package tty

import (
	"os"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// Window is the terminal that the program runs in. Here the terminal program looks after it.
type Window struct{ env []string }

// Open returns the terminal of the process.
func Open(env []string) *Window { return &Window{env: env} }

// Colours returns how many colours the terminal shows.
func (w *Window) Colours() colorprofile.Profile { return Profile(os.Stdout, w.env) }

// Options returns the options of a program in the terminal.
func (w *Window) Options() []tea.ProgramOption {
	return []tea.ProgramOption{tea.WithEnvironment(w.env), asDrawn()}
}

// Follow does nothing.
func (*Window) Follow(*tea.Program) (stop func()) { return func() {} }

// Slow returns false: nobody has looked.
func (*Window) Slow() bool { return false }

// Busy returns false: nobody has looked.
func (*Window) Busy() bool { return false }

// GiveUp does nothing.
func (*Window) GiveUp() {}

// Restore does nothing.
func (*Window) Restore() {}

// Resized returns no news.
func Resized() tea.Msg { return nil }

// CanSuspend returns false: there is no job control here.
func CanSuspend() bool { return false }
