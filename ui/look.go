package ui

import (
	"github.com/charmbracelet/colorprofile"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/themes"
	"meshscope/ui/state"
	"meshscope/ui/tty"
	"meshscope/ui/widget"
)

// look is the current theme and glyphs; rebuilt when anything it
// depends on changes.
type look struct {
	theme  *themes.Theme
	dim    *themes.Theme
	glyphs widget.Glyphs
	serial int // of the look, for caches
}

// themeFor returns the theme that follows the terminal.
func themeFor(c tty.Caps) string {
	switch {
	case c.Profile < colorprofile.ANSI:
		return "mono"
	case c.Dark:
		return "dark"
	default:
		return "light"
	}
}

// newLook resolves a theme name for a terminal; the words that are known are
// marked where it can underline. An unknown name falls back to
// the terminal's own light or dark.
func newLook(name string, c tty.Caps, known func(string) bool, serial int) look {
	if name == state.ThemeAuto {
		name = themeFor(c)
	}
	p, err := themes.Load(name)
	if err != nil {
		if p, err = themes.Load("mono"); err != nil {
			p = &themes.Palette{Mono: true} // attributes of nothing: plain text
		}
	}
	t := p.Resolve(c.Profile)
	if c.Underlines {
		t.Known = known
	}
	return look{theme: t, dim: t.Dim(), glyphs: widget.NewGlyphs(c.Unicode), serial: serial}
}

// colour takes how many colours the terminal shows; none where the user wants none.
func (m *Model) colour(profile colorprofile.Profile) {
	m.caps.Profile = max(profile, colorprofile.ASCII)
	if m.options.NoColor || tty.NoColor(m.options.Env) {
		m.caps.Profile = colorprofile.ASCII
	}
}

// restyle rebuilds the look.
func (m *Model) restyle() {
	m.look = newLook(m.state.Theme, m.caps, m.known(), m.look.serial+1)
}

// known says which words of the screen are in the glossary; nil where they are not to
// be marked.
func (m *Model) known() func(string) bool {
	if m.state.Unmarked {
		return nil
	}
	return m.lexicon.Knows
}

// highlightChanges marks the knobs that differ from an earlier setup, and the figures that changed, until
// the next change: a timer would cost another frame. It does nothing where calm is asked for, without
// colours, over SSH and on a slow line.
func (m *Model) highlightChanges(was *engine.Setup) {
	m.glow = nil
	if slow := m.options.Slow != nil && m.options.Slow(); m.options.Calm || slow || !m.look.theme.Colours ||
		m.remote() {
		return
	}
	m.glow = map[knob.ID]bool{}
	for i := range m.rows {
		if k, ok := knob.Find(m.rows[i].ID); ok && k.Text(*was) != k.Text(m.state.Setup) {
			m.glow[k.ID] = true
		}
	}
}

// remote reports whether the program runs over SSH.
func (m *Model) remote() bool {
	return tty.Getenv(m.options.Env, "SSH_TTY") != "" || tty.Getenv(m.options.Env, "SSH_CONNECTION") != ""
}

// glowing is 1 while something stands out, for caches.
func (m *Model) glowing() int {
	if m.glow != nil {
		return 1
	}
	return 0
}
