// Package themes holds the palettes: data files that give each role a colour
// for terminals with 16, 256 and 16 million colours, chosen by hand for each.
// It is the only place of the program that knows colours.
package themes

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// Paint writes text in one look. The zero Paint writes plain text.
type Paint struct{ open string }

// closing ends every paint: all attributes off.
const closing = "\x1b[m"

// Render returns s in the paint.
func (p Paint) Render(s string) string {
	if p.open == "" || s == "" {
		return s
	}
	return p.open + s + closing
}

// Open and Close are the sequences around painted text, for writers that
// build lines themselves.
func (p Paint) Open() string { return p.open }

// Close returns the sequence after painted text; empty for plain text.
func (p Paint) Close() string {
	if p.open == "" {
		return ""
	}
	return closing
}

// area is a resolved fill.
type area struct {
	colour, ink color.Color
	paint       Paint // ink on colour
	line        Paint // colour as foreground
}

// Theme is a palette resolved for one terminal.
type Theme struct {
	Name    string
	Dark    bool
	Colours bool // false: attributes only, areas are told apart by shade and letter
	Dimmed  bool // the grey twin of one with colours, whose signs it keeps

	// Known says whether a reader can look a word up; nil: no word is marked.
	Known func(word string) bool

	ground color.Color // that the colours were chosen for
	base   Paint       // ordinary text on it
	roles  [numRoles]Paint
	areas  [numFills]area
	edges  [numFills][numFills]Paint
}

// Paint of a role.
func (t *Theme) Paint(r Role) Paint { return t.roles[min(r, numRoles-1)] }

// Area returns the paint of the inside of a fill: its ink on its colour.
func (t *Theme) Area(f Fill) Paint { return t.areas[min(f, numFills-1)].paint }

// Line returns the paint of a fill's colour as foreground, for legends and glyphs
// that fill part of a cell.
func (t *Theme) Line(f Fill) Paint { return t.areas[min(f, numFills-1)].line }

// Edge returns the paint of a cell that belongs to two fills: the left one as
// foreground, the right one as background.
func (t *Theme) Edge(left, right Fill) Paint {
	return t.edges[min(left, numFills-1)][min(right, numFills-1)]
}

// Colour returns the colour of a fill, for blending; nil without colours.
func (t *Theme) Colour(f Fill) color.Color {
	if !t.Colours {
		return nil
	}
	return t.areas[min(f, numFills-1)].colour
}

// Ground returns the colours of ordinary text and of what is behind it, where a picture needs them.
func (t *Theme) Ground() (text, ground color.Color) {
	text, ground = color.Gray{Y: 0xd8}, t.ground
	if !t.Dark {
		text = color.Gray{Y: 0x1a}
	}
	if _, none := ground.(lipgloss.NoColor); none || ground == nil {
		ground = color.Gray{Y: 0x10}
		if !t.Dark {
			ground = color.Gray{Y: 0xf7}
		}
	}
	return text, ground
}

// Resolve makes the palette ready for a terminal of the given profile.
func (p *Palette) Resolve(profile colorprofile.Profile) *Theme {
	t := &Theme{
		Name: p.Name, Dark: p.Dark, Colours: profile >= colorprofile.ANSI && !p.Mono,
		ground: lipgloss.Color(p.Ground),
	}
	if !t.Colours {
		profile = colorprofile.ASCII
	}
	for i, name := range roleNames() {
		t.roles[i] = paintOf(p.Roles[name].style(profile))
	}
	for i, name := range fillNames() {
		tone := p.Fills[name]
		t.areas[i] = area{colour: tone.colour(profile), ink: tone.ink(profile)}
	}
	t.paintAreas()
	t.base = p.base(profile)
	return t
}

// base returns the paint of ordinary text on the palette's own ground; plain without colours.
func (p *Palette) base(profile colorprofile.Profile) Paint {
	if p.Mono || p.Ground == "" || profile < colorprofile.ANSI {
		return Paint{}
	}
	ground, ink := lipgloss.Color(p.Ground), color.Color(color.Gray{Y: 0xe0})
	if !p.Dark {
		ink = color.Gray{Y: 0x1a}
	}
	switch {
	case profile == colorprofile.ANSI && p.Dark:
		ground, ink = ansi.Black, ansi.White
	case profile == colorprofile.ANSI:
		ground, ink = ansi.BrightWhite, ansi.Black
	default:
		ground, ink = profile.Convert(ground), profile.Convert(ink)
	}
	return paintOf(lipgloss.NewStyle().Foreground(ink).Background(ground))
}

