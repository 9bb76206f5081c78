// Package paste ends a paste whose end was lost on the way from the terminal.
package paste

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"time"
	"unicode/utf8"
)

// Marks that a terminal puts around pasted text.
const (
	pasteBegins = "\x1b[200~"
	pasteEnds   = "\x1b[201~"
)

// Bounds of a paste. No field here takes more than a line.
const (
	longestPaste = 64 << 10    // bytes; more is left out
	pastePause   = time.Second // after which what looks like a key is one
	longestKey   = 16          // bytes
)

// Input is a terminal that is read. What comes after the beginning of a paste is text
// until its end, so a paste whose end is lost, on a link that drops for a moment,
// would take every key for ever. Input ends it: at ctrl+c, which is a key wherever it
// comes alone, and at a key that comes alone after a pause.
type Input struct {
	*os.File
	pastes pastes
}

// NewInput reads from a terminal.
func NewInput(f *os.File) *Input {
	return &Input{File: f, pastes: pastes{now: time.Now}}
}

// Read reads what was typed and pasted. It keeps nothing back: the next call may come
// only when there is more to read.
func (i *Input) Read(p []byte) (int, error) { return i.pastes.read(i.File, p) }

// NewReader reads what a terminal sends that is not a file, as NewInput does.
func NewReader(r io.Reader) io.Reader { return &reader{from: r, pastes: pastes{now: time.Now}} }

type reader struct {
	from   io.Reader
	pastes pastes
}

// Read reads what was typed and pasted.
func (r *reader) Read(p []byte) (int, error) { return r.pastes.read(r.from, p) }

// pastes follows the marks in the input.
type pastes struct {
	now func() time.Time

	on      bool
	length  int       // of the paste so far
	last    time.Time // when something of it came
	matched []byte    // the start of a mark at the end of the input
}

func (s *pastes) read(from io.Reader, p []byte) (int, error) {
	room := len(p) - len(pasteEnds)
	if room <= 0 {
		return from.Read(p)
	}
	n, err := from.Read(p[:room])
	if n <= 0 {
		return n, err
	}
	return copy(p, s.pass(bytes.Clone(p[:n]))), err
}

// pass returns the input to hand on in place of the input read: at most an end of a paste
// longer.
func (s *pastes) pass(read []byte) []byte {
	var out []byte
	pause := s.now().Sub(s.last) >= pastePause
	if s.on && (interrupts(read) || pause && s.aKey(read)) {
		out = append(out, pasteEnds...)
		s.on, s.matched = false, nil
	}
	for _, b := range read {
		full := s.on && s.length >= longestPaste
		if s.on {
			s.length++
		}
		mark := s.match(b)
		switch {
		case mark == pasteEnds && full: // its beginning was left out
			out = append(out, pasteEnds...)
		case !full:
			out = append(out, b)
		}
		switch mark {
		case pasteBegins:
			s.on, s.length = true, 0
		case pasteEnds:
			s.on = false
		}
	}
	s.last = s.now()
	return out
}

// match takes a byte and gives the mark that it completes.
func (s *pastes) match(b byte) string {
	s.matched = append(s.matched, b)
	for _, mark := range []string{pasteBegins, pasteEnds} {
		if string(s.matched) == mark {
			s.matched = s.matched[:0]
			return mark
		}
	}
	if !bytes.HasPrefix([]byte(pasteBegins), s.matched) && !bytes.HasPrefix([]byte(pasteEnds), s.matched) {
		s.matched = s.matched[:0]
		if b == pasteBegins[0] {
			s.matched = append(s.matched, b)
		}
	}
	return ""
}

// aKey reports whether the input is one key and nothing else: a sign, with alt or
// without, or one whole sequence. The rest of a paste that comes late is rarely that,
// and a part of the mark that ends it never.
func (s *pastes) aKey(read []byte) bool {
	if len(read) > longestKey || bytes.HasPrefix([]byte(pasteEnds), append(bytes.Clone(s.matched), read...)) && len(s.matched)+len(read) > 1 {
		return false
	}
	rest, escaped := bytes.CutPrefix(read, []byte("\x1b"))
	switch {
	case !escaped || len(rest) == 0:
		return oneRune(read)
	case rest[0] == '[':
		final := bytes.IndexFunc(rest[1:], func(r rune) bool { return r >= '@' && r <= '~' })
		return final >= 0 && final == len(rest)-2
	case rest[0] == 'O':
		return len(rest) == 2
	}
	return oneRune(rest)
}

func oneRune(text []byte) bool {
	r, n := utf8.DecodeRune(text)
	return n == len(text) && (r != utf8.RuneError || n > 1)
}

// interrupts reports whether the input is ctrl+c and nothing else, in any of the
// ways that terminals send it: pasted text has it among other text, if at all.
func interrupts(read []byte) bool {
	for len(read) > 0 {
		n := interrupt(read)
		if n == 0 {
			return false
		}
		read = read[n:]
	}
	return true
}

// interrupt returns how long the ctrl+c is that comes first; 0: something else does. It is
// a byte, a key of the kitty protocol, or one of xterm's modifyOtherKeys.
func interrupt(read []byte) int {
	const old, kitty, xterm = '\x03', "\x1b[99", "\x1b[27"
	if read[0] == old {
		return 1
	}
	if params, ok := bytes.CutPrefix(read, []byte(kitty)); ok {
		if at := bytes.IndexByte(params, 'u'); at >= 0 && control(params[:at]) {
			return len(kitty) + at + 1
		}
	}
	if params, ok := bytes.CutPrefix(read, []byte(xterm)); ok {
		if held, _, ok := bytes.Cut(params, []byte(";99~")); ok && control(held) {
			return len(xterm) + len(held) + len(";99~")
		}
	}
	return 0
}

// control reports whether the parameters of a key have the modifier: they are the key's
// other codes, then one more than the modifiers, then what happened to it.
func control(params []byte) bool {
	const ctrl = 4
	parts := bytes.Split(params, []byte(";"))
	if len(parts) < 2 || len(parts[0]) > 0 && parts[0][0] != ':' {
		return false
	}
	held, _, _ := bytes.Cut(parts[1], []byte(":"))
	n, err := strconv.Atoi(string(held))
	return err == nil && n > 0 && (n-1)&ctrl != 0
}
