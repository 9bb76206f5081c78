// Package escape makes text that somebody gave safe to show: a name in a file, a
// value on a command line, a key of a document. Every text that leaves the program
// goes through it, so that none of it steers a terminal (C0 and C1 controls), turns
// the direction of a line around (bidirectional controls), breaks an encoding or
// floods a screen.
package escape

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Most is how many characters of a text that somebody gave a message repeats.
const Most = 200

// ellipsis marks where a text was cut.
const ellipsis = "..."

// Printable reports whether s is valid UTF-8 of letters, marks, numbers, punctuation,
// symbols and blanks alone. It is cheap for ASCII: every evaluation asks it of the
// names in a setup.
func Printable(s string) bool {
	for i := range len(s) {
		switch b := s[i]; {
		case b < ' ' || b == 0x7f:
			return false
		case b >= utf8.RuneSelf:
			return utf8.ValidString(s) && strings.IndexFunc(s, hidden) < 0
		}
	}
	return true
}

// hidden reports whether a character is not seen as itself: controls, bidirectional
// and other format characters, line separators, private and unassigned code points.
func hidden(r rune) bool { return !unicode.IsGraphic(r) }

// Clip cuts s to its first Most characters, with an ellipsis where something is
// missing.
func Clip(s string) string {
	if len(s) <= Most {
		return s
	}
	n := 0
	for i := range s {
		if n == Most {
			return s[:i] + ellipsis
		}
		n++
	}
	return s
}

// Line shows s on one line: clipped, blanks in place of tabs and line breaks, and
// the rest as Text shows it.
func Line(s string) string {
	s = Clip(s)
	if Printable(s) {
		return s
	}
	return Text(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(s))
}

// Text shows s with everything hidden as \uXXXX, line breaks and tabs apart. Bytes
// that are no UTF-8 become U+FFFD.
func Text(s string) string {
	if Printable(s) {
		return s
	}
	return string(appendShown(nil, s))
}

// Quote shows s clipped and in double quotes, with the escapes of Go.
func Quote(s string) string { return strconv.Quote(Clip(s)) }

// Name shows the name of a file: its end, which says which file it is, in quotes
// where it has something hidden.
func Name(s string) string {
	const most = 60
	short := s
	if cut := len(s) - most; cut > 0 {
		for cut < len(s) && !utf8.RuneStart(s[cut]) {
			cut++
		}
		short = ellipsis + s[cut:]
	}
	if Printable(s) {
		return short
	}
	return strconv.Quote(short)
}

// appendShown appends s with everything hidden as \uXXXX, which is the same character
// to whoever reads JSON. Line breaks and tabs stay.
func appendShown(to []byte, s string) []byte {
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t' || r == ' ' || !hidden(r):
			to = utf8.AppendRune(to, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			to = appendCode(appendCode(to, high), low)
		default:
			to = appendCode(to, r)
		}
	}
	return to
}

// appendCode appends \uXXXX.
func appendCode(to []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(to, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
