package ui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine/search"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
	"meshscope/ui/tty"
)

// ErrInterrupted is what Run returns after ctrl+c or SIGINT.
var ErrInterrupted = tea.ErrInterrupted

// CrashError is what Run returns after a panic. The terminal is restored by
// then; File has the details.
type CrashError struct {
	Reason string
	File   string // empty: none could be written
	Stack  []byte // where it happened
	Err    error
}

// Error says what happened and where the details are.
func (e *CrashError) Error() string {
	text := "internal error"
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if e.File != "" {
		text += "; details in " + e.File
	}
	return text
}

// Unwrap returns the error of the terminal program.
func (e *CrashError) Unwrap() error { return e.Err }

// frameTime is how often the renderer looks whether there is a new frame: the library's 60 times a second.
const frameTime = time.Second / 60

// Run shows the program until the user leaves it or the context ends. The terminal is restored in
// every case.
func Run(ctx context.Context, o Options, extra ...tea.ProgramOption) error {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	window, ended := tty.Open(o.Env), make(chan struct{})
	o.Slow, o.colours = window.Slow, window.Colours()
	guard := newRescue(o, append(window.Options(), extra...))
	guard.pace.busy = window.Busy
	go guard.giveUp(window, ended)
	// A context of the library's own would end it also before what a return from the background turns on is
	// sent, and send that last.
	defer context.AfterFunc(ctx, guard.program.Quit)()
	err := guard.show(window.Follow)
	close(ended)
	window.Restore()
	return guard.end(err)
}

// RunOn shows the program on a terminal that is not the one of the process, until its user leaves.
// Of the process it takes nothing: Env is the environment, and signals are not its business.
func RunOn(o Options, t tty.Remote, extra ...tea.ProgramOption) error {
	if o.Env == nil {
		o.Env = []string{}
	}
	o.colours = t.Colours(o.Env)
	options := append(t.Options(), tea.WithFilter(tty.Filter(time.Now)), tea.WithEnvironment(o.Env))
	guard := newRescue(o, append(options, extra...))
	return guard.end(guard.show(func(p *tea.Program) func() { return t.Feed(o.Env, p) }))
}

// newRescue returns the program with its model.
func newRescue(o Options, options []tea.ProgramOption) *rescue {
	r := &rescue{dir: o.CrashDir, model: New(o), rehearsal: newRehearsal(o.Env)}
	r.program = tea.NewProgram(r, options...)
	return r
}

// show runs the program; follow tells it what happens to its terminal.
func (r *rescue) show(follow func(*tea.Program) (stop func())) error {
	stop := follow(r.program)
	defer stop()
	_, err := r.program.Run()
	return err
}

// end keeps what the program leaves and returns how it ended.
func (r *rescue) end(err error) error {
	r.model.halt()
	r.keep()
	switch {
	case r.crash != nil:
		r.describe()
		r.crash.Err = err
		return r.crash
	case errors.Is(err, tea.ErrProgramPanic):
		return &CrashError{Err: err}
	case err != nil && !errors.Is(err, tea.ErrInterrupted):
		return fmt.Errorf("terminal: %w", err)
	}
	return err
}

// describe adds to the crash file what the program showed: its version, the screen, and the setup as
// a share string that meshscope opens.
func (r *rescue) describe() {
	defer func() { _ = recover() }() // to read what a crash left may be a second one
	o := &r.model.options
	share, _ := setupdoc.Share(r.model.state.Setup, presets.Default(), o.Library)
	file, err := os.OpenFile(r.crash.File, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return // none was written
	}
	_, _ = fmt.Fprintf(file, "\nmeshscope %s, %s %s/%s\nscreen: %s\nsetup: meshscope %s\n",
		o.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, r.model.session().Screen, share)
	_ = file.Close()
}

// lastWait is how long the program has to end in order once its terminal was given up.
const lastWait = 400 * time.Millisecond

// giveUp lets a program end whose terminal takes no bytes, when it is asked to. One that does not even
// then, because it still computes, is ended without being asked.
func (r *rescue) giveUp(window *tty.Window, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-r.model.options.GiveUp:
	}
	window.GiveUp()
	select {
	case <-ended:
	case <-time.After(lastWait):
		window.Restore()
		r.model.options.Abort()
	}
}

// keep hands over what to go back to. After a crash it is the last legal setup and
// the pins, on the first screen: another could crash again as soon as it is drawn.
// What a crash left of the model may be such that reading it is a second one, which
// must not hide the first.
func (r *rescue) keep() {
	o := &r.model.options
	if o.Keep == nil {
		return
	}
	if r.crash == nil {
		o.Keep(r.model.began(), r.model.session())
		return
	}
	defer func() { _ = recover() }()
	start, end := r.model.began(), r.model.session()
	start.Screen, end.Screen = "", explorer{}.Name()
	o.Keep(start, end)
}

