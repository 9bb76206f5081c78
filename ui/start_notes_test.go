package ui

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/knob"
)

// tooFull returns a setup that does not fit, with fixes of one knob and of two.
func tooFull(t *testing.T) engine.Setup {
	return setupOf(t, "llama3.1-70b", "dgx-h100",
		knob.Given{knob.GPUs: 64, knob.TP: 4, knob.PP: 8, knob.MBS: 2})
}

// TestNoticesLeaveWhatIsWrong: the line about problems before the start stands below what is wrong with the
// setup that was opened, and keeps its subject where it is shortened.
func TestNoticesLeaveWhatIsWrong(t *testing.T) {
	m := sample(t, 120, 36, func(o *Options) {
		o.Setup = tooFull(t)
		o.Notices = []string{"14 settings are not in the file run.sh: " +
			strings.Repeat("a key \"of\", ", 40) + "another; 'meshscope import' tells where each comes from"}
	})
	text := screenText(m)
	for _, want := range []string{"rank 0", "14 settings are not in the file run.sh; T shows all of it"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q:\n%s", want, text)
		}
	}
	if keys(m, "down"); strings.Contains(screenText(m), "14 settings") {
		t.Error("a key does not take the line away")
	}
}

// TestFixesAreWhole: of the fixes in the foot each is whole, at every width.
func TestFixesAreWhole(t *testing.T) {
	m := New(Options{Setup: tooFull(t)})
	send(m, tea.WindowSizeMsg{Width: 120, Height: 36})
	send(m, m.sweepCmd()())
	words := m.remedyWords()
	if len(words) < 2 {
		t.Fatalf("too few fixes: %v", words)
	}
	for w := 40; w < 400; w++ {
		line := m.fixesLine(w)
		fixes, _, _ := strings.Cut(strings.TrimPrefix(line, "fits with "), "; a advice")
		fixes = strings.TrimSuffix(fixes, m.look.glyphs.Ellipsis)
		var ends []string
		for n := range words {
			ends = append(ends, strings.Join(words[:n+1], ", "))
		}
		ends = append(ends, m.remedies[0].Turns())
		if strings.HasPrefix(line, "fits") && !slices.Contains(ends, fixes) {
			t.Fatalf("%d cells: %q", w, line)
		}
	}
}
