package ui

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	tea "charm.land/bubbletea/v2"

	"meshscope/themes"
	"meshscope/ui/screen/screentest"
)

// TestGlow: the knobs that a turn changes stand out until the next change, and not at
// all where calm is asked for, over SSH, on a slow line and without colours; the text is the same throughout.
func TestGlow(t *testing.T) {
	lit := func(change func(*Options)) (m *Model, shown func() []string) {
		m = sample(t, 120, 36, func(o *Options) { o.Calm = false }, change)
		return m, func() []string {
			return screentest.Painted(strings.Split(m.View().Content, "\n"), m.look.theme.Paint(themes.Focus))
		}
	}
	m, shown := lit(func(*Options) {})
	keys(m, "left")
	calm := sample(t, 120, 36, func(o *Options) { o.Calm = true })
	keys(calm, "left")
	if ansi.Strip(m.View().Content) != ansi.Strip(calm.View().Content) {
		t.Error("the text changes with the light")
	}
	for _, then := range []string{"", "i", "esc"} { // no changes
		if then != "" {
			keys(m, then)
		}
		if got := shown(); then != "i" && (!slices.Contains(got, "8") || !slices.Contains(got, "64")) {
			t.Errorf("after %q DP 8 and 64 micro-batches do not stand out: %q", then, got)
		}
	}
	keys(m, "end", "right") // a knob that moves no micro-batches
	if got := shown(); slices.Contains(got, "64") {
		t.Errorf("still lit after the next change: %q", got)
	}
	for name, change := range map[string]func(*Options){
		"calm": func(o *Options) { o.Calm = true },
		"ssh":  func(o *Options) { o.Env = append(o.Env, "SSH_TTY=/dev/pts/1") },
		"slow": func(o *Options) { o.Slow = func() bool { return true } },
		"mono": func(o *Options) { o.Theme = "mono" },
	} {
		m, _ := lit(change)
		if keys(m, "left"); m.glow != nil {
			t.Errorf("%s: something is lit", name)
		}
	}
}

// TestOwnGround: an explicit theme paints every cell on its own ground, whatever the terminal's is;
// auto and a terminal without colours leave it alone.
func TestOwnGround(t *testing.T) {
	for _, tab := range []string{"", "tab", "?"} {
		for _, theme := range []string{"light", "dark", "high-contrast", "colour-blind"} {
			for _, profile := range []colorprofile.Profile{colorprofile.ANSI, colorprofile.ANSI256} {
				m := sample(t, 120, 36, func(o *Options) { o.Theme = theme })
				send(m, tea.ColorProfileMsg{Profile: profile})
				if tab != "" {
					keys(m, tab)
				}
				base := m.look.theme.Base().Open()
				for y, line := range strings.Split(m.View().Content, "\n") {
					if base == "" || !strings.HasPrefix(line, base) || ansi.StringWidth(line) != 120 {
						t.Fatalf("%s, %v, %q: line %d is not on the ground: %q", theme, profile, tab, y, line)
					}
					for _, rest := range strings.SplitAfter(line, "\x1b[m")[1:] {
						if rest != "" && !strings.HasPrefix(rest, base) {
							t.Fatalf("%s, %v, %q: line %d leaves the ground: %q", theme, profile, tab, y,
								line)
						}
					}
				}
			}
		}
	}
	for _, change := range []func(*Options){func(o *Options) { o.Theme = "auto" }, func(o *Options) {
		o.Theme = "mono"
	}, func(o *Options) { o.Theme, o.NoColor = "light", true }} {
		m := sample(t, 120, 36, change)
		if base := m.look.theme.Base().Open(); m.state.Theme != "auto" && base != "" {
			t.Errorf("%s has the ground %q", m.state.Theme, base)
		}
		if strings.Contains(m.View().Content, "48;5;255m") && m.state.Theme == "auto" && m.look.theme.Dark {
			t.Error("auto paints the ground of light")
		}
	}
}
