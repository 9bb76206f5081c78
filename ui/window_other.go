//go:build !unix

package ui

import (
	"os"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"meshscope/ui/wire"
)

// window is the terminal that is drawn on. Here the terminal program looks after it.
func window(o *Options) []tea.ProgramOption {
	options := []tea.ProgramOption{tea.WithOutput(wire.NewFile(os.Stdout))}
	if o.NoColor || noColor(o.Env) {
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	return options
}

func followWindow(*tea.Program) (stop func()) { return func() {} }

func resized() tea.Msg { return nil }
