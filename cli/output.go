package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/report"
)

// outputFlags say how an answer is printed.
type outputFlags struct {
	format        string
	asJSON, asCSV bool
}

// register adds --format, which says the same on every command that has it, and --json;
// and --csv where the command has a help text for it. These are short for two words of
// --format.
func (o *outputFlags) register(cmd *cobra.Command, csv string) {
	cmd.Flags().StringVar(&o.format, "format", textFormat, "how it is printed: "+strings.Join(reportFormats(), ", "))
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print a JSON document")
	if csv != "" {
		cmd.Flags().BoolVar(&o.asCSV, "csv", false, csv)
	}
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(reportFormats(), cobra.ShellCompDirectiveNoFileComp))
}

// textFormat is the format for people who read a terminal.
const textFormat = string(report.Text)

// reportFormats are what --format takes.
func reportFormats() []string {
	names := []string{textFormat}
	for _, f := range report.Formats() {
		names = append(names, string(f))
	}
	return names
}

// settle makes one format of what --format, --json and --csv say together.
func (o *outputFlags) settle(cmd *cobra.Command) error {
	if err := oneOf("--format", o.format, reportFormats()); err != nil {
		return err
	}
	short := ""
	switch {
	case o.asJSON && o.asCSV:
		return &usageError{"--json and --csv contradict each other: standard output takes one of them"}
	case o.asJSON:
		short = string(report.JSON)
	case o.asCSV:
		short = string(report.CSV)
	}
	if cmd.Flags().Changed("format") && short != "" && short != o.format {
		return &usageError{fmt.Sprintf("--%s and --format %s contradict each other", short, o.format)}
	}
	o.format = cmp.Or(short, o.format)
	return nil
}

// print prints an answer in a format.
func (a *app) print(format string, answer *report.Answer) error {
	return report.Write(a.stdout, report.Format(format), answer)
}
