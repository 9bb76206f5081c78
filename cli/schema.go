package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"meshscope/docs/schema"
)

func (a *app) schemaCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema [NAME]",
		Short: "Print the JSON Schema of a document",
		Long: "Print the JSON Schema (draft 2020-12) of a document that the program prints; without a name " +
			"list them. " +
			"report is the document of eval, line that of a line of eval --batch, launchers that of launch " +
			"--list, legality that of launch --legality; preface holds what several share.",
		Example:   "meshscope schema\nmeshscope schema report > report.schema.json",
		Args:      cobra.ArbitraryArgs,
		ValidArgs: schema.Names(),
	}
	cmd.RunE = a.wrap(func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			_, err := a.stdout.Write([]byte(strings.Join(schema.Names(), "\n") + "\n"))
			return err
		}
		if err := noArgs(cmd, args[1:]); err != nil {
			return err
		}
		text, ok := schema.Text(args[0])
		if !ok {
			return oneOf("schema", args[0], schema.Names())
		}
		_, err := a.stdout.Write(text)
		return err
	})
	return cmd
}
