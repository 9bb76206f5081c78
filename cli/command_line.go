package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"meshscope/engine"
	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/presets/setupdoc"
	"meshscope/report/figure"
)

// commandLine returns the setup of the words of a command line of this program: of the flags of a setup, whatever the
// command. Where no degree is given the layout is that of a search on a number of cores,
// of which words tell. Files are read where files is true.
func (a *app) commandLine(ctx context.Context, words []string, files bool, workers int) (engine.Setup, string, error) {
	var flags setupFlags
	cmd := &cobra.Command{}
	flags.add(cmd.Flags())
	switch err := cmd.ParseFlags(joinSwitches(words)); {
	case errors.Is(err, pflag.ErrHelp):
		return engine.Setup{}, "", &usageError{"--help is no flag of a setup, such as --tp 4"}
	case err != nil:
		return engine.Setup{}, "", flagProblem(cmd, err)
	}
	args := cmd.Flags().Args()
	if len(args) > 0 && strings.Trim(args[0], "abcdefghijklmnopqrstuvwxyz") == "" { // the command
		if root := a.root(); !slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == args[0] }) {
			return engine.Setup{}, "", unknownCommand(root, args[0])
		}
		args = args[1:]
	}
	if args = flags.rest(args); len(args) > 0 {
		return engine.Setup{}, "", &usageError{fmt.Sprintf("%s is no flag of a setup, such as --tp 4", escape.Quote(args[0]))}
	}
	if flags.empty() {
		return engine.Setup{}, "", &usageError{"a command line without a flag of a setup, such as --tp 4"}
	}
	if name := string(flags.file); name == "-" || name != "" && !files && !setupdoc.IsShare(name) {
		return engine.Setup{}, "", &usageError{"--setup " + escape.Name(name) + " is not read here: only a share string is"}
	}
	for _, s := range flags.said {
		if s.key == string(knob.Calibration) && strings.HasSuffix(s.value, ".toml") { // part of the presets, which stay
			return engine.Setup{}, "", &usageError{"--calibration " + escape.Name(s.value) + ": a file is read when the program starts"}
		}
	}
	s, q, err := flags.begin(a)
	s, chosen, err := choose(ctx, s, q, err, workers)
	if err != nil || chosen == nil {
		return s, "", err
	}
	return s, chosen.Words(figure.Comma), nil
}

// longestChoice is how long the layout of a command line is searched.
const longestChoice = 3 * time.Second

// pasted returns what an explorer does with a command line, of which files may be read where files is
// true.
func (a *app) pasted(files bool, workers int) func([]string) (engine.Setup, string, error) {
	return func(words []string) (engine.Setup, string, error) {
		ctx, stop := context.WithTimeout(context.Background(), longestChoice)
		defer stop()
		return a.commandLine(ctx, words, files, workers)
	}
}
