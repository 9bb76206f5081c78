package pipeline

import (
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine/schedule"
)

// TestFoldKeepsItsMark: whatever stands out, every rank's line says what is folded
// away; an operation half inside the fold does not cover it.
func TestFoldKeepsItsMark(t *testing.T) {
	for _, kind := range []schedule.Kind{schedule.OneFOneB, schedule.ZBH1, schedule.AFAB} {
		for _, profile := range []colorprofile.Profile{
			colorprofile.ASCII, colorprofile.ANSI,
			colorprofile.ANSI256,
		} {
			in := input(t, profile, spec(kind, 8, 1, 128))
			marks := ""
			for _, keys := range []string{"", "c", "m", "c L", "m L L", "L n", "j j j c", "space"} {
				v := &View{}
				const w, h = 100, 30
				press(v, in, w, h, keys)
				lines := v.Render(in.At(w, h))
				b := &v.drawn.blocks[0]
				for n := range b.lines() {
					line := ansi.Strip(lines[b.top+n*v.drawn.per])
					got := strings.Join(folds.FindAllString(line, -1), " ")
					if marks == "" {
						marks = got
					}
					if got == "" || got != marks {
						t.Errorf("%s, %q, line %d: %q is folded, want %q: %s", kind, keys, n, got, marks,
							line)
					}
				}
			}
		}
	}
}

var folds = regexp.MustCompile("⋯(×[0-9]+⋯)?")
