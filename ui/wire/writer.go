// Package wire shortens what the renderer sends to the terminal. The renderer
// writes every cell between the first and the last that changed in a line, with
// the colours of each; on a slow link a turn of a slider would be seen line by
// line. A Writer keeps the cells that the terminal shows and passes on only those
// that become different, with the shortest change of colours and the shortest
// way of the cursor to them. What it does not know it passes on as it is.
package wire

import (
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Writer shortens what is written to it. The cursor of the renderer (asked) runs
// ahead of that of the terminal (real), which follows when something is to be
// written.
type Writer struct {
	out  io.Writer
	size func() (columns, rows int)

	shown      screen
	asked      place
	real       place
	askedPen   pen
	realPen    pen
	penKnown   bool   // realPen is that of the terminal
	penStrange bool   // the renderer's pen is one that a pen here cannot be
	hidden     bool   // the cursor is
	stays      bool   // in the last column: lines are not continued
	last       []byte // sign, for repeating; nil: one that is not kept

	top, bottom int // of the region that scrolls

	parser *ansi.Parser
	rest   []byte // an unfinished sequence
	buffer []byte // what goes out
}

// New is a Writer to a terminal of a size that may change.
func New(out io.Writer, size func() (columns, rows int)) *Writer {
	return &Writer{out: out, size: size, parser: ansi.NewParser()}
}

// longest is how long an unfinished sequence may be: clipboards are some
// kilobytes.
const longest = 1 << 20

// Write passes on what changes.
func (w *Writer) Write(p []byte) (int, error) {
	if columns, rows := w.size(); columns != w.shown.columns || rows != w.shown.rows {
		w.shown.resize(max(columns, 0), max(rows, 0))
		w.top, w.bottom = 0, w.shown.rows
		w.real.known, w.asked.after = false, false
		w.to(w.asked.x, w.asked.y)
	}
	data := p
	if len(w.rest) > 0 {
		data = append(w.rest, p...)
		w.rest = nil
	}
	w.buffer = w.buffer[:0]
	for len(data) > 0 {
		seq, width, n, state := ansi.DecodeSequence(data, ansi.NormalState, w.parser)
		if state != ansi.NormalState || !utf8.FullRune(data) {
			w.rest = append(w.rest, data...)
			if len(w.rest) > longest { // it has no end
				w.lose(w.rest)
				w.rest = nil
			}
			break
		}
		w.take(seq, width)
		data = data[n:]
	}
	if !w.hidden {
		w.follow()
	}
	if len(w.buffer) > 0 {
		if _, err := w.out.Write(w.buffer); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// take is one sign or one sequence.
func (w *Writer) take(seq []byte, width int) {
	switch {
	case width > 0:
		w.text(seq, width)
	case len(seq) == 1:
		w.control(seq[0])
	case ansi.HasCsiPrefix(seq):
		w.csi(seq)
	case ansi.HasOscPrefix(seq), ansi.HasDcsPrefix(seq), ansi.HasApcPrefix(seq), ansi.HasPmPrefix(seq), ansi.HasSosPrefix(seq):
		w.raw(seq) // titles, clipboard, questions: nothing that is shown
	case string(seq) == "\x1b=" || string(seq) == "\x1b>":
		w.raw(seq)
	case string(seq) == "\x1bM" && w.asked.known && !w.asked.after:
		w.up(seq)
	default:
		w.lose(seq)
	}
}

// text is a sign.
func (w *Writer) text(seq []byte, width int) {
	sign, size := utf8.DecodeRune(seq)
	plain := width == 1 && size == len(seq) && sign != utf8.RuneError
	at := &w.asked
	if !plain || !at.known || w.penStrange || at.after || at.y >= w.shown.rows || at.x >= w.shown.columns {
		w.last = nil
		w.strange(seq, width)
		return
	}
	w.last = append(w.last[:0], seq...)
	c := newCell(sign, w.askedPen)
	here := &w.shown.row(at.y, at.x, at.x+1)[0]
	if *here != c {
		w.follow()
		w.dip(c)
		w.raw(seq)
		*here = c
		w.real = w.ahead(w.real)
	}
	*at = w.ahead(*at)
}

// ahead is the place after a sign.
func (w *Writer) ahead(p place) place {
	if p.x == w.shown.columns-1 {
		p.after = !w.stays
		return p
	}
	p.x++
	return p
}

// strange passes on a sign whose cells are not kept, or whose place is not known.
func (w *Writer) strange(seq []byte, width int) {
	w.settle()
	w.raw(seq)
	at := w.asked
	if !at.known || at.after || at.x+width >= w.shown.columns || at.y >= w.shown.rows {
		fill(w.shown.cells, cell{}) // it may have gone to the next line and scrolled
		w.asked.known, w.real.known = false, false
		return
	}
	// The cells before it, too: it may have covered half of a wide sign.
	fill(w.shown.row(at.y, at.x-1, at.x+width+1), cell{})
	w.asked.x += width
	w.real = w.asked
	if width > 1 || !utf8.FullRune(seq) || utf8.RuneCount(seq) > 1 {
		w.real.known = false // terminals differ about the width
	}
}

// dip turns the terminal's pen into one that writes the cell.
func (w *Writer) dip(c cell) {
	if w.penKnown && c.looks(w.realPen) {
		return
	}
	to := w.askedPen
	if c.sign == ' ' && c.pen.attrs == 0 && w.penKnown { // of a blank only the background is seen
		to = w.realPen
		to.bg = c.pen.bg
		to.attrs &^= onBlank
	}
	w.turnTo(to)
}

func (w *Writer) turnTo(p pen) {
	if !w.penKnown {
		w.raw([]byte("\x1b[m"))
		w.realPen, w.penKnown = pen{}, true
	}
	w.buffer = turn(w.buffer, w.realPen, p)
	w.realPen = p
}

// settle makes the terminal what the renderer takes it for: for everything that is
// passed on as it is.
func (w *Writer) settle() {
	w.follow()
	if !w.penStrange {
		w.turnTo(w.askedPen)
	}
}

// follow brings the terminal's cursor where the renderer takes it to be.
func (w *Writer) follow() {
	to := w.asked
	if !to.known || w.real == to {
		return
	}
	if to.after { // only by writing the last column again
		last := w.shown.row(to.y, to.x, to.x+1)[0]
		w.asked.after = false
		w.follow()
		w.asked.after = true
		if last.sign != 0 {
			w.turnTo(last.pen)
			w.buffer = utf8.AppendRune(w.buffer, last.sign)
		}
		w.real = to
		return
	}
	w.buffer = w.way(w.buffer, w.real, to)
	w.real = to
}

// way appends the shortest way from one place to another.
func (w *Writer) way(out []byte, from, to place) []byte {
	direct := []byte("\x1b[")
	if to.x > 0 || to.y > 0 {
		direct = strconv.AppendInt(direct, int64(to.y+1), 10)
	}
	if to.x > 0 {
		direct = append(direct, ';')
		direct = strconv.AppendInt(direct, int64(to.x+1), 10)
	}
	direct = append(direct, 'H')
	if !from.known || from.after || w.margins() && from.y != to.y {
		return append(out, direct...)
	}
	step := along(from.y, to.y, 'A', 'B')
	if from.x > to.x && (to.x == 0 || from.x-to.x == 1) {
		step = append(step, map[bool]byte{true: '\r', false: '\b'}[to.x == 0])
	} else {
		right := along(from.x, to.x, 'D', 'C')
		from.y = to.y
		if again := w.again(from, to, len(right)); again != nil {
			right = again
		}
		step = append(step, right...)
	}
	if len(step) < len(direct) {
		return append(out, step...)
	}
	return append(out, direct...)
}

// along moves along one direction.
func along(from, to int, back, on byte) []byte {
	n, final := to-from, on
	if n < 0 {
		n, final = -n, back
	}
	switch n {
	case 0:
		return nil
	case 1:
		return []byte{'\x1b', '[', final}
	}
	return append(strconv.AppendInt([]byte("\x1b["), int64(n), 10), final)
}

// again writes the cells between two places once more, where that is no longer
// than so many bytes and needs no other pen; nil where it is.
func (w *Writer) again(from, to place, most int) []byte {
	if !w.penKnown || to.x <= from.x || to.x-from.x > most {
		return nil
	}
	var out []byte
	for _, c := range w.shown.row(from.y, from.x, to.x) {
		if c.sign == 0 || !c.looks(w.realPen) {
			return nil
		}
		if out = utf8.AppendRune(out, c.sign); len(out) > most {
			return nil
		}
	}
	return out
}

func (w *Writer) raw(seq []byte) { w.buffer = append(w.buffer, seq...) }

// lose passes on what may have done anything.
func (w *Writer) lose(seq []byte) {
	w.settle()
	w.raw(seq)
	fill(w.shown.cells, cell{})
	w.asked.known, w.real.known, w.penKnown = false, false, false
}
