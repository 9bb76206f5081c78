package tty

import (
	"io"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"meshscope/ui/paste"
)

// Remote is a terminal at the other end of a connection.
type Remote struct {
	In            io.Reader
	Out           io.Writer // takes \n for a new line, as a terminal in its usual mode does
	Width, Height int       // 0: unknown
	// Follow tells the program what happens to its terminal, until it is stopped.
	Follow func(*tea.Program) (stop func())
}

// Options returns the terminal for a program, without colours where plain. Nothing is asked of the
// process: not its terminal, and not by running other programs.
func (r *Remote) Options(env []string, plain bool) []tea.ProgramOption {
	profile := colorprofile.Env(env)
	if plain {
		profile = colorprofile.ASCII
	}
	columns, rows := bounded(r.Width, r.Height)
	return []tea.ProgramOption{
		tea.WithInput(paste.NewReader(r.In)), tea.WithOutput(r.Out), tea.WithWindowSize(columns, rows),
		tea.WithColorProfile(profile), tea.WithoutSignalHandler(), tea.WithoutSignals(),
	}
}
