package wire

// cell is one place of the screen. The zero value is one that nobody knows.
type cell struct {
	sign rune
	pen  pen
}

// newCell is what a sign looks like. Blanks that look alike are equal: of the pen
// only the background and lines through the cell are seen on them.
func newCell(sign rune, p pen) cell {
	if sign == ' ' && p.attrs&onBlank == 0 {
		p = pen{bg: p.bg}
	}
	return cell{sign, p}
}

// looks says whether the cell can be written with a pen as it is.
func (c cell) looks(p pen) bool { return newCell(c.sign, p) == c }

// screen is what the terminal shows, as far as it is known.
type screen struct {
	columns, rows int
	cells         []cell
}

func (s *screen) resize(columns, rows int) {
	s.columns, s.rows = columns, rows
	s.cells = make([]cell, columns*rows)
}

// row is a part of a line.
func (s *screen) row(y, from, to int) []cell {
	return s.cells[y*s.columns+min(max(from, 0), s.columns) : y*s.columns+min(max(to, 0), s.columns)]
}

// lines are whole ones.
func (s *screen) lines(from, to int) []cell {
	return s.cells[min(max(from, 0), s.rows)*s.columns : min(max(to, from, 0), s.rows)*s.columns]
}

func fill(cells []cell, with cell) {
	for i := range cells {
		cells[i] = with
	}
}

// all says whether every cell is like that one.
func all(cells []cell, one cell) bool {
	for i := range cells {
		if cells[i] != one {
			return false
		}
	}
	return true
}

// place is where a cursor is.
type place struct {
	x, y  int
	after bool // the last column has been written: the next sign goes to the next line
	known bool
}
