package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
)

// errNoLines reports a stream without line breaks.
var errNoLines = fmt.Errorf("no line break within %d bytes", maxLine)

// keptOfLine is how long a line may be with a byte order mark and a line break; the rest of
// a longer one is left out.
const keptOfLine = len(byteOrderMark) + MaxDocument + len("\r\n")

// Lines calls each for every line of a stream, without the line break, until it returns
// false. For a line longer than MaxDocument, tooLong is true and the line incomplete. A
// line break at the end of the stream starts no new line; a leading byte order mark is
// dropped. What a read error cuts short is no line.
func Lines(from io.Reader, each func(line []byte, tooLong bool) bool) error {
	return lines(from, maxLine, each)
}

// LongLines is Lines where a line of any length is skipped.
func LongLines(from io.Reader, each func(line []byte, tooLong bool) bool) error {
	return lines(from, math.MaxInt, each)
}

func lines(from io.Reader, most int, each func(line []byte, tooLong bool) bool) error {
	r := bufio.NewReaderSize(from, 1<<16)
	var line []byte
	first, length, cut := true, 0, false
	for {
		part, err := r.ReadSlice('\n')
		length += len(part)
		if len(line) < keptOfLine {
			line = append(line, part...)
		} else {
			cut = true
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if length > most {
				return errNoLines
			}
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		if first {
			line = bytes.TrimPrefix(line, []byte(byteOrderMark))
			first = false
		}
		if trimmed := bytes.TrimRight(line, "\r\n"); len(line) > 0 &&
			!each(trimmed, cut || len(trimmed) > MaxDocument) {
			return nil
		}
		if err != nil {
			return nil
		}
		line, length, cut = nil, 0, false
	}
}

// Bounded returns a reader of at most so many bytes, which then fails: what is read before it
// counts.
func Bounded(from io.Reader, most int) io.Reader {
	return &bounded{from, most, fmt.Errorf("longer than %d MB; only what is before this line was read",
		most>>20)}
}

type bounded struct {
	from io.Reader
	left int
	long error
}

// Read reads at most what is left.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		if n, err := b.from.Read(make([]byte, 1)); n == 0 && err != nil {
			return 0, err
		}
		return 0, b.long
	}
	n, err := b.from.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
