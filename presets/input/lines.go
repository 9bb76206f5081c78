package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// errNoLines reports a stream without line breaks.
var errNoLines = fmt.Errorf("no line break within %d bytes", maxLine)

// Lines calls each for every line of a stream, without the line break, until it returns
// false. For a line longer than MaxDocument, tooLong is true and the line incomplete. A
// line break at the end of the stream starts no new line; a leading byte order mark is
// dropped.
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
