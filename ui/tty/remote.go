package tty

import (
	"context"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
)

// Remote is a terminal at the other end of a connection.
type Remote struct {
	In            io.Reader
	Out           io.Writer // takes \n for a new line, as a terminal in its usual mode does
	Width, Height int       // 0: unknown
	// Follow tells the program what happens to its terminal, until it is stopped.
	Follow func(*tea.Program) (stop func())
}

// Options returns the terminal for a program. Nothing is asked of the process: not its terminal, and not by
// running other programs.
func (r *Remote) Options() []tea.ProgramOption {
	columns, rows := bounded(r.Width, r.Height)
	return []tea.ProgramOption{
		tea.WithInput(silence{}), tea.WithOutput(r.Out), tea.WithWindowSize(columns, rows),
		asDrawn(), tea.WithoutSignalHandler(), tea.WithoutSignals(),
	}
}

// Colours returns how many colours the terminal shows, by its environment.
func (*Remote) Colours(env []string) colorprofile.Profile { return colorprofile.Env(env) }

// silence is the input of a program that is fed.
type silence struct{}

// Read ends the input.
func (silence) Read([]byte) (int, error) { return 0, io.EOF }

// readAhead is how many keys are read before they are handled: ctrl+c among them ends the program at once.
const readAhead = 4096

// Feed gives a program what its terminal sends, and follows it, until it is stopped. Unlike the reader of
// the library it waits for no program that has ended: what was typed after its last key is dropped.
func (r *Remote) Feed(env []string, p *tea.Program) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	events := make(chan uv.Event, readAhead)
	typed := &input{from: r.In, now: time.Now, interrupt: func(many bool) {
		if many || len(events) > handedOn {
			go p.Send(tea.Interrupt())
		}
	}}
	reader := uv.NewTerminalReader(typed, Getenv(env, "TERM"))
	go func() {
		defer close(events)
		_ = reader.StreamEvents(ctx, events) // ends with the connection
	}()
	go func() {
		for e := range events {
			p.Send(e)
		}
	}()
	unfollow := r.Follow(p)
	return func() {
		unfollow()
		cancel()
	}
}
