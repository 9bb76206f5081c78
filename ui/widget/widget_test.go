package widget

import (
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"

	"meshscope/engine_test/draws"
	"meshscope/themes"
)

// themed is a theme as a terminal shows it.
func themed(t testing.TB, name string, profile colorprofile.Profile) *themes.Theme {
	t.Helper()
	p, err := themes.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return p.Resolve(profile)
}

// looks are the terminals that each widget is drawn for.
func looks(t testing.TB) map[string]struct {
	theme  *themes.Theme
	glyphs Glyphs
} {
	t.Helper()
	type look = struct {
		theme  *themes.Theme
		glyphs Glyphs
	}
	return map[string]look{
		"256":   {themed(t, "dark", colorprofile.ANSI256), NewGlyphs(true)},
		"16":    {themed(t, "dark", colorprofile.ANSI), NewGlyphs(true)},
		"none":  {themed(t, "mono", colorprofile.ASCII), NewGlyphs(true)},
		"ascii": {themed(t, "mono", colorprofile.ASCII), NewGlyphs(false)},
	}
}

func segments(values ...float64) []Segment {
	fills := []themes.Fill{
		themes.Weights, themes.Gradients, themes.Optimizer, themes.Activations, themes.Logits, themes.Buffers,
		themes.Overhead,
	}
	labels := []string{"weights", "grads", "optimizer", "activations", "logits", "buffers", "overhead"}
	var out []Segment
	for i, v := range values {
		out = append(out, Segment{Fill: fills[i%len(fills)], Value: v, Label: labels[i%len(labels)]})
	}
	return out
}

func TestStack(t *testing.T) {
	for name, look := range looks(t) {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, bar := range []Stack{
				{Segments: segments(8.2, 16.4, 12.3, 20.9, 0, 0.3, 3.3), Scale: 86, Limit: 79.1},
				{Segments: segments(20, 30, 20, 15, 0, 1, 4), Scale: 90, Limit: 79.1},
				{Segments: segments(0.1, 0.1, 0.1), Scale: 86, Limit: 79.1},
				{Segments: segments(1, 1), Scale: 4, NoTrack: true, Plain: true},
				{Scale: 10, Limit: 5},
				{Segments: segments(1)},
			} {
				b.WriteString(bar.Render(look.theme, look.glyphs, 50) + "\n")
			}
			golden.RequireEqual(t, b.String())
		})
	}
}

// TestStackExact: the bar shows its values to an eighth of a cell.
func TestStackExact(t *testing.T) {
	look := looks(t)["256"]
	bar := Stack{Segments: segments(3.5, 2.125), Scale: 10, Plain: true}
	text := ansi.Strip(bar.Render(look.theme, look.glyphs, 10))
	if text != "   ▌ ▋    " {
		t.Errorf("3.5 and 2.125 of 10 in 10 cells: %q", text)
	}
}

func TestStackWidth(t *testing.T) {
	all := looks(t)
	draws.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Float64Range(-1, 100),
			rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, 1e300}))
		bar := Stack{
			Segments: segments(rapid.SliceOfN(value, 0, 9).Draw(t, "values")...),
			Scale:    value.Draw(t, "scale"), Limit: value.Draw(t, "limit"),
			Plain: rapid.Bool().Draw(t, "plain"), NoTrack: rapid.Bool().Draw(t, "no track"),
		}
		w := rapid.IntRange(0, 80).Draw(t, "w")
		for name, look := range all {
			if got := ansi.StringWidth(bar.Render(look.theme, look.glyphs, w)); got != w {
				t.Fatalf("%s: %d cells instead of %d", name, got, w)
			}
		}
	})
}

func TestGauge(t *testing.T) {
	for name, look := range looks(t) {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, g := range []Gauge{
				{Value: 61.6, Full: 86, Limit: 79.1, Fill: themes.Gauge, Over: themes.GaugeBad},
				{Value: 85, Full: 86, Limit: 79.1, Fill: themes.Gauge, Over: themes.GaugeBad},
				{Value: 41.3, Full: 100, Fill: themes.Compute},
				{Value: math.NaN(), Full: 100, Fill: themes.Compute},
			} {
				b.WriteString(g.Render(look.theme, look.glyphs, 40) + "\n")
			}
			golden.RequireEqual(t, b.String())
		})
	}
}

