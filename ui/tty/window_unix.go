//go:build unix

package tty

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

// Window is the terminal that the program runs in: what is typed, and what is drawn on.
type Window struct {
	env       []string
	input     *keyboard
	output    *output
	before    *term.State // of the line discipline
	restoring sync.Once
	giving    sync.Once

	retaking sync.Mutex
	over     bool // the program ends: nothing is taken back from the shell
}

// Open returns the terminal of the process.
func Open(env []string) *Window {
	w := &Window{env: env, output: newOutput(os.Stdout)}
	w.input = &keyboard{file: os.Stdin, typed: &input{
		from: os.Stdin, ready: readable(os.Stdin),
		now: time.Now,
	}}
	w.before, _ = term.GetState(os.Stdin.Fd())
	return w
}

// Colours returns how many colours the terminal shows.
func (w *Window) Colours() colorprofile.Profile { return Profile(os.Stdout, w.env) }

// Options returns the options of a program in the terminal. The program would ask it for its size by
// itself, and keep every cell of what a terminal claims to have: 65,535 times
// 65,535 is more memory than there is. So it is told a size that is bounded, at the
// start, when the window changes and when the program comes back from the background.
func (w *Window) Options() []tea.ProgramOption {
	columns, rows := windowSize()
	usual := Filter(time.Now)
	return []tea.ProgramOption{
		tea.WithEnvironment(w.env), tea.WithInput(w.input), tea.WithOutput(w.output),
		tea.WithWindowSize(columns, rows), asDrawn(),
		tea.WithFilter(func(m tea.Model, msg tea.Msg) tea.Msg {
			switch msg.(type) {
			case tea.SuspendMsg:
				w.input.paused.Store(true)
			case tea.ResumeMsg:
				w.input.paused.Store(false)
			case tea.QuitMsg, tea.InterruptMsg:
				w.leave()
			}
			return usual(m, msg)
		}),
	}
}

// Slow reports whether the terminal has lately taken long to take a frame.
func (w *Window) Slow() bool { return w.output.slow() }

// Busy reports whether the terminal still takes the last frame.
func (w *Window) Busy() bool { return w.output.busy() }

// windowSize returns the part of the window that is drawn on; 0 where unknown.
func windowSize() (columns, rows int) {
	columns, rows, err := term.GetSize(os.Stdout.Fd())
	if err != nil {
		return 0, 0
	}
	return bounded(columns, rows)
}

// Follow tells the program when the size changes, until it is stopped.
func (w *Window) Follow(p *tea.Program) (stop func()) {
	w.input.typed.interrupt = func(many bool) {
		if many {
			go p.Send(tea.Interrupt())
		}
	}
	changed, done := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(changed, syscall.SIGWINCH, syscall.SIGCONT)
	go func() {
		for {
			select {
			case <-done:
				return
			case s := <-changed:
				if s == syscall.SIGCONT && w.retake() {
					p.Send(tea.ClearScreen()) // free of the lock that the program may wait for
				}
				p.Send(Resized())
			}
		}
	}()
	return func() {
		w.leave()
		signal.Stop(changed)
		close(done)
	}
}

// leave waits for a retake, and lets none begin: after the library's restoration it would last.
func (w *Window) leave() {
	w.retaking.Lock()
	defer w.retaking.Unlock()
	w.over = true
}

// retake sets the terminal up again after a stop that cannot be caught, in which the shell gave it its own
// modes and wrote over the picture. A stop by key is the library's, which has paused the input and sets it up
// itself.
func (w *Window) retake() bool {
	w.retaking.Lock()
	defer w.retaking.Unlock()
	if w.over || w.input.paused.Load() || !cooked(os.Stdin) {
		return false
	}
	if _, err := term.MakeRaw(os.Stdin.Fd()); err != nil {
		return false
	}
	// a shell's line has its own
	_, _ = w.output.Write([]byte(ansi.SetModeBracketedPaste + ansi.ResetModeTextCursorEnable))
	return true
}

// cooked reports whether the terminal edits lines itself, as it does for a shell.
func cooked(f *os.File) bool {
	modes, err := unix.IoctlGetTermios(int(f.Fd()), getModes)
	return err == nil && modes.Lflag&unix.ICANON != 0
}

// GiveUp ends a write to a terminal that takes no bytes, so that the program can end.
func (w *Window) GiveUp() { w.giving.Do(w.output.giveUp) }

// Time that a terminal has to take the bytes that restore it, after it was given up.
const (
	longest  = 3 * time.Second // it takes them at once, unless the machine has much other work
	clearing = 10 * time.Millisecond
)

// Restore gives back the terminal after it was given up: what it did not take is dropped, so that there is
// room for what restores it, which comes through once it is read again.
func (w *Window) Restore() {
	if closed(w.output.gone) {
		w.restoring.Do(w.restore) // a second one would drop what the first has written
	}
}

func (w *Window) restore() {
	restored, out := make(chan struct{}), int(os.Stdout.Fd())
	limit, free := time.After(longest), w.output.free
	for waits := true; waits; {
		select {
		case <-limit:
			waits = false
		case <-restored:
			waits = false
		case <-free:
			free = nil // nothing is dropped any more
			dropOutput(out)
			go func() {
				_, _ = os.Stdout.WriteString(restoration)
				close(restored)
			}()
		case <-time.After(clearing):
			if free != nil {
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
	ansi.ResetModeBracketedPaste + ansi.ResetStyle + ansi.ResetModeAltScreenSaveCursor +
	ansi.SetModeTextCursorEnable

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

// keyboard is what is typed: a file for the library, which sets the modes of the terminal. It has no name:
// with one the library would wait for the file, and not see what is read ahead of it.
type keyboard struct {
	file   *os.File
	typed  *input
	paused atomic.Bool // what comes is not the program's
}

// Close, Write and Fd are the file's.
func (k *keyboard) Close() error                { return k.file.Close() }
func (k *keyboard) Write(p []byte) (int, error) { return k.file.Write(p) }
func (k *keyboard) Fd() uintptr                 { return k.file.Fd() }

// attention is how often a reader looks whether it is to go on.
const attention = 100 * time.Millisecond

// Read reads what was typed, and nothing while the program is suspended.
func (k *keyboard) Read(p []byte) (int, error) {
	for !k.paused.Load() {
		if k.typed.waits() || k.typed.ready(attention) {
			return k.typed.Read(p)
		}
	}
	time.Sleep(time.Millisecond) // the library goes on asking until it has stopped
	return 0, nil
}

// readable returns what tells whether a file has more to read in time.
func readable(f *os.File) func(within time.Duration) bool {
	return func(within time.Duration) bool {
		for deadline := time.Now().Add(within); ; {
			left := unix.NsecToTimeval(max(time.Until(deadline), 0).Nanoseconds())
			var set unix.FdSet
			set.Set(int(f.Fd()))
			n, err := unix.Select(int(f.Fd())+1, &set, nil, nil, &left)
			if !errors.Is(err, unix.EINTR) {
				return err == nil && n > 0
			}
		}
	}
}
