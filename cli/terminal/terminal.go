//go:build unix

// Package terminal runs a program in a pseudo-terminal and reads what a person
// would see on it. The tests of the real binary and the program that draws the
// README's picture use it; no command does.
package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// Patience bounds every wait, so that a program that hangs is reported and not
// waited for. It is no measure of speed: a machine with much other work must not reach it.
const Patience = 5 * time.Minute

// Options say what the terminal is like.
type Options struct {
	Columns, Rows int
	// Background is what the terminal answers when it is asked for its colour.
	Background color.Color
	// Env is added to PATH, HOME, TERM and COLORTERM, and to GOCOVERDIR where the caller has it.
	Env []string
	// Folder is where the program runs; empty: where its caller does.
	Folder string
	// OneStream shows standard error on the screen too.
	OneStream bool
}

// Terminal is a pseudo-terminal with a program in it. Its methods may be
// called while the program runs.
type Terminal struct {
	mu       sync.Mutex
	unread   bool // the program's bytes are left where they are
	read     sync.Cond
	emulator *vt.Emulator
	modes    map[ansi.Mode]bool
	text     *string // what Text returns; nil: the screen has changed
	raw      bytes.Buffer
	lastByte time.Time

	master, slave *os.File
	before        *term.State
	cmd           *exec.Cmd
	stderr        bytes.Buffer
	exited        chan struct{}
	drained       sync.WaitGroup
}

// Start runs a program in a new pseudo-terminal. Its standard error is kept
// apart, as with 2>file, unless the options say otherwise.
func Start(ctx context.Context, o Options, program string, args ...string) (*Terminal, error) {
	opened, slave, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("open a pseudo-terminal: %w", err)
	}
	master, err := interruptible(opened)
	if err != nil {
		return nil, errors.Join(err, slave.Close())
	}
	t := &Terminal{
		emulator: vt.NewEmulator(o.Columns, o.Rows), modes: map[ansi.Mode]bool{},
		master: master, slave: slave, exited: make(chan struct{}), lastByte: time.Now(),
	}
	t.read.L = &t.mu
	if o.Background != nil {
		t.emulator.SetDefaultBackgroundColor(o.Background)
	}
	t.emulator.SetCallbacks(vt.Callbacks{
		EnableMode:  func(m ansi.Mode) { t.modes[m] = true },
		DisableMode: func(m ansi.Mode) { t.modes[m] = false },
	})
	t.emulator.RegisterCsiHandler('r', t.clampMargins)
	if err := t.setSize(o.Columns, o.Rows); err != nil {
		return nil, errors.Join(err, master.Close(), slave.Close())
	}
	if t.before, err = term.GetState(slave.Fd()); err != nil {
		return nil, errors.Join(err, master.Close(), slave.Close())
	}

	t.cmd = exec.CommandContext(ctx, program, args...)
	t.cmd.Dir = o.Folder
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = slave, slave, &t.stderr
	if o.OneStream {
		t.cmd.Stderr = slave
	}
	t.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"),
		"TERM=xterm-256color", "COLORTERM=truecolor",
	}
	if folder := os.Getenv("GOCOVERDIR"); folder != "" {
		t.cmd.Env = append(t.cmd.Env, "GOCOVERDIR="+folder) // where a program built with -cover counts
	}
	t.cmd.Env = append(t.cmd.Env, o.Env...)
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := t.cmd.Start(); err != nil {
		return nil, errors.Join(err, master.Close(), slave.Close())
	}
	t.drained.Go(t.show)
	t.drained.Go(t.answer)
	go func() {
		_ = t.cmd.Wait() // Wait reads the exit code
		close(t.exited)
	}()
	return t, nil
}

// interruptible returns the same open file, whose reads and writes end when it is closed: a write to a
// program that has ended would wait in the kernel for ever. It closes the one that it is given.
func interruptible(f *os.File) (*os.File, error) {
	fd, err := syscall.Dup(int(f.Fd()))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	err = syscall.SetNonblock(fd, true) // before: a new file looks at it
	return os.NewFile(uintptr(fd), f.Name()), err
}

// clampMargins keeps the scrolling region on the screen, as terminals do: what a
// program wrote for a larger size may arrive after the terminal became smaller,
// and the emulator would look for lines that are no more. It leaves the rest to
// the emulator's own handler, which reads the same parameters.
func (t *Terminal) clampMargins(params ansi.Params) bool {
	if rows := t.emulator.Height(); len(params) > 1 && params[1].Param(rows) > rows {
		params[1] = ansi.Param(rows)
	}
	return false
}

// show feeds what the program writes to the emulator.
func (t *Terminal) show() {
	buffer := make([]byte, 32<<10)
	for {
		t.mu.Lock()
		for t.unread {
			t.read.Wait()
		}
		t.mu.Unlock()
		n, err := t.master.Read(buffer)
		t.mu.Lock()
		if n > 0 {
			t.lastByte = time.Now()
			t.text = nil
			_, _ = t.emulator.Write(buffer[:n]) // it fails only when closed
		}
		if bytes.Contains(buffer[:n], []byte("$p")) || bytes.Contains(buffer[:n], []byte("]11;?")) {
			// Keys that are typed once the question is in Raw come after the reply: nothing more is taken
			// before it is written.
			_, _ = t.emulator.InputPipe().Write(nil)
		}
		t.raw.Write(buffer[:n])
		t.mu.Unlock()
		if err != nil { // EIO: the program's side is closed
			if input, ok := t.emulator.InputPipe().(io.Closer); ok {
				_ = input.Close() // ends answer
			}
			return
		}
	}
}

