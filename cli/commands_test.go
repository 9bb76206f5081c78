//go:build unix

package cli_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"meshscope/engine_test/draws"
)

// TestDocumentedCommands runs the commands that the documents name, few of them in an ordinary run:
// none is wrong usage, and none fails. Left out are those with a placeholder (FILE, ..., path/) and
// those that need a terminal, a network port or a file.
func TestDocumentedCommands(t *testing.T) {
	program := build(t)
	named := regexp.MustCompile("`(meshscope [a-z][^`\\n]*)`")
	cannot := regexp.MustCompile(
		`[A-Z]{2}|calibrate$|\.\.\.|[<>|*~&;]|path/|\.(json|toml|out|sbatch|csv)\b|^meshscope (serve|class|join|demo|lesson) ?`,
	)
	var commands []string
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			found = append(found, m[1])
		}
		eachBlock(string(text), "sh", func(block string) string {
			for line := range strings.Lines(block) {
				if strings.HasPrefix(line, "meshscope ") {
					found = append(found, line)
				}
			}
			return block
		})
		for _, command := range found {
			command, _, _ = strings.Cut(command, "  #")
			command = strings.TrimSpace(command)
			if !cannot.MatchString(command) && !slices.Contains(commands, command) {
				commands = append(commands, command)
			}
		}
	}
	if len(commands) < 20 {
		t.Fatalf("%d commands: %q", len(commands), commands)
	}
	const few = 4
	for _, command := range draws.Some(few, commands...) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		cmd := exec.CommandContext(ctx, program, strings.Fields(command)[1:]...)
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "COLUMNS=80")
		out, err := cmd.CombinedOutput()
		cancel()
		exit, failed := errors.AsType[*exec.ExitError](err)
		if err != nil && !failed || failed && exit.ExitCode() != 3 && exit.ExitCode() != 4 {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
}
