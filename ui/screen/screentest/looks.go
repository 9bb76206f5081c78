package screentest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"meshscope/themes"
	"meshscope/ui/widget"
)

// Draw gives the lines of a screen in one state, in a theme and with glyphs.
type Draw func(theme *themes.Theme, glyphs widget.Glyphs) []string

// Looks draws a screen in every theme for terminals with 256 colours, with 16, with
// none, and with nothing but ASCII. It fails where a frame uses colours that its
// terminal does not have, where a sign is beyond ASCII though only ASCII is allowed
// (but for the ellipsis of a cut text, which the program replaces in every frame), and
// where a theme changes the text: themes differ in colours alone. Halves of a cell count
// as blanks, because two of them that blend into one colour are one.
func Looks(t *testing.T, draw Draw) {
	t.Helper()
	for _, profile := range []colorprofile.Profile{
		colorprofile.ANSI256, colorprofile.ANSI,
		colorprofile.ASCII,
	} {
		for _, unicode := range []bool{true, false} {
			texts := map[bool]string{} // by whether the theme has colours here
			for _, name := range themes.Names() {
				p, err := themes.Load(name)
				if err != nil {
					t.Fatal(err)
				}
				theme := p.Resolve(profile)
				frame := strings.Join(draw(theme, widget.NewGlyphs(unicode)), "\n")
				least := profile
				if !theme.Colours {
					least = colorprofile.ASCII
				}
				if err := Colours(frame, least); err != nil {
					t.Errorf("%s, %v: %v", name, profile, err)
				}
				text := strings.NewReplacer("▀", " ", "▄", " ").Replace(ansi.Strip(frame))
				if first, ok := texts[theme.Colours]; ok && text != first {
					t.Errorf("%s, %v: the text is another one:\n%s\n\nand elsewhere\n\n%s", name, profile,
						text, first)
				}
				texts[theme.Colours] = text
				if err := ASCII(strings.ReplaceAll(text, "…", "~")); err != nil && !unicode {
					t.Errorf("%s, %v: %v", name, profile, err)
				}
			}
		}
	}
}

// ASCII says which sign of a text without sequences is beyond printable ASCII.
func ASCII(text string) error {
	for _, r := range text {
		if r > '~' || r < ' ' && r != '\n' {
			return fmt.Errorf("%q is not printable ASCII", r)
		}
	}
	return nil
}

// Colours says which colour of a frame is none that a terminal with this profile has:
// 256 colours by their index, 16, or none.
func Colours(frame string, profile colorprofile.Profile) error {
	for _, sequence := range regexp.MustCompile(`\x1b\[([0-9;:]*)m`).FindAllStringSubmatch(frame, -1) {
		codes := strings.FieldsFunc(sequence[1], func(r rune) bool { return r == ';' || r == ':' })
		for i := 0; i < len(codes); i++ {
			code, err := strconv.Atoi(codes[i])
			if err != nil {
				return fmt.Errorf("%q: %w", sequence[0], err)
			}
			switch {
			case code == 38 || code == 48 || code == 58:
				if profile < colorprofile.ANSI256 || i+1 >= len(codes) || codes[i+1] != "5" {
					return fmt.Errorf("%q: a colour beyond %v", sequence[0], profile)
				}
				i += 2
			case code >= 30 && code < 50 || code >= 90 && code < 108:
				if profile < colorprofile.ANSI {
					return fmt.Errorf("%q: a colour", sequence[0])
				}
			}
		}
	}
	return nil
}

// Painted returns the pieces of a frame that are written in a paint, without blanks
// around them: what has the meaning of the paint's role.
func Painted(lines []string, paint themes.Paint) []string {
	var out []string
	for _, line := range lines {
		for {
			_, rest, ok := strings.Cut(line, paint.Open())
			if !ok || paint.Open() == "" {
				break
			}
			text, after, _ := strings.Cut(rest, paint.Close())
			if text = strings.TrimSpace(ansi.Strip(text)); text != "" {
				out = append(out, text)
			}
			line = after
		}
	}
	return out
}

// Meant fails unless the figures and signs of a frame that are written in the paint of
// a role are these and no others, in this order. Words are left out: they may be said
// in another way and mean the same.
func Meant(t *testing.T, lines []string, theme *themes.Theme, role themes.Role, want ...string) {
	t.Helper()
	got := slices.DeleteFunc(Painted(lines, theme.Paint(role)), func(text string) bool {
		return utf8.RuneCountInString(text) > 1 && !strings.ContainsAny(text, "0123456789")
	})
	if !slices.Equal(got, want) {
		t.Errorf("%s are %q, want %q:\n%s", role, got, want, ansi.Strip(strings.Join(lines, "\n")))
	}
}
