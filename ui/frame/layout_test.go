package frame

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"
)

// drawn is a layout as ASCII art: each region filled with its letter.
func drawn(w, h int, r Rects) (string, string) {
	grid := make([][]byte, h)
	for y := range grid {
		grid[y] = []byte(strings.Repeat(" ", w))
	}
	trouble := ""
	for _, region := range []struct {
		letter byte
		rect   Rect
	}{
		{'T', r.Title},
		{'H', r.Headline},
		{'G', r.Gauges},
		{'k', r.Knobs},
		{'M', r.Memory},
		{'P', r.Pipeline},
		{'S', r.Step},
		{'c', r.Chart},
		{'t', r.Traffic},
		{'a', r.Assumed},
		{'f', r.Foot},
		{'h', r.Help},
	} {
		for y := region.rect.Y; y < region.rect.Y+region.rect.H; y++ {
			for x := region.rect.X; x < region.rect.X+region.rect.W; x++ {
				if x < 0 || y < 0 || x >= w || y >= h {
					trouble = string(region.letter) + " lies outside the screen"
					continue
				}
				if grid[y][x] != ' ' {
					trouble = string(region.letter) + " overlaps " + string(grid[y][x])
				}
				grid[y][x] = region.letter
			}
		}
	}
	lines := make([]string, h)
	for y := range grid {
		lines[y] = strings.TrimRight(string(grid[y]), " ")
	}
	return strings.Join(lines, "\n") + "\n", trouble
}

// TestLayout draws the layout of each size that has a shape of its own.
func TestLayout(t *testing.T) {
	for _, size := range []struct {
		name string
		w, h int
	}{
		{"60x20", 60, 20},
		{"80x24", 80, 24},
		{"100x30", 100, 30},
		{"120x36", 120, 36},
		{"160x50", 160, 50},
		{"200x60", 200, 60},
		{"240x70", 240, 70},
	} {
		t.Run(size.name, func(t *testing.T) {
			art, trouble := drawn(size.w, size.h, Layout(size.w, size.h, Content{Ranks: 4, Traffic: 3}))
			if trouble != "" {
				t.Error(trouble)
			}
			golden.RequireEqual(t, art)
		})
	}
}

// TestLayoutHolds: at every size regions lie on the screen and next to each
// other, and what is essential is there.
func TestLayoutHolds(t *testing.T) {
	for w := 1; w <= 260; w += 7 {
		for h := 1; h <= 80; h += 3 {
			for _, c := range []Content{
				{},
				{Ranks: 1, Traffic: 1},
				{Ranks: 4, Traffic: 3},
				{Ranks: 64, Traffic: 5},
			} {
				r := Layout(w, h, c)
				if _, trouble := drawn(w, h, r); trouble != "" {
					t.Fatalf("%dx%d %+v: %s", w, h, c, trouble)
				}
				if r.Tiny != (w < MinWidth || h < MinHeight) {
					t.Fatalf("%dx%d: tiny %v", w, h, r.Tiny)
				}
				for name, region := range map[string]Rect{
					"title": r.Title, "gauges": r.Gauges, "knobs": r.Knobs, "memory": r.Memory,
					"pipeline": r.Pipeline, "step": r.Step, "chart": r.Chart, "help": r.Help,
				} {
					low := name == "chart" && w < threeColumns && r.Knobs.H < chartFrom
					if !r.Tiny && !region.Shown() && !low {
						t.Fatalf("%dx%d %+v: no %s", w, h, c, name)
					}
				}
			}
		}
	}
}
