package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"meshscope/report"
)

// Release builds set version, commit and date with -ldflags "-X meshscope/cli.version=1.2.3";
// commit and date are otherwise what the Go toolchain recorded.
var (
	version      = "0.1.0-dev"
	commit, date string //nolint:gochecknoglobals // set by the linker, as version is
)

// build is what is known of how this binary was made.
type build struct {
	commit, date, dirty string
	modules             []module
}

// module is one module that the program contains.
type module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

func buildInfo() build {
	b := build{commit: commit, date: date}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = cmp.Or(b.commit, s.Value[:min(12, len(s.Value))])
		case "vcs.time":
			b.date = cmp.Or(b.date, s.Value)
		case "vcs.modified":
			if s.Value == "true" {
				b.dirty = ", changed"
			}
		}
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.modules = append(b.modules, module{m.Path, m.Version})
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
	asJSON, all := false, false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.ArbitraryArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON document")
	cmd.Flags().BoolVar(&all, "dependencies", false, "also list the Go modules that the program contains")
	cmd.RunE = a.alone(func(cmd *cobra.Command) error {
		b := buildInfo()
		if !all {
			b.modules = nil
		}
		if asJSON {
			return a.writeJSON(struct {
				SchemaVersion int      `json:"schema_version"`
				Version       string   `json:"version"`
				Commit        string   `json:"commit,omitempty"`
				Date          string   `json:"date,omitempty"`
				Go            string   `json:"go"`
				Platform      string   `json:"platform"`
				Dependencies  []module `json:"dependencies,omitempty"`
			}{
				report.SchemaVersion, version, b.commit, b.date, runtime.Version(),
				runtime.GOOS + "/" + runtime.GOARCH, b.modules,
			})
		}
		_, err := fmt.Fprintln(a.stdout, "meshscope", versionLine())
		for _, m := range b.modules {
			if err == nil {
				_, err = fmt.Fprintln(a.stdout, "  "+m.Path, m.Version)
			}
		}
		return err
	})
	return cmd
}
