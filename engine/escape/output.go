package escape

import (
	"bytes"
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Writer writes hidden characters other than line breaks and tabs as \uXXXX. JSON keeps
// its meaning: there such a character is inside a string. Writes may split a character or
// a line break of Windows; after the last one comes Flush.
type Writer struct {
	to   io.Writer
	rest []byte // the first bytes of what is not complete yet: a character, a line break
	out  []byte
}

// NewWriter makes a Writer to a stream.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Write writes all of p, or reports the error of the stream.
func (w *Writer) Write(p []byte) (int, error) {
	if len(w.rest) == 0 && harmless(p) {
		return w.to.Write(p)
	}
	text := append(w.rest, p...)
	whole := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if at := len(text) - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				whole = at
			}
			break
		}
	}
	if whole == len(text) && bytes.HasSuffix(text, []byte("\r")) {
		whole--
	}
	w.out = appendShown(w.out[:0], strings.ReplaceAll(string(text[:whole]), "\r\n", "\n"))
	w.rest = append([]byte(nil), text[whole:]...)
	if _, err := w.to.Write(w.out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what was held back for a next Write.
func (w *Writer) Flush() error {
	if len(w.rest) == 0 {
		return nil
	}
	w.out, w.rest = appendShown(w.out[:0], string(w.rest)), nil
	_, err := w.to.Write(w.out)
	return err
}

// harmless reports whether p is ASCII without controls.
func harmless(p []byte) bool {
	for _, b := range p {
		if b < ' ' && b != '\n' && b != '\t' || b >= 0x7f {
			return false
		}
	}
	return true
}

// CSV writes comma-separated values; no cell is a formula to a spreadsheet.
type CSV struct{ *csv.Writer }

// NewCSV makes a CSV to a stream.
func NewCSV(to io.Writer) CSV { return CSV{csv.NewWriter(to)} }

// Write writes a row. The first error is kept for Error.
func (w CSV) Write(cells ...string) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = Cell(cell)
	}
	_ = w.Writer.Write(row)
}

// Close flushes the buffer and returns the first error.
func (w CSV) Close() error {
	w.Flush()
	return w.Error()
}

// Cell puts an apostrophe before a text that a spreadsheet would take for a formula.
// Numbers and a lone dash stay.
func Cell(cell string) string {
	if cell == "" || cell == "-" || !strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return cell
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil {
		return cell
	}
	return "'" + cell
}

// Markdown escapes the characters of Markdown and HTML and joins lines.
func Markdown(s string) string {
	return strings.NewReplacer("|", `\|`, "`", "'", "<", "&lt;", "\n", " ", "*", `\*`, "[", `\[`).Replace(s)
}
