package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/report"
)

// formatFlag adds --format, which says the same on every command that has it; --json
// and --csv, where there are, are short for two of its words.
func formatFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", textFormat, "how it is printed: "+strings.Join(reportFormats(), ", "))
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

// settled is the format that --format, --json and --csv say together.
func settled(cmd *cobra.Command, format string, asJSON, asCSV bool) (string, error) {
	if err := oneOf("--format", format, reportFormats()); err != nil {
		return "", err
	}
	if asJSON && asCSV {
		return "", &usageError{"--json and --csv contradict each other: standard output takes one of them"}
	}
	short := ""
	switch {
	case asJSON:
		short = string(report.JSON)
	case asCSV:
		short = string(report.CSV)
	}
	switch said := cmd.Flags().Changed("format"); {
	case said && short != "" && short != format:
		return "", &usageError{fmt.Sprintf("--%s and --format %s contradict each other", short, format)}
	case short != "":
		return short, nil
	}
	return format, nil
}

// print prints an answer in a format.
func (a *app) print(format string, answer *report.Answer) error {
	return report.Write(a.stdout, report.Format(format), answer)
}
