//go:build unix

package cli_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestTextInTerminal: what a command prints fits 80 columns, but for commands to copy, and has colours
// unless NO_COLOR is set.
func TestTextInTerminal(t *testing.T) {
	t.Parallel()
	program := build(t)
	setup := []string{"--model", "llama3.1-70b", "--gpus", "16", "--tp", "8"}
	for _, command := range []string{"eval", "advise", "explain", "validate"} {
		for _, env := range []string{"NO_COLOR=", "NO_COLOR=1"} {
			args := append([]string{command}, setup...)
			if command == "validate" {
				args = args[:1]
			}
			screen := start(t, program, 80, 24, args, env)
			if _, err := screen.Wait(); err != nil {
				t.Fatal(err)
			}
			raw := strings.ReplaceAll(string(screen.Raw()), "\r", "")
			if coloured := strings.Contains(raw, "\x1b[1m"); command != "explain" &&
				coloured != (env == "NO_COLOR=") {
				t.Errorf("%s with %s: colours %v", command, env, coloured)
			}
			for line := range strings.Lines(ansi.Strip(raw)) {
				line = strings.TrimRight(line, "\n")
				if n := len([]rune(line)); n > 80 && !strings.HasPrefix(line, "    meshscope ") {
					t.Errorf("%s with %s: %d columns: %q", command, env, n, line)
				}
			}
		}
	}
}
