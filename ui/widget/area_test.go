package widget

import (
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"meshscope/engine_test/draws"
	"meshscope/themes"
)

func areaTheme(t testing.TB, profile colorprofile.Profile) *themes.Theme {
	t.Helper()
	p, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	return p.Resolve(profile)
}

// TestAreaHeights: a column is as high as its sum, to an eighth of a line.
func TestAreaHeights(t *testing.T) {
	th := areaTheme(t, colorprofile.ANSI256)
	draws.Check(t, func(t *rapid.T) {
		h := rapid.IntRange(1, 30).Draw(t, "h")
		values := rapid.SliceOfN(rapid.Float64Range(0, 40), 2, 2).Draw(t, "values")
		a := Area{
			Fills: []themes.Fill{themes.Weights, themes.Activations}, Columns: [][]float64{values},
			Scale: 100, Cursor: -1,
		}
		got := 0 // eighths
		for _, line := range a.Render(th, NewGlyphs(true), 1, h) {
			switch sign := ansi.Strip(line); {
			case strings.Contains(line, "\x1b") && strings.Contains("▁▂▃▄▅▆▇", sign) &&
				!strings.Contains(line, "48;"):
				got += strings.Index("▁▂▃▄▅▆▇", sign)/3 + 1
			case strings.Contains(line, "\x1b"):
				got += 8
			}
		}
		want := int(math.Round((values[0] + values[1]) / 100 * float64(8*h)))
		// Fills too thin for a cell of their own are drawn as the larger one.
		if got < want-8 || got > want+8 {
			t.Fatalf("%d eighths instead of %d for %v at height %d", got, want, values, h)
		}
	})
}

// TestLimitScale: with the limit in the middle of its line, a column below it is drawn at most as high as
// the line that marks it, one above it crosses it, and nothing is cut off.
func TestLimitScale(t *testing.T) {
	th := areaTheme(t, colorprofile.ANSI256)
	draws.Check(t, func(t *rapid.T) {
		h, limit := rapid.IntRange(1, 40).Draw(t, "h"), rapid.Float64Range(1, 200).Draw(t, "limit")
		most := limit * rapid.Float64Range(1.05, 1.8).Draw(t, "most")
		scale := LimitScale(most, limit, h)
		if scale < most*(1-1e-12) {
			t.Fatalf("a scale of %v cuts %v off", scale, most)
		}
		if limit/most*float64(h) < 0.5 { // less than half a line below the limit
			return
		}
		below := limit * rapid.Float64Range(0, 1).Draw(t, "below")
		a := Area{
			Fills: []themes.Fill{themes.Weights}, Columns: [][]float64{{below}}, Scale: scale,
			Limit: limit, Cursor: -1,
		}
		row := int(limit / scale * float64(h)) // from the bottom
		lines := a.Render(th, NewGlyphs(true), 1, h)
		for y := row + 1; y < h; y++ {
			if ansi.Strip(lines[h-1-y]) != " " || strings.Contains(lines[h-1-y], "\x1b") {
				t.Fatalf("%v of %v fills line %d over the limit's %d: %q", below, limit, y, row, lines)
			}
		}
		if sign := ansi.Strip(lines[h-1-row]); strings.Contains("▅▆▇", sign) {
			t.Fatalf("%v of %v stands over the line: %q", below, limit, sign)
		}
	})
}

// TestAreaASCII: letters from the bottom up, the limit where it belongs, the
// cursor over all.
func TestAreaASCII(t *testing.T) {
	a := Area{
		Fills:   []themes.Fill{themes.Weights, themes.Activations},
		Columns: [][]float64{{2, 0}, {2, 1}, {2, 2}, nil, {2, 3}}, Scale: 6, Limit: 5, Cursor: 1,
	}
	got := strings.Join(a.Render(areaTheme(t, colorprofile.ASCII), NewGlyphs(false), 5, 6), "\n")
	if ansi.Strip(got) != "-|---\n |  A\n |A A\n |A A\nW|W W\nW|W W" {
		t.Errorf("drawn:\n%s", ansi.Strip(got))
	}
}

// TestAreaAnything: any figures and sizes give exactly the size asked for.
func TestAreaAnything(t *testing.T) {
	th := areaTheme(t, colorprofile.ANSI256)
	draws.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(0, 30).Draw(t, "w"), rapid.IntRange(0, 12).Draw(t, "h")
		value := rapid.SampledFrom([]float64{0, 1, 50, 1e9, -3, math.NaN(), math.Inf(1)})
		a := Area{
			Fills:  []themes.Fill{themes.Weights, themes.Gradients, themes.Logits},
			Cursor: rapid.IntRange(-1, 31).Draw(t, "cursor"),
			Scale:  value.Draw(t, "scale"), Limit: value.Draw(t, "limit"),
		}
		for range rapid.IntRange(0, w+2).Draw(t, "columns") {
			a.Columns = append(a.Columns, rapid.SliceOfN(value, 0, 4).Draw(t, "column"))
		}
		lines := a.Render(th, NewGlyphs(rapid.Bool().Draw(t, "unicode")), w, h)
		if w > 0 && len(lines) != h {
			t.Fatalf("%d lines", len(lines))
		}
		for _, line := range lines {
			if ansi.StringWidth(line) != w {
				t.Fatalf("a line of %d cells", ansi.StringWidth(line))
			}
		}
	})
}

// TestAreaCrossed: a column just above the limit shows the line on itself.
func TestAreaCrossed(t *testing.T) {
	a := Area{
		Fills:   []themes.Fill{themes.Weights, themes.Overhead},
		Columns: [][]float64{{70, 9}, {70, 12}, {10, 0}},
		Scale:   100, Limit: 80, Cursor: -1,
	}
	th, g := areaTheme(t, colorprofile.ANSI256), NewGlyphs(true)
	lines := a.Render(th, g, 3, 10)
	if want := th.Area(themes.Overhead).Render(g.Dash); !strings.Contains(lines[1], want) {
		t.Errorf("line %q has no %q", lines[1], want)
	}
}

// TestAreaCursor: the cursor's line has no gaps, also where a cell has two fills.
func TestAreaCursor(t *testing.T) {
	th := areaTheme(t, colorprofile.ANSI256)
	draws.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 30), 3, 3).Draw(t, "values")
		a := Area{
			Fills:   []themes.Fill{themes.Weights, themes.Gradients, themes.Activations},
			Columns: [][]float64{values, values, values}, Scale: 100,
			Limit: rapid.Float64Range(0, 100).Draw(t, "limit"), Cursor: 1,
		}
		for y, line := range a.Render(th, NewGlyphs(true), 3, rapid.IntRange(1, 30).Draw(t, "h")) {
			if cells := []rune(ansi.Strip(line)); cells[1] != '│' {
				t.Fatalf("line %d: %q", y, string(cells))
			}
		}
	})
}
