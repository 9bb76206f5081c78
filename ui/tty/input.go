package tty

import (
	"bytes"
	"io"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// Marks that a terminal puts around pasted text.
const (
	pasteBegins = "\x1b[200~"
	pasteEnds   = "\x1b[201~"
)

// Bounds of what comes.
const (
	longestPaste = 64 << 10    // bytes; more is left out: no field here takes more than a line
	manyKeys     = 32          // of one that is held, read at once: nobody turns more without a look
	handedOn     = 24          // bytes, some keys: what comes behind them is read before they are done
	mostAhead    = 1 << 20     // bytes
	pastePause   = time.Second // after which what looks like a key in a paste is one
	keyPause     = 500 * time.Millisecond
	answerPause  = 2 * time.Second
	escapePause  = 80 * time.Millisecond // after which an escape is the key

	longestAnswer = 4096 // bytes
)

// escapeKey is the key as a terminal sends it whose sequences cannot be taken for it.
const escapeKey = "\x1b[27u"

// input reads what a terminal sends. It mends what the library's decoder would make keys of, or swallow
// keys with: a sequence that a slow link has cut is read as one, an answer whose end was lost is left out,
// and a paste whose end was lost ends at ctrl+c that comes alone, or at a key that comes alone after a pause.
// What has come is read at once and handed on in small parts, so that ctrl+c behind many keys is seen.
type input struct {
	from io.Reader
	// whether there is more to read by then; nil: that cannot be known
	ready     func(within time.Duration) bool
	now       func() time.Time
	interrupt func(many bool) // tells the program of ctrl+c, and whether many keys read with it come before

	ahead []byte // what is not handed on yet
	err   error  // that comes after it

	pasting bool
	length  int       // of the paste so far
	last    time.Time // when something came
	tail    []byte    // the last of it, which may begin a mark
	escaped time.Time // when an escape was handed on as the key
}

// Read hands on what has come: whole sequences, and the beginning of one when no more of it comes.
func (i *input) Read(p []byte) (int, error) {
	if len(p) <= len(pasteEnds) {
		return i.from.Read(p)
	}
	for i.err == nil && i.more() {
		if i.take(p); len(i.ahead) == 0 {
			break
		}
	}
	n := len(i.ahead)
	if whole := begun(i.ahead); i.ready != nil && whole > 0 {
		for n = 0; n < min(whole, handedOn); {
			_, _, width, _ := ansi.DecodeSequence(i.ahead[n:], ansi.NormalState, nil)
			n += width
		}
	} else if i.ready != nil && n == 1 && !i.pasting { // the decoder would wait too
		i.ahead, i.escaped = nil, i.now()
		return copy(p, escapeKey), i.err
	}
	n = copy(p, i.ahead[:n])
	if i.ahead = i.ahead[n:]; len(i.ahead) > 0 {
		return n, nil
	}
	return n, i.err
}

// more reports whether to read more before anything is handed on: what is there, and the rest of a sequence
// that has begun where it comes in time.
func (i *input) more() bool {
	switch {
	case len(i.ahead) == 0:
		return true
	case i.ready == nil || len(i.ahead) >= mostAhead:
		return false
	case begun(i.ahead) == 0:
		return i.ready(max(patience(i.ahead), escapePause))
	}
	return i.ready(0)
}

// take reads once.
func (i *input) take(room []byte) {
	var n int
	n, i.err = i.from.Read(room)
	read := room[:n]
	if i.now().Sub(i.escaped) < keyPause && rejoins(read) {
		read = append([]byte{ansi.ESC}, read...)
	}
	at, pasting := begun(i.ahead), i.pasting
	got := append(bytes.Clone(i.ahead[at:]), i.follow(read)...)
	got = thin(got, len(got) > manyKeys && !pasting && !i.pasting &&
		!bytes.Contains(got, []byte(pasteBegins)),
		i.pasting)
	i.ahead = append(i.ahead[:at], got...)
	if !i.pasting && i.interrupt != nil && asksToEnd(got) {
		i.interrupt(len(i.ahead) > handedOn)
	}
}

// waits reports whether something that was read is to be handed on.
func (i *input) waits() bool { return len(i.ahead) > 0 || i.err != nil }

// asksToEnd reports whether ctrl+c is among keys, after the last paste.
func asksToEnd(read []byte) bool {
	if at := bytes.LastIndex(read, []byte(pasteEnds)); at >= 0 {
		read = read[at:]
	}
	for len(read) > 0 {
		n, k := pressed(read)
		if k != nil && Interrupts(*k) {
			return true
		}
		read = read[max(n, 1):]
	}
	return false
}

// follow follows the marks of pastes and returns what to hand on: at most an end of a paste longer.
func (i *input) follow(read []byte) []byte {
	var out []byte
	now := i.now()
	pause := now.Sub(i.last) >= pastePause && patience(i.tail[begun(i.tail):]) == 0
	if i.last = now; i.pasting && (interrupts(read) || pause && key(read)) {
		out, i.pasting, i.tail = append(out, pasteEnds...), false, nil
	}
	seen := append(i.tail, read...)
	begins, ends := bytes.LastIndex(seen, []byte(pasteBegins)), bytes.LastIndex(seen, []byte(pasteEnds))
	if i.pasting {
		if i.length += len(read); i.length > longestPaste {
			if read = nil; ends >= 0 { // its beginning may have been left out
				read = seen[ends:]
			}
		}
	}
	if i.pasting = begins > ends || begins == ends && i.pasting; begins > ends {
		i.length = len(seen) - begins
	}
	i.tail = bytes.Clone(seen[max(len(seen)-len(pasteEnds)+1, 0):])
	if at := lastKey(read); i.pasting && interrupts(read[at:]) && i.ready != nil && !i.ready(pastePause) {
		i.pasting, i.tail = false, nil // it came with the paste, and no more of that does
		return slices.Concat(out, read[:at], []byte(pasteEnds), read[at:])
	}
	return append(out, read...)
}

// lastKey returns where the key begins that the input ends with, or what may be one.
func lastKey(read []byte) int {
	if bytes.HasSuffix(read, []byte{ctrlC}) {
		return len(read) - 1
	}
	return max(bytes.LastIndexByte(read, ansi.ESC), 0)
}

// thin leaves out what an answer without an end has, up to ctrl+c outside of a paste, and what a key that was
// held while the program was busy repeats, but for text.
func thin(read []byte, held, pasting bool) []byte {
	var out, last []byte
	for times := 0; len(read) > 0; times++ {
		key, width, n, state := ansi.DecodeSequence(read, ansi.NormalState, nil)
		read = read[n:]
		if lost(key) {
			at := bytes.IndexByte(key, ctrlC)
			if at >= 0 && !pasting {
				out = append(out, key[at:]...)
				continue
			}
			if state == ansi.NormalState && (len(read) != 1 || read[0] != ansi.ESC) { // which may be its end
				continue
			}
		}
		if !bytes.Equal(key, last) {
			last, times = key, 0
		}
		if !held || times < manyKeys || width > 0 {
			out = append(out, key...)
		}
	}
	return out
}

// lost reports whether a sequence is a string, as answers are, without its end.
func lost(sequence []byte) bool {
	return len(sequence) > 2 && sequence[0] == ansi.ESC &&
		bytes.IndexByte([]byte("]PX^_"), sequence[1]) >= 0 &&
		!ansi.HasSuffix(sequence, []byte("\x1b\\")) && !ansi.HasSuffix(sequence, []byte("\x9c")) &&
		!ansi.HasSuffix(sequence, []byte("\a"))
}

// rejoins reports whether the input is the rest of a sequence whose escape has been taken for the key.
func rejoins(read []byte) bool {
	return len(read) > 1 && read[0] == '[' && bytes.IndexByte([]byte("<?0123456789ABCDFHZ"), read[1]) >= 0
}

// begun returns where the sequence begins that the input ends within; its length: there is none.
func begun(input []byte) int {
	const escape = '\x1b'
	at := bytes.LastIndexByte(input, escape)
	if at < 0 {
		return len(input)
	}
	if at == len(input)-1 { // it may end a string
		before := bytes.LastIndexByte(input[:at], escape)
		if before >= 0 && partial(input[before:at]) && input[before+1] != '[' {
			return before
		}
	}
	if !partial(input[at:]) {
		return len(input)
	}
	return at
}

// partial reports whether the input is the beginning of one sequence, of a length that an answer has.
func partial(input []byte) bool {
	_, _, n, state := ansi.DecodeSequence(input, ansi.NormalState, nil)
	return n == len(input) && state != ansi.NormalState && n <= longestAnswer
}

// patience returns how long the rest of a sequence is waited for that is more than an escape.
func patience(begun []byte) time.Duration {
	if len(begun) < 2 {
		return 0
	}
	for _, answer := range []string{"\x1b]", "\x1bP", "\x1b[?", "\x1b[<"} {
		if bytes.HasPrefix(begun, []byte(answer)) && len(begun) > 2 { // which no key is
			return answerPause
		}
	}
	return keyPause
}

// ctrlC is the key as terminals send it that have no protocol for keys.
const ctrlC = '\x03'

// interrupts reports whether the input is ctrl+c and nothing else, in any of the ways that terminals send it:
// pasted text has it among other text, if at all.
func interrupts(read []byte) bool {
	for at := 0; at < len(read); {
		n, k := pressed(read[at:])
		if k == nil || !Interrupts(*k) {
			return false
		}
		at += n
	}
	return len(read) > 0
}

// key reports whether the input is one key and nothing else.
func key(read []byte) bool {
	n, k := pressed(read)
	return k != nil && n == len(read) && patience(read[begun(read):]) == 0
}

// pressed returns the key that the input begins with, and its length; nil: something else comes first.
func pressed(read []byte) (int, *tea.KeyPressMsg) {
	n, event := new(uv.EventDecoder).Decode(read)
	if k, ok := event.(uv.KeyPressEvent); ok {
		return n, (*tea.KeyPressMsg)(&k)
	}
	return n, nil
}
