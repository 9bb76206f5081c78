package wire_test

import (
	"image/color"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"meshscope/ui/wire/wiretest"
)

// signs are what the program draws, and a few that are wide or made of several runes.
var signs = strings.Split("a b c 1 2 3 . - ─ │ █ ▌ ▁ ⣿ · × … ░", " ")

func drawSign(t *rapid.T) string {
	if rapid.IntRange(0, 40).Draw(t, "odd") == 0 {
		return rapid.SampledFrom([]string{"漢", "é", "👩‍🚀", "ｗ"}).Draw(t, "odd sign")
	}
	if rapid.IntRange(0, 2).Draw(t, "blank") == 0 {
		return " "
	}
	return rapid.SampledFrom(signs).Draw(t, "sign")
}

func drawStyle(t *rapid.T) uv.Style {
	colours := []color.Color{
		nil, nil, ansi.BasicColor(1), ansi.BasicColor(9), ansi.BasicColor(7), ansi.IndexedColor(248), ansi.IndexedColor(32),
		ansi.IndexedColor(3),
		color.RGBA{R: 10, G: 200, B: 30, A: 255},
	}
	s := uv.Style{
		Fg: rapid.SampledFrom(colours).Draw(t, "fg"), Bg: rapid.SampledFrom(colours).Draw(t, "bg"),
	}
	if rapid.IntRange(0, 2).Draw(t, "plain") == 0 {
		s.Attrs = rapid.SampledFrom([]uint8{uv.AttrBold, uv.AttrFaint, uv.AttrItalic, uv.AttrReverse, uv.AttrBold | uv.AttrStrikethrough, uv.AttrBlink}).Draw(t, "attrs")
		s.Underline = rapid.SampledFrom([]uv.Underline{uv.UnderlineNone, uv.UnderlineSingle, uv.UnderlineCurly}).Draw(t, "underline")
	}
	return s
}

// frame is a picture that changes: runs of cells, and lines that move up or down.
type frame struct {
	cells [][]uv.Cell
}

func (f *frame) resize(columns, rows int) {
	f.cells = make([][]uv.Cell, rows)
	for y := range f.cells {
		f.cells[y] = make([]uv.Cell, columns)
		for x := range f.cells[y] {
			f.cells[y][x] = uv.Cell{Content: " ", Width: 1}
		}
	}
}

func (f *frame) change(t *rapid.T) {
	rows, columns := len(f.cells), len(f.cells[0])
	for range rapid.IntRange(0, 6).Draw(t, "runs") {
		y, x := rapid.IntRange(0, rows-1).Draw(t, "y"), rapid.IntRange(0, columns-1).Draw(t, "x")
		style, sign := drawStyle(t), drawSign(t)
		for range rapid.IntRange(1, columns).Draw(t, "length") {
			if x >= columns {
				break
			}
			if rapid.IntRange(0, 3).Draw(t, "another sign") == 0 {
				sign = drawSign(t)
			}
			f.cells[y][x] = uv.Cell{Content: sign, Style: style, Width: ansi.StringWidth(sign)}
			x += max(1, ansi.StringWidth(sign))
		}
	}
	if by := rapid.IntRange(-3, 3).Draw(t, "scrolled"); by != 0 && rapid.Bool().Draw(t, "scroll") {
		top := rapid.IntRange(0, rows-1).Draw(t, "top")
		part := f.cells[top:]
		n := (by%len(part) + len(part)) % len(part)
		rotated := append(append([][]uv.Cell{}, part[n:]...), part[:n]...)
		copy(part, rotated)
	}
}

func (f *frame) draw(b uv.ScreenBuffer) {
	for y, line := range f.cells {
		for x := 0; x < len(line); x += max(1, line[x].Width) {
			if c := line[x]; x+c.Width <= len(line) {
				b.SetCell(x, y, &c)
			}
		}
	}
}

// Whatever the renderer draws, on whatever terminal it believes to be, looks the
// same through the writer, cell by cell, and the cursor stands where it stood.
func TestSamePicture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns, rows := rapid.IntRange(1, 40).Draw(t, "columns"), rapid.IntRange(1, 12).Draw(t, "rows")
		term := rapid.SampledFrom([]string{"xterm-256color", "linux", "screen-256color", "tmux-256color", "unknown"}).Draw(t, "TERM")
		b := wiretest.New(columns, rows, term)
		var f frame
		f.resize(columns, rows)
		for range rapid.IntRange(1, 8).Draw(t, "frames") {
			if rapid.IntRange(0, 9).Draw(t, "resize") == 0 {
				columns, rows = rapid.IntRange(1, 40).Draw(t, "columns"), rapid.IntRange(1, 12).Draw(t, "rows")
				b.Resize(columns, rows)
				f.resize(columns, rows)
			}
			f.change(t)
			b.Show(f.draw)
			if different := b.Difference(); different != "" {
				t.Fatalf("%s in %dx%d: %s", term, columns, rows, different)
			}
			if rapid.IntRange(0, 3).Draw(t, "cursor") == 0 {
				plain, short := b.ShowCursor(rapid.IntRange(0, columns-1).Draw(t, "x"), rapid.IntRange(0, rows-1).Draw(t, "y"))
				if plain != short {
					t.Fatalf("the cursor is at %v, through the writer at %v", plain, short)
				}
			}
		}
	})
}