func TestSlider(t *testing.T) {
	numbers := []string{"1", "2", "4", "8", "16", "32", "64", "128", "256", "512"}
	for name, look := range looks(t) {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, s := range []struct {
				slider Slider
				w      int
			}{
				{Slider{Values: numbers, Current: 0, Joined: true}, 20},
				{Slider{Values: numbers, Current: 5, Joined: true}, 20},
				{Slider{Values: numbers, Current: 9, Joined: true}, 20},
				{Slider{Values: numbers, Current: 5, Joined: true, Focused: true}, 60},
				{Slider{Values: []string{"none", "selective", "full"}, Current: 1}, 40},
				{Slider{Values: []string{"none", "selective", "full"}, Current: 2}, 16},
				{Slider{Values: numbers, Current: -1, Joined: true}, 20},
				{Slider{Values: []string{"on"}, Current: 0}, 20},
			} {
				l := NewLine(60)
				s.slider.Render(l, look.theme, look.glyphs, s.w)
				b.WriteString(l.String() + "\n")
			}
			golden.RequireEqual(t, b.String())
		})
	}
}

// TestSliderSpans: what is drawn at a span is the value, and the current one is
// always in sight; the slider keeps to its width.
func TestSliderSpans(t *testing.T) {
	look := looks(t)["256"]
	draws.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.StringMatching(`[0-9a-z]{1,9}`), 1, 40).Draw(t, "values")
		s := Slider{
			Values: values, Current: rapid.IntRange(0, len(values)-1).Draw(t, "current"),
			Joined: rapid.Bool().Draw(t, "joined"),
		}
		w := rapid.IntRange(0, 70).Draw(t, "w")
		l := NewLine(100)
		spans := s.Render(l, look.theme, look.glyphs, w)
		if used := l.Used(); used > w {
			t.Fatalf("%d cells instead of %d", used, w)
		}
		text := []rune(ansi.Strip(l.String()))
		seen := false
		for _, span := range spans {
			seen = seen || span.Index == s.Current
			if got := string(text[span.From:span.To]); got != values[span.Index] {
				t.Fatalf("value %q is drawn as %q in %q", values[span.Index], got, string(text))
			}
		}
		if w >= len(values[s.Current])+2 && !seen {
			t.Fatalf("the current value is not in sight: %q", string(text))
		}
	})
}

func TestCurve(t *testing.T) {
	nan := math.NaN()
	for name, look := range looks(t) {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, c := range []Curve{
				{
					Values: []float64{44.8, 44.7, 46.4, 51.6, 90.9, 171}, At: []int{3, 12, 21, 30, 39, 48},
					Current: 3, Role: themes.Time,
				},
				{
					Values: []float64{395, 204, 109, nan, 37, 25}, At: []int{3, 12, 21, 30, 39, 48},
					Current: 2,
					Limit:   79, Role: themes.Memory,
				},
				{Values: []float64{7}, At: []int{20}, Current: 0, Role: themes.Time},
				{Values: []float64{nan, nan}, At: []int{5, 9}, Current: -1, Role: themes.Time},
			} {
				b.WriteString(strings.Join(c.Render(look.theme, look.glyphs, 52, 5), "\n") + "\n")
			}
			golden.RequireEqual(t, b.String())
		})
	}
}

// TestCurveHolds: no values, however wild, hang the chart or widen it.
func TestCurveHolds(t *testing.T) {
	look := looks(t)["256"]
	draws.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "n")
		value := rapid.OneOf(rapid.Float64(),
			rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, 1e300, -1e300, 1e-300}))
		w, h := rapid.IntRange(0, 90).Draw(t, "w"), rapid.IntRange(0, 12).Draw(t, "h")
		c := Curve{
			Values:  rapid.SliceOfN(value, n, n).Draw(t, "values"),
			At:      rapid.SliceOfN(rapid.IntRange(0, max(w-1, 0)), n, n).Draw(t, "at"),
			Current: rapid.IntRange(-1, n).Draw(t, "current"), Limit: value.Draw(t, "limit"),
			Role: themes.Time,
		}
		lines := c.Render(look.theme, look.glyphs, w, h)
		if w > 0 && len(lines) != h {
			t.Fatalf("%d lines instead of %d", len(lines), h)
		}
		for _, line := range lines {
			if got := ansi.StringWidth(line); got != w {
				t.Fatalf("%d cells instead of %d", got, w)
			}
		}
	})
}

