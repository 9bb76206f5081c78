package cli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTerminalDocument: every test and benchmark that docs/terminal.md names is
// one, and every row of priority A has one.
func TestTerminalDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "terminal.md"))
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`)
	there := map[string]bool{}
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(source), -1) {
			there[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Benchmark)[A-Z]\\w+)`")
	rows := 0
	for line := range strings.Lines(string(text)) {
		names := named.FindAllStringSubmatch(line, -1)
		for _, m := range names {
			if !there[m[1]] {
				t.Errorf("there is no %s: %s", m[1], line)
			}
		}
		if strings.Contains(line, " | A | ") {
			rows++
			if len(names) == 0 {
				t.Errorf("nothing proves: %s", line)
			}
		}
	}
	if rows < 30 {
		t.Errorf("%d rows of priority A", rows)
	}
}
