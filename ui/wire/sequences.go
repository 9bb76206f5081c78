package wire

import (
	"slices"

	"github.com/charmbracelet/x/ansi"
)

// control is a control character.
func (w *Writer) control(c byte) {
	at := &w.asked
	switch {
	case c == '\a' || c == 0:
		w.raw([]byte{c})
	case !at.known || at.after:
		w.lose([]byte{c})
	case c == '\r':
		at.x = 0
	case c == '\b':
		at.x = max(at.x-1, 0)
	case c == '\t':
		at.x = min(at.x/8*8+8, max(w.shown.columns-1, 0))
	case c == '\n':
		w.down()
	default:
		w.lose([]byte{c})
	}
}

// csi is a control sequence.
func (w *Writer) csi(seq []byte) {
	cmd := ansi.Cmd(w.parser.Command())
	params := w.parser.Params()
	switch {
	case cmd.Prefix() == '?' && (cmd.Final() == 'h' || cmd.Final() == 'l'):
		w.mode(seq, params, cmd.Final() == 'h')
	case cmd.Prefix() != 0 || cmd.Intermediate() == ' ' || cmd.Intermediate() == '$':
		w.raw(seq) // the keyboard, questions, the form of the cursor
	case cmd.Intermediate() != 0:
		w.lose(seq)
	case cmd.Final() == 'm':
		w.style(seq, params)
	case cmd.Final() == 'n' || cmd.Final() == 'c' || cmd.Final() == 't':
		w.settle() // the answer may be about the cursor
		w.raw(seq)
	case cmd.Final() == 'b' && w.last != nil:
		n, _, _ := params.Param(0, 1)
		sign := slices.Clone(w.last)
		for range min(max(n, 1), w.shown.columns) { // the terminal may have seen another sign last
			w.text(sign, 1)
		}
	case cmd.Final() == 'H' || cmd.Final() == 'f':
		y, _, _ := params.Param(0, 1)
		x, _, _ := params.Param(1, 1)
		w.asked = place{known: true}
		w.to(x-1, y-1)
	case cmd.Final() == 'r':
		w.region(seq, params)
	case !w.asked.known || w.asked.after:
		w.lose(seq)
	case !w.moves(cmd.Final(), params) && !w.erases(seq, cmd.Final(), params) && !w.shifts(seq, cmd.Final(), params):
		w.lose(seq)
	}
}

// to moves the renderer's cursor; the edges hold.
func (w *Writer) to(x, y int) {
	w.asked.x = min(max(x, 0), max(w.shown.columns-1, 0))
	w.asked.y = min(max(y, 0), max(w.shown.rows-1, 0))
}

// moves is a motion of the cursor; false for anything else.
func (w *Writer) moves(final byte, params ansi.Params) bool {
	n, _, _ := params.Param(0, 1)
	n = max(n, 1)
	x, y := w.asked.x, w.asked.y
	if w.margins() && (final == 'A' || final == 'B') {
		return false // a margin may hold it
	}
	switch final {
	case 'A':
		y -= n
	case 'B':
		y += n
	case 'C':
		x += n
	case 'D':
		x -= n
	case 'G', '`':
		x = n - 1
	case 'd':
		y = n - 1
	default:
		return false
	}
	w.to(x, y)
	return true
}

// erases is an erasure, which leaves blanks of the pen's background; false for
// anything else.
func (w *Writer) erases(seq []byte, final byte, params ansi.Params) bool {
	n, _, _ := params.Param(0, 0)
	x, y, s := w.asked.x, w.asked.y, &w.shown
	if y >= s.rows || x >= s.columns || w.penStrange {
		return false
	}
	var parts [2][]cell
	switch {
	case final == 'X':
		parts[0] = s.row(y, x, x+max(n, 1))
	case final == 'K' && n == 0:
		parts[0] = s.row(y, x, s.columns)
	case final == 'K' && n == 1:
		parts[0] = s.row(y, 0, x+1)
	case final == 'K' && n == 2:
		parts[0] = s.row(y, 0, s.columns)
	case final == 'J' && n == 0:
		parts[0], parts[1] = s.row(y, x, s.columns), s.lines(y+1, s.rows)
	case final == 'J' && n == 2:
		parts[0] = s.cells
	default:
		return false
	}
	blank := cell{' ', pen{bg: w.askedPen.bg}}
	if all(parts[0], blank) && all(parts[1], blank) {
		return true
	}
	w.follow()
	w.dip(blank)
	w.raw(seq)
	fill(parts[0], blank)
	fill(parts[1], blank)
	return true
}

