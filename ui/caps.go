package ui

import (
	"strings"

	"github.com/charmbracelet/colorprofile"

	"meshscope/themes"
	"meshscope/ui/widget"
)

// caps is what is known of the terminal. It starts with guesses that are
// readable everywhere and is refined by messages.
type caps struct {
	width, height int
	profile       colorprofile.Profile
	dark          bool
	unicode       bool
	underlines    bool
}

// Size of a terminal that says it has none, as some pseudo-terminals do.
const (
	assumedWidth  = 80
	assumedHeight = 24
)

func newCaps(env []string, ascii bool) caps {
	return caps{profile: colorprofile.ANSI256, dark: true, unicode: !ascii && hasUnicode(env), underlines: canUnderline(env)}
}

// The largest area that is drawn; the rest of a larger terminal stays blank.
const (
	maxWidth  = 500
	maxHeight = 200
)

// resize notes the size; zero means that nobody knows.
func (c *caps) resize(w, h int) {
	if w <= 0 || h <= 0 {
		w, h = assumedWidth, assumedHeight
	}
	c.width, c.height = min(w, maxWidth), min(h, maxHeight)
}

// hasUnicode says whether the locale is a UTF-8 one. The Linux console has too
// few glyphs whatever the locale says. Without any locale variable Unicode is
// assumed: containers rarely set one.
func hasUnicode(env []string) bool {
	if lookup(env, "TERM") == "linux" {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := lookup(env, name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}

// canUnderline says whether the terminal has underlines. The Linux console shows
// another colour in their place, a VT52 nothing but its letters.
func canUnderline(env []string) bool {
	term := lookup(env, "TERM")
	return term != "linux" && term != "dumb" && !strings.HasPrefix(term, "vt52")
}

// noColor says whether NO_COLOR is set, to anything but nothing
// (https://no-color.org).
func noColor(env []string) bool { return lookup(env, "NO_COLOR") != "" }

func lookup(env []string, name string) string {
	value := ""
	for _, e := range env {
		if k, v, ok := strings.Cut(e, "="); ok && k == name {
			value = v
		}
	}
	return value
}

// look is the theme and the glyphs in force; made anew when anything it
// depends on changes.
type look struct {
	theme  *themes.Theme
	dim    *themes.Theme
	glyphs widget.Glyphs
	serial int // of the look, for caches
}

// themeFor is the theme that follows the terminal.
func themeFor(c caps) string {
	switch {
	case c.profile < colorprofile.ANSI:
		return "mono"
	case c.dark:
		return "dark"
	default:
		return "light"
	}
}

// newLook resolves a theme name for a terminal; the words that are known are
// marked where it can underline. An unknown name falls back to
// the terminal's own light or dark.
func newLook(name string, c caps, known func(string) bool, serial int) look {
	if name == themeAuto {
		name = themeFor(c)
	}
	p, err := themes.Load(name)
	if err != nil {
		if p, err = themes.Load("mono"); err != nil {
			p = &themes.Palette{Mono: true} // attributes of nothing: plain text
		}
	}
	t := p.Resolve(c.profile)
	if c.underlines {
		t.Known = known
	}
	return look{theme: t, dim: t.Dim(), glyphs: widget.NewGlyphs(c.unicode), serial: serial}
}
