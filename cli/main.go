// Package cli is the command line: the only place that reads flags, files and
// the environment.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/launch"
	"meshscope/presets"
	"meshscope/presets/own"
)

// app is one run of the program: its streams, its presets and its exit code.
type app struct {
	stdin  io.Reader
	stdout io.Writer // through the escaper: output may contain names from files and flags
	stderr io.Writer // likewise
	screen *os.File  // standard output where it is a terminal; nil where it is none
	prompt *os.File  // standard error likewise
	lib    *presets.Library
	closed *presets.Library // the same, which opens no file: for guests
	code   int

	notices []string     // problems with the user's own presets
	around  launch.Given // what stands around a script that is read
}

// errNoConfig is the error of a folder that is named in place of a model and has none.
var errNoConfig = errors.New("a folder without a config.json")

// readModel reads the file that a model is named by.
func readModel(name string) ([]byte, error) {
	text, err := own.ReadModel(name)
	if info, wrong := os.Stat(name); errors.Is(err, fs.ErrNotExist) && wrong == nil && info.IsDir() {
		return nil, errNoConfig
	}
	return text, err
}

// Main runs the program and ends the process with its exit code.
func Main() { os.Exit(Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// abort ends the process where a program could not be ended in order.
func abort(code int) { os.Exit(code) }

// Run runs the program on the given streams and returns its exit code.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	shown, said := escape.NewWriter(stdout), escape.NewWriter(stderr)
	defer func() { _ = said.Flush() }()
	a := &app{
		stdin: stdin, stdout: shown, stderr: said,
		screen: terminalOf(stdout), prompt: terminalOf(stderr),
	}
	lib, notices := own.Load(own.Folder(os.Getenv), presets.Default())
	a.closed, a.lib, a.notices = lib, lib.ReadingModels(readModel), notices
	defer func() {
		if r := recover(); r != nil {
			a.sayf("meshscope: internal error: %v\n", r)
			if os.Getenv("MESHSCOPE_DEBUG") != "" {
				if c, ok := r.(*search.Crash); ok {
					_, _ = a.stderr.Write(c.Stack)
				}
				_, _ = a.stderr.Write(debug.Stack())
			}
			code = exitError
		}
	}()
	root := a.root()
	a.wrapHelp(root, args)
	root.SetArgs(joinSwitches(args))
	root.SetIn(stdin)
	out, written := watch(stdout, forPeople(args))
	if asked, _, err := root.Find(args); err == nil && asksHelp(args) {
		written.heads = groupHeads(asked)
	}
	root.SetOut(out)
	root.SetErr(a.stderr)
	// Commands print their own errors (see wrap). Only errors of built-in commands
	// come back here.
	handler := func(_ io.Writer, _ fang.Styles, err error) {
		a.sayf("meshscope: %s\n", escape.Line(err.Error()))
	}
	err := fang.Execute(context.Background(), root, fang.WithVersion(versionLine()),
		fang.WithErrorHandler(handler))
	return a.end(err, cmp.Or(written.err, shown.Flush()))
}

// end returns the exit code after a command: its own, unless a built-in command failed.
func (a *app) end(err, writing error) int {
	var path *fs.PathError
	switch {
	case errors.As(err, &path), err != nil && writing != nil:
		return exitError
	case err != nil:
		return exitUsage
	case writing != nil && a.code == exitFine:
		if !errors.Is(writing, syscall.EPIPE) {
			a.sayf("meshscope: %v\n", writing)
		}
		return exitError
	}
	return a.code
}

// wrap returns a command's function that prints its own error and sets the exit
// code. Cobra never sees the error, so nothing queries the terminal's colours to
// print it.
func (a *app) wrap(run func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if cmd.HasParent() { // the explorer shows them itself
			for _, notice := range a.notices {
				a.sayf("meshscope: %s\n", notice)
			}
		}
		a.fail(cmd, run(cmd, args))
		return nil
	}
}

// fail prints an error and sets its exit code.
func (a *app) fail(cmd *cobra.Command, err error) {
	if err == nil {
		return
	}
	a.code = exitCode(err)
	var said outcome
	if errors.As(err, &said) || errors.Is(err, syscall.EPIPE) {
		return // standard output has it already, or nobody reads on
	}
	a.sayf("meshscope: %s\n", describe(err))
	if a.code == exitUsage {
		a.sayf("Run '%s --help' for its flags.\n", cmd.CommandPath())
	}
}

// flagError prints what is wrong with a flag. Nothing runs afterwards.
func (a *app) flagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	a.fail(cmd, flagProblem(cmd, err))
	return nil
}

// alone is wrap for a command that takes no arguments.
func (a *app) alone(run func(cmd *cobra.Command) error) func(*cobra.Command, []string) error {
	return a.wrap(func(cmd *cobra.Command, args []string) error {
		if err := noArgs(cmd, args); err != nil {
			return err
		}
		return run(cmd)
	})
}

// noArgs returns an error if a command that takes no arguments is given some.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	message := fmt.Sprintf("%s takes no arguments, given %s", cmd.Name(), escape.Quote(args[0]))
	// A switch may stand alone; the next word is then not its value.
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if isSwitch("--" + f.Name) {
			message += fmt.Sprintf("; --%s takes on or off", f.Name)
		}
	})
	word, _, _ := strings.Cut(args[0], "=")
	if cmd.Flags().Lookup("x") != nil && slices.Contains(turnable(), strings.ReplaceAll(word, "_", "-")) {
		message += "; a knob is given by --x, such as --x " + escape.Line(args[0])
	}
	if cmd.Flags().Lookup("setup") != nil && isFile(args[0]) {
		message += "; a setup file is given by --setup, a launcher's is read by 'meshscope import'"
	}
	return &usageError{message}
}

// joinSwitches rewrites "--sp off" as "--sp=off": a switch may stand alone, so the
// flag parser would take the next word for an argument.
func joinSwitches(args []string) []string {
	joined := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		if i+1 < len(args) && isSwitch(args[i]) && switchWords(args[i+1]) {
			joined = append(joined, args[i]+"="+args[i+1])
			i++
			continue
		}
		joined = append(joined, args[i])
	}
	return joined
}

// isSwitch reports whether a word of the command line is the flag of a switch.
func isSwitch(arg string) bool {
	name, flag := strings.CutPrefix(arg, "--")
	k, ok := knob.Find(knob.ID(name))
	return flag && (ok && k.Kind == knob.Switch || slices.ContainsFunc(knob.Aliases(),
		func(a knob.Alias) bool { return string(a.Name) == name && a.On != "" }))
}

// switchWords reports whether a text is a value of a switch, or a list of values.
func switchWords(text string) bool {
	for word := range strings.SplitSeq(text, ",") {
		if _, ok := knob.Switched(word); !ok && word != "both" {
			return false
		}
	}
	return true
}
