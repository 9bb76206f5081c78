package cli

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"meshscope/engine/escape"
	"meshscope/ui/export"
)

// formatFlag adds --format, which says the same on every command that has it; --json
// and --csv, where there are, are short for two of its words.
func formatFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", textFormat, "how it is printed: "+strings.Join(reportFormats(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(reportFormats(), cobra.ShellCompDirectiveNoFileComp))
}

// textFormat is the format for people who read a terminal.
const textFormat = "text"

// reportFormats are what --format takes.
func reportFormats() []string {
	names := []string{textFormat}
	for _, f := range export.Formats() {
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
		short = string(export.JSON)
	case asCSV:
		short = string(export.CSV)
	}
	switch said := cmd.Flags().Changed("format"); {
	case said && short != "" && short != format:
		return "", &usageError{fmt.Sprintf("--%s and --format %s contradict each other", short, format)}
	case short != "":
		return short, nil
	}
	return format, nil
}

// answerer is an answer that can be printed in every format. The table of CSV is
// that of Markdown too.
type answerer interface {
	text() error
	json() any
	csv(to io.Writer) error
}

// print prints an answer in a format.
func (a *app) print(format string, o answerer) error {
	switch format {
	case string(export.JSON):
		return a.writeJSON(o.json())
	case string(export.CSV):
		return o.csv(a.stdout)
	case string(export.Markdown):
		var table bytes.Buffer
		if err := o.csv(&table); err != nil {
			return err
		}
		return writeMarkdownTable(a.stdout, &table)
	}
	return o.text()
}

// writeMarkdownTable writes comma-separated values as a Markdown table. Columns
// without a value in any row are left out, but not where there are no rows.
func writeMarkdownTable(to io.Writer, from io.Reader) error {
	rows, err := csv.NewReader(from).ReadAll()
	if err != nil || len(rows) == 0 {
		return err
	}
	var columns []int
	for j := range rows[0] {
		if len(rows) == 1 || slices.ContainsFunc(rows[1:], func(row []string) bool { return row[j] != "" }) {
			columns = append(columns, j)
		}
	}
	out := newPage(to)
	line := func(cell func(j int) string) {
		for _, j := range columns {
			out.printf("| %s ", cell(j))
		}
		out.printf("|\n")
	}
	for i, row := range rows {
		line(func(j int) string { return escape.Markdown(row[j]) })
		if i == 0 {
			line(func(int) string { return "---" })
		}
	}
	return out.Flush()
}
