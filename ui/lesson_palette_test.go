package ui

import (
	"errors"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/lessons"
	"meshscope/presets"
	"meshscope/ui/overlay"
)

// TestPaletteTeaches: the palette offers the lessons in the order of the course with their numbers, the
// demonstrations by name, and says what is wrong with a lesson that is left out.
func TestPaletteTeaches(t *testing.T) {
	m := sample(t, 120, 36, func(o *Options) {
		o.Evaluate = engine.Evaluate
		o.Lessons = func() ([]*lessons.Lesson, []error) {
			all, _ := lessons.All("", presets.Default())
			return all,
				[]error{errors.New("/home/me/lessons/mine.toml:13:19: act 1 options.0.is: divides by zero")}
		}
	})
	tell(m, "?")
	tell(m, strings.Split("lesson", "")...)
	page, at := screenText(m), 0
	for _, title := range []string{
		"lesson 1 Step 1 fits", "lesson 2 Compute twice", "lesson 9 Experts",
		"lesson 10 Fit, batch", "lesson left out: act 1 options.0.is: divides by zero",
	} {
		if i := strings.Index(page, title); i < at {
			t.Errorf("%q is not in its place:\n%s", title, page)
		} else {
			at = i
		}
	}
	tell(m, strings.Split(" left out", "")...)
	tell(m, "enter")
	if page = screenText(m); m.overlays.ID() != overlay.LeftOutID ||
		!strings.Contains(page, "/home/me/lessons/mine.toml:13:19") ||
		!strings.Contains(page, "divides by zero") {
		t.Errorf("what is wrong is not said:\n%s", page)
	}
	tell(m, "esc", "?")
	own := m.state.Setup
	tell(m, strings.Split("demonstration ring", "")...)
	if page = screenText(m); !strings.Contains(page, "its own setup, u undoes") {
		t.Errorf("the row does not say that it takes another setup:\n%s", page)
	}
	tell(m, "enter")
	if page = screenText(m); !strings.Contains(page, "RING ATTENTION") || m.state.Setup.CP != 4 {
		t.Errorf("the demonstration is not opened:\n%s", page)
	}
	if !strings.Contains(m.state.Note.Text, "u goes back to your setup.") {
		t.Errorf("what goes back is not said: %q", m.state.Note.Text)
	}
	if tell(m, "u"); m.state.Setup != own {
		t.Error("one key does not go back to the setup")
	}
}

// TestActShowsItsGroup: an act that names a group of the collectives shows that one, before and after the
// turn, although another one crosses the network.
func TestActShowsItsGroup(t *testing.T) {
	l := built(t, "tensor-sequence")
	for at := range l.Acts {
		if l.Acts[at].Show != "network/collectives/tp" {
			continue
		}
		m := taughtAt(t, l, at, 80, 24, nil)
		asked := screenText(m)
		tell(m, "!")
		for _, page := range []string{asked, screenText(m)} {
			if !strings.Contains(page, " tp group: ") {
				t.Errorf("act %d shows another group:\n%s", at+1, page)
			}
		}
		return
	}
	t.Error("no act shows a group")
}
