package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"meshscope/report"
)

// version is the release. Release builds set it with
// -ldflags "-X meshscope/cli.version=1.2.3".
var version = "0.1.0-dev"

// build is what the Go toolchain recorded about this binary.
type build struct{ commit, date, dirty string }

func buildInfo() build {
	var b build
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value[:min(12, len(s.Value))]
		case "vcs.time":
			b.date = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				b.dirty = ", changed"
			}
		}
	}
	return b
}

func versionLine() string {
	b := buildInfo()
	line := version
	if b.commit != "" {
		line += fmt.Sprintf(" (commit %s%s, %s)", b.commit, b.dirty, b.date)
	}
	return fmt.Sprintf("%s %s %s/%s", line, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (a *app) versionCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.ArbitraryArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON document")
	cmd.RunE = a.wrap(func(cmd *cobra.Command, args []string) error {
		if err := noArgs(cmd, args); err != nil {
			return err
		}
		if !asJSON {
			_, err := fmt.Fprintln(a.stdout, "meshscope", versionLine())
			return err
		}
		b := buildInfo()
		return a.writeJSON(struct {
			SchemaVersion int    `json:"schema_version"`
			Version       string `json:"version"`
			Commit        string `json:"commit,omitempty"`
			Date          string `json:"date,omitempty"`
			Go            string `json:"go"`
			Platform      string `json:"platform"`
		}{report.SchemaVersion, version, b.commit, b.date, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
	})
	return cmd
}
