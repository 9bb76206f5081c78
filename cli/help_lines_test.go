package cli_test

import (
	"slices"
	"strings"
	"testing"
)

// The description of advise is broken by the width alone: a line that could take the
// first word of the next one ends a paragraph.
func TestAdviseHelpIsNotRagged(t *testing.T) {
	const width = 76 // of 80 columns
	_, help, _ := run(t, "advise", "--help")
	lines := strings.Split(help, "\n")
	end := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "USAGE") })
	if end < 5 {
		t.Fatalf("no description:\n%s", help)
	}
	for i := range end - 1 {
		line, next := strings.TrimSpace(lines[i]), strings.Fields(lines[i+1])
		if line != "" && len(next) > 0 && len(line)+1+len(next[0]) <= width {
			t.Errorf("%q could take %q", line, next[0])
		}
	}
}
