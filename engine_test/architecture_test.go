package engine_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestArchitectureIsTrue: every file and folder that the documents for developers name is there, and the
// map fits two screens.
func TestArchitectureIsTrue(t *testing.T) {
	named := regexp.MustCompile("`([a-z_]+(?:/[a-z0-9_.]+)+)[:`]")
	for _, name := range []string{"architecture", "decisions", "extending"} {
		text, err := os.ReadFile("../docs/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range named.FindAllStringSubmatch(string(text), -1) {
			path := filepath.Join("..", match[1])
			root, _, _ := strings.Cut(match[1], "/")
			if _, err := os.Stat(filepath.Join("..", root)); err != nil {
				continue // of another module, or of the folder that the text is about
			}
			if _, err := os.Stat(path); err == nil {
				continue
			}
			// A package with its doc, a folder with a name of the package: engine/knob.Turn has none.
			if _, err := os.Stat(strings.TrimSuffix(path, filepath.Ext(path))); err != nil {
				t.Errorf("docs/%s.md names %s, which is not there", name, match[1])
			}
		}
		if lines := strings.Count(string(text), "\n"); name == "architecture" && lines > 125 {
			t.Errorf("docs/architecture.md has %d lines, allowed are 125: details go into decisions.md",
				lines)
		}
	}
}
