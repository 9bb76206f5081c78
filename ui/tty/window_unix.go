//go:build unix

package tty

import (
	"io"
	"os"
	"os/signal"
	"syscall"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"

	"meshscope/ui/paste"
)

// screenOnly hides that the output is a terminal, so that nobody asks it for its
// size.
type screenOnly struct{ io.Writer }

// Window returns the terminal that is drawn on, without colours where plain. The terminal program would ask it for its
// size by itself, and keep every cell of what a terminal claims to have: 65,535 times
// 65,535 is more memory than there is. So it is told a size that is bounded, at the
// start, when the window changes and when the program comes back from the background.
func Window(env []string, plain bool) []tea.ProgramOption {
	profile := colorprofile.Detect(os.Stdout, env)
	if plain {
		profile = colorprofile.ASCII
	}
	columns, rows := windowSize()
	return []tea.ProgramOption{
		tea.WithInput(paste.NewInput(os.Stdin)), tea.WithOutput(screenOnly{os.Stdout}),
		tea.WithWindowSize(columns, rows), tea.WithColorProfile(profile),
	}
}

// windowSize returns the part of the window that is drawn on; 0 where unknown.
func windowSize() (columns, rows int) {
	columns, rows, err := term.GetSize(os.Stdout.Fd())
	if err != nil {
		return 0, 0
	}
	return bounded(columns, rows)
}

// Follow tells the program when the size changes, until it is stopped.
func Follow(p *tea.Program) (stop func()) {
	changed, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(changed, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-changed:
				p.Send(Resized())
			}
		}
	}()
	return func() {
		signal.Stop(changed)
		close(done)
	}
}

// Resized returns the news of the size that the window has now.
func Resized() tea.Msg {
	columns, rows := windowSize()
	return tea.WindowSizeMsg{Width: columns, Height: rows}
}

// CanSuspend reports whether a shell waits that would bring the program back. As the
// first program of its session (ssh -t host meshscope, a terminal's own command)
// it has none: the kernel then drops the stop signal, and a program that waits to
// be continued would wait for ever.
func CanSuspend() bool {
	session, err := unix.Getsid(0)
	return err == nil && session != unix.Getpgrp()
}
