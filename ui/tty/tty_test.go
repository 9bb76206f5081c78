package tty

import (
	"io"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// TestCaps: the signs follow the locale and the terminal, and what cannot be
// known is guessed so that it can be read.
func TestCaps(t *testing.T) {
	for _, test := range []struct {
		env     []string
		unicode bool
	}{
		{nil, true},
		{[]string{"LANG=en_US.UTF-8"}, true},
		{[]string{"LANG=de_DE.utf8", "TERM=vt100"}, true},
		{[]string{"LANG=C"}, false},
		{[]string{"LC_ALL=POSIX", "LANG=en_US.UTF-8"}, false},
		{[]string{"LC_CTYPE=en_US.ISO-8859-1", "LANG=en_US.UTF-8"}, false},
		{[]string{"LC_ALL=C.UTF-8", "TERM=linux"}, false},
	} {
		if got := NewCaps(test.env, false).Unicode; got != test.unicode {
			t.Errorf("%v: Unicode %v", test.env, got)
		}
		if NewCaps(test.env, true).Unicode {
			t.Errorf("%v: --ascii is not kept", test.env)
		}
	}
}

// TestProfile: a terminal without colours gets none.
func TestProfile(t *testing.T) {
	for term, colours := range map[string]bool{
		"xterm": true, "xterm-256color": true, "linux": true, "screen": true, "putty": true, "vt525": true,
		"vtxyz": true, "vte-256color": true, "tmux-m": false,
		"xterm-mono": false, "vt100": false, "vt102-w": false, "vt220": false, "linux-m": false,
		"vt52": false,
	} {
		env := []string{"TERM=" + term, "TTY_FORCE=1"}
		if got := Profile(io.Discard, env) > colorprofile.ASCII; got != colours {
			t.Errorf("%s: colours %v", term, got)
		}
	}
	for env, none := range map[string]bool{
		"NO_COLOR=yes": true, "NO_COLOR=": false, "CLICOLOR=0": true,
		"CLICOLOR=1": false, "CLICOLOR=": false,
	} {
		if NoColor([]string{env}) != none {
			t.Errorf("%s: no colours %v", env, !none)
		}
	}
}

// TestFilter: a window is no larger than what is drawn, and the wheel no faster than
// frames.
func TestFilter(t *testing.T) {
	now := time.Time{}
	filter := Filter(func() time.Time { now = now.Add(wheelPause / 2); return now })
	if got := filter(nil,
		tea.WindowSizeMsg{Width: 60_000, Height: 3}); got != (tea.WindowSizeMsg{Width: MaxWidth, Height: 3}) {
		t.Errorf("%+v", got)
	}
	passed := 0
	for range 10 {
		if filter(nil, tea.MouseWheelMsg{}) != nil {
			passed++
		}
	}
	if passed != 5 {
		t.Errorf("%d of 10 turns of the wheel pass", passed)
	}
}
