package themes

import (
	"bytes"
	"embed"
	"fmt"
	"image/color"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/pelletier/go-toml/v2"
)

//go:embed palettes/*.toml
var files embed.FS

// Tone is one colour in the three depths that terminals have, with its text
// attributes. Colours are "#rrggbb" or a number of the xterm table. Empty is
// the terminal's own; an empty true colour is that of the 256.
type Tone struct {
	RGB  string `toml:"rgb"`
	C256 string `toml:"c256"`
	C16  string `toml:"c16"`

	OnRGB  string `toml:"on"` // background
	On256  string `toml:"on256"`
	On16   string `toml:"on16"`
	InkRGB string `toml:"ink"` // text on a fill
	Ink256 string `toml:"ink256"`
	Ink16  string `toml:"ink16"`

	Bold      bool `toml:"bold"`
	Faint     bool `toml:"faint"`
	Underline bool `toml:"underline"`
	Reverse   bool `toml:"reverse"`
	Italic    bool `toml:"italic"`
}

// Palette is one palette file.
type Palette struct {
	Name   string `toml:"name"`
	Title  string `toml:"title"`
	Dark   bool   `toml:"dark"`
	Mono   bool   `toml:"mono"`   // no colours at all
	Ground string `toml:"ground"` // background that contrasts were chosen for; never set

	Roles map[string]Tone `toml:"roles"`
	Fills map[string]Tone `toml:"fills"`
}

// Names lists the built-in palettes: every file of palettes, those that are not named here last.
func Names() []string {
	names := []string{"dark", "light", "colour-blind", "high-contrast", "mono"}
	entries, _ := files.ReadDir("palettes") // embedded: there is nothing to fail
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".toml"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Load reads and checks a built-in palette.
func Load(name string) (*Palette, error) {
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("unknown theme %q: there are %s", name, strings.Join(Names(), ", "))
	}
	data, err := files.ReadFile("palettes/" + name + ".toml")
	if err != nil {
		return nil, fmt.Errorf("theme %s: %w", name, err)
	}
	return Parse(data)
}

// Parse reads a palette and checks that every role and fill has a colour that
// can be read. (lipgloss turns a colour that it cannot parse into none.)
func Parse(data []byte) (*Palette, error) {
	p := &Palette{}
	if err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(p); err != nil {
		return nil, fmt.Errorf("theme: %w", err)
	}
	roles, fills := roleNames(), fillNames()
	if err := checkTones(p.Name, p.Roles, roles[:]); err != nil {
		return nil, err
	}
	if err := checkTones(p.Name, p.Fills, fills[:]); err != nil {
		return nil, err
	}
	return p, nil
}

func checkTones(theme string, tones map[string]Tone, want []string) error {
	for _, name := range want {
		tone, ok := tones[name]
		if !ok {
			return fmt.Errorf("theme %s: %q has no colour", theme, name)
		}
		for _, c := range []string{tone.RGB, tone.OnRGB, tone.InkRGB} {
			if !validRGB(c) {
				return fmt.Errorf("theme %s: %q: %q is not a colour like #rrggbb", theme, name, c)
			}
		}
		for _, c := range []string{tone.C256, tone.On256, tone.Ink256} {
			if !validIndex(c, 256) {
				return fmt.Errorf("theme %s: %q: %q is not a number from 0 to 255", theme, name, c)
			}
		}
		for _, c := range []string{tone.C16, tone.On16, tone.Ink16} {
			if !validIndex(c, 16) {
				return fmt.Errorf("theme %s: %q: %q is not a number from 0 to 15", theme, name, c)
			}
		}
	}
	for name := range tones {
		if !slices.Contains(want, name) {
			return fmt.Errorf("theme %s: unknown role %q", theme, name)
		}
	}
	return nil
}

func validRGB(s string) bool {
	if s == "" {
		return true
	}
	if len(s) != len("#rrggbb") || s[0] != '#' {
		return false
	}
	_, err := strconv.ParseUint(s[1:], 16, 32)
	return err == nil
}

func validIndex(s string, n int) bool {
	if s == "" {
		return true
	}
	i, err := strconv.Atoi(s)
	return err == nil && i >= 0 && i < n
}

// pick chooses by profile. A palette without a true colour means that of the
// 256: its codes are half as long, and every change of colour is sent.
func pick(profile colorprofile.Profile, c16, c256, rgb string) color.Color {
	if rgb == "" {
		rgb = c256
	}
	return lipgloss.Complete(profile)(paint(c16), paint(c256), paint(rgb))
}

func paint(s string) color.Color {
	if s == "" {
		return lipgloss.NoColor{}
	}
	return lipgloss.Color(s)
}

func (t Tone) colour(p colorprofile.Profile) color.Color { return pick(p, t.C16, t.C256, t.RGB) }
func (t Tone) ink(p colorprofile.Profile) color.Color    { return pick(p, t.Ink16, t.Ink256, t.InkRGB) }

func (t Tone) style(p colorprofile.Profile) lipgloss.Style {
	s := lipgloss.NewStyle().Foreground(t.colour(p)).Background(pick(p, t.On16, t.On256, t.OnRGB))
	if t.Bold {
		s = s.Bold(true)
	}
	if t.Faint {
		s = s.Faint(true)
	}
	if t.Underline {
		s = s.Underline(true)
	}
	if t.Reverse {
		s = s.Reverse(true)
	}
	if t.Italic {
		s = s.Italic(true)
	}
	return s
}
