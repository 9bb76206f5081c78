package cli_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"meshscope/cli"
)

// TestHelpInGroups: the flags of a setup stand in groups of their own, each with its heading once, in the
// order of the explorer's column; no flag is lost.
func TestHelpInGroups(t *testing.T) {
	for _, command := range []string{"eval", "search", "compare", "scan", "advise"} {
		var out bytes.Buffer
		if code := cli.Run([]string{command, "--help"}, strings.NewReader(""), &out, io.Discard); code != 0 {
			t.Fatal(code)
		}
		before, text, _ := strings.Cut(out.String(), "\n  FLAGS\n")
		if strings.Contains(before, "  BATCH\n") || strings.Contains(before, "  LAYOUT\n") {
			t.Errorf("%s: a heading above the flags", command)
		}
		at := 0
		for _, want := range []string{
			"\n  SETUP\n", "\n    --model ", "\n  MACHINE\n", "\n    --gpus ", "\n    --link-bandwidth ",
			"\n  LAYOUT\n", "\n    --dp ", "\n    --zero ", "\n  BATCH\n", "\n    --gbs ", "\n  RECIPE\n",
			"\n    --recompute ",
			"\n  MORE\n", "\n    --hsdp ", "\n    --lora ", "\n    --goodput ",
		} {
			next := strings.Index(text[at:], want)
			if next < 0 || strings.Count(text, want) != 1 {
				t.Errorf("%s: %q is there %d times, or above what it follows", command, want,
					strings.Count(text, want))
				continue
			}
			at += next
		}
	}
}
