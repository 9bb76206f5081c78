package themes

import (
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

func load(t testing.TB, name string) *Palette {
	t.Helper()
	p, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// colourful are the themes that have colours.
func colourful() []string {
	return slices.DeleteFunc(Names(), func(name string) bool { return name == "mono" })
}

// luminance is the relative luminance of WCAG 2.1.
func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	linear := func(v uint32) float64 {
		x := float64(v) / 0xffff
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}

// contrast is the contrast ratio of WCAG 2.1, 1 to 21.
func contrast(a, b color.Color) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// xterm is the colour of an index of the 256-colour table, in its usual values;
// nil for "the terminal's own".
func xterm(t testing.TB, index string) color.Color {
	t.Helper()
	if index == "" {
		return nil
	}
	n, err := strconv.Atoi(index)
	if err != nil {
		t.Fatal(err)
	}
	level := func(i int) uint8 {
		if i == 0 {
			return 0
		}
		return uint8(55 + 40*i)
	}
	switch {
	case n == 0:
		return color.Black
	case n == 15:
		return color.White
	case n < 16:
		t.Fatalf("colour %d is what the user makes of it", n)
	case n >= 232:
		v := uint8(8 + 10*(n-232))
		return color.RGBA{v, v, v, 255}
	}
	n -= 16
	return color.RGBA{level(n / 36), level(n / 6 % 6), level(n % 6), 255}
}

// TestContrast: what is read has a contrast of at least 4.5 to 1 (WCAG AA), on
// the ground of the palette and on plain black or white.
func TestContrast(t *testing.T) {
	decoration := map[string]bool{"faint": true}
	for name, grounds := range map[string][]string{
		"dark":          {"#000000", "#1e1e24"},
		"light":         {"#ffffff", "#f7f7f4"},
		"colour-blind":  {"#000000", "#1e1e24"},
		"high-contrast": {"#000000"},
	} {
		p, least := load(t, name), 4.5
		if name == "high-contrast" {
			least = 7 // AAA
		}
		for role, tone := range p.Roles {
			c := xterm(t, tone.C256)
			if decoration[role] || c == nil {
				continue
			}
			for _, ground := range grounds {
				under := lipgloss.Color(ground)
				if tone.On256 != "" {
					under = xterm(t, tone.On256)
				}
				if got := contrast(c, under); got < least {
					t.Errorf("%s %s on %v: contrast %.2f", name, role, under, got)
				}
			}
		}
		for fill, tone := range p.Fills {
			if got := contrast(xterm(t, tone.Ink256), xterm(t, tone.C256)); got < least {
				t.Errorf("%s: ink on %s: contrast %.2f", name, fill, got)
			}
		}
	}
}

// neighbours are fills that lie next to each other in one bar.
func neighbours() [][]Fill {
	return [][]Fill{
		{Weights, Gradients, Optimizer, Activations, Logits, Buffers, Overhead, Empty},
		{Compute, Recompute, Bubble, Exposed, Update, Offload},
		{Forward, Backward, Idle},
		{InputGrad, WeightGrad, Forward, Backward},
	}
}

// deficient is how a colour looks to a person who lacks one kind of cone, after
// Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
func deficient(c color.Color, m [9]float64) [3]float64 {
	r, g, b, _ := c.RGBA()
	in := [3]float64{float64(r) / 0xffff, float64(g) / 0xffff, float64(b) / 0xffff}
	for i, v := range in {
		in[i] = math.Pow(v, 2.2)
	}
	var out [3]float64
	for i := range out {
		for j := range in {
			out[i] += m[3*i+j] * in[j]
		}
		out[i] = math.Pow(min(max(out[i], 0), 1), 1/2.2)
	}
	return out
}

// kinds are the matrices of ordinary vision and of the three deficiencies.
func kinds() map[string][9]float64 {
	return map[string][9]float64{
		"normal": {1, 0, 0, 0, 1, 0, 0, 0, 1},
		"protanopia": {
			0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116,
			1.051998,
		},
		"deuteranopia": {
			0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940,
			0.968881,
		},
		"tritanopia": {
			1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367,
			0.303900,
		},
	}
}

// apart is the distance of two seen colours.
func apart(a, b [3]float64) float64 {
	return math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
}

// TestColourVision: areas that touch stay apart for every common colour
// vision deficiency.
func TestColourVision(t *testing.T) {
	for name, least := range map[string]float64{
		"dark": 0.12, "light": 0.12, "high-contrast": 0.3,
		"colour-blind": 0.4,
	} {
		p := load(t, name)
		for kind, m := range kinds() {
			for _, bar := range neighbours() {
				for i := 1; i < len(bar); i++ {
					a := deficient(xterm(t, p.Fills[bar[i-1].String()].C256), m)
					b := deficient(xterm(t, p.Fills[bar[i].String()].C256), m)
					if d := apart(a, b); d < least {
						t.Errorf("%s, %s: %s and %s differ by %.2f only", name, kind, bar[i-1], bar[i], d)
					}
				}
			}
		}
	}
}

// terminals16 are the colours 0 to 15 where they are best known: xterm's and the
// VGA's, which the Linux console and most others come close to.
func terminals16() map[string][16]color.RGBA {
	out := map[string][16]color.RGBA{}
	for name, list := range map[string][16]uint32{
		"xterm": {
			0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5, 0x7f7f7f,
			0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff,
		},
		"VGA": {
			0x000000, 0xaa0000, 0x00aa00, 0xaa5500, 0x0000aa, 0xaa00aa, 0x00aaaa, 0xaaaaaa, 0x555555,
			0xff5555, 0x55ff55, 0xffff55, 0x5555ff, 0xff55ff, 0x55ffff, 0xffffff,
		},
	} {
		var table [16]color.RGBA
		for i, v := range list {
			table[i] = color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
		}
		out[name] = table
	}
	return out
}

// of16 is the colour of an index of 16; nil for "the terminal's own".
func of16(t testing.TB, table *[16]color.RGBA, index string) color.Color {
	t.Helper()
	if index == "" {
		return nil
	}
	n, err := strconv.Atoi(index)
	if err != nil {
		t.Fatal(err)
	}
	return table[n]
}

// TestContrast16: with 16 colours too, what is read on black has 4.5 to 1, and so
// have letters on areas.
func TestContrast16(t *testing.T) {
	for kind, table := range terminals16() {
		for _, name := range []string{"colour-blind", "high-contrast"} {
			p := load(t, name)
			for role, tone := range p.Roles {
				text, ground := of16(t, &table, tone.C16), of16(t, &table, tone.On16)
				if text == nil || role == "faint" {
					continue
				}
				if ground == nil {
					ground = color.Black
				}
				if got := contrast(text, ground); got < 4.5 {
					t.Errorf("%s, %s: %s: contrast %.2f", name, kind, role, got)
				}
			}
			for fill, tone := range p.Fills {
				if fill == "empty" { // its dots are decoration
					continue
				}
				if got := contrast(of16(t, &table, tone.Ink16), of16(t, &table, tone.C16)); got < 4.5 {
					t.Errorf("%s, %s: ink on %s: contrast %.2f", name, kind, fill, got)
				}
			}
		}
	}
}

// TestColourVision16: the theme for colour-blind eyes keeps apart with 16 colours
// what touches: neighbours, terms between which others may be too small to be seen,
// and every two kinds of work on the timeline.
func TestColourVision16(t *testing.T) {
	bars := append(neighbours(),
		[]Fill{Weights, Optimizer, Overhead}, []Fill{Gradients, Activations, Buffers},
		[]Fill{Activations, Overhead, Empty},
		[]Fill{Compute, Bubble, Update}, []Fill{Compute, Exposed}, []Fill{Recompute, Exposed},
		[]Fill{Compute, Update}, []Fill{Compute, Offload}, []Fill{Exposed, Offload},
		[]Fill{InputGrad, Forward}, []Fill{InputGrad, Backward}, []Fill{WeightGrad, Backward},
		[]Fill{Gauge, Empty}, []Fill{Exposed, Gauge})
	p := load(t, "colour-blind")
	for kind, table := range terminals16() {
		for sight, m := range kinds() {
			for _, bar := range bars {
				for i := 1; i < len(bar); i++ {
					a := deficient(of16(t, &table, p.Fills[bar[i-1].String()].C16), m)
					b := deficient(of16(t, &table, p.Fills[bar[i].String()].C16), m)
					if d := apart(a, b); d < 0.3 {
						t.Errorf("%s, %s: %s and %s differ by %.2f only", kind, sight, bar[i-1], bar[i], d)
					}
				}
			}
		}
	}
}

// TestTurns: the two shades of forwards and backwards, in which micro-batches take
// turns, can be told apart in the themes that are made for eyes of their own.
func TestTurns(t *testing.T) {
	for _, name := range []string{"colour-blind", "high-contrast"} {
		p := load(t, name)
		for _, pair := range [][2]Fill{{Forward, ForwardAlt}, {Backward, BackwardAlt}} {
			for sight, m := range kinds() {
				a := deficient(xterm(t, p.Fills[pair[0].String()].C256), m)
				b := deficient(xterm(t, p.Fills[pair[1].String()].C256), m)
				if d := apart(a, b); d < 0.12 {
					t.Errorf("%s, %s: %s and %s differ by %.2f only", name, sight, pair[0], pair[1], d)
				}
			}
		}
	}
}

// TestFewColours: with 16 and 256 colours areas that touch are not the same.
func TestFewColours(t *testing.T) {
	for _, name := range colourful() {
		p := load(t, name)
		for _, bar := range neighbours() {
			for i := 1; i < len(bar); i++ {
				a, b := p.Fills[bar[i-1].String()], p.Fills[bar[i].String()]
				if a.C16 == b.C16 || a.C256 == b.C256 {
					t.Errorf("%s: %s and %s are one colour (16: %s %s, 256: %s %s)", name, bar[i-1], bar[i],
						a.C16, b.C16, a.C256, b.C256)
				}
			}
		}
	}
}

// TestBoldBlack: with 16 colours no bold text is black, which many terminals draw
// in dark grey, and no text of a light theme is in one of the light colours.
func TestBoldBlack(t *testing.T) {
	for _, name := range colourful() {
		p := load(t, name)
		for role, tone := range p.Roles {
			if tone.Bold && tone.C16 == "0" {
				t.Errorf("%s %s: bold black", name, role)
			}
			if !p.Dark && role != "faint" && tone.On16 == "" &&
				strings.Contains(" 2 3 6 7 9 10 11 12 13 14 15 ", " "+tone.C16+" ") && tone.C16 != "" {
				t.Errorf("%s %s: colour %s on white", name, role, tone.C16)
			}
		}
	}
}

// TestRamp: the steps of a heat map go one way in lightness, and each can be told
// from the next with every colour vision deficiency.
func TestRamp(t *testing.T) {
	steps := []Fill{Heat1, Heat2, Heat3, Heat4}
	for _, name := range colourful() {
		p := load(t, name)
		for i, fill := range steps[1:] {
			a, b := p.Fills[steps[i].String()], p.Fills[fill.String()]
			was, is := xterm(t, a.C256), xterm(t, b.C256)
			if up := luminance(is) > luminance(was); up != p.Dark {
				t.Errorf("%s: %s is lighter than %s: %t", name, fill, steps[i], up)
			}
			if a.C16 == b.C16 {
				t.Errorf("%s: %s and %s are one colour of 16", name, steps[i], fill)
			}
			for kind, m := range kinds() {
				if d := apart(deficient(was, m), deficient(is, m)); d < 0.2 {
					t.Errorf("%s, %s: %s and %s differ by %.2f only", name, kind, steps[i], fill, d)
				}
			}
		}
	}
}

// TestPointers: what the operation under the cursor reads from, and who reads its
// result, look like no kind of operation.
func TestPointers(t *testing.T) {
	for _, name := range colourful() {
		p := load(t, name)
		for _, role := range []Role{Input, Reader} {
			a := p.Roles[role.String()]
			for _, fill := range []Fill{Forward, ForwardAlt, Backward, BackwardAlt, InputGrad, WeightGrad} {
				b := p.Fills[fill.String()]
				normal := kinds()["normal"]
				d := apart(deficient(xterm(t, a.C256), normal), deficient(xterm(t, b.C256), normal))
				if a.C16 == b.C16 || d < 0.25 {
					t.Errorf("%s: %s and %s: %s and %s of 16, %.2f apart", name, role, fill, a.C16, b.C16, d)
				}
			}
		}
	}
}

// TestMixes: columns of a schedule with split backwards, whose colours are mixed, can be
// told from each other, from the cursor, and from the kinds alone in the dark and the
// light theme; the other two have tints of their own, and letters.
func TestMixes(t *testing.T) {
	f, b, i, w := Share{Forward, 4}, Share{Backward, 4}, Share{InputGrad, 4}, Share{WeightGrad, 4}
	for _, name := range []string{"dark", "light"} {
		p := load(t, name)
		theme := p.Resolve(colorprofile.ANSI256)
		seen := func(code string) [3]float64 {
			_, index, _ := strings.Cut(code, "48;5;")
			index, _, _ = strings.Cut(index, "m")
			return deficient(xterm(t, index), kinds()["normal"])
		}
		cursor := deficient(xterm(t, p.Roles["cursor"].C256), kinds()["normal"])
		split := [][]Share{{f}, {i}, {w}, {f, i}, {i, w}, {f, w}, {f, i, w}}
		for x, mix := range append(split, []Share{b}, []Share{f, b}) {
			c := seen(ground(theme.Blend(mix...)) + "m")
			if d := apart(c, cursor); d < 0.3 {
				t.Errorf("%s: %v is %.2f from the cursor", name, mix, d)
			}
			for y := range min(x, len(split)) {
				other := seen(ground(theme.Blend(split[y]...)) + "m")
				if d := apart(c, other); x < len(split) && d < 0.2 {
					t.Errorf("%s: %v and %v differ by %.2f only", name, mix, split[y], d)
				}
			}
		}
	}
}

// TestMarks: without colours areas that touch differ in letter and in shade.
func TestMarks(t *testing.T) {
	for _, bar := range neighbours() {
		for i, a := range bar {
			for _, b := range bar[i+1:] {
				if a.Mark().Letter == b.Mark().Letter {
					t.Errorf("%s and %s share the letter %c", a, b, a.Mark().Letter)
				}
			}
			if i > 0 && bar[i-1].Mark().Shade == a.Mark().Shade {
				t.Errorf("%s and %s share the shade %c", bar[i-1], a, a.Mark().Shade)
			}
		}
	}
}

// TestResolve: the palettes give colours of the depth that the terminal has,
// and mono none at all.
func TestResolve(t *testing.T) {
	for _, name := range Names() {
		for profile, code := range map[colorprofile.Profile]string{
			colorprofile.TrueColor: "38;5;", colorprofile.ANSI256: "38;5;", colorprofile.ANSI: "",
			colorprofile.ASCII: "",
		} {
			theme := load(t, name).Resolve(profile)
			wantColours := name != "mono" && profile >= colorprofile.ANSI
			if theme.Colours != wantColours {
				t.Errorf("%s, %v: colours %v", name, profile, theme.Colours)
			}
			open := theme.Paint(Muted).Open()
			if wantColours && name == "dark" && !strings.Contains(open, code) {
				t.Errorf("%s, %v: muted is %q", name, profile, open)
			}
			if !wantColours {
				for r := range numRoles {
					if o := theme.Paint(r).Open(); strings.Contains(o, "38;") || strings.Contains(o, "48;") ||
						strings.Contains(o, "[3") {
						t.Errorf("%s, %v: %s has a colour: %q", name, profile, r, o)
					}
				}
			}
		}
	}
}

// TestDim: the dimmed twin has no colours, but keeps the signs of the theme; without
// colours it is faint, and so is seen not to be current.
func TestDim(t *testing.T) {
	if dim := load(t, "mono").Resolve(colorprofile.ASCII).Dim(); dim.Paint(Strong).Open() != "\x1b[2m" ||
		dim.Area(Weights).Open() != "\x1b[2m" {
		t.Errorf("mono dimmed: %q, %q", dim.Paint(Strong).Open(), dim.Area(Weights).Open())
	}
	for _, name := range colourful() {
		for _, profile := range []colorprofile.Profile{
			colorprofile.TrueColor, colorprofile.ANSI256,
			colorprofile.ANSI,
		} {
			theme := load(t, name).Resolve(profile)
			dim := theme.Dim()
			if !dim.Dimmed || dim.Colours != theme.Blends() || dim.Paint(Bad) != dim.Paint(Muted) {
				t.Errorf("%s, %v: a dimmed theme has looks of its own: %+v", name, profile, dim.Paint(Bad))
			}
			for f := range numFills {
				if c := dim.Colour(f); c != nil {
					if r, g, b, _ := c.RGBA(); r != g || g != b {
						t.Errorf("%s, %v: fill %d is %v", name, profile, f, c)
					}
				}
			}
		}
	}
}

func TestPaint(t *testing.T) {
	var none Paint
	if none.Render("a") != "a" || none.Close() != "" {
		t.Error("the zero paint is not plain")
	}
	bold := load(t, "dark").Resolve(colorprofile.ANSI).Paint(Strong)
	if got := bold.Render("a"); got != "\x1b[1ma\x1b[m" {
		t.Errorf("bold a is %q", got)
	}
	if bold.Render("") != "" {
		t.Error("nothing in bold is not nothing")
	}
}

// TestBadPalettes: what is wrong is named.
func TestBadPalettes(t *testing.T) {
	good, err := files.ReadFile("palettes/dark.toml")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ old, new, want string }{
		"not toml":     {"[roles]", "[roles", ""},
		"unknown key":  {"dark = true", "dork = true", ""},
		"unknown role": {"text = {}", "text = {}\ntxet = {}", "txet"},
		"missing role": {"text = {}\n", "", "text"},
		"a name":       {`text = {}`, `text = { rgb = "grey" }`, "grey"},
		"short":        {`text = {}`, `text = { rgb = "#zzz" }`, "#zzz"},
		"no such 256":  {`c256 = "248"`, `c256 = "256"`, "256"},
		"no such 16":   {`c16 = "7"`, `c16 = "red"`, "red"},
	} {
		_, err := Parse([]byte(strings.Replace(string(good), test.old, test.new, 1)))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := Load("neon"); err == nil || !strings.Contains(err.Error(), "dark, light, colour-blind") {
		t.Errorf("an unknown theme: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		data, err := files.ReadFile("palettes/" + name + ".toml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		if p, err := Parse(data); err == nil {
			p.Resolve(colorprofile.ANSI256)
		}
	})
}

// TestHalves: a cell of two grounds has one as its colour and the other behind
// it, whatever form the terminal's colours have.
func TestHalves(t *testing.T) {
	paint := func(open string) Paint { return Paint{open: open} }
	for _, c := range []struct{ upper, lower, open, sign string }{
		{"\x1b[38;2;0;0;0;48;2;1;2;3m", "\x1b[97;44m", "\x1b[38;2;1;2;3;44m", "▀"},
		{"\x1b[30;104m", "\x1b[38;5;7;48;5;12m", "\x1b[94;48;5;12m", "▀"},
		{"\x1b[37m", "\x1b[30;41m", "\x1b[31m", "▄"},
		{"\x1b[30;41m", "", "\x1b[31m", "▀"},
		{"\x1b[30;41m", "\x1b[37;41m", "\x1b[41m", " "},
		{"\x1b[37m", "", "", " "},
		{"\x1b[1;38;5;9m\x1b[7m", "\x1b[1;91m\x1b[7m", "\x1b[38;5;9;101m", "▀"},
	} {
		got, sign := Halves(paint(c.upper), paint(c.lower))
		if got.open != c.open || sign != c.sign {
			t.Errorf("%q over %q is %q %q, want %q %q", c.upper, c.lower, got.open, sign, c.open, c.sign)
		}
	}
}
