// Package escape makes text from outside safe to show: a name in a file, a
// value on a command line, a key of a document. All output of
// the program goes through it, so that no text controls the terminal (C0 and C1), reverses
// the direction of a line (bidirectional controls), is invalid UTF-8 or floods a screen.
package escape

import (
	"encoding/binary"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Most is the number of characters of a given text that a message repeats.
const Most = 200

// ellipsis marks where a text was cut.
const ellipsis = "..."

// Printable reports whether s is valid UTF-8 of letters, marks, numbers, punctuation,
// symbols and blanks alone. It is cheap for ASCII: every evaluation asks it of the
// names in a setup.
func Printable(s string) bool {
	i := 0
	for ; i+8 <= len(s) && visible8(binary.LittleEndian.Uint64([]byte(s[i:i+8]))); i += 8 {
	}
	for ; i < len(s); i++ {
		if b := s[i]; b < ' ' || b >= 0x7f {
			return utf8.ValidString(s) && strings.IndexFunc(s, hidden) < 0
		}
	}
	return true
}

// visible8 reports whether eight bytes are all ASCII from ' ' to '~'. In each byte
// below 0x80 adding 0x60 sets the high bit from ' ' on, adding 1 sets it for 0x7f,
// and neither carries into the next byte; a byte from 0x80 on is refused by itself.
func visible8(bytes uint64) bool {
	const ones = 0x0101010101010101
	return (bytes|^(bytes+0x60*ones)|(bytes+ones))&(0x80*ones) == 0
}

// hidden reports whether a character has no visible form: controls, bidirectional
// and other format characters, line separators, private and unassigned code points.
func hidden(r rune) bool { return !unicode.IsGraphic(r) }

// Clip returns the first Most characters of s, with an ellipsis where it is longer.
func Clip(s string) string { return clip(s, Most) }

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + ellipsis
		}
		n++
	}
	return s
}

// Line returns s on one line: clipped, with blanks for tabs and line breaks, and escaped
// as by Text.
func Line(s string) string { return oneLine(Clip(s)) }

// Sentence returns s on one line as Line does, cut only where it would flood a screen: what this program says
// itself is never that long.
func Sentence(s string) string { return oneLine(clip(s, 20*Most)) }

func oneLine(s string) string {
	if Printable(s) {
		return s
	}
	return Text(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(s))
}

// Text returns s with every hidden character except line breaks and tabs as \uXXXX.
// Invalid UTF-8 becomes U+FFFD.
func Text(s string) string {
	if Printable(s) {
		return s
	}
	return string(appendShown(nil, s))
}

// Quote returns s in double quotes, with the escapes of Go, clipped so that escapes count as what they are
// written with.
func Quote(s string) string {
	s = Clip(s)
	body, room := strings.TrimSuffix(s, ellipsis), Most
	for i := 0; i < len(body); {
		_, size := utf8.DecodeRuneInString(body[i:])
		if room -= utf8.RuneCountInString(strconv.Quote(body[i:i+size])) - len(`""`); room < 0 {
			return strconv.Quote(body[:i] + ellipsis)
		}
		i += size
	}
	return strconv.Quote(s)
}

// Name returns the last 60 bytes of a file name, in quotes where it has hidden
// characters.
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

// appendShown appends s with hidden characters as \uXXXX, which a JSON string decodes to
// the same character. Line breaks and tabs stay.
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
