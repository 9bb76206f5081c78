package ui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/exp/golden"
)

// TestHint: the first start says how to begin, until that is put away or a knob
// is turned; later starts say nothing.
func TestHint(t *testing.T) {
	const words = "esc hides this"
	first := func(o *Options) { o.Hint = true }
	for _, size := range [][2]int{{60, 20}, {80, 24}, {120, 36}} {
		m := sample(t, size[0], size[1], first)
		if !strings.Contains(screenText(m), words) {
			t.Fatalf("%v: no hint at the first start:\n%s", size, screenText(m))
		}
		if size[0] == 80 {
			golden.RequireEqual(t, page(m))
		}
		keys(m, "down")
		if !strings.Contains(screenText(m), words) || m.session().Hinted {
			t.Errorf("%v: the hint is gone before it was read:\n%s", size, screenText(m))
		}
		keys(m, "esc")
		if strings.Contains(screenText(m), words) || !m.session().Hinted {
			t.Errorf("%v: esc does not put the hint away:\n%s", size, screenText(m))
		}
		turned := sample(t, size[0], size[1], first)
		keys(turned, "right")
		if strings.Contains(screenText(turned), words) || !turned.session().Hinted {
			t.Errorf("%v: the hint is there after a turn:\n%s", size, screenText(turned))
		}
		checkFrame(t, turned)
	}
	if m := sample(t, 80, 24); strings.Contains(screenText(m), words) {
		t.Errorf("a hint without a reason:\n%s", screenText(m))
	}
	plain := sample(t, 80, 24, func(o *Options) { o.Hint, o.ASCII = true, true })
	if !strings.Contains(screenText(plain), "left right turns it") {
		t.Errorf("no hint in ASCII:\n%s", screenText(plain))
	}
	send(plain, tea.KeyPressMsg{Code: tea.KeyEscape})
	checkFrame(t, plain)
}
