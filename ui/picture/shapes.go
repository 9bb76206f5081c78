package picture

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// box is a rectangle inside a cell, in eighths of its width and height.
type box struct{ left, top, right, bottom float64 }

// shape draws a character that is a picture of its own: block elements, line
// drawing, Braille. It says whether it did.
func (p *Picture) shape(x, y int, content string, style look) bool {
	r, size := utf8.DecodeRuneInString(content)
	if size != len(content) {
		return false
	}
	boxes, opacity, ok := blocks(r)
	if !ok {
		boxes, ok = lines(r)
	}
	if ok {
		path := p.fill(style, opacity)
		for _, b := range boxes {
			rectangle(path, x, y, b)
		}
		return true
	}
	if r > 0x2800 && r <= 0x28ff {
		dots(p.fill(style, 1), x, y, uint8(r-0x2800))
		return true
	}
	return false
}

// rectangle adds a box of a cell to a path.
func rectangle(path *strings.Builder, x, y int, b box) {
	fmt.Fprintf(path, "M%s %sh%sv%sh-%sz",
		number(float64(x*cellWidth)+b.left*cellWidth/8), number(float64(y*cellHeight)+b.top*cellHeight/8),
		number((b.right-b.left)*cellWidth/8), number((b.bottom-b.top)*cellHeight/8),
		number((b.right-b.left)*cellWidth/8))
}

// number writes a coordinate with at most two decimals.
func number(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}

// blocks gives the block elements U+2580 to U+259F as boxes and an opacity
// (the three shades).
func blocks(r rune) (boxes []box, opacity float64, ok bool) {
	full := box{0, 0, 8, 8}
	switch {
	case r == '▀':
		return []box{{0, 0, 8, 4}}, 1, true
	case r >= '▁' && r <= '█': // from the bottom, by eighths
		return []box{{0, 8 - float64(r-'▁'+1), 8, 8}}, 1, true
	case r >= '▉' && r <= '▏': // from the left, by eighths
		return []box{{0, 0, 8 - float64(r-'▉'+1), 8}}, 1, true
	case r == '▐':
		return []box{{4, 0, 8, 8}}, 1, true
	case r >= '░' && r <= '▓':
		return []box{full}, float64(r-'░'+1) / 4, true
	case r == '▔':
		return []box{{0, 0, 8, 1}}, 1, true
	case r == '▕':
		return []box{{7, 0, 8, 8}}, 1, true
	case r >= '▖' && r <= '▟':
		return quadrants(r), 1, true
	}
	return nil, 1, false
}

// quadrants gives U+2596 to U+259F: which quarters of the cell are filled.
func quadrants(r rune) []box {
	upperLeft, upperRight := box{0, 0, 4, 4}, box{4, 0, 8, 4}
	lowerLeft, lowerRight := box{0, 4, 4, 8}, box{4, 4, 8, 8}
	return [][]box{
		{lowerLeft},
		{lowerRight},
		{upperLeft},
		{upperLeft, lowerLeft, lowerRight},
		{upperLeft, lowerRight},
		{upperLeft, upperRight, lowerLeft},
		{upperLeft, upperRight, lowerRight},
		{upperRight},
		{upperRight, lowerLeft},
		{upperRight, lowerLeft, lowerRight},
	}[r-'▖']
}

// arms are the strokes of a line-drawing character from the middle of its cell:
// 0 none, 1 light, 2 heavy.
type arms struct{ left, up, right, down float64 }

// lines gives the solid line-drawing characters as boxes; rounded corners are
// drawn square.
func lines(r rune) ([]box, bool) {
	a, ok := map[rune]arms{
		'─': {1, 0, 1, 0}, '━': {2, 0, 2, 0}, '│': {0, 1, 0, 1}, '┃': {0, 2, 0, 2},
		'┌': {0, 0, 1, 1}, '┐': {1, 0, 0, 1}, '└': {0, 1, 1, 0}, '┘': {1, 1, 0, 0},
		'╭': {0, 0, 1, 1}, '╮': {1, 0, 0, 1}, '╰': {0, 1, 1, 0}, '╯': {1, 1, 0, 0},
		'┏': {0, 0, 2, 2}, '┓': {2, 0, 0, 2}, '┗': {0, 2, 2, 0}, '┛': {2, 2, 0, 0},
		'├': {0, 1, 1, 1}, '┤': {1, 1, 0, 1}, '┬': {1, 0, 1, 1}, '┴': {1, 1, 1, 0},
		'┼': {1, 1, 1, 1},
		'┣': {0, 2, 2, 2}, '┫': {2, 2, 0, 2}, '┳': {2, 0, 2, 2}, '┻': {2, 2, 2, 0},
		'╋': {2, 2, 2, 2},
		'╴': {1, 0, 0, 0}, '╵': {0, 1, 0, 0}, '╶': {0, 0, 1, 0}, '╷': {0, 0, 0, 1},
		'╸': {2, 0, 0, 0}, '╹': {0, 2, 0, 0}, '╺': {0, 0, 2, 0}, '╻': {0, 0, 0, 2},
		'╼': {1, 0, 2, 0}, '╾': {2, 0, 1, 0}, '╽': {0, 1, 0, 2}, '╿': {0, 2, 0, 1},
		'┝': {0, 1, 2, 1}, '┥': {2, 1, 0, 1}, '┿': {2, 1, 2, 1}, '╂': {1, 2, 1, 2},
		'┠': {0, 2, 1, 2}, '┨': {1, 2, 0, 2}, '┯': {2, 0, 2, 1}, '┷': {2, 1, 2, 0},
	}[r]
	if !ok {
		return nil, false
	}
	var boxes []box
	wide := max(a.left, a.up, a.right, a.down)
	// Half the thickness, in eighths of the width and of the height.
	across, along := 0.5*wide, 0.5*wide*cellWidth/cellHeight
	if a.left > 0 || a.right > 0 {
		left, right := 4-across, 4+across
		if a.left > 0 {
			left = 0
		}
		if a.right > 0 {
			right = 8
		}
		boxes = append(boxes, box{left, 4 - along, right, 4 + along})
	}
	if a.up > 0 || a.down > 0 {
		top, bottom := 4-along, 4+along
		if a.up > 0 {
			top = 0
		}
		if a.down > 0 {
			bottom = 8
		}
		boxes = append(boxes, box{4 - across, top, 4 + across, bottom})
	}
	return boxes, true
}

// dots draws a Braille pattern as squares; bit k of the code point is dot k+1.
func dots(path *strings.Builder, x, y int, pattern uint8) {
	at := [8][2]float64{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {0, 3}, {1, 3}}
	for k, position := range at {
		if pattern&(1<<k) == 0 {
			continue
		}
		left, top := 1+4*position[0], 0.5+2*position[1]
		rectangle(path, x, y, box{left, top, left + 2, top + 2*cellWidth/float64(cellHeight)})
	}
}
