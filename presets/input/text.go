package input

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// byteOrderMark is what some editors write before a text.
const byteOrderMark = "\ufeff"

// Text returns UTF-8 text without a leading byte order mark. Other data gives an *Error
// that names the encoding or format and the command that converts it.
func Text(data []byte) ([]byte, error) {
	if err := checkText(data); err != nil {
		return nil, err
	}
	return bytes.TrimPrefix(data, []byte(byteOrderMark)), nil
}

// checkText returns an error for data that is not UTF-8 text.
func checkText(data []byte) error {
	for _, kind := range []struct{ begins, is, instead string }{
		{"\xff\xfe\x00\x00", "UTF-32 (little-endian)", "iconv -f UTF-32 -t UTF-8"},
		{"\x00\x00\xfe\xff", "UTF-32 (big-endian)", "iconv -f UTF-32 -t UTF-8"},
		{"\xff\xfe", "UTF-16 (little-endian)", "iconv -f UTF-16 -t UTF-8"},
		{"\xfe\xff", "UTF-16 (big-endian)", "iconv -f UTF-16 -t UTF-8"},
		{"\x1f\x8b", "gzip", "gunzip"},
		{"PK\x03\x04", "a zip archive", "unzip"},
	} {
		if bytes.HasPrefix(data, []byte(kind.begins)) {
			return noText(0, 0, "this is "+kind.is, "save it as such, or "+kind.instead)
		}
	}
	if at := bytes.IndexByte(data, 0); at >= 0 {
		if name := unmarked(data); name != "" {
			return noText(0, 0, "this is "+name+" by its zero bytes",
				"save it as such, or iconv -f "+name+" -t UTF-8")
		}
		line, column := Place(data, at)
		return noText(line, column, "a zero byte: this is no text", "")
	}
	if utf8.Valid(data) {
		return nil
	}
	for at := 0; at < len(data); {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n <= 1 {
			line, column := Place(data, at)
			return noText(line, column, fmt.Sprintf("byte 0x%02X is no UTF-8", data[at]),
				"if it is Latin-1 or Windows-1252, save it as such, or iconv -f WINDOWS-1252 -t UTF-8")
		}
		at += n
	}
	return nil
}

// noText returns the error of data that is not UTF-8 text: what it is, and what helps.
func noText(line, column int, is, instead string) *Error {
	is += "; allowed is text in UTF-8"
	if instead != "" {
		is += ": " + instead
	}
	return &Error{Line: line, Column: column, Err: errors.New(is)}
}

// unmarked guesses the encoding of text without a byte order mark from the positions of
// its zero bytes, which ASCII letters have in UTF-16 and UTF-32; empty for neither.
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

// Breaks are the offsets of the line breaks of a text: every place in it costs a search and not a
// walk from the start.
type Breaks []int

// NewBreaks finds the line breaks of a text.
func NewBreaks(text []byte) Breaks {
	breaks := Breaks{}
	for i, b := range text {
		if b == '\n' {
			breaks = append(breaks, i)
		}
	}
	return breaks
}

// Line returns the line of an offset, from 1, and where it starts.
func (b Breaks) Line(offset int) (line, start int) {
	before, _ := slices.BinarySearch(b, offset)
	if before > 0 {
		start = b[before-1] + 1
	}
	return before + 1, start
}

// Place returns the line and column of a byte, both in characters from 1.
func Place(data []byte, at int) (line, column int) {
	before := data[:at]
	line = 1 + bytes.Count(before, []byte("\n"))
	return line, 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}