// region sets which lines scroll; the cursor goes home.
func (w *Writer) region(seq []byte, params ansi.Params) {
	top, _, _ := params.Param(0, 1)
	bottom, _, _ := params.Param(1, w.shown.rows)
	if bottom < 1 || bottom > w.shown.rows {
		bottom = w.shown.rows
	}
	top = max(top, 1)
	if top >= bottom && w.shown.rows > 1 {
		return // terminals do nothing then
	}
	w.raw(seq)
	w.top, w.bottom = top-1, bottom
	w.asked, w.real.known = place{known: true}, false
}

// margins says whether less than the screen scrolls.
func (w *Writer) margins() bool { return w.top > 0 || w.bottom < w.shown.rows }

// down goes to the next line, or scrolls.
func (w *Writer) down() {
	switch at := &w.asked; {
	case at.y == w.bottom-1:
		w.settle()
		w.raw([]byte{'\n'})
		w.shift(w.top, w.bottom, 1)
	case at.y < w.shown.rows-1:
		at.y++
	}
}

// up goes to the line before, or scrolls.
func (w *Writer) up(seq []byte) {
	switch at := &w.asked; {
	case at.y == w.top:
		w.settle()
		w.raw(seq)
		w.shift(w.top, w.bottom, -1)
	case at.y > 0:
		at.y--
	}
}

// shift moves lines up, or down where n is negative; blank ones come in.
func (w *Writer) shift(top, bottom, n int) {
	lines := w.shown.lines(top, bottom)
	by := min(max(n, -n)*w.shown.columns, len(lines))
	blank := cell{' ', pen{bg: w.askedPen.bg}}
	if n > 0 {
		copy(lines, lines[by:])
		fill(lines[len(lines)-by:], blank)
		return
	}
	copy(lines[by:], lines)
	fill(lines[:by], blank)
}

// shifts inserts, deletes or scrolls; false for anything else.
func (w *Writer) shifts(seq []byte, final byte, params ansi.Params) bool {
	s, at := &w.shown, &w.asked
	n, _, _ := params.Param(0, 1)
	n = max(n, 1)
	if at.y >= s.rows || w.penStrange {
		return false
	}
	w.settle()
	switch final {
	case '@', 'P': // what stands there then is not followed
		fill(s.row(at.y, at.x, s.columns), cell{})
	case 'S':
		w.shift(w.top, w.bottom, n)
	case 'T':
		w.shift(w.top, w.bottom, -n)
	case 'L', 'M':
		if final == 'L' {
			n = -n
		}
		if at.y >= w.top && at.y < w.bottom {
			w.shift(at.y, w.bottom, n)
		}
		w.real.known = false // in some terminals it is in the first column now
	default:
		return false
	}
	w.raw(seq)
	return true
}

// mode turns a mode on or off.
func (w *Writer) mode(seq []byte, params ansi.Params, on bool) {
	for _, p := range params {
		switch p.Param(0) {
		case 25:
			w.hidden = !on
		case 7:
			w.settle()
			w.stays = !on
		case 6, 69, 47, 1047, 1048, 1049: // origin, margins left and right, the other screen
			w.lose(seq)
			return
		}
	}
	w.raw(seq)
}

// style is a change of the pen.
func (w *Writer) style(seq []byte, params ansi.Params) {
	next := w.askedPen
	if next.apply(params) && (!w.penStrange || resets(params)) {
		if w.penStrange {
			w.penStrange, w.penKnown = false, false
		}
		w.askedPen = next
		return
	}
	w.settle()
	w.raw(seq)
	w.penStrange, w.penKnown = true, false
}

// resets says whether a change of the pen starts from nothing.
func resets(params ansi.Params) bool {
	return len(params) == 0 || params[0].Param(0) == 0 && !params[0].HasMore()
}