// Base returns the paint of ordinary text on the theme's own ground, for a terminal whose own may be
// another one; plain where the theme has no colours.
func (t *Theme) Base() Paint { return t.base }

// On returns lines on a ground: what a line leaves plain, and the rest of its w cells, has its paint.
func (p Paint) On(lines []string, w int) {
	if p.open == "" {
		return
	}
	for i, line := range lines {
		rest := max(w-ansi.StringWidth(line), 0)
		lines[i] = p.open + strings.ReplaceAll(line, closing, closing+p.open) + strings.Repeat(" ",
			rest) + closing
	}
}

// Dim returns the grey twin of a theme: every role muted, areas in greys as light as
// their colours, with the same signs as in colour. With 16 colours there are
// no greys to choose from, and areas are told apart by shade. Without colours all
// of it is faint.
func (t *Theme) Dim() *Theme {
	d := &Theme{
		Name: t.Name, Dark: t.Dark, Dimmed: t.Colours, Colours: t.Blends(), ground: t.ground,
		base: t.base,
	}
	muted, faint := t.roles[Muted], t.roles[Faint]
	if !t.Colours {
		muted = faint
	}
	for i := range d.roles {
		d.roles[i] = muted
	}
	d.roles[Faint] = faint
	if d.Colours {
		for i := range d.areas {
			d.areas[i] = t.grey(Fill(i))
		}
		d.paintAreas()
		return d
	}
	for i := range d.areas {
		d.areas[i] = area{paint: muted, line: muted}
		for j := range d.edges[i] {
			d.edges[i][j] = muted
		}
	}
	d.areas[Empty] = area{paint: faint, line: faint}
	return d
}

// grey returns an area without its colour, drawn in towards the ground.
func (t *Theme) grey(f Fill) area {
	r, g, b, _ := t.areas[f].colour.RGBA()
	lightness := gamma(0.2126*linear(float64(r)/0xffff) + 0.7152*linear(float64(g)/0xffff) + 0.0722*
		linear(float64(b)/0xffff))
	level, ink := 0x20+lightness/4, color.Color(color.Gray{Y: 0xc0})
	if !t.Dark {
		level, ink = 0xb4+lightness/4, color.Gray{Y: 0x30}
	}
	ground := color.Color(color.Gray{Y: level})
	if _, indexed := t.areas[f].colour.(ansi.IndexedColor); indexed {
		ground, ink = colorprofile.ANSI256.Convert(ground), colorprofile.ANSI256.Convert(ink)
	}
	return area{colour: ground, ink: ink}
}

func (t *Theme) paintAreas() {
	for i := range t.areas {
		a := &t.areas[i]
		a.paint = paintOf(lipgloss.NewStyle().Foreground(a.ink).Background(a.colour))
		a.line = paintOf(lipgloss.NewStyle().Foreground(a.colour))
		if !t.Colours {
			a.paint, a.line = Paint{}, Paint{}
		}
	}
	if !t.Colours {
		return
	}
	// An edge is the codes of two colours; rendering each pair would cost more
	// than everything else at the start of the program.
	var fore, back [numFills]string
	for i := range t.areas {
		fore[i] = codes(t.areas[i].line)
		back[i] = codes(paintOf(lipgloss.NewStyle().Background(t.areas[i].colour)))
	}
	for i := range t.areas {
		for j := range t.areas {
			t.edges[i][j] = Paint{open: "\x1b[" + fore[i] + ";" + back[j] + "m"}
		}
	}
}

// codes returns the parameters of a paint's sequence, without its ends.
func codes(p Paint) string {
	return strings.TrimSuffix(strings.TrimPrefix(p.open, "\x1b["), "m")
}

// paintOf takes the opening sequence out of a style by rendering one letter.
func paintOf(s lipgloss.Style) Paint {
	const probe = "x"
	out := s.Render(probe)
	for i := range len(out) {
		if out[i] == probe[0] {
			return Paint{open: out[:i]}
		}
	}
	return Paint{}
}
