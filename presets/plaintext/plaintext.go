// Package plaintext tells text in UTF-8, which every file that people write for the
// program is, from what other files are.
package plaintext

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// byteOrderMark is what some editors write before a text.
const byteOrderMark = "\ufeff"

// Error says that a file is no text in UTF-8, and what it is. Line and Column count
// from 1 and are 0 where the file as a whole is meant.
type Error struct {
	Line, Column int
	Is           string // what it is taken for, or what is wrong
	Instead      string // what to do about it; empty: nothing that helps is known
}

// Error names what was given, what is allowed, and what helps.
func (e *Error) Error() string {
	text := e.Is + "; allowed is text in UTF-8"
	if e.Instead != "" {
		text += ": " + e.Instead
	}
	return text
}

// Trim gives a text without the byte order mark that some editors begin with. What
// is no UTF-8 is an *Error.
func Trim(data []byte) ([]byte, error) {
	if err := Check(data); err != nil {
		return nil, err
	}
	return bytes.TrimPrefix(data, []byte(byteOrderMark)), nil
}

// Check says what is wrong with a text, if anything.
func Check(data []byte) error {
	for _, kind := range []struct{ begins, is, instead string }{
		{"\xff\xfe\x00\x00", "UTF-32 (little-endian)", "iconv -f UTF-32 -t UTF-8"},
		{"\x00\x00\xfe\xff", "UTF-32 (big-endian)", "iconv -f UTF-32 -t UTF-8"},
		{"\xff\xfe", "UTF-16 (little-endian)", "iconv -f UTF-16 -t UTF-8"},
		{"\xfe\xff", "UTF-16 (big-endian)", "iconv -f UTF-16 -t UTF-8"},
		{"\x1f\x8b", "gzip", "gunzip"},
		{"PK\x03\x04", "a zip archive", "unzip"},
	} {
		if bytes.HasPrefix(data, []byte(kind.begins)) {
			return &Error{Is: "this is " + kind.is, Instead: "save it as such, or " + kind.instead}
		}
	}
	if at := bytes.IndexByte(data, 0); at >= 0 {
		if name := unmarked(data); name != "" {
			return &Error{Is: "this is " + name + " by its zero bytes", Instead: "save it as such, or iconv -f " + name + " -t UTF-8"}
		}
		line, column := place(data, at)
		return &Error{Line: line, Column: column, Is: "a zero byte: this is no text"}
	}
	for at := 0; at < len(data); {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n <= 1 {
			line, column := place(data, at)
			return &Error{
				Line: line, Column: column, Is: fmt.Sprintf("byte 0x%02X is no UTF-8", data[at]),
				Instead: "if it is Latin-1 or Windows-1252, save it as such, or iconv -f WINDOWS-1252 -t UTF-8",
			}
		}
		at += n
	}
	return nil
}

// unmarked is what a text without a byte order mark is by where its zero bytes stand,
// which plain letters have in the wider encodings; empty: none of them.
func unmarked(data []byte) string {
	var zeros [4]int
	n := min(len(data), 256) / 4 * 4
	for i := range n {
		if data[i] == 0 {
			zeros[i%4]++
		}
	}
	// most of the places that letters leave empty, and none that they fill
	most := func(places ...int) bool {
		empty := 0
		for _, p := range places {
			empty += zeros[p]
		}
		all := zeros[0] + zeros[1] + zeros[2] + zeros[3]
		return n >= 8 && empty == all && 4*empty > 3*len(places)*n/4
	}
	switch {
	case most(1, 2, 3):
		return "UTF-32LE"
	case most(0, 1, 2):
		return "UTF-32BE"
	case most(1, 3):
		return "UTF-16LE"
	case most(0, 2):
		return "UTF-16BE"
	}
	return ""
}

// place is the line and column of a byte, in characters.
func place(data []byte, at int) (line, column int) {
	before := data[:at]
	line = 1 + bytes.Count(before, []byte("\n"))
	return line, 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}
