package cli

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/report"
)

// Formats of timeline in addition to text and JSON.
const (
	svgFormat   = "svg"
	traceFormat = "chrome-trace"
)

// textFormat is the format for people who read a terminal.
const textFormat = string(report.Text)

// outputFlags are the flags for how an answer is printed.
type outputFlags struct {
	format  string
	formats []string
}

// register adds --format with the formats of a command, and a flag for each of those that
// have a short form.
func (o *outputFlags) register(cmd *cobra.Command, formats []string, short ...string) {
	o.formats = formats
	cmd.Flags().StringVar(&o.format, "format", textFormat, "output format: "+strings.Join(formats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("format",
		cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	for _, name := range short {
		cmd.Flags().Bool(name, false, map[string]string{
			string(report.JSON): "print a JSON document", string(report.CSV): "print comma-separated values",
			string(report.HTML): "print a page as HTML, for a ticket", svgFormat: "print a picture as SVG",
			traceFormat: "print a Chrome trace, which ui.perfetto.dev opens",
		}[name]+"; same as --format "+name)
	}
}

// reportFormats returns the formats of a report.
func reportFormats() []string {
	names := []string{textFormat}
	for _, f := range report.Formats() {
		if f != report.TOML { // of one setup alone
			names = append(names, string(f))
		}
	}
	return names
}

// asked wraps a command that takes no argument but a share string, in place of --setup: run begins
// with the format resolved.
func (a *app) asked(o *outputFlags, flags *setupFlags,
	run func(cmd *cobra.Command) error,
) func(*cobra.Command, []string) error {
	return a.wrap(func(cmd *cobra.Command, args []string) error {
		if err := noArgs(cmd, flags.rest(args)); err != nil {
			return err
		}
		if err := o.resolveFormat(cmd); err != nil {
			return err
		}
		return run(cmd)
	})
}

// resolveFormat makes one format of what --format and its short forms give together.
func (o *outputFlags) resolveFormat(cmd *cobra.Command) error {
	if err := oneOf("--format", o.format, o.formats); err != nil {
		return err
	}
	short := ""
	for _, name := range o.formats {
		switch on, err := cmd.Flags().GetBool(name); {
		case err != nil || !on: // no such flag, or not given
		case short != "":
			return &usageError{fmt.Sprintf("--%s and --%s contradict each other: give one of them", short,
				name)}
		default:
			short = name
		}
	}
	if cmd.Flags().Changed("format") && short != "" && short != o.format {
		return &usageError{fmt.Sprintf("--%s and --format %s contradict each other: give one of them", short,
			o.format)}
	}
	o.format = cmp.Or(short, o.format)
	return nil
}

// print prints an answer in a format.
func (a *app) print(format string, answer *report.Answer) error {
	if data := answer.Data; data != nil {
		prefaced := *answer
		prefaced.Data = func() any {
			return report.Preface{Notices: a.notices, Chosen: answer.Chosen}.Before(data())
		}
		answer = &prefaced
	}
	if a.screen == nil || format != textFormat {
		return report.Write(a.stdout, report.Format(format), answer)
	}
	shown := *answer
	shown.Width = a.width(0)
	return report.Write(paintedText(a.screen, os.Environ()), report.Text, &shown)
}
