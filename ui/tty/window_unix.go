//go:build unix

package tty

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"

	"meshscope/ui/paste"
)

// Window is the terminal that the program runs in: what is typed, and what is drawn on.
type Window struct {
	env     []string
	program *tea.Program
	input   *input
	output  *output
	rest    *rest
	queue   *Queue
	before  *term.State // of the line discipline

	replies chan tea.Msg
	giving  sync.Once
}

// Open returns the terminal of the process. It calls idle when nothing has happened for a while.
func Open(env []string, idle func()) *Window {
	w := &Window{env: env, queue: NewQueue(time.Now), replies: make(chan tea.Msg, 16)}
	w.rest = newRest(func(turn int) {
		w.program.Send(restMsg{turn})
		idle()
	})
	w.output = newOutput(os.Stdout, w.rest)
	typed, keys := io.Pipe()
	w.input = &input{Input: paste.NewInput(os.Stdin), gate: newGate(keys), keys: keys, typed: typed, failed: w.rest.end}
	w.before, _ = term.GetState(os.Stdin.Fd())
	return w
}

// Colours returns how many colours the terminal shows.
func (w *Window) Colours() colorprofile.Profile { return Profile(os.Stdout, w.env) }

// Options returns the options of a program in the terminal. The program would ask it for its size by itself, and keep every cell of what a terminal claims to have: 65,535 times
// 65,535 is more memory than there is. So it is told a size that is bounded, at the
// start, when the window changes and when the program comes back from the background.
func (w *Window) Options() []tea.ProgramOption {
	columns, rows := windowSize()
	return []tea.ProgramOption{
		tea.WithEnvironment(w.env), tea.WithInput(w.input), tea.WithOutput(w.output), tea.WithFilter(w.filter),
		tea.WithWindowSize(columns, rows), asDrawn(),
	}
}

// Slow reports whether the terminal has lately taken long to take a frame.
func (w *Window) Slow() bool { return w.output.slow() }

// filter sees every message before the program does: the size is bounded, of which the
// program keeps cells, and a rest of the renderer ends.
func (w *Window) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	if rest, ok := msg.(restMsg); ok {
		if !w.rest.allow(rest.turn) {
			return nil
		}
		return tea.RawMsg{Msg: restMark}
	}
	w.rest.wake()
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		size.Width, size.Height = bounded(size.Width, size.Height)
		return size
	}
	return msg
}

// restMsg says that nothing has happened for a while in a turn.
type restMsg struct{ turn int }

// windowSize returns the part of the window that is drawn on; 0 where unknown.
func windowSize() (columns, rows int) {
	columns, rows, err := term.GetSize(os.Stdout.Fd())
	if err != nil {
		return 0, 0
	}
	return bounded(columns, rows)
}

// Follow gives the program what is typed, and tells it when the size changes, until it is stopped or the
// context ends.
func (w *Window) Follow(ctx context.Context, p *tea.Program) (stop func()) {
	w.program = p
	ctx, cancel := context.WithCancel(ctx)
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	awake := context.AfterFunc(ctx, w.rest.end)
	go w.decode(ctx)
	go w.send(ctx, changed)
	return func() {
		signal.Stop(changed)
		cancel()
		awake()
		w.rest.end()
		_ = w.input.typed.Close()
	}
}

// decode turns what is typed into messages, without ever waiting for the program.
func (w *Window) decode(ctx context.Context) {
	events := make(chan uv.Event)
	reader := uv.NewTerminalReader(w.input.typed, Getenv(w.env, "TERM"))
	reader.EscTimeout = time.Millisecond // the gate has waited
	go func() {
		_ = reader.StreamEvents(ctx, events) // ends with the program
		close(events)
	}()
	for e := range events {
		if msg := typed(e); msg != nil {
			w.queue.Put(msg)
			continue
		}
		if _, ok := e.(uv.BackgroundColorEvent); ok {
			w.input.gate.answered()
		}
		select {
		case w.replies <- e:
		default: // more than any terminal answers
		}
	}
}

// send tells the program that there is input, what the terminal replies, and that the size has changed.
func (w *Window) send(ctx context.Context, changed <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			w.program.Send(Resized())
		case msg := <-w.replies:
			w.program.Send(msg)
		case <-w.queue.Ready():
			w.program.Send(InputMsg{})
		}
	}
}

// typed returns the message of a key, the mouse or a paste; nil: it is something else.
func typed(e uv.Event) tea.Msg {
	switch e := e.(type) {
	case uv.KeyPressEvent:
		return tea.KeyPressMsg(e)
	case uv.MouseClickEvent:
		return tea.MouseClickMsg(e)
	case uv.MouseMotionEvent:
		return tea.MouseMotionMsg(e)
	case uv.MouseReleaseEvent:
		return tea.MouseReleaseMsg(e)
	case uv.MouseWheelEvent:
		return tea.MouseWheelMsg(e)
	case uv.PasteEvent:
		return tea.PasteMsg(e)
	}
	return nil
}

// Next takes the input that has waited longest.
func (w *Window) Next() (tea.Msg, bool) { return w.queue.Next() }

// GiveUp ends a write to a terminal that takes no bytes, so that the program can end.
func (w *Window) GiveUp() { w.giving.Do(w.output.giveUp) }

// Time that a terminal has to take the bytes that restore it, after it was given up.
const (
	restoring = 300 * time.Millisecond
	clearing  = 10 * time.Millisecond
)

// Restore gives back the terminal after it was given up: what it did not take is dropped, so that there is
// room for what restores it, which comes through once it is read again.
func (w *Window) Restore() {
	if !closed(w.output.gone) {
		return
	}
	restored, out := make(chan struct{}), int(os.Stdout.Fd())
	go func() {
		<-w.output.stuck
		dropOutput(out)
		_, _ = os.Stdout.WriteString(restoration)
		close(restored)
	}()
	limit := time.After(restoring)
	for waits := true; waits; {
		select {
		case <-limit:
			waits = false
		case <-restored:
			waits = false
		case <-time.After(clearing):
			if !closed(w.output.stuck) {
				dropOutput(out)
			}
		}
	}
	if w.before != nil {
		_ = term.Restore(os.Stdin.Fd(), w.before)
	}
}

// restoration ends a sequence that was cut off, and every mode that the program sets.
const restoration = "\x18\x1b\\" + ansi.ResetModeSynchronizedOutput + ansi.ResetModifyOtherKeys + "\x1b[<1u" +
	ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseAnyEvent + ansi.ResetModeMouseExtSgr +
	ansi.ResetModeBracketedPaste + ansi.ResetStyle + ansi.ResetModeAltScreenSaveCursor + ansi.SetModeTextCursorEnable

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

// input is what is typed. The library may ask for more before the program has taken what came, so none of
// it goes that way: what is read goes through the gate.
type input struct {
	*paste.Input
	gate   *gate
	keys   *io.PipeWriter
	typed  *io.PipeReader
	failed func()
}

// Read reads what was typed and returns nothing of it.
func (i *input) Read(p []byte) (int, error) {
	n, err := i.Input.Read(p)
	if n > 0 {
		i.gate.take(p[:n])
	}
	if err != nil {
		i.failed()
	}
	return 0, err
}
