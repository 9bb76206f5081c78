//go:build !unix

package ui

import (
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// window is the terminal that is drawn on. Here the terminal program looks after it.
func window(o *Options) []tea.ProgramOption {
	if o.NoColor || noColor(o.Env) {
		return []tea.ProgramOption{tea.WithColorProfile(colorprofile.ASCII)}
	}
	return nil
}

func followWindow(*tea.Program) (stop func()) { return func() {} }

func resized() tea.Msg { return nil }
