// Package input reads every file, line and document of the program. It bounds size, depth
// and number of keys, and reads regular files and pipes with a deadline, but no devices. A
// refused document gives an *Error with its place.
package input

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"meshscope/engine/escape"
)

// Limits of documents. They are far above any file written by hand and bound the time,
// memory and stack that a hostile file takes.
const (
	// MaxDocument is how many bytes a document may have: a setup, a model, a session,
	// a line of a batch.
	MaxDocument = 1 << 20
	// MaxPreset is how many bytes a preset or a file of keys may have.
	MaxPreset = 128 << 10
	// MaxLog is how many bytes of a log or a table of measured runs are read.
	MaxLog = 10 << 20
	// MaxKeys is how many keys a TOML document may have. A setup has fewer than 150, the
	// glossary, which has most, 700.
	MaxKeys = 1000
	// MaxKey is how many bytes a key of it may have.
	MaxKey = 200
	// MaxLines is how many lines a preset may have.
	MaxLines = 4000
	// MaxJSONKeys is that of JSON: a report that is fed back has about 25 for each
	// pipeline rank.
	MaxJSONKeys = 500_000
	// MaxDepth is how many tables and lists may stand inside each other.
	MaxDepth = 16
	// MaxFiles is how many files of a folder are listed.
	MaxFiles = 10_000
	// MaxErrors is how many unknown keys of one document are named.
	MaxErrors = 20
	// PipeWait is how long a named pipe may keep its reader waiting.
	PipeWait = 5 * time.Second
	// maxLine bounds a line that is skipped because it is longer than a document: a
	// stream without line breaks has no end.
	maxLine = 64 << 20
)

// Error is an error in a document with its place. Line and Column count from 1; both are
// 0 where the document as a whole is at fault.
type Error struct {
	File         string // empty: not from a file
	Line, Column int
	Key          string // empty: no key is at fault, or Err names it
	Err          error
}

// Error returns file, place, key and reason.
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.File != "" && e.Line > 0 && e.Column == 0:
		fmt.Fprintf(&b, "%s:%d: ", escape.Name(e.File), e.Line)
	case e.File != "" && e.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d: ", escape.Name(e.File), e.Line, e.Column)
	case e.File != "":
		b.WriteString(escape.Name(e.File) + ": ")
	case e.Line > 0 && e.Column == 0:
		fmt.Fprintf(&b, "line %d: ", e.Line)
	case e.Line > 0:
		fmt.Fprintf(&b, "line %d, column %d: ", e.Line, e.Column)
	}
	if e.Key != "" {
		b.WriteString(escape.Line(e.Key) + ": ")
	}
	return b.String() + escape.Text(e.Err.Error())
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error of a file as a whole.
func Errorf(file, format string, args ...any) *Error {
	return &Error{File: file, Err: fmt.Errorf(format, args...)}
}

// InFile adds the file name to an *Error that has none.
func InFile(file string, err error) error {
	if at, ok := errors.AsType[*Error](err); ok && at.File == "" {
		at.File = file
		return at
	}
	return err
}

// tooLong returns the error of a document with more than the allowed bytes.
func tooLong(most int) error { return fmt.Errorf("longer than %d bytes", most) }