// TestLineWidth: a line has its width whatever is put into it.
func TestLineWidth(t *testing.T) {
	look := looks(t)["256"]
	draws.Check(t, func(t *rapid.T) {
		w := rapid.IntRange(0, 40).Draw(t, "w")
		l := NewLine(w)
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			text := rapid.SampledFrom([]string{
				"", "a", "word", "wide 漢字", "é",
				"a long part that never ends", "→",
			}).Draw(t, "text")
			switch rapid.IntRange(0, 4).Draw(t, "how") {
			case 0:
				l.Put(look.theme.Paint(themes.Muted), text)
			case 1:
				l.To(rapid.IntRange(-3, 50).Draw(t, "column"))
			case 2:
				l.Right(look.theme.Paint(themes.Bad), text, rapid.IntRange(0, 5).Draw(t, "margin"))
			case 3:
				l.RightAligned(look.theme.Paint(themes.Bad), text, rapid.IntRange(0, 50).Draw(t, "end"))
			case 4:
				l.Raw(look.theme.Paint(themes.Bad).Render(text), Width(text))
			}
		}
		if got := ansi.StringWidth(l.String()); got != w {
			t.Fatalf("%d cells instead of %d: %q", got, w, l.String())
		}
	})
}

// TestWrap: no line is too wide, also where it breaks after a hyphen, and no letter
// is lost.
func TestWrap(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{
			"micro-batch", "ZeRO-1,", "of", "all-to-all",
			"gradients:", "é",
		}), 1, 20).Draw(t, "words")
		text, w := strings.Join(words, " "), rapid.IntRange(12, 60).Draw(t, "w") // every word fits
		lines := Wrap(text, w)
		for _, line := range lines {
			if Width(line) > w {
				t.Fatalf("%q has more than %d cells", line, w)
			}
		}
		bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got := bare(strings.Join(lines, "")); got != bare(text) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		text string
		w    int
		want string
	}{
		{"", 5, ""},
		{"abc", 3, "abc"},
		{"abcdef", 5, "abcd…"},
		{"abcdef", 3, "abc"},
		{"abc", 0, ""},
		{"abc", -1, ""},
		{"漢字漢字", 5, "漢字…"},
	} {
		if got := Cut(test.text, test.w); got != test.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", test.text, test.w, got, test.want)
		}
	}
}

func BenchmarkStack(b *testing.B) {
	theme, glyphs := themed(b, "dark", colorprofile.ANSI256), NewGlyphs(true)
	bar := Stack{Segments: segments(8.2, 16.4, 12.3, 20.9, 0, 0.3, 3.3), Scale: 86, Limit: 79.1}
	for b.Loop() {
		bar.Render(theme, glyphs, 60)
	}
}

func BenchmarkCurve(b *testing.B) {
	theme, glyphs := themed(b, "dark", colorprofile.ANSI256), NewGlyphs(true)
	c := Curve{
		Values: []float64{44.8, 44.7, 46.4, 51.6, 90.9, 171}, At: []int{3, 12, 21, 30, 39, 48},
		Current: 3, Role: themes.Time,
	}
	for b.Loop() {
		c.Render(theme, glyphs, 52, 5)
	}
}

// TestCutText: a sentence ends behind a word, with nothing loose before the ellipsis.
func TestCutText(t *testing.T) {
	for _, c := range []struct {
		text string
		w    int
		want string
	}{
		{"all of it", 9, "all of it"},
		{"cuts weights, paid with traffic", 24, "cuts weights, paid with…"},
		{"cuts weights, paid with traffic", 19, "cuts weights…"},
		{"dp 4, tp 8, pp 2, zero 1, mbs 1, m 64", 36, "dp 4, tp 8, pp 2, zero 1, mbs 1…"},
		{"cuts weights, paid with traffic", 18, "cuts weights…"},
		{"seven (two three)", 11, "seven (two…"},
		{"seven (twos three)", 8, "seven…"},
		{"seven · two three", 9, "seven…"},
		{"forward_backward_pipelining_without", 12, "forward_bac…"}, // one word
		{"a forward_backward_pipelining", 12, "a forward_b…"},       // the word is most of it
		{"abc\x7f\x7f\x7f", 5, "abc\x7f\x7f\x7f"},                   // DEL takes no cell
		{"A\x7f", 1, "A\x7f"},
		{"", 5, ""},
		{"words", 3, "wor"},
		{"words", 0, ""},
		{"wörter im Satz", 8, "wörter…"},
	} {
		if got := CutText(c.text, c.w, "…"); got != c.want {
			t.Errorf("%q in %d cells: %q", c.text, c.w, got)
		}
	}
	draws.Check(t, func(t *rapid.T) {
		text, w := rapid.String().Draw(t, "text"), rapid.IntRange(-1, 40).Draw(t, "w")
		if got := CutText(text, w, "…"); Width(got) > max(w, 0) {
			t.Fatalf("%q in %d cells is %q", text, w, got)
		}
	})
}