// rescue wraps the model: a panic in it is written to a file, and the program
// ends in order, with the terminal restored, instead of printing a stack.
type rescue struct {
	dir     string
	model   *Model
	program *tea.Program
	crash   *CrashError
	pace    pace

	rehearsal rehearsal
}

// Init starts the model.
func (r *rescue) Init() (cmd tea.Cmd) {
	defer r.recover(&cmd)
	return r.model.Init()
}

// Update hands a message to the model.
func (r *rescue) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	next = r // also after a panic: the program would draw a nil model
	defer r.recover(&cmd)
	if r.crash != nil {
		return r, tea.Quit
	}
	if crashed, ok := msg.(crashedMsg); ok {
		r.crash = &CrashError{Reason: crashed.what, File: crashed.file, Stack: crashed.stack}
		return r, tea.Quit
	}
	switch msg.(type) {
	case drawMsg:
		r.pace.due = false
		return r, nil
	case tea.ResumeMsg:
		return r, tty.Resized // the window may be another one by now
	}
	if cmd := r.rehearsal.update(msg); cmd != nil {
		return r, guarded(r.dir, cmd)
	}
	_, cmd = r.model.Update(msg)
	return r, cmd
}

// pace is when frames are drawn. The library asks for one after each message: drawn no more often than the
// terminal takes them, a key costs little where many come at once.
type pace struct {
	busy  func() bool // whether the terminal still takes the last frame; nil: never
	drawn time.Time
	took  time.Duration // the last frame: no more than half of the time goes into frames while keys wait
	last  tea.View
	due   bool // a drawMsg will come
}

// drawMsg says that a frame may be drawn that had to wait.
type drawMsg struct{}

// early reports whether the last frame is to stay for now.
func (p *pace) early(send func(tea.Msg)) bool {
	if p.last.Content == "" || time.Since(p.drawn) >= max(frameTime, p.took) && (p.busy == nil || !p.busy()) {
		return false
	}
	if !p.due {
		p.due = true
		time.AfterFunc(frameTime, func() { send(drawMsg{}) })
	}
	return true
}

// View draws the model.
func (r *rescue) View() (v tea.View) {
	if r.crash != nil {
		return tea.View{}
	}
	if r.pace.early(r.program.Send) {
		return r.pace.last
	}
	defer func() {
		if p := recover(); p != nil {
			r.note(p)
			v = tea.View{}
			go r.program.Quit() // a view cannot send a message while it is drawn
		}
	}()
	r.rehearsal.view()
	begun := time.Now()
	r.pace.last = r.model.View()
	r.pace.drawn, r.pace.took = time.Now(), time.Since(begun)
	return r.pace.last
}

func (r *rescue) recover(cmd *tea.Cmd) {
	if p := recover(); p != nil {
		r.note(p)
		*cmd = tea.Quit
	}
}

func (r *rescue) note(p any) {
	stack := stackOf(p)
	r.crash = &CrashError{Reason: fmt.Sprint(p), File: writeCrash(r.dir, p, stack), Stack: stack}
}

// stackOf returns where a panic that is being recovered was: in a search, which runs in goroutines of its
// own, where it began first.
func stackOf(p any) []byte {
	stack := debug.Stack()
	if c, ok := p.(*search.Crash); ok {
		stack = slices.Concat(c.Stack, []byte("\n"), stack)
	}
	return stack
}

// guarded runs a command so that its panic becomes a message: a panic in a
// batch of commands would print its stack into the alternate screen, where it
// is lost.
func guarded(crashDir string, cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer func() {
			if r := recover(); r != nil {
				stack := stackOf(r)
				msg = crashedMsg{what: fmt.Sprint(r), file: writeCrash(crashDir, r, stack), stack: stack}
			}
		}()
		return cmd()
	}
}

// writeCrash writes what is needed to find the mistake and returns the file's
// name; empty when nothing could be written, which must not be a second crash.
func writeCrash(dir string, reason any, stack []byte) string {
	if dir == "" {
		return ""
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ""
	}
	name := filepath.Join(dir, "crash-"+time.Now().UTC().Format("20060102-150405.000")+".txt")
	text := fmt.Sprintf("%v\n\n%s", reason, stack)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return ""
	}
	return name
}

// crashedMsg says that a command panicked; file is where the details are.
type crashedMsg struct {
	what  string
	file  string
	stack []byte
}

func (m *Model) guard(cmd tea.Cmd) tea.Cmd { return guarded(m.options.CrashDir, cmd) }
