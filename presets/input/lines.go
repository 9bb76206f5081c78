package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// errNoLines says that a stream is not made of lines.
var errNoLines = fmt.Errorf("no line break within %d bytes", maxLine) //nolint:gochecknoglobals // a sentinel

// Lines hands over every line of a stream without its end. Of a line longer than
// MaxDocument only that fact is handed over. It ends early where each says so. A
// line break at the very end begins no line, and a byte order mark at the begin is
// part of none.
func Lines(from io.Reader, each func(line []byte, tooLong bool) bool) error {
	r := bufio.NewReaderSize(from, 1<<16)
	var line []byte
	first, length := true, 0
	for {
		part, err := r.ReadSlice('\n')
		if length += len(part); len(line) <= MaxDocument {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			if length > maxLine {
				return errNoLines
			}
			continue
		}
		if first {
			line = bytes.TrimPrefix(line, []byte(byteOrderMark))
			first = false
		}
		if len(line) > 0 && !each(bytes.TrimRight(line, "\r\n"), len(line) > MaxDocument) {
			return nil
		}
		line, length = nil, 0
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
