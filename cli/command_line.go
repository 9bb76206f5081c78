package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/presets/setupdoc"
)

// commandLine returns the setup of the words of a command line of this program: of the flags of a setup,
// whatever the command. Files are read where files is true.
func (a *app) commandLine(words []string, files bool) (search.Begun, error) {
	var flags setupFlags
	cmd := &cobra.Command{}
	flags.add(cmd.Flags())
	switch err := cmd.ParseFlags(joinSwitches(words)); {
	case errors.Is(err, pflag.ErrHelp):
		return search.Begun{}, &usageError{"--help is no flag of a setup, such as --tp 4"}
	case err != nil:
		return search.Begun{}, flagProblem(cmd, err)
	}
	args := cmd.Flags().Args()
	if len(args) > 0 && strings.Trim(args[0], "abcdefghijklmnopqrstuvwxyz") == "" { // the command
		if root := a.root(); !slices.ContainsFunc(root.Commands(),
			func(c *cobra.Command) bool { return c.Name() == args[0] }) {
			return search.Begun{}, unknownCommand(root, args[0])
		}
		args = args[1:]
	}
	if args = flags.rest(args); len(args) > 0 {
		return search.Begun{},
			&usageError{fmt.Sprintf("%s is no flag of a setup, such as --tp 4", escape.Quote(args[0]))}
	}
	if flags.empty() {
		return search.Begun{}, &usageError{"a command line without a flag of a setup, such as --tp 4"}
	}
	if name := string(flags.file); name == "-" || name != "" && !files && !setupdoc.IsShare(name) {
		return search.Begun{},
			&usageError{"--setup " + escape.Name(name) + " is not read here: only a share string is"}
	}
	for _, s := range flags.said {
		// part of the presets, which stay
		if s.key == string(knob.Calibration) && strings.HasSuffix(s.value, ".toml") {
			return search.Begun{},
				&usageError{"--calibration " + escape.Name(s.value) +
					": a file is read when the program starts"}
		}
	}
	b, err := flags.begin(a)
	if err == nil && b.Query == nil {
		err = b.Err
	}
	return b, err
}

// pasted returns what an explorer does with a command line, of which files may be read where files is
// true.
func (a *app) pasted(files bool) func([]string) (search.Begun, error) {
	return func(words []string) (search.Begun, error) { return a.commandLine(words, files) }
}