// answer hands the emulator's replies (background colour, cursor position) to
// the program, as a terminal does.
func (t *Terminal) answer() { _, _ = io.Copy(t.master, t.emulator) }

// setSize tells the kernel the size; the program gets SIGWINCH. The program's side takes it: asking the other
// for its number would make it wait in the kernel again.
func (t *Terminal) setSize(columns, rows int) error {
	return pty.Setsize(t.slave, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)})
}

// Hang lets the terminal read no more of what the program writes, as over a link that hangs, or
// read it again. What is on its way still comes.
func (t *Terminal) Hang(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unread = on
	t.read.Broadcast()
}

// Exited is closed when the program has ended.
func (t *Terminal) Exited() <-chan struct{} { return t.exited }

// Claim makes the terminal tell a size that it does not have, as broken ones do.
func (t *Terminal) Claim(columns, rows int) error { return t.setSize(columns, rows) }

// Resize changes the size of the terminal under the running program.
func (t *Terminal) Resize(columns, rows int) error {
	t.mu.Lock()
	t.text = nil
	t.emulator.Resize(columns, rows)
	t.mu.Unlock()
	return t.setSize(columns, rows)
}

// Type sends bytes as the keyboard does. What a program that has ended leaves unread has no room for more.
func (t *Terminal) Type(keys string) error {
	typed := make(chan error, 1)
	go func() {
		_, err := io.WriteString(t.master, keys)
		typed <- err
	}()
	select {
	case err := <-typed:
		return err
	case <-t.exited: // maybe by these keys, which are written then
	}
	if err := t.master.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	err := <-typed
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return os.ErrProcessDone
	}
	return err
}

// Keys with names, as an xterm sends them.
const (
	Up    = "\x1b[A"
	Down  = "\x1b[B"
	Right = "\x1b[C"
	Left  = "\x1b[D"
	Enter = "\r"
	Esc   = "\x1b"
	CtrlC = "\x03"
)

// Text is the screen without colours, one line per row, right blanks cut.
func (t *Terminal) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text == nil {
		lines := strings.Split(ansi.Strip(t.emulator.Render()), "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " \r")
		}
		text := strings.Join(lines, "\n")
		t.text = &text
	}
	return *t.text
}

// Screen calls a function with the emulator while nothing changes it.
func (t *Terminal) Screen(read func(*vt.Emulator)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	read(t.emulator)
}

// Mode says whether a terminal mode is on: the alternate screen, the mouse.
// The cursor is visible until a program hides it.
func (t *Terminal) Mode(m ansi.Mode) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	on, known := t.modes[m]
	return on || !known && m == ansi.ModeTextCursorEnable
}

// Raw is every byte that the program has written to the terminal.
func (t *Terminal) Raw() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.raw.Bytes())
}

// Written is the number of bytes in Raw.
func (t *Terminal) Written() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.raw.Len()
}

// WaitFor waits until the screen's text satisfies a condition.
func (t *Terminal) WaitFor(what string, condition func(screen string) bool) error {
	for deadline := time.Now().Add(Patience); ; {
		screen := t.Text()
		if condition(screen) {
			return nil
		}
		select {
		case <-t.exited:
			// What was written last may still be on its way.
			if screen = t.Text(); condition(screen) {
				return nil
			}
			return fmt.Errorf("the program ended with %d before %s; standard error: %s\n%s",
				t.cmd.ProcessState.ExitCode(), what, t.stderr.String(), screen)
		case <-time.After(time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %v for %s; the screen is\n%s", Patience, what, screen)
		}
	}
}

// AwaitQuiet waits until the program has written nothing for a while from now on.
func (t *Terminal) AwaitQuiet(quiet time.Duration) {
	const most = time.Minute // it may write all the time
	for asked := time.Now(); time.Since(asked) < most; time.Sleep(time.Millisecond) {
		t.mu.Lock()
		rested := time.Since(t.lastByte)
		t.mu.Unlock()
		if min(rested, time.Since(asked)) >= quiet {
			return
		}
	}
}

// Signal sends a signal to the program.
func (t *Terminal) Signal(s os.Signal) error { return t.cmd.Process.Signal(s) }

// PID is the program's process.
func (t *Terminal) PID() int { return t.cmd.Process.Pid }

// End is how a program ended and how it left the terminal.
type End struct {
	Code   int
	Stderr string
	// Cooked says whether the line discipline (echo, line editing, signals from
	// keys) is what it was before.
	Cooked bool
}

// Wait waits until the program has ended and everything it wrote is shown. A
// program that does not end is killed, which is an error that says where its goroutines are.
func (t *Terminal) Wait() (End, error) {
	var hung error
	select {
	case <-t.exited:
	case <-time.After(Patience):
		_ = t.Signal(syscall.SIGABRT) // Go's runtime writes them, unless it hangs too
		select {
		case <-t.exited:
		case <-time.After(Patience / 10):
			_ = t.cmd.Process.Kill() // it fails where it has ended
			<-t.exited
		}
		hung = fmt.Errorf("the program did not end within %v: %s", Patience, t.stderr.String())
	}
	end := End{Code: t.cmd.ProcessState.ExitCode(), Stderr: t.stderr.String()}
	after, err := term.GetState(t.slave.Fd())
	if err == nil {
		end.Cooked = *after == *t.before
	}
	err = errors.Join(hung, err, t.slave.Close())
	t.drained.Wait()
	return end, errors.Join(err, t.master.Close())
}
