package scan

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// TestListInLittleRoom: where no chart has room the points stand in a list, that of the cursor among them,
// both figures with their units below heads.
func TestListInLittleRoom(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	v := New()
	v.figure, v.inChart = "time.step", true
	invented(v, in.Setup)
	lines := v.list(in, 40, 4)
	text := ansi.Strip(strings.Join(lines, "\n"))
	for _, want := range []string{"TP", "step", "peak", in.Glyphs.Pointer + "  8", "16.5 s"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if len(lines) != 4 {
		t.Errorf("%d lines", len(lines))
	}
}
